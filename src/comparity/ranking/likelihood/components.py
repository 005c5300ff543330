"""Parts of the items that comparisons join, whatever their outcome or along "was put above".

Parts are found by sweeps over comparisons as they stand, which need a byte or a number for each
item. A matrix of comparisons, which general algorithms ask for, takes longer to sort than the
sweeps take (at 10**7 comparisons, two core-seconds instead of half of one).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from comparity.counts.kernels.compilation import njit

Longs = NDArray[np.int64]
Positions = NDArray[Any]

MOST_SWEEPS = 40
"""Sweeps over comparisons after which a matrix is quicker: chains of items that lost to the next
one take a sweep for each item, pairs drawn at random about five."""


def joined_parts(one: Positions, two: Positions, n_items: int) -> Longs:
    """Return the part of each item that comparisons join, numbered by their first items.

    Examples
    --------
    >>> joined_parts(np.array([0, 3]), np.array([2, 4]), 5).tolist()
    [0, 1, 0, 2, 2]
    """
    first = np.arange(n_items)
    _join(one, two, first)
    numbers: Longs = np.cumsum(first == np.arange(n_items)) - 1
    return numbers[first]


def strong_parts(above: Positions, below: Positions, n_items: int) -> Longs:
    """Return the part of each item in which every item leads to every other along wins.

    Items that never won, or never lost, against any of the rest are parts of their own. They are
    taken away first, again and again; what is left is most often one part, in which everything
    leads to its first item and back.

    Examples
    --------
    >>> len(set(strong_parts(np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0]), 4).tolist()))
    2
    """
    left = np.ones(n_items, np.bool_)
    if _trim(above, below, left):
        start = int(left.argmax())
        if not left.any() or all(
            _reaches_all(one, two, left, start) for one, two in ((above, below), (below, above))
        ):
            part = np.zeros(n_items, np.int64)
            part[~left] = np.arange(n_items - int(left.sum())) + int(left.any())
            return part
    ends = (np.ones(len(above), np.int8), (below, above))
    graph = coo_array(ends, shape=(n_items, n_items)).tocsr()
    return np.asarray(connected_components(graph, connection="strong")[1], dtype=np.int64)


@njit(cache=True, nogil=True)
def _join(one, two, first):  # type: ignore[no-untyped-def]
    """Fill in the first item of the part of each, starting from each item as its own."""
    for p in range(len(one)):
        i, j = one[p], two[p]
        # Each item passed is joined to its grandparent, so that ways stay short.
        while first[i] != i:
            first[i] = first[first[i]]
            i = first[i]
        while first[j] != j:
            first[j] = first[first[j]]
            j = first[j]
        if i < j:
            first[j] = i
        else:
            first[i] = j
    for i in range(len(first)):
        first[i] = first[first[i]]


@njit(cache=True, nogil=True)
def _trim(above, below, left):  # type: ignore[no-untyped-def]
    """Take away items that won or lost against none of those left; say whether that came to rest.

    Bit 1 of an item says that it won, bit 2 that it lost.
    """
    for _ in range(MOST_SWEEPS):
        seen = np.zeros(len(left), np.uint8)
        for p in range(len(above)):
            one, two = above[p], below[p]
            if left[one] and left[two]:
                seen[one] |= 1
                seen[two] |= 2
        gone = False
        for i in range(len(left)):
            if left[i] and seen[i] != 3:
                left[i], gone = False, True
        if not gone:
            return True
    return False


@njit(cache=True, nogil=True)
def _reaches_all(one, two, left, start):  # type: ignore[no-untyped-def]
    """Return whether ways from `one` to `two` lead from the start to all items left.

    No, too, where that takes too many sweeps to tell.
    """
    reached = np.zeros(len(left), np.bool_)
    reached[start], found, aim = True, 1, left.sum()
    for _ in range(MOST_SWEEPS):
        before = found
        for p in range(len(one)):
            if reached[one[p]] and left[two[p]] and not reached[two[p]]:
                reached[two[p]] = True
                found += 1
        if found in (aim, before):
            break
    return found == aim
