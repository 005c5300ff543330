"""JSON as tables: one object for each row, every number as it was written.

A parser of JSON makes doubles of numbers, and of two long ids one. DuckDB keeps whole numbers of
any length, and prints others again (``1.10`` as ``1.1``). Where what it prints is not what the file
says, the number is taken from the text of its row.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from comparity.errors import UnreadableFileError
from comparity.tables.file_parts import check_names
from comparity.tables.frames import connection, quote_name, quote_text

BLANKS = " \t\r\n"
# What DuckDB prints as it was written: text, and whole numbers without a sign.
FAITHFUL = {"VARCHAR", "UBIGINT", "BOOLEAN", "NULL"}
NUMBERS = {"UBIGINT", "BIGINT", "HUGEINT", "DOUBLE"}
# Text within quotes, or a number outside of them.
TOKENS = r'("(?:[^"\\]|\\.)*")|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'
# A sign that cannot occur in JSON stands for the new quotes, and those around no number go again.
QUOTED_NUMBERS = rf"""replace(replace(
    regexp_replace(line, '{TOKENS}', chr(1) || '\2' || chr(1) || '\1', 'g'),
    chr(1) || chr(1), ''), chr(1), '"')"""
# How much of a file is read at first to see how it begins.
BEGINNING = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of the objects, which is a column of the table.

    Attributes
    ----------
    name : str
    kinds : frozenset of str
        What DuckDB calls its values; ``"NESTED"`` for lists and objects.
    prefix : str
        What stands before its value in the first row.
    """

    name: str
    kinds: frozenset[str]
    prefix: str


def relate_records(
    reader: Any, source: str, name: str, *, zipped: bool, remote: bool, typed: bool
) -> Any:
    """Return a DuckDB relation over a file of JSON objects.

    Parameters
    ----------
    reader : duckdb.DuckDBPyConnection
    source : str
        Pattern that matches the file.
    name : str
        The file as it was asked for.
    zipped, remote : bool
        Whether the file is compressed, and whether only DuckDB can open it.
    typed : bool
        Whether numbers and nested values are of type JSON, to be written back as they were.
        Otherwise numbers are text, and nested values are of a type that no audit takes.
    """
    listed = not remote and _begins_list(name)
    records = (
        f"read_json_objects({quote_text(source)}, format = '{'array' if listed else 'auto'}', "
        f"compression = '{'gzip' if zipped else 'auto_detect'}', hive_partitioning = false)"
    )
    keys = _find_keys(reader, records, name, readable=not remote)
    nested = any("NESTED" in key.kinds for key in keys)
    columns = ", ".join(
        f"{_column(key, quick=not nested, typed=typed)} as {quote_name(key.name)}" for key in keys
    )
    types = quote_text(json.dumps({key.name: _type(key) for key in keys}))
    cells = f"select json::varchar as line, json_transform(json, {types}) as cell from {records}"
    return reader.sql(f"select {columns} from ({cells})")


def _type(key: Key) -> str:
    """Return the type in which DuckDB hands over a value."""
    if key.kinds - {"NULL"} == {"BOOLEAN"}:
        return "BOOLEAN"
    return "VARCHAR" if key.kinds <= FAITHFUL else "JSON"


def _column(key: Key, *, quick: bool, typed: bool) -> str:
    """Return the SQL of a column."""
    cell = f"struct_extract(cell, {quote_text(key.name)})"
    if "NESTED" in key.kinds:
        return cell if typed else f"[{cell}]"
    text = _written_text(key, cell, quick=quick) if _type(key) == "JSON" else cell
    is_number = bool(NUMBERS & key.kinds) and key.kinds <= NUMBERS | {"NULL"}
    return f"({text})::json" if typed and is_number else text


def _written_text(key: Key, cell: str, *, quick: bool) -> str:
    """Return the SQL of values as they were written; NaN is no value.

    To look for the printed number behind its key is faster than to look at all numbers of a row,
    but a key within a nested value could be taken for this one.
    """
    alone = quote_text(json.dumps({key.name: "VARCHAR"}))
    exact = f"struct_extract(json_transform({QUOTED_NUMBERS}, {alone}), {quote_text(key.name)})"
    ends = [f"contains(line, {quote_text(key.prefix)} || {cell}::varchar || '{e}')" for e in ",}"]
    found = f"when {' or '.join(ends)} then {cell}::varchar" if quick else ""
    return (
        f"case when {cell} is null or {cell}::varchar = 'NaN' then null "
        f"when starts_with({cell}::varchar, '\"') then {cell} ->> '$' {found} else {exact} end"
    )


def _find_keys(reader: Any, records: str, name: str, *, readable: bool) -> list[Key]:
    """Look at all rows: which keys they have, and what kinds of values."""
    import duckdb

    is_object = f"starts_with(ltrim(json::varchar, {quote_text(BLANKS)}), '{{')"
    shapes = f"select distinct json_structure(json), json_keys(json), {is_object} from {records}"
    try:
        found = reader.sql(shapes).fetchall()
        first = reader.sql(f"select json_keys(json), json::varchar from {records} limit 1")
        rows = first.fetchall()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        if readable:
            # DuckDB counts lines wrongly; Python stops at the one that is broken.
            deque(parse_records(name), maxlen=0)
        raise UnreadableFileError(repr(name), str(error)) from error
    if not all(fits for _, _, fits in found):
        odd = f"select row_number() over () as row, json::varchar as line from {records}"
        query = f"select row, line from ({odd}) where not {is_object.replace('json', 'line')}"
        row, line = reader.sql(f"{query} order by row limit 1").fetchall()[0]
        raise UnreadableFileError(repr(name), f"data row {row:,} is no JSON object: {line[:40]}")
    if not rows:
        raise UnreadableFileError(repr(name), "it holds no JSON object")
    for _, keys, _ in found:
        check_names(keys, name)
    kinds = _merge_kinds((json.loads(shape), keys) for shape, keys, _ in found)
    ((order, text),) = rows
    names = list(dict.fromkeys([*order, *sorted(kinds)]))
    check_names(names, name)
    if not names:
        raise UnreadableFileError(repr(name), "its objects have no keys")
    return [Key(name=n, kinds=frozenset(kinds[n]), prefix=_find_prefix(n, text)) for n in names]


