"""Errors about bridges: two decision makers, two sets of subjects, a model between them."""

from __future__ import annotations

from collections.abc import Collection

from comparity.errors.base import ComparityError, Offenders, listed, message

__all__ = [
    "ConstantDecisionError",
    "FeatureMismatchError",
    "GroupMismatchError",
    "InconsistentSubjectError",
    "NoBridgeError",
    "OutOfRangeError",
    "PairOfSidesError",
    "TooFewSubjectsError",
    "TooNarrowError",
    "TwoGroupsError",
]


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
