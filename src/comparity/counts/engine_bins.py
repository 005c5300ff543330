"""Bins of a column on the engine that its rows live in, their refinement, and the median.

The first bins have one width between the smallest and the largest score, which have bins of their
own: scores are often cut off there. A bin that leaves too much in doubt is cut into smaller ones:
its number is joined with a small table that says where it lies and into how many. All of it is
subtraction, multiplication, square roots and rounding down, none of which can put a smaller number
after a larger one. So bins keep the order of the scores, wherever they lie.

Cutting always ends, because the ends of a bin get bins of their own. It ends soon, too. Where the
largest number of a bin is at most twice its smallest, doubles lie evenly, and smaller bins of one
width part them. Elsewhere these may leave nearly all rows in one; that one is then cut evenly on
the scale of a high root, where powers of two lie nearly evenly.

DuckDB and Spark would hold every value in memory for an exact median. Here rows are counted in bins
of equal width, the bin with the median is parted again, and only when few rows are left in it are
their values looked at. Every step is arithmetic that all engines do alike, so the median is the
same number on each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.tables.frames import collect_columns, in_memory

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SPARE = 2
"""Bins beside those of one width: of the smallest number, and of the largest."""


ROOTS = 10
"""Square roots of square roots: the root of order 1,024 puts all sizes between 0.48 and 2."""

LARGEST_TO_MULTIPLY = 2.0**-500
"""Numbers below this are multiplied by its inverse, so that a unit has not too many bins."""


def code_bins(value: nw.Expr, low: float, high: float, size: int) -> nw.Expr:
    """Return the number of the bin of a value between `low` and `high`.

    0 is the bin of `low` alone, ``size + 1`` that of `high` alone, the others are of one width.
    """
    unit = float(unit_of(np.array([low]), np.array([high]))[0])
    inner = nw.lit(1.0)
    if low < high:
        scale = size / (high * unit - low * unit)
        steps = ((value * unit - low * unit) * scale).floor()
        inner = nw.when(steps >= size).then(nw.lit(float(size))).otherwise(steps + 1)
    return (
        nw.when(value == low)
        .then(nw.lit(0.0))
        .otherwise(nw.when(value == high).then(nw.lit(float(size + 1))).otherwise(inner))
        .cast(nw.Int64)
    )


def unit_of(low: Floats, high: Floats) -> Floats:
    """Return what to multiply numbers by so that no distance, nor its inverse, is too large.

    Examples
    --------
    >>> unit_of(np.array([-1.7e308, 0.0]), np.array([1.7e308, 5e-324])).tolist() == [0.5, 2.0**500]
    True
    """
    widest = np.maximum(np.abs(low), np.abs(high))
    return np.where(widest < LARGEST_TO_MULTIPLY, 1 / LARGEST_TO_MULTIPLY, 0.5)


def ends_of(codes: Codes, low: float, high: float, size: int) -> tuple[Floats, Floats]:
    """Return about where bins begin and end that :func:`code_bins` made."""
    unit = unit_of(np.array([low]), np.array([high]))
    start, end = low * unit, high * unit
    width = (end - start) / size
    first, last = (
        np.clip(start + width * np.minimum(codes - one, size), start, end) / unit for one in (1, 0)
    )
    return first, last


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """Bins that are cut into smaller ones.

    Attributes
    ----------
    parent : ndarray of int
        Numbers of the bins.
    low, high : ndarray of float
        The smallest and the largest score of each, or about that.
    size : ndarray of int
        Smaller bins of one width in each, between those of the ends.
    crowded : ndarray of bool
        Which of them hold most rows of the bin that they were cut from.
    """

    parent: Codes
    low: Floats
    high: Floats
    size: Codes
    crowded: NDArray[np.bool_]

    @property
    def base(self) -> Codes:
        """The number of the first smaller bin of each."""
        sizes = self.size + SPARE
        found: Codes = np.cumsum(sizes) - sizes
        return found

    @property
    def is_rooted(self) -> NDArray[np.bool_]:
        """Which bins are cut on the scale of roots."""
        is_narrow = (self.low > 0) & (self.high / 2 <= self.low)
        is_narrow |= (self.high < 0) & (self.low / 2 >= self.high)
        found: NDArray[np.bool_] = self.crowded & ~is_narrow
        return found

    def parents_of(self, codes: Codes) -> Codes:
        """Return which bin each smaller one is part of, as a place in :attr:`parent`."""
        return np.searchsorted(self.base, codes, side="right") - 1

    def crowded_among(self, codes: Codes, rows: NDArray[Any], sizes: NDArray[Any]) -> Codes:
        """Return the codes of smaller bins that hold most of the `rows` of theirs, by `sizes`."""
        found: Codes = codes[sizes > rows[self.parents_of(codes)] / 2]
        return found

    def apply(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Keep the rows in these bins, their ``bin`` replaced by the smaller one."""
        unit, rooted = unit_of(self.low, self.high), self.is_rooted
        # An approximate start will do: what is below it counts as lying at it.
        start, end = (
            np.where(rooted, np.sign(one) * np.abs(one) ** 0.5**ROOTS, one * unit)
            for one in (self.low, self.high)
        )
        width = end - start
        names = {
            "bin": self.parent,
            "bin_low": self.low,
            "bin_high": self.high,
            "bin_unit": unit,
            "bin_start": start,
            "bin_scale": np.divide(self.size, width, out=np.zeros_like(width), where=width > 0),
            "bin_size": self.size.astype(np.float64),
            "bin_base": self.base.astype(np.float64),
            "bin_rooted": rooted.astype(np.int64),
        }
        joined = rows.join(beside(rows, names), on="bin", how="inner")
        score, size = nw.col("score"), nw.col("bin_size")
        value = score * nw.col("bin_unit")
        if rooted.any():
            joined, root = _with_root(joined)
            value = nw.when(nw.col("bin_rooted") == 1).then(root).otherwise(value)
        steps = ((value - nw.col("bin_start")) * nw.col("bin_scale")).floor()
        upto = nw.when(steps >= size).then(size).otherwise(steps + 1)
        inner = nw.when(upto < 1).then(nw.lit(1.0)).otherwise(upto)
        place = (
            nw.when(score <= nw.col("bin_low"))
            .then(nw.lit(0.0))
            .otherwise(nw.when(score >= nw.col("bin_high")).then(size + 1).otherwise(inner))
        )
        kept = [name for name in rows.collect_schema().names() if name != "bin"]
        return joined.select(*kept, (place + nw.col("bin_base")).cast(nw.Int64).alias("bin"))


