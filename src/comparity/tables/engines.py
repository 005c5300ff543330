"""Tables of two engines brought together, so that they can be joined."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from comparity.errors import MixedEnginesError
from comparity.tables.columns import Table
from comparity.tables.files import in_memory
from comparity.tables.frames import collected

__all__ = ["moved"]


def moved(items: Table, comparisons: Table) -> Table:
    """Return the items on the engine of the comparisons.

    The items are the smaller table, so they travel.

    Raises
    ------
    MixedEnginesError
        The comparisons live in an engine that takes no rows from outside.
    """
    source, target = items.frame.implementation, comparisons.frame.implementation
    if target.is_duckdb():
        home: Any = comparisons.frame.to_native()
        if source.is_duckdb() and _joinable(home, items.frame.to_native()):
            return items
        return items.with_frame(in_memory(collected(items.frame), home))
    if source is target:
        return items
    if target.is_spark_like():
        raise MixedEnginesError(str(target.value), str(source.value))
    columns = {name: column.tolist() for name, column in collected(items.frame).items()}
    frame = nw.from_dict(columns, schema=dict(items.schema), backend=target).lazy()
    return items.with_frame(frame)


def _joinable(first: Any, second: Any) -> bool:
    """Say whether two relations belong to one connection; DuckDB tells only by refusing."""
    import duckdb

    try:
        first.limit(0).set_alias("first").cross(second.limit(0).set_alias("second"))
    except duckdb.InvalidInputException:
        return False
    return True
