"""Errors about decisions of several decision makers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "IndicatorError",
    "LabelSpaceError",
    "ReferenceGroupError",
    "SeveralContrastsError",
    "TooFewRatersError",
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
