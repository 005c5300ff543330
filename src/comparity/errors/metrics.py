"""Errors about metrics of privileged and unprivileged groups, and about published data sets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from comparity.errors.base import ComparityError, listed, message

__all__ = [
    "DataHashError",
    "DatasetMissingError",
    "DownloadError",
    "FeatureError",
    "NoSuchEntryError",
    "NoUnprivilegedError",
    "TooFewResamplesError",
    "UnknownDatasetError",
    "UnknownMetricError",
    "UnknownPrivilegedError",
]


class UnknownPrivilegedError(ComparityError, LookupError):
    """A group called privileged does not occur in the data."""

    def __init__(self, privileged: Collection[object], column: str, known: Sequence[str]) -> None:
        super().__init__(
            message(
                f"privileged value {listed(list(privileged))} does not occur in column {column!r}.",
                listed(known),
                "names are compared exactly; check case and spaces.",
            )
        )


class NoUnprivilegedError(ComparityError, ValueError):
    """Every group is privileged, so that nobody is left to compare with."""

    def __init__(self, column: str, groups: Sequence[str]) -> None:
        super().__init__(
            message(
                f"column {column!r} must have a group that is not privileged.",
                f"all of {listed(groups)} called privileged",
                "name only the groups that have the advantage with privileged=.",
            )
        )


class FeatureError(ComparityError, ValueError):
    """Features are not a matrix of finite numbers."""

    def __init__(self, asked: str, found: str) -> None:
        super().__init__(
            message(
                f"X must hold {asked}.",
                found,
                "encode text as numbers and fill in gaps; one row for each label.",
            )
        )


class NoSuchEntryError(ComparityError, LookupError):
    """A result was asked for an entry that it does not have."""

    def __init__(self, kind: str, name: object, known: Sequence[str]) -> None:
        near = get_close_matches(str(name), known, n=1)
        super().__init__(
            message(
                f"this result has no {kind} {name!r}.",
                listed(known, 40),
                f"did you mean {near[0]!r}?" if near else "names are compared exactly.",
            )
        )


class UnknownMetricError(ComparityError, LookupError):
    """A metric was asked for that the catalogue does not have."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        super().__init__(
            message(
                f"metric {name!r} is not in the catalogue.",
                f"{len(known)} metrics, from {known[0]} to {known[-1]}",
                "use an id such as C0 or D3, or a name as in comparity.metrics.",
            )
        )


class TooFewResamplesError(ComparityError, ValueError):
    """Too few resamples have a value for every metric."""

    def __init__(self, usable: int, given: int, needed: int) -> None:
        super().__init__(
            message(
                f"at least {needed} resamples must have a value for every metric.",
                f"{usable:,} of {given:,}",
                "leave out metrics that often do not exist (ratios of rare rates), or use more "
                "data for each resample.",
            )
        )


class UnknownDatasetError(ComparityError, LookupError):
    """A data set, or a preparation of it, was asked for that is not listed."""

    def __init__(self, what: str, name: object, known: Sequence[str]) -> None:
        near = get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "see `comparity data` for all."
        super().__init__(message(f"{what} {name!r} is not known.", listed(known, 20), hint))


class DatasetMissingError(ComparityError, OSError):
    """A data set is neither in the data folder nor may it be fetched."""

    def __init__(self, name: str, places: Sequence[str], home: str) -> None:
        super().__init__(
            message(
                f"data set {name!r} is not on this machine.",
                f"no file {listed(places)}",
                f"`comparity data {name} --fetch` downloads it from {home}, or name a folder that "
                "has it with --data or COMPARITY_DATA.",
            )
        )


class DataHashError(ComparityError, ValueError):
    """A file is not the one that was described."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(
            message(
                f"{path} is not the published file: its SHA-256 differs.",
                f"{found}, expected {expected}",
                "delete it and fetch it again, or check where it came from.",
            )
        )


class DownloadError(ComparityError, OSError):
    """A download was refused or failed."""

    def __init__(self, url: str, found: str) -> None:
        super().__init__(
            message(
                f"cannot download {url}.",
                found,
                "check the connection, or put the file into the data folder yourself.",
            )
        )
