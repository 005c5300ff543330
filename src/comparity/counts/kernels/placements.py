"""Sums over items of what each item's pairs are, role by role and group by group.

The *placement* of an item of group a has 4 K entries: its pairs with each group as better item,
as worse item, and its hits as better item, as worse item. These belong to the cells (a, .), (., a)
and are all that second moments of cells need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

__all__ = [
    "HELD",
    "Placements",
    "add_held",
    "add_rest",
    "moments_by_cell",
    "no_placements",
    "pair_moments",
]

HELD = 8
"""Rows held back until their products are added at once: sums are read and written less often."""

BAND = 4
"""Rows of the products that are cut at the same column left of the diagonal."""

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


def no_placements(k: int) -> Placements:
    """Return the sums over no items."""
    zeros = np.zeros((k, 4 * k)), np.zeros((k, 4 * k, 4 * k)), np.zeros((k, k))
    return Placements(*zeros)


def moments_by_cell(products: Floats) -> Floats:
    """Add up the products of all groups by the cells that their entries belong to."""
    k = len(products)
    # Trials or hits, group of the better item, group of the worse; and the same again.
    moments = np.zeros((2, k, k, 2, k, k))
    # Trials or hits, role of the item, group of the other; and the same again.
    for g, own in enumerate(products.reshape(k, 2, 2, k, 2, 2, k)):
        # Role by role, because cell (g, g) is touched in both.
        moments[:, g, :, :, g, :] += own[:, 0, :, :, 0, :]
        moments[:, g, :, :, :, g] += own[:, 0, :, :, 1, :]
        moments[:, :, g, :, g, :] += own[:, 1, :, :, 0, :]
        moments[:, :, g, :, :, g] += own[:, 1, :, :, 1, :]
    return moments.reshape(2 * k * k, 2 * k * k)


def pair_moments(placed: Placements, tie: float) -> Floats:
    """Return the moments of single pairs: a pair is in one cell, and agrees, ties or does not."""
    trials, hits, ties = placed.trials.ravel(), placed.hits.ravel(), placed.ties.ravel()
    n = np.arange(len(trials))
    s = len(trials) + n
    moments = np.zeros((2 * len(trials), 2 * len(trials)))
    moments[n, n] = trials
    moments[n, s] = moments[s, n] = hits
    # Hits hold `tie` for every score tie, squares of hits its square.
    moments[s, s] = hits - (tie - tie**2) * ties
    return moments


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_held(held, products):  # type: ignore[no-untyped-def]
    """Add the outer products of the eight rows held, at and right of the diagonal.

    Not a matrix product of the linear algebra library: for so narrow matrices that is no faster,
    and where it starts threads on a busy machine it can be a hundred times slower.
    """
    width = held.shape[1]
    for start in range(0, width, BAND):
        # Slices: an index that counts from `start` might be negative, and is not vectorised.
        p, q, r, s = held[0, start:], held[1, start:], held[2, start:], held[3, start:]
        t, u, v, w = held[4, start:], held[5, start:], held[6, start:], held[7, start:]
        for i in range(min(BAND, width - start)):
            a, b, c, d, e, f, g, h = p[i], q[i], r[i], s[i], t[i], u[i], v[i], w[i]
            sums = products[start + i, start:]
            for j in range(len(sums)):
                first = a * p[j] + b * q[j] + c * r[j] + d * s[j]
                sums[j] += first + (e * t[j] + f * u[j] + g * v[j] + h * w[j])


@njit(cache=True, nogil=True)
def add_rest(held, n_held, products):  # type: ignore[no-untyped-def]
    """Add the products of the rows still held in each part, and mirror all at the diagonal."""
    for part in range(len(held)):
        for row in range(n_held[part], held.shape[1]):
            for entry in range(held.shape[2]):
                held[part, row, entry] = 0.0
        add_held(held[part], products[part])
        for i in range(held.shape[2]):
            for j in range(i):
                products[part, i, j] = products[part, j, i]
