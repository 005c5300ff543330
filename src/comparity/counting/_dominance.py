r"""All pairs where labels have many levels: how many items are lower in label and in score.

Items are numbered by label, from the highest, and lined up by score, from the lowest. The hits of
an item as better item are the items before it in the line with larger numbers. These are counted
digit by digit, from the first: while items of the same leading digits are dealt out by their next
digit, each is told how many items of each group went to larger digits before it. Ties need no
care: items with equal labels are numbered by score and items with equal scores are lined up by
number, so that neither count as hits. As worse item the same holds in the reversed line. Defined
by the loops in ``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from comparity.counting._placements import HELD, Placements, add_held, add_rest
from comparity.counting._sorting import records_of

__all__ = ["line_counts", "line_placements", "lined_up"]

WORD = 6
"""A word has a bit for each of so many records, or for each value of the last digit."""
DIGIT = 6
"""Bits of the other digits, at most: more take longer to count than they save walks."""
ONE = np.uint64(1)
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
    def slabs(self) -> list[tuple[int, int]]:
        """First and last number of the items looked at together."""
        n, size = len(self.records), max(SLAB // self.n_groups, 1)
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
    trials = _count_trials(line.first, line.group, k)
    _count_ties(line.records, line.same_score, line.first, line.bits, ties)
    # Empty columns, so that a row is whole vectors: four or eight counts are added at a time.
    hits = np.zeros((k, k if k <= 2 else 4 if k <= 4 else -(-k // 8) * 8), dtype=np.int64)
    _deal(line.records.copy(), hits, hits, line.bits, False)
    return trials, hits[:, :k], ties


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
    own, rows = _collect(records, low, high, line.bits, line.n_groups)
    hits: NDArray[np.int32] = _deal(own, rows, np.empty_like(rows), line.bits, True)
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
def _count_trials(first, group, n_groups):  # type: ignore[no-untyped-def]
    """Count pairs with different labels by group of the better and group of the worse item."""
    lower = np.zeros((n_groups, n_groups), dtype=np.int64)
    above, block = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    # Whole rows are added, because reading a row after writing one number of it has to wait.
    units = np.zeros((n_groups, n_groups), dtype=np.int64)
    for own in range(n_groups):
        units[own, own] = 1
    for number in range(len(first)):
        row, unit = lower[group[number]], units[group[number]]
        if first[number] == number:
            for g in range(n_groups):
                above[g] += block[g]
                row[g] += above[g]
                block[g] = unit[g]
        else:
            for g in range(n_groups):
                row[g] += above[g]
                block[g] += unit[g]
    return lower.T


@njit(cache=True, nogil=True)
def _count_ties(records, same_score, first, bits, ties):  # type: ignore[no-untyped-def]
    """Count the pairs with equal scores; the items of a block come by label, highest first."""
    above, equal = np.zeros(len(ties), dtype=np.int64), np.zeros(len(ties), dtype=np.int64)
    mask = (1 << bits) - 1
    for place in range(1, len(records)):
        if not same_score[place]:
            continue
        if not same_score[place - 1]:
            above[:] = 0
            equal[:] = 0
            equal[np.int64(records[place - 1]) & mask] = 1
        record, before = np.int64(records[place]), np.int64(records[place - 1])
        if first[record >> bits] != first[before >> bits]:
            above += equal
            equal[:] = 0
        own = record & mask
        ties[:, own] += above
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
            line[place : place + last - run] = records[run:last]
            place += last - run
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
def _collect(records, low, high, bits, n_groups):  # type: ignore[no-untyped-def]
    """Return the records from `low` to `high`, numbered anew, and the larger ones before each."""
    size, mask = high - low, (1 << bits) - 1
    own, rows = np.empty_like(records[:size]), np.empty((size, n_groups), dtype=np.int32)
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
def _deal(records, rows, out, bits, keep):  # type: ignore[no-untyped-def]
    """Add to each row the larger numbers before its record; return the rows by number.

    Where single rows are not to be kept, `rows` and `out` are the same sums by group.
    """
    dealt = np.empty_like(records)
    left = 0
    while len(records) > 1 << (WORD + left):
        left += 1
    while left > 0:
        n_digits = (left + DIGIT - 1) // DIGIT
        digit_bits = (left + n_digits - 1) // n_digits
        left -= digit_bits
        _deal_digit(records, rows, bits, WORD + left, digit_bits, keep, dealt, out)
        records, dealt = dealt, records
        rows, out = out, rows
    _deal_last(records, rows, bits, keep, out)
    return out


@njit(cache=True, nogil=True)
def _deal_last(records, rows, bits, keep, out):  # type: ignore[no-untyped-def]
    """Deal out records by the last digit: the larger ones before are bits of a word."""
    n, k = len(records), rows.shape[1]
    above, full, mask = np.uint64(bits), np.uint64((1 << WORD) - 1), np.uint64((1 << bits) - 1)
    seen, units = np.zeros(k, dtype=np.uint64), np.eye(k).astype(np.uint64)
    for start in range(0, n, 1 << WORD):
        seen[:] = 0
        for place in range(np.uint64(start), np.uint64(min(start + (1 << WORD), n))):
            record = np.uint64(records[place])
            digit, own = (record >> above) & full, record & mask
            target = np.uint64(start) + digit if keep else own
            if keep:
                _copy(rows, place, out, target)
            row, unit = out[target], units[own]
            # Whole rows again: a word alone would have to be waited for.
            for g in range(k):
                row[g] += _ones(seen[g] >> digit)
                seen[g] |= unit[g] << digit


@njit(cache=True, nogil=True, inline="always")
def _ones(word):  # type: ignore[no-untyped-def]
    """Return the number of bits that are one; compilers make a single instruction of this."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _deal_digit(records, rows, bits, shift, digit_bits, keep, dealt, out):  # type: ignore[no-untyped-def]
    """Deal out records by one digit; tell each how many went to larger digits before it.

    Records come 64 at a time: those before have been counted, the others are bits of a word.
    """
    n, radix = len(records), 1 << digit_bits
    # Unsigned throughout: a negative place would count from the end, and ask for a test.
    mask, above, full = np.uint64((1 << bits) - 1), np.uint64(bits + shift), np.uint64(radix - 1)
    larger, groups = np.zeros(radix, dtype=np.uint64), np.zeros(rows.shape[1], dtype=np.uint64)
    counts = np.empty((radix, rows.shape[1]), dtype=np.int32)
    # All numbers occur, so those with the same leading digits are where these digits say.
    for start in range(0, n, radix << shift):
        places = np.arange(start, start + (radix << shift), 1 << shift).astype(np.uint64)
        counts[:] = 0
        end = min(start + (radix << shift), n)
        for low in range(start, end, 1 << WORD):
            here = records[low : min(low + (1 << WORD), end)]
            _mark(here, mask, above, full, larger, groups)
            for bit in range(np.uint64(len(here))):
                record = np.uint64(here[bit])
                digit, own = (record >> above) & full, record & mask
                to = places[digit]
                places[digit] = to + ONE
                dealt[to] = record
                if keep:
                    _copy(rows, np.uint64(low) + bit, out, to)
                before = larger[digit] & ((ONE << bit) - ONE)
                _tell(out, to if keep else own, counts, digit, groups, before)
            _count(counts, groups, larger)


