"""Files as tables: CSV, TSV, Parquet and JSON lines, read by DuckDB.

Ids and groups in text files stay text (``007``, ``NA`` and ``None`` survive); only an empty cell is
missing. A path names one file on this machine; patterns and addresses are refused unless asked for.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import narwhals as nw

from comparity.errors import (
    DuplicateColumnError,
    FileAccessError,
    RemotePathError,
    UnreadableFileError,
    UnsupportedFileError,
)

__all__ = ["ENDINGS", "connection", "file_sha256", "in_memory", "local_file", "read_table"]

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
# Types that DuckDB guesses from text in JSON; here they stay the text that was written. A column of
# text and numbers is of type JSON, where "1" has its quotes, and is not 1.
GUESSED = {"JSON", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID"}


def read_table(path: str | os.PathLike[str], *, allow_remote: bool = False) -> nw.LazyFrame[Any]:
    """Read a file lazily; all tables read in one process can be joined.

    Parameters
    ----------
    path : path
        A CSV, TSV, Parquet or JSON lines file; text files may be compressed (``.gz``).
    allow_remote : bool
        Whether addresses (``https://``, ``s3://``) and patterns (``*``) are allowed.

    Returns
    -------
    narwhals.LazyFrame
        Over a DuckDB relation. Columns of CSV and TSV files are text.

    Raises
    ------
    FileAccessError, RemotePathError, UnsupportedFileError, UnreadableFileError
    """
    import duckdb

    name = os.fspath(path)
    remote = allow_remote and _is_remote(name)
    try:
        relation = _relation(name if remote else local_file(name), name, remote=remote)
    except duckdb.Error as error:
        raise UnreadableFileError(repr(name), str(error)) from error
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, as hexadecimal text."""
    local_file(os.fspath(path))
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_remote(name: str) -> bool:
    return "://" in name or (any(sign in name for sign in "*?[") and not Path(name).exists())


def local_file(name: str) -> str:
    """Return a pattern that matches this one file."""
    try:
        exists, is_file = Path(name).exists(), Path(name).is_file()
    except ValueError as error:  # a null byte in the name
        raise FileAccessError(name, str(error)) from error
    if not exists and _is_remote(name):
        raise RemotePathError(name, "an address or a pattern, not the name of a file")
    if not exists:
        raise FileAccessError(name, "no such file")
    if not is_file:
        raise FileAccessError(name, "a directory" if Path(name).is_dir() else "not a file")
    if not Path(name).stat().st_size:
        raise UnreadableFileError(repr(name), "the file is empty")
    # DuckDB reads *, ? and [ as patterns; in brackets they stand for themselves.
    return re.sub(r"([*?\[])", r"[\1]", os.path.abspath(name))


def _relation(source: str, name: str, *, remote: bool) -> Any:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    zipped = suffixes[-1:] == [".gz"]
    ending = ("", *suffixes)[-2 if zipped and len(suffixes) > 1 else -1]
    compression = {"compression": "gzip"} if zipped else {}
    if ending in {".csv", ".tsv"}:
        choices = {"sep": "," if ending == ".csv" else "\t", **compression}
        return _text_relation(source, name, choices, remote=remote)
    if ending == ".parquet" and not zipped:
        return connection().read_parquet(source)
    if ending in {".jsonl", ".ndjson", ".json"}:
        return _json_relation(source, compression)
    raise UnsupportedFileError(name, "".join(suffixes[-2:]), ENDINGS)


def _text_relation(source: str, name: str, choices: dict[str, Any], *, remote: bool) -> Any:
    """Read text as it is written.

    Nothing is left for DuckDB to guess: it would skip rows at the top that have another number of
    cells, and rows that begin with ``#``.
    """
    choices = {"quotechar": '"', "escapechar": '"', "comment": "", **choices}
    reader = connection()
    if remote:
        # Only DuckDB can open what is elsewhere.
        rows = reader.read_csv(source, header=False, all_varchar=True, skiprows=0, **choices)
        header = next(iter(rows.limit(1).fetchall()), ())
    else:
        header = _first_row(name, choices["sep"], zipped="compression" in choices)
    _check_header(header, name)
    # What has no name is called as DuckDB would.
    columns = {cell or f"column{place}": "VARCHAR" for place, cell in enumerate(header)}
    return reader.read_csv(source, header=True, auto_detect=False, columns=columns, **choices)


def _first_row(name: str, separator: str, *, zipped: bool) -> list[str]:
    opened: Any = gzip.open if zipped else open
    try:
        with opened(name, "rt", encoding="utf-8-sig", newline="") as file:
            row = next(csv.reader(file, delimiter=separator, strict=True), [])
    # A compressed file that was cut off, or is damaged, is no OSError.
    except (UnicodeDecodeError, csv.Error, OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(repr(name), str(error)) from error
    if not row:
        raise UnreadableFileError(repr(name), "the first line is empty")
    return [cell.strip() for cell in row]


def _check_header(row: Sequence[str | None], name: str) -> None:
    """Refuse columns of one name, of which DuckDB would silently call the second another."""
    header = [cell for cell in row if cell]
    # To DuckDB capital letters make no difference.
    lower = [cell.lower() for cell in header]
    twice = [cell for cell in header if lower.count(cell.lower()) > 1]
    if twice:
        raise DuplicateColumnError(repr(Path(name).name), ", ".join(map(repr, twice)))


def _json_relation(source: str, compression: dict[str, str]) -> Any:
    reader = connection()
    guess = reader.read_json(source, sample_size=-1, **compression)
    kinds = dict(zip(guess.columns, map(str, guess.types), strict=True))
    if GUESSED.isdisjoint(kinds.values()):
        return guess
    written = {name: "VARCHAR" if kind in GUESSED else kind for name, kind in kinds.items()}
    return reader.read_json(source, columns=written, **compression)


@cache
def connection() -> Any:
    """Return the one connection of this process, which fetches no extensions."""
    import duckdb

    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=settings)


def in_memory(arrays_for_comparity: dict[str, Any], home: Any = None) -> nw.LazyFrame[Any]:
    """Hand arrays to DuckDB, on the connection of a relation or that of files.

    DuckDB finds the arrays by the name of the variable that holds them, unless a table of the
    connection has that name, which is why it is a long one.
    """
    query = "select * from arrays_for_comparity"
    relation = connection().sql(query) if home is None else home.query("home", query)
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame
