"""Tables as files: every format that is read, whole or damaged, in folders with odd names."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import Any

from tests.fuzz.sheets import Sheet

__all__ = ["DAMAGES", "FORMATS", "ODD_FORMATS", "PLACES", "damaged", "encoded"]

FORMATS = ("csv", "csv", "tsv", "parquet", "jsonl", "json", "csv.gz", "jsonl.gz")
"""Endings, the usual one more often."""

ODD_FORMATS = ("ndjson", "tsv.gz", "json.gz", "CSV", "txt", "parquet.gz", "csv.csv", "gz")

PLACES = (
    *("pred=1/", "sex=f/town=x/", "a b/", "\u00fc/", "*/", "[a]/", "link/", "a'b/", "{a,b}/"),
    *("%41/", "~/", "?/", "x.csv/", "\U0001f600/", "#/", "$HOME/", "a=b=c/", "s3:/"),
)
"""Folders, with a slash at the end; ``link/`` is a symbolic link to another."""

DAMAGES = (
    *("truncated", "latin-1", "utf-16", "mark", "nul", "empty", "header", "crlf", "flipped"),
    *("doubled", "zipped"),
)


def encoded(sheet: Sheet, ending: str) -> bytes:
    """Return a table as the bytes of a file with that ending."""
    kind, _, packed = ending.lower().partition(".")
    if kind == "parquet":
        content = _parquet(sheet)
    elif kind in ("jsonl", "ndjson", "json"):
        content = _json(sheet, lines=kind != "json")
    else:
        content = _text(sheet, "\t" if kind == "tsv" else ",")
    return gzip.compress(content, mtime=0) if packed else content


def _text(sheet: Sheet, separator: str) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(sheet.columns)
    writer.writerows(zip(*sheet.columns.values(), strict=True))
    return file.getvalue().encode()


def _json(sheet: Sheet, *, lines: bool) -> bytes:
    rows = [dict(zip(sheet.columns, row, strict=True)) for row in _rows(sheet)]
    if lines:
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    return json.dumps(rows).encode()


def _rows(sheet: Sheet) -> list[tuple[Any, ...]]:
    return list(zip(*sheet.columns.values(), strict=True))


def _parquet(sheet: Sheet) -> bytes:
    # Imported here because it takes a third of a second.
    import pyarrow
    import pyarrow.parquet

    columns = {}
    for name, cells in sheet.columns.items():
        try:
            columns[name] = pyarrow.array(cells)
        except (pyarrow.ArrowException, OverflowError):
            # A column of Parquet has one type.
            columns[name] = pyarrow.array([None if c is None else str(c) for c in cells])
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def damaged(content: bytes, damage: str, place: int) -> bytes:
    """Return a file as accidents leave it; `place` says where, in thousandths of its length."""
    at = len(content) * place // 1000
    first, newline, _ = content.partition(b"\n")
    done = {
        "": content,
        "truncated": content[:at],
        "mark": b"\xef\xbb\xbf" + content,
        "nul": content[:at] + b"\0" + content[at:],
        "empty": b"",
        "header": first + newline,
        "crlf": content.replace(b"\n", b"\r\n"),
        "flipped": content[:at] + bytes([content[at] ^ 0x80]) + content[at + 1 :]
        if at < len(content)
        else content,
        "doubled": content + content,
        "zipped": gzip.compress(content, mtime=0),
    }
    if damage in ("latin-1", "utf-16"):
        text = content.decode("utf-8", "replace").replace("m", "\u00e9")
        return text.encode(damage, "replace")
    return done[damage]
