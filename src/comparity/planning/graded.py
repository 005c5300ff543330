"""Judged pairs of items of graded quality: a normal model of quality, judges and model.

The rates of agreement, and what items add to their covariance, are integrals of normal densities;
:class:`GradedScenario` says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, owens_t

from comparity.planning.scenarios import PairScenario, Rates

Vector = NDArray[np.float64]

#: Points of quadrature for quality, and as many for the model's error. Even, so that none is 0.
POINTS = 40

#: A group that is ahead in fewer pairs than this share is not planned for.
SMALLEST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedScenario(PairScenario):
    r"""Judged pairs of items of graded quality, tested for comparative separation.

    An item of group `a` has the quality :math:`q \sim N(m_a, s_a^2)`. The model gives it the score
    :math:`q + d_a + e` with :math:`e \sim N(0, g_a^2)`: it errs by :math:`g_a`, and lifts the group
    by :math:`d_a`. A judge sees each item of a pair with an error of standard deviation `j`, drawn
    again for every judgment, and puts the item first that looks better. Separation holds if
    :math:`d` and :math:`g` are equal in all groups.

    With :math:`D` the difference that the judge sees and :math:`S` that of the scores, the model
    agrees in cell (a, b) with probability :math:`r = P(S > 0 \mid D > 0)`, and a random pair falls
    into it with probability :math:`2 P(a) P(b) P(D > 0)`. Both are orthants of a normal
    distribution; within a group :math:`r = 1/2 + \arcsin(\rho)/\pi`, where :math:`\rho` is the
    correlation of `D` and `S`.

    Pairs drawn from `n_items` items share items. An item `x` of group `a` moves the rate of cell
    (a, b) by

    .. math:: h(x) = \frac{P(D > 0, S > 0 \mid x) - r P(D > 0 \mid x)}{P(D > 0)}

    as the better item, likewise as the worse one in (b, a), and by the sum of both in (a, a). The
    covariance of these over the items of a group, by quadrature, divided by their number, stays
    however many judgments are made; so does what is left of the variance of a pair, divided by the
    number of pairs, where a pair that is judged twice is taken to be judged alike.

    Attributes
    ----------
    quality_mean, quality_spread : tuple of float
        Mean and standard deviation of quality in each group.
    model_error : tuple of float
        Standard deviation of the model's error in each group, in units of quality.
    model_shift : tuple of float
        What the model adds to the score of every item of the group.
    judge_error : float
        Standard deviation of the error with which a judge sees one item.

    Examples
    --------
    The model errs twice as much in the second group:

    >>> scenario = GradedScenario(
    ...     shares=(0.5, 0.5), quality_mean=(0, 0), quality_spread=(1, 1),
    ...     model_error=(0.5, 1.0), model_shift=(0, 0), graded=True,
    ... )
    >>> scenario.cell_rates.round(3)
    array([0.852, 0.787, 0.787, 0.75 ])
    """

    quality_mean: Rates
    quality_spread: Rates
    model_error: Rates
    model_shift: Rates
    judge_error: float = 0.0

    @property
    def cell_rates(self) -> Vector:
        """How often the model agrees with judges, by the groups of the better and the worse."""
        return self._moments.rates.ravel()

    @property
    def cell_shares(self) -> Vector:
        """The probability that a pair is judged with an order in each cell."""
        share = np.outer(self.shares, self.shares) * (1 - self.tie_share)
        meet: Vector = 2 * share * self._moments.orders
        return meet.ravel()

    @property
    def rarest_order(self) -> tuple[float, int, int]:
        """How often the group that is ahead most rarely is, and the two groups."""
        orders = self._moments.orders
        better, worse = np.unravel_index(int(orders.argmin()), orders.shape)
        return float(orders[better, worse]), int(better), int(worse)

    @property
    def keeps_separation(self) -> bool:
        """Whether the model errs alike in all groups, given quality."""
        return len(set(self.model_error)) == 1 == len(set(self.model_shift))

    def covariance_of_items(self, n_items: int) -> Vector:
        """Return what sharing so many items adds to the covariance of the cells' rates."""
        items, moments = n_items * np.array(self.shares), self._moments
        added = np.zeros((self.n_groups**2, self.n_groups**2))
        for one, number in zip(moments.covariances, items, strict=True):
            added += one / number
        # What an item explains as the better and as the worse one is counted above.
        explained = np.array([np.diag(one) for one in moments.covariances]).sum(axis=0)
        rates, orders = moments.rates.ravel(), moments.orders.ravel()
        left = np.maximum(rates * (1 - rates) / np.maximum(orders, SMALLEST) - explained, 0)
        added[np.diag_indices_from(added)] += left / np.outer(items, items).ravel()
        return added

    @property
    def _moments(self) -> QualityMoments:
        of_quality, of_model = (
            zip(self.quality_mean, self.quality_spread, strict=True),
            zip(self.model_error, self.model_shift, strict=True),
        )
        groups = tuple((*one, *other) for one, other in zip(of_quality, of_model, strict=True))
        return find_moments(groups, self.judge_error)


