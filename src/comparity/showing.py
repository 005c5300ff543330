"""How results print themselves, and their numbers as plain data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Shown", "listed", "plain"]


class Shown(ABC):
    """A result that prints itself in a terminal and in a notebook.

    What is shown is said by :func:`comparity.reporting.sections.section_of`.
    """

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""

    def __rich__(self) -> RenderableType:
        from comparity.reporting.terminal import view

        return view(self)

    def __str__(self) -> str:
        from comparity.reporting.terminal import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from comparity.reporting.html import fragment

        return fragment(self)


def plain(value: float | None) -> float | None:
    """Return a float that JSON can hold; what is not finite is ``None``.

    Examples
    --------
    >>> plain(0.5), plain(float("nan")), plain(None)
    (0.5, None, None)
    """
    return None if value is None or not math.isfinite(value) else float(value)


def listed(value: Any) -> Any:
    """Return arrays as nested lists with None where there is no number; names as they are.

    Examples
    --------
    >>> listed(np.array([[1.0, np.nan], [2.0, 3.0]]))
    [[1.0, None], [2.0, 3.0]]
    """
    if isinstance(value, np.ndarray):
        return [listed(part) for part in value] if value.ndim else listed(value.item())
    if isinstance(value, float | np.floating):
        return plain(float(value))
    return value.item() if isinstance(value, np.generic) else value
