"""Errors about the values of a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from comparity.errors.spelling import ComparityError, Offenders, Option, list_names

# What stands between columns in files that are not what their name says.
SEPARATORS = (";", "\t", "|", ",")


class MissingColumnError(ComparityError, LookupError):
    """A column was asked for that the table does not have."""

    def __init__(self, column: object, table: str, known: Sequence[str]) -> None:
        asked = f"column {column!r} does not occur in the {table} table."
        super().__init__(asked, list_names(known), *_nearest(str(column), known))
        self.column = column
        self.known = tuple(known)


def _nearest(column: str, known: Sequence[str]) -> tuple[str, *tuple[Option, ...]]:
    """Say what could have been meant."""
    if len(known) == 1 and any(sign in str(known[0]) for sign in SEPARATORS):
        return ("all columns are in one: separate them by commas in .csv, by tabs in .tsv.",)
    near = get_close_matches(column, [str(name) for name in known], n=1, cutoff=0.6)
    if near:
        return (f"did you mean {near[0]!r}?",)
    # The only column that is looked for although nobody named it.
    if column == "item":
        return "name the column with the items' ids by {}.", Option("item")
    return ("names are compared exactly; check case.",)


class UnsupportedColumnError(ComparityError, TypeError):
    """A column holds something that is neither text nor numbers."""

    def __init__(self, column: str, table: str, found: str) -> None:
        super().__init__(
            f"column {column!r} of the {table} table must hold text, numbers or true/false.",
            found,
            "turn the column into text or numbers first.",
        )


class EmptyTableError(ComparityError, ValueError):
    """A table has no rows."""

    def __init__(self, table: str) -> None:
        super().__init__(f"the {table} table is empty.", "0 rows", "check the file or the filter.")


class MissingValueError(ComparityError, ValueError):
    """A needed column has missing values."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} of the {table} table has missing values.",
            str(offenders),
            "fill them in, or drop these rows: --drop-missing does so, and counts them.",
        )
        self.column = column
        self.offenders = offenders


class BlankNameError(ComparityError, ValueError):
    """An item, a group or an evaluator has a name of which nothing can be seen."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} of the {table} table must hold names that can be seen.",
            f"names of nothing, white space or characters without width in {offenders}",
            "write names there, or drop these rows yourself; nothing is dropped silently.",
        )
        self.column = column
        self.offenders = offenders


class NotNumericError(ComparityError, ValueError):
    """Numbers were needed and something else was found."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} of the {table} table must hold numbers.",
            str(offenders),
            "numbers are written like 0.25, -3 or 1e-5, with a point and without units, below "
            "1e100.",
        )
        self.column = column
        self.offenders = offenders


class NonFiniteScoreError(ComparityError, ValueError):
    """A score is infinite."""

    def __init__(self, column: str, table: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} of the {table} table must hold finite numbers.",
            str(offenders),
            "replace infinite numbers by the largest or smallest finite one, or drop the rows.",
        )
        self.column = column
        self.offenders = offenders


class NobodySelectedError(ComparityError, ValueError):
    """A rate over the largest rate, where all rates are zero."""

    def __init__(self, column: str, people: int) -> None:
        super().__init__(
            f"impact ratios by {column!r} need a group of which somebody is selected.",
            f"nobody of {people:,} people",
            "check which value means selected (positive), or choose another outcome.",
        )


class OneGroupError(ComparityError, ValueError):
    """A sensitive attribute does not tell anybody apart."""

    def __init__(self, column: str, groups: Collection[str]) -> None:
        super().__init__(
            f"column {column!r} must have at least two groups to compare.",
            list_names(groups),
            "choose another sensitive column, or check the filter that made this table.",
        )
        self.column = column


class OneClusterError(ComparityError, ValueError):
    """All rows are in one cluster."""

    def __init__(self, column: str, found: str) -> None:
        super().__init__(
            f"column {column!r} puts all rows into one cluster.",
            repr(found),
            "rows of one cluster say nothing about others; collect more clusters, or leave {} out "
            "if the finding is about this one alone.",
            Option("cluster"),
        )
        self.column = column


class NonBinaryError(ComparityError, ValueError):
    """Two values were needed and others were found."""

    def __init__(
        self, column: str, values: Sequence[str], *, role: str, classes: bool = False
    ) -> None:
        hint, named = "name the positive value with {}", [Option("positive")]
        if role in ("label", "prediction") and classes:
            hint += " (two, that of the label first, if the columns use different words)"
        if role == "prediction":
            hint += ", or cut a score with {}"
            named.append(Option("threshold"))
        if role == "selection" and len(values) > 2:
            hint += "; a column of scores is named by {}"
            named.append(Option("score"))
        if classes and len(values) > 2:
            hint += "; classes are judged one by one with {}"
            named.append(Option("classes", True))
        elif role.startswith("tie"):
            hint = "write 1 or true where a comparison is a tie, 0 or false elsewhere"
            named = []
        super().__init__(
            f"{role} column {column!r} must hold 0 and 1, true and false, or yes and no.",
            f"{len(values):,} distinct values: {list_names(values, 6)}",
            f"{hint}.",
            *named,
        )
        self.column = column


class TooManyClassesError(ComparityError, ValueError):
    """Labels and decisions have so many classes that they are no classes."""

    def __init__(self, columns: tuple[str, str], classes: Sequence[str], most: int) -> None:
        super().__init__(
            f"columns {columns[0]!r} and {columns[1]!r} must hold at most {most} classes.",
            f"{len(classes):,} classes: {list_names(classes, 6)}",
            "join rare classes, or cut a score with {}.",
            Option("threshold"),
        )


