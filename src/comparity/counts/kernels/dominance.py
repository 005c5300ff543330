"""All pairs where labels have many levels: how many items are lower in label and in score.

Items are numbered by label, from the highest, and lined up by score, from the lowest. The hits of
an item as better item are the items before it in the line with larger numbers, which
:mod:`comparity.counts.kernels.dealing` counts. Ties need no care: items with equal labels are
numbered by score and items with equal scores are lined up by number, so that neither count as hits.
As worse item the same holds in the reversed line. Defined by the loops in
``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.dealing import NO_GROUP, RECORDS, deal, equal_to, lanes_for, tell
from comparity.counts.kernels.placements import HELD, Placements, add_held, add_rest
from comparity.counts.kernels.sorting import records_of

__all__ = ["line_counts", "line_placements", "lined_up"]

SLAB = 2**22
"""So many numbers of hits are in memory at once. Each slab takes a walk through the whole line."""


class Line(NamedTuple):
    """Items in the order of scores.

    Attributes
    ----------
    records : ndarray
        Number of the item by label, highest first, and its group in the lowest bits.
    same_score : ndarray of bool
        Whether the score equals the one before.
    first : ndarray of int
        The least number of an item with the same label, by number.
    group : ndarray of int
        Group by number.
    n_groups : int
    """

    records: NDArray[np.uint32] | NDArray[np.int64]
    same_score: NDArray[np.bool_]
    first: NDArray[np.uint32]
    group: NDArray[np.uint16]
    n_groups: int

    @property
    def bits(self) -> int:
        """Bits of a record that hold the group."""
        return max(self.n_groups - 1, 1).bit_length()

    @property
    def width(self) -> int:
        """Numbers in a row of groups, which is a whole number of lanes."""
        return lanes_for(self.n_groups)

    @property
    def slabs(self) -> list[tuple[int, int]]:
        """First and last number of the items looked at together."""
        n, size = len(self.records), max(SLAB // self.width, 1)
        return [(low, min(low + size, n)) for low in range(0, n, size)]


def lined_up(
    y: NDArray[np.float64], f: NDArray[np.float64], group: NDArray[np.int64], n_groups: int
) -> Line:
    """Line up items by score, numbered by label. O(N log N) time."""
    bits = max(n_groups - 1, 1).bit_length()
    by_label, same_label = records_of(y, group, bits, descending=True)
    first = _first_of(same_label)
    score, narrow = _looked_up(f, by_label, bits)
    records, same_score = records_of(score, narrow, bits)
    if same_label.any():
        narrow = _number(records, first, narrow, bits)
    return Line(records, same_score, first, narrow, n_groups)


def line_counts(line: Line) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return trials, hits and score ties by group of the better and group of the worse item."""
    k = line.n_groups
    ties = np.zeros((k, k), dtype=np.int64)
    trials = np.zeros((k, line.width), dtype=np.int64)
    _count_trials(line.first, line.group, trials)
    _count_ties(line.records, line.same_score, line.first, line.bits, ties)
    hits = np.zeros((k, line.width), dtype=np.int64)
    deal(line.records.copy(), hits, hits, line.bits, False)
    return trials[:, :k].T, hits[:, :k], ties


def line_placements(line: Line, tie: float) -> Placements:
    """Return sums and products of the placements of all items.

    O(N log N K + N K^2) time; O(N) memory for the line and O(K) for each item of a slab.
    """
    k, n = line.n_groups, len(line.records)
    ties = np.zeros((k, k), dtype=np.int64)
    _count_ties(line.records, line.same_score, line.first, line.bits, ties)
    lines = [line.records]
    if tie and ties.any():
        # Half a hit for a tie is the mean of a line that breaks ties against and one for hits.
        lines.append(_favourable(line.records, line.same_score, line.first, line.bits))
    backwards = [_reversed(records, line.bits) for records in lines]
    sums, products = np.zeros((k, 4 * k)), np.zeros((k, 4 * k, 4 * k))
    above = np.zeros((3, k))
    above[2] = np.bincount(line.group, minlength=k)
    for low, high in line.slabs:
        better = reduce(np.add, [_hits(records, low, high, line) for records in lines])
        worse = reduce(np.add, [_hits(records, n - high, n - low, line) for records in backwards])
        slab = low, better, worse[::-1], 1 / len(lines)
        _place(line.first, line.group, *slab, above, sums, products)
    return Placements(sums=sums, products=products, ties=ties.astype(np.float64))


def _hits(records: NDArray[Any], low: int, high: int, line: Line) -> NDArray[np.int32]:
    """Return the hits against each group of the items numbered from `low` to `high`, by number."""
    own, rows = _collect(records, low, high, line.bits, line.n_groups, line.width)
    hits: NDArray[np.int32] = deal(own, rows, np.empty_like(rows), line.bits, True)
    return hits


@njit(cache=True, nogil=True)
def _looked_up(f, records, bits):  # type: ignore[no-untyped-def]
    """Return the scores and the groups of the items that records tell."""
    score, group = np.empty_like(f), np.empty(len(f), dtype=np.uint16)
    mask = (1 << bits) - 1
    for place in range(len(records)):
        record = np.int64(records[place])
        score[place] = f[np.uint64(record >> bits)]
        group[place] = record & mask
    return score, group


@njit(cache=True, nogil=True)
def _first_of(same):  # type: ignore[no-untyped-def]
    """Return where the run of equal values that each is in begins."""
    first = np.empty(len(same), dtype=np.uint32)
    start = 0
    for number in range(len(same)):
        if not same[number]:
            start = number
        first[number] = start
    return first


