"""Text files as columns, and columns as features."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "numbers", "one_hot", "read_columns", "scaled", "standardised"]

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]


def read_columns(
    path: Path, names: Sequence[str] | None = None, *, separator: str = ","
) -> dict[str, NDArray[Any]]:
    """Read a text file as columns of text; blanks around values are dropped.

    Parameters
    ----------
    path : path
        The file.
    names : sequence of str, optional
        Names of its columns; by default its first row has them, and of two columns with one name
        the first is kept.
    separator : str
        What stands between values.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter=separator, skipinitialspace=True) if row]
    header, body = (rows[0], rows[1:]) if names is None else (list(names), rows)
    found: dict[str, NDArray[Any]] = {}
    for place, name in enumerate(header):
        if name not in found:
            found[name] = np.array([row[place].strip() for row in body], dtype=object)
    return found


def numbers(column: NDArray[Any], *, missing: float = np.nan) -> Floats:
    """Read text as numbers; an empty cell, ``?`` and ``NA`` are `missing`."""
    return np.array([missing if text in ("", "?", "NA") else float(text) for text in column])


def one_hot(column: NDArray[Any], name: str) -> dict[str, Floats]:
    """Return one 0/1 column for each value, in sorted order; an empty cell is a value, too."""
    return {f"{name}={value}": (column == value).astype(float) for value in sorted(set(column))}


def scaled(features: Mapping[str, Floats]) -> dict[str, Floats]:
    """Scale every column to 0..1; a constant one becomes 0."""
    found = {}
    for name, column in features.items():
        low, high = float(column.min()), float(column.max())
        # A gap leaves gaps: with nan no comparison holds, and the column would count as constant.
        found[name] = np.zeros(len(column)) if high == low else (column - low) / (high - low)
    return found


def standardised(features: Mapping[str, Floats]) -> dict[str, Floats]:
    """Give every column mean 0 and standard deviation 1; a constant one becomes 0."""
    found = {}
    for name, column in features.items():
        # The mean of equal numbers may be off by a rounding, and their deviation then not zero.
        constant = bool((column == column[0]).all())
        centred = column - column.mean()
        found[name] = np.zeros(len(column)) if constant else centred / column.std()
    return found