class UnknownPositiveError(ComparityError, LookupError):
    """The value called positive occurs nowhere."""

    def __init__(self, positive: object, columns: Sequence[str], values: Sequence[str]) -> None:
        super().__init__(
            f"positive value {positive!r} does not occur in {list_names(columns)}.",
            list_names([*dict.fromkeys(values)], 6),
            "values are compared exactly; check case and spaces. 1/0, true/false and yes/no are "
            "understood without a positive value.",
        )


class ConstantLabelError(ComparityError, ValueError):
    """All labels are equal, so that no pair has a better item."""

    def __init__(self, column: str, value: str) -> None:
        super().__init__(
            f"column {column!r} must have at least two different labels.",
            f"every label is {value}",
            "check the filter that made this table; pairs need a better and a worse item.",
        )


class WeightError(ComparityError, ValueError):
    """A weight is zero or negative."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} must hold positive weights.",
            str(offenders),
            "leave out items that should not count.",
        )


class DuplicateItemError(ComparityError, ValueError):
    """An item has more than one row in the item table."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} must name every item once.",
            f"repeated ids in {offenders}",
            "keep one row for each item; its score and groups must not depend on the row.",
        )
        self.offenders = offenders


class InconsistentItemError(ComparityError, ValueError):
    """An item carries different scores or groups in different comparisons."""

    def __init__(self, items: Sequence[str], count: int) -> None:
        super().__init__(
            "an item must have the same score and groups in every comparison.",
            f"{count:,} items with several, such as {list_names(items)}",
            "give every response its own id, or say {} if no item repeats.",
            Option("design", "fresh"),
        )


class UnknownItemError(ComparityError, LookupError):
    """A comparison names an item that the item table does not have."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            f"column {column!r} of the comparisons names items without a row in the items.",
            str(offenders),
            "add these items, or check that both tables write ids alike (7, 007, '7 ').",
        )
        self.column = column
        self.offenders = offenders


class SelfComparisonError(ComparityError, ValueError):
    """An item is compared with itself."""

    def __init__(self, offenders: Offenders) -> None:
        super().__init__(
            "a comparison must name two different items.",
            f"an item compared with itself in {offenders}",
            "drop these rows; they say nothing about any order.",
        )
        self.offenders = offenders


class LengthMismatchError(ComparityError, ValueError):
    """Arrays that belong together have different lengths."""

    def __init__(self, lengths: dict[str, int]) -> None:
        super().__init__(
            "these arrays must have one entry for each row.",
            ", ".join(f"{name}: {length:,}" for name, length in lengths.items()),
            "pass arrays of one length, in the same order.",
        )
        self.lengths = lengths


class PositionError(ComparityError, ValueError):
    """Comparisons by position do not point at items."""

    def __init__(self, name: str, expected: str, found: str) -> None:
        super().__init__(
            f"{name} must be {expected}.",
            found,
            "give an (n, 2) array of item positions from 0, the better item first.",
        )


class UnorderedDecisionError(ComparityError, ValueError):
    """A decision is none of the values whose order was given."""

    def __init__(self, column: str, order: Sequence[object], values: Sequence[str]) -> None:
        super().__init__(
            f"every decision of {column!r} must be one of the ordered values {list_names(order)}.",
            f"also {list_names(values, 6)}",
            "name all values with {}, from the lowest to the highest.",
            Option("order"),
        )


class LabelSpaceError(ComparityError, ValueError):
    """The labels of two decision makers are not the same labels."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        super().__init__(
            "both decision makers must have one column for each label, of the same names.",
            f"{list_names(first, 6)} and {list_names(second, 6)}",
            "add a column of zeros for a label that one of them never gave.",
        )


class IndicatorError(ComparityError, ValueError):
    """One of several columns of decisions says more than whether a label was given."""

    def __init__(self, label: str, values: Sequence[str]) -> None:
        super().__init__(
            f"several columns of decisions are labels, each 0 or 1; {label!r} is not.",
            f"{len(values):,} distinct values: {list_names(values, 6)}",
            "compare decisions that are numbers one column at a time.",
        )


class WordDecisionError(ComparityError, ValueError):
    """Decisions are words, and nobody said what they stand for."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            f"decisions of {column!r} must be numbers to have a difference.",
            str(offenders),
            "give the words from the lowest to the highest with {}, or say {} where they have "
            "no order.",
            Option("order"),
            Option("labels", True),
        )
        self.offenders = offenders


class ConstantDecisionError(ComparityError, ValueError):
    """A decision maker decided the same about everybody."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(
            f"the decisions {name!r} must not all be equal.",
            f"every decision is {value}",
            "who decides the same about everybody prefers nobody; look at the gap between "
            "groups of the other decision maker alone.",
        )


class TooNarrowError(ComparityError, ValueError):
    """Decisions lie so close together that their variances are not told from zero."""

    def __init__(self, names: Collection[str], width: float, smallest: float) -> None:
        super().__init__(
            f"decisions of {list_names(names)} must lie further apart than {smallest:g}.",
            f"at most {width:.3g} between the smallest and the largest",
            "choose a smaller unit.",
        )


class OutOfRangeError(ComparityError, ValueError):
    """Numbers are so large that their variances are not finite."""

    def __init__(self, column: str, offenders: Offenders, largest: float) -> None:
        super().__init__(
            f"column {column!r} must hold numbers of at most {largest:g} in size.",
            f"{offenders}",
            "check for placeholders such as 1e308, or choose a larger unit.",
        )
        self.offenders = offenders


class InconsistentSubjectError(ComparityError, ValueError):
    """A subject of both decision makers is of different groups."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            f"a subject must have the same {column} on both sides.",
            f"another group on the first side for the second's {offenders}",
            "check that ids name the same subjects on both sides, or give no ids.",
        )
        self.offenders = offenders