@njit(cache=True, nogil=True, inline="always")
def _mark(here, mask, above, full, larger, groups):  # type: ignore[no-untyped-def]
    """Mark the records of each group, and for each digit those with a larger one."""
    larger[:] = 0
    groups[:] = 0
    for bit in range(np.uint64(len(here))):
        record = np.uint64(here[bit])
        larger[(record >> above) & full] |= ONE << bit
        groups[record & mask] |= ONE << bit
    marked = np.uint64(0)
    for digit in range(len(larger) - 1, -1, -1):
        own = larger[digit]
        larger[digit] = marked
        marked |= own


@njit(cache=True, nogil=True, inline="always")
def _copy(rows, source, out, target):  # type: ignore[no-untyped-def]
    for g in range(np.uint64(rows.shape[1])):
        out[target, g] = rows[source, g]


@njit(cache=True, nogil=True, inline="always")
def _tell(rows, target, counts, digit, groups, before):  # type: ignore[no-untyped-def]
    """Add to a row, by group, the records counted and those marked."""
    for g in range(np.uint64(len(groups))):
        rows[target, g] += counts[digit, g] + _ones(groups[g] & before)


@njit(cache=True, nogil=True, inline="always")
def _count(counts, groups, larger):  # type: ignore[no-untyped-def]
    """Count the marked records for all smaller digits."""
    for digit in range(np.uint64(len(larger))):
        for g in range(np.uint64(len(groups))):
            counts[digit, g] += _ones(groups[g] & larger[digit])


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
