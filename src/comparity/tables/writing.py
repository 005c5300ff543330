"""Tables back to files, with columns added: CSV, TSV, Parquet and JSON lines, by DuckDB."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    FileAccessError,
    UnreadableFileError,
    UnsupportedFileError,
    translate_duckdb,
)
from comparity.tables.files import connection
from comparity.tables.outputs import replace_file

__all__ = ["ENDINGS", "write_table"]

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
FORMATS = {
    ".csv": "format csv, header true, delimiter ','",
    ".tsv": "format csv, header true, delimiter '\t'",
    ".parquet": "format parquet",
    ".jsonl": "format json",
    ".ndjson": "format json",
}
# Where DuckDB says why the system refused to write.
ERRNO = re.compile(r'"errno":"(\d+)"')


def write_table(
    table: nw.LazyFrame[Any],
    path: str | os.PathLike[str],
    added: Mapping[str, NDArray[np.float64]],
) -> None:
    """Write a table that was read from a file, with columns of numbers added at its right.

    Parameters
    ----------
    table : narwhals.LazyFrame
        Of :func:`comparity.tables.files.read_table`; its rows keep their order.
    path : path
        Where to; the format follows from the ending.
    added : mapping of str to ndarray
        One number for each row.

    Raises
    ------
    UnsupportedFileError
        The ending names no format.
    FileAccessError
        The file cannot be written; one that was there is as it was.
    UnreadableFileError
        The table breaks off, such as at bytes that are no UTF-8. Nothing is written.
    """
    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    if ending not in FORMATS:
        raise UnsupportedFileError(name, ending, ENDINGS)
    with replace_file(name) as part:
        _copy_table(table.to_native(), added, part, FORMATS[ending], name)


def _copy_table(rows: Any, added: Mapping[str, Any], part: Path, form: str, name: str) -> None:
    """Let DuckDB write rows and what is added to them."""
    home = connection()
    _write_in_this_thread(home)
    # DuckDB finds `rows` and `columns` by the names of these variables.
    columns = dict(added)  # noqa: F841
    both = "select * from rows positional join (select * from columns)"
    try:
        with translate_duckdb():
            home.execute(f"copy ({both}) to ? ({form}, use_tmp_file false)", [str(part)])
    except UnreadableFileError as error:
        told = str(error.__cause__)
        if part.name not in told:
            raise
        code = ERRNO.search(told)
        reason = os.strerror(int(code[1])) if code else told
        raise FileAccessError(name, reason, doing="write") from error


def _write_in_this_thread(home: Any) -> None:
    """Let no thread of its own write files for DuckDB, where it has such threads.

    In version 2.0 a copy that fails or is interrupted waits for them while it holds the lock that
    they wait for, once in some twenty times, and then not even Ctrl-C ends it.
    """
    known = "select name from duckdb_settings() where name = 'async_threads'"
    if home.execute(known).fetchall():
        home.execute("set async_threads = 0")
