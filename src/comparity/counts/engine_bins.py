"""Bins of a column on the engine that its rows live in, their refinement, and the median.

The first bins have one width between the smallest and the largest score, which have bins of their
own: scores are often cut off there. A bin that leaves too much in doubt is cut into smaller ones:
its number is joined with a small table that says where it lies and into how many. All of it is
subtraction, multiplication and rounding down, none of which can put a smaller number after a larger
one. So bins keep the order of the scores, wherever they lie.

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


def code_bins(value: nw.Expr, low: float, high: float, size: int) -> nw.Expr:
    """Return the number of the bin of a value between `low` and `high`.

    0 is the bin of `low` alone, ``size + 1`` that of `high` alone, the others are of one width.
    """
    inner = nw.lit(1.0)
    if scale := bins_per_unit(np.array([low / 2]), np.array([high / 2]), np.array([size]))[0]:
        steps = ((value / 2 - low / 2) * float(scale)).floor()
        inner = nw.when(steps >= size).then(nw.lit(float(size))).otherwise(steps + 1)
    return (
        nw.when(value == low)
        .then(nw.lit(0.0))
        .otherwise(nw.when(value == high).then(nw.lit(float(size + 1))).otherwise(inner))
        .cast(nw.Int64)
    )


def bins_per_unit(low: Floats, high: Floats, size: Codes) -> Floats:
    """Return how many bins there are in a unit; 0 where that is no number, for one bin in all.

    Ends are halved, because the distance of two numbers may be too large for a number.
    """
    width = high - low
    with np.errstate(over="ignore"):
        scale = np.divide(size, width, out=np.zeros_like(width), where=width > 0)
    return np.where(np.isfinite(scale), scale, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """Bins that are cut into smaller ones.

    Attributes
    ----------
    parent : ndarray of int
        Numbers of the bins.
    low, high : ndarray of float
        The smallest and the largest score of each; ``nan`` where these are not known.
    start : ndarray of float
        Half of where each begins, more or less.
    scale : ndarray of float
        Smaller bins in a unit of half the score.
    size : ndarray of int
        Smaller bins of one width in each.
    """

    parent: Codes
    low: Floats
    high: Floats
    start: Floats
    scale: Floats
    size: Codes

    @property
    def base(self) -> Codes:
        """The number of the first smaller bin of each."""
        sizes = self.size + SPARE
        found: Codes = np.cumsum(sizes) - sizes
        return found

    def parents_of(self, codes: Codes) -> Codes:
        """Return which bin each smaller one is part of, as a place in :attr:`parent`."""
        return np.searchsorted(self.base, codes, side="right") - 1

    def apply(self, rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Keep the rows in these bins, their ``bin`` replaced by the smaller one."""
        names = {
            "bin": self.parent,
            "bin_low": self.low,
            "bin_high": self.high,
            "bin_start": self.start,
            "bin_scale": self.scale,
            "bin_size": self.size.astype(np.float64),
            "bin_base": self.base.astype(np.float64),
        }
        joined = rows.join(beside(rows, names), on="bin", how="inner")
        score, size = nw.col("score"), nw.col("bin_size")
        steps = ((score / 2 - nw.col("bin_start")) * nw.col("bin_scale")).floor()
        upto = nw.when(steps >= size).then(size).otherwise(steps + 1)
        inner = nw.when(upto < 1).then(nw.lit(1.0)).otherwise(upto)
        place = (
            nw.when(score == nw.col("bin_low"))
            .then(nw.lit(0.0))
            .otherwise(nw.when(score == nw.col("bin_high")).then(size + 1).otherwise(inner))
        )
        kept = [name for name in rows.collect_schema().names() if name != "bin"]
        return joined.select(*kept, (place + nw.col("bin_base")).cast(nw.Int64).alias("bin"))


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
