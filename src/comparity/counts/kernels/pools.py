"""Hits of many items of few levels, with products where neighbours share a mean; blocks of ties.

Hits of an item are the items of lower levels before it in the order of scores, as better item, and
those of higher levels still to come, as worse item. For the products of hits it is enough to know
the mean hits of each code (level and group) in some hundred pools of neighbours.
"""

from __future__ import annotations

import numpy as np

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.dealing import NO_GROUP, RECORDS, equal_to, larger_than, tell
from comparity.counts.kernels.placements import HELD, add_held, add_rest

__all__ = [
    "add_pools",
    "add_ties",
    "block_end",
    "count_levels",
]


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


POOLS = 0.4
"""Pools of items with nearly the same score, for the root of the number of items: 126 for 10^5."""


ENOUGH, SHARED = 126, 20
"""More pools than enough only where that leaves so many items for every code of a pool."""


ONE, TWO = np.uint64(1), np.uint64(2)


NOTHING = np.uint64(0)


@njit(cache=True, nogil=True)
def add_pools(ordered, now, part_of, tie, sums, products, ties, lanes):  # type: ignore[no-untyped-def]
    """Add up the hits of all items, by code, and products of their means in pools, by part.

    `now` has a row for each level: hits of an item before all others, as better item against each
    group, then as worse item. With two levels an item has one of the roles only, and both share
    the columns. Rows of `lanes` numbers are whole vectors.

    A pool ends after a given number of changes of level from one item to the next. Hits change
    with every item of another level, and only then: while items of one level follow each other,
    as they do where scores agree with labels, any number may share a pool. So the error is a
    small share of the variance however small that is. It is always to the low side.
    """
    packed, _, bits, level_of, group_of = ordered
    mask, n_codes = (ONE << bits) - ONE, len(level_of)
    held = np.zeros((len(products), HELD, now.shape[1]))
    n_held = np.zeros(len(products), dtype=np.int64)
    word = _word(len(now), lanes)
    seen = np.zeros((2 * len(now), lanes), dtype=np.int64)
    pool = np.zeros((2 * n_codes, lanes), dtype=np.int64)
    fixed, n_pooled = np.zeros_like(sums), np.zeros(n_codes, dtype=np.int64)
    pools = min(POOLS * np.sqrt(len(packed)), max(ENOUGH, len(packed) / (SHARED * n_codes)))
    most = _count_changes(packed, mask, level_of) / pools
    n_changes, block, stretch = 0, 0, 1
    for start in range(0, len(packed), RECORDS):
        end = min(start + RECORDS, len(packed))
        n_changes += _see(packed[start:end], mask, level_of, group_of, word, seen, pool, n_pooled)
        block, stretch = _fix_ended(ordered, start, end, block, stretch, tie, fixed, ties)
        # A block of tied items stays in one pool.
        if block == end and n_changes > most:
            _empty(
                pool,
                fixed,
                n_pooled,
                len(ties),
                level_of,
                part_of,
                now,
                sums,
                held,
                n_held,
                products,
            )
            n_changes = 0
    _empty(pool, fixed, n_pooled, len(ties), level_of, part_of, now, sums, held, n_held, products)
    add_rest(held, n_held, products)


