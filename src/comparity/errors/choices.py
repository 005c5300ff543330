"""Errors about choices: options, designs, engines, plans, looks."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized

from comparity.errors.base import ComparityError, listed, message

__all__ = [
    "DesignUnknownError",
    "IncompatibleCountsError",
    "LookError",
    "MissingEngineError",
    "MixedEnginesError",
    "OptionError",
    "PlanError",
    "TooManyGroupsError",
    "TooManyLooksError",
]

LONGEST = 80
"""How many characters of an array are shown where it is no allowed choice."""


class OptionError(ComparityError, ValueError):
    """An option has a value that is not among its choices."""

    def __init__(
        self, option: str, found: object, choices: Sequence[object], why: str = ""
    ) -> None:
        shown = _short(found)
        super().__init__(
            message(
                f"{option} cannot be {shown}{'; ' + why if why else ''}.",
                f"{option}={shown}",
                f"choose {' or '.join(map(str, choices))}.",
            )
        )


class DesignUnknownError(ComparityError, ValueError):
    """Without item ids nobody can see whether items repeat."""

    def __init__(self, design: str) -> None:
        super().__init__(
            message(
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
            message(
                "comparisons and items must live in one engine to be joined.",
                f"comparisons in {comparisons}, items in {items}",
                "convert one of them, or read both with comparity.tables.files.read_table.",
            )
        )


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
        super().__init__(message(asked, found, hint))


class LookError(ComparityError, ValueError):
    """A look was named that is not among the planned ones."""

    def __init__(self, look: int, planned: int) -> None:
        super().__init__(
            f"look {look} of {planned} planned looks does not exist.\n"
            f"  found: look {look}, planned {planned}\n"
            f"  hint:  count looks from 1 and name how many are planned, such as (2, 4)."
        )


class TooManyLooksError(ComparityError, ValueError):
    """More looks were planned than levels can be worked out for."""

    def __init__(self, planned: int, most: int) -> None:
        super().__init__(
            f"{planned} planned looks are too many; at most {most} can be planned.\n"
            f"  found: {planned} planned looks\n"
            f"  hint:  collect more data between two looks, and name how many there will be."
        )
        self.planned = planned


class IncompatibleCountsError(ComparityError, ValueError):
    """Counts were added that do not speak of the same things."""

    def __init__(self, what: str, found: Sequence[object]) -> None:
        super().__init__(
            f"these counts cannot be added: their {what} differ.\n"
            f"  found: {', '.join(map(repr, found))}\n"
            f"  hint:  count every part with design='shared' against the same item table, "
            f"all with evaluators or none."
        )


class TooManyGroupsError(ComparityError, ValueError):
    """A sensitive attribute has so many groups that no comparison of all of them says much."""

    def __init__(self, column: str, groups: Collection[str], most: int) -> None:
        super().__init__(
            message(
                f"column {column!r} must have at most {most} groups.",
                f"{len(groups):,} groups: {listed(groups)}",
                "check that this is no id column; join small groups; cut a number into classes, or "
                "take it as it is (continuous=True of comparative, pairwise, relative and train).",
            )
        )
        self.column = column


def _short(found: object) -> str:
    """Return how a value is written, on one line, and only the beginning of a long array."""
    written = repr(found)
    if len(written) <= LONGEST or isinstance(found, str) or not isinstance(found, Sized):
        return written
    return f"{' '.join(written.split())[:LONGEST]}… ({len(found)} values)"
