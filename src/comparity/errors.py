"""Errors that say what was asked, what was found and what to do."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ComparityError", "IncompatibleCountsError", "MissingEngineError"]


class ComparityError(Exception):
    """Base of every error this package raises about its input."""


class IncompatibleCountsError(ComparityError, ValueError):
    """Counts were added that do not speak of the same things."""

    def __init__(self, what: str, found: Sequence[object]) -> None:
        super().__init__(
            f"these counts cannot be added: their {what} differ.\n"
            f"  found: {', '.join(map(repr, found))}\n"
            f"  hint:  count every part against the same item table, all with evaluators or none."
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
