"""Items that comparisons name by text, in place of positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import MissingValueError
from comparity.errors.spelling import is_blank
from comparity.tables.values import rows_of

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
