"""Kernels: the smallest entries of each row, for blocks of distances."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
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
