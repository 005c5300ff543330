"""Results of queries that stay on their engine, to be asked again without working them out again.

A lazy frame is worked out whenever it is asked. Where several questions are asked of one join or
one group-by, DuckDB keeps its rows in a temporary table and Spark in the storage of its workers;
a lost worker's part is worked out again. Both go when nobody holds the frame any more.
"""

from __future__ import annotations

import weakref
from typing import Any
from uuid import uuid4

import narwhals as nw

from comparity.tables.frames import translate_duckdb


class HeldFrame:
    """A frame whose rows were worked out once and stay where they are.

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
    >>> held = HeldFrame(in_memory({"n": np.arange(3)}))
    >>> n_rows(held.frame)
    3
    """

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        native: Any = frame.to_native()
        if frame.implementation.is_duckdb():
            self.frame = self._hold_in_duckdb(native)
        elif frame.implementation.is_spark_like():
            stored = native.persist()
            self.frame = nw.from_native(stored)
            weakref.finalize(self, _unpersist, stored)
        else:
            self.frame = frame.collect().lazy()

    def _hold_in_duckdb(self, rows: Any) -> nw.LazyFrame[Any]:
        # On the connection of the rows, which may be one of the caller's.
        name = f"held_by_comparity_{uuid4().hex}"
        with translate_duckdb():
            # What it returns, a count, knows the connection and no longer the rows.
            home = rows.query("rows", f"create temp table {name} as select * from rows")
            stored = home.query("home", f"select * from {name}")
        weakref.finalize(self, _drop, home, name)
        frame: nw.LazyFrame[Any] = nw.from_native(stored)
        return frame


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
    except Exception:
        # The session was stopped, or its cluster is gone, and what it stored with it.
        return
