"""Errors about one ranking: groups that are not there."""

from __future__ import annotations

from collections.abc import Collection

from comparity.errors.base import ComparityError, listed, message

__all__ = ["UnknownGroupError"]


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
