r"""Evaluators of items that come in lots: how sharp each is, and what each gives to what.

Items come in *lots*, such as the answers to one prompt, and only items of one lot are compared.
Evaluator k puts i above j with log odds

.. math:: g_k (s_i - s_j) + \gamma_k \cdot (x_i - x_j)

(seats are one more number of a comparison). What of quality goes with the numbers x is part of
:math:`\gamma_k`, so that scores s, the rest of quality, have mean zero. In lot p they are normal
with SD :math:`\sigma_p`, and lots differ:

.. math:: \log \sigma_p \sim N(0, \omega^2) .

An evaluator may have opinions of its own: it then sees :math:`s_i + \tau_k e_{ki}` in place of
:math:`s_i`, with e as spread as s. By its *taste* :math:`\tau_k` it agrees with itself and not with
others; a model without tastes takes such an evaluator for a sharper one.

Scores, opinions and :math:`\sigma_p` are integrated out
(:mod:`comparity.ranking.likelihood.propagation`); :math:`\omega` and :math:`\tau_k` are estimated.
One SD for all lots would be wrong where lots differ: a dull evaluator then seems sharper than it
is. Whoever seems sharper than it is seems to lean against what is better.

If evaluator z does not lean, the numbers are worth :math:`\gamma_z / g_z`, and the others lean by

.. math:: \lambda_k = \gamma_k - g_k \, \gamma_z / g_z

logits. With the curvature H, the slopes :math:`u_c` of clusters and the curvature P of the priors,
all errors are those of the sandwich :math:`H^{-1} (\sum_c u_c u_c^T + P) H^{-1}`; slopes are
divided by one minus the share of comparisons of their cluster, as leaving it out would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from comparity.ranking.likelihood.lot_likelihood import LotLikelihood, Lots

Floats = NDArray[np.float64]

GAIN_TO_TAKE_CURVATURE, GAIN_TO_END, ROUNDED_LOSS = 0.02, 1e-4, 1e-3
"""Expected gain in log-likelihood at which a search turns to the curvature, and at which it ends (a
seventieth of a standard error from the maximum; integrals that come to rest within `STILL` tell no
less than that of a taste near zero); and a loss that may be rounding in integrals."""
MOST_STEPS, MOST_CURVATURES, STEPS_EACH, HALVINGS = 40, 8, 8, 10
"""Steps on the way, curvatures worked out and steps by each of them, and halvings of a step."""
GAIN_TOO_LARGE = 10.0
"""Gain of a step beyond which it tells nothing of the curvature at the maximum."""
TOO_SMALL = 1e-6
"""Part of a direction that tells of no sign."""
LONGEST_STEP = 1.0
"""Step of any parameter at most."""
DIFFERENCE_STEP = 0.05
"""Steps for differences of slopes, in standard errors."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LotFit:
    """What judgments of lots tell.

    Attributes
    ----------
    sharpness : ndarray, (evaluators,)
        What an item that is one SD better gains with each, in logits, in a lot of median spread;
        negative where somebody decides against the order of the others.
    worth : ndarray, (evaluators, numbers)
        What one unit of a number gains, in logits.
    spread : float
        SD of the logarithm of the SD of scores between lots.
    tastes : ndarray
        SD of the own opinions of evaluators of each taste, in SDs of scores.
    scores : ndarray
        Mean of each item's score, given all judgments, without what goes with the numbers.
    covariance : ndarray
        Of sharpness and worth, evaluator by evaluator.
    log_likelihood : float
    converged : bool
    """

    sharpness: Floats
    worth: Floats
    spread: float
    tastes: Floats
    scores: Floats
    covariance: Floats
    log_likelihood: float
    converged: bool

    @property
    def sharpness_errors(self) -> Floats:
        """Standard errors of sharpness."""
        return np.sqrt(np.diagonal(self.covariance)[:: self.worth.shape[1] + 1])

    def leans(self, zero: int, *, beside: int = 0) -> tuple[Floats, Floats]:
        """Return leans in logits and their errors, (evaluators, numbers), if `zero` has none.

        Of the last numbers, those `beside` quality, they are plain differences from `zero`.
        """
        (m, c), own = self.worth.shape, self.sharpness[zero]
        blocks = self.covariance.reshape(m, c + 1, m, c + 1)
        leans, errors = np.zeros((m, c)), np.zeros((m, c))
        for k in range(m):
            for number in range(c) if k != zero else ():
                is_plain, worth = number >= c - beside, self.worth[zero, number]
                ratio = 1.0 if is_plain else self.sharpness[k] / own
                unit = 0.0 if is_plain else worth / own
                leans[k, number] = self.worth[k, number] - ratio * worth
                # Sharpness and worth of the evaluator, then of the one who does not lean.
                slopes = np.array([-unit, 1.0, ratio * unit, -ratio])
                who, what = np.array([k, k, zero, zero]), np.array([0, number + 1] * 2)
                joint = blocks[who[:, None], what[:, None], who, what]
                errors[k, number] = np.sqrt(slopes @ joint @ slopes)
        return leans, errors


