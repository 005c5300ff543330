"""Rows without gaps: what is dropped on request, counted by file and column.

Nothing is dropped unless it is asked for. Then rows of a table that lack a value in a column that
is read are left out, and so are comparisons of items that were; both are counted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import narwhals as nw

from comparity.tables.file_parts import FileParts
from comparity.tables.frames import collect_columns, is_missing, open_frame, text_of
from comparity.tables.spark import SparkTable

# Columns of comparisons that name items, whatever the layout.
ITEM_COLUMNS = (
    *("better", "worse", "winner", "loser", "left", "right", "model_a", "model_b"),
    *("chosen", "rejected", "preferred", "other"),
)
EVALUATOR_COLUMNS = (
    *("evaluator", "judge", "worker", "annotator", "rater"),
    *("performer", "completed_by", "user"),
)
"""Columns that say who judged where nobody named one, the first that is there."""

OF_DROPPED_ITEMS = "an item that was dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Rows of one table that were left out.

    Attributes
    ----------
    table : str
        File name, or what the frame is called.
    rows, of : int
        How many, and how many there were.
    by_column : mapping of str to int
        How many lack a value in each column; a row that lacks two counts in both.
    """

    table: str
    rows: int
    of: int
    by_column: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Which rows to drop: those without a value in some column, and those about some items.

    Attributes
    ----------
    columns : tuple of str
        Columns that are read; ``P*`` is every column that begins with P. Those that a table does
        not have are passed over, because of two tables each has some.
    item : str
        Column of a table of items with their ids; those of dropped rows are kept in `items`.
    items : set of str
        Items whose comparisons are dropped.
    found : list of Dropped
        What was dropped so far, by table.
    """

    columns: tuple[str, ...]
    item: str = ""
    items: set[str] = field(default_factory=set)
    found: list[Dropped] = field(default_factory=list)

    def drop(self, native: Any, table: str) -> Any:
        """Return a frame of any engine without the rows that have gaps, and count them."""
        frame, known = open_frame(native, table)
        used = [
            name for name in known if _is_read(name, (*self.columns, *self._unnamed_columns(known)))
        ]
        lacking = {name: _where_missing(frame, name) for name in used}
        about = [name for name in known if name in {*ITEM_COLUMNS, *used} and name != self.item]
        if self.items and self.item not in known:
            gone = [nw.col(name).cast(nw.String).is_in(sorted(self.items)) for name in about]
            lacking[OF_DROPPED_ITEMS] = nw.any_horizontal(*gone, ignore_nulls=True)
        if not lacking:
            return native
        return self._filter(frame, lacking, table, known)

    def _unnamed_columns(self, known: Collection[str]) -> list[str]:
        """Return columns of comparisons that are read though nobody named them."""
        pair = [name for name in ITEM_COLUMNS if name in known]
        if not self.item or self.item in known or len(pair) < 2:
            return []
        return [*pair, *[name for name in EVALUATOR_COLUMNS if name in known][:1]]

    def _filter(
        self, frame: Any, lacking: Mapping[str, nw.Expr], table: str, known: Collection[str]
    ) -> Any:
        broken = nw.any_horizontal(*lacking.values(), ignore_nulls=True)
        sums = [one.cast(nw.Int64).sum().alias(f"n{at}") for at, one in enumerate(lacking.values())]
        whole = broken.cast(nw.Int64).sum().alias("rows")
        totals = collect_columns(frame.lazy().select(nw.len().alias("of"), whole, *sums))
        n, of = (int(totals[name][0] or 0) for name in ("rows", "of"))
        by_column = {name: int(totals[f"n{at}"][0] or 0) for at, name in enumerate(lacking)}
        if not n:
            return frame.to_native()
        if self.item in known:
            ids = collect_columns(frame.lazy().filter(broken).select(nw.col(self.item)))[self.item]
            self.items.update(text_of(one) for one in ids.tolist() if not is_missing(one))
        counted = {name: count for name, count in by_column.items() if count}
        if not any(one.table == table for one in self.found):
            self.found.append(Dropped(table=table, rows=n, of=of, by_column=counted))
        return frame.filter(~broken).to_native()


def _is_read(name: Any, columns: Sequence[str]) -> bool:
    return any(name == one or ("*" in one and fnmatchcase(str(name), one)) for one in columns)


def _where_missing(frame: Any, name: str) -> nw.Expr:
    value = nw.col(name)
    if frame.collect_schema()[name].is_float():
        return value.is_null() | value.is_nan()
    return value.is_null()


@dataclass(frozen=True, slots=True)
class CompleteFile:
    """A file of which only rows without gaps are read, instead of its path.

    Attributes
    ----------
    path : str, FileParts or SparkTable
    gaps : Gaps
    """

    path: str | FileParts | SparkTable
    gaps: Gaps

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    @property
    def paths(self) -> tuple[str, ...]:
        """The file, or all files of a table in parts."""
        return self.path.paths if isinstance(self.path, FileParts) else (os.fspath(self.path),)

    def read(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Return the rows of this file that have no gaps."""
        kept = self.gaps.drop(frame.to_native(), os.path.basename(os.fspath(self)))
        rows: nw.LazyFrame[Any] = nw.from_native(kept)
        return rows
