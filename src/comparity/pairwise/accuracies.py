"""Accuracies of pairs that were counted: rates, gaps, and tests of symmetric accuracies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs, column_marginals, merge_cells, row_marginals
from comparity.counts.binned_pairs import PairDoubt
from comparity.counts.pair_distances import ExpectedRates
from comparity.counts.pairs import ROUNDING, Cell, Sharing, subset
from comparity.inference.dealt_pairs import Part
from comparity.inference.dyadic import (
    FEWEST_CLUSTERS,
    FEWEST_ITEMS,
    null_covariance,
    rate_covariance,
    rate_interval,
)
from comparity.inference.gap_tests import (
    GapTest,
    Interval,
    RateEstimate,
    Reference,
    untested_gap,
)
from comparity.inference.item_permutation import NullGap
from comparity.pairwise.doubtful import allow_for_doubt, doubtful_interval

Matrix = NDArray[np.float64]

NO_GROUP = "(no group)"
"""Stands for items in no group where pairs are counted."""


@dataclass(frozen=True, slots=True)
class CountedPairs:
    """Pairs by cell, those of items in no group included, and how many have equal scores.

    Where items have weights, or pairs weigh by their label difference, `unweighted` says how many
    there are. Where every query counts alike, `recount` counts it once in rows, in columns or in
    the whole, and `singles` says how many pairs there are by cell, and how many of them tie.
    Where rates were adjusted for the distances of labels, `expected` is what distances explain.
    Where pairs were counted from a table, `doubt` says what that leaves open.
    """

    sharing: Sharing
    ties: Matrix
    groups: tuple[str, ...]
    others: tuple[str, ...]
    unweighted: CountedPairs | None = None
    recount: Callable[[str], AllPairs] | None = None
    singles: tuple[Matrix, Matrix] | None = None
    expected: ExpectedRates | None = None
    doubt: PairDoubt | None = None

    @property
    def n_pairs(self) -> Matrix:
        """Pairs by cell, each counted once."""
        return self.numbers.sharing.trials if self.singles is None else self.singles[0]

    @property
    def n_ties(self) -> Matrix:
        """Pairs with equal scores by cell, each counted once."""
        return self.numbers.ties if self.singles is None else self.singles[1]

    @property
    def numbers(self) -> CountedPairs:
        """The same pairs as they are reported: all weighing alike."""
        return self.unweighted or self

    @property
    def cells(self) -> list[Cell]:
        """The entries of the matrix, row by row."""
        return [Cell(better, worse) for better in self.groups for worse in self.groups]

    def together(self, once_in: str, parts: Mapping[Cell, Sequence[Cell]]) -> Sharing:
        """Take cells together; rates of queries cannot be added, so these are counted again."""
        counted = self.sharing if self.recount is None else self.recount(once_in).sharing
        return merge_cells(counted, parts)

    def of(self, column: Matrix, parts: dict[Cell, list[Cell]]) -> Matrix:
        """Sum a column of all cells over each of the parts."""
        place = {cell: code for code, cell in enumerate(self.sharing.cells)}
        return np.array(
            [
                sum(column[place[cell]] for cell in cells if cell in place)
                for cells in parts.values()
            ]
        )

    def rates(self, parts: dict[Cell, list[Cell]]) -> Matrix:
        """Return the share of hits in each of the parts."""
        return divide_hits(self.of(self.sharing.hits, parts), self.of(self.sharing.trials, parts))

    def reason_against(self, standard_error: float, cells: Sequence[Cell]) -> str:
        """Return why a gap between adjusted cells is not trusted; nothing where it is."""
        if self.expected is None:
            return ""
        return self.expected.reason_against(
            standard_error, list(map(self.sharing.cells.index, cells))
        )

    def covariance(self, parts: dict[Cell, list[Cell]]) -> Matrix:
        """Return the covariance of these shares; ``nan`` for parts without pairs."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return rate_covariance(merge_cells(self.sharing, parts))

    def bound(self, cells: Sequence[Cell]) -> float:
        """Return how far the rate over cells may be from the exact one; 0 where it is exact."""
        return 0.0 if self.doubt is None else self.doubt.bound(cells)

    @property
    def largest_bound(self) -> float:
        """The bound of the cell that is known least exactly."""
        return max(self.bound([cell]) for cell in self.sharing.cells)

    def allow_for_doubt(
        self, tests: Sequence[GapTest], gaps: Sequence[Sequence[Part]]
    ) -> list[GapTest]:
        """Return tests that find only what exact counts would, too; `gaps` is what they compare."""
        if self.doubt is None:
            return [*tests]
        return [
            allow_for_doubt(test, parts, self.sharing, self.doubt)
            for test, parts in zip(tests, gaps, strict=True)
        ]

    def interval(self, counted: Sharing, cell: Cell, cells: Sequence[Cell]) -> Interval:
        """Return the interval of the rate of a cell that was made of cells."""
        wider = self.doubt and doubtful_interval(self.sharing, cells, self.doubt)
        return wider or rate_interval(counted, cell)

    def rate_of(self, cell: Cell) -> RateEstimate:
        """Return the rate of a cell with its interval, and how many pairs it is of."""
        numbers = self.numbers.sharing
        return replace(
            rate_of(self.sharing, cell, self.n_ties),
            interval=self.interval(self.sharing, cell, [cell]),
            trials=round(float(numbers.trials[numbers.cells.index(cell)])),
        )


