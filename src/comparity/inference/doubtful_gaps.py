r"""Gaps and rates that are known up to a bound, because some of their pairs are in doubt.

The exact gap lies within :math:`b` of the one that was found, and its standard error is at most
:math:`(\sigma + \epsilon) s`: :math:`\epsilon` is what pairs in doubt can add to it
(:mod:`comparity.counts.binned_pairs`), and :math:`s` allows for the rates that the variance is
taken at, which are known up to :math:`b`, too. The statistic of a hypothesised gap :math:`\delta`,

.. math:: \frac{\max(|d - \delta| - b, 0)}{(\sigma(\delta) + \epsilon) s},

is therefore no larger than that of the exact counts, whatever these are: nothing is found, and no
gap called harmless, that exact counts would leave open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from comparity.counts.all_pairs import merge_cells
from comparity.counts.binned_pairs import PairDoubt
from comparity.counts.pairs import Cell, Sharing
from comparity.inference.dealt_pairs import Part
from comparity.inference.dyadic import shared_rate
from comparity.inference.gap_tests import (
    GapTest,
    Interval,
    Reference,
    Statistic,
    crossing,
)
from comparity.inference.pivots import DyadicGap, NullGap, SharedGap, SharedRate

STEEPNESS = 2.0
"""A rate that moves by a share of itself moves a standard error by at most this share.

The covariance of two outcomes that share an item falls with the rate like its power 4/3.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulGap(Statistic):
    """A gap or a rate that is known up to a bound: a pivot.

    Attributes
    ----------
    given : SharedGap, DyadicGap, NullGap or SharedRate
        The test of the gap that was found.
    found : float
        That gap.
    bound : float
        How far the exact gap may be from it.
    error : float
        What pairs in doubt may add to its standard error.
    stretch : float
        What the standard error is multiplied by for rates that are known up to a bound.
    lowest : float
        The smallest gap there is: 0 of a rate.
    """

    given: SharedGap | DyadicGap | NullGap | SharedRate
    found: float
    bound: float
    error: float
    stretch: float
    lowest: float = -1.0

    @property
    def reference(self) -> Reference:
        """The distribution the statistic is compared with."""
        return self.given.reference

    def error_at(self, hypothesised: float) -> float:
        """Return the largest standard error that the gap can have if it is `hypothesised`."""
        return (math.sqrt(self.given.variance_at(hypothesised)) + self.error) * self.stretch

    def statistic(self, hypothesised: float) -> float:
        """Return how far the nearest gap in question is from the hypothesis, in errors."""
        distance = self.found - hypothesised
        beyond = max(abs(distance) - self.bound, 0.0)
        if not beyond:
            return 0.0
        error = self.error_at(hypothesised)
        return math.copysign(beyond / error if error else math.inf, distance)

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        step = self.bound + quantile * self.error_at(self.found)
        low, high = (
            crossing(lambda gap: abs(self.statistic(gap)) - quantile, self.found, end, step)
            for end in (self.lowest, 1.0)
        )
        return Interval(low, high, level)


def allow_for_doubt(
    test: GapTest, parts: Sequence[Part], sharing: Sharing, doubt: PairDoubt
) -> GapTest:
    """Return a test that rejects only what it would reject whatever the exact counts are.

    Parameters
    ----------
    test : GapTest
        Of counts with half of the doubt among the hits.
    parts : sequence of Part
        The rates that it compares.
    sharing : Sharing
        These counts, by cell.
    doubt : PairDoubt
    """
    bounds = [doubt.bound(part.cells) for part in parts]
    bound = sum(abs(part.coefficient) * one for part, one in zip(parts, bounds, strict=True))
    if test.pivot is None or not bound:
        return test
    assert isinstance(test.pivot, SharedGap | DyadicGap | NullGap), test.pivot
    pivot = DoubtfulGap(
        given=test.pivot,
        found=test.gap,
        bound=bound,
        error=doubt.error(parts),
        stretch=max(_stretch(sharing, part.cells, max(bounds)) for part in parts),
    )
    error = (test.standard_error + pivot.error) * pivot.stretch
    return replace(test, standard_error=error, p_value=pivot.p_value(0.0), pivot=pivot)


def doubtful_interval(
    sharing: Sharing, cells: Sequence[Cell], doubt: PairDoubt, level: float = 0.95
) -> Interval:
    """Return the interval of the rate over cells that covers those of all counts in question."""
    whole = Cell("", "")
    rate = shared_rate(merge_cells(sharing, {whole: cells}), whole)
    bound = doubt.bound(cells)
    found = DoubtfulGap(
        given=rate,
        found=rate.rate,
        bound=bound,
        error=doubt.error([Part(1.0, tuple(cells))]),
        stretch=_stretch(sharing, cells, bound),
        lowest=0.0,
    )
    return found.interval(level)


def _stretch(sharing: Sharing, cells: Sequence[Cell], bound: float) -> float:
    """Return what a standard error is multiplied by where its rates are known up to a bound."""
    places = [sharing.cells.index(cell) for cell in cells if cell in sharing.cells]
    trials = float(sharing.trials[places].sum())
    rate = float(sharing.hits[places].sum()) / trials if trials else 0.5
    return 1 + STEEPNESS * bound / max(min(rate, 1 - rate), bound)
