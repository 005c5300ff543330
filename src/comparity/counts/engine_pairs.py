r"""Labelled items on their engine, made into a table of bins of scores: no row leaves it.

A pass over the rows checks them, one counts items by group and label, and one asks for items by
group, label and bin of score. From that table all pairs are counted with certain bounds
(:mod:`comparity.counts.binned_pairs`). Only where the bound is above what is tolerated are the bins
that are to blame cut into smaller ones, by a further pass over their rows alone. Bins with few rows
are asked for item counts by score, which leaves nothing in doubt. Every pass puts at least two
scores of each bin that it cuts into bins of their own, so that there is a last pass; it comes soon
(:mod:`comparity.counts.engine_bins`).

To be exact whatever the scores, bins are cut until each has few rows or nothing in doubt. Items are
then counted by score in ranges of neighbouring bins, each of which fits into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.binned_pairs import PairTable
from comparity.counts.engine_bins import Refinement, beside, code_bins, ends_of
from comparity.counts.labelled_rows import PEEK, LabelledRows, begin_pass, sums_of_items
from comparity.tables.frames import collect_columns

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_BINS = 2**16
"""Bins of scores in a first table: pairs within one of them are some 1.5e-5 of all."""

MOST_WORK = 2**22
"""Bins, times labels, times the square of the groups: what second moments cost."""

FEWEST_BINS = 2**8

MOST_SCORES = 2**21
"""So many rows are asked for their scores at once."""

REPEATED = 0.01
"""Share of these rows with a score seen before; of 250,000 scores 5,000 rows repeat as many."""


class RowsInDoubt(NamedTuple):
    """Rows whose bins leave something in doubt.

    Attributes
    ----------
    coded : narwhals.LazyFrame
        These rows, and perhaps others, with their ``bin``.
    chosen : ndarray of bool
        Which bins of a table they are in.
    """

    coded: nw.LazyFrame[Any]
    chosen: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedPairs:
    """Rows, and the table of bins that was made of them.

    Attributes
    ----------
    rows : LabelledRows
    table : PairTable
    left : RowsInDoubt or None
        What is to be counted by score, range by range.
    """

    rows: LabelledRows
    table: PairTable
    left: RowsInDoubt | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether items in doubt are counted by their scores, range by range."""
        return self.left is not None

    def parts(self) -> Iterator[PairTable]:
        """Yield tables of rising scores, which hold all items together."""
        if self.left is None:
            yield self.table
            return
        coded, chosen = self.left
        for part in _ranges(np.where(chosen, self.table.bin_sizes, 0.0)):
            left = RowsInDoubt(coded, chosen[part])
            yield _count_by_score(self.rows, self.table.keep(part), left)


def _ranges(sizes: Floats) -> Iterator[slice]:
    """Yield ranges of bins, each with as many rows as are asked for at once."""
    part = ((np.cumsum(sizes) - sizes) // MOST_SCORES).astype(np.int64)
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True):
        yield slice(start, end)


def tabulate_pairs(
    rows: LabelledRows,
    factors: list[Floats | None],
    tolerance: float,
    *,
    extremes: bool = False,
) -> TabulatedPairs:
    """Ask for items by group, label and bin of score, until too little is in doubt to matter.

    Parameters
    ----------
    rows : LabelledRows
        With few different labels.
    factors : list of ndarray or None
        What items are weighted by, (labels, groups); accuracies of all of them are bounded.
    tolerance : float
        The largest bound of an accuracy that is tolerated; 0 to be exact.
    extremes : bool
        Whether the smallest and the largest score of every bin are wanted.
    """
    n_bins = MOST_WORK // (len(rows.levels) * len(rows.groups) ** 2)
    n_bins = min(max(n_bins, FEWEST_BINS), MOST_BINS)
    coded = rows.frame.with_columns(
        code_bins(nw.col("score"), rows.low, rows.high, n_bins).alias("bin")
    )
    wanted = extremes or tolerance == 0 or _look_rounded(rows)
    table = _ask_bins(rows, coded, extremes=wanted)
    for code, end in ((0, rows.low), (n_bins + 1, rows.high)):
        own = table.code == code
        table.low[own], table.high[own], table.single[own] = end, end, True
    crowded = table.code[table.bin_sizes > rows.n / 2]
    for place in count():
        # Half of what is tolerated may stay where it is; the rest is left for smaller bins.
        chosen = _bins_to_blame(table, factors, tolerance, 2 - 0.5**place)
        sizes = table.bin_sizes[chosen]
        if sizes.sum() <= MOST_SCORES:
            break
        if tolerance == 0 and sizes.max() <= MOST_SCORES:
            return TabulatedPairs(rows, table, RowsInDoubt(coded, chosen))
        cut = _cut_bins(table, chosen, crowded, rows, n_bins)
        coded = cut.apply(coded)
        smaller = _ask_bins(rows, coded, extremes=True)
        crowded = cut.crowded_among(smaller.code, sizes, smaller.bin_sizes)
        table = table.put_in(chosen, smaller, cut.parents_of(smaller.code))
    return TabulatedPairs(rows, _count_by_score(rows, table, RowsInDoubt(coded, chosen)))


