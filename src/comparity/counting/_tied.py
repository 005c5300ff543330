"""Blocks of items with one score: where they end, and what is in them."""

from __future__ import annotations

import numpy as np

from comparity.counting.compilation import njit

__all__ = ["add_ties", "block_end", "count_levels"]


@njit(cache=True, nogil=True)
def block_end(packed, start, last, bits):  # type: ignore[no-untyped-def]
    """Return the end of the block of tied scores that starts here, most often one item long."""
    end = start + 1
    while end < last and packed[end] >> bits == packed[start] >> bits:
        end += 1
    return end


@njit(cache=True, nogil=True)
def count_levels(packed, mask, level_of, group_of, level, block):  # type: ignore[no-untyped-def]
    """Count the items of a block of tied scores below a level and above it."""
    block[:] = 0.0
    for number in packed:
        code = np.int64(number & mask)
        if level_of[code] < level:
            block[0, group_of[code]] += 1.0
        elif level_of[code] > level:
            block[1, group_of[code]] += 1.0


@njit(cache=True, nogil=True)
def add_ties(codes, level_of, group_of, ties):  # type: ignore[no-untyped-def]
    """Add the pairs with different levels among items with one score, ordered by code."""
    below, equal = np.zeros(len(ties), dtype=np.int64), np.zeros(len(ties), dtype=np.int64)
    here = -1
    for number in codes:
        code = np.int64(number)
        if level_of[code] != here:
            here = level_of[code]
            below += equal
            equal[:] = 0
        own = group_of[code]
        for g in range(len(below)):
            ties[own, g] += below[g]
        equal[own] += 1
