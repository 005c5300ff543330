"""Files as tables and back: CSV, TSV, Parquet and JSON lines by DuckDB; workbooks are read, too.

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
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TextIO

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    FileAccessError,
    RemotePathError,
    UnreadableFileError,
    UnsupportedFileError,
)
from comparity.tables.complete import CompleteFile, Gaps
from comparity.tables.file_parts import FileParts, check_names
from comparity.tables.frames import (
    connection,
    quote_name,
    translate_duckdb,
    write_in_this_thread,
)
from comparity.tables.json_records import relate_records
from comparity.tables.memory import current_limits
from comparity.tables.outputs import replace_file
from comparity.tables.spark import SparkTable
from comparity.tables.workbooks import WORKBOOKS, read_workbook

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", *WORKBOOKS)
# A folder called pred=1 would become a column.
IGNORE_FOLDERS = {"hive_partitioning": False}
# What no cell says. To DuckDB an empty cell too many at the end of a row is nothing, unless
# nothing is written otherwise.
NO_CELL = "\x01no cell\x01"
# What DuckDB reads as one line, in characters.
LONGEST = 2_000_000

FORMATS = {
    ".csv": "format csv, header true, delimiter ','",
    ".tsv": "format csv, header true, delimiter '\t'",
    ".parquet": "format parquet",
    ".jsonl": "format json",
    ".ndjson": "format json",
}
# Where DuckDB says why the system refused to write.
ERRNO = re.compile(r'"errno":"(\d+)"')


def read_table(
    path: str | os.PathLike[str], *, allow_remote: bool = False, typed: bool = False
) -> nw.LazyFrame[Any]:
    """Read a file lazily; all tables read in one thread can be joined.

    Parameters
    ----------
    path : path
        A CSV, TSV, Parquet or JSON lines file, or a workbook such as Excel's with one sheet; text
        files may be compressed (``.gz``). ``FileParts`` are read one after the other, of a
        :class:`~comparity.tables.complete.CompleteFile` only rows without gaps.
    allow_remote : bool
        Whether addresses (``https://``, ``s3://``) and patterns (``*``) are allowed.
    typed : bool
        Whether numbers and nested values of JSON keep their type, so that
        :func:`write_table` writes them as they were.

    Returns
    -------
    narwhals.LazyFrame
        Over a DuckDB relation. Columns of text files, and numbers in JSON, are text. Blanks
        around the names of columns are dropped.

    Raises
    ------
    FileAccessError, RemotePathError, UnsupportedFileError, UnreadableFileError
        The file cannot be opened or read.
    DuplicateColumnError, UnnamedColumnError
        A column has no name of its own.
    """
    name = os.fspath(path)
    table = path.path if isinstance(path, CompleteFile) else path
    if isinstance(table, SparkTable):
        there = table.read()
        return path.read(there) if isinstance(path, CompleteFile) else there
    remote = allow_remote and _is_remote(name)
    parts: Sequence[str] = getattr(path, "paths", (name,))
    with translate_duckdb(parts[0] if len(parts) == 1 else None):
        if len(parts) > 1:
            rows = _parts_relation(parts)
        else:
            place = parts[0] if remote else local_file(parts[0])
            rows = _relation(place, parts[0], remote=remote, typed=typed)
        relation = _strip_names(rows)
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return path.read(frame) if isinstance(path, CompleteFile) else frame


def complete_tables(
    gaps: Gaps, tables: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return paths and frames, by role, that give only rows without gaps.

    Parameters
    ----------
    gaps : Gaps
        Which rows to drop; what is dropped is counted in it.
    tables : mapping of str to path or frame
        By role. ``items`` are looked at first: comparisons of those that are dropped go, too.
    names : mapping of str to str, optional
        What frames are called; their roles by default.
    """
    kept: dict[str, Any] = {}
    for role in sorted(tables, key=lambda one: one != "items"):
        table = tables[role]
        if isinstance(table, str | os.PathLike):
            whole = table if isinstance(table, FileParts | SparkTable) else os.fspath(table)
            kept[role] = CompleteFile(whole, gaps)
            if role == "items":
                read_table(kept[role])
        else:
            kept[role] = gaps.drop(table, (names or {}).get(role, role))
    return {role: kept[role] for role in tables}


def file_facts(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Return name and SHA-256 of each file of a table; the name alone of a table on Spark."""
    table = path.path if isinstance(path, CompleteFile) else path
    if isinstance(table, SparkTable):
        return [{"name": table.name, "sha256": ""}]
    parts = getattr(path, "paths", (path,))
    return [{"name": Path(part).name, "sha256": file_sha256(part)} for part in parts]


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


def _relation(source: str, name: str, *, remote: bool, typed: bool) -> Any:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    zipped = suffixes[-1:] == [".gz"]
    ending = ("", *suffixes)[-2 if zipped and len(suffixes) > 1 else -1]
    compression = {"compression": "gzip"} if zipped else {}
    if ending in {".csv", ".tsv"}:
        choices = {"sep": "," if ending == ".csv" else "\t", **compression}
        return _text_relation(source, name, choices, remote=remote)
    if ending == ".parquet" and not zipped:
        return _parquet_relation(source, name)
    if ending in WORKBOOKS and not zipped and not remote:
        return read_workbook(name).to_native()
    if ending in {".jsonl", ".ndjson", ".json"}:
        reader = connection()
        return relate_records(reader, source, name, zipped=zipped, remote=remote, typed=typed)
    raise UnsupportedFileError(name, "".join(suffixes[-2:]), ENDINGS)


def _parts_relation(parts: Sequence[str]) -> Any:
    """Read several files as one table; all have the columns of the first, in whatever order."""
    relations = [_relation(local_file(one), one, remote=False, typed=False) for one in parts]
    columns = relations[0].columns
    for name, one in zip(parts, relations, strict=True):
        if {*one.columns} != {*columns}:
            raise UnreadableFileError(repr(name), f"its columns are not those of {parts[0]!r}")
    if parts[0].lower().endswith(".parquet"):
        return _parquet_relation([local_file(one) for one in parts], parts[0])
    named = ", ".join(map(quote_name, columns))
    return reduce(lambda whole, one: whole.union(one), [one.project(named) for one in relations])


def _text_relation(source: str, name: str, choices: dict[str, Any], *, remote: bool) -> Any:
    """Read text as it is written.

    Nothing is left for DuckDB to guess: it would skip rows at the top that have another number of
    cells, and rows that begin with ``#``.
    """
    choices = {"quotechar": '"', "escapechar": '"', "comment": "", **IGNORE_FOLDERS, **choices}
    reader = connection()
    if remote:
        header = _remote_header(reader, source, choices)
    else:
        header = _first_row(name, choices["sep"], zipped="compression" in choices)
    check_names(header, name)
    columns = dict.fromkeys(header, "VARCHAR")
    # Of several threads one may begin between two quotes, and take what is there for rows.
    in_parallel = not remote and "compression" not in choices and not _has_quotes(name)
    rows = reader.read_csv(
        source,
        header=True,
        auto_detect=False,
        columns=columns,
        na_values=[NO_CELL],
        parallel=in_parallel,
        **choices,
    )
    return rows.project(
        ", ".join(f"nullif({column}, '') as {column}" for column in map(quote_name, header))
    )


def _strip_names(rows: Any) -> Any:
    """Drop blanks around the names of columns, such as those after commas in ``id, sex, score``."""
    columns = [f"{quote_name(name)} as {quote_name(name.strip())}" for name in rows.columns]
    return rows.project(", ".join(columns))


def _has_quotes(name: str) -> bool:
    with open(name, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        return content.find(b'"') >= 0


def _remote_header(reader: Any, source: str, choices: dict[str, Any]) -> list[str]:
    """Return the first row of what only DuckDB can open, which all files of a pattern share."""
    found = reader.execute("select file from glob(?)", [source]).fetchall() or [(source,)]
    headers = {
        file: reader.read_csv(
            re.sub(r"([*?\[])", r"[\1]", file),
            header=False,
            all_varchar=True,
            skiprows=0,
            **choices,
        )
        .limit(1)
        .fetchall()
        for (file,) in found
    }
    first, *others = headers
    for file in others:
        if headers[file] != headers[first]:
            raise UnreadableFileError(repr(file), f"its columns are not those of {first!r}")
    return [cell or "" for row in headers[first] for cell in row]


def _parquet_relation(source: str | list[str], name: str) -> Any:
    reader = connection()
    # By name, columns of several files get a type that holds them all, not that of the first file.
    by_name = isinstance(source, list)
    rows = reader.read_parquet(source, union_by_name=by_name, **IGNORE_FOLDERS)
    work = current_limits().work
    if work.connection is not None:  # somebody shows progress; how many rows there are is known
        work.rows = max(work.rows, rows.aggregate("count(*)").fetchall()[0][0])
    check_names(_parquet_names(reader, source), name)
    # Text of type JSON cannot be compared with other text.
    plain = [
        f"{column}::varchar as {column}" if str(kind) == "JSON" else column
        for column, kind in zip(map(quote_name, rows.columns), rows.types, strict=True)
    ]
    return rows.project(", ".join(plain))


def _first_row(name: str, separator: str, *, zipped: bool) -> list[str]:
    opened: Any = gzip.open if zipped else open
    try:
        with opened(name, "rt", encoding="utf-8-sig", newline="") as file:
            lines = _short_lines(file, name)
            row = next(csv.reader(lines, delimiter=separator, strict=True), [])
    # A compressed file that was cut off, or is damaged, is no OSError.
    except (UnicodeDecodeError, csv.Error, OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(repr(name), str(error)) from error
    if not row:
        raise UnreadableFileError(repr(name), "the first line is empty")
    return row


def _short_lines(file: TextIO, name: str) -> Iterator[str]:
    """Read lines as long as all of them are short: a line may be longer than all memory."""
    left = LONGEST
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise UnreadableFileError(repr(name), f"the first line has over {LONGEST:,} characters")
        yield line


def _parquet_names(reader: Any, source: str | list[str]) -> list[str]:
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


def write_table(
    table: nw.LazyFrame[Any],
    path: str | os.PathLike[str],
    added: Mapping[str, NDArray[np.float64]],
) -> None:
    """Write a table that was read from a file, with columns of numbers added at its right.

    Parameters
    ----------
    table : narwhals.LazyFrame
        Of :func:`read_table`; its rows keep their order.
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
        raise UnsupportedFileError(name, ending, tuple(FORMATS))
    with replace_file(name) as part:
        _copy_table(table.to_native(), added, part, FORMATS[ending], name)


def _copy_table(rows: Any, added: Mapping[str, Any], part: Path, form: str, name: str) -> None:
    """Let DuckDB write rows and what is added to them."""
    home = connection()
    write_in_this_thread(home)
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
