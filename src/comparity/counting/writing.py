"""Tables back to files, with columns added: CSV, TSV, Parquet and JSON lines, by DuckDB."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counting.files import connection
from comparity.errors import FileAccessError, UnsupportedFileError

__all__ = ["ENDINGS", "write_table"]

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
FORMATS = {
    ".csv": "format csv, header true, delimiter ','",
    ".tsv": "format csv, header true, delimiter '\t'",
    ".parquet": "format parquet",
    ".jsonl": "format json",
    ".ndjson": "format json",
}


def write_table(
    table: nw.LazyFrame[Any],
    path: str | os.PathLike[str],
    added: Mapping[str, NDArray[np.float64]],
) -> None:
    """Write a table that was read from a file, with columns of numbers added at its right.

    Parameters
    ----------
    table : narwhals.LazyFrame
        Of :func:`comparity.counting.files.read_table`; its rows keep their order.
    path : path
        Where to; the format follows from the ending.
    added : mapping of str to ndarray
        One number for each row.

    Raises
    ------
    UnsupportedFileError, FileAccessError
    """
    import duckdb

    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    if ending not in FORMATS:
        raise UnsupportedFileError(name, ending, ENDINGS)
    # DuckDB finds both by the names of these variables.
    rows, columns = table.to_native(), dict(added)  # noqa: F841
    try:
        both = "select * from rows positional join (select * from columns)"
        query = f"copy ({both}) to ? ({FORMATS[ending]})"
        connection().execute(query, [os.path.abspath(name)])
    except (duckdb.IOException, OSError) as error:
        raise FileAccessError(name, str(error), doing="write") from error
