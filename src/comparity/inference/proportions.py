"""Two independent proportions: are they equal, how far apart, close enough.

Three tests answer each question for any hypothesised gap: the large-sample z-test with
variances at the observed rates (Wald), the z-test with the variance the hypothesis implies (score),
and the exact unconditional test ordered by the score statistic. :func:`compare_rates` chooses.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from comparity.counts.decisions import Tally
from comparity.inference.exact import ExactPivot, score_statistic
from comparity.inference.gap_tests import GapTest, Interval, untested_gap

__all__ = [
    "ExactPivot",
    "ScorePivot",
    "WaldPivot",
    "compare_rates",
    "compare_rates_wald",
    "wilson_interval",
]

# Fewest trials behind each rate at which the normal law with observed variances is used.
LARGE = 30
# With fewer hits or misses in a group the Wald test finds gaps that are not there.
COMMON = 15
# With fewer expected in the smaller group the score test does (the old rule for chi-square tests).
EXPECTED = 5
# An interval takes a few milliseconds at this size.
MOST_TABLES = 1500
MOST_EXACT_TRIALS = 200


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


@dataclass(frozen=True, slots=True)
class ScorePivot:
    r"""z-test of a gap with the variance that the hypothesised gap implies.

    .. math:: z(\delta) = \frac{\hat p_1 - \hat p_2 - \delta}
       {\sqrt{\tilde p_1 (1 - \tilde p_1) / n_1 + \tilde p_2 (1 - \tilde p_2) / n_2}}

    where :math:`\tilde p_1 - \tilde p_2 = \delta` are the rates of largest likelihood under the
    hypothesis [1]_, [2]_, without the factor :math:`n / (n - 1)` of [1]_. It needs no variation
    in the data: at rates of 0 or 1 test and interval still make sense.

    Attributes
    ----------
    first, second : Tally
        Hits and trials; both need trials.
    corrected : bool
        Whether the distance between observed and hypothesised gap is first shortened by
        :math:`(1 / n_1 + 1 / n_2) / 2`, but not below zero (Yates' continuity correction).

    References
    ----------
    .. [1] Miettinen and Nurminen (1985), "Comparative analysis of two rates".
    .. [2] Farrington and Manning (1990), "Test statistics and sample size formulae for comparative
       binomial trials with null hypothesis of non-zero risk difference or non-unity relative risk".

    Examples
    --------
    >>> pivot = ScorePivot(Tally(0, 40), Tally(0, 20))
    >>> pivot.p_value(0.0)
    1.0
    >>> [round(limit, 3) for limit in pivot.interval(0.95)[:2]]
    [-0.161, 0.088]
    """

    first: Tally
    second: Tally
    corrected: bool = False

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
        """Return the gaps, between -1 and 1, that are not rejected at ``1 - level``."""
        gap = self.first.rate - self.second.rate
        quantile = _quantile(level)
        return Interval(self._limit(gap, -1.0, quantile), self._limit(gap, 1.0, -quantile), level)

    def _z(self, hypothesised: float) -> float:
        if abs(hypothesised) > 1:  # no rates are that far apart
            return -math.copysign(math.inf, hypothesised)
        first, second = self.first, self.second
        z = float(
            score_statistic(first.rate, first.trials, second.rate, second.trials, hypothesised)
        )
        distance = abs(first.rate - second.rate - hypothesised)
        if not self.corrected or distance == 0:
            return z
        step = (1 / first.trials + 1 / second.trials) / 2
        return z * max(1 - step / distance, 0.0) if math.isfinite(z) else z

    def _limit(self, gap: float, end: float, target: float) -> float:
        """Return where the statistic, which falls in the hypothesised gap, reaches the target."""
        from scipy.optimize import brentq

        if gap == end:
            return end

        def excess(hypothesised: float) -> float:
            # Finite values for brentq; at the ends the statistic is infinite.
            return float(np.clip(self._z(hypothesised), -1e6, 1e6)) - target

        return float(brentq(excess, gap, end, xtol=1e-12))


def compare_rates(first: Tally, second: Tally, *, null: str, what: str = "trials") -> GapTest:
    r"""Test whether two independent proportions are equal, with the test that suits the counts.

    ========================================================  =====================
    counts                                                    `method`
    ========================================================  =====================
    30 trials, 15 hits and 15 misses or more in both groups   "Wald z"
    few enough tables to list them all                        "exact unconditional"
    5 or more hits and misses expected in the smaller group   "score z"
    otherwise                                                 "corrected score z"
    ========================================================  =====================

    tried from the top (:class:`WaldPivot`, :class:`ExactPivot`, :class:`ScorePivot` without and
    with the continuity correction).

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
        `standard_error` uses the observed rates in the Wald test and the pooled rate in the others.
        p value 1 where both rates are 0 or both are 1. Without trials the p value is ``nan`` and
        `reason` says so.

    Notes
    -----
    The true false-alarm rate at a nominal 0.05, found by enumerating all tables, is at most 0.057
    at any rates for groups from 1 against 100 to 200 against 2,000. Without these conditions it
    would reach 0.11 for the Wald test and 0.18 for the score test, where hits are rare and one
    group is much smaller than the other.

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
        return _no_test(first, second, null, "none", _absent(first, what))
    if min(first.trials, second.trials) >= LARGE and _rarest(first, second) >= COMMON:
        return compare_rates_wald(first, second, null=null)
    method, pivot = _small_sample_test(first, second)
    return GapTest(
        null=null,
        gap=first.rate - second.rate,
        standard_error=_pooled_error(first, second),
        p_value=pivot.p_value(0.0),
        n=(first.trials, second.trials),
        method=method,
        pivot=pivot,
    )


def _rarest(first: Tally, second: Tally) -> int:
    """Return the least number of hits or misses in either group."""
    return min(min(tally.hits, tally.trials - tally.hits) for tally in (first, second))


def _small_sample_test(first: Tally, second: Tally) -> tuple[str, ExactPivot | ScorePivot]:
    smaller, total = min(first.trials, second.trials), first.trials + second.trials
    tables = (first.trials + 1) * (second.trials + 1)
    if smaller < LARGE and tables <= MOST_TABLES and total <= MOST_EXACT_TRIALS:
        return "exact unconditional", ExactPivot(first, second)
    pooled = (first.hits + second.hits) / total
    if smaller * min(pooled, 1 - pooled) >= EXPECTED:
        return "score z", ScorePivot(first, second)
    return "corrected score z", ScorePivot(first, second, corrected=True)


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
        return _no_test(first, second, null, "Wald z", _absent(first, "trials"))
    if not _varies(first) and not _varies(second):
        reason = "both rates are 0 or 1, so the observed rates show no variance"
        return _no_test(first, second, null, "Wald z", reason)
    pivot = WaldPivot(first.rate - second.rate, math.sqrt(_variance(first) + _variance(second)))
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


def _varies(tally: Tally) -> bool:
    return 0 < tally.hits < tally.trials


def _variance(tally: Tally) -> float:
    return tally.rate * (1 - tally.rate) / tally.trials


def _pooled_error(first: Tally, second: Tally) -> float:
    rate = (first + second).rate
    return math.sqrt(rate * (1 - rate) * (1 / first.trials + 1 / second.trials))


def _absent(first: Tally, what: str) -> str:
    return f"there are no {what} behind the {'second' if first.trials else 'first'} rate"


def _no_test(first: Tally, second: Tally, null: str, method: str, reason: str) -> GapTest:
    n, gap = (first.trials, second.trials), first.rate - second.rate
    return untested_gap(null, n, reason, gap=gap, method=method)
