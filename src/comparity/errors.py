"""Errors that say what was asked, what was found and what to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

__all__ = [
    "ComparityError",
    "ConstantLabelError",
    "DesignUnknownError",
    "DuplicateColumnError",
    "DuplicateItemError",
    "EmptyTableError",
    "FileAccessError",
    "IncompatibleCountsError",
    "InconsistentItemError",
    "LengthMismatchError",
    "LookError",
    "MissingColumnError",
    "MissingEngineError",
    "MissingValueError",
    "MixedEnginesError",
    "NonBinaryError",
    "NonFiniteScoreError",
    "NotNumericError",
    "Offenders",
    "OneGroupError",
    "OptionError",
    "PlanError",
    "PositionError",
    "RemotePathError",
    "SelfComparisonError",
    "TooManyGroupsError",
    "UnknownItemError",
    "UnknownLayoutError",
    "UnknownPositiveError",
    "UnknownWinnerError",
    "UnreadableFileError",
    "UnsupportedColumnError",
    "UnsupportedFileError",
    "UnsupportedTableError",
    "WeightError",
]


class ComparityError(Exception):
    """Base of every error this package raises about its input."""


@dataclass(frozen=True, slots=True)
class Offenders:
    """Rows that break a contract: how many, and the first few.

    Attributes
    ----------
    count : int
        Number of rows.
    rows : tuple of int
        The first of them, counted from 1 without the header; empty where the engine keeps no order.
    values : tuple of str
        What was found, the first few distinct values.
    """

    count: int
    rows: tuple[int, ...] = ()
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.count:,} row{'' if self.count == 1 else 's'}"
        if self.rows:
            more = ", ..." if self.count > len(self.rows) else ""
            plural = "" if self.count == 1 else "s"
            text += f" (data row{plural} {', '.join(map(str, self.rows))}{more})"
        if self.values:
            text += f", such as {', '.join(map(repr, self.values))}"
        return text


def _message(asked: str, found: str, hint: str) -> str:
    return f"{asked}\n  found: {found}\n  hint:  {hint}"


def _listed(names: Collection[object], limit: int = 12) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:limit])
    return f"{shown}, ... ({len(names):,} in all)" if len(names) > limit else shown or "nothing"


class IncompatibleCountsError(ComparityError, ValueError):
    """Counts were added that do not speak of the same things."""

    def __init__(self, what: str, found: Sequence[object]) -> None:
        super().__init__(
            f"these counts cannot be added: their {what} differ.\n"
            f"  found: {', '.join(map(repr, found))}\n"
            f"  hint:  count every part with design='shared' against the same item table, "
            f"all with evaluators or none."
        )


class UnsupportedTableError(ComparityError, TypeError):
    """Something was given that is not a table."""

    def __init__(self, table: str, found: str) -> None:
        super().__init__(
            _message(
                f"the {table} table is not a table of rows and columns.",
                found,
                "give a pandas, Polars, PyArrow, DuckDB or Spark frame, or read a file first.",
            )
        )


class DuplicateColumnError(ComparityError, ValueError):
    """A table has two columns of one name."""

    def __init__(self, table: str, found: str) -> None:
        super().__init__(
            _message(
                f"the {table} table has several columns of one name.", found, "rename all but one."
            )
        )


class MissingColumnError(ComparityError, LookupError):
    """A column was asked for that the table does not have."""

    def __init__(self, column: object, table: str, known: Sequence[str]) -> None:
        near = get_close_matches(str(column), [str(name) for name in known], n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else "names are compared exactly; check case."
        super().__init__(
            _message(
                f"column {column!r} does not occur in the {table} table.", _listed(known), hint
            )
        )
        self.column = column
        self.known = tuple(known)


class UnsupportedColumnError(ComparityError, TypeError):
    """A column holds something that is neither text nor numbers."""

    def __init__(self, column: str, table: str, found: str) -> None:
        super().__init__(
            _message(
                f"column {column!r} of the {table} table must hold text, numbers or true/false.",
                found,
                "turn the column into text or numbers first.",
            )
        )


class EmptyTableError(ComparityError, ValueError):
    """A table has no rows."""

    def __init__(self, table: str) -> None:
        super().__init__(
            _message(f"the {table} table is empty.", "0 rows", "check the file or the filter.")
        )


class MissingValueError(ComparityError, ValueError):
    """A needed column has missing values."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            _message(
                f"column {column!r} of the {table} table has missing values.",
                str(offenders),
                "fill them in or drop these rows yourself; nothing is dropped silently.",
            )
        )
        self.column = column
        self.offenders = offenders


