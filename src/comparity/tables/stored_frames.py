"""Rows of a query, computed once and stored on their engine for several further queries.

A lazy frame is computed again for each query. A :class:`StoredFrame` is computed once: DuckDB keeps
its rows in a temporary table, Spark in the storage of its workers, where the part of a lost worker
is computed again. The rows are deleted with the object.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

import narwhals as nw

from comparity.errors import ComparityError
from comparity.tables.columns import Spans, Table, check_columns
from comparity.tables.frames import translate_duckdb
from comparity.tables.memory import current_limits

Checked = TypeVar("Checked")


class StoredFrame:
    """A frame whose rows are computed once and stored on their engine.

    Parameters
    ----------
    frame : narwhals.LazyFrame

    Attributes
    ----------
    frame : narwhals.LazyFrame
        The same rows, for as long as this object lives.

    Examples
    --------
    >>> from comparity.tables.frames import in_memory, n_rows
    >>> import numpy as np
    >>> stored = StoredFrame(in_memory({"n": np.arange(3)}))
    >>> n_rows(stored.frame)
    3
    """

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        native: Any = frame.to_native()
        if frame.implementation.is_duckdb():
            self.frame = self._store_in_duckdb(native)
        elif frame.implementation.is_spark_like():
            stored = native.persist()
            self.frame = nw.from_native(stored)
            weakref.finalize(self, _unpersist, stored)
        else:
            self.frame = frame.collect().lazy()

    def _store_in_duckdb(self, rows: Any) -> nw.LazyFrame[Any]:
        # On the connection of the rows, which may be one of the caller's.
        name = f"stored_by_comparity_{uuid4().hex}"
        with translate_duckdb():
            # What it returns, a count, knows the connection and no longer the rows.
            home = rows.query("rows", f"create temp table {name} as select * from rows")
            stored = home.query("home", f"select * from {name}")
        weakref.finalize(self, _drop, home, name)
        frame: nw.LazyFrame[Any] = nw.from_native(stored)
        return frame


def parse_rows(
    table: Table, *, numeric: Sequence[str], names: Sequence[str]
) -> tuple[nw.LazyFrame[Any], StoredFrame | None, Spans]:
    """Check columns, and return them as numbers and names.

    Rows that are text are parsed once, as by `parse_once`.
    """

    def check(one: Table) -> Spans:
        return check_columns(one, numeric=numeric, names=names)

    parsed, stored, spans = parse_once(table, numeric, check)
    columns = {name: parsed.number(name) for name in numeric}
    columns |= {name: parsed.text(name) for name in names}
    return parsed.frame.select(**columns), stored, spans


def parse_once(
    table: Table, numeric: Sequence[str], check: Callable[[Table], Checked]
) -> tuple[Table, StoredFrame | None, Checked]:
    """Check a table, and return it with what the check returns.

    Rows that are text, as those of CSV, are parsed once and stored where DuckDB may write what
    does not fit; the second value then keeps them.
    """
    is_text = all(isinstance(dtype, nw.String) for dtype in table.schema.values())
    may_spill = table.frame.implementation.is_duckdb() and current_limits().folder is not None
    if not (is_text and may_spill):
        return table, None, check(table)
    numbers = {name: table.number(name) for name in numeric}
    stored = StoredFrame(table.frame.with_columns(**numbers))
    parsed = replace(table, frame=stored.frame, schema=dict(stored.frame.collect_schema()))
    try:
        return parsed, stored, check(parsed)
    except ComparityError:
        # What is wrong is told as it is written.
        check(table)
        raise


def _drop(home: Any, name: str) -> None:
    import duckdb

    try:
        home.query("home", f"drop table if exists {name}")
    except duckdb.Error:
        # The connection was closed, and its temporary tables with it.
        return


def _unpersist(stored: Any) -> None:
    try:
        stored.unpersist()
    except _spark_errors():
        # The session was stopped, or its cluster is gone, and what it stored with it.
        return


def _spark_errors() -> tuple[type[Exception], ...]:
    """Return the errors of Spark, of its bridge to Java (if it has one) and of the network."""
    homes = {"PySparkException": "pyspark.errors", "Py4JError": "py4j.protocol"}
    loaded = {name: sys.modules[home] for name, home in homes.items() if home in sys.modules}
    return (OSError, *(getattr(home, name) for name, home in loaded.items()))
