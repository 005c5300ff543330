"""The median of a column, found on the engine it lives in.

DuckDB and Spark would hold every value in memory for an exact median. Here rows are counted in bins
of equal width, the bin with the median is parted again, and only when few rows are left in it are
their values looked at. Every step is arithmetic that all engines do alike, so the median is the
same number on each of them.
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np

from comparity.tables.frames import collect_columns

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
