"""All pairs where labels have few levels: one walk through the items in the order of scores.

A table holds, for every level, how many items of each group were seen below it and how many above
it are still to come: the hits of the next item of that level, as better and as worse item.
Defined by the loops in ``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.dealing import (
    NO_GROUP,
    RECORDS,
    equal_to,
    lanes_for,
    larger_than,
    tell,
)
from comparity.counts.kernels.placements import HELD, Placements, add_held, add_rest
from comparity.counts.kernels.pools import add_pools, add_ties, block_end, count_levels
from comparity.counts.kernels.sorting import sorted_with_codes

__all__ = ["Levels", "level_counts", "level_placements", "levels_of"]

MOST_LEVELS = 64
MOST_CODES = 4096
"""Codes of level and group: their 12 bits leave enough of a score for few stretches."""

SLOTS = 1024
"""Size of the hash table of levels: sparse, and small enough for the fastest cache."""


class Levels(NamedTuple):
    """Items in the order of scores; level and group are one code: ``level * n_groups + group``.

    Attributes
    ----------
    packed, borders : ndarray
        Scores and codes in order, see :func:`comparity.counts.kernels.sorting.sorted_with_codes`.
    sizes : ndarray, (levels, K)
        Number of items by level and group.
    """

    packed: NDArray[np.uint64]
    borders: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def bits(self) -> np.uint64:
        """Bits of a packed number that hold the code."""
        return np.uint64((self.sizes.size - 1).bit_length())

    @property
    def trials(self) -> NDArray[np.int64]:
        """Pairs by group of the better and group of the worse item."""
        return self.sizes.T @ (np.cumsum(self.sizes, axis=0) - self.sizes)


def levels_of(
    y: NDArray[np.float64], f: NDArray[np.float64], group: NDArray[np.int64], n_groups: int
) -> Levels | None:
    """Return the items by level of their label; None where labels have too many levels."""
    if n_groups * 2 > MOST_CODES:
        return None
    distinct, level = _find_levels((y + 0.0).view(np.int64))
    if not len(distinct) or len(distinct) * n_groups > MOST_CODES:
        return None
    rank = np.argsort(np.argsort(distinct.view(np.float64)))
    code, sizes = _coded(level, rank, group, n_groups)
    packed, borders = sorted_with_codes(f, code, sizes.size)
    return Levels(packed, borders, sizes.reshape(-1, n_groups))


def level_counts(
    levels: Levels,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return trials, hits and score ties by group of the better and group of the worse item."""
    n_levels, k = levels.sizes.shape
    ties = np.zeros((k, k), dtype=np.int64)
    level_of, group_of = _split(n_levels, k)
    _count_ties(levels.packed, levels.borders, levels.bits, level_of, group_of, ties)
    hits = np.zeros((k, lanes_for(k)), dtype=np.int64)
    _count_hits(levels.packed, levels.bits, level_of, group_of, hits)
    # Items with one score are in the order of levels, so their pairs were counted, too.
    return levels.trials, hits[:, :k] - ties, ties


