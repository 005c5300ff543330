"""Pairs that were counted, as audits of all pairs need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs, merge_cells
from comparity.counts.binned_pairs import PairDoubt
from comparity.counts.pair_distances import ExpectedRates
from comparity.counts.pairs import Cell, Sharing
from comparity.inference.dealt_pairs import Part
from comparity.inference.doubtful_gaps import allow_for_doubt, doubtful_interval
from comparity.inference.dyadic import rate_covariance, rate_interval
from comparity.inference.gap_tests import GapTest, Interval, RateEstimate

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
        """Say why a gap between adjusted cells is not trusted; nothing where it is."""
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
        if not self.bound(cells) or self.doubt is None:
            return rate_interval(counted, cell)
        return doubtful_interval(self.sharing, cells, self.doubt)

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
