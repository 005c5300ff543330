r"""Tests of agreement gaps when judged pairs share items or evaluators.

Question: may two kinds of pairs have the same agreement, given that one item occurs in many pairs?

Cells 1 and 2 have :math:`n_1, n_2` judgments, the observed gap is :math:`d` and the rate over both
:math:`\bar p`. For a hypothesised gap :math:`\delta` let

.. math::

    \rho_1 = \bar p + \delta \frac{n_2}{n_1 + n_2}, \quad
    \rho_2 = \bar p - \delta \frac{n_1}{n_1 + n_2}, \quad
    u_p = \frac{agree_p - \rho_1}{n_1} \text{ in cell 1}, \;
    -\frac{agree_p - \rho_2}{n_2} \text{ in cell 2}.

The variance of the gap under the hypothesis is the sum over judgments that share an item or an
evaluator, each with itself too,

.. math:: V(\delta) = \sum_{p, q \text{ that share}} u_p u_q

and :math:`(d - \delta) / \sqrt{V(\delta)}` is the statistic (:class:`DyadicGap`). Residuals are
taken at the hypothesis: with residuals at the observed rates the test finds too much in small
samples. :math:`V` is a quadratic in :math:`\delta`, so the interval has a closed form.

Where a cell expects fewer than 15 hits or misses the squared residuals of single judgments say
little about their variance (a small cell without a miss would have next to none, and false alarms
reach 0.4), so that there, and for all pairs that labels imply (:class:`SharedGap`),

.. math::

    V(\delta) = \frac{\rho_1 (1 - \rho_1)}{n_1} + \frac{\rho_2 (1 - \rho_2)}{n_2}
    + \max\Big(0, \sum_{p \ne q \text{ that share}} u_p u_q \Big)

with :math:`\rho_1, \rho_2` the likeliest rates that differ by :math:`\delta`. Without sharing
this is the score test of two proportions. Residuals at :math:`\rho` still have the spread of the
sample: one whose gap is small by chance (few bad items were met) also has a small variance, and
gaps as large as the margin are called harmless in up to 0.1. For a gap beyond the observed one the
last term is therefore, where that is larger, the same sum of residuals at the observed rates, each
scaled by :math:`\sqrt{f(\rho) / f(\hat p)}` with :math:`f` the covariance of two outcomes that
share an item if scores are normal (:func:`shared_spread`).

A few evaluators have tests of their own (:mod:`comparity.inference.evaluators`). Otherwise the
reference distribution is the normal. With :math:`G` queries as clusters the sum of
:math:`G` independent parts over the root of their squares is not normal but
:math:`t \sqrt{G / (G - 1 + t^2)}` with :math:`t` on :math:`G - 1` degrees of freedom, which is
exact for normal parts, tends to the normal, and matters with ten clusters or fewer.

The shared part follows Aronow, Samii and Assenova, "Cluster-robust variance estimation for dyadic
data", Political Analysis 23 (2015), and Cameron, Gelbach and Miller, "Robust inference with
multiway clustering", J. Business and Economic Statistics 29 (2011), with null-imposed residuals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, owens_t

from comparity.counts.pairs import ROUNDING
from comparity.inference.gap_tests import NORMAL, Interval, Reference, Statistic, find_limit
from comparity.inference.proportions import restricted_rate

# A variance below this is rounding.
NOTHING = 1e-15

# The multiplier of likeliest rates is sought up to so many times the trials, and halved so often.
WIDEST, HALVINGS = 1e9, 80

Vector = NDArray[np.float64]
Quadratic = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class DyadicGap(Statistic):
    """A gap between cells with ample counts that may share items.

    Attributes
    ----------
    rates, trials : ndarray of shape (m,)
        Agreement and judgments (or their weight) of the cells.
    dependent, own : ndarray of shape (2 m, 2 m)
        Second moments of the trials of all cells, then of their hits, over all judgments that
        share and over each judgment with itself.
    contrast : ndarray of shape (m,)
        What each rate counts for in the gap: 1 and -1 for two cells.
    reference : Reference
    """

    rates: Vector
    trials: Vector
    dependent: Vector
    own: Vector
    contrast: Vector
    reference: Reference = NORMAL

    @cached_property
    def gap(self) -> float:
        """The observed gap."""
        return float(self.contrast @ self.rates)

    @cached_property
    def line(self) -> tuple[Vector, Vector]:
        """The weights at the observed gap, and what they gain by a gap larger by one."""
        base = self.weights(self.gap)
        return base, self.weights(self.gap + 1.0) - base

    @cached_property
    def curves(self) -> tuple[Quadratic, Quadratic]:
        """Variances of single judgments and of all, by how far a hypothesis is from the gap."""
        base, step = self.line
        single, whole = (
            (float(base @ one @ base), float(2 * base @ one @ step), float(step @ one @ step))
            for one in (self.own, self.dependent)
        )
        return single, whole

    @property
    def pooled_rate(self) -> float:
        """The rate over all cells."""
        return float(self.trials @ self.rates / self.trials.sum())

    def parts_at(self, hypothesised: float) -> tuple[float, float]:
        """Return what single judgments and what shared ones add to the variance."""
        single = value_of(self.curves[0], hypothesised - self.gap)
        return single, self.variance_at(hypothesised) - single

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        return value_of(self.curves[1], hypothesised - self.gap)

    def least_variance(self) -> float:
        """Return the smallest variance at any gap from -1 to 1."""
        constant, slope, bend = self.curves[1]
        ends = [self.variance_at(-1.0), self.variance_at(1.0)]
        if bend > 0 and abs(slope / (2 * bend) - self.gap) < 1:
            ends.append(constant - slope**2 / (4 * bend))
        return min(ends)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""
        return _standardise_gap(self.gap - hypothesised, self.variance_at(hypothesised))

    def interval(self, level: float) -> Interval:
        r"""Return the gaps that the two-sided test at ``1 - level`` does not reject.

        The solutions of :math:`(d - \delta)^2 \le q^2 V(\delta)` around :math:`d`.
        """
        squared = self.reference.quantile(1 - level) ** 2
        constant, slope, bend = (squared * c for c in self.curves[1])
        roots = np.roots([1 - bend, -slope, -constant])
        real = [root.real for root in roots if abs(root.imag) < ROUNDING]
        low = max((self.gap + root for root in real if root <= 0), default=-1.0)
        high = min((self.gap + root for root in real if root >= 0), default=1.0)
        return Interval(max(float(low), -1.0), min(float(high), 1.0), level)

    def weights(self, hypothesised: float) -> Vector:
        """Return what turns trials and hits of the cells into the sum of residuals."""
        share = self.contrast / self.trials
        rates = self.rates - (self.gap - hypothesised) * share / (self.contrast @ share)
        return _residual_weights(share, rates)


def value_of(curve: Quadratic, place: float) -> float:
    """Return the value of a polynomial."""
    constant, slope, bend = curve
    return constant + place * (slope + place * bend)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedGap(Statistic):
    """A gap between cells that may share items: a :class:`comparity.inference.gap_tests.Pivot`.

    Attributes
    ----------
    rates, trials : ndarray of shape (m,)
        Agreement and judgments (or their weight) of the cells.
    own : ndarray of shape (m,)
        Sum of squared weights of the judgments; the number of judgments where they weigh one.
    shared : ndarray of shape (2 m, 2 m)
        Second moments of trials, then hits, over judgments that share.
    contrast : ndarray of shape (m,)
        What each rate counts for in the gap: 1 and -1 for two cells.
    tie_share : float
        Share of judgments that count as half a hit.
    reference : Reference
    """

    rates: Vector
    trials: Vector
    own: Vector
    shared: Vector
    contrast: Vector
    tie_share: float = 0.0
    reference: Reference = NORMAL

    @property
    def gap(self) -> float:
        """The observed gap."""
        return float(self.contrast @ self.rates)

    def parts_at(self, hypothesised: float) -> tuple[float, float]:
        """Return what single judgments and what shared ones add to the variance."""
        gap = min(max(hypothesised, -1.0), 1.0)
        # Weighted judgments count as many as would have their variance.
        rates = likeliest_rates(self.rates, self.trials**2 / self.own, self.contrast, gap)
        share = self.contrast / self.trials
        spreads = np.array([spread(rate, self.tie_share) for rate in rates.tolist()])
        weights = [_residual_weights(share, rates)]
        if abs(gap) > abs(self.gap):
            now = shared_spread(self.rates)
            growth = np.divide(shared_spread(rates), now, out=np.ones_like(now), where=now > 0)
            weights.append(_residual_weights(share * np.sqrt(growth), self.rates))
        shared = max(0.0, *(float(one @ self.shared @ one) for one in weights))
        return float(spreads * self.own @ share**2), shared

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        return sum(self.parts_at(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        step = quantile * math.sqrt(self.variance_at(self.gap))
        low, high = (
            find_limit(lambda gap: abs(self.statistic(gap)) - quantile, self.gap, end, step)
            for end in (-1.0, 1.0)
        )
        return Interval(low, high, level)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""
        return _standardise_gap(self.gap - hypothesised, self.variance_at(hypothesised))


def _residual_weights(share: Vector, rates: Vector) -> Vector:
    """Return what trials and hits count for in a sum of residuals about the given rates."""
    return np.concatenate([-rates * share, share])


def likeliest_rates(rates: Vector, trials: Vector, contrast: Vector, gap: float) -> Vector:
    r"""Return the rates of largest binomial likelihood among those with a given gap.

    For two cells a cubic equation. For more, at a Lagrange multiplier :math:`\lambda` each rate is
    the root in (0, 1) of

    .. math:: n_i (\hat p_i - \rho_i) = \lambda c_i \rho_i (1 - \rho_i)

    and the gap falls as :math:`\lambda` grows, so that it is found by halving.
    """
    if len(rates) == 2:
        first = float(restricted_rate(rates[0], trials[0], rates[1], trials[1], gap))
        return np.array([first, min(max(first - gap, 0.0), 1.0)])

    def at(slope: float) -> Vector:
        pull = slope * contrast
        # The root in [0, 1] of a quadratic, in the form that does not cancel.
        half = (trials + pull) / 2
        root = np.sqrt(np.maximum(half**2 - pull * trials * rates, 0.0))
        turned = half < 0
        above, below = (
            np.where(turned, half - root, trials * rates),
            np.maximum(half + root, NOTHING),
        )
        found: Vector = np.clip(above / np.where(turned, pull, below), 0.0, 1.0)
        return found

    low, high = -float(trials.max()), float(trials.max())
    most = WIDEST * high
    while contrast @ at(low) < gap and low > -most:
        low *= 2
    while contrast @ at(high) > gap and high < most:
        high *= 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if contrast @ at(middle) > gap else (low, middle)
    return at((low + high) / 2)


def _standardise_gap(distance: float, variance: float) -> float:
    """Return a distance in standard errors; infinite where there is no error."""
    if abs(distance) < NOTHING:
        return 0.0
    if variance < NOTHING:
        return math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def spread(rate: float, tie_share: float) -> float:
    """Return the variance of an outcome of 0, 1, or one half with the given probability."""
    return max(rate * (1 - rate) - tie_share / 4, 0.0)


def shared_spread(rate: Vector) -> Vector:
    r"""Return the covariance of two outcomes that share an item, if scores are normal.

    Outcomes are signs of differences of two scores, which correlate by one half if they have one
    score in common. Both are right with probability :math:`p - 2 T(\Phi^{-1}(p), 1 / \sqrt 3)`,
    with :math:`T` Owen's function, so that the covariance is

    .. math:: f(p) = p (1 - p) - 2 T(\Phi^{-1}(p), 1 / \sqrt 3).

    Examples
    --------
    >>> np.round(12 * shared_spread(np.array([0.5, 0.9, 1.0])), 3)
    array([1.   , 0.269, 0.   ])
    """
    rate = np.clip(rate, 0.0, 1.0)
    found: Vector = rate * (1 - rate) - 2 * owens_t(ndtri(rate), 3**-0.5)
    return np.maximum(found, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedRate:
    """The rate of one cell whose pairs may share items, tested like a gap.

    Attributes
    ----------
    rate, trials, own, tie_share : float
        As in :class:`SharedGap`, of one cell.
    shared : ndarray, (2, 2)
        Second moments of (trials, hits) over judgments that share.
    reference : Reference
    """

    rate: float
    trials: float
    own: float
    shared: NDArray[np.float64]
    tie_share: float = 0.0
    reference: Reference = NORMAL

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the rate if it is `hypothesised`."""
        weights = np.array([-hypothesised, 1.0]) / self.trials
        single = spread(hypothesised, self.tie_share) * self.own / self.trials**2
        return single + max(float(weights @ self.shared @ weights), 0.0)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised rate in standard errors."""
        return _standardise_gap(self.rate - hypothesised, self.variance_at(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the rates that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        step = quantile * math.sqrt(self.variance_at(self.rate))
        low, high = (
            find_limit(lambda rate: abs(self.statistic(rate)) - quantile, self.rate, end, step)
            for end in (0.0, 1.0)
        )
        return Interval(low, high, level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WinGap(Statistic):
    """How much more often one side wins than the other: twice a rate minus one.

    A :class:`comparity.inference.gap_tests.Pivot`; ties of the scores are half a win of both sides.

    Attributes
    ----------
    wins : SharedRate
        Share of wins of the first side.
    """

    wins: SharedRate

    @property
    def reference(self) -> Reference:
        """The distribution the statistic is compared with."""
        return self.wins.reference

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        low, high, _ = self.wins.interval(level)
        return Interval(2 * low - 1, 2 * high - 1, level)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""
        return self.wins.statistic((1 + hypothesised) / 2)
