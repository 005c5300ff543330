r"""Evaluators of items that come in lots: how sharp each is, and what each gives to what.

Items come in *lots*, such as the answers to one prompt, and only items of one lot are compared.
Evaluator k puts i above j with log odds

.. math:: g_k (s_i - s_j) + \gamma_k \cdot (x_i - x_j)

(seats are one more number of a comparison). What of quality goes with the numbers x is part of
:math:`\gamma_k`, so that scores s, the rest of quality, have mean zero. In lot p they are normal
with SD :math:`\sigma_p`, and lots differ:

.. math:: \log \sigma_p \sim N(0, \omega^2) .

Scores and :math:`\sigma_p` are integrated out (:mod:`comparity.ranking.likelihood.propagation`),
:math:`\omega` is estimated. One SD for all lots would be wrong where lots differ: a dull evaluator
then seems sharper than it is, and what that takes from the worth of the numbers passes for a lean.

If evaluator z does not lean, the numbers are worth :math:`\gamma_z / g_z`, and the others lean by

.. math:: \lambda_k = \gamma_k - g_k \, \gamma_z / g_z

logits. With the curvature H, the slopes :math:`u_c` of clusters and the curvature P of the priors,
all errors are those of the sandwich :math:`H^{-1} (\sum_c u_c u_c^T + P) H^{-1}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from comparity.ranking.likelihood.objective import EFFECT_SD
from comparity.ranking.likelihood.propagation import OF_EACH, integrate

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SHARPNESS, SHARPNESS_SD = 1.0, 2.0
"""Centre and SD of the prior of sharpness: few judges of few prompts do not tell their own."""
SPREAD_SD = 1.0
"""SD of the prior of the spread of log SDs."""
SCALES, FURTHEST = 7, 2.25
"""SDs that a lot can have, and how far from the median the logarithms are, in their SDs."""
START = 0.5
"""Spread of log SDs to begin with: at zero the likelihood is level in it."""
NEAR, THERE, SLACK = 0.02, 1e-6, 1e-3
"""Expected gain in log-likelihood at which a search turns to the curvature, and at which it ends (a
thousandth of a standard error from the maximum); and a loss that may be rounding in integrals."""
MOST_STEPS, MOST_CURVATURES, STEPS_EACH, HALVINGS = 40, 4, 8, 10
"""Steps on the way, curvatures worked out and steps by each of them, and halvings of a step."""
FAR = 10.0
"""Gain of a step beyond which it tells nothing of the curvature at the maximum."""
LONGEST = 1.0
"""Step of any parameter at most."""
PART = 0.05
"""Steps for differences of slopes, in standard errors."""


def _even_nodes() -> tuple[Floats, Floats]:
    """Return points at even distances, of variance one, and logarithms of their shares."""
    nodes = np.linspace(-FURTHEST, FURTHEST, SCALES)
    shares = np.exp(-(nodes**2) / 2)
    shares /= shares.sum()
    return nodes / np.sqrt(shares @ nodes**2), np.log(shares)


NODES, LOG_SHARES = _even_nodes()


class Lots(NamedTuple):
    """Comparisons by lot, pair and evaluator, oriented so that the first item is the better one.

    Attributes
    ----------
    items, lots, pairs, bounds : ndarray of int
        As :func:`comparity.ranking.likelihood.propagation.integrate` takes them.
    evaluator, lot, cluster : ndarray of int
        Of each comparison, in the order of pairs.
    sign : ndarray
        1 where the better item is the first of its pair, else -1.
    numbers : ndarray, (comparisons, numbers)
        What the better item has more of.
    tied : ndarray of bool
    order : ndarray of int
        Where each item's score is found.
    """

    items: Codes
    lots: Codes
    pairs: Codes
    bounds: Codes
    evaluator: Codes
    lot: Codes
    cluster: Codes
    sign: Floats
    numbers: Floats
    tied: NDArray[np.bool_]
    order: Codes

    @classmethod
    def of(
        cls,
        better: Codes,
        worse: Codes,
        evaluator: Codes,
        numbers: Floats,
        *,
        tied: NDArray[np.bool_],
        cluster: Codes,
    ) -> Lots:
        """Return comparisons in the order of lots and pairs; a lot is what comparisons connect."""
        n = int(max(better.max(), worse.max())) + 1
        met = coo_array((np.ones(len(better), np.int8), (better, worse)), shape=(n, n))
        n_lots, lot_of = connected_components(met, directed=False)
        by_lot = np.argsort(lot_of, kind="stable")
        order = np.empty(n, np.int64)
        order[by_lot] = np.arange(n)
        items = np.searchsorted(lot_of[by_lot], np.arange(n_lots + 1))
        low, high = np.sort([order[better], order[worse]], axis=0)
        keys, pair = np.unique(low * n + high, return_inverse=True)
        rows = np.argsort(pair, kind="stable")
        # Items of a lot are neighbours, so pairs in the order of their first item are, too.
        both = np.column_stack([keys // n, keys % n])
        lot = np.searchsorted(items, both[:, 0], side="right") - 1
        return cls(
            items=items,
            lots=np.searchsorted(lot, np.arange(n_lots + 1)),
            pairs=both - items[lot][:, None],
            bounds=np.searchsorted(pair[rows], np.arange(len(keys) + 1)),
            evaluator=evaluator[rows],
            lot=lot[pair[rows]],
            cluster=cluster[rows],
            sign=np.where(order[better] < order[worse], 1.0, -1.0)[rows],
            numbers=numbers[rows],
            tied=tied[rows],
            order=order,
        )


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


class LotLikelihood:
    """The likelihood of lots with its slopes, lot by lot; sites are kept between evaluations."""

    def __init__(self, data: Lots, n_evaluators: int) -> None:
        self.data, self.n_evaluators = data, n_evaluators
        self.n_numbers = data.numbers.shape[1]
        tied = np.bincount(data.evaluator[data.tied], minlength=n_evaluators)
        self.with_ties = np.flatnonzero(tied)
        self.n_own = n_evaluators * (self.n_numbers + 1)
        self.size = self.n_own + len(self.with_ties) + 1
        self._sites = np.zeros((SCALES, len(data.pairs), 2))
        self._of_evaluator = [np.flatnonzero(data.evaluator == k) for k in range(n_evaluators)]
        precision = np.full((n_evaluators, self.n_numbers + 1), EFFECT_SD**-2)
        precision[:, 0] = SHARPNESS_SD**-2
        ties = np.full(len(self.with_ties), EFFECT_SD**-2)
        self.precision = np.concatenate([precision.ravel(), ties, [SPREAD_SD**-2]])
        self.centre = np.zeros(self.size)
        self.centre[: self.n_own : self.n_numbers + 1] = SHARPNESS
        self.start = np.append(self.centre[:-1], START)
        self.scores, self.spread = np.zeros(data.items[-1]), START
        self._means = np.zeros((len(data.sign), OF_EACH))

    def split(self, point: Floats) -> tuple[Floats, Floats, float]:
        """Return sharpness and worth of each evaluator, log ties, and the spread."""
        own = point[: self.n_own].reshape(self.n_evaluators, -1)
        log_ties = np.full(self.n_evaluators, -np.inf)
        log_ties[self.with_ties] = point[self.n_own : -1]
        return own, log_ties, float(point[-1])

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and the slopes of each lot, (lots, parameters)."""
        data, (own, log_ties, spread) = self.data, self.split(point)
        who, many = data.evaluator, len(data.lots) - 1
        offset = (own[who, 1:] * data.numbers).sum(axis=1)
        judged = (own[who, 0] * data.sign, offset, data.tied, log_ties[who])
        value, in_spread = np.zeros(many), np.zeros(many)
        means, scores = np.zeros((len(who), OF_EACH)), np.zeros(data.items[-1])
        scales = np.stack([np.exp(spread * NODES), LOG_SHARES, NODES])
        integrate(
            *(data.items, data.lots, data.pairs, data.bounds, judged, scales),
            *(self._sites, (value, in_spread, means, scores)),
        )
        self.scores, self.spread, self._means = scores, spread, means
        return float(value.sum()), self._by_lot(means, in_spread)

    def _by_lot(self, slopes: Floats, in_spread: Floats) -> Floats:
        """Sum slopes of judgments by lot and parameter."""
        data, found = self.data, np.zeros((len(in_spread), self.size))
        wide = self.n_numbers + 1
        for k, rows in enumerate(self._of_evaluator):
            lot = data.lot[rows]
            columns = [slopes[rows, 1] * data.sign[rows]]
            columns += [slopes[rows, 0] * data.numbers[rows, c] for c in range(wide - 1)]
            for place, column in enumerate(columns):
                found[:, k * wide + place] = np.bincount(lot, column, len(found))
        for place, k in enumerate(self.with_ties.tolist()):
            rows = self._of_evaluator[k]
            found[:, self.n_own + place] = np.bincount(data.lot[rows], slopes[rows, 2], len(found))
        found[:, -1] = in_spread
        return found

    def information(self, slopes: Floats) -> Floats:
        """Return the curvature at the point evaluated last, if scores and SDs were known.

        They are not, so it is more than there is, and steps by it are safe, as those of EM are.
        """
        data, found, wide = self.data, np.diag(self.precision), self.n_numbers + 1
        for k, rows in enumerate(self._of_evaluator):
            flat, tilted, square = self._means[rows, 3:].T
            x, own = data.numbers[rows], slice(k * wide, (k + 1) * wide)
            block = np.empty((wide, wide))
            block[0, 0], block[1:, 1:] = square.sum(), (flat[:, None] * x).T @ x
            block[0, 1:] = block[1:, 0] = (tilted * data.sign[rows]) @ x
            found[own, own] += block
        for place, k in enumerate(self.with_ties.tolist(), self.n_own):
            tied = data.tied[self._of_evaluator[k]]
            found[place, place] += len(tied) * tied.mean() * (1 - tied.mean())
        # Level at zero, so that what it falls by on the way there tells of the curvature; half way.
        to_zero = -2 * slopes[:, -1].sum() / self.spread if self.spread else 0.0
        found[-1, -1] += max(len(slopes) * slopes[:, -1].var(), to_zero)
        return found

    def posterior(self, point: Floats) -> tuple[float, Floats, Floats]:
        """Return log-likelihood plus log-priors, its gradient, and the slopes of each lot."""
        value, slopes = self.evaluate(point)
        apart = point - self.centre
        pull = self.precision * apart
        return value - float(apart @ pull) / 2, slopes.sum(axis=0) - pull, slopes

    def curvature(self, point: Floats, gradient: Floats, steps: Floats) -> Floats:
        """Return the negative Hessian, by differences of gradients."""
        columns = np.empty((self.size, self.size))
        # In sharpness and spread the likelihood is skewed, so they are moved both ways.
        skewed = {*range(0, self.n_own, self.n_numbers + 1), self.size - 1}
        for place, step in enumerate(steps.tolist()):
            moved = step * np.eye(1, self.size, place)[0]
            ahead = self.posterior(point + moved)[1]
            behind = self.posterior(point - moved)[1] if place in skewed else 2 * gradient - ahead
            columns[place] = (behind - ahead) / (2 * step)
        return (columns + columns.T) / 2


