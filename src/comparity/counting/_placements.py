"""Sums over items of what each item's pairs are, role by role and group by group.

The *placement* of an item of group a has 4 K entries: its pairs with each group as better item,
as worse item, and its hits as better item, as worse item. These belong to the cells (a, .), (., a)
and are all that second moments of cells need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["HELD", "Placements", "add_held", "add_rest", "moments_by_cell"]

HELD = 8
"""Rows held back until their products are added at once: sums are read and written less often."""

Floats = NDArray[np.float64]


class Placements(NamedTuple):
    """Sums over the items of each group, for K groups.

    Attributes
    ----------
    sums : ndarray, (K, 4 K)
        Of placements.
    products : ndarray, (K, 4 K, 4 K)
        Of their outer products.
    ties : ndarray, (K, K)
        Pairs with equal scores by group of the better and group of the worse item.
    """

    sums: Floats
    products: Floats
    ties: Floats

    @property
    def trials(self) -> Floats:
        """Pairs by group of the better and group of the worse item."""
        return self.sums[:, : len(self.ties)]

    @property
    def hits(self) -> Floats:
        """Hits by group of the better and group of the worse item."""
        k = len(self.ties)
        return self.sums[:, 2 * k : 3 * k]


def moments_by_cell(products: Floats) -> Floats:
    """Add up the products of all groups by the cells that their entries belong to."""
    k = len(products)
    codes = np.arange(k * k).reshape(k, k)
    moments = np.zeros((2 * k * k, 2 * k * k))
    for g in range(k):
        touched = np.concatenate([codes[g], codes[:, g]])
        entries = np.concatenate([touched, k * k + touched])
        # Cell (g, g) is touched in both roles: its entries come twice and must be added.
        np.add.at(moments, np.ix_(entries, entries), products[g])
    return moments


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_held(held, products):  # type: ignore[no-untyped-def]
    """Add the outer products of the rows held.

    Not a matrix product of the linear algebra library: for so narrow matrices that is no faster,
    and where it starts threads on a busy machine it can be a hundred times slower.
    """
    width = held.shape[1]
    for i in range(width):
        a, b, c, d = held[0, i], held[1, i], held[2, i], held[3, i]
        e, f, g, h = held[4, i], held[5, i], held[6, i], held[7, i]
        for j in range(width):
            first = a * held[0, j] + b * held[1, j] + c * held[2, j] + d * held[3, j]
            second = e * held[4, j] + f * held[5, j] + g * held[6, j] + h * held[7, j]
            products[i, j] += first + second


@njit(cache=True, nogil=True)
def add_rest(held, n_held, products):  # type: ignore[no-untyped-def]
    """Add the products of the rows still held in each part."""
    for part in range(len(held)):
        held[part, n_held[part] :] = 0.0
        add_held(held[part], products[part])