def fit_lots(data: Lots, n_evaluators: int, *, first_leads: bool = False) -> LotFit:
    """Maximise the likelihood with scores and SDs of lots integrated out.

    Whoever decides against the others may be taken for somebody with strong opinions: the
    likelihood then has a second peak. So the search also begins with a negative sharpness of those,
    and the higher peak counts. They are those who are against most others, or, if `first_leads`,
    against the first evaluator.
    """
    likelihood = LotLikelihood(data, n_evaluators)
    point, bend, converged = _search(likelihood)
    against = find_opposed(data, n_evaluators, first_leads=first_leads)
    if against.any():
        height = likelihood.posterior(point)[0]
        own = likelihood.start[: likelihood.n_own].reshape(n_evaluators, -1)
        own[against, 0] *= -1
        other = _search(likelihood)
        if likelihood.posterior(other[0])[0] > height + ROUNDED_LOSS:
            point, bend, converged = other
    value, slopes = likelihood.evaluate(point)
    own, _, tastes, spread = likelihood.split(point)
    covariance = _sandwich(likelihood, slopes, bend)[: likelihood.n_own, : likelihood.n_own]
    return LotFit(
        sharpness=own[:, 0],
        worth=own[:, 1:],
        spread=abs(spread),
        tastes=np.abs(tastes),
        scores=likelihood.scores[data.order],
        covariance=covariance,
        log_likelihood=value,
        converged=converged,
    )


def find_opposed(data: Lots, n_evaluators: int, *, first_leads: bool) -> NDArray[np.bool_]:
    """Return who mostly decides against most others, or the first, directly or by way of others.

    By the signs of the main direction in which votes for pairs of items agree.
    """
    low, high = (data.pairs + data.items[data.lot[data.bounds[:-1]]][:, None]).T
    _, pair = np.unique(low * data.items[-1] + high, return_inverse=True)
    pair = np.repeat(pair, np.diff(data.bounds))
    votes = np.where(data.tied, 0.0, data.sign)
    sums = coo_array((votes, (data.evaluator, pair)), shape=(n_evaluators, pair.max() + 1)).tocsr()
    together = (sums @ sums.T).toarray()
    np.fill_diagonal(together, 0.0)
    direction = np.linalg.eigh(together)[1][:, -1]
    signs = np.where(np.abs(direction) < TOO_SMALL, 0.0, np.sign(direction))
    most = 0.0 if first_leads else signs.sum()
    found: NDArray[np.bool_] = signs * (most or signs[0] or 1.0) < 0
    return found


