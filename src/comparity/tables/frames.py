"""Frames of any engine, opened and collected, and the DuckDB database of this process."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from comparity.errors import (
    BusyConnectionError,
    DuplicateColumnError,
    MixedEnginesError,
    OutOfMemoryError,
    SpillFullError,
    UnreadableFileError,
    UnsteadyQueryError,
    UnsupportedTableError,
)
from comparity.errors.spelling import UNKNOWN_FILE, list_names
from comparity.tables.spark import DISK_FULL, translate_spark

if TYPE_CHECKING:
    from comparity.tables.columns import Table

Columns = dict[str, NDArray[Any]]

INTERRUPTED = "Query interrupted"
# How DuckDB says which file broke while it was read.
NAMED_FILE = re.compile(
    r"^\s*file ?= ?(.+)$|stream: (.+)$|(?:file|File) [\"']([^\"']+)[\"']", re.MULTILINE
)


# How it says that there is no room for what does not fit into memory
SPILL_FULL = "max_temp_directory_size"

WHOLE = 2.0**53

WHOLE_PART = 2**20

MEMORY = "50%"
"""How much of the memory of the machine, or of its container, DuckDB may take."""

_thread, _opening = threading.local(), threading.Lock()


def of_engine(values: Any, name: str = "array") -> Any:
    """Return a frame or column of any engine as narwhals has it, anything else as it is.

    Parameters
    ----------
    values : object
        What somebody passed.
    name : str
        What errors call the table.

    Raises
    ------
    DuplicateColumnError
        A frame has two columns of one name.
    """
    try:
        found = nw.from_native(values, allow_series=True, pass_through=True)
        if is_frame(found):
            found.collect_schema()
    except DuplicateError as error:
        raise DuplicateColumnError(name, list_names(_twice(values))) from error
    # Of two columns of one name in a query, narwhals would see one.
    if isinstance(found, nw.LazyFrame) and _twice(found.to_native()):
        raise DuplicateColumnError(name, list_names(_twice(found.to_native())))
    return found


def is_frame(values: Any) -> bool:
    """Return whether this is a frame as narwhals has it."""
    return isinstance(values, nw.DataFrame | nw.LazyFrame)


def _twice(native: Any) -> list[object]:
    """Return the names that several columns of a frame of DuckDB, Spark, pandas or PyArrow have."""
    # A lazy frame of Polars has no such columns, and warns whoever asks for its names.
    if nw.get_native_namespace(native).__name__ == "polars":
        return []
    # A frame of Spark Connect takes any attribute that it does not know for a column.
    known = "column_names" if hasattr(type(native), "column_names") else "columns"
    names = getattr(native, known, ())
    return [name for name, count in Counter(names).items() if count > 1]


def open_frame(native: Any, name: str) -> tuple[Any, list[str]]:
    """Return a narwhals frame, eager or lazy as it was given, and the names of its columns."""
    frame = of_engine(native, name)
    if not is_frame(frame):
        raise UnsupportedTableError(name, type(native).__name__)
    return frame, frame.collect_schema().names()


def is_missing(value: object) -> bool:
    """Return whether a Python value stands for nothing: None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating | Decimal) and bool(value != value)


def text_of(value: object) -> str:
    """Return the name of a group or an item as text; a whole float or decimal loses its ``.0``.

    Examples
    --------
    >>> text_of(1.0), text_of("007"), text_of(True), text_of(2.5), text_of(Decimal("1.00"))
    ('1', '007', 'True', '2.5', '1')
    """
    if isinstance(value, Decimal):
        # As columns of decimals are read; text where floats would take two ids for one.
        small = abs(value) < WHOLE
        return text_of(float(value)) if small else re.sub(r"\.0+$", "", format(value, "f"))
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < WHOLE else repr(number)
    return str(value)