@njit(cache=True, nogil=True)
def _number(records, first, group, bits):  # type: ignore[no-untyped-def]
    """Give equal labels new numbers, in the order of scores; return groups by number."""
    used, group_of = np.zeros(len(records), dtype=np.uint32), np.empty_like(group)
    mask = (1 << bits) - 1
    for place in range(len(records)):
        record = np.int64(records[place])
        start, own = np.int64(first[record >> bits]), record & mask
        number = start + np.int64(used[start])
        used[start] += 1
        records[place] = (number << bits) | own
        group_of[number] = own
    return group_of


@njit(cache=True, nogil=True)
def _count_trials(first, group, higher):  # type: ignore[no-untyped-def]
    """Count for each group, as worse items, the items with higher labels by group.

    Items come 64 at a time, by number: those before have been counted, the others are bits of a
    word. Items before with the same label are taken off again.
    """
    width = higher.shape[1]
    seen, nothing = np.zeros((1, width), dtype=np.int64), np.zeros((1, width), dtype=np.int64)
    groups, names = np.empty(width, dtype=np.uint64), np.empty(RECORDS, dtype=np.uint16)
    zero, one = np.uint64(0), np.uint64(1)
    equal = np.zeros(width, dtype=np.int64)
    for start in range(0, len(group), RECORDS):
        n = min(RECORDS, len(group) - start)
        for bit in range(RECORDS):
            names[bit] = group[start + bit] if bit < n else NO_GROUP
        for g in range(np.uint64(width)):
            groups[g] = equal_to(names, g)
        for bit in range(np.uint64(n)):
            tell(higher, np.uint64(names[bit]), seen, zero, groups, (one << bit) - one)
        tell(seen, zero, nothing, zero, groups, ~zero)
    for number in range(1, len(first)):
        if first[number] == number:
            continue
        if first[number] == number - 1:
            for g in range(width):
                equal[g] = 0
        equal[group[number - 1]] += 1
        for g in range(width):
            higher[group[number], g] -= equal[g]


@njit(cache=True, nogil=True)
def _count_ties(records, same_score, first, bits, ties):  # type: ignore[no-untyped-def]
    """Count the pairs with equal scores; the items of a block come by label, highest first."""
    above, equal = np.zeros(len(ties), dtype=np.int64), np.zeros(len(ties), dtype=np.int64)
    mask = (1 << bits) - 1
    for place in range(1, len(records)):
        if not same_score[place]:
            continue
        record, before = np.int64(records[place]), np.int64(records[place - 1])
        if not same_score[place - 1]:
            for g in range(len(ties)):
                above[g] = equal[g] = 0
            equal[before & mask] = 1
        if first[record >> bits] != first[before >> bits]:
            for g in range(len(ties)):
                above[g] += equal[g]
                equal[g] = 0
        own = record & mask
        for g in range(len(ties)):
            ties[g, own] += above[g]
        equal[own] += 1


@njit(cache=True, nogil=True)
def _favourable(records, same_score, first, bits):  # type: ignore[no-untyped-def]
    """Return the line with equal scores in the order of labels, lowest first."""
    line = np.empty_like(records)
    start = 0
    for end in range(1, len(records) + 1):
        if end < len(records) and same_score[end]:
            continue
        place, last = start, end
        while last > start:
            run = last - 1
            label = first[np.int64(records[run]) >> bits]
            while run > start and first[np.int64(records[run - 1]) >> bits] == label:
                run -= 1
            for source in range(run, last):
                line[place] = records[source]
                place += 1
            last = run
        start = end
    return line


@njit(cache=True, nogil=True)
def _reversed(records, bits):  # type: ignore[no-untyped-def]
    line = np.empty_like(records)
    n, mask = len(records), (1 << bits) - 1
    for place in range(n):
        record = np.int64(records[n - 1 - place])
        line[place] = ((n - 1 - (record >> bits)) << bits) | (record & mask)
    return line


@njit(cache=True, nogil=True)
def _collect(records, low, high, bits, n_groups, width):  # type: ignore[no-untyped-def]
    """Return the records from `low` to `high`, numbered anew, and the larger ones before each."""
    size, mask = high - low, (1 << bits) - 1
    own, rows = np.empty_like(records[:size]), np.zeros((size, width), dtype=np.int32)
    larger = np.zeros(n_groups, dtype=np.int32)
    found = 0
    for place in range(len(records)):
        record = np.int64(records[place])
        number = record >> bits
        if low <= number < high:
            own[found] = record - (low << bits)
            for g in range(n_groups):
                rows[found, g] = larger[g]
            found += 1
        larger[record & mask] += np.int32(number >= high)
    return own, rows


@njit(cache=True, nogil=True)
def _place(first, group, low, better, worse, scale, state, sums, products):  # type: ignore[no-untyped-def]
    """Add up the placements of the items numbered from `low` on.

    `state` holds the items above the present label, at it, and all, by group.
    """
    above, at, total = state[0], state[1], state[2]
    k = len(above)
    held, n_held = np.zeros((k, HELD, 4 * k)), np.zeros(k, dtype=np.int64)
    for place in range(len(better)):
        number = low + place
        if first[number] == number:
            for g in range(k):
                above[g] += at[g]
                at[g] = 0.0
            last = number
            while last < len(first) and first[last] == number:
                at[group[last]] += 1.0
                last += 1
        own = group[number]
        row = held[own, n_held[own]]
        for g in range(k):
            row[g] = total[g] - above[g] - at[g]
            row[k + g] = above[g]
            row[2 * k + g] = better[place, g] * scale
            row[3 * k + g] = worse[place, g] * scale
        for entry in range(4 * k):
            sums[own, entry] += row[entry]
        n_held[own] += 1
        if n_held[own] == HELD:
            add_held(held[own], products[own])
            n_held[own] = 0
    add_rest(held, n_held, products)
