"""Errors about choices: options, designs, engines, plans, metrics, data sets, bridges."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from difflib import get_close_matches
from typing import Any

from comparity.errors.spelling import ComparityError, Option, list_names

LONGEST = 80
"""How many characters of an array are shown where it is no allowed choice."""


class OptionError(ComparityError, ValueError):
    """An option has a value that is not among its choices.

    A choice that names other options is a tuple: its words, with ``{}`` in their places, and them.
    """

    def __init__(self, option: str, found: object, choices: Sequence[Any], why: str = "") -> None:
        shown = _short(found)
        parts = [one if isinstance(one, tuple) else ("{}", one) for one in choices]
        super().__init__(
            f"{option} cannot be {shown}{'; ' + why if why else ''}.",
            f"{option}={shown}",
            f"choose {' or '.join(words for words, *_ in parts)}.",
            *(name for _, *named in parts for name in named),
        )


class DesignUnknownError(ComparityError, ValueError):
    """Without item ids nobody can see whether items repeat."""

    def __init__(self, design: str) -> None:
        super().__init__(
            f"design={design!r} needs to know which item is which.",
            "no columns with item ids",
            "name the id columns with {} and {}, or say {} if no item and no evaluator occurs "
            "twice.",
            Option("better"),
            Option("worse"),
            Option("design", "fresh"),
        )


class MixedEnginesError(ComparityError, TypeError):
    """Two tables live in engines that cannot be joined."""

    def __init__(self, comparisons: str, items: str) -> None:
        super().__init__(
            "comparisons and items must live in one engine to be joined.",
            f"comparisons in {comparisons}, items in {items}",
            "convert one of them, or read both with comparity.tables.files.read_table.",
        )


class NoRunError(ComparityError, RuntimeError):
    """A result is to be kept in a tracker, and no run of it was started."""

    def __init__(self, start: str) -> None:
        super().__init__(
            "a result is kept in a run.", "no run is active", f"call {start} first, or give run=."
        )


class MissingEngineError(ComparityError, ImportError):
    """A frame was asked for, and the engine that would hold it is not installed."""

    def __init__(self, asked: str | None, known: Sequence[str], installed: Sequence[str]) -> None:
        super().__init__(
            f"no frame can be made with {'any engine' if asked is None else repr(asked)}.",
            f"{', '.join(installed) or 'none'} of {', '.join(known)} installed",
            "install one of them, or use to_dict(), which needs none.",
        )
        self.asked = asked


class PlanError(ComparityError, ValueError):
    """A plan was asked for that its figures do not allow."""


class LookError(ComparityError, ValueError):
    """A look was named that is not among the planned ones."""

    def __init__(self, look: int, planned: int) -> None:
        super().__init__(
            f"look {look} of {planned} planned looks does not exist.",
            f"look {look}, planned {planned}",
            "count looks from 1 and name how many are planned, such as (2, 4).",
        )


class TooManyLooksError(ComparityError, ValueError):
    """More looks were planned than levels can be worked out for."""

    def __init__(self, planned: int, most: int) -> None:
        super().__init__(
            f"{planned} planned looks are too many; at most {most} can be planned.",
            f"{planned} planned looks",
            "collect more data between two looks, and name how many there will be.",
        )
        self.planned = planned


class IncompatibleCountsError(ComparityError, ValueError):
    """Counts were added that do not speak of the same things."""

    def __init__(self, what: str, found: Sequence[object]) -> None:
        super().__init__(
            f"these counts cannot be added: their {what} differ.",
            ", ".join(map(repr, found)),
            "count every part with {} against the same item table, all with evaluators or none.",
            Option("design", "shared"),
        )


class TooManyGroupsError(ComparityError, ValueError):
    """A sensitive attribute has so many groups that no comparison of all of them says much."""

    def __init__(self, column: str, groups: Collection[str], most: int) -> None:
        super().__init__(
            f"column {column!r} must have at most {most} groups.",
            f"{len(groups):,} groups: {list_names(groups)}",
            "check that this is not a column of ids; join small groups; cut a number into classes, "
            "or take it as it is ({} of separation, comparative, pairwise, relative and train).",
            Option("continuous", True),
        )
        self.column = column


def _short(found: object) -> str:
    """Return how a value is written, on one line, and only the beginning of a long array."""
    written = repr(found)
    if len(written) <= LONGEST or isinstance(found, str) or not isinstance(found, Sized):
        return written
    return f"{' '.join(written.split())[:LONGEST]}… ({len(found)} values)"


class UnknownPrivilegedError(ComparityError, LookupError):
    """A group called privileged does not occur in the data."""

    def __init__(self, privileged: Collection[object], column: str, known: Sequence[str]) -> None:
        super().__init__(
            f"privileged value {list_names(list(privileged))} does not occur in column {column!r}.",
            list_names(known),
            "names are compared exactly; check case and spaces.",
        )


class NoUnprivilegedError(ComparityError, ValueError):
    """Every group is privileged, so that nobody is left to compare with."""

    def __init__(self, column: str, groups: Sequence[str]) -> None:
        super().__init__(
            f"column {column!r} must have a group that is not privileged.",
            f"all of {list_names(groups)} called privileged",
            "name only the groups that have the advantage with {}.",
            Option("privileged"),
        )


class FeatureError(ComparityError, ValueError):
    """Features are not a matrix of finite numbers."""

    def __init__(self, asked: str, found: str) -> None:
        super().__init__(
            f"X must hold {asked}.",
            found,
            "encode text as numbers and fill in gaps; one row for each label.",
        )


class NoSuchEntryError(ComparityError, LookupError):
    """A result was asked for an entry that it does not have."""

    def __init__(self, kind: str, name: object, known: Sequence[str]) -> None:
        near = get_close_matches(str(name), known, n=1)
        super().__init__(
            f"this result has no {kind} {name!r}.",
            list_names(known, 40),
            f"did you mean {near[0]!r}?" if near else "names are compared exactly.",
        )


class TooFewResamplesError(ComparityError, ValueError):
    """Too few resamples have a value for every metric."""

    def __init__(self, usable: int, given: int, needed: int) -> None:
        super().__init__(
            f"at least {needed} resamples must have a value for every metric.",
            f"{usable:,} of {given:,}",
            "leave out metrics that often do not exist (ratios of rare rates), or use more "
            "data for each resample.",
        )


class UnknownDatasetError(ComparityError, LookupError):
    """A data set, or a preparation of it, was asked for that is not listed."""

    def __init__(self, what: str, name: object, known: Sequence[str]) -> None:
        near = get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "see `comparity data` for all."
        super().__init__(f"{what} {name!r} is not known.", list_names(known, 20), hint)


class DatasetMissingError(ComparityError, OSError):
    """A data set is neither in the data folder nor may it be fetched."""

    def __init__(self, name: str, places: Sequence[str], home: str) -> None:
        super().__init__(
            f"data set {name!r} is not on this machine.",
            f"no file {list_names(places)}",
            f"`comparity data {name} --fetch` downloads it from {home}, or name a folder that "
            "has it with --data or COMPARITY_DATA.",
        )


class DataHashError(ComparityError, ValueError):
    """A file is not the one that was described."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(
            f"{path} is not the published file: its SHA-256 differs.",
            f"{found}, expected {expected}",
            "delete it and fetch it again, or check where it came from.",
        )


