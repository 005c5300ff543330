r"""Gaps that are judged by e-values: capital of somebody who bets against a hypothesis.

If the hypothesis is true, the capital does not grow on average, so that it ever reaches
``1 / alpha`` with probability `alpha` at most (Ville's inequality). One over it is a p value that
holds at any moment.

:func:`compare_by_betting` tests the gap between two kinds of fresh pairs exactly. It is a second
witness beside :mod:`comparity.inference.anytime`, which is asymptotic: it holds for any number of
judgments and any rates, but only where no item and no evaluator occurs twice.

The :math:`k`-th outcome of the first kind is set against the :math:`k`-th of the second. Their
difference :math:`D_k`, between -1 and 1, has the gap for its mean, whatever the outcomes before.
Someone who stakes the share :math:`\lambda` of a capital of one on gaps above :math:`\delta` has

.. math:: K_n(\lambda) = \prod_{k \le n} \big(1 + \lambda (D_k - \delta)\big), \qquad
    0 \le \lambda \le \frac{1}{1 + \delta},

which is never negative, and on average does not grow if the gap is :math:`\delta` or less: at
whatever moment one stops, its mean is at most one [1]_. So it is for an average over stakes; here
over stakes spread evenly between none and half of the largest. The stake on gaps below
:math:`\delta` is the mirror image. With constant stakes all of it is a function of how often each
difference occurred.

References
----------
.. [1] Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting",
   JRSS B 86.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.inference.gap_tests import GapTest, Interval, find_limit, untested_gap


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
        low, high = (find_limit(excess, self.gap, end, step) for end in (-self.reach, self.reach))
        return Interval(low, high, level)


Floats = NDArray[np.float64]

NODES = 32
"""Stakes that the average is over; any number of them is as valid."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BettingGap(EValueGap):
    """A gap between fresh pairs, by betting.

    Attributes
    ----------
    gap, standard_error : float
    values, counts : ndarray
        Differences of two outcomes, and how often each occurred.
    reach : float
        The largest gap.
    """

    gap: float
    standard_error: float
    values: Floats
    counts: Floats
    reach: float = 1.0

    def log_e(self, hypothesised: float, side: int) -> float:
        """Return the logarithm of the mean capital of bets on gaps to one side of a hypothesis."""
        gains = side * (self.values - hypothesised)
        stakes = (np.arange(NODES) + 0.5) / (2 * NODES * (1 + side * hypothesised))
        capital = np.log1p(np.multiply.outer(stakes, gains)) @ self.counts
        return float(np.logaddexp.reduce(capital)) - math.log(NODES)


def compare_by_betting(first: ArrayLike, second: ArrayLike, *, null: str) -> GapTest:
    """Test whether two kinds of fresh pairs have the same agreement, exactly and at any moment.

    Parameters
    ----------
    first, second : array_like
        Outcomes of each kind between 0 and 1, in the order in which they arrived. Of the longer one
        the rest waits for its counterpart.
    null : str
        The hypothesis in words.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> test = compare_by_betting(rng.random(600) < 0.8, rng.random(500) < 0.6, null="equal")
    >>> test.n, round(test.gap, 2), test.p_value < 0.001
    ((500, 500), 0.23, True)
    """
    sides = [np.asarray(one, dtype=np.float64) for one in (first, second)]
    n = min(map(len, sides))
    if not n:
        return untested_gap(null, (len(sides[0]), len(sides[1])), "no two outcomes to compare")
    values, counts = np.unique(sides[0][:n] - sides[1][:n], return_counts=True)
    gap = float(values @ counts) / n
    error = math.sqrt(float((values - gap) ** 2 @ counts)) / n
    pivot = BettingGap(gap=gap, standard_error=error, values=values, counts=counts.astype(float))
    return GapTest(
        null=null,
        gap=gap,
        standard_error=error,
        p_value=pivot.p_value(0.0),
        n=(n, n),
        method="betting, anytime",
        pivot=pivot,
    )
