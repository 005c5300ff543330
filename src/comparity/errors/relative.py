"""Errors about decisions of several decision makers, and about bridges between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "ConstantDecisionError",
    "FeatureMismatchError",
    "GroupMismatchError",
    "InconsistentSubjectError",
    "IndicatorError",
    "LabelSpaceError",
    "NoBridgeError",
    "OutOfRangeError",
    "PairOfSidesError",
    "ReferenceGroupError",
    "SeveralContrastsError",
    "TooFewRatersError",
    "TooFewSubjectsError",
    "TooNarrowError",
    "TwoGroupsError",
    "UnorderedDecisionError",
    "WordDecisionError",
]


class SeveralContrastsError(ComparityError, AttributeError):
    """One number was asked for where there are several."""

    def __init__(self, contrasts: Sequence[str]) -> None:
        super().__init__(
            message(
                "this result has no single number: more than one contrast was tested.",
                f"{len(contrasts):,} contrasts: {listed(contrasts, 4)}",
                "look at .contrasts (or .matrices), or use to_frame().",
            )
        )


class ReferenceGroupError(ComparityError, LookupError):
    """The group called reference occurs nowhere."""

    def __init__(self, reference: object, groups: Collection[str]) -> None:
        super().__init__(
            message(
                f"reference group {reference!r} does not occur.",
                listed(groups),
                "names are compared exactly; check case and spaces.",
            )
        )


class UnorderedDecisionError(ComparityError, ValueError):
    """A decision is none of the values whose order was given."""

    def __init__(self, column: str, order: Sequence[object], values: Sequence[str]) -> None:
        super().__init__(
            message(
                f"every decision of {column!r} must be one of the ordered values {listed(order)}.",
                f"also {listed(values, 6)}",
                "name all values with order=, from the lowest to the highest.",
            )
        )


class TooFewRatersError(ComparityError, ValueError):
    """Fewer than two decision makers were named."""

    def __init__(self, found: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            message(
                "a comparison needs at least two columns with decisions.",
                f"{listed(found)}; columns: {listed(known)}",
                "name them with first= and second=, or all at once with raters=.",
            )
        )


class LabelSpaceError(ComparityError, ValueError):
    """The labels of two decision makers are not the same labels."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        super().__init__(
            message(
                "both decision makers must have one column for each label, of the same names.",
                f"{listed(first, 6)} and {listed(second, 6)}",
                "add a column of zeros for a label that one of them never gave.",
            )
        )


class IndicatorError(ComparityError, ValueError):
    """One of several columns of decisions says more than whether a label was given."""

    def __init__(self, label: str, values: Sequence[str]) -> None:
        super().__init__(
            message(
                f"several columns of decisions are labels, each 0 or 1; {label!r} is not.",
                f"{len(values):,} distinct values: {listed(values, 6)}",
                "compare decisions that are numbers one column at a time.",
            )
        )


class WordDecisionError(ComparityError, ValueError):
    """Decisions are words, and nobody said what they stand for."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"decisions of {column!r} must be numbers to have a difference.",
                str(offenders),
                "give the words from the lowest to the highest with order=, or say labels=True "
                "where they have no order.",
            )
        )
        self.offenders = offenders


class PairOfSidesError(ComparityError, TypeError):
    """Something was needed for both sets of subjects and not given as a pair."""

    def __init__(self, option: str, found: object) -> None:
        size = f" of length {len(found)}" if isinstance(found, list | tuple) else ""
        super().__init__(
            message(
                f"{option} must be a pair: for the subjects of the first, and of the second.",
                f"{type(found).__name__}{size}",
                f"write {option}=(of_the_first, of_the_second).",
            )
        )


class NoBridgeError(ComparityError, ValueError):
    """There is nothing to predict decisions from, or two things."""

    def __init__(self, *, both: bool) -> None:
        super().__init__(
            message(
                "a bridge needs either features or predictions.",
                "features and predictions" if both else "neither of them",
                "give features=(X_first, X_second) to fit a regressor, or "
                "predictions=(f_first, f_second) already made.",
            )
        )


class GroupMismatchError(ComparityError, ValueError):
    """A group occurs on one side only."""

    def __init__(self, column: str, first: Collection[str], second: Collection[str]) -> None:
        missing = sorted({*first} ^ {*second})
        super().__init__(
            message(
                f"{column} must have the same groups among the subjects of both decision makers.",
                f"{listed(first)} for the first, {listed(second)} for the second",
                f"{listed(missing)} cannot be compared across the bridge; names are compared "
                "exactly, so check how both sides write them.",
            )
        )


class InconsistentSubjectError(ComparityError, ValueError):
    """A subject of both decision makers is of different groups."""

    def __init__(self, column: str, offenders: Offenders) -> None:
        super().__init__(
            message(
                f"a subject must have the same {column} on both sides.",
                f"another group on the first side for the second's {offenders}",
                "check that ids name the same subjects on both sides, or give no ids.",
            )
        )
        self.offenders = offenders


class TwoGroupsError(ComparityError, ValueError):
    """A bridge compares two groups, and there are more."""

    def __init__(self, column: str, groups: Collection[str]) -> None:
        super().__init__(
            message(
                f"{column} must have exactly two groups to compare across a bridge.",
                f"{len(groups)}: {listed(groups)}",
                "join groups, or keep the rows of two of them and repeat for every two, with the "
                "p values corrected.",
            )
        )


class ConstantDecisionError(ComparityError, ValueError):
    """A decision maker decided the same about everybody."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(
            message(
                f"the decisions {name!r} must not all be equal.",
                f"every decision is {value}",
                "who decides the same about everybody prefers nobody; look at the gap between "
                "groups of the other decision maker alone.",
            )
        )


class FeatureMismatchError(ComparityError, ValueError):
    """The two sets of subjects are not described by the same features."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(
            message(
                "both sets of subjects must have the same features.",
                f"{first} for the first, {second} for the second",
                "give the same columns, in the same units, to both sides.",
            )
        )


class TooFewSubjectsError(ComparityError, ValueError):
    """A group is too small for the way errors are to be found."""

    def __init__(self, group: str, side: str, found: int, needed: int, why: str) -> None:
        super().__init__(
            message(
                f"group {group!r} of the {side} needs at least {needed} subjects {why}.",
                f"{found}",
                "use fewer folds, join groups, or collect more decisions.",
            )
        )


class TooNarrowError(ComparityError, ValueError):
    """Decisions lie so close together that their variances are not told from zero."""

    def __init__(self, names: Collection[str], width: float, smallest: float) -> None:
        super().__init__(
            message(
                f"decisions of {listed(names)} must lie further apart than {smallest:g}.",
                f"at most {width:.3g} between the smallest and the largest",
                "choose a smaller unit.",
            )
        )


class OutOfRangeError(ComparityError, ValueError):
    """Numbers are so large that their variances are not finite."""

    def __init__(self, column: str, offenders: Offenders, largest: float) -> None:
        super().__init__(
            message(
                f"column {column!r} must hold numbers of at most {largest:g} in size.",
                f"{offenders}",
                "check for placeholders such as 1e308, or choose a larger unit.",
            )
        )
        self.offenders = offenders