def collect_columns(frame: nw.LazyFrame[Any]) -> Columns:
    """Bring a (small) frame to numpy; text becomes an object array with None where it is missing.

    DuckDB hands its columns over without PyArrow, which is not required.
    """
    if frame.implementation.is_duckdb():
        try:
            return _from_duckdb(frame.to_native())
        except OutOfMemoryError:
            # It may have had less than its share for the sake of what Python holds.
            if not _take_share():
                raise
            return _from_duckdb(frame.to_native())
    if frame.implementation.is_spark_like():
        with translate_spark():
            return _from_eager(frame.collect())
    return _from_eager(frame.collect())


def _from_eager(eager: nw.DataFrame[Any]) -> Columns:
    # pandas columns may be named by numbers, which brackets would take for positions.
    return {name: _as_numpy(eager.get_column(name)) for name in eager.columns}


def n_rows(frame: nw.LazyFrame[Any]) -> int:
    """Count the rows of a frame on its engine."""
    return int(collect_columns(frame.select(nw.len().alias("n")))["n"][0])


def stays_on_engine(frame: nw.LazyFrame[Any]) -> bool:
    """Return whether a frame lives in an engine that holds more rows than memory does."""
    engine = frame.implementation
    return bool(engine.is_duckdb() or engine.is_spark_like())


def placed_columns(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> Columns:
    """Bring a frame to numpy whose rows are matched by place with those of another.

    A query is asked twice: one that answers in another order would be matched at random.
    """
    found = collect_columns(frame.lazy())
    if isinstance(frame, nw.LazyFrame):
        again = collect_columns(frame)
        if not all(_alike(found[name], again[name]) for name in found):
            raise UnsteadyQueryError([str(name) for name in found])
    return found


def _alike(one: NDArray[Any], two: NDArray[Any]) -> bool:
    if one.dtype.kind == "f" == two.dtype.kind:
        return np.array_equal(one, two, equal_nan=True)
    return bool(one.tolist() == two.tolist())


def _from_duckdb(relation: Any) -> Columns:
    with translate_duckdb():
        columns = relation.fetchnumpy()
    return {name: _unmask(column) for name, column in columns.items()}


def _unmask(column: Any) -> NDArray[Any]:
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    if not column.mask.any():
        return column.data
    values = column.data.astype(np.float64 if column.dtype.kind == "f" else object)
    values[column.mask] = np.nan if column.dtype.kind == "f" else None
    return values


def _as_numpy(series: nw.Series[Any]) -> NDArray[Any]:
    # numpy has no integers of 128 bits.
    wide = isinstance(series.dtype, nw.Int128 | nw.UInt128)
    if series.dtype.is_numeric() and not wide and not series.is_null().any():
        return series.to_numpy()
    values = np.empty(len(series), dtype=object)
    values[:] = [None if is_missing(value) else value for value in series.to_list()]
    return values


@contextmanager
def translate_duckdb(name: str | None = None) -> Iterator[None]:
    """Raise what DuckDB says as an error of ours, and its word for Ctrl-C as what Python raises.

    Parameters
    ----------
    name : str, optional
        The file that is read; what DuckDB names by default.
    """
    import duckdb

    # Older versions wait for the other thread.
    busy = getattr(duckdb, "ResourceInUseException", ())
    try:
        yield
    except busy as error:
        raise BusyConnectionError(str(error)) from error
    except duckdb.Error as error:
        raise error_of_duckdb(str(error), name) from error
    except RuntimeError as error:
        if INTERRUPTED not in str(error):
            raise
        raise KeyboardInterrupt from error


def error_of_duckdb(reason: str, name: str | None = None) -> BaseException:
    """Return the error of ours, or of Python, that a message of DuckDB stands for."""
    if reason.startswith("INTERRUPT"):
        return KeyboardInterrupt()
    if SPILL_FULL in reason or DISK_FULL in reason:
        return SpillFullError("the folder for temporary files", reason)
    if reason.startswith("Out of Memory"):
        return OutOfMemoryError(reason)
    return UnreadableFileError(_file_named(name, reason), reason)


def _file_named(name: str | None, reason: str) -> str:
    found = NAMED_FILE.search(reason)
    told = name or (found and next(filter(None, found.groups())))
    return repr(told) if told else UNKNOWN_FILE


def connection() -> Any:
    """Return the connection of this thread, which fetches no extensions.

    DuckDB refuses a connection that is busy in another thread. Those of all threads belong to one
    database, so that they share its memory and its workers.
    """
    if not hasattr(_thread, "connection"):
        with _opening:
            _thread.connection = _database().cursor()
    return _thread.connection


@cache
def _database() -> Any:
    # What does not fit would go into a folder .tmp where the command is run.
    return _open_database(MEMORY, "")


def _open_database(memory: str, folder: str) -> Any:
    import duckdb

    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": memory,
        "temp_directory": folder,
    }
    return duckdb.connect(":memory:", config=settings)


