"""What every answer is: it prints itself in a terminal and a notebook, and becomes plain data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "Shown",
]


class Shown(ABC):
    """A result that prints itself in a terminal and in a notebook.

    What is shown is said by :func:`comparity.reports.sections.section_of`.
    """

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""

    def __rich__(self) -> RenderableType:
        from comparity.reports.terminal import view

        return view(self)

    def __str__(self) -> str:
        from comparity.reports.terminal import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from comparity.reports.page import fragment

        return fragment(self)
