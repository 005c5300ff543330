"""Names of items: in place of positions, and as a table of items writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import BlankNameError, DuplicateItemError, MissingValueError
from comparity.errors.spelling import is_blank
from comparity.tables.values import factorise, rows_of

NAMED = 5
"""So many names are said where there may be thousands."""


def list_first(names: Iterable[Any]) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> list_first("abcde"), list_first("abcdefg")
    ('a, b, c, d, e', 'a, b, c, d, e and 2 more')
    """
    every = list(map(str, names))
    more = f" and {len(every) - NAMED:,} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def code_names(pairs: Any) -> tuple[Any, NDArray[Any] | None]:
    """Return positions and the names they stand for, in sorted order; positions as they are.

    Examples
    --------
    >>> positions, names = code_names([["b", "a"], ["a", "c"]])
    >>> positions.tolist(), names.tolist()
    ([[1, 0], [0, 2]], ['a', 'b', 'c'])
    """
    try:
        array = np.asarray(pairs)
    except ValueError:
        # Rows of different lengths: no positions either, which is said there.
        return pairs, None
    texts = array.dtype.kind == "U" or all(isinstance(one, str) for one in array.flat)
    if array.ndim != 2 or not array.size or not texts:
        return pairs, None
    blank = np.array([any(map(is_blank, row)) for row in array.tolist()])
    if blank.any():
        raise MissingValueError("comparisons", "comparisons", rows_of(blank))
    names, codes = np.unique(array.astype(str), return_inverse=True)
    return codes.reshape(array.shape).astype(np.int32), names.astype(object)


def item_names(ids: NDArray[Any], item: str) -> list[str]:
    """Return the names of items in the order of their rows, or say which are missing or repeated.

    Parameters
    ----------
    ids : ndarray
        One for each item.
    item : str
        What the column is called, for the error.

    Examples
    --------
    >>> item_names(np.array([7, 3]), "item")
    ['7', '3']
    """
    codes, names = factorise(ids)
    check_seen(codes, names, item, "items")
    if len(names) < len(codes):
        repeated = np.ones(len(codes), dtype=bool)
        repeated[np.unique(codes, return_index=True)[1]] = False
        raise DuplicateItemError(item, rows_of(repeated, ids))
    # Numbers are written in their order, and items stay in that of their rows.
    return [names[code] for code in codes.tolist()]


def check_seen(codes: NDArray[np.int64], names: Sequence[str], column: str, table: str) -> None:
    """Refuse items without a name, and names of which nothing can be seen."""
    if (codes < 0).any():
        raise MissingValueError(column, table, rows_of(codes < 0))
    blank = np.array([is_blank(name) for name in names], dtype=bool)[codes]
    if blank.any():
        unseen = np.array(names, dtype=object)[codes]
        raise BlankNameError(column, table, rows_of(blank, unseen))