def fit_lots(data: Lots, n_evaluators: int) -> LotFit:
    """Maximise the likelihood with scores and SDs of lots integrated out."""
    likelihood = LotLikelihood(data, n_evaluators)
    point, bend, converged = _search(likelihood)
    value, slopes = likelihood.evaluate(point)
    own, _, spread = likelihood.split(point)
    covariance = _sandwich(likelihood, slopes, bend)[: likelihood.n_own, : likelihood.n_own]
    return LotFit(
        sharpness=own[:, 0],
        worth=own[:, 1:],
        spread=abs(spread),
        scores=likelihood.scores[data.order],
        covariance=covariance,
        log_likelihood=value,
        converged=converged,
    )


class Climb:
    """A way up the likelihood: where it is, and what is known there."""

    def __init__(self, likelihood: LotLikelihood) -> None:
        self.likelihood, self.point = likelihood, likelihood.start
        self.value, self.gradient, self.slopes = likelihood.posterior(self.point)
        self.information = likelihood.information(self.slopes)

    @property
    def curvature(self) -> Floats:
        """The curvature, or what it would be with scores known where it is not one of a peak."""
        steps = PART / np.sqrt(np.diagonal(self.information))
        found = self.likelihood.curvature(self.point, self.gradient, steps)
        return found if np.linalg.eigvalsh(found)[0] > 0 else self.information

    def step(self, metric: Floats, enough: float) -> bool:
        """Go up by one step; return whether there is no more to gain, or no way to gain it."""
        step = np.linalg.solve(metric, self.gradient)
        if float(self.gradient @ step) / 2 < enough:
            return True
        step *= min(1.0, LONGEST / float(np.abs(step).max()))
        for _ in range(HALVINGS):
            found = self.likelihood.posterior(self.point + step)
            if found[0] > self.value - SLACK:
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
        if climb.step(metric, NEAR):
            break
        moved, fallen = climb.point - point, gradient - climb.gradient
        is_far = float(gradient @ moved) > FAR
        metric = climb.information if is_far else _learn(metric, moved, fallen)
    for _ in range(MOST_CURVATURES):
        bend = climb.curvature
        for _ in range(STEPS_EACH):
            if climb.step(bend, THERE):
                break
        if float(climb.gradient @ np.linalg.solve(bend, climb.gradient)) / 2 < THERE:
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
    summed = np.zeros((len(clusters), slopes.shape[1]))
    np.add.at(summed, code, slopes)
    meat = summed.T @ summed * len(clusters) / max(len(clusters) - 1, 1)
    inverse = np.linalg.inv(bend)
    found: Floats = inverse @ (meat + np.diag(likelihood.precision)) @ inverse
    return found
