"""Types of data as people pass them: frames, columns, and attributes of groups.

They are protocols, so that no engine has to be installed for them: a frame is whatever narwhals
takes for one, a column is an array, a list or a series of any engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike


@runtime_checkable
class Series(Protocol):
    """A column of any engine, or any other array: it has a length and can become a numpy array."""

    def __len__(self) -> int: ...

    def __array__(self, *args: Any, **choices: Any) -> Any: ...


Frame: TypeAlias = IntoFrame
"""A frame of pandas, Polars, PyArrow, DuckDB, Spark or another engine that narwhals knows."""

Column: TypeAlias = ArrayLike | Series | Sequence[object]
"""One value for each row: an array, a list, or a series of any engine; values may be missing."""

Attributes: TypeAlias = Column | Mapping[str, Column] | Frame
"""One attribute as a column, or several as a mapping or as the columns of a frame."""

Matrix: TypeAlias = ArrayLike | Frame
"""Features: a row for each item, a column for each feature."""

Comparisons: TypeAlias = ArrayLike | Sequence[Sequence[object]] | Frame
"""Pairs of items, better first, by position or by name; or a frame with such columns."""

Raters: TypeAlias = Mapping[str, Column] | Frame
"""Decisions of several decision makers: a column for each."""