class Climb:
    """A way up the likelihood: where it is, and what is known there."""

    def __init__(self, likelihood: LotLikelihood) -> None:
        self.likelihood, self.point = likelihood, likelihood.start
        self.value, self.gradient, self.slopes = likelihood.posterior(self.point)
        self.information = likelihood.information(self.slopes)

    @property
    def curvature(self) -> Floats:
        """The curvature; where it is not one of a peak, nowhere less than that of the priors.

        With one judgment of each pair by two evaluators, data tell little more than the product of
        their sharpness. The likelihood may then rise to both sides along a ridge, by chance, on
        which only the priors tell where the peak is, and how wide it is.
        """
        steps = DIFFERENCE_STEP / np.sqrt(np.diagonal(self.information))
        found = self.likelihood.curvature(self.point, self.gradient, steps)
        units = np.sqrt(np.outer(self.likelihood.precision, self.likelihood.precision))
        values, directions = np.linalg.eigh(found / units)
        if values[0] > 0:
            return found
        raised: Floats = (directions * np.maximum(values, 1.0)) @ directions.T * units
        return raised

    def step(self, metric: Floats, enough: float) -> bool:
        """Go up by one step; return whether there is no more to gain, or no way to gain it."""
        step = np.linalg.solve(metric, self.gradient)
        if float(self.gradient @ step) / 2 < enough:
            return True
        step *= min(1.0, LONGEST_STEP / float(np.abs(step).max()))
        for _ in range(HALVINGS):
            found = self.likelihood.posterior(self.point + step)
            if found[0] > self.value - ROUNDED_LOSS:
                self.point = self.point + step
                self.value, self.gradient, self.slopes = found
                self.information = self.likelihood.information(self.slopes)
                return False
            step = step / 2
        return True


def _search(likelihood: LotLikelihood) -> tuple[Floats, Floats, bool]:
    """Return the maximum, the curvature there, and whether the search came to an end.

    Far from it steps are those with scores known; near it each step tells something of the
    curvature (Broyden, Fletcher, Goldfarb and Shanno); at last the curvature itself leads there.
    """
    climb = Climb(likelihood)
    metric = climb.information
    for _ in range(MOST_STEPS):
        point, gradient = climb.point, climb.gradient
        if climb.step(metric, GAIN_TO_TAKE_CURVATURE):
            break
        moved, fallen = climb.point - point, gradient - climb.gradient
        is_far = float(gradient @ moved) > GAIN_TOO_LARGE
        metric = climb.information if is_far else _learn(metric, moved, fallen)
    for _ in range(MOST_CURVATURES):
        bend = climb.curvature
        for _ in range(STEPS_EACH):
            if climb.step(bend, GAIN_TO_END):
                break
        if float(climb.gradient @ np.linalg.solve(bend, climb.gradient)) / 2 < GAIN_TO_END:
            return climb.point, bend, True
    return climb.point, bend, False


def _learn(metric: Floats, moved: Floats, fallen: Floats) -> Floats:
    """Return a curvature that explains how the gradient fell over the last step."""
    along = metric @ moved
    if moved @ fallen <= 0:
        return metric
    learned: Floats = np.outer(fallen, fallen) / (moved @ fallen)
    return metric - np.outer(along, along) / (moved @ along) + learned


def _sandwich(likelihood: LotLikelihood, slopes: Floats, bend: Floats) -> Floats:
    """Return the covariance of all parameters, with comparisons of one cluster together."""
    data = likelihood.data
    by_lot = np.zeros(len(slopes), np.int64)
    by_lot[data.lot] = data.cluster
    clusters, code = np.unique(by_lot, return_inverse=True)
    n = len(clusters)
    summed = np.zeros((n, slopes.shape[1]))
    np.add.at(summed, code, slopes)
    # Leaving a cluster out moves the fit by more, the more comparisons it has.
    share = np.bincount(np.searchsorted(clusters, data.cluster), minlength=n) / len(data.cluster)
    summed /= np.maximum(1 - share, 1 / n)[:, None]
    meat = summed.T @ summed * (n - 1) / n if n > 1 else summed.T @ summed
    inverse = np.linalg.inv(bend)
    found: Floats = inverse @ (meat + np.diag(likelihood.precision)) @ inverse
    return found
