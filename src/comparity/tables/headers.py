"""Names of the columns of a file: every column has one, and no two have the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comparity.errors import DuplicateColumnError, UnnamedColumnError

__all__ = ["check_names", "parquet_names"]


def check_names(names: Sequence[str | None], file: str) -> None:
    """Raise an error unless every column of a file has a name of its own.

    DuckDB would call the second of two, and one without a name, something else. To DuckDB capital
    letters make no difference.
    """
    table = repr(Path(file).name)
    unnamed = [place for place, name in enumerate(names, start=1) if not (name or "").strip()]
    if unnamed:
        raise UnnamedColumnError(table, unnamed, len(names))
    lower = [(name or "").lower() for name in names]
    if len(set(lower)) < len(lower):
        twice = [repr(name) for name in names if lower.count((name or "").lower()) > 1]
        raise DuplicateColumnError(table, ", ".join(twice))


def parquet_names(reader: Any, source: str) -> list[str]:
    """Return the names of columns as a Parquet file, or the first of a pattern, has them."""
    query = "select file_name, name, num_children from parquet_schema(?)"
    rows = reader.execute(query, [source]).fetchall()
    schema = [(name, children or 0) for file, name, children in rows if file == rows[0][0]]
    names, place = [], 1
    while place < len(schema):
        names.append(schema[place][0])
        place = _next_column(schema, place)
    return names


def _next_column(schema: Sequence[tuple[str, int]], place: int) -> int:
    """Return where the next column begins: what a nested one holds is listed behind it."""
    left = 1
    while left:
        left += schema[place][1] - 1
        place += 1
    return place
