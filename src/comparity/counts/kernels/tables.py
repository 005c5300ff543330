"""A table of small whole numbers in one pass, and the smallest entries of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

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


@njit(cache=True, nogil=True)
def smallest(
    block: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:  # pragma: no cover
    """Return the positions and values of the k + 1 smallest entries of each row, in order.

    Of equal entries the one further left is the smaller. The value after the k-th tells whether
    the k-th is tied.
    """
    rows, columns = block.shape
    wanted = min(k + 1, columns)
    places = np.zeros((rows, wanted), dtype=np.int64)
    values = np.full((rows, wanted), np.inf, dtype=block.dtype)
    for row in range(rows):
        last = np.inf
        for column in range(columns):
            value = block[row, column]
            if value < last:
                place = wanted - 1
                while place > 0 and values[row, place - 1] > value:
                    values[row, place] = values[row, place - 1]
                    places[row, place] = places[row, place - 1]
                    place -= 1
                values[row, place] = value
                places[row, place] = column
                last = values[row, wanted - 1]
    return places, values


@njit(cache=True, nogil=True, fastmath=True)
def probed(
    data: NDArray[np.float32],
    starts: NDArray[np.int64],
    heaps: NDArray[np.int64],
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:  # pragma: no cover
    """Return the k + 1 nearest items of each item in some heaps, and their squared distances.

    Parameters
    ----------
    data : ndarray, (n, d)
        Items sorted by heap: heap h holds ``starts[h]`` to ``starts[h + 1]``.
    starts : ndarray of int
        Where heaps begin, and the end of the last.
    heaps : ndarray of int, (n, probes)
        The heaps in which each item looks, its own first.
    k : int
        Neighbours, the item itself included.
    """
    n, d = data.shape
    items = np.zeros((n, k + 1), dtype=np.int64)
    squares = np.full((n, k + 1), np.inf, dtype=np.float32)
    for row in range(n):
        last = np.float32(np.inf)
        for heap in heaps[row]:
            for item in range(starts[heap], starts[heap + 1]):
                square = np.float32(0)
                for column in range(d):
                    step = data[row, column] - data[item, column]
                    square += step * step
                if square < last:
                    place = k
                    while place > 0 and squares[row, place - 1] > square:
                        squares[row, place] = squares[row, place - 1]
                        items[row, place] = items[row, place - 1]
                        place -= 1
                    squares[row, place] = square
                    items[row, place] = item
                    last = squares[row, k]
    return items, squares