def _look_rounded(rows: LabelledRows) -> bool:
    """Say whether scores seem to repeat, so that bins may hold one score each."""
    seen = collect_columns(rows.frame.select("score").head(PEEK))["score"]
    return len(np.unique(seen)) <= (1 - REPEATED) * len(seen)


def _ask_bins(rows: LabelledRows, coded: nw.LazyFrame[Any], *, extremes: bool) -> PairTable:
    """Ask for items by group, label and bin."""
    begin_pass(rows.n)
    score = nw.col("score")
    ends = [score.min().alias("low"), score.max().alias("high")] if extremes else []
    sums = sums_of_items(["weight"] if rows.is_weighted else [])
    found = collect_columns(coded.group_by("group", "label", "bin").agg(*sums, *ends))
    unknown = np.full(len(found["n"]), np.nan)
    found = {"low": unknown, "high": unknown, **found, "code": found["bin"]}
    return _table_of(rows, found)


def _count_by_score(rows: LabelledRows, table: PairTable, left: RowsInDoubt) -> PairTable:
    """Put bins of one score each in the place of those in doubt."""
    if not left.chosen.any():
        return table
    begin_pass(rows.n)
    codes = np.sort(table.code[left.chosen])
    kept = left.coded.join(beside(left.coded, {"bin": codes}), on="bin", how="inner")
    sums = [
        *sums_of_items(["weight"] if rows.is_weighted else []),
        nw.col("bin").max().alias("code"),
    ]
    found = collect_columns(kept.group_by("group", "label", "score").agg(*sums))
    score = found.pop("score")
    single = _table_of(rows, {**found, "bin": score, "low": score, "high": score})
    return table.put_in(left.chosen, single, np.searchsorted(codes, single.code))


def _table_of(rows: LabelledRows, found: dict[str, NDArray[Any]]) -> PairTable:
    return PairTable.of(rows.code_rows(found), rows.groups, rows.levels)


def _bins_to_blame(
    table: PairTable, factors: list[Floats | None], tolerance: float, share: float
) -> NDArray[np.bool_]:
    """Return the bins, of those that can be cut, that leave more in doubt than is tolerated.

    Bins that leave up to `share` times the tolerance in doubt, as the width of an interval, stay.
    """
    doubts = np.hstack([table.doubts(one) for one in factors])
    chosen = np.zeros(table.n_bins, dtype=bool)
    if not (doubts.sum(axis=0) / 2 > tolerance).any():
        return chosen
    worst = doubts.max(axis=1)
    can_be_cut = (table.code >= 0) & (worst > 0)
    order = np.argsort(np.where(can_be_cut, worst, 0.0), kind="stable")
    kept = (np.cumsum(doubts[order], axis=0) <= share * tolerance).all(axis=1)
    chosen[order[~kept]] = True
    chosen &= can_be_cut
    return chosen


def _cut_bins(
    table: PairTable, chosen: NDArray[np.bool_], crowded: Codes, rows: LabelledRows, n_bins: int
) -> Refinement:
    """Cut bins into smaller ones, each into as many as it has its share of the rows."""
    sizes = table.bin_sizes[chosen]
    pieces = np.ceil(n_bins * sizes / sizes.sum()).astype(np.int64) + 1
    code = table.code[chosen]
    # Where nobody asked for the ends of bins, these are the first ones.
    first = ends_of(code, rows.low, rows.high, n_bins)
    low, high = (
        np.where(np.isnan(known), end, known)
        for known, end in zip((table.low[chosen], table.high[chosen]), first, strict=True)
    )
    return Refinement(code, low, high, pieces, np.isin(code, crowded))
