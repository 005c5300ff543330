r"""Priors that maximise the marginal likelihood, and biases corrected for the errors of scores.

At its maximum the squares of the scores, over the degrees of freedom :math:`\gamma` that data
leave them, are their variance (MacKay, 1992), and so for biases:

.. math:: \sigma^2 = \frac{s^T s}{\gamma}, \qquad
          \gamma = n - \sigma^{-2} \operatorname{tr} \Sigma .

Putting this in, fitting again and so on closes a part of the gap in each round, about half of it
where items were compared 20 times. :class:`Ascent` learns that part from the rounds before
(Broyden, 1965) and closes the rest at once.

A joint maximum of likelihood times priors takes every score for known. Items that were compared
a few times have scores with errors, an evaluator's log odds are averaged over these errors, and a
mean of logistic curves is flatter than the curve: biases come out too small, by a tenth where
items were compared 30 times, by a third where 8 times. Biases themselves have no such
distribution behind them; their maximum lies too far out (Firth, 1993). Both follow from the spread
of a margin,

.. math:: v_p = V_s - (V - V_s), \qquad V_s = \operatorname{Var}(m_p \mid \theta),
                \quad V = \operatorname{Var}(m_p),

and the slope of every comparison is replaced by its mean over a margin with that variance, or
moved the other way where `v` is negative. What that adds to the gradient, the *tilt*, is held
fixed while the rest is minimised, and computed again until it stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.ranking.fits import LARGEST_SD, SMALLEST_SD, bound_sd
from comparity.ranking.likelihood.exact import Inverse, Solving
from comparity.ranking.likelihood.kernels import add_product
from comparity.ranking.likelihood.lapses import LapsePass
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.one_pass import OnePass
from comparity.ranking.likelihood.seen_scores import SeenInverse, seen_leads, seen_spreads

Floats = NDArray[np.float64]


LEAST_SCORE_SD = 0.5
"""The least SD of scores that the marginal likelihood may choose. It takes pairs for random; where
they were chosen by merit, or are few, it would put all items down as equal."""


LEAST_SDS = (LEAST_SCORE_SD, SMALLEST_SD)


SHORTEST, LONGEST = 0.3, 5.0
"""Bounds of a step in parts of the step of the fixed point: where a standard deviation falls to
zero, its rounds close ever less of the gap, and what they teach is not to be trusted."""


MOST_AHEAD = 2.0
"""Longest step of an extrapolation in parts of the last: that of rounds that close a third."""


class Ascent:
    """Steps of the logarithms of standard deviations, longer than those of the fixed point.

    The gap that the fixed point leaves is taken to change linearly with the logarithms. Its slope
    starts at -1, which gives the fixed point's own step, and is corrected by every two rounds.
    """

    def __init__(self) -> None:
        self._slope = -np.eye(2)
        self._before: tuple[Floats, Floats] | None = None
        self._least = math.inf

    def forget(self) -> None:
        """Learn nothing from this round and the next, between which something else moved."""
        self._before = None

    def restart(self) -> None:
        """Unlearn everything."""
        self._slope, self._least = -np.eye(2), math.inf
        self.forget()

    def step(self, sds: Floats, fixed: Floats) -> Floats:
        """Return the next standard deviations.

        Parameters
        ----------
        sds : ndarray, (2,)
            Of scores and biases, infinite where there is no prior.
        fixed : ndarray, (2,)
            What the fixed point makes of them.
        """
        place = np.log(np.where(np.isfinite(sds), sds, 1.0))
        gap = np.log(np.where(np.isfinite(sds), fixed, 1.0)) - place
        # A gap that grows shows that the slope misleads; the fixed point's own steps do not.
        if (size := float(np.abs(gap).max())) > self._least:
            self.restart()
        self._least = min(size, self._least)
        if self._before is not None:
            move, change = place - self._before[0], gap - self._before[1]
            if move @ move > 0:
                missed = change - self._slope @ move
                self._slope += np.outer(missed, move) / (move @ move)
        self._before = place, gap
        step = -np.linalg.pinv(self._slope) @ gap
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.clip(step / gap, SHORTEST, LONGEST)
            moved = np.clip(sds * np.exp(parts * gap), LEAST_SDS, LARGEST_SD)
        return np.where(gap == 0, sds, moved)


class Extrapolation:
    """Steps of many numbers at once, longer than those of their fixed point (Anderson, 1965).

    Where each round closes about the same part of a gap, two rounds tell what all later ones add.
    """

    def __init__(self) -> None:
        self._before: tuple[Floats, Floats] | None = None

    def step(self, found: Floats, gap: Floats, *, fresh: bool) -> Floats:
        """Return the next numbers, from what the fixed point makes of them and how far that went.

        `fresh` says that rounds before tell nothing of this one.
        """
        before, self._before = self._before, None if fresh else (found, gap)
        if fresh or before is None:
            return found
        change = gap - before[1]
        square = float(change @ change)
        if square == 0.0:
            return found
        part = min(max(float(change @ gap) / square, -MOST_AHEAD), 0.5)
        ahead: Floats = found - part * (found - before[0])
        return ahead


def fixed_point(
    objective: Penalised,
    point: Floats,
    sds: Floats,
    covariances: Solving | OnePass,
    *,
    chosen: tuple[bool, bool],
) -> Floats:
    """Return the standard deviations of scores and biases that their squares suggest.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at `point`, its minimum.
    point : ndarray
        Scores, biases and extra parameters.
    sds : ndarray, (2,)
        Standard deviations now.
    covariances : Solving or OnePass
        Of the errors at that point.
    chosen : tuple of bool
        Whether that of scores, and that of biases, is to be chosen.
    """
    scores, bias, _ = objective.split(point)
    penalty, found = objective.penalty, sds.copy()
    if chosen[0]:
        # Where groups explain all scores, what is left of their squares is rounding.
        squares = max(0.0, float(scores @ penalty.pull_within(scores))) * sds[0] ** 2
        left = _free_scores(objective, covariances)
        found[0] = max(LEAST_SCORE_SD, bound_sd(math.sqrt(squares / left)))
    if chosen[1] and objective.n_contrasts and objective.n_evaluators > 1:
        centred = bias - bias.mean(axis=0)
        squares = float((centred @ penalty.bias * centred).sum()) * sds[1] ** 2
        found[1] = bound_sd(math.sqrt(squares / _free_biases(objective, covariances)))
    return found


def _free_scores(objective: Penalised, covariances: Solving | OnePass) -> float:
    """Return the degrees of freedom of the scores that data determine.

    Their number minus the trace of prior precision times covariance: near their number where data
    are plenty, near zero where the prior says it all.
    """
    prior, n = objective.penalty, len(covariances.scores)
    # Directions that the prior leaves free have nothing to be shrunk.
    penalised = n if prior.basis is None else n - prior.basis.shape[1]
    if isinstance(covariances, OnePass):
        # Along the flat directions the prior says it all.
        flat = objective.flat_basis.shape[1] if prior.basis is None else 0
        trace = prior.scores * float(covariances.scores.sum()) + flat
    else:
        trace = prior.scores * float(covariances.scores.sum())
        if prior.basis is not None:
            trace -= prior.scores * covariances.trace_along(prior.basis)
    return max(penalised - trace, 1.0)


def _free_biases(objective: Penalised, covariances: Solving | OnePass) -> float:
    """Return the degrees of freedom of the biases about their mean that data determine."""
    m, c = objective.n_evaluators, objective.n_contrasts
    trace = float(np.einsum("kij,ji->", covariances.evaluators, objective.penalty.bias))
    if isinstance(covariances, OnePass):
        # About their mean, biases have so much less variance than with their level known.
        trace *= 1 - 1 / m
    free = float((m - 1) * c)
    return max(free - trace, min(1.0, free))


Spread = Callable[[slice], Floats]
"""Of some comparisons, the spread of the lead, or its variance given the biases."""


CHUNK = 1_000_000
"""Comparisons worked on at a time, which bounds memory."""


LEAST_CHANGE, LARGEST_CHANGE = -1.6, 2.5
"""Bounds of a spread. Beyond them, where items are known by hardly more than the prior, what a
tilt moves changes the spreads as much, and the two need not settle. Items compared eight times are
within them for the most part; narrower bounds leave scores too close together, and biases with
them."""


def tilt_of(objective: Penalised, point: Floats, covariances: Solving | OnePass) -> Floats:
    """Return what the errors of scores and biases add to the gradient, at the point evaluated last.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at `point`.
    point : ndarray
        Scores, biases and extra parameters.
    covariances : Solving or OnePass
        Of the errors at that point.
    """
    data, rows = objective.data, objective.data.rows
    scores, bias, extra = objective.split(point)
    spread = spread_of(objective, covariances)
    square = None if data.sharpness is None else data.sharpness**2
    tilt = np.zeros_like(point)
    tilt_scores, tilt_bias, tilt_extra = objective.split(tilt)
    for start in range(0, len(rows.better), CHUNK):
        part = slice(start, start + CHUNK)
        own = 1.0 if square is None else square[rows.evaluator[part]]
        change = data.bend(
            part, np.clip(own * spread(part), LEAST_CHANGE, LARGEST_CHANGE), scores, bias, extra
        )
        add_product(*rows.columns(part), data.sharpen(change, part), tilt_scores, tilt_bias)
        if rows.seat is not None:
            tilt_extra[0] += change @ rows.seat[part]
        if isinstance(data, LapsePass) and data.has_last:
            wide = np.clip(own * spread(part), LEAST_CHANGE, LARGEST_CHANGE)
            tilt_extra[-1] += data.bend_last(part, wide, scores, bias, extra).sum()
    return tilt


def spread_of(objective: Penalised, covariances: Solving | OnePass) -> Spread:
    """Return a function that tells the spread of the leads of some comparisons."""
    rows = objective.data.rows
    if isinstance(covariances, Inverse):
        joint, given = covariances.joint, covariances.given
        return lambda part: _dense_spread(*rows.columns(part), joint, given)
    if isinstance(covariances, SeenInverse):
        known = (covariances.joint, covariances.given, covariances.cross, covariances.rest)
        return lambda part: seen_spreads(*rows.columns(part), *known)
    assert isinstance(covariances, OnePass)
    if covariances.without_biases:
        return lead_variances(objective, covariances)
    weight, of_biases = objective.data.weights(), covariances.evaluators
    items = covariances.items
    return lambda part: _local_spread(*rows.columns(part), weight[part], items, of_biases)


def lead_variances(objective: Penalised, covariances: Solving | OnePass) -> Spread:
    """Return a function that tells the variance of the leads of some comparisons, biases known."""
    rows = objective.data.rows
    if isinstance(covariances, Inverse):
        return lambda part: _dense_lead(rows.better[part], rows.worse[part], covariances.given)
    if isinstance(covariances, SeenInverse):
        return lambda part: seen_leads(rows.better[part], rows.worse[part], covariances.given)
    assert isinstance(covariances, OnePass)
    weight, items = objective.data.weights(), covariances.items
    return lambda part: _local_lead(rows.better[part], rows.worse[part], weight[part], items)


@njit(cache=True, nogil=True)
def _dense_lead(better, worse, given):  # type: ignore[no-untyped-def]
    """Return the variance of the lead given the biases."""
    out = np.empty(len(better))
    for p in range(len(better)):
        i, j = better[p], worse[p]
        out[p] = given[i, i] + given[j, j] - 2 * given[i, j]
    return out


@njit(cache=True, nogil=True)
def _dense_spread(better, worse, evaluator, contrast, joint, given):  # type: ignore[no-untyped-def]
    """Return twice the variance of the lead given the biases minus the whole one."""
    n, n_contrasts = len(given), contrast.shape[1]
    out = 2 * _dense_lead(better, worse, given)
    for p in range(len(better)):
        i, j, place = better[p], worse[p], n + evaluator[p] * n_contrasts
        whole = joint[i, i] + joint[j, j] - 2 * joint[i, j]
        for c in range(n_contrasts):
            x = contrast[p, c]
            whole += 2 * x * (joint[i, place + c] - joint[j, place + c])
            for d in range(n_contrasts):
                whole += x * contrast[p, d] * joint[place + c, place + d]
        out[p] -= whole
    return out


@njit(cache=True, nogil=True)
def _local_lead(better, worse, weight, items):  # type: ignore[no-untyped-def]
    """Approximate what `_dense_lead` returns, to the first order in one comparison.

    `items` has the variance of each score and one over its curvature.
    """
    out = np.empty(len(better))
    for p in range(len(better)):
        i, j = better[p], worse[p]
        out[p] = items[i, 0] + items[j, 0] - 2 * weight[p] * items[i, 1] * items[j, 1]
    return out


@njit(cache=True, nogil=True)
def _local_spread(better, worse, evaluator, contrast, weight, items, of_biases):  # type: ignore[no-untyped-def]
    """Approximate what `_dense_spread` returns to the same order."""
    n_contrasts, out = contrast.shape[1], _local_lead(better, worse, weight, items)
    for p in range(len(better)):
        k = evaluator[p]
        left, other = 1 - weight[p] * (items[better[p], 1] + items[worse[p], 1]), 0.0
        for c in range(n_contrasts):
            for d in range(n_contrasts):
                other += contrast[p, c] * contrast[p, d] * of_biases[k, c, d]
        out[p] -= left * left * other
    return out
