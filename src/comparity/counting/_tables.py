"""Kernel: a table of three columns of small whole numbers in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counting.compilation import njit

MOST = 256
"""Groups have codes from 0 to one less than this."""


@njit(cache=True, nogil=True)
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


BLOCK = 16384


@njit(cache=True, nogil=True)
def tabulate_bytes(
    label: NDArray[np.uint8], prediction: NDArray[np.uint8], group: NDArray[np.uint8]
) -> NDArray[np.int64]:  # pragma: no cover
    """Count rows as `tabulate` does, for bytes and groups below 64; empty if out of range.

    A block of rows becomes a block of bytes without a branch, and two neighbouring bytes are
    counted in one step as one number of 16 bits: half as many steps, for a larger table.
    """
    codes = np.empty(BLOCK, dtype=np.uint8)
    pairs = codes.view(np.uint16)
    seen = np.zeros((2, 65536), dtype=np.uint32)
    total = np.zeros(4 * MOST, dtype=np.int64)
    top = np.uint8(0)
    for start in range(0, len(label), BLOCK):
        stop = min(start + BLOCK, len(label))
        y, c, g = label[start:stop], prediction[start:stop], group[start:stop]
        wrong = np.uint8(0)
        for row in range(stop - start):
            wrong |= ((y[row] | c[row]) >> np.uint8(1)) | (g[row] >> np.uint8(6))
            codes[row] = (g[row] << np.uint8(2)) | (y[row] << np.uint8(1)) | c[row]
            top |= codes[row]
        if wrong:
            return np.zeros(0, dtype=np.int64)
        steps = (stop - start) // 4
        for step in range(steps):
            seen[0, pairs[2 * step]] += np.uint32(1)
            seen[1, pairs[2 * step + 1]] += np.uint32(1)
        for row in range(4 * steps, stop - start):
            total[codes[row]] += 1
    # All codes are within the bits that any of them has.
    for high in range(np.int64(top) + 1):
        for low in range(np.int64(top) + 1):
            times = np.int64(seen[0, 256 * high + low]) + np.int64(seen[1, 256 * high + low])
            total[low] += times
            total[high] += times
    return total