def _with_root(rows: nw.LazyFrame[Any]) -> tuple[nw.LazyFrame[Any], nw.Expr]:
    """Return rows and the root of their scores: square roots are rounded so as to keep the order.

    For engines narwhals writes down twice what a root is taken of, so they are told themselves.
    """
    score, root = nw.col("score"), nw.col("bin_root")
    told = f"{'sqrt(' * ROOTS}abs(score){')' * ROOTS} as bin_root"
    native: Any = rows.to_native()
    if rows.implementation.is_duckdb():
        rows = nw.from_native(native.project(f"*, {told}"))
    elif rows.implementation.is_spark_like():
        rows = nw.from_native(native.selectExpr("*", told))
    else:
        rows = rows.with_columns(score.abs().alias("bin_root"))
        for _ in range(ROOTS):
            rows = rows.with_columns(root.sqrt())
    return rows, nw.when(score < 0).then(root * -1.0).otherwise(root)


def beside(rows: nw.LazyFrame[Any], columns: dict[str, NDArray[Any]]) -> nw.LazyFrame[Any]:
    """Bring a small table to the engine of rows."""
    native: Any = rows.to_native()
    if rows.implementation.is_duckdb():
        return in_memory(columns, native)
    if rows.implementation.is_spark_like():
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        frame = native.sparkSession.createDataFrame([*values], [*columns])
        small: nw.LazyFrame[Any] = nw.from_native(frame)
        return small
    held = {name: column.tolist() for name, column in columns.items()}
    return nw.from_dict(held, backend=rows.implementation).lazy()


FEW_VALUES = 10**6
"""So many values are brought to memory to be sorted."""

BINS = 2.0**16
"""Parts of a range in each step; five steps part all numbers between two doubles a unit apart."""


def find_median(frame: nw.LazyFrame[Any], column: str) -> float:
    """Return the median of a column of finite numbers; the mean of the middle two, if there are.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        At least one row.
    column : str

    Examples
    --------
    >>> from comparity.tables.frames import in_memory
    >>> find_median(in_memory({"x": np.array([4.0, 1.0, 2.0, 9.0])}), "x")
    3.0
    """
    value = nw.col(column)
    ends = collect_columns(
        frame.select(nw.len().alias("n"), value.min().alias("low"), value.max().alias("high"))
    )
    n, low, high = int(ends["n"][0]), float(ends["low"][0]), float(ends["high"][0])
    places = ((n - 1) // 2, n // 2)
    middle = [_value_at(frame, column, place, n, (low, high)) for place in sorted({*places})]
    # Halves first: the sum of two large numbers may not be finite.
    return middle[0] if len(middle) == 1 else middle[0] / 2 + middle[1] / 2


def _value_at(
    frame: nw.LazyFrame[Any], column: str, place: int, n: int, ends: tuple[float, float]
) -> float:
    """Return the value at a place, from 0, of the column in ascending order."""
    value, (low, high) = nw.col(column), ends
    inside = frame.select(column)
    while n > FEW_VALUES and low < high:
        width = high / BINS - low / BINS
        if not width or low + width == low:
            break
        part = ((value - low) / width).floor()
        counted = inside.select(part.alias("part"), value.alias("value")).group_by("part")
        found = collect_columns(
            counted.agg(
                nw.len().alias("n"),
                nw.col("value").min().alias("low"),
                nw.col("value").max().alias("high"),
            )
        )
        order = np.argsort(found["part"].astype(np.float64))
        counts = found["n"][order].astype(np.int64)
        chosen = int(np.searchsorted(np.cumsum(counts), place, side="right"))
        place -= int(counts[:chosen].sum())
        low, high = (float(found[name][order][chosen]) for name in ("low", "high"))
        n = int(counts[chosen])
        inside = inside.filter((value >= low) & (value <= high))
    values = collect_columns(inside.group_by(column).agg(nw.len().alias("n")))
    order = np.argsort(values[column])
    chosen = int(np.searchsorted(np.cumsum(values["n"][order]), place, side="right"))
    found_value = float(values[column][order][chosen])
    assert math.isfinite(found_value), "scores have been checked"
    return found_value