def level_placements(levels: Levels, tie: float, *, pooled: bool = False) -> Placements:
    """Return sums and products of the placements of all items.

    Parameters
    ----------
    levels : Levels
    tie : float
        What a score tie counts.
    pooled : bool
        Whether items of one code and nearly the same score may share their mean placement, as
        :func:`comparity.counts.kernels.pools.add_pools` says. Sums stay exact; products lack what
        placements differ within a pool.

    Notes
    -----
    O(N (L + K^2)) time for L levels and O(N) memory; pooled O(N (L + K)) for large N.
    """
    k = levels.sizes.shape[1]
    upto = np.cumsum(levels.sizes, axis=0, dtype=np.float64)
    lower, higher = upto - levels.sizes, upto[-1] - upto
    hits, products, ties = _hits(levels, higher, tie, pooled)
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
    levels: Levels, higher: NDArray[np.float64], tie: float, pooled: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return sums of hits by level and group, their products by group, and score ties."""
    n_levels, k = levels.sizes.shape
    now = np.concatenate([np.zeros_like(higher), higher], axis=1)
    part_of = np.arange(levels.sizes.size) % k
    if n_levels == 2:
        # Half the columns would be zero: the better items' or the worse items'.
        now, part_of = higher.copy(), np.arange(2 * k)
    width = now.shape[1]
    sums, ties = np.zeros((levels.sizes.size, width)), np.zeros((k, k))
    products = np.zeros((part_of[-1] + 1, width, width))
    level_of, group_of = _split(n_levels, k)
    ordered = levels.packed, levels.borders, levels.bits, level_of, group_of
    if pooled:
        add_pools(ordered, now, part_of, tie, sums, products, ties, lanes_for(k))
    else:
        _place(ordered, now, part_of, tie, sums, products, ties)
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
    slots, found = np.empty(SLOTS, dtype=np.int64), np.empty(SLOTS, dtype=np.int64)
    for place in range(SLOTS):
        found[place] = -1
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
def _count_hits(packed, bits, level_of, group_of, hits):  # type: ignore[no-untyped-def]
    """Count the items before each one that have a lower level, by group of both.

    Items come 64 at a time: those before have been counted, the others are bits of a word.
    """
    mask, n_levels, width = (np.uint64(1) << bits) - np.uint64(1), level_of[-1] + 1, hits.shape[1]
    lower, nothing = np.zeros((n_levels, width), np.int64), np.zeros((1, width), np.int64)
    below, groups = np.zeros(n_levels, dtype=np.uint64), np.zeros(width, dtype=np.uint64)
    levels, names = np.empty(RECORDS, dtype=np.uint8), np.empty(RECORDS, dtype=np.uint16)
    for start in range(0, len(packed), RECORDS):
        n = min(RECORDS, len(packed) - start)
        for bit in range(n):
            code = packed[start + bit] & mask
            levels[bit], names[bit] = level_of[code], group_of[code]
        levels[n:], names[n:] = MOST_LEVELS, NO_GROUP
        for group in range(np.uint64(width)):
            groups[group] = equal_to(names, group)
        for level in range(1, n_levels):
            below[level] = ~larger_than(levels, np.uint64(level - 1))
        for bit in range(np.uint64(n)):
            own, name = np.uint64(levels[bit]), np.uint64(names[bit])
            before = below[own] & ((np.uint64(1) << bit) - np.uint64(1))
            tell(hits, name, lower, own, groups, before)
        for level in range(1, n_levels):
            tell(lower, np.uint64(level), nothing, np.uint64(0), groups, below[level])


def _split(n_levels: int, n_groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return level and group of every code: looked up, not divided, for every item."""
    codes = np.arange(n_levels * n_groups)
    return codes // n_groups, codes % n_groups


@njit(cache=True, nogil=True)
def _count_ties(packed, borders, bits, level_of, group_of, ties):  # type: ignore[no-untyped-def]
    """Count the pairs with different levels and one score, by group of both."""
    n_tied = 0
    for position in range(1, len(packed)):
        n_tied += packed[position] >> bits == packed[position - 1] >> bits
    if not n_tied:
        return
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for stretch in range(len(borders) - 1):
        end = borders[stretch]
        while end < borders[stretch + 1]:
            start, end = end, block_end(packed, end, borders[stretch + 1], bits)
            if end - start > 1:
                add_ties(packed[start:end] & mask, level_of, group_of, ties)


@njit(cache=True, nogil=True)
def _place(ordered, now, part_of, tie, sums, products, ties):  # type: ignore[no-untyped-def]
    """Add up the hits of all items, by code, and their products, by part.

    `now` has a row for each level: hits of its next item as better item against each group, then
    as worse item. With two levels an item has one of the roles only, and both share the columns.
    """
    packed, borders, bits, level_of, group_of = ordered
    mask = (np.uint64(1) << bits) - np.uint64(1)
    width, n_groups = now.shape[1], len(ties)
    held, n_held = np.zeros((len(products), HELD, width)), np.zeros(len(products), dtype=np.int64)
    block = np.zeros((2, n_groups))
    for stretch in range(len(borders) - 1):
        end = borders[stretch]
        while end < borders[stretch + 1]:
            start, end = end, block_end(packed, end, borders[stretch + 1], bits)
            here = -1
            for position in range(start, end):
                code = np.int64(packed[position] & mask)
                level, own, part = level_of[code], group_of[code], part_of[code]
                row = held[part, n_held[part]]
                for g in range(width):
                    row[g] = now[level, g]
                if end - start > 1:
                    if level != here:
                        count_levels(packed[start:end], mask, level_of, group_of, level, block)
                        here = level
                    for g in range(n_groups):
                        ties[own, g] += block[0, g]
                        row[g] += tie * block[0, g]
                        row[width - n_groups + g] -= (1.0 - tie) * block[1, g]
                for g in range(width):
                    sums[code, g] += row[g]
                n_held[part] += 1
                if n_held[part] == HELD:
                    add_held(held[part], products[part])
                    n_held[part] = 0
            _see(packed[start:end], mask, level_of, group_of, now)
    add_rest(held, n_held, products)


@njit(cache=True, nogil=True, inline="always")
def _see(block, mask, level_of, group_of, now):  # type: ignore[no-untyped-def]
    """Change the hits of the next items by those that come before them."""
    last = now.shape[1] - group_of[-1] - 1
    for number in block:
        code = np.int64(number & mask)
        level, own = level_of[code], group_of[code]
        for above in range(level + 1, len(now)):
            now[above, own] += 1.0
        for under in range(level):
            now[under, last + own] -= 1.0
