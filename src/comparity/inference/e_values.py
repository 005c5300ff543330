"""Gaps that are judged by e-values: capital of somebody who bets against a hypothesis.

If the hypothesis is true, the capital does not grow on average, so that it ever reaches
``1 / alpha`` with probability `alpha` at most (Ville's inequality). One over it is a p value that
holds at any moment.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from comparity.inference.gap_tests import Interval, crossing


class EValueGap(ABC):
    """A gap judged by e-values: a :class:`comparity.inference.gap_tests.Pivot`.

    Attributes
    ----------
    gap, standard_error : float
        The observed gap and its error.
    reach : float
        The largest gap there may be.
    """

    __slots__ = ()

    gap: float
    standard_error: float
    reach: float

    @abstractmethod
    def log_e(self, hypothesised: float, side: int) -> float:
        """Return the logarithm of the e-value against gaps on one side of a hypothesis, or at it.

        The side is 1 where gaps above the hypothesis are bet on, -1 for those below.
        """

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return min(1.0, 2 * min(self.p_below(hypothesised), self.p_above(hypothesised)))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return min(1.0, math.exp(-self.log_e(hypothesised, -1)))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return min(1.0, math.exp(-self.log_e(hypothesised, 1)))

    def e_value(self, hypothesised: float) -> float:
        """Return the two-sided e-value of ``gap = hypothesised``: the mean of both sides'."""
        sides = (self.log_e(hypothesised, side) for side in (-1, 1))
        return sum(math.exp(min(one, 700.0)) for one in sides) / 2

    def interval(self, level: float) -> Interval:
        """Return the gaps that neither side rejects at ``(1 - level) / 2``."""
        needed = math.log(2 / (1 - level))

        def excess(hypothesised: float) -> float:
            return self.log_e(hypothesised, 1 if hypothesised < self.gap else -1) - needed

        step = 3 * self.standard_error
        low, high = (crossing(excess, self.gap, end, step) for end in (-self.reach, self.reach))
        return Interval(low, high, level)
