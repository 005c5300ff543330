"""Tables in files: several files that are one table, and columns that have names of their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from comparity.errors import (
    DuplicateColumnError,
    FileAccessError,
    UnnamedColumnError,
    UnsupportedFileError,
)

PATTERN_SIGNS = "*?["
IN_PARTS = (".csv", ".tsv", ".parquet")
"""Endings of tables that may be written as several files."""


@dataclass(frozen=True, slots=True)
class FileParts:
    """Several files that are one table, instead of a path.

    Attributes
    ----------
    name : str
        What errors call them: the pattern, or the first file.
    paths : tuple of str
    """

    name: str
    paths: tuple[str, ...]

    def __fspath__(self) -> str:
        return self.name


def is_pattern(name: str) -> bool:
    """Return whether a name is a pattern rather than that of a file."""
    return any(sign in name for sign in PATTERN_SIGNS) and not os.path.exists(name)


def find_parts(pattern: str) -> FileParts:
    """Return the files that a pattern stands for, in the order of their names.

    Raises
    ------
    FileAccessError
        No file fits.
    """
    found = sorted(one for one in glob(pattern, recursive=True) if os.path.isfile(one))
    if not found:
        raise FileAccessError(pattern, "no file fits this pattern")
    return FileParts(pattern, tuple(found))


def join_parts(parts: Sequence[str | os.PathLike[str]]) -> str | os.PathLike[str]:
    """Return several files, or patterns, as one table; a single file as it is.

    Raises
    ------
    UnsupportedFileError
        Files of other kinds than CSV, TSV and Parquet, or of several kinds.
    FileAccessError
        One file is named twice.
    """
    if len(parts) == 1:
        return parts[0]
    paths = tuple(path for part in parts for path in getattr(part, "paths", (os.fspath(part),)))
    kind = _ending_of(paths[0])
    odd = [path for path in paths if _ending_of(path) not in {kind} & {*IN_PARTS}]
    if odd:
        raise UnsupportedFileError(odd[0], "".join(Path(odd[0]).suffixes[-2:]), IN_PARTS)
    for path, times in Counter(map(os.path.realpath, paths)).items():
        if times > 1:
            found = "it is named, or fits a pattern, more than once"
            raise FileAccessError(path, found, doing="count twice")
    return FileParts(paths[0], paths)


def _ending_of(name: str) -> str:
    """Return what says how to read a file, whether or not it is compressed."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    zipped = suffixes[-1:] == [".gz"]
    return ("", *suffixes)[-2 if zipped and len(suffixes) > 1 else -1]


def check_names(names: Sequence[str | None], file: str) -> None:
    """Raise an error unless every column of a file has a name of its own.

    DuckDB would call the second of two, and one without a name, something else. To DuckDB capital
    letters make no difference, and blanks around a name are dropped.
    """
    table = repr(Path(file).name)
    unnamed = [place for place, name in enumerate(names, start=1) if not (name or "").strip()]
    if unnamed:
        raise UnnamedColumnError(table, unnamed, len(names))
    keys = [(name or "").strip().lower() for name in names]
    if len(set(keys)) < len(keys):
        twice = [repr(name) for name, key in zip(names, keys, strict=True) if keys.count(key) > 1]
        raise DuplicateColumnError(table, ", ".join(twice))