def watched_connection() -> Any:
    """Return the connection of this thread, which then knows how far it is with a query."""
    found = connection()
    for setting in ("enable_progress_bar = true", "enable_progress_bar_print = false"):
        found.execute(f"set {setting}")
    return found


def limit_database(memory: int) -> None:
    """Let the database of this thread's own take less memory than its share, in bytes."""
    connection().execute(f"set memory_limit = '{memory}B'")
    _thread.is_limited = True


def _take_share() -> bool:
    """Let it take its share again; return whether it had less."""
    if not getattr(_thread, "is_limited", False):
        return False
    connection().execute(f"set memory_limit = '{_thread.share}B'")
    _thread.is_limited = False
    return True


@contextmanager
def own_database(memory: int, folder: Path) -> Iterator[Any]:
    """Let this thread read files by a database of its own, which may write into a folder.

    Parameters
    ----------
    memory : int
        Bytes that the database may take.
    folder : Path
        Where it writes what does not fit.
    """
    before = getattr(_thread, "connection", None)
    database = _open_database(f"{memory}B", str(folder))
    _thread.connection, _thread.share = database.cursor(), memory
    try:
        yield watched_connection()
    finally:
        _thread.is_limited = False
        _thread.connection.close()
        database.close()
        del _thread.connection
        if before is not None:
            _thread.connection = before


def in_memory(arrays_for_comparity: dict[str, Any], home: Any = None) -> nw.LazyFrame[Any]:
    """Hand arrays to DuckDB, on the connection of a relation or that of this thread.

    DuckDB finds the arrays by the name of the variable that holds them, unless a table of the
    connection has that name, which is why it is a long one.
    """
    query = "select * from arrays_for_comparity"
    relation = connection().sql(query) if home is None else home.query("home", query)
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


def quote_name(name: str) -> str:
    """Return the name of a column as SQL has it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quote_text(text: str) -> str:
    """Return a text as SQL has it."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def write_in_this_thread(home: Any) -> None:
    """Let no thread of its own write files for DuckDB, where it has such threads.

    In version 2.0 a copy that fails or is interrupted waits for them while it holds the lock that
    they wait for, once in some twenty times, and then not even Ctrl-C ends it.
    """
    known = "select name from duckdb_settings() where name = 'async_threads'"
    if home.execute(known).fetchall():
        home.execute("set async_threads = 0")


def move_items(items: Table, comparisons: Table) -> Table:
    """Return the items, the smaller table, on the engine of the comparisons.

    Raises
    ------
    MixedEnginesError
        The comparisons live in an engine that takes no rows from outside.
    """
    source, target = items.frame.implementation, comparisons.frame.implementation
    if target.is_duckdb():
        home: Any = comparisons.frame.to_native()
        if source.is_duckdb() and _are_joinable(home, items.frame.to_native()):
            return items
        return items.with_frame(in_memory(collect_columns(items.frame), home))
    if source is target:
        return items
    if target.is_spark_like():
        raise MixedEnginesError(str(target.value), str(source.value))
    columns = {name: column.tolist() for name, column in collect_columns(items.frame).items()}
    frame = nw.from_dict(columns, schema=dict(items.schema), backend=target).lazy()
    return items.with_frame(frame)


def _are_joinable(first: Any, second: Any) -> bool:
    """Return whether two relations belong to one connection; DuckDB tells only by refusing."""
    import duckdb

    try:
        first.limit(0).set_alias("first").cross(second.limit(0).set_alias("second"))
    except duckdb.InvalidInputException:
        return False
    return True
