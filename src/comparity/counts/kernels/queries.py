r"""Kernel that counts pairs within small queries, and what kernels for queries add to.

Items of one query are the bits of a word, so sets of items are compared and counted at once. For
each query let :math:`a` hold its trials by cell, then its hits; the kernel adds :math:`a a^T`.
Defined by the loops in ``tests/plain/query_pairs.py``.

Kernels add to two arrays. `sums`, one row for each cell: trials, hits, score ties (no hits), the
same three with squared weights of pairs, and the sum over items of the squared weight of their
pairs. `products`, for every two cells: trials by trials, hits by trials, trials by hits, hits by
hits; two cells of a query are met in one of their two orders, the other one is left to
:func:`moments`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

__all__ = [
    "WORD",
    "add_products",
    "add_sums",
    "count_masked",
    "count_small",
    "empty_sums",
    "is_sorted",
    "moments",
    "offsets_of",
]

WORD = 64
"""Largest query whose items are the bits of one word."""

N_SUMS = 7
SQUARES, USES = 3, 6

# Places in the workspace of a query: sets of items with a lower label, a higher one, a lower score
# and the same score than each item, and the set of items of each group. One array with constant
# places, because the compiler can then tell them apart and compare eight items at once.
LOWER, HIGHER, BEATEN, LEVEL, MEMBER = (WORD * place for place in range(5))
SIZE = 5 * WORD
SQUARE = WORD * WORD
# And in the table of two groups: counts in lanes of 16 bits, squared uses of better and of worse
# items.
COUNTS, BETTER, WORSE = 0, SQUARE, 2 * SQUARE
# And in the list of cells that a query touches: the cell, its counts and uses, and two factors.
CELL, COUNTED, USED, LEFT, RIGHT = (SQUARE * place for place in range(5))

# Products in 16-bit lanes are moved on before a lane can overflow; larger ones are added directly.
LANE = 16
LANE_ROOM = 2**LANE - 1
LARGEST_IN_LANE = 2**11
# Counts alone have lanes of 21 bits: so many pairs may be added before they are moved on.
PAIR_LANE = np.uint64(21)
PAIR_ROOM = 2**21 - 1


def empty_sums(n_cells: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums and products over no query."""
    return np.zeros((n_cells, N_SUMS)), np.zeros((n_cells, n_cells, 4))