class NotNumericError(ComparityError, ValueError):
    """Numbers were needed and something else was found."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            _message(
                f"column {column!r} of the {table} table must hold numbers.",
                str(offenders),
                "numbers are written like 0.25, -3 or 1e-5, with a point and without units.",
            )
        )
        self.column = column
        self.offenders = offenders


class NonFiniteScoreError(ComparityError, ValueError):
    """A score is infinite."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            _message(
                f"column {column!r} of the {table} table must hold finite numbers.",
                str(offenders),
                "replace infinite scores by the largest or smallest finite score, or drop the rows",
            )
        )
        self.column = column
        self.offenders = offenders


class OneGroupError(ComparityError, ValueError):
    """A sensitive attribute does not tell anybody apart."""

    def __init__(self, column: str, groups: Collection[str]) -> None:
        super().__init__(
            _message(
                f"column {column!r} must have at least two groups to compare.",
                _listed(groups),
                "choose another sensitive column, or check the filter that made this table.",
            )
        )
        self.column = column


class TooManyGroupsError(ComparityError, ValueError):
    """A sensitive attribute has so many groups that no comparison of all of them says much."""

    def __init__(self, column: str, groups: Collection[str], most: int) -> None:
        super().__init__(
            _message(
                f"column {column!r} must have at most {most} groups, every two are compared.",
                f"{len(groups):,} groups: {_listed(groups)}",
                "check that this is no id column; join small groups, or compare the values of a "
                "number with continuous=True.",
            )
        )
        self.column = column


class NonBinaryError(ComparityError, ValueError):
    """Two values were needed and others were found."""

    def __init__(self, column: str, values: Sequence[str], *, role: str) -> None:
        hint = "name the positive value with positive=."
        if role == "prediction":
            hint = "name the positive value with positive=, or cut a score with threshold=."
        super().__init__(
            _message(
                f"{role} column {column!r} must hold 0 and 1, or true and false.",
                f"{len(values):,} distinct values: {_listed(values, 6)}",
                hint,
            )
        )
        self.column = column


class UnknownPositiveError(ComparityError, LookupError):
    """The value called positive occurs nowhere."""

    def __init__(self, positive: object, columns: Sequence[str], values: Sequence[str]) -> None:
        super().__init__(
            _message(
                f"positive value {positive!r} does not occur in {_listed(columns)}.",
                _listed(values, 6),
                "values are compared exactly; check case and spaces.",
            )
        )


class ConstantLabelError(ComparityError, ValueError):
    """All labels are equal, so that no pair has a better item."""

    def __init__(self, column: str, value: str) -> None:
        super().__init__(
            _message(
                f"column {column!r} must have at least two different labels.",
                f"every label is {value}",
                "check the filter that made this table; pairs need a better and a worse item.",
            )
        )


class WeightError(ComparityError, ValueError):
    """A weight is zero or negative."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            _message(
                f"column {column!r} must hold positive weights.",
                str(offenders),
                "leave out items that should not count.",
            )
        )


class DuplicateItemError(ComparityError, ValueError):
    """An item has more than one row in the item table."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            _message(
                f"column {column!r} must name every item once.",
                f"repeated ids in {offenders}",
                "keep one row for each item; its score and groups must not depend on the row.",
            )
        )
        self.offenders = offenders


class InconsistentItemError(ComparityError, ValueError):
    """An item carries different scores or groups in different comparisons."""

    def __init__(self, items: Sequence[str], count: int) -> None:
        super().__init__(
            _message(
                "an item must have the same score and groups in every comparison.",
                f"{count:,} items with several, such as {_listed(items)}",
                "give every response its own id, or say design='fresh' if no item repeats.",
            )
        )


