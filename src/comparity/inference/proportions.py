"""Two independent proportions: are they equal, how far apart, close enough.

Two tests answer each question for any hypothesised gap: the large-sample z-test with variances at
the observed rates (Wald), and the exact unconditional test. :func:`compare_rates` chooses.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr, ndtri

from comparity.counts.pairs import Tally
from comparity.inference.extreme_tables import ABOVE, BELOW, EQUAL, exact_p_value, lowest_gap
from comparity.inference.gap_tests import GapTest, Interval, untested_gap

# The z-test at the observed rates is used from so many trials, and so many hits and misses, in both
# groups on. Read off enumerations of all tables: at a level of 0.05 its true level is at most 0.057
# there, but 0.067 from 30 trials on; at 0.0025 at most 0.0034, but 0.0052 from 15 hits on.
TRIALS_TO_BE_NORMAL, HITS_TO_BE_NORMAL = 200, 50
# How likely the true rates may be not among the plausible ones. It is added to every p value, so it
# is far below any level at which tests are judged. Up to 1e-4 the power hardly depends on it.
MISSED = 1e-8
# Newton's steps that bring the closed-form root to full precision where two roots nearly meet, as
# they do for rare hits among very many trials.
POLISH = 4

Counts = tuple[int, int]
Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class WaldPivot:
    r"""z-test of a gap whose standard error does not depend on the hypothesis.

    .. math:: z = \frac{\hat p_1 - \hat p_2 - \delta}{s}

    Attributes
    ----------
    gap, standard_error : float
        Observed gap and its standard error, which must be positive.

    Examples
    --------
    >>> pivot = WaldPivot(0.1, 0.05)
    >>> round(pivot.p_value(0.0), 4)
    0.0455
    >>> [round(limit, 3) for limit in pivot.interval(0.95)[:2]]
    [0.002, 0.198]
    """

    gap: float
    standard_error: float

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return float(2 * ndtr(-abs(self._z(hypothesised))))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return float(ndtr(self._z(hypothesised)))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return float(ndtr(-self._z(hypothesised)))

    def interval(self, level: float) -> Interval:
        """Return the possible gaps, between -1 and 1, that are not rejected at ``1 - level``."""
        half_width = _quantile(level) * self.standard_error
        return Interval(max(self.gap - half_width, -1.0), min(self.gap + half_width, 1.0), level)

    def _z(self, hypothesised: float) -> float:
        return (self.gap - hypothesised) / self.standard_error


def compare_rates(first: Tally, second: Tally, *, null: str, what: str = "trials") -> GapTest:
    r"""Test whether two independent proportions are equal, with the test that suits the counts.

    =========================================================  =====================
    counts                                                     `method`
    =========================================================  =====================
    200 trials, 50 hits and 50 misses or more in both groups   "Wald z"
    fewer                                                      "exact unconditional"
    =========================================================  =====================

    (:class:`WaldPivot`, :class:`ExactPivot`).

    Parameters
    ----------
    first, second : Tally
        Hits and trials behind the two proportions.
    null : str
        The hypothesis in words.
    what : str
        What the trials are, in the plural, for the reason why there is no test.

    Returns
    -------
    GapTest
        `standard_error` uses the observed rates in the Wald test, the pooled rate in the exact one.
        p value 1 where both rates are 0 or both are 1. Without trials the p value is ``nan`` and
        `reason` says so.

    Notes
    -----
    The exact test never rejects equal rates more often than its level. Where the z-test is used its
    true false-alarm rate at a nominal 0.05, found by enumerating all tables, is at most 0.057.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eqs. (13)-(15) and
       (18)-(20), for the Wald test.

    Examples
    --------
    >>> test = compare_rates(Tally(9, 10), Tally(3, 12), null="tpr(a) = tpr(b)")
    >>> test.method, round(test.gap, 2), test.p_value < 0.01
    ('exact unconditional', 0.65, True)
    """
    if not first.trials or not second.trials:
        return _no_test(first, second, null, "none", _why_absent(first, what))
    if (
        min(first.trials, second.trials) >= TRIALS_TO_BE_NORMAL
        and _rarest(first, second) >= HITS_TO_BE_NORMAL
    ):
        return compare_rates_wald(first, second, null=null)
    pivot, pooled = ExactPivot(first, second), (first + second).rate
    variance = pooled * (1 - pooled) * (1 / first.trials + 1 / second.trials)
    return GapTest(
        null=null,
        gap=first.rate - second.rate,
        standard_error=math.sqrt(variance),
        p_value=pivot.p_value(0.0),
        n=(first.trials, second.trials),
        method="exact unconditional",
        pivot=pivot,
    )


def _rarest(first: Tally, second: Tally) -> int:
    """Return the least number of hits or misses in either group."""
    return min(min(tally.hits, tally.trials - tally.hits) for tally in (first, second))


def compare_rates_wald(first: Tally, second: Tally, *, null: str) -> GapTest:
    r"""Test whether two independent proportions are equal by the large-sample z-test.

    .. math:: z = \frac{\hat p_1 - \hat p_2}
       {\sqrt{\hat p_1 (1 - \hat p_1) / n_1 + \hat p_2 (1 - \hat p_2) / n_2}}

    This is the test of [1]_, whatever the counts.

    Parameters
    ----------
    first, second : Tally
        Hits and trials behind the two proportions.
    null : str
        The hypothesis in words.

    Returns
    -------
    GapTest
        p value ``nan``, with the reason, without trials or where both rates are 0 or 1.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", eqs. (13)-(15) and
       (18)-(20).

    Examples
    --------
    >>> test = compare_rates_wald(Tally(80, 100), Tally(45, 60), null="tpr(a) = tpr(b)")
    >>> round(test.standard_error, 4), round(test.p_value, 4)
    (0.0687, 0.467)
    """
    if not first.trials or not second.trials:
        return _no_test(first, second, null, "Wald z", _why_absent(first, "trials"))
    variance = _variance(first) + _variance(second)
    if not variance:
        reason = "both rates are 0 or 1, so the observed rates show no variance"
        return _no_test(first, second, null, "Wald z", reason)
    pivot = WaldPivot(first.rate - second.rate, math.sqrt(variance))
    return GapTest(
        null=null,
        gap=pivot.gap,
        standard_error=pivot.standard_error,
        p_value=pivot.p_value(0.0),
        n=(first.trials, second.trials),
        method="Wald z",
        pivot=pivot,
    )


def wilson_interval(tally: Tally, level: float = 0.95) -> Interval:
    r"""Interval of one proportion: the rates that the score test does not reject.

    .. math:: \frac{\hat p + z^2 / 2n \pm z \sqrt{\hat p (1 - \hat p) / n + z^2 / 4 n^2}}
       {1 + z^2 / n}

    Parameters
    ----------
    tally : Tally
        Hits and trials.
    level : float
        Confidence level.

    Returns
    -------
    Interval
        Between 0 and 1; both ends ``nan`` without trials.

    References
    ----------
    .. [1] Wilson (1927), "Probable inference, the law of succession, and statistical inference".

    Examples
    --------
    >>> [round(limit, 3) for limit in wilson_interval(Tally(8, 10))[:2]]
    [0.49, 0.943]
    """
    if not tally.trials:
        return Interval(math.nan, math.nan, level)
    ratio = _quantile(level) ** 2 / tally.trials
    centre = (tally.rate + ratio / 2) / (1 + ratio)
    spread = tally.rate * (1 - tally.rate) + ratio / 4
    half_width = math.sqrt(ratio * spread) / (1 + ratio)
    return Interval(max(centre - half_width, 0.0), min(centre + half_width, 1.0), level)


def _quantile(level: float) -> float:
    # A level that rounds to 1, as at an early look, still gets a finite quantile.
    return float(-ndtri(max((1 - level) / 2, sys.float_info.min)))


def _variance(tally: Tally) -> float:
    return tally.rate * (1 - tally.rate) / tally.trials


def _why_absent(first: Tally, what: str) -> str:
    return f"there are no {what} behind the {'second' if first.trials else 'first'} rate"


def _no_test(first: Tally, second: Tally, null: str, method: str, reason: str) -> GapTest:
    n, gap = (first.trials, second.trials), first.rate - second.rate
    return untested_gap(null, n, reason, gap=gap, method=method)


def restricted_rate(
    first: ArrayLike, n_first: ArrayLike, second: ArrayLike, n_second: ArrayLike, gap: ArrayLike
) -> NDArray[np.float64]:
    r"""Return the likeliest first rate if the first minus the second rate is `gap`.

    The root of the cubic :math:`a p^3 + b p^2 + c p + d = 0` in closed form (Farrington and
    Manning 1990), with observed rates `first` and `second`. Arguments are broadcast.
    """
    p, q, s = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (first, second, gap))
    )
    ratio = np.asarray(n_second, dtype=np.float64) / np.asarray(n_first, dtype=np.float64)
    a = 1 + ratio
    b = -(1 + ratio + p + ratio * q + s * (ratio + 2))
    c = s**2 + s * (2 * p + ratio + 1) + p + ratio * q
    d = -p * s * (1 + s)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 0)), v)
    cosine = np.divide(v, u**3, out=np.zeros_like(v), where=u != 0)
    angle = (np.pi + np.arccos(np.clip(cosine, -1, 1))) / 3
    low, high = np.maximum(0, s), np.minimum(1, 1 + s)
    root: NDArray[np.float64] = np.clip(2 * u * np.cos(angle) - b / (3 * a), low, high)
    for _ in range(POLISH):
        value = ((a * root + b) * root + c) * root + d
        slope = (3 * a * root + 2 * b) * root + c
        step = np.divide(value, slope, out=np.zeros_like(root), where=np.abs(slope) > 1e-13)
        root = np.clip(root - step, low, high)
    # Of equal rates the likeliest is the pooled one, without rounding.
    return np.where(s == 0, (p + ratio * q) / a, root)


@dataclass(frozen=True, slots=True)
class ExactPivot:
    r"""Exact unconditional test of a gap, ordered by the score statistic.

    .. math:: p(\delta) = \gamma + \sup_{p_1 - p_2 = \delta,\; p_1 \in C_1,\; p_2 \in C_2}
       P_{p_1, p_2}\bigl(|z(X; \delta)| \ge |z(x; \delta)|\bigr)

    with the :func:`~comparity.inference.extreme_tables.score_statistic` :math:`z`; one-sided p
    values leave out the absolute values. :math:`C_1` and :math:`C_2` are the rates that the data
    leave plausible: intervals of Clopper and Pearson that both hold the true rates with probability
    :math:`1 - \gamma`, :math:`\gamma = 10^{-8}` [1]_.

    No rates whatever make the test reject a true hypothesis more often than its level. Where the
    true rates are plausible, the p value is at least :math:`\gamma` plus the true probability of
    tables as extreme, which is at most :math:`\alpha - \gamma` with at most that probability; and
    they are not plausible with probability :math:`\gamma` at most. Over all rates the supremum
    would often be reached at rates that the data rule out, which costs power where groups are of
    different size.

    At :math:`\delta = 0`, over all rates, it is Barnard's test with the pooled statistic; the
    interval is the hull of the gaps that the two-sided test does not reject [2]_, [3]_.

    Attributes
    ----------
    first, second : Tally
        Hits and trials; both need trials.

    References
    ----------
    .. [1] Berger and Boos (1994), "P values maximized over a confidence set for the nuisance
       parameter".
    .. [2] Chan and Zhang (1999), "Test-based exact confidence intervals for the difference of two
       binomial proportions".
    .. [3] Agresti and Min (2001), "On small-sample confidence intervals for parameters in discrete
       distributions".

    Examples
    --------
    >>> pivot = ExactPivot(Tally(7, 12), Tally(8, 15))
    >>> pivot.p_value(0.0) > 0.8
    True
    >>> low, high, _ = pivot.interval(0.95)
    >>> low < 7 / 12 - 8 / 15 < high
    True
    """

    first: Tally
    second: Tally

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        if abs(hypothesised) > 1:  # no rates are that far apart
            return 0.0
        return self._p_value(hypothesised, EQUAL)

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        if abs(hypothesised) > 1:
            return float(hypothesised < -1)
        return self._p_value(hypothesised, BELOW)

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        if abs(hypothesised) > 1:
            return float(hypothesised > 1)
        return self._p_value(hypothesised, ABOVE)

    def interval(self, level: float) -> Interval:
        """Return the hull of the gaps, between -1 and 1, that are not rejected at ``1 - level``.

        Limits lie at most 1.25e-6 inside of those of the hull.
        """
        return _interval(self, level)

    def _p_value(self, hypothesised: float, side: int) -> float:
        p_value = exact_p_value(*_arrange(self.first, self.second), float(hypothesised), side)
        return min(p_value + MISSED, 1.0)


# A table, a picture and JSON ask for the same intervals, and so do audits of the same groups.
@lru_cache(maxsize=2**14)
def _interval(pivot: ExactPivot, level: float) -> Interval:
    alpha = 1 - level - MISSED
    if alpha <= 0:
        return Interval(-1.0, 1.0, level)
    first, second = pivot.first, pivot.second
    low = lowest_gap(*_arrange(first, second), alpha)
    # The highest gap of hits is the lowest gap of misses.
    high = 0.0 - lowest_gap(*_arrange(_misses(first), _misses(second)), alpha)
    return Interval(low, high, level)


def _arrange(first: Tally, second: Tally) -> tuple[Counts, Counts, tuple[Bounds, Bounds]]:
    """Return counts and plausible rates, the group with fewer plausible hits first.

    Misses of the second group minus misses of the first have the same gap as hits of the first
    minus hits of the second.
    """
    rates = _plausible_rates(first), _plausible_rates(second)
    (low, high), (other_low, other_high) = rates
    if (high - low) * first.trials > (other_high - other_low) * second.trials:
        first, second = _misses(second), _misses(first)
        rates = _plausible_rates(first), _plausible_rates(second)
    return (first.hits, first.trials), (second.hits, second.trials), rates


def _misses(tally: Tally) -> Tally:
    return Tally(tally.trials - tally.hits, tally.trials)


@lru_cache(maxsize=2**14)
def _plausible_rates(tally: Tally) -> Bounds:
    """Return the limits of Clopper and Pearson, each of which misses the rate with MISSED / 4."""
    hits, misses = tally.hits, tally.trials - tally.hits
    low = float(betaincinv(hits, misses + 1, MISSED / 4)) if hits else 0.0
    high = 1 - float(betaincinv(misses, hits + 1, MISSED / 4)) if misses else 1.0
    return low, high
