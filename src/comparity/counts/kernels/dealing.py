"""Sums over a part of all rows, dealt out anew many times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

Floats = NDArray[np.float64]

# Random numbers held in memory at once.
CHUNK = 2_000_000


def sums_of_dealings(
    values: Floats, moved: Floats, size: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw `size` of all rows without replacement, again and again, and sum what was drawn.

    Parameters
    ----------
    values, moved : ndarray, (n,)
        A value and a mark (0 or 1) for each row.
    size, draws : int
        Rows in each draw, and how many draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, (4, draws)
        Sums of values, of their squares, of marks, and of values of marked rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sums_of_dealings(np.arange(3.0), np.array([1.0, 0.0, 0.0]), 3, 1, rng)[:, 0].tolist()
    [3.0, 5.0, 1.0, 0.0]
    """
    order = np.arange(len(values))
    found = np.empty((4, draws))
    part = max(1, CHUNK // size)
    for start in range(0, draws, part):
        chosen = rng.random((min(part, draws - start), size))
        _sum_drawn(values, moved, order, chosen, found[:, start : start + part])
    return found


@njit(cache=True, nogil=True)
def _sum_drawn(
    values: Floats,
    moved: Floats,
    order: NDArray[np.int64],
    chosen: Floats,
    found: Floats,
) -> None:  # pragma: no cover
    """Shuffle the first places of `order` (Fisher and Yates), which may be in any order before."""
    n = len(order)
    draws, size = chosen.shape
    for draw in range(draws):
        total, squares, marks, marked = 0.0, 0.0, 0.0, 0.0
        for place in range(size):
            other = place + int(chosen[draw, place] * (n - place))
            row = order[other]
            order[other] = order[place]
            order[place] = row
            value = values[row]
            total += value
            squares += value * value
            marks += moved[row]
            marked += value * moved[row]
        found[0, draw] = total
        found[1, draw] = squares
        found[2, draw] = marks
        found[3, draw] = marked
