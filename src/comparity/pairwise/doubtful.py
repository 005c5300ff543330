r"""Gaps and rates of which some pairs are in doubt: no more is found than exact counts would find.

The exact gap lies within :math:`b` of the one that was found. Let :math:`V^+(\delta)` be no smaller
than the variance that exact counts would give a hypothesised gap :math:`\delta`, whatever they are.
Then the statistic

.. math:: \frac{\max(|d - \delta| - b, 0)}{\sqrt{V^+(\delta)}}

is no larger than that of the exact counts: nothing is found, and no gap called harmless, that these
would leave open.

The exact variance (:class:`comparity.inference.pivots.SharedGap`) is at most the sum of two terms:
:math:`\sum_i u_i^2` over items, with :math:`u_i` the sum of the residuals of the pairs of item i,
and the variance of single pairs, which is at most :math:`\rho (1 - \rho)` times their squared
weights. (What the first term holds twice is taken off there, and not here.) Both are bounded over
all counts in question.

- Residuals are :math:`h_i - \rho t_i` for :math:`h_i` hits among :math:`t_i` pairs. If hits are off
  by up to :math:`\epsilon_i`, and :math:`\rho` by up to :math:`r`, then by the triangle inequality

  .. math:: \Big(\sum_i u_i^2\Big)^{1/2} \le \Big(\sum_i (h_i - \rho t_i)^2\Big)^{1/2}
      + \Big(\sum_i \epsilon_i^2\Big)^{1/2} + r \Big(\sum_i t_i^2\Big)^{1/2}.

- :math:`\rho` are the likeliest rates that differ by :math:`\delta`. Such a rate rises with the
  observed one of its own cell and of cells on the other side of the gap, and falls with those of
  its own side, because the logarithm of the likelihood is concave. So its ends belong to the ends
  of the observed rates. That all cells have one rate, the hypothesis of symmetric accuracies, makes
  :math:`\rho` the rate over *all* cells: it is in doubt if any cell is.
- Beyond the observed gap residuals are scaled by :math:`\sqrt{f(\rho) / f(\hat p)}`. Since
  :math:`f` rises up to one half and falls from there, the ends of both rates bound it. If a rate
  may be 0 or 1, nothing does, and such gaps are left open.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.binned_pairs import PairDoubt
from comparity.counts.pairs import Cell, Sharing
from comparity.inference.dealt_pairs import Part
from comparity.inference.gap_tests import (
    NORMAL,
    GapTest,
    Interval,
    Reference,
    Statistic,
    find_limit,
)
from comparity.inference.item_permutation import NullGap
from comparity.inference.pivots import SharedGap, WinGap, likeliest_rates, shared_spread

Floats = NDArray[np.float64]

MAY_BE_EQUAL = "all outcomes may be equal: a smaller tolerance would tell"
"""Why symmetric accuracies are not compared where pairs in doubt could be all that varies."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulRates:
    """Rates over cells that are known up to a bound.

    Attributes
    ----------
    share : ndarray, (m,)
        What each rate counts for in a gap, over its trials.
    trials, rates, bounds : ndarray, (m,)
    moments : ndarray, (2 m, 2 m)
        Products of the trials of each item, then of its hits, summed over items.
    doubts : ndarray, (m, m)
        Products of half of the doubt of each item.
    singles : ndarray, (m, m)
        Squared weights of the pairs that two rates have in common.
    """

    share: Floats
    trials: Floats
    rates: Floats
    bounds: Floats
    moments: Floats
    doubts: Floats
    singles: Floats

    @classmethod
    def of(cls, parts: Sequence[Part], sharing: Sharing, doubt: PairDoubt) -> DoubtfulRates:
        """Take cells together."""
        held = sorted({sharing.cells.index(cell) for part in parts for cell in part.cells})
        merge = np.array([[sharing.cells[code] in part.cells for code in held] for part in parts])
        merge = merge.astype(np.float64)
        both = np.kron(np.eye(2), merge)
        rows = np.array([*held, *(len(sharing.cells) + code for code in held)])
        block = np.ix_(rows, rows)
        trials, hits, off = (
            merge @ one[held] for one in (sharing.trials, sharing.hits, doubt.hits)
        )
        return cls(
            share=np.array([part.coefficient for part in parts]) / trials,
            trials=trials,
            rates=hits / trials,
            bounds=off / trials,
            moments=both @ (sharing.dependent[block] + sharing.own[block]) @ both.T,
            doubts=merge @ doubt.items[np.ix_(held, held)] @ merge.T,
            singles=(merge * np.diag(sharing.own)[held]) @ merge.T,
        )

    @property
    def is_exact(self) -> bool:
        """Whether no pair is in doubt."""
        return not (self.bounds.any() or self.doubts.any())

    @property
    def bound(self) -> float:
        """How far the gap may be from the exact one."""
        return float(np.abs(self.share * self.trials) @ self.bounds)

    def error(self, rates: Floats, reach: Floats) -> float:
        """Return the largest standard error with residuals at rates, or up to `reach` from them."""
        items = self._norm(self.share, rates) + self._off(self.share, reach)
        return math.hypot(items, self._single(rates, reach))

    def scaled_error(self, least: Floats, most: Floats, rates: Floats, reach: Floats) -> float:
        """Return the same if residuals at the observed rates are scaled by two factors or between.

        A rate whose factor is not the middle one adds its own residuals for the difference.
        """
        if not np.isfinite(most).all():
            return math.inf
        items = self._norm(self.share * (least + most) / 2, self.rates)
        for one in np.diag(self.share * (most - least) / 2):
            items += self._norm(one, self.rates)
        items += self._off(self.share * most, self.bounds)
        return math.hypot(items, self._single(rates, reach))

    def _norm(self, weights: Floats, rates: Floats) -> float:
        both = np.concatenate([-rates * weights, weights])
        return math.sqrt(max(float(both @ self.moments @ both), 0.0))

    def _off(self, weights: Floats, reach: Floats) -> float:
        """Return what doubt and other rates may add to the root of a sum of squared residuals."""
        size, moved = np.abs(weights), np.abs(weights) * reach
        trials = self.moments[: len(size), : len(size)]
        return math.sqrt(float(size @ self.doubts @ size)) + math.sqrt(
            float(moved @ trials @ moved)
        )

    def _single(self, rates: Floats, reach: Floats) -> float:
        """Return the standard error of single pairs, at the rates nearest to one half."""
        nearest = np.clip(0.5, rates - reach, rates + reach)
        weights = self.share * np.sqrt(np.clip(nearest * (1 - nearest), 0.0, None))
        return math.sqrt(max(float(weights @ self.singles @ weights), 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulStatistic(Statistic):
    """A gap or a rate that is known up to a bound: a pivot.

    Attributes
    ----------
    known : DoubtfulRates
        What it is made of.
    found : float
        The gap that was found.
    reference : Reference
    """

    known: DoubtfulRates
    found: float
    reference: Reference = NORMAL

    @abstractmethod
    def error_at(self, hypothesised: float) -> float:
        """Return the largest standard error that the gap can have if it is `hypothesised`."""

    @property
    def lowest(self) -> float:
        """The smallest gap there is."""
        return -1.0

    def statistic(self, hypothesised: float) -> float:
        """Return how far the nearest gap in question is from the hypothesis, in errors."""
        distance = self.found - hypothesised
        beyond = max(abs(distance) - self.known.bound, 0.0)
        if not beyond:
            return 0.0
        error = self.error_at(hypothesised)
        return math.copysign(beyond / error if error else math.inf, distance)

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        step = self.known.bound + quantile * self.error_at(self.found)
        low, high = (
            find_limit(lambda gap: abs(self.statistic(gap)) - quantile, self.found, end, step)
            for end in (self.lowest, 1.0)
        )
        return Interval(low, high, level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulGap(DoubtfulStatistic):
    """A gap between rates over cells.

    Attributes
    ----------
    given : SharedGap
        The test of the gap that was found.
    """

    given: SharedGap

    def error_at(self, hypothesised: float) -> float:
        """Return the largest standard error that the gap can have if it is `hypothesised`."""
        gap = min(max(hypothesised, -1.0), 1.0)
        low, high = self._likeliest(gap)
        rates, reach = (low + high) / 2, (high - low) / 2
        error = self.known.error(rates, reach)
        if abs(gap) <= abs(self.found) - self.known.bound:
            return error
        least, most = _growth((low, high), self.known)
        return max(error, self.known.scaled_error(least, most, rates, reach))

    def _likeliest(self, gap: float) -> tuple[Floats, Floats]:
        """Return between what the likeliest rates lie, whatever the exact ones are."""
        given, known = self.given, self.known
        sides = np.sign(given.contrast)
        ends = np.zeros((2, len(sides)))
        for place, side in enumerate(sides):
            rises = np.where(sides == side, -1.0, 1.0)
            rises[place] = 1.0
            for end, sign in enumerate((-1.0, 1.0)):
                rates = np.clip(known.rates + sign * rises * known.bounds, 0.0, 1.0)
                worth = given.trials**2 / given.own
                ends[end, place] = likeliest_rates(rates, worth, given.contrast, gap)[place]
        return ends.min(axis=0), ends.max(axis=0)


def _growth(ends: tuple[Floats, Floats], known: DoubtfulRates) -> tuple[Floats, Floats]:
    """Return the least and the largest factor that residuals at observed rates are scaled by."""
    there = _spreads(*ends)
    here = _spreads(known.rates - known.bounds, known.rates + known.bounds)
    least, most = (
        np.sqrt(np.divide(one, other, out=np.full_like(one, np.inf), where=other > 0))
        for one, other in zip(there, here[::-1], strict=True)
    )
    # Where all pairs agree, or none, nothing is scaled.
    constant = (known.bounds == 0) & (here[1] == 0)
    return np.where(constant, 1.0, least), np.where(constant, 1.0, most)


def _spreads(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest covariance of outcomes that share an item."""
    ends = np.minimum(shared_spread(low), shared_spread(high))
    return ends, shared_spread(np.clip(0.5, low, high))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulNullGap(DoubtfulStatistic):
    """A gap whose error is that of no gap: all cells have one rate.

    Attributes
    ----------
    standard_error : float
        The largest there can be.
    """

    standard_error: float

    def error_at(self, hypothesised: float) -> float:
        """Return the largest standard error, which is that of no gap."""
        return self.standard_error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulRate(DoubtfulStatistic):
    """One rate over cells."""

    @property
    def lowest(self) -> float:
        """The smallest rate there is."""
        return 0.0

    def error_at(self, hypothesised: float) -> float:
        """Return the largest standard error that the rate can have if it is `hypothesised`."""
        return self.known.error(np.array([hypothesised]), np.zeros(1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DoubtfulWins(DoubtfulStatistic):
    """How much more often one side wins than the other: twice a rate, minus one."""

    def error_at(self, hypothesised: float) -> float:
        """Return the largest standard error that the gap can have if it is `hypothesised`."""
        return self.known.error(np.array([(1 + hypothesised) / 2]), np.zeros(1))


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
    if test.pivot is None:
        return test
    known = DoubtfulRates.of(parts, sharing, doubt)
    if isinstance(test.pivot, NullGap):
        return _allow_in_null(test, known, sharing, doubt) if doubt.hits.any() else test
    if known.is_exact:
        return test
    assert isinstance(test.pivot, SharedGap), test.pivot
    pivot = DoubtfulGap(
        given=test.pivot, known=known, found=test.gap, reference=test.pivot.reference
    )
    error = known.error(known.rates, known.bounds)
    return replace(test, standard_error=error, p_value=pivot.p_value(0.0), pivot=pivot)


def _allow_in_null(
    test: GapTest, known: DoubtfulRates, sharing: Sharing, doubt: PairDoubt
) -> GapTest:
    """Return the test of a gap whose variance rests on the rate over all cells."""
    assert isinstance(test.pivot, NullGap)
    rate, reach = float(sharing.hits.sum() / sharing.trials.sum()), doubt.bound(doubt.cells)
    if rate - reach <= 0 or rate + reach >= 1:
        return replace(test, p_value=math.nan, pivot=None, reason=MAY_BE_EQUAL)
    alike = np.ones(len(known.rates))
    error = known.error(rate * alike, reach * alike)
    pivot = DoubtfulNullGap(
        known=known, found=test.gap, reference=test.pivot.reference, standard_error=error
    )
    return replace(test, standard_error=error, p_value=pivot.p_value(0.0), pivot=pivot)


def allow_in_wins(test: GapTest, cell: Cell, sharing: Sharing, doubt: PairDoubt) -> GapTest:
    """Return a test of who wins that finds only what it would find whatever the counts are."""
    known = DoubtfulRates.of([Part(2.0, (cell,))], sharing, doubt)
    if test.pivot is None or known.is_exact:
        return test
    assert isinstance(test.pivot, WinGap), test.pivot
    pivot = DoubtfulWins(known=known, found=test.gap, reference=test.pivot.reference)
    error = known.error(known.rates, known.bounds)
    return replace(test, standard_error=error, p_value=pivot.p_value(0.0), pivot=pivot)


def doubtful_interval(
    sharing: Sharing, cells: Sequence[Cell], doubt: PairDoubt, level: float = 0.95
) -> Interval | None:
    """Return the interval of the rate over cells that covers those of all counts in question.

    Nothing is returned where no pair of these cells is in doubt.
    """
    known = DoubtfulRates.of([Part(1.0, tuple(cells))], sharing, doubt)
    if known.is_exact:
        return None
    return DoubtfulRate(known=known, found=float(known.rates[0])).interval(level)
