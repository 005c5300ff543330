r"""Likelihoods of evaluators who do not always look at quality, with their gradients.

With :math:`d = s_w - s_l` the difference of the scores of the winner and the loser, evaluator k
follows quality with probability :math:`g_k` and something else otherwise:

.. math:: P = g_k \sigma(d) + (1 - g_k)\, q

In CrowdBT :math:`q = \sigma(-d)`: the evaluator answers the opposite. In FactorBT
:math:`q = \sigma(r_k \cdot x)` with x the difference of the two items' groups. Certain
evaluators (:math:`g_k = 1`) and scores far apart do no harm. Gradients are checked against finite
differences in ``tests/ranking``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.special import log_expit, xlogy

from comparity.counts.kernels.compilation import njit
from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.exact import one_thread
from comparity.ranking.likelihood.objective import Watch, watch_fit

Floats = NDArray[np.float64]


Ints = NDArray[np.integer]


# Evaluators may be certain; with a prior that forbids it they may come this close.
EDGE = 1e-9


COMPARISONS_TO_SHOW = 100_000
"""Comparisons from which on a terminal shows that the search is under way."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureModel:
    """Comparisons and priors; the parameters are scores, shares, and slopes, in this order.

    Attributes
    ----------
    winner, loser, evaluator : ndarray of int
        Positions, for each comparison; ties occur twice, with half a weight each way.
    weight : ndarray
        How much each of them counts.
    contrast : ndarray, (comparisons, columns) or None
        Difference of the items' groups, for FactorBT; ``None`` for CrowdBT.
    n_items, n_evaluators : int
        How many.
    score_precision, slope_precision : float
        Of the Gaussian priors of scores and slopes; 0 for none.
    virtual : float
        How often every item won and lost against a virtual item with score 0.
    beta : tuple of float
        The two parameters of the Beta prior of the shares; (1, 1) for none.
    """

    winner: Ints
    loser: Ints
    evaluator: Ints
    weight: Floats
    contrast: Floats | None
    n_items: int
    n_evaluators: int
    score_precision: float
    slope_precision: float = 0.0
    virtual: float = 0.0
    beta: tuple[float, float] = (1.0, 1.0)

    @property
    def n_slopes(self) -> int:
        """How many columns the contrast has."""
        return 0 if self.contrast is None else self.contrast.shape[1]

    def parts(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return scores, shares, and slopes by evaluator."""
        shares = self.n_items + self.n_evaluators
        slopes = parameters[shares:].reshape(self.n_evaluators, self.n_slopes)
        return parameters[: self.n_items], parameters[self.n_items : shares], slopes

    def box(self) -> tuple[Floats, Floats]:
        """Return the smallest and largest parameters: shares lie between 0 and 1."""
        shares = slice(self.n_items, self.n_items + self.n_evaluators)
        high = np.full(self.n_items + self.n_evaluators * (1 + self.n_slopes), np.inf)
        low = -high
        low[shares] = EDGE if self.beta[0] > 1 else 0.0
        high[shares] = 1.0 - EDGE if self.beta[1] > 1 else 1.0
        return low, high

    def log_likelihood(self, parameters: Floats) -> float:
        """Return the logarithm of the probability of the comparisons, without priors."""
        return self._likelihood(parameters)[0]

    def loss(self, parameters: Floats) -> tuple[float, Floats]:
        """Return minus the logarithm of the posterior density, and its gradient."""
        value, gradient = self._likelihood(parameters)
        prior, of_prior = self._prior(*self.parts(parameters))
        return -value - prior, -gradient - of_prior

    def _likelihood(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        gradient = np.zeros_like(parameters)
        # Parts of the gradient are views, so that adding to them adds to it.
        contrast = np.empty((len(self.winner), 0)) if self.contrast is None else self.contrast
        rows = self.winner, self.loser, self.evaluator, self.weight, contrast
        value = add_mixture(rows, self.parts(parameters), self.parts(gradient))
        return float(value), gradient

    def _prior(self, scores: Floats, shares: Floats, slopes: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the prior density and its gradient."""
        a, b = self.beta[0] - 1, self.beta[1] - 1
        value = -0.5 * self.score_precision * float(scores @ scores)
        value -= 0.5 * self.slope_precision * float((slopes**2).sum())
        value += self.virtual * float((log_expit(scores) + log_expit(-scores)).sum())
        value += float((xlogy(a, shares) + xlogy(b, 1 - shares)).sum())
        of_scores = -self.score_precision * scores - self.virtual * np.tanh(scores / 2)
        of_shares = np.zeros_like(shares)
        if a:
            of_shares += a / np.maximum(shares, EDGE)
        if b:
            of_shares -= b / np.maximum(1 - shares, EDGE)
        return value, np.concatenate([of_scores, of_shares, -self.slope_precision * slopes.ravel()])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Optimum:
    """Where the best of several searches ended.

    Attributes
    ----------
    parameters : ndarray
        The best parameters found.
    gradient_norm : float
        Norm of the gradient, without the parts that point out of the box.
    converged : bool
        Whether it is within the tolerance.
    iterations : int
        Steps of the best search.
    losses : tuple of float
        Where each search ended; they differ where the likelihood has several peaks.
    """

    parameters: Floats
    gradient_norm: float
    converged: bool
    iterations: int
    losses: tuple[float, ...]


def mixture_of(
    judgments: Judgments,
    *,
    contrast: Floats | None = None,
    score_sd: float,
    slope_sd: float = math.inf,
    virtual: float = 0.0,
    beta: tuple[float, float] = (1.0, 1.0),
) -> MixtureModel:
    """Return the model of checked comparisons; a tie is half a win for each item."""
    assert judgments.evaluator is not None
    tied = np.zeros(len(judgments), dtype=bool) if judgments.tied is None else judgments.tied
    turned = None if contrast is None else np.vstack([contrast, -contrast[tied]])
    return MixtureModel(
        winner=np.append(judgments.better, judgments.worse[tied]),
        loser=np.append(judgments.worse, judgments.better[tied]),
        evaluator=np.append(judgments.evaluator, judgments.evaluator[tied]),
        weight=np.append(np.where(tied, 0.5, 1.0), np.full(int(tied.sum()), 0.5)),
        contrast=turned,
        n_items=judgments.n_items,
        n_evaluators=judgments.n_evaluators,
        score_precision=score_sd**-2,
        slope_precision=slope_sd**-2,
        virtual=virtual,
        beta=beta,
    )


def starts_of(model: MixtureModel) -> list[Floats]:
    """Return where to start: with doubt in all evaluators, and with trust in them.

    With doubt, shares are 0.7 as in the published code. With trust, shares are 0.95, and each
    slope is the log odds with which the evaluator decided for the group.
    """
    scores, slopes = np.zeros(model.n_items), np.zeros(model.n_evaluators * model.n_slopes)
    shares = np.ones(model.n_evaluators)
    doubt = np.concatenate([scores, 0.7 * shares, slopes])
    if model.contrast is not None:
        columns = [
            [
                np.bincount(model.evaluator, model.weight * (side * one > 0))
                for one in model.contrast.T
            ]
            for side in (1, -1)
        ]
        won, lost = (np.array(column) for column in columns)
        slopes = np.log((won + 0.5) / (lost + 0.5)).T.ravel()
    return [doubt, np.concatenate([scores, 0.95 * shares, slopes])]


def maximise(model: MixtureModel, *, most: int, tolerance: float) -> Optimum:
    """Climb the posterior density from every start by L-BFGS-B, which keeps shares in their box.

    Parameters
    ----------
    model : MixtureModel
        Comparisons and priors.
    most : int
        Iterations from each start.
    tolerance : float
        Converged is a gradient of at most this norm for each comparison.
    """
    goal = tolerance * max(float(model.weight.sum()), 1.0)
    # Steps of the search are small; threads that wait for them by spinning double the work.
    with one_thread(), watch_fit(len(model.winner), COMPARISONS_TO_SHOW) as watch:
        ends = [_climb(model, start, most, goal / 30, watch) for start in starts_of(model)]
    best = min(ends, key=lambda end: float(end.fun))
    parameters = best.x * _scale(model)
    low, high = model.box()
    _, gradient = model.loss(parameters)
    outwards = ((parameters <= low) & (gradient > 0)) | ((parameters >= high) & (gradient < 0))
    norm = float(np.linalg.norm(np.where(outwards, 0.0, gradient)))
    return Optimum(
        parameters=parameters,
        gradient_norm=norm,
        converged=norm <= goal,
        iterations=int(best.nit),
        losses=tuple(float(end.fun) for end in ends),
    )


def _climb(model: MixtureModel, start: Floats, most: int, goal: float, watch: Watch | None) -> Any:
    scale, calls = _scale(model), count(1)
    low, high = (end / scale for end in model.box())

    def scaled_loss(point: Floats) -> tuple[float, Floats]:
        value, gradient = model.loss(np.clip(point * scale, *model.box()))
        if watch is not None:
            watch(next(calls), float(np.linalg.norm(gradient)))
        return value, gradient * scale

    options = {"maxiter": most, "maxfun": 2 * most, "maxcor": 30, "ftol": 0.0, "gtol": goal / 3}
    return minimize(
        scaled_loss,
        np.clip(start / scale, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        options=options,
    )


def _scale(model: MixtureModel) -> Floats:
    """Return the unit of each parameter: a share moves ten times less than a score.

    With equal units the search takes four to eight times as many steps.
    """
    unit = np.ones(model.n_items + model.n_evaluators * (1 + model.n_slopes))
    unit[model.n_items : model.n_items + model.n_evaluators] = 0.1
    return unit


# Probabilities down to here are summed as they are; smaller ones as logarithms.
SMALLEST_CHANCE = 1e-200


# Nothing is gained from larger ratios of likelihoods, and they would overflow.
LARGEST_LOG_RATIO = 700.0


@njit(cache=True, nogil=True)
def _expits(x: float) -> tuple[float, float]:
    """Return the logistic function of x and of -x, each to its last digits."""
    tail = math.exp(-abs(x))
    large = 1.0 / (1.0 + tail)
    return (large, tail * large) if x >= 0 else (tail * large, large)


@njit(cache=True, nogil=True)
def _log_expit(x: float) -> float:
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@njit(cache=True, nogil=True)
def _ratios(share, d, other, first, second):  # type: ignore[no-untyped-def]
    """Return the log probability, and both parts' probabilities over it."""
    chance = share * first + (1.0 - share) * second
    if chance > SMALLEST_CHANCE:
        over = 1.0 / chance
        return math.log(chance), first * over, second * over
    one, two = _log_expit(d), _log_expit(other)
    if share == 1.0:
        total = one
    elif share == 0.0:
        total = two
    else:
        one_part, two_part = math.log(share) + one, math.log1p(-share) + two
        total = max(one_part, two_part) + math.log1p(math.exp(-abs(one_part - two_part)))
    return (
        total,
        math.exp(min(one - total, LARGEST_LOG_RATIO)),
        math.exp(min(two - total, LARGEST_LOG_RATIO)),
    )


@njit(cache=True, nogil=True)
def add_mixture(rows, parts, gradient):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of a mixture and add its gradient; without contrasts CrowdBT's.

    Defined by ``tests/plain/mixtures.py``, and the module's docstring. About three times
    as fast as the same in numpy, which makes a dozen arrays of the length of the comparisons.
    """
    winner, loser, evaluator, weight, contrast = rows
    (scores, shares, slopes), (of_scores, of_shares, of_slopes) = parts, gradient
    columns = contrast.shape[1]
    # What rounding takes from the sum is kept and added again: line searches compare sums of
    # millions of terms in their last digits.
    total, lost = 0.0, 0.0
    for p in range(len(winner)):
        w, x, k = winner[p], loser[p], evaluator[p]
        d = scores[w] - scores[x]
        other = -d if columns == 0 else 0.0
        for c in range(columns):
            other += slopes[k, c] * contrast[p, c]
        first, below = _expits(d)
        second, above = (below, first) if columns == 0 else _expits(other)
        log_chance, ratio, other_ratio = _ratios(shares[k], d, other, first, second)
        term = weight[p] * log_chance - lost
        before, total = total, total + term
        lost = (total - before) - term
        of_shares[k] += weight[p] * (ratio - other_ratio)
        slope = weight[p] * shares[k] * ratio * below
        stray = weight[p] * (1.0 - shares[k]) * other_ratio * above
        if columns == 0:
            slope -= stray
        for c in range(columns):
            of_slopes[k, c] += stray * contrast[p, c]
        of_scores[w] += slope
        of_scores[x] -= slope
    return total