class UnknownItemError(ComparityError, LookupError):
    """A comparison names an item that the item table does not have."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            _message(
                f"column {column!r} of the comparisons names items without a row in the items.",
                str(offenders),
                "add these items, or check that both tables write ids alike (7, 007, '7 ').",
            )
        )
        self.column = column
        self.offenders = offenders


class SelfComparisonError(ComparityError, ValueError):
    """An item is compared with itself."""

    def __init__(self, offenders: Offenders) -> None:
        super().__init__(
            _message(
                "a comparison must name two different items.",
                f"an item compared with itself in {offenders}",
                "drop these rows; they say nothing about any order.",
            )
        )
        self.offenders = offenders


class LengthMismatchError(ComparityError, ValueError):
    """Arrays that belong together have different lengths."""

    def __init__(self, lengths: dict[str, int]) -> None:
        super().__init__(
            _message(
                "these arrays must have one entry for each row.",
                ", ".join(f"{name}: {length:,}" for name, length in lengths.items()),
                "pass arrays of one length, in the same order.",
            )
        )
        self.lengths = lengths


class PositionError(ComparityError, ValueError):
    """Comparisons by position do not point at items."""

    def __init__(self, name: str, expected: str, found: str) -> None:
        super().__init__(
            _message(
                f"{name} must be {expected}.",
                found,
                "give an (n, 2) array of item positions from 0, the better item first.",
            )
        )


class OptionError(ComparityError, ValueError):
    """An option has a value that is not among its choices."""

    def __init__(
        self, option: str, found: object, choices: Sequence[object], why: str = ""
    ) -> None:
        super().__init__(
            _message(
                f"{option} cannot be {found!r}{'; ' + why if why else ''}.",
                f"{option}={found!r}",
                f"choose {' or '.join(map(str, choices))}.",
            )
        )


class DesignUnknownError(ComparityError, ValueError):
    """Without item ids nobody can see whether items repeat."""

    def __init__(self, design: str) -> None:
        super().__init__(
            _message(
                f"design={design!r} needs to know which item is which.",
                "no columns with item ids",
                "name the id columns with better= and worse=, or say design='fresh' "
                "if no item and no evaluator occurs twice.",
            )
        )


class MixedEnginesError(ComparityError, TypeError):
    """Two tables live in engines that cannot be joined."""

    def __init__(self, comparisons: str, items: str) -> None:
        super().__init__(
            _message(
                "comparisons and items must live in one engine to be joined.",
                f"comparisons in {comparisons}, items in {items}",
                "convert one of them, or read both with comparity.counting.files.read_table.",
            )
        )


class FileAccessError(ComparityError, OSError):
    """A path does not name a file."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(
            _message(f"cannot read {path!r}.", found, "check the path; relative paths start here.")
        )


class RemotePathError(ComparityError, ValueError):
    """A path names something on another machine, or several files at once."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(
            _message(
                f"refused to read {path!r}.",
                found,
                "download it first, or say allow_remote=True if you trust the address.",
            )
        )


class UnsupportedFileError(ComparityError, ValueError):
    """The ending of a file name does not say how to read it."""

    def __init__(self, path: str, ending: str, known: Sequence[str]) -> None:
        super().__init__(
            _message(
                f"cannot tell how to read {path!r}.",
                f"ending {ending!r}",
                f"known endings: {', '.join(known)}, also with .gz for text.",
            )
        )


class UnreadableFileError(ComparityError, ValueError):
    """A file or table broke while it was read."""

    def __init__(self, path: str, reason: str) -> None:
        first = reason.strip().splitlines() or ["no reason given"]
        super().__init__(
            _message(
                f"cannot read {path}.",
                " ".join(line.strip() for line in first[:3]),
                "check that the file is complete, UTF-8 and has one header row.",
            )
        )


class UnknownLayoutError(ComparityError, ValueError):
    """The columns of a comparison table say not which item was judged better."""

    def __init__(self, columns: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            _message(
                "cannot tell which columns hold the better and the worse item.",
                f"columns {_listed(columns)}",
                f"name them (better=, worse= or left=, right=, winner=), or use one of: "
                f"{'; '.join(known)}.",
            )
        )


class UnknownWinnerError(ComparityError, ValueError):
    """The winner of a comparison is none of its two items and no word for a side or a tie."""

    def __init__(self, column: str, offenders: Offenders, words: Sequence[str]) -> None:
        super().__init__(
            _message(
                f"column {column!r} must name the winner.",
                str(offenders),
                f"known are the ids of the two items and the words {', '.join(words)}.",
            )
        )
        self.offenders = offenders


class MissingEngineError(ComparityError, ImportError):
    """A frame was asked for, and the engine that would hold it is not installed."""

    def __init__(self, asked: str | None, known: Sequence[str], installed: Sequence[str]) -> None:
        super().__init__(
            f"no frame can be made with {'any engine' if asked is None else repr(asked)}.\n"
            f"  found: {', '.join(installed) or 'none'} of {', '.join(known)} installed\n"
            f"  hint:  install one of them, or use to_dict(), which needs none."
        )
        self.asked = asked


class PlanError(ComparityError, ValueError):
    """A plan was asked for that its figures do not allow."""

    def __init__(self, asked: str, found: str, hint: str) -> None:
        super().__init__(f"{asked}\n  found: {found}\n  hint:  {hint}")


class LookError(ComparityError, ValueError):
    """A look was named that is not among the planned ones."""

    def __init__(self, look: int, planned: int) -> None:
        super().__init__(
            f"look {look} of {planned} planned looks does not exist.\n"
            f"  found: look {look}, planned {planned}\n"
            f"  hint:  count looks from 1 and name how many are planned, such as (2, 4)."
        )
