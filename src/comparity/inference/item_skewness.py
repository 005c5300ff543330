r"""Gaps whose error grows with them, because a few items decide both.

Suppose that one item in forty is hopeless for a model: it loses every pair with it. Of 125 items
three are such on average, but one or two often enough, and a sample that met few of them has a
small gap and, by the same luck, a small variance. The error to hold a gap :math:`\delta` against
is the one there would be if :math:`\delta` were true, with as many such items as it takes.

Let :math:`e_i` be what item :math:`i` adds to the gap: the sum of the residuals of its judgments,
at the observed rates. Give items probabilities :math:`\propto e^{\theta e_i}` in place of equal
ones (an exponential family through the sample [1]_). As :math:`\theta` grows the gap moves away
from the observed :math:`d`, and its variance with it, at the rate

.. math::

    \frac{dV}{d\delta} = \frac{\kappa_3}{V}, \qquad
    \kappa_3 = \sum_i e_i^3 - \sum_p u_p^3,

the third cumulant of the gap over its variance. (A judgment :math:`p` is among the sums of two
items, so that its residual :math:`u_p` is taken off once, as in the variance.) To first order

.. math:: V(\delta) = V(d) + \frac{\kappa_3}{V(d)} (\delta - d),

which is exact for hopeless items: they come in Poisson numbers, and with
:math:`e_i = \epsilon` for each of them :math:`\kappa_3 / V = \epsilon`. For pairs that share
nothing it is the slope of the binomial variance. The larger of this and the usual variance counts,
for gaps beyond the observed one (:math:`|\delta| > |d|`): tests of no gap are as before, and so is
everything where items are not skewed. It is the correction of Student's t for skewness [2]_, put
into the variance, where the statistic stays monotone.

An item counts for at most all of its judgments, so that the skewness of a gap that rare items fill
to the margin is at most :math:`\sqrt{2 / (n \cdot margin)}` with :math:`n` items in a group.
Where this cannot move a one-sided level of 0.05 by more than 0.015 (Edgeworth's expansion, as in
:mod:`comparity.inference.permuted_means`) nobody looks: from 2,160 items of each group on, for a
margin of 0.05.

References
----------
.. [1] Efron (1981), "Nonparametric standard errors and confidence intervals", Canadian Journal of
   Statistics 9.
.. [2] Johnson (1978), "Modified t tests and confidence intervals for asymmetrical populations",
   JASA 73.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.judged_pairs import ItemResiduals
from comparity.counts.pairs import Cell
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest, Interval
from comparity.inference.permuted_means import SLOPE, TOLERATED
from comparity.inference.pivots import NOTHING, DyadicGap

Vector = NDArray[np.float64]
Sides = tuple[tuple[Cell, ...], tuple[Cell, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SkewedGap(DyadicGap):
    """A gap between cells with ample counts whose error grows with it.

    Attributes
    ----------
    growth : float
        How fast the variance grows with the gap, or falls where this is negative.
    """

    growth: float = 0.0

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        usual = DyadicGap.variance_at(self, hypothesised)
        if abs(hypothesised) <= abs(self.gap):
            return usual
        observed = DyadicGap.variance_at(self, self.gap)
        return max(usual, observed + self.growth * (hypothesised - self.gap))

    def interval(self, level: float) -> Interval:
        """Return the smallest interval that holds all gaps not rejected at ``1 - level``."""
        usual = DyadicGap.interval(self, level)
        squared = self.reference.quantile(1 - level) ** 2
        # How far a gap is from the observed one solves x^2 = q^2 (V + g x), on the side of g.
        half = squared * abs(self.growth) / 2
        reach = half + (half**2 + squared * DyadicGap.variance_at(self, self.gap)) ** 0.5
        end = float(np.clip(self.gap + np.copysign(reach, self.growth), -1.0, 1.0))
        if abs(end) <= abs(self.gap):
            return usual
        return Interval(min(usual.low, end), max(usual.high, end), level)


def items_to_be_normal(margin: float) -> float:
    """Return from how many items of a group on rare ones that fill a margin are no worry.

    Examples
    --------
    >>> round(items_to_be_normal(0.05)), round(items_to_be_normal(0.2))
    (2160, 540)
    """
    return float(2 / margin * (SLOPE / TOLERATED) ** 2)


def allow_for_skewness(
    tests: Sequence[GapTest], sides: Sequence[Sides], residuals: ItemResiduals
) -> list[GapTest]:
    """Let the error of each gap grow with it as skewed items make it.

    Parameters
    ----------
    tests : sequence of GapTest
    sides : sequence of two tuples of Cell
        The cells whose mean rates each test compares.
    residuals : ItemResiduals
        What each item adds to the rate of every cell.
    """
    return [
        _allow_for_skewness(test, (*first, *second), residuals)
        for test, (first, second) in zip(tests, sides, strict=True)
    ]


def _allow_for_skewness(
    test: GapTest, cells: tuple[Cell, ...], residuals: ItemResiduals
) -> GapTest:
    pivot = test.pivot
    # Rates of one and zero have no variance, nor skewness.
    if not test.standard_error**2 > NOTHING:
        return test
    if isinstance(pivot, DyadicGap):
        return replace(test, pivot=_skewed(pivot, test, cells, residuals))
    if isinstance(pivot, ClusterGap) and isinstance(pivot.between, DyadicGap):
        between = _skewed(pivot.between, test, cells, residuals)
        return replace(test, pivot=replace(pivot, between=between))
    # Few hits or misses have a variance that grows with the gap by itself.
    return test


def _skewed(
    gap: DyadicGap, test: GapTest, cells: tuple[Cell, ...], residuals: ItemResiduals
) -> SkewedGap:
    known = {one.name: getattr(gap, one.name) for one in fields(DyadicGap)}
    growth = residuals.third_cumulant(cells, gap.contrast) / test.standard_error**2
    return SkewedGap(**known, growth=growth)
