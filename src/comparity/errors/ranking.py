"""Errors about rankings: comparisons without an answer, empty anchors, unknown groups."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from comparity.errors.base import ComparityError, listed, message

__all__ = [
    "AnchorError",
    "DependentGroupsError",
    "NoPriorError",
    "SeatError",
    "TiesOnlyError",
    "UnknownGroupError",
    "UnknownReferenceError",
]


class NoPriorError(ComparityError, ValueError):
    """The likelihood alone has no maximum, and no prior was given."""

    def __init__(self, what: str, found: str) -> None:
        super().__init__(
            message(
                f"without a prior {what} have no finite estimate.",
                found,
                "give a prior (its standard deviation, or 'marginal likelihood'), or collect "
                "comparisons that go the other way, or between parts that were never compared.",
            )
        )


class AnchorError(ComparityError, LookupError):
    """The trusted evaluators cannot fix the level of the biases."""

    def __init__(self, trusted: Sequence[object], reason: str, known: Collection[object]) -> None:
        super().__init__(
            message(
                f"trusted evaluators {listed(trusted)} cannot anchor the biases: {reason}.",
                f"evaluators {listed(known)}",
                "name evaluators as the comparisons do, or choose anchor='equal group means' or "
                "'zero mean bias'.",
            )
        )


class DependentGroupsError(ComparityError, ValueError):
    """Groups of several attributes say the same of every item."""

    def __init__(self, contrasts: Sequence[object]) -> None:
        super().__init__(
            message(
                "each attribute or intersection must tell apart items that the others do not.",
                f"linearly dependent contrasts among {', '.join(map(str, contrasts))}",
                "drop an attribute or an intersection that follows from the others.",
            )
        )


class UnknownReferenceError(ComparityError, LookupError):
    """A reference group, or a group of an intersection, has no item."""

    def __init__(
        self, attribute: str, group: object, known: Collection[str], role: str = "reference group"
    ) -> None:
        super().__init__(
            message(
                f"{role} {group!r} of {attribute!r} has no item.",
                listed(known),
                "names are compared exactly; check case and spaces.",
            )
        )


class TiesOnlyError(ComparityError, ValueError):
    """Every comparison is a tie."""

    def __init__(self, n: int) -> None:
        super().__init__(
            message(
                "a ranking needs comparisons that put one item above another.",
                f"{n:,} comparisons, all of them ties",
                "check the column that marks ties.",
            )
        )


class SeatError(ComparityError, ValueError):
    """A seat is neither first nor second."""

    def __init__(self, found: Collection[object]) -> None:
        super().__init__(
            message(
                "seats must say whether the better item was shown first.",
                listed(found),
                "write true, 1 or 'first' where it was, false, -1 or 'second' where it was not, "
                "0 or 'unknown' where nobody knows.",
            )
        )


class UnknownGroupError(ComparityError, LookupError):
    """A group was asked for that does not occur in the data."""

    def __init__(self, group: object, column: str, known: Collection[str]) -> None:
        super().__init__(
            message(
                f"group {group!r} does not occur in {column!r}.",
                listed(sorted(known)),
                "names are compared exactly; check case and spaces.",
            )
        )
        self.group = group
        self.known = frozenset(known)
