"""Items with labels of very many values that stay on their engine, range of labels by range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.drawn_items import Draw, draw_items
from comparity.counts.label_parts import PartedRows, PartedSums, RangeItems, rows_at_once
from comparity.counts.labelled_rows import LabelledRows
from comparity.counts.pairs import Cell
from comparity.pairwise.accuracies import CountedPairs
from comparity.pairwise.engine_items import NUMBERS, RAW, EngineItems, round_up, worth
from comparity.pairwise.options import PairwiseOptions

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PartedItems(EngineItems):
    """Items whose labels were divided into ranges.

    Attributes
    ----------
    sums : mapping of str to PartedSums
        Over pairs: as items weigh, and with each item counted once.
    roles : ndarray, (2, 2, K + 1, K + 1)
        Weights, and squares of these, of the items that are better, and worse, than one of a group:
        (role, sum, own group, other group). The last group stands for any.
    n_ranges, n_bins : int
        Ranges of labels, and bins of scores.
    """

    sums: Mapping[str, PartedSums] = field(default_factory=dict)
    roles: Matrix = field(default_factory=lambda: np.zeros((2, 2, 1, 1)))
    n_ranges: int = 0
    n_bins: int = 0

    @property
    def query(self) -> None:
        """No queries: every item is compared with every other."""
        return

    def count(self, options: PairwiseOptions, score_ties: str, *, numbered: bool) -> CountedPairs:
        """Count pairs from the sums."""
        counted = self._counted_pairs(self.sums[RAW], score_ties)
        if not numbered or NUMBERS not in self.sums:
            return counted
        return replace(counted, unweighted=self._counted_pairs(self.sums[NUMBERS], score_ties))

    def _counted_pairs(self, sums: PartedSums, score_ties: str) -> CountedPairs:
        pairs, doubt = sums.pairs(score_ties)
        names = (self.groups, self.others)
        return CountedPairs(pairs.sharing, pairs.score_ties, *names, doubt=doubt)

    def smallest(self, cell: Cell) -> int:
        """Return the number of items in the scarcer role; no name stands for any group."""
        above, below = (self.groups.index(group) if group else -1 for group in cell)
        better, worse = self.roles[0, :, above, below], self.roles[1, :, below, above]
        return min(worth(*one) for one in (better, worse))

    def note(self, bound: float) -> str:
        """Say how pairs were counted."""
        how = (
            f"Labels were divided into {self.n_ranges:,} ranges. Pairs within a range were counted "
            "in memory, exactly; pairs across ranges by the engine, from items "
        )
        if not bound:
            return (
                f"{how}by score: accuracies are exact. Standard errors are from bins of scores, "
                "and no smaller than the exact ones."
            )
        return (
            f"{how}in {self.n_bins:,} bins of scores. Every accuracy is within {round_up(bound)} "
            "of the exact one, for certain; intervals, p values and findings allow for that. "
            "Across ranges, pairs with equal scores are counted where they are known to be equal. "
            "A smaller tolerance takes more passes, 0 counts exactly."
        )


def part_items(rows: LabelledRows, tolerance: float, draw: Draw) -> PartedItems:
    """Divide labels into ranges, and sum up pairs within and across them.

    Parameters
    ----------
    rows : LabelledRows
        With labels of too many values to be tabulated.
    tolerance : float
        The largest bound of an accuracy that is tolerated; 0 to be exact.
    draw : Draw
        Items to standardise.
    """
    parted = PartedRows.of(rows, rows_at_once(rows.n))
    pairs = parted.tabulate(tolerance)
    items = PartedItems(rows)
    names = (*items.groups, *items.others)
    sums = {RAW: PartedSums(names, pairs)}
    if rows.is_weighted:
        sums[NUMBERS] = PartedSums(names, pairs, counted=True)
    roles = Roles(parted, sums[RAW])
    for level, part in enumerate(parted.parts()):
        for one in sums.values():
            one.add_range(level, part)
        roles.add_range(level, part)
    n_ranges, n_bins = len(parted.ranges.low), 0 if pairs.is_streamed else pairs.table.n_bins
    counts = sums[NUMBERS if rows.is_weighted else RAW].weights
    sample = draw_items(replace(parted.rows, groups=rows.groups), counts, draw)
    found = replace(items, sums=sums, roles=roles.found, sample=sample)
    return replace(found, n_ranges=n_ranges, n_bins=n_bins)


class Roles:
    """Sums over the items that are better, and worse, than one of a group.

    Parameters
    ----------
    parted : PartedRows
    sums : PartedSums
        Knows what the items of each range weigh.
    """

    def __init__(self, parted: PartedRows, sums: PartedSums) -> None:
        self.ranges, (self.lowest, self.highest) = parted.ranges, parted.ends()
        self.weights = (sums.weights, sums.squares)
        self.found = np.zeros((2, 2, len(self.lowest), len(self.lowest)))

    def add_range(self, level: int, items: RangeItems | None) -> None:
        """Add the items of a range; only where a group begins or ends are they looked at."""
        low, high = float(self.ranges.low[level]), float(self.ranges.high[level])
        for other, (lowest, highest) in enumerate(zip(self.lowest, self.highest, strict=True)):
            for role, (everyone, nobody) in enumerate(
                ((low > lowest, high <= lowest), (high < highest, low >= highest))
            ):
                if everyone:
                    self._add(role, other, [one[level] for one in self.weights])
                elif not nobody:
                    assert items is not None, "a range of one label is on one side"
                    inside = items.label < highest if role else items.label > lowest
                    self._add(role, other, self._weigh(items, inside))

    def _weigh(self, items: RangeItems, inside: NDArray[np.bool_]) -> list[Matrix]:
        weight = np.ones(len(inside)) if items.weight is None else items.weight
        group, n_groups = items.group[inside], len(self.lowest) - 1
        sums = [np.bincount(group, weight[inside] ** power, n_groups) for power in (1, 2)]
        return [one.astype(np.float64) for one in sums]

    def _add(self, role: int, other: int, sums: list[Matrix]) -> None:
        for place, one in enumerate(sums):
            self.found[role, place, :, other] += [*one, one.sum()]
