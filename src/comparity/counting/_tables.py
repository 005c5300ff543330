"""Kernel: a table of three columns of small whole numbers in one pass."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

MOST = 256
"""Groups have codes from 0 to one less than this."""


@numba.njit(cache=True, nogil=True)
def tabulate(
    label: NDArray[Any], prediction: NDArray[Any], group: NDArray[Any]
) -> NDArray[np.int64]:  # pragma: no cover
    """Count rows by group, label and prediction; empty if a value is out of range.

    Four tables take turns, so that equal rows in a row do not wait for each other's count.
    """
    table = np.zeros((4, 4 * MOST), dtype=np.int64)
    for row in range(len(label)):
        y, c, g = np.int64(label[row]), np.int64(prediction[row]), np.int64(group[row])
        if ((y | c) >> 1) | (g >> 8):
            return np.zeros(0, dtype=np.int64)
        table[row & 3, 4 * g + 2 * y + c] += 1
    total: NDArray[np.int64] = table.sum(axis=0)
    return total
