r"""All pairs of items with labels of very many values, which stay on their engine.

Labels are divided into ranges of neighbouring values, each of which fits into memory. Two items of
one range are compared there, exactly. Two items of different ranges have different labels for
certain, so that the range takes the place of the label: items are counted by group, range and bin
of score, with the certain bounds of :mod:`comparity.counts.binned_pairs`. How many pairs there are
is known exactly. A range that holds one label has no pairs within it, and may be of any size.

What the pairs of an item are is the sum of both, so that second moments are summed up item by item,
while its range is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.binned_pairs import PairSums, PairTable
from comparity.counts.engine_bins import Refinement, code_bins
from comparity.counts.engine_pairs import MOST_BINS, TabulatedPairs, tabulate_pairs
from comparity.counts.kernels.dominance import line_totals, line_up
from comparity.counts.kernels.label_ranges import (
    OtherRanges,
    PlacedRows,
    add_placements,
    pairs_inside,
)
from comparity.counts.labelled_rows import LabelledRows, begin_pass
from comparity.tables.frames import collect_columns
from comparity.tables.memory import current_limits
from comparity.tables.stored_frames import StoredFrame

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_ROWS = 3 * 2**18
"""So many rows of a range of labels are brought to memory at once."""

MOST_PARTS = 224
"""Ranges are made larger where they would be more than about these: each takes room in a table."""

BYTES_HELD = 7 * 10**8
"""What Python holds: itself, a table of bins, and a range with what the pairs of its items are."""

# numba's own types know no arguments.
_add_placements: Any = add_placements


def rows_at_once(rows: int) -> int:
    """Return how many of so many rows a range of labels may hold."""
    return max(MOST_ROWS, -(-rows // MOST_PARTS))


class LabelRanges(NamedTuple):
    """Ranges of labels, lowest first.

    Attributes
    ----------
    low, high : ndarray of float
        The smallest and the largest label of each.
    n : ndarray of int
        Rows of each.
    """

    low: Floats
    high: Floats
    n: Codes

    def keep(self, chosen: NDArray[np.bool_]) -> LabelRanges:
        """Return some of them."""
        return LabelRanges(self.low[chosen], self.high[chosen], self.n[chosen])

    def find(self, label: nw.Expr) -> nw.Expr:
        """Return the number of the range that a label is in: eight comparisons for 256 ranges."""
        return self._between(label, 0, len(self.low)).cast(nw.Int32)

    def _between(self, label: nw.Expr, start: int, end: int) -> nw.Expr:
        if end - start <= 1:
            return nw.lit(start)
        middle = (start + end) // 2
        lower, upper = self._between(label, start, middle), self._between(label, middle, end)
        return nw.when(label < float(self.low[middle])).then(lower).otherwise(upper)


def divide_labels(rows: LabelledRows, most: int) -> LabelRanges:
    """Divide labels into ranges of at most so many rows, or of one label.

    Labels are counted in bins of one width. Bins with too many rows are cut into smaller ones by a
    further pass; neighbouring bins are then joined while there is room.
    """
    label = nw.col("score")
    coded = rows.frame.select(nw.col("label").alias("score")).with_columns(
        code_bins(label, *rows.label_ends, MOST_BINS).alias("bin")
    )
    kept: list[LabelRanges] = []
    held, cut = np.array([rows.n]), None
    while True:
        begin_pass(rows.n)
        ends = [label.min().alias("low"), label.max().alias("high")]
        found = collect_columns(coded.group_by("bin").agg(nw.len().alias("n"), *ends))
        code, n = found["bin"].astype(np.int64), found["n"].astype(np.int64)
        bins = LabelRanges(found["low"], found["high"], n)
        crowded = cut.crowded_among(code, held, n) if cut else code[n > rows.n / 2]
        heavy = (bins.n > most) & (bins.low < bins.high)
        kept.append(bins.keep(~heavy))
        if not heavy.any():
            return _join_ranges(kept, most)
        low, high, held = bins.keep(heavy)
        pieces = np.ceil(MOST_BINS * held / held.sum()).astype(np.int64) + 1
        cut = Refinement(code[heavy], low, high, pieces, np.isin(code[heavy], crowded))
        coded = cut.apply(coded)


def _join_ranges(kept: list[LabelRanges], most: int) -> LabelRanges:
    """Join neighbours while they hold at most so many rows."""
    low, high, n = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    order = np.argsort(low, kind="stable")
    low, high, n = low[order], high[order], n[order]
    starts, held = [0], 0
    for place, size in enumerate(n.tolist()):
        if held and held + size > most:
            starts.append(place)
            held = 0
        held += size
    last = np.array([*starts[1:], len(n)]) - 1
    return LabelRanges(low[starts], high[last], np.add.reduceat(n, starts))


class RangeItems(NamedTuple):
    """Items of one range of labels in memory; the weights are ``None`` where each weighs one."""

    label: Floats
    score: Floats
    group: Codes
    weight: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class PartedRows:
    """Rows with the range of their label in the place of it, stored on their engine.

    Attributes
    ----------
    rows : LabelledRows
        ``label`` is the number of the range, ``group`` that of the group, ``value`` the label.
    ranges : LabelRanges
    stored : StoredFrame
        Where they are stored, sorted by range: one range is read without the others.
    """

    rows: LabelledRows
    ranges: LabelRanges
    stored: StoredFrame

    @classmethod
    def of(cls, rows: LabelledRows, most: int) -> PartedRows:
        """Divide labels, and store the rows."""
        ranges = divide_labels(rows, most)
        begin_pass(rows.n)
        coded = code_groups(rows, ranges.find(nw.col("label")))
        stored = StoredFrame(coded.sort("label"))
        # Sorting is over, and from now on memory holds the table of bins and a range.
        current_limits().limit_engine(BYTES_HELD)
        names = tuple(map(str, range(len(rows.groups))))
        levels = np.arange(len(ranges.low), dtype=np.float64)
        known = replace(rows, frame=stored.frame, groups=names, levels=levels)
        return cls(known, ranges, stored)

    def tabulate(self, tolerance: float) -> TabulatedPairs:
        """Count items by group, range and bin of score; the ends of all bins are known."""
        return tabulate_pairs(self.rows, [None], tolerance, extremes=True)

    def ends(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest label of each group, then those of all."""
        value = nw.col("value")
        ends = [value.min().alias("low"), value.max().alias("high")]
        found = collect_columns(self.rows.frame.group_by("group").agg(*ends))
        order = np.argsort(found["group"])
        low, high = found["low"][order], found["high"][order]
        return np.append(low, low.min()), np.append(high, high.max())

    def parts(self) -> Iterator[RangeItems | None]:
        """Yield the items of each range, lowest first; nothing where it has one label."""
        for level, (low, high) in enumerate(zip(self.ranges.low, self.ranges.high, strict=True)):
            if low == high:
                yield None
                continue
            begin_pass(int(self.ranges.n[level]))
            found = collect_columns(self.rows.frame.filter(nw.col("label") == level))
            given = found["weight"].astype(np.float64) if self.rows.is_weighted else None
            label, score = (found[name].astype(np.float64) for name in ("value", "score"))
            yield RangeItems(label, score, found["group"].astype(np.int64), given)


