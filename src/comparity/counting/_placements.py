"""Sums over items of what each item's pairs are, role by role and group by group.

The *placement* of an item of group a has 4 K entries: its pairs with each group as better item,
as worse item, and its hits as better item, as worse item. These belong to the cells (a, .), (., a)
and are all that second moments of cells need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Placements", "add_products", "chunks", "moments_by_cell"]

BUFFER = 2**17
"""Placements of many items are multiplied at once: this many numbers stay in the cache."""

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


def chunks(start: int, end: int, width: int) -> list[tuple[int, int]]:
    """Cut items into chunks whose rows of `width` numbers fit into the buffer."""
    size = max(BUFFER // width, 1)
    return [(first, min(first + size, end)) for first in range(start, end, size)]


def add_products(products: Floats, rows: Floats, begins: NDArray[np.int64]) -> None:
    """Add the products of each part of the rows; part p begins at ``begins[p]``."""
    for part in np.flatnonzero(np.diff(begins)):
        placed = rows[begins[part] : begins[part + 1]]
        products[part] += placed.T @ placed


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
