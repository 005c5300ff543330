"""Errors about tables and the values in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "BlankNameError",
    "ConstantLabelError",
    "DuplicateColumnError",
    "DuplicateItemError",
    "EmptyTableError",
    "InconsistentItemError",
    "LengthMismatchError",
    "MissingColumnError",
    "MissingValueError",
    "NonBinaryError",
    "NonFiniteScoreError",
    "NotNumericError",
    "OneGroupError",
    "PositionError",
    "SelfComparisonError",
    "UnknownItemError",
    "UnknownPositiveError",
    "UnnamedColumnError",
    "UnsteadyQueryError",
    "UnsupportedColumnError",
    "UnsupportedTableError",
    "WeightError",
]


# What stands between columns in files that are not what their name says.
SEPARATORS = (";", "\t", "|", ",")


class UnsupportedTableError(ComparityError, TypeError):
    """Something was given that is not a table."""

    def __init__(self, table: str, found: str) -> None:
        super().__init__(
            message(
                f"the {table} table is not a table of rows and columns.",
                found,
                "give a pandas, Polars, PyArrow, DuckDB or Spark frame, or read a file first.",
            )
        )


class UnsteadyQueryError(ComparityError, ValueError):
    """A query whose rows are matched by their place gives them in another order each time."""

    def __init__(self, columns: Collection[str]) -> None:
        super().__init__(
            message(
                "rows of a query are matched with other columns by their place.",
                f"the query for {listed(columns)} gave other rows, or another order of them, when "
                "it was asked again",
                "run the query once and pass columns of its result, or pass one table that has all "
                "columns (audit_frame and the like).",
            )
        )


class DuplicateColumnError(ComparityError, ValueError):
    """A table has two columns of one name."""

    def __init__(self, table: str, found: str) -> None:
        super().__init__(
            message(
                f"the {table} table has several columns of one name.", found, "rename all but one."
            )
        )


class UnnamedColumnError(ComparityError, ValueError):
    """A table has a column without a name."""

    def __init__(self, table: str, places: Sequence[int], n_columns: int) -> None:
        plural = "" if len(places) == 1 else "s"
        hint = "give every column a name"
        if list(places) == [1]:
            hint += "; if it is the index of a pandas frame, write it with to_csv(..., index=False)"
        elif n_columns in places:
            hint += "; if the header ends with a separator, remove it there and in every row"
        super().__init__(
            message(
                f"every column of the {table} table needs a name.",
                f"no name above column{plural} {listed(places)} of {n_columns}",
                f"{hint}.",
            )
        )
        self.places = tuple(places)


class MissingColumnError(ComparityError, LookupError):
    """A column was asked for that the table does not have."""

    def __init__(self, column: object, table: str, known: Sequence[str]) -> None:
        asked = f"column {column!r} does not occur in the {table} table."
        super().__init__(message(asked, listed(known), _nearest(str(column), known)))
        self.column = column
        self.known = tuple(known)


def _nearest(column: str, known: Sequence[str]) -> str:
    """Say what could have been meant."""
    if len(known) == 1 and any(sign in str(known[0]) for sign in SEPARATORS):
        return "all columns are in one: separate them by commas in .csv, by tabs in .tsv."
    near = get_close_matches(column, [str(name) for name in known], n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    # The only column that is looked for although nobody named it.
    if column == "item":
        return "name the column with the items' ids (--item, item=)."
    return "names are compared exactly; check case."


class UnsupportedColumnError(ComparityError, TypeError):
    """A column holds something that is neither text nor numbers."""

    def __init__(self, column: str, table: str, found: str) -> None:
        super().__init__(
            message(
                f"column {column!r} of the {table} table must hold text, numbers or true/false.",
                found,
                "turn the column into text or numbers first.",
            )
        )


class EmptyTableError(ComparityError, ValueError):
    """A table has no rows."""

    def __init__(self, table: str) -> None:
        super().__init__(
            message(f"the {table} table is empty.", "0 rows", "check the file or the filter.")
        )


class MissingValueError(ComparityError, ValueError):
    """A needed column has missing values."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"column {column!r} of the {table} table has missing values.",
                str(offenders),
                "fill them in or drop these rows yourself; nothing is dropped silently.",
            )
        )
        self.column = column
        self.offenders = offenders