def _merge_kinds(shapes: Iterable[tuple[Any, list[str]]]) -> dict[str, set[str]]:
    """Collect the kinds of values of each key."""
    kinds: dict[str, set[str]] = {}
    for shape, keys in shapes:
        for key in keys:
            kind = shape[key]
            # DuckDB says JSON of a list or an object that holds nothing.
            scalar = isinstance(kind, str) and kind != "JSON"
            kinds.setdefault(key, set()).add(kind if scalar else "NESTED")
    return kinds


def _find_prefix(name: str, first: str) -> str:
    """Return a key as the first row has it, its colon included."""
    spelled = [json.dumps(name), json.dumps(name, ensure_ascii=False)]
    forms = [f"{key}:{blank}" for key in spelled for blank in (" ", "")]
    return next((form for form in forms if form in first), forms[0])


def _open(name: str) -> IO[str]:
    opener: Any = gzip.open if name.lower().endswith(".gz") else open
    opened: IO[str] = opener(name, "rt", encoding="utf-8-sig")
    return opened


def _read(name: str, size: int = -1) -> str:
    try:
        with _open(name) as file:
            return file.read(size)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(repr(name), _find_undecoded(name) or str(error)) from error
    # A compressed file that was cut off, or is damaged, is no OSError.
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(repr(name), str(error)) from error


def _find_undecoded(name: str) -> str:
    """Return the first line that is no UTF-8: a decoder tells only the place in what it holds."""
    opener: Any = gzip.open if name.lower().endswith(".gz") else open
    with opener(name, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return f"line {number:,}: {error}"
    return ""


def _begins_list(name: str) -> bool:
    return _read(name, BEGINNING).lstrip(BLANKS).startswith("[")


def first_record(name: str) -> Any:
    """Return the first value of a JSON list, or of JSON lines; None where it cannot be parsed."""
    size = BEGINNING
    while True:
        text = _read(name, size)
        try:
            return json.JSONDecoder().raw_decode(text.lstrip(BLANKS + "["))[0]
        except ValueError:
            # The value may be cut off here.
            if len(text) < size:
                return None
        except RecursionError:
            return None
        size *= 8


def parse_records(name: str) -> Iterator[Any]:
    """Parse a JSON list, or one JSON value a line, in Python; fractions stay text.

    Raises
    ------
    UnreadableFileError
        With the line that is broken.
    """
    if _begins_list(name):
        yield from _parse(_read(name), name)
    else:
        yield from _parse_lines(name)


def parse_documents(name: str) -> Iterator[Any]:
    """Parse a JSON list, JSON lines, or one JSON object, in Python; numbers stay numbers.

    Raises
    ------
    UnreadableFileError
        With the line that is broken.
    """
    lines = name.lower().removesuffix(".gz").endswith(("jsonl", "ndjson"))
    if not lines or _begins_list(name):
        text = _read(name)
        try:
            content = json.loads(text)
        except RecursionError as error:
            raise UnreadableFileError(repr(name), str(error)) from error
        except ValueError as error:
            # Many a file of JSON lines is called .json.
            if not str(error).startswith("Extra data"):
                raise UnreadableFileError(repr(name), str(error)) from error
        else:
            yield from content if isinstance(content, list) else [content]
            return
    yield from _parse_lines(name, parse_float=None)


def _parse_lines(name: str, *, parse_float: Any = str) -> Iterator[Any]:
    try:
        with _open(name) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _parse(line.strip(), name, number, parse_float=parse_float)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(repr(name), _find_undecoded(name) or str(error)) from error
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(repr(name), str(error)) from error


def _parse(text: str, name: str, number: int = 1, *, parse_float: Any = str) -> Any:
    try:
        return json.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        # A parser that sees one line at a time takes every one for the first.
        said = str(error).replace("line 1 column", f"line {number:,} column")
        raise UnreadableFileError(repr(name), said) from error


def parse_zstandard(documents: Iterable[bytes], largest: int) -> list[Any]:
    """Parse JSON documents, each compressed by Zstandard, which Python knows from 3.14 on.

    DuckDB reads all of them as one stream; `largest` is how many bytes the longest takes.
    """
    import duckdb

    with tempfile.NamedTemporaryFile(suffix=".zst", delete=False) as file:
        file.writelines(documents)
    query = (
        f"select json::varchar from read_json_objects({quote_text(file.name)}, compression = 'zstd'"
        f", format = 'unstructured', maximum_object_size = {largest + 1})"
    )
    try:
        found = connection().execute(query).fetchall()
    except duckdb.Error as error:
        raise UnreadableFileError("documents compressed by Zstandard", str(error)) from error
    finally:
        Path(file.name).unlink()
    return [json.loads(text) for (text,) in found]