class DownloadError(ComparityError, OSError):
    """A download was refused or failed."""

    def __init__(self, url: str, found: str) -> None:
        super().__init__(
            f"cannot download {url}.",
            found,
            "check the connection, or put the file into the data folder yourself.",
        )


class SeveralContrastsError(ComparityError, AttributeError):
    """One number was asked for where there are several."""

    def __init__(self, contrasts: Sequence[str]) -> None:
        super().__init__(
            "this result has no single number: more than one contrast was tested.",
            f"{len(contrasts):,} contrasts: {list_names(contrasts, 4)}",
            "look at .contrasts (or .matrices), or use to_frame().",
        )


class ReferenceGroupError(ComparityError, LookupError):
    """The group called reference occurs nowhere."""

    def __init__(self, reference: object, groups: Collection[str]) -> None:
        super().__init__(
            f"reference group {reference!r} does not occur.",
            list_names(groups),
            "names are compared exactly; check case and spaces.",
        )


class TooFewRatersError(ComparityError, ValueError):
    """Fewer than two decision makers were named."""

    def __init__(self, found: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            "a comparison needs at least two columns with decisions.",
            f"{list_names(found)}; columns: {list_names(known)}",
            "name them with {} and {}, or all at once with {}.",
            Option("first"),
            Option("second"),
            Option("raters"),
        )


class PairOfSidesError(ComparityError, TypeError):
    """Something was needed for both sets of subjects and not given as a pair."""

    def __init__(self, option: str, found: object) -> None:
        size = f" of length {len(found)}" if isinstance(found, list | tuple) else ""
        super().__init__(
            f"{option} must be a pair: for the subjects of the first, and of the second.",
            f"{type(found).__name__}{size}",
            f"write {option}=(of_the_first, of_the_second).",
        )


class NoBridgeError(ComparityError, ValueError):
    """There is nothing to predict decisions from, or two things."""

    def __init__(self, *, both: bool) -> None:
        super().__init__(
            "a bridge needs either features or predictions.",
            "features and predictions" if both else "neither of them",
            "give features=(X_first, X_second) to fit a regressor, or "
            "predictions=(f_first, f_second) already made.",
        )


class GroupMismatchError(ComparityError, ValueError):
    """A group occurs on one side only."""

    def __init__(self, column: str, first: Collection[str], second: Collection[str]) -> None:
        missing = sorted({*first} ^ {*second})
        super().__init__(
            f"{column} must have the same groups among the subjects of both decision makers.",
            f"{list_names(first)} for the first, {list_names(second)} for the second",
            f"{list_names(missing)} cannot be compared across the bridge; names are compared "
            "exactly, so check how both sides write them.",
        )


class TwoGroupsError(ComparityError, ValueError):
    """A bridge compares two groups, and there are more."""

    def __init__(self, column: str, groups: Collection[str]) -> None:
        super().__init__(
            f"{column} must have exactly two groups to compare across a bridge.",
            f"{len(groups)}: {list_names(groups)}",
            "join groups, or keep the rows of two of them and repeat for every two, with the "
            "p values corrected.",
        )


class FeatureMismatchError(ComparityError, ValueError):
    """The two sets of subjects are not described by the same features."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(
            "both sets of subjects must have the same features.",
            f"{first} for the first, {second} for the second",
            "give the same columns, in the same units, to both sides.",
        )


class TooFewSubjectsError(ComparityError, ValueError):
    """A group is too small for the way errors are to be found."""

    def __init__(self, group: str, side: str, found: int, needed: int, why: str) -> None:
        super().__init__(
            f"group {group!r} of the {side} needs at least {needed} subjects {why}.",
            f"{found}",
            "use fewer folds, join groups, or collect more decisions.",
        )