class BlankNameError(ComparityError, ValueError):
    """An item has a name of which nothing can be seen."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"column {column!r} of the {table} table must name items by something visible.",
                f"names of nothing, white space or characters without width in {offenders}",
                "give these items names, or drop these rows yourself; nothing is dropped silently.",
            )
        )
        self.column = column
        self.offenders = offenders


class NotNumericError(ComparityError, ValueError):
    """Numbers were needed and something else was found."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"column {column!r} of the {table} table must hold numbers.",
                str(offenders),
                "numbers are written like 0.25, -3 or 1e-5, with a point and without units, below "
                "1e100.",
            )
        )
        self.column = column
        self.offenders = offenders


class NonFiniteScoreError(ComparityError, ValueError):
    """A score is infinite."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"column {column!r} of the {table} table must hold finite numbers.",
                str(offenders),
                "replace infinite numbers by the largest or smallest finite one, or drop the rows.",
            )
        )
        self.column = column
        self.offenders = offenders


class OneGroupError(ComparityError, ValueError):
    """A sensitive attribute does not tell anybody apart."""

    def __init__(self, column: str, groups: Collection[str]) -> None:
        super().__init__(
            message(
                f"column {column!r} must have at least two groups to compare.",
                listed(groups),
                "choose another sensitive column, or check the filter that made this table.",
            )
        )
        self.column = column


class NonBinaryError(ComparityError, ValueError):
    """Two values were needed and others were found."""

    def __init__(self, column: str, values: Sequence[str], *, role: str) -> None:
        hint = "name the positive value with positive=."
        if role == "prediction":
            hint = "name the positive value with positive=, or cut a score with threshold=."
        elif role.startswith("tie"):
            hint = "write 1 or true where a comparison is a tie, 0 or false elsewhere."
        super().__init__(
            message(
                f"{role} column {column!r} must hold 0 and 1, or true and false.",
                f"{len(values):,} distinct values: {listed(values, 6)}",
                hint,
            )
        )
        self.column = column


class UnknownPositiveError(ComparityError, LookupError):
    """The value called positive occurs nowhere."""

    def __init__(self, positive: object, columns: Sequence[str], values: Sequence[str]) -> None:
        super().__init__(
            message(
                f"positive value {positive!r} does not occur in {listed(columns)}.",
                listed(values, 6),
                "values are compared exactly; check case and spaces.",
            )
        )


class ConstantLabelError(ComparityError, ValueError):
    """All labels are equal, so that no pair has a better item."""

    def __init__(self, column: str, value: str) -> None:
        super().__init__(
            message(
                f"column {column!r} must have at least two different labels.",
                f"every label is {value}",
                "check the filter that made this table; pairs need a better and a worse item.",
            )
        )


class WeightError(ComparityError, ValueError):
    """A weight is zero or negative."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"column {column!r} must hold positive weights.",
                str(offenders),
                "leave out items that should not count.",
            )
        )


class DuplicateItemError(ComparityError, ValueError):
    """An item has more than one row in the item table."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            message(
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
            message(
                "an item must have the same score and groups in every comparison.",
                f"{count:,} items with several, such as {listed(items)}",
                "give every response its own id, or say design='fresh' if no item repeats.",
            )
        )


class UnknownItemError(ComparityError, LookupError):
    """A comparison names an item that the item table does not have."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            message(
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
            message(
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
            message(
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
            message(
                f"{name} must be {expected}.",
                found,
                "give an (n, 2) array of item positions from 0, the better item first.",
            )
        )