def moments(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over queries of products of trials and hits by cell, trials first."""
    diagonal = np.arange(len(products))
    once = products.copy()
    once[diagonal, diagonal] /= 2
    one, two, three, four = np.moveaxis(once, 2, 0)
    cross = three + two.T
    return np.block([[one + one.T, cross], [cross.T, four + four.T]])


@njit(cache=True, nogil=True)
def is_sorted(query):  # type: ignore[no-untyped-def]
    """Say whether no value is smaller than the one before it."""
    n_falls = 0
    for row in range(1, len(query)):
        n_falls += query[row] < query[row - 1]
    return n_falls == 0


@njit(cache=True, nogil=True)
def offsets_of(query):  # type: ignore[no-untyped-def]
    """Return where each query starts, and where the last one ends; rows of one lie together."""
    n_queries = len(query) > 0
    for row in range(1, len(query)):
        n_queries += query[row] != query[row - 1]
    offsets = np.zeros(n_queries + 1, dtype=np.int64)
    place = 1
    for row in range(1, len(query)):
        # Overwritten until the query changes, because a jump would be hard to foresee.
        offsets[place] = row
        place += query[row] != query[row - 1]
    offsets[n_queries] = len(query)
    return offsets


@njit(cache=True, nogil=True)
def count_small(y, f, group, offsets, first, last, n_groups, counts):  # type: ignore[no-untyped-def]
    """Add trials, hits and score ties by cell of the queries that have at most 64 items.

    Every two items are compared, without jumps, and what is found goes into one word by cell.
    """
    found = np.zeros(n_groups * n_groups, dtype=np.uint64)
    k, room = np.uint64(n_groups), np.int64(PAIR_ROOM)
    for query in range(first, last):
        start, end = np.uint64(offsets[query]), np.uint64(offsets[query + 1])
        n_pairs = np.int64((end - start) * (end - start))
        if end - start > WORD:
            continue
        if n_pairs > room:
            _empty_pairs(found, counts)
            room = np.int64(PAIR_ROOM)
        room -= n_pairs
        for one in range(start, end):
            label, score, own = y[one], f[one], np.uint64(group[one])
            for two in range(start, one):
                up, down = np.uint64(label > y[two]), np.uint64(label < y[two])
                above, below = np.uint64(score > f[two]), np.uint64(score < f[two])
                other = np.uint64(group[two])
                better = own + down * (other - own)
                trial = up | down
                ties = (trial & ~(above | below)) << (PAIR_LANE + PAIR_LANE)
                hits = ((up & above) | (down & below)) << PAIR_LANE
                found[better * k + (own + other - better)] += trial | hits | ties
    _empty_pairs(found, counts)


@njit(cache=True, nogil=True)
def _empty_pairs(found, counts):  # type: ignore[no-untyped-def]
    """Add trials, hits and ties, packed into words, to their counts."""
    low = np.uint64(PAIR_ROOM)
    for cell in range(len(found)):
        for place in range(3):
            counts[place, cell] += np.int64((found[cell] >> (np.uint64(place) * PAIR_LANE)) & low)
        found[cell] = 0


def _count_bits(typing_context, word):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_count_bits)
"""The number of bits of a word that are set, as one instruction."""


@njit(cache=True, nogil=True)
def count_masked(y, f, group, offsets, first, last, n_groups, unit, tie, sums, products):  # type: ignore[no-untyped-def]
    """Add the queries `first` to `last` that have at most 64 items; items weigh one.

    Where every query counts alike, `unit` has a number for each cell, and all pairs of a query in
    cells of one number weigh one together; otherwise it is empty. Returns how many hold a pair.
    """
    n_cells = n_groups * n_groups
    scale = 2 if tie == 0.5 else 1
    lanes = np.zeros(n_cells * (n_cells + 2), dtype=np.uint64)
    room = LANE_ROOM
    values, sets = np.empty(2 * WORD), np.empty(SIZE, dtype=np.uint64)
    table, found = np.empty(3 * SQUARE, dtype=np.uint64), np.empty(5 * SQUARE, dtype=np.uint64)
    names, rank_of = np.empty(2 * WORD, dtype=np.uint64), np.empty(n_groups, dtype=np.uint64)
    amounts, together = np.empty(2 * SQUARE), np.zeros(len(unit))
    n_queries = 0
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        if n < 2 or n > WORD:
            continue
        _compare(y, f, start, n, values, sets)
        tied = _find_ties(n, values, sets)
        n_present = _local_groups(group, start, n, rank_of, names, sets)
        _count_items(n, n_present, tied, names, sets, table)
        n_touched, most = _collect(n_present, np.uint64(n_groups), names, table, found)
        most *= scale
        n_queries += n_touched > 0
        if len(unit) or most * most > LARGEST_IN_LANE:
            _add_directly(n_touched, unit, tie, found, amounts, together, sums, products)
            continue
        if most * most > room:
            _empty_lanes(lanes, scale, sums, products)
            room = LANE_ROOM
        room -= most * most
        _add_lanes(n_touched, scale, np.uint64(n_cells), found, lanes)
    _empty_lanes(lanes, scale, sums, products)
    return n_queries


@njit(cache=True, nogil=True)
def _compare(y, f, start, n, values, sets):  # type: ignore[no-untyped-def]
    """Fill the sets of items with a lower label, a higher label and a lower score."""
    padded = (n + 7) // 8 * 8
    for item in range(n):
        values[item] = y[start + item]
        values[WORD + item] = f[start + item]
    for item in range(n, padded):
        # Nothing compares with nan, so whole vectors can be compared.
        values[item] = values[WORD + item] = np.nan
    for item in range(padded):
        sets[LOWER + item] = sets[HIGHER + item] = sets[BEATEN + item] = 0
    for other in range(n):
        label, score, shift = values[other], values[WORD + other], np.uint64(other)
        for item in range(padded):
            sets[LOWER + item] |= np.uint64(label < values[item]) << shift
            sets[HIGHER + item] |= np.uint64(label > values[item]) << shift
            sets[BEATEN + item] |= np.uint64(score < values[WORD + item]) << shift


@njit(cache=True, nogil=True)
def _find_ties(n, values, sets):  # type: ignore[no-untyped-def]
    """Say whether scores tie, and if so fill the sets of items with the same score."""
    ordered = np.uint64(0)
    for item in range(n):
        ordered += popcount(sets[BEATEN + item])
    if np.int64(ordered) == n * (n - 1) // 2:
        return False
    for item in range(n):
        sets[LEVEL + item] = 0
        for other in range(n):
            same = np.uint64(values[WORD + other] == values[WORD + item])
            sets[LEVEL + item] |= same << np.uint64(other)
    return True


@njit(cache=True, nogil=True)
def _local_groups(group, start, n, rank_of, names, sets):  # type: ignore[no-untyped-def]
    """Fill the local number of each item's group, the groups in order, and the items of each."""
    n_present = 0
    for base in range(0, len(rank_of), WORD):
        present = np.uint64(0)
        for item in range(start, start + n):
            place = np.int64(group[item]) - base
            present |= np.uint64(0 <= place < WORD) << (np.uint64(place) & np.uint64(WORD - 1))
        while present:
            name = np.uint64(base) + popcount((present - np.uint64(1)) & ~present)
            rank_of[name] = n_present
            names[WORD + n_present] = name
            sets[MEMBER + n_present] = 0
            n_present += 1
            present &= present - np.uint64(1)
    for item in range(n):
        names[item] = rank_of[group[start + item]]
        sets[np.uint64(MEMBER) + names[item]] |= np.uint64(1) << np.uint64(item)
    return n_present


@njit(cache=True, nogil=True)
def _count_items(n, n_present, tied, names, sets, table):  # type: ignore[no-untyped-def]
    """Fill trials, hits, score ties and uses of items for every two groups of the query."""
    for a in range(n_present):
        for b in range(n_present):
            place = a * WORD + b
            table[COUNTS + place] = table[BETTER + place] = table[WORSE + place] = 0
    for item in range(n):
        group = np.int64(names[item])
        row = group * WORD
        lower, higher = sets[LOWER + item], sets[HIGHER + item]
        agreed = lower & sets[BEATEN + item]
        for b in range(n_present):
            member = sets[MEMBER + b]
            below, above = popcount(lower & member), popcount(higher & member)
            table[COUNTS + row + b] += below | (popcount(agreed & member) << np.uint64(16))
            table[BETTER + row + b] += below * below
            table[WORSE + row + b] += above * above
        # Within a group an item may be better in one pair and worse in the next.
        member = sets[MEMBER + group]
        below, above = popcount(lower & member), popcount(higher & member)
        table[BETTER + row + group] += above * (above + np.uint64(2) * below)
        if tied:
            level = lower & sets[LEVEL + item]
            for b in range(n_present):
                table[COUNTS + row + b] += popcount(level & sets[MEMBER + b]) << np.uint64(32)


@njit(cache=True, nogil=True)
def _collect(n_present, n_groups, names, table, found):  # type: ignore[no-untyped-def]
    """List the cells of one query; return how many it touches and its most trials in one."""
    n_touched, most = 0, np.uint64(0)
    for a in range(n_present):
        row = names[WORD + a] * n_groups
        table[WORSE + a * WORD + a] = 0
        for b in range(n_present):
            # Written even where nothing was found, because a jump would be hard to foresee.
            counts = table[COUNTS + a * WORD + b]
            found[CELL + n_touched] = row + names[WORD + b]
            found[COUNTED + n_touched] = counts
            found[USED + n_touched] = table[BETTER + a * WORD + b] + table[WORSE + b * WORD + a]
            trials = counts & np.uint64(LANE_ROOM)
            most = trials if trials > most else most
            n_touched += counts != 0
    return n_touched, np.int64(most)


@njit(cache=True, nogil=True)
def _add_lanes(n_touched, scale, n_cells, found, lanes):  # type: ignore[no-untyped-def]
    """Add the sums and products of one query in 16-bit lanes."""
    low = np.uint64(LANE_ROOM)
    for one in range(n_touched):
        cell, counts = found[CELL + one], found[COUNTED + one]
        trials, scored = counts & low, (counts >> np.uint64(LANE)) & low
        if scale == 2:
            scored = np.uint64(2) * scored + (counts >> np.uint64(2 * LANE))
        found[LEFT + one] = trials | (scored << np.uint64(LANE))
        found[RIGHT + one] = trials | (scored << np.uint64(2 * LANE))
        lanes[cell] += counts
        lanes[n_cells + cell] += found[USED + one]
    for one in range(n_touched):
        row = (found[CELL + one] + np.uint64(2)) * n_cells
        factor = found[LEFT + one]
        for two in range(one, n_touched):
            # One product of two words holds the four products of trials and hits.
            lanes[row + found[CELL + two]] += factor * found[RIGHT + two]


@njit(cache=True, nogil=True)
def _empty_lanes(lanes, scale, sums, products):  # type: ignore[no-untyped-def]
    low = np.uint64(LANE_ROOM)
    n_cells = len(sums)
    for cell in range(n_cells):
        counts, uses = lanes[cell], lanes[n_cells + cell]
        for place in range(3):
            amount = (counts >> np.uint64(LANE * place)) & low
            sums[cell, place] += amount
            sums[cell, SQUARES + place] += amount
        sums[cell, USES] += uses
        for other in range(n_cells):
            packed = lanes[(2 + cell) * n_cells + other]
            if packed:
                products[cell, other, 0] += packed & low
                products[cell, other, 1] += ((packed >> np.uint64(LANE)) & low) / scale
                products[cell, other, 2] += ((packed >> np.uint64(2 * LANE)) & low) / scale
                products[cell, other, 3] += (packed >> np.uint64(3 * LANE)) / scale**2
    lanes[:] = 0


@njit(cache=True, nogil=True)
def _add_directly(n_touched, unit, tie, found, amounts, together, sums, products):  # type: ignore[no-untyped-def]
    """Add the sums and products of one query as numbers of any size."""
    low = np.uint64(LANE_ROOM)
    for one in range(n_touched if len(unit) else 0):
        together[unit[found[CELL + one]]] += found[COUNTED + one] & low
    for one in range(n_touched):
        cell, counts, uses = found[CELL + one], found[COUNTED + one], found[USED + one]
        trials = np.int64(counts & low)
        hits = np.int64((counts >> np.uint64(LANE)) & low)
        ties = np.int64(counts >> np.uint64(2 * LANE))
        share = 1.0 / together[unit[cell]] if len(unit) else 1.0
        amounts[one] = trials * share
        amounts[SQUARE + one] = (hits + tie * ties) * share
        add_sums(cell, trials, hits, ties, share, sums, 0)
        add_sums(cell, trials, hits, ties, share * share, sums, SQUARES)
        sums[cell, USES] += np.int64(uses) * share * share
    add_products(found[CELL : CELL + n_touched], amounts, n_touched, products)
    together[:] = 0.0


@njit(cache=True, nogil=True, inline="always")
def add_sums(cell, trials, hits, ties, weight, sums, place):  # type: ignore[no-untyped-def]
    """Add trials, hits and score ties of one query and cell."""
    sums[cell, place] += trials * weight
    sums[cell, place + 1] += hits * weight
    sums[cell, place + 2] += ties * weight


@njit(cache=True, nogil=True)
def add_products(cell, amounts, n_touched, products):  # type: ignore[no-untyped-def]
    """Add the products of trials, then hits, of every two cells of one query."""
    size = len(amounts) // 2
    for i in range(n_touched):
        for j in range(i, n_touched):
            one, two = cell[i], cell[j]
            products[one, two, 0] += amounts[i] * amounts[j]
            products[one, two, 1] += amounts[size + i] * amounts[j]
            products[one, two, 2] += amounts[i] * amounts[size + j]
            products[one, two, 3] += amounts[size + i] * amounts[size + j]
