"""Errors about policies of a gate, and about results read back from files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from comparity.errors.base import ComparityError, listed, message

__all__ = [
    "ForeignResultError",
    "PolicyAuditError",
    "PolicyError",
    "UnknownKeyError",
]


class PolicyError(ComparityError, ValueError):
    """A policy cannot be read, or says something that cannot be followed."""

    def __init__(self, where: str, asked: str, found: str, hint: str) -> None:
        super().__init__(message(f"{where}: {asked}", found, hint))


class UnknownKeyError(PolicyError):
    """A policy has a key nobody knows: a misspelt margin must not become a default one."""

    def __init__(self, where: str, key: str, known: Collection[str]) -> None:
        near = get_close_matches(key, known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {listed(known, 40)}."
        super().__init__(where, f"{key!r} is not known here.", f"{key!r}", hint)
        self.key = key


class PolicyAuditError(ComparityError, ValueError):
    """An audit of a policy could not be made, so nothing can be said about it."""

    def __init__(self, name: str, error: ComparityError) -> None:
        super().__init__(f"audit {name!r}: {error}")
        self.name = name


class ForeignResultError(ComparityError, ValueError):
    """A file does not hold a result that ``--json`` printed."""

    def __init__(self, source: str, found: str, kinds: Sequence[str]) -> None:
        super().__init__(
            message(
                f"{source} does not hold a result of comparity.",
                found,
                "give files that --json printed, unchanged; where another version did, run its "
                f"command again. Shown are {', '.join(kinds)}.",
            )
        )
