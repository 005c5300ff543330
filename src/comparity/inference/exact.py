"""The exact unconditional test of two independent proportions, for few trials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from comparity.counts import Tally
from comparity.inference._extreme_tables import ABOVE, BELOW, EQUAL, exact_p_value, lowest_gap
from comparity.results import Interval

__all__ = ["ExactPivot"]


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
