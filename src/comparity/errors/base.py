"""What every error is made of: what was asked, what was found, what to do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from comparity.errors.spelling import visible

__all__ = ["ComparityError", "Offenders", "listed", "message"]


class ComparityError(Exception):
    """Base of every error this package raises about its input."""


@dataclass(frozen=True, slots=True)
class Offenders:
    """Rows that break a contract: how many, and the first few.

    Attributes
    ----------
    count : int
        Number of rows.
    rows : tuple of int
        The first of them, counted from 1 without the header; empty where the engine keeps no order.
    values : tuple of str
        What was found, the first few distinct values.
    """

    count: int
    rows: tuple[int, ...] = ()
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.count:,} row{'' if self.count == 1 else 's'}"
        if self.rows:
            more = ", ..." if self.count > len(self.rows) else ""
            plural = "" if self.count == 1 else "s"
            text += f" (data row{plural} {', '.join(map(str, self.rows))}{more})"
        if self.values:
            text += f", such as {', '.join(map(repr, self.values))}"
        return text


def message(asked: str, found: str, hint: str) -> str:
    """Put the three parts of an error together."""
    # Lists of names are written by repr, which leaves some characters that nobody sees.
    return visible(f"{asked}\n  found: {found}\n  hint:  {hint}", keep="\n")


def listed(names: Collection[object], limit: int = 12) -> str:
    """List names, and say how many there are where they are too many."""
    shown = ", ".join(repr(name) for name in list(names)[:limit])
    return f"{shown}, ... ({len(names):,} in all)" if len(names) > limit else shown or "nothing"
