"""The exact unconditional test of two independent proportions, for few trials.

Everything is vectorised over hypothesised gaps and over tables. The definitions, written as plain
loops, are in ``tests/plain/two_proportions.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.decisions import Tally
from comparity.inference.extreme_tables import ABOVE, BELOW, EQUAL, exact_p_value, lowest_gap
from comparity.inference.gap_tests import Interval

__all__ = [
    "ExactPivot",
    "restricted_rate",
    "score_statistic",
]


# Newton's steps that bring the closed-form root to full precision where two roots nearly meet, as
# they do for rare hits among very many trials.
POLISH = 4


# A difference of two rates is exact up to this.
ROUNDING = 1e-14


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


def score_statistic(
    first: ArrayLike, n_first: int, second: ArrayLike, n_second: int, gap: ArrayLike
) -> NDArray[np.float64]:
    """Return the observed minus the hypothesised gap in standard errors under the hypothesis.

    `first` and `second` are observed rates. 0 where the observed gap is the hypothesised one, and
    infinite where the hypothesis leaves no other outcome.
    """
    p, q, s = (np.asarray(value, dtype=np.float64) for value in (first, second, gap))
    excess = p - q - s
    excess = np.where(np.abs(excess) < ROUNDING, 0, excess)
    # Rates near 1 lose digits that rates near 0 keep; misses have the same variance as hits.
    flip = p + q > 1
    p, q, s = np.where(flip, 1 - p, p), np.where(flip, 1 - q, q), np.where(flip, -s, s)
    rate = restricted_rate(p, n_first, q, n_second, s)
    other = np.clip(rate - s, 0, 1)
    error = np.sqrt(rate * (1 - rate) / n_first + other * (1 - other) / n_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(excess == 0, 0, excess / error)


@dataclass(frozen=True, slots=True)
class ExactPivot:
    r"""Exact unconditional test of a gap, ordered by the score statistic.

    .. math:: p(\delta) = \sup_{p_1 - p_2 = \delta}
       P\bigl(|z(X; \delta)| \ge |z(x; \delta)|\bigr)

    with the statistic of :class:`~comparity.inference.proportions.ScorePivot`; one-sided p values
    leave out the absolute values. No rates whatever make the test reject a true hypothesis more
    often than its level. At :math:`\delta = 0` it is Barnard's test with the pooled statistic; the
    interval is the hull of the gaps that the two-sided test does not reject [1]_, [2]_. The work
    grows with the product of the numbers of trials: it is meant for fewer than a hundred each.

    Attributes
    ----------
    first, second : Tally
        Hits and trials; both need trials.

    References
    ----------
    .. [1] Chan and Zhang (1999), "Test-based exact confidence intervals for the difference of two
       binomial proportions".
    .. [2] Agresti and Min (2001), "On small-sample confidence intervals for parameters in discrete
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
        first, second = self.first, self.second
        return exact_p_value(
            first.hits, first.trials, second.hits, second.trials, float(hypothesised), side
        )


# A table, a picture and JSON ask for the same intervals, and so do audits of the same groups.
@lru_cache(maxsize=2**14)
def _interval(pivot: ExactPivot, level: float) -> Interval:
    first = pivot.first.hits, pivot.first.trials
    second = pivot.second.hits, pivot.second.trials
    # With the groups exchanged the highest gap is the lowest.
    low, high = (
        lowest_gap(*first, *second, 1 - level),
        0.0 - lowest_gap(*second, *first, 1 - level),
    )
    return Interval(low, high, level)
