"""All pairs where labels have few levels: one walk through the items in the order of scores.

A table holds, for every level, how many items of each group were seen below it and how many above
it are still to come: the hits of the next item of that level, as better and as worse item.
Defined by the loops in ``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from comparity.counting._placements import Placements, add_products, chunks
from comparity.counting._sorting import sorted_with_codes

__all__ = ["Levels", "level_counts", "level_placements", "levels_of"]

MOST_LEVELS = 64
MOST_CODES = 4096
"""Codes of level and group: their 12 bits leave enough of a score for few stretches."""

SLOTS = 1024
"""Size of the hash table of levels: sparse, and small enough for the fastest cache."""


class Levels(NamedTuple):
    """Level and group of every item in one code: ``level * n_groups + group``."""

    code: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    """Number of items by level and group."""


def levels_of(y: NDArray[np.float64], group: NDArray[np.int64], n_groups: int) -> Levels | None:
    """Return the items by level of their label; None where labels have too many levels."""
    if n_groups * 2 > MOST_CODES:
        return None
    distinct, level = _find_levels((y + 0.0).view(np.int64))
    if not len(distinct) or len(distinct) * n_groups > MOST_CODES:
        return None
    rank = np.argsort(np.argsort(distinct.view(np.float64)))
    code, sizes = _coded(level, rank, group, n_groups)
    return Levels(code, sizes.reshape(-1, n_groups))


def level_counts(
    levels: Levels, f: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return hits and score ties by group of the better and group of the worse item."""
    packed, borders = sorted_with_codes(f, levels.code, levels.sizes.size)
    bits = np.uint64((levels.sizes.size - 1).bit_length())
    hits, ties = _count_hits(packed, borders, bits, *levels.sizes.shape)
    return hits, ties


def level_placements(levels: Levels, f: NDArray[np.float64], tie: float) -> Placements:
    """Return sums and products of the placements of all items.

    O(N log N + N (L + K^2)) time for L levels, O(N) memory.
    """
    k = levels.sizes.shape[1]
    upto = np.cumsum(levels.sizes, axis=0, dtype=np.float64)
    lower, higher = upto - levels.sizes, upto[-1] - upto
    hits, products, ties = _hits(levels, f, higher, tie)
    trials = np.concatenate([lower, higher], axis=1)
    times = levels.sizes.T[:, :, None]
    moments = np.zeros((k, 4 * k, 4 * k))
    moments[:, 2 * k :, 2 * k :] = products
    moments[:, : 2 * k, : 2 * k] = trials.T @ (times * trials)
    moments[:, : 2 * k, 2 * k :] = np.einsum("lt,lgh->gth", trials, hits)
    moments[:, 2 * k :, : 2 * k] = moments[:, : 2 * k, 2 * k :].transpose(0, 2, 1)
    sums = np.concatenate([levels.sizes.T @ trials, hits.sum(axis=0)], axis=1)
    return Placements(sums=sums, products=moments, ties=ties)


