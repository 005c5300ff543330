"""Who is above whom in label and in score, from a table of items by bin of score.

A row of the table stands for items of one group with one label whose scores lie in one bin. Bins
are walked through from the lowest scores on, while what was met is kept by label and group. Pairs
of items in different bins are ordered for certain. Of two items in one bin the scores tie if the
bin holds a single score; otherwise nobody knows, and half a hit is counted.

Defined by the loops over items in ``tests/plain/binned_pairs.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

PARTS = 6
"""Trials, certain or half hits, and ties of an item, each as the better item and as the worse."""


class BinnedRows(NamedTuple):
    """BinnedRows of a table, in the order of bins, then of labels.

    Attributes
    ----------
    place : ndarray of int
        The bin, numbered by score.
    level, group : ndarray of int
        Label and group.
    weight, square : ndarray of float
        Sums of the weights of the items of the row, and of these squared.
    single : ndarray of bool
        Whether all scores of the bin are equal.
    """

    place: Codes
    level: Codes
    group: Codes
    weight: Floats
    square: Floats
    single: NDArray[np.bool_]


class Met(NamedTuple):
    """Weights of the items in lower bins, (labels, groups): with lower labels, and with higher."""

    lower: Floats
    higher: Floats


class Swept(NamedTuple):
    """Sums over pairs, and over items, by group.

    Attributes
    ----------
    hits, ties, doubt : ndarray, (K, K)
        Weights of pairs that agree for certain, that tie, and that nobody knows about, by group of
        the better and of the worse item.
    products : ndarray, (K, 6 K, 6 K)
        Products of what the pairs of each item are, with half of the doubt among the hits.
    doubts : ndarray, (K, 2 K, 2 K)
        Products of half of the doubt of each item, as better item and as worse.
    """

    hits: Floats
    ties: Floats
    doubt: Floats
    products: Floats
    doubts: Floats


def nothing_met(n_levels: int, n_groups: int) -> Met:
    """Return what is met before the lowest bin."""
    return Met(np.zeros((n_levels, n_groups)), np.zeros((n_levels, n_groups)))


def nothing_swept(n_groups: int, *, products: bool = True) -> Swept:
    """Return sums over no row; without places for products where nobody asks for them."""
    size = n_groups if products else 0
    square = np.zeros((3, n_groups, n_groups))
    whole = np.zeros((size, PARTS * size, PARTS * size))
    return Swept(square[0], square[1], square[2], whole, np.zeros((size, 2 * size, 2 * size)))


@njit(cache=True, nogil=True)
def sweep(rows, below, above, met, swept):  # type: ignore[no-untyped-def]
    """Add rows of higher bins than any before.

    `below` and `above` are the weights of all items with lower and with higher labels, (labels,
    groups).
    """
    place, level, group, weight, square, single = rows
    k = swept[0].shape[0]
    total, upto, block = np.zeros(k), np.zeros(k), np.zeros(k)
    end = 0
    while end < len(place):
        start = end
        total[:] = 0.0
        while end < len(place) and place[end] == place[start]:
            total[group[end]] += weight[end]
            end += 1
        upto[:] = 0.0
        last = start
        while last < end:
            first = last
            block[:] = 0.0
            while last < end and level[last] == level[first]:
                block[group[last]] += weight[last]
                last += 1
            for row in range(first, last):
                beside = upto, np.maximum(total - upto - block, 0.0)
                item = level[row], group[row], weight[row], square[row], single[row]
                _add_row(item, beside, below, above, met, swept)
            upto += block
        _meet(level[start:end], group[start:end], weight[start:end], met)


@njit(cache=True, nogil=True)
def _add_row(item, beside, below, above, met, swept):  # type: ignore[no-untyped-def]
    """Add the pairs of the items of one row; `beside` are those in its bin, by label."""
    level, own, weight, square, single = item
    hits, ties, doubt, products, doubts = swept
    k = len(hits)
    for g in range(k):
        hits[own, g] += weight * met[0][level, g]
        if single:
            ties[own, g] += weight * beside[0][g]
        else:
            doubt[own, g] += weight * beside[0][g]
    if not len(products):
        return
    entries, unknown = np.zeros(PARTS * k), np.zeros(2 * k)
    for g in range(k):
        entries[g] = below[level, g]
        entries[k + g] = above[level, g]
        entries[2 * k + g] = met[0][level, g]
        entries[3 * k + g] = above[level, g] - met[1][level, g] - beside[1][g]
        for role in range(2):
            if single:
                entries[(4 + role) * k + g] = beside[role][g]
            else:
                unknown[role * k + g] = beside[role][g] / 2
                entries[(2 + role) * k + g] += unknown[role * k + g]
    for i in range(PARTS * k):
        times = square * entries[i]
        if times != 0.0:
            for j in range(i, PARTS * k):
                products[own, i, j] += times * entries[j]
    if not single:
        for i in range(2 * k):
            for j in range(2 * k):
                doubts[own, i, j] += square * unknown[i] * unknown[j]


@njit(cache=True, nogil=True)
def _meet(level, group, weight, met):  # type: ignore[no-untyped-def]
    """Let the rows of a bin be below what comes."""
    n_levels = len(met[0])
    for row in range(len(level)):
        for higher in range(level[row] + 1, n_levels):
            met[0][higher, group[row]] += weight[row]
        for lower in range(level[row]):
            met[1][lower, group[row]] += weight[row]


@njit(cache=True, nogil=True)
def doubt_by_bin(place, level, group, weight, n_bins, n_groups):  # type: ignore[no-untyped-def]
    """Return the weights of pairs within each bin, (bins, K, K), whatever the bin holds."""
    found = np.zeros((n_bins, n_groups, n_groups))
    upto = np.zeros(n_groups)
    end = 0
    while end < len(place):
        start = end
        upto[:] = 0.0
        while end < len(place) and place[end] == place[start]:
            first = end
            while end < len(place) and place[end] == place[start] and level[end] == level[first]:
                for g in range(n_groups):
                    found[place[start], group[end], g] += weight[end] * upto[g]
                end += 1
            for row in range(first, end):
                upto[group[row]] += weight[row]
    return found