def divide_hits(hits: Matrix, trials: Matrix) -> Matrix:
    """Return shares of hits; ``nan`` without trials."""
    return np.divide(hits, trials, out=np.full_like(trials, np.nan), where=trials > 0)


def rate_of(
    sharing: Sharing, cell: Cell, ties: Matrix, name: str = "pairwise accuracy"
) -> RateEstimate:
    """Return the rate of a cell with its interval."""
    code = sharing.cells.index(cell)
    n = float(sharing.trials[code])
    return RateEstimate(
        name=name,
        of=str(cell),
        rate=float(sharing.hits[code]) / n if n else float("nan"),
        trials=round(n),
        score_ties=round(float(ties[code])),
        interval=rate_interval(sharing, cell),
    )


UNTESTED = "too few items or queries, or nothing varies"
"""Why symmetric accuracies are not compared."""


def compare_symmetric(
    sharing: Sharing, groups: Sequence[str], others: Sequence[str] = ()
) -> list[GapTest]:
    """Test for every two groups whether their symmetric accuracies are equal.

    Parameters
    ----------
    sharing : Sharing
        Pairs by cell and what they share.
    groups, others : sequence of str
        The groups to compare, and what stands for items in no group.
    """
    parts = {**row_marginals(groups, others), **column_marginals(groups, others)}
    sides = merge_cells(sharing, parts)
    held = subset(sharing, np.flatnonzero(sharing.trials).tolist())
    share = np.array([[cell in cells for cell in held.cells] for cells in parts.values()])
    share = share * held.trials
    k = len(groups)
    tests = []
    for i, j in combinations(range(k), 2):
        null = f"symmetric({groups[i]}) = symmetric({groups[j]})"
        one, two = (round(float(sides.trials[[g, k + g]].sum())) for g in (i, j))
        used = [i, k + i, j, k + j]
        few_clusters = 0 < sharing.n_clusters < FEWEST_CLUSTERS
        if few_clusters or sides.effective_items[used].min() < FEWEST_ITEMS:
            tests.append(untested_gap(null, (one, two), UNTESTED))
            continue
        weights = np.array([0.5, 0.5, -0.5, -0.5]) @ (
            share[used] / share[used].sum(axis=1, keepdims=True)
        )
        tests.append(_test_null(held, weights, null, (one, two)))
    return tests


def _test_null(
    held: Sharing, weights: NDArray[np.float64], null: str, n: tuple[int, int]
) -> GapTest:
    gap = float(weights @ (held.hits / held.trials))
    variance = float(weights @ null_covariance(held) @ weights)
    size, each = len(weights), np.abs(weights) / held.trials
    # What is left of terms that cancel is rounding, such as where all scores are equal.
    if variance <= ROUNDING * float(each @ held.dependent[size:, size:] @ each):
        return untested_gap(null, n, UNTESTED)
    error = math.sqrt(variance)
    pivot = NullGap(gap=gap, standard_error=error, reference=Reference(n_clusters=held.n_clusters))
    return GapTest(
        null=null,
        gap=gap,
        standard_error=error,
        p_value=pivot.p_value(0.0),
        n=n,
        method=held.method,
        pivot=pivot,
        # All pairs of these items are counted already: no judgment could be added.
        shared_variance=variance,
    )