def _hits(
    levels: Levels, f: NDArray[np.float64], higher: NDArray[np.float64], tie: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return sums of hits by level and group, their products by group, and score ties."""
    n_levels, k = levels.sizes.shape
    packed, borders = sorted_with_codes(f, levels.code, levels.sizes.size)
    bits = np.uint64((levels.sizes.size - 1).bit_length())
    now = np.concatenate([np.zeros_like(higher), higher], axis=1)
    part_of = np.arange(levels.sizes.size) % k
    if n_levels == 2:
        # Half the columns would be zero: the better items' or the worse items'.
        now, part_of = higher.copy(), np.arange(2 * k)
    width = now.shape[1]
    sums, ties = np.zeros((levels.sizes.size, width)), np.zeros((k, k))
    products = np.zeros((part_of[-1] + 1, width, width))
    walk = np.array([0, 0, -1]), np.zeros((3, k))
    rows = np.empty((chunks(0, len(f), width)[0][1], width))
    for first, last in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        for start, stop in chunks(first, last, width):
            state = bits, now, part_of, tie, walk, sums, ties, rows
            begins = _fill_rows(packed, start, stop, last, *state)
            add_products(products, rows, begins)
    if n_levels == 2:
        return *_both_roles(sums, products, k), ties
    return sums.reshape(n_levels, k, 2 * k), products, ties


def _both_roles(
    sums: NDArray[np.float64], products: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Spread sums and products of two levels: the lower has worse items only, the higher better."""
    spread, apart = np.zeros((2, k, 2 * k)), np.zeros((k, 2 * k, 2 * k))
    spread[0, :, k:], spread[1, :, :k] = sums[:k], sums[k:]
    apart[:, k:, k:], apart[:, :k, :k] = products[:k], products[k:]
    return spread, apart


@njit(cache=True, nogil=True)
def _find_levels(numbers):  # type: ignore[no-untyped-def]
    """Give numbers to labels in the order they come in; no label if there are too many.

    `numbers` are the bits of the labels, without negative zeros.
    """
    slots, found = np.empty(SLOTS, dtype=np.int64), np.full(SLOTS, -1)
    distinct = np.empty(MOST_LEVELS, dtype=np.int64)
    level = np.empty(len(numbers), dtype=np.uint8)
    n_levels = 0
    for position in range(len(numbers)):
        number = numbers[position]
        slot = np.int64((np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(54))
        while found[slot] >= 0 and slots[slot] != number:
            slot = (slot + 1) % SLOTS
        if found[slot] < 0:
            if n_levels == MOST_LEVELS:
                return distinct[:0], level
            slots[slot], found[slot], distinct[n_levels] = number, n_levels, number
            n_levels += 1
        level[position] = found[slot]
    return distinct[:n_levels], level


@njit(cache=True, nogil=True)
def _coded(level, rank, group, n_groups):  # type: ignore[no-untyped-def]
    """Return one code for level and group, and how many items have each."""
    code = np.empty(len(level), dtype=np.uint16)
    sizes = np.zeros(len(rank) * n_groups, dtype=np.int64)
    for position in range(len(level)):
        number = rank[level[position]] * n_groups + group[position]
        code[position] = number
        sizes[number] += 1
    return code, sizes


@njit(cache=True, nogil=True)
def _count_hits(packed, borders, bits, n_levels, n_groups):  # type: ignore[no-untyped-def]
    """Count hits and score ties by group of the better and group of the worse item."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    level_of, group_of = _split(n_levels, n_groups)
    lower = np.zeros((n_levels, n_groups), dtype=np.int64)
    hits = np.zeros((n_groups, n_groups), dtype=np.int64)
    ties = np.zeros((n_groups, n_groups), dtype=np.int64)
    for stretch in range(len(borders) - 1):
        position, last = borders[stretch], borders[stretch + 1]
        while position < last:
            value = packed[position] >> bits
            first = position
            while position < last and packed[position] >> bits == value:
                code = np.int64(packed[position] & mask)
                level, own = level_of[code], group_of[code]
                if level:
                    for g in range(n_groups):
                        hits[own, g] += lower[level, g]
                position += 1
            if position - first > 1:
                _count_ties(packed[first:position] & mask, level_of, group_of, ties)
            for seen in range(first, position):
                code = np.int64(packed[seen] & mask)
                own = group_of[code]
                for above in range(level_of[code] + 1, n_levels):
                    lower[above, own] += 1
    return hits, ties


@njit(cache=True, nogil=True)
def _split(n_levels, n_groups):  # type: ignore[no-untyped-def]
    """Return level and group of every code: looked up, not divided, for every item."""
    codes = np.arange(n_levels * n_groups)
    return codes // n_groups, codes % n_groups


@njit(cache=True, nogil=True)
def _count_ties(codes, level_of, group_of, ties):  # type: ignore[no-untyped-def]
    """Count the pairs with different labels among items with one score, ordered by code."""
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


@njit(cache=True, nogil=True)
def _fill_rows(packed, start, stop, last, bits, now, part_of, tie, walk, sums, ties, rows):  # type: ignore[no-untyped-def]
    """Write the hits of the items from `start` to `stop` into rows, part by part.

    `now` has a row for each level: hits of its next item as better item against each group, then
    as worse item. With two levels an item has one of the roles only, and both share the columns.
    `last` is the end of the stretch, `walk` what is carried from chunk to chunk. Rows are added to
    `sums` by code, score ties to `ties` by groups. Returned is where each part of the rows begins.
    """
    mask = (np.uint64(1) << bits) - np.uint64(1)
    ends, block = walk
    n_groups, width = block.shape[1], now.shape[1]
    level_of, group_of = _split(len(now), n_groups)
    begins = _part_begins(packed[start:stop], mask, part_of)
    place = begins.copy()
    for position in range(start, stop):
        code = np.int64(packed[position] & mask)
        level, part = level_of[code], part_of[code]
        row = rows[place[part]]
        place[part] += 1
        for g in range(width):
            row[g] = now[level, g]
        if position == ends[1]:
            _begin_block(packed[position:last], bits, mask, group_of, position, walk)
        if ends[1] - ends[0] > 1:
            if level != ends[2]:
                ends[2] = level
                _next_level(packed[position : ends[1]], mask, level_of, group_of, block)
            for g in range(n_groups):
                ties[group_of[code], g] += block[0, g]
                row[g] += tie * block[0, g]
                row[width - n_groups + g] -= (1.0 - tie) * block[2, g]
        for g in range(width):
            sums[code, g] += row[g]
        if position + 1 == ends[1]:
            for seen in range(ends[0], ends[1]):
                _see(np.int64(packed[seen] & mask), level_of, group_of, now)
    return begins


@njit(cache=True, nogil=True)
def _part_begins(packed, mask, part_of):  # type: ignore[no-untyped-def]
    sizes = np.zeros(part_of[-1] + 2, dtype=np.int64)
    for number in packed:
        sizes[part_of[np.int64(number & mask)] + 1] += 1
    return np.cumsum(sizes)


@njit(cache=True, nogil=True)
def _see(code, level_of, group_of, now):  # type: ignore[no-untyped-def]
    """Note that an item is seen: it is below higher levels now, and no longer to come for lower."""
    level, own = level_of[code], group_of[code]
    for above in range(level + 1, len(now)):
        now[above, own] += 1.0
    as_worse = now.shape[1] - group_of[-1] - 1 + own
    for under in range(level):
        now[under, as_worse] -= 1.0


@njit(cache=True, nogil=True)
def _begin_block(packed, bits, mask, group_of, position, walk):  # type: ignore[no-untyped-def]
    """Begin a block of tied scores, most often of one item: all its items are above."""
    ends, block = walk
    size = 1
    while size < len(packed) and packed[size] >> bits == packed[0] >> bits:
        size += 1
    ends[0], ends[1], ends[2] = position, position + size, -1
    if size > 1:
        block[:] = 0.0
        for number in packed[:size]:
            block[2, group_of[np.int64(number & mask)]] += 1.0


@njit(cache=True, nogil=True)
def _next_level(packed, mask, level_of, group_of, block):  # type: ignore[no-untyped-def]
    """Move on to the level of the first of the items left in a block of tied scores."""
    block[0] += block[1]
    block[1] = 0.0
    level = level_of[np.int64(packed[0] & mask)]
    for number in packed:
        code = np.int64(number & mask)
        if level_of[code] != level:
            break
        block[1, group_of[code]] += 1.0
    block[2] -= block[1]