def code_groups(rows: LabelledRows, level: nw.Expr) -> nw.LazyFrame[Any]:
    """Return rows with the codes of their groups, and their label beside its level."""
    weight = ["weight"] if rows.is_weighted else []
    return rows.frame.select(
        level.alias("label"),
        _code_of(nw.col("group"), rows.groups).alias("group"),
        nw.col("label").alias("value"),
        "score",
        *weight,
    )


def _code_of(group: nw.Expr, groups: tuple[str, ...]) -> nw.Expr:
    code: nw.Expr = nw.lit(0)
    for place, name in enumerate(groups[1:], start=1):
        code = nw.when(group == name).then(nw.lit(place)).otherwise(code)
    return code.cast(nw.Int32)


class PartedSums(PairSums):
    """Sums over all pairs, to which ranges of labels are added from the lowest on.

    Parameters
    ----------
    groups : tuple of str
    pairs : TabulatedPairs
        Items by group, range and bin of score.
    counted : bool
        Whether each item weighs one, whatever its weight.
    """

    def __init__(
        self, groups: tuple[str, ...], pairs: TabulatedPairs, *, counted: bool = False
    ) -> None:
        self.table: PairTable = pairs.table
        self.rows = self.table.rows(counted=counted)
        self.counted = counted
        by_label = self.table.by_label
        super().__init__(groups, by_label(self.rows.weight), by_label(self.rows.square))
        whole = self._swept
        # Products are added item by item, below.
        self._swept = whole._replace(products=np.zeros((0, 0, 0)))
        for part in pairs.parts():
            self.add(part.rows(counted=counted))
        self._swept = whole
        self._lower = np.zeros((self.table.n_bins, len(groups)))
        self._higher = self._by_bin(slice(None))

    def add_range(self, level: int, items: RangeItems | None) -> None:
        """Add the pairs within a range, and what the pairs of each of its items are."""
        here = self._by_bin(self.rows.level == level)
        self._higher -= here
        placed = self._place_rows(level) if items is None else self._place_items(items)
        swept = self._swept
        others = _lower_ranges(self._lower), _higher_ranges(self._higher)
        _add_placements(placed, *others, self.table.single, swept.products, swept.doubts)
        self._lower += here

    def _by_bin(self, kept: Any) -> Floats:
        k = len(self.groups)
        code = self.rows.place[kept] * k + self.rows.group[kept]
        sums = np.bincount(code, self.rows.weight[kept], self.table.n_bins * k)
        return sums.astype(np.float64).reshape(-1, k)

    def _place_rows(self, level: int) -> PlacedRows:
        kept = self.rows.level == level
        root = np.sqrt(self.rows.square[kept])
        return PlacedRows(
            self.rows.place[kept], self.rows.group[kept], root, np.zeros((len(root), 0))
        )

    def _place_items(self, items: RangeItems) -> PlacedRows:
        weight = None if self.counted else items.weight
        line = line_up(items.label, items.score, items.group, len(self.groups), weight)
        totals = line_totals(line)
        squares = totals
        if weight is not None:
            squares = line_totals(line._replace(weight=line.weight**2))
        self.add_inside(totals, squares)
        # The line is in the order of scores.
        place = np.searchsorted(self.table.high, np.sort(items.score))
        root = line.weight if len(line.weight) else np.ones(len(place))
        return PlacedRows(place, line.group.astype(np.int64), root, pairs_inside(line))


def _lower_ranges(weights: Floats) -> OtherRanges:
    upto = np.cumsum(weights, axis=0)
    return OtherRanges(weights.sum(axis=0), upto - weights, weights.copy())


def _higher_ranges(weights: Floats) -> OtherRanges:
    upto = np.cumsum(weights, axis=0)
    return OtherRanges(weights.sum(axis=0), upto[-1] - upto, weights.copy())