@dataclass(frozen=True, slots=True)
class QualityMoments:
    """What a normal model of quality, judges and model says of pairs.

    Attributes
    ----------
    rates : ndarray of shape (groups, groups)
        How often the model agrees, by the groups of the better and the worse item.
    orders : ndarray of shape (groups, groups)
        How often an item of one group is judged better than one of the other.
    covariances : tuple of ndarray of shape (groups**2, groups**2)
        For each group, the covariance of what one of its items adds to the cells' rates.
    """

    rates: Vector
    orders: Vector
    covariances: tuple[Vector, ...]


@lru_cache(maxsize=64)
def find_moments(groups: tuple[tuple[float, ...], ...], judge_error: float) -> QualityMoments:
    """Return rates, orders and what items add, of groups that are each given by four numbers.

    Parameters
    ----------
    groups : tuple of (mean, spread, error, shift)
        Quality and model in each group, as in :class:`GradedScenario`.
    judge_error : float
        Standard deviation of the error with which a judge sees one item.
    """
    n = len(groups)
    noise = 2 * judge_error**2
    rates, orders = np.empty((n, n)), np.empty((n, n))
    for a, b in np.ndindex(n, n):
        (mean, spread, error, shift), (other, width, blur, lift) = groups[a], groups[b]
        common = spread**2 + width**2
        seen, scored = np.sqrt(common + noise), np.sqrt(common + error**2 + blur**2)
        ahead = np.array((mean - other) / seen)
        raised = np.array((mean + shift - other - lift) / scored)
        orders[a, b] = ndtr(ahead)
        both = normal_orthant(ahead, raised, common / (seen * scored))
        # Plans refuse groups that hardly ever are ahead; there is no rate of such pairs.
        rates[a, b] = np.clip(both / np.maximum(orders[a, b], SMALLEST), 0, 1)
    covariances = tuple(_covariance(groups, place, noise, rates, orders) for place in range(n))
    return QualityMoments(rates, orders, covariances)


def _covariance(
    groups: tuple[tuple[float, ...], ...], own: int, noise: float, rates: Vector, orders: Vector
) -> Vector:
    """Return the covariance, over items of a group, of what one adds to each cell's rate."""
    mean, spread, error, shift = groups[own]
    points, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    quality, err = (mean + spread * points)[:, None], (error * points)[None, :]
    score = quality + shift + err
    weight = np.outer(weights, weights).ravel() / weights.sum() ** 2
    moves = np.zeros((len(groups), len(groups), weight.size))
    for other, (middle, width, blur, lift) in enumerate(groups):
        seen, scored = np.sqrt(width**2 + noise), np.sqrt(width**2 + blur**2)
        ahead, raised = (quality - middle) / seen, (score - middle - lift) / scored
        correlation = width**2 / (seen * scored)
        better = normal_orthant(ahead, raised, correlation) - rates[own, other] * ndtr(ahead)
        worse = normal_orthant(-ahead, -raised, correlation) - rates[other, own] * ndtr(-ahead)
        moves[own, other] += better.ravel() / np.maximum(orders[own, other], SMALLEST)
        moves[other, own] += worse.ravel() / np.maximum(orders[other, own], SMALLEST)
    cells = moves.reshape(len(groups) ** 2, -1)
    cells = cells - (cells @ weight)[:, None]
    covariance: Vector = (cells * weight) @ cells.T
    return covariance


def normal_orthant(first: Vector, second: Vector, correlation: float) -> Vector:
    r"""Return :math:`P(X < h, Y < k)` of two standard normal variables, by Owen's T.

    Examples
    --------
    >>> round(float(normal_orthant(np.zeros(1), np.zeros(1), 0.5)[0]), 6)  # 1/4 + asin(1/2)/2pi
    0.333333
    """
    # The function is continuous, and the formula divides by both arguments.
    h, k = (np.where(at == 0, 1e-100, at) for at in np.broadcast_arrays(first, second))
    root = np.sqrt(1 - correlation**2)
    apart = (owens_t(h, (k / h - correlation) / root), owens_t(k, (h / k - correlation) / root))
    found: Vector = (ndtr(h) + ndtr(k) - (h * k < 0)) / 2 - apart[0] - apart[1]
    return found
