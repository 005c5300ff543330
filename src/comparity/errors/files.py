"""Errors about files and the layouts of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "AmbiguousWinnerError",
    "FileAccessError",
    "RemotePathError",
    "SameFileError",
    "UnknownLayoutError",
    "UnknownWinnerError",
    "UnreadOutcomeError",
    "UnreadableFileError",
    "UnsupportedFileError",
]


class FileAccessError(ComparityError, OSError):
    """A path does not name a file that can be read, or written."""

    def __init__(self, path: str, found: str, *, doing: str = "read") -> None:
        hints = {
            "read": "check the path; relative paths start here.",
            "write": "check the path, the permissions of its folder and the space on the disk; "
            "a file that was there before is as it was.",
        }
        super().__init__(message(f"cannot {doing} {path!r}.", found, hints[doing]))


class SameFileError(ComparityError, ValueError):
    """A file to write was named that is read, or written for another purpose."""

    def __init__(self, output: str, other: str) -> None:
        super().__init__(
            message(
                f"refused to write {output!r}.",
                f"it is the same file as {other!r}, which is read, or written for another purpose",
                "write another file.",
            )
        )


class RemotePathError(ComparityError, ValueError):
    """A path names something on another machine, or several files at once."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(
            message(
                f"refused to read {path!r}.",
                found,
                "download it first, or say allow_remote=True if you trust the address.",
            )
        )


class UnsupportedFileError(ComparityError, ValueError):
    """The ending of a file name does not say how to read it."""

    def __init__(self, path: str, ending: str, known: Sequence[str]) -> None:
        super().__init__(
            message(
                f"cannot tell how to read {path!r}.",
                f"ending {ending!r}",
                f"known endings: {', '.join(known)}, also with .gz for text.",
            )
        )


class UnreadableFileError(ComparityError, ValueError):
    """A file or table broke while it was read."""

    def __init__(self, path: str, reason: str) -> None:
        # A reason may quote a line of the file, which may be endless.
        first = [line[:300] for line in reason.strip().splitlines()] or ["no reason given"]
        super().__init__(
            message(
                f"cannot read {path}.",
                " ".join(line.strip() for line in first[:3]),
                f"check that the file is complete{_form(path)}.",
            )
        )


def _form(path: str) -> str:
    """Say what else a file of its kind must be."""
    name = path.strip("'\"").lower().removesuffix(".gz")
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return ", UTF-8, and has one JSON object on every line, without a comma behind it"
    if name.endswith(".parquet"):
        return " and was written as Parquet"
    rows = "has as many cells in every row, and ends all lines alike"
    return f", UTF-8, begins with one header row, {rows}"


class UnknownLayoutError(ComparityError, ValueError):
    """The columns of a comparison table say not which item was judged better."""

    def __init__(self, columns: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            message(
                "cannot tell which columns hold the better and the worse item.",
                f"columns {listed(columns)}",
                f"rename them to one of: {'; '.join(known)}. Or name them: if a column says who "
                "won, by left=, right= and winner=; if one column has the better item in every "
                "row, by better= and worse=.",
            )
        )


class UnreadOutcomeError(ComparityError, ValueError):
    """A column that seems to say who won is not among those that are read."""

    def __init__(self, column: str, better: str, worse: str, values: Sequence[str]) -> None:
        super().__init__(
            message(
                f"column {column!r} seems to say who won, and would not be read.",
                f"{better!r} read as the better item in every row, {worse!r} as the worse; "
                f"{column!r} holds {listed(values)}",
                f"name the columns by left={better!r}, right={worse!r} and winner={column!r}, "
                f"without better= and worse=. If {column!r} does not say who won, drop it from "
                "the table, or call the items' columns 'better' and 'worse'.",
            )
        )
        self.column = column


class UnknownWinnerError(ComparityError, ValueError):
    """The winner of a comparison is none of its two items and no word for a side or a tie."""

    def __init__(self, column: str, offenders: Offenders, words: Sequence[str]) -> None:
        super().__init__(
            message(
                f"column {column!r} must name the winner.",
                str(offenders),
                f"known are the ids of the two items and the words {', '.join(words)}; write one "
                "of them in place of a code.",
            )
        )
        self.offenders = offenders


class AmbiguousWinnerError(ComparityError, ValueError):
    """The winner of a comparison is one of its items by name, and another side by the word."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"column {column!r} can be read in two ways: as an item, and as a side or a tie.",
                str(offenders),
                "call these items something else, or give columns of the better and worse item.",
            )
        )
        self.offenders = offenders