@njit(cache=True, nogil=True)
def _word(n_levels, lanes):  # type: ignore[no-untyped-def]
    """Return room for levels, groups and sets of 64 items: lower and higher levels, groups."""
    return (
        np.empty(RECORDS, dtype=np.uint8),
        np.empty(RECORDS, dtype=np.uint16),
        np.zeros(2 * n_levels, dtype=np.uint64),
        np.empty(lanes, dtype=np.uint64),
        np.zeros((1, lanes), dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _count_changes(packed, mask, level_of):  # type: ignore[no-untyped-def]
    """Count the items whose level is not that of the item before."""
    n_changes, before = 0, -1
    for number in packed:
        level = level_of[number & mask]
        n_changes += level != before
        before = level
    return n_changes


@njit(cache=True, nogil=True)
def _see(here, mask, level_of, group_of, word, seen, pool, n_pooled):  # type: ignore[no-untyped-def]
    """Add to the pool which items of lower and of higher levels are before each of at most 64.

    Even rows of `seen` and `pool` are about lower levels, odd ones about higher. Returns how often
    the level changes. `word` is the room of :func:`_word`.
    """
    levels, names, sets, groups, nothing = word
    n_levels, n_changes = len(seen) // 2, 0
    for bit in range(len(here)):
        code = here[bit] & mask
        levels[bit], names[bit] = level_of[code], group_of[code]
        n_pooled[code] += 1
    for bit in range(1, len(here)):
        n_changes += levels[bit] != levels[bit - 1]
    levels[len(here) :], names[len(here) :] = n_levels, NO_GROUP
    for group in range(np.uint64(len(groups))):
        groups[group] = equal_to(names, group)
    for level in range(n_levels):
        sets[2 * level + 1] = larger_than(levels, np.uint64(level))
        if level:
            sets[2 * level] = ~sets[2 * level - 1]
    for bit in range(np.uint64(len(here))):
        before = (ONE << bit) - ONE
        lower, code = TWO * np.uint64(levels[bit]), TWO * (here[bit] & mask)
        higher = lower + ONE
        tell(pool, code, seen, lower, groups, sets[lower] & before)
        tell(pool, code + ONE, seen, higher, groups, sets[higher] & before)
    for row in range(np.uint64(2 * n_levels)):
        tell(seen, row, nothing, NOTHING, groups, sets[row])
    return n_changes


@njit(cache=True, nogil=True)
def _fix_ended(ordered, start, end, block, stretch, tie, fixed, ties):  # type: ignore[no-untyped-def]
    """Fix the blocks of tied items that end among those from `start` to `end`.

    Returns where the block that is still open starts, and the next border.
    """
    packed, borders, bits, level_of, group_of = ordered
    mask = (ONE << bits) - ONE
    for place in range(start + 1, end + 1):
        if place == borders[stretch]:
            stretch += 1
        elif packed[place] >> bits == packed[place - 1] >> bits:
            continue
        if place - block > 1:
            _fix(packed[block:place], mask, level_of, group_of, tie, fixed, ties)
        block = place
    return block, stretch


@njit(cache=True, nogil=True)
def _fix(block, mask, level_of, group_of, tie, fixed, ties):  # type: ignore[no-untyped-def]
    """Take off what tied items count too much: they were in the order of levels, thus all hits."""
    n_groups, width = len(ties), fixed.shape[1]
    counts = np.zeros((2, n_groups))
    here = -1
    for number in block:
        code = np.int64(number & mask)
        level, own = level_of[code], group_of[code]
        if level != here:
            count_levels(block, mask, level_of, group_of, level, counts)
            here = level
        for g in range(n_groups):
            ties[own, g] += counts[0, g]
            fixed[code, g] -= (1.0 - tie) * counts[0, g]
            fixed[code, width - n_groups + g] -= (1.0 - tie) * counts[1, g]


@njit(cache=True, nogil=True)
def _empty(pool, fixed, n_pooled, n_groups, level_of, part_of, now, sums, held, n_held, products):  # type: ignore[no-untyped-def]
    """Add the sums of a pool and the products of its means, and empty it."""
    width = now.shape[1]
    for code in range(len(n_pooled)):
        n = n_pooled[code]
        if not n:
            continue
        part = part_of[code]
        row = held[part, n_held[part]]
        for g in range(width):
            row[g] = n * now[level_of[code], g] + fixed[code, g]
            fixed[code, g] = 0.0
        for g in range(n_groups):
            row[g] += pool[2 * code, g]
            row[width - n_groups + g] -= pool[2 * code + 1, g]
        for g in range(width):
            sums[code, g] += row[g]
            row[g] /= np.sqrt(n)
        pool[2 * code : 2 * code + 2] = 0
        n_pooled[code] = 0
        n_held[part] += 1
        if n_held[part] == HELD:
            add_held(held[part], products[part])
            n_held[part] = 0
