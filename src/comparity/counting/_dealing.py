"""How many larger numbers come before each one in a line, by group: O(N log N) time, O(N) memory.

Records are dealt out by the digits of their numbers, from the first: while those of the same
leading digits are dealt out by their next digit, each is told how many records of each group went
to larger digits before it. Records come 64 at a time, as bits of a word, so that counting them is
counting bits (:mod:`comparity.counting._lanes`).
"""

from __future__ import annotations

import numpy as np

from comparity.counting._lanes import NO_GROUP, RECORDS, equal_to, larger_than, tell
from comparity.counting.compilation import njit

__all__ = ["deal"]

WORD = 6
"""A word has a bit for each of so many records, or for each value of the last digit."""
DIGIT = 6
"""Bits of the other digits, at most: more take longer to count than they save walks."""
ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def deal(records, rows, out, bits, keep):  # type: ignore[no-untyped-def]
    """Add to each row the larger numbers before its record; return the rows by number.

    Rows have a whole number of lanes, of which the first are groups. Where single rows are not to
    be kept, `rows` and `out` are the same sums by group.
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
    """Deal out records by the last digit, of which every value occurs once."""
    n, radix = len(records), 1 << WORD
    mask, above, full = np.uint64((1 << bits) - 1), np.uint64(bits), np.uint64(radix - 1)
    larger, groups = np.zeros(radix, dtype=np.uint64), np.zeros(rows.shape[1], dtype=np.uint64)
    digits, names = np.empty(RECORDS, dtype=np.uint8), np.empty(RECORDS, dtype=np.uint16)
    nothing = np.zeros((1, rows.shape[1]), dtype=np.int64)
    for start in range(0, n, radix):
        here = records[start : min(start + radix, n)]
        _mark(here, mask, above, full, digits, names, larger, groups)
        for bit in range(np.uint64(len(here))):
            record = np.uint64(here[bit])
            digit, own = (record >> above) & full, record & mask
            target = np.uint64(start) + digit if keep else own
            if keep:
                _copy(rows, np.uint64(start) + bit, out, target)
            before = larger[digit] & ((ONE << bit) - ONE)
            tell(out, target, nothing, np.uint64(0), groups, before)


@njit(cache=True, nogil=True)
def _deal_digit(records, rows, bits, shift, digit_bits, keep, dealt, out):  # type: ignore[no-untyped-def]
    """Deal out records by one digit; tell each how many went to larger digits before it.

    Records come 64 at a time: those before have been counted, the others are bits of a word.
    """
    n, radix = len(records), 1 << digit_bits
    # Unsigned throughout: a negative place would count from the end, and ask for a test.
    mask, above, full = np.uint64((1 << bits) - 1), np.uint64(bits + shift), np.uint64(radix - 1)
    larger, groups = np.zeros(radix, dtype=np.uint64), np.zeros(rows.shape[1], dtype=np.uint64)
    digits, names = np.empty(RECORDS, dtype=np.uint8), np.empty(RECORDS, dtype=np.uint16)
    counts = np.empty((radix, rows.shape[1]), dtype=np.int64)
    nothing, places = np.zeros((1, rows.shape[1]), dtype=np.int64), np.empty(radix, dtype=np.uint64)
    # All numbers occur, so those with the same leading digits are where these digits say.
    for start in range(0, n, radix << shift):
        for value in range(radix):
            places[value] = start + (value << shift)
            for g in range(rows.shape[1]):
                counts[value, g] = 0
        end = min(start + (radix << shift), n)
        for low in range(start, end, 1 << WORD):
            here = records[low : min(low + (1 << WORD), end)]
            _mark(here, mask, above, full, digits, names, larger, groups)
            for bit in range(np.uint64(len(here))):
                record = np.uint64(here[bit])
                digit, own = (record >> above) & full, record & mask
                to = places[digit]
                places[digit] = to + ONE
                dealt[to] = record
                if keep:
                    _copy(rows, np.uint64(low) + bit, out, to)
                before = larger[digit] & ((ONE << bit) - ONE)
                tell(out, to if keep else own, counts, digit, groups, before)
            for smaller in range(radix):
                tell(counts, np.uint64(smaller), nothing, np.uint64(0), groups, larger[smaller])


@njit(cache=True, nogil=True, inline="always")
def _mark(here, mask, above, full, digits, names, larger, groups):  # type: ignore[no-untyped-def]
    """Mark the records of each group, and for each digit those with a larger one."""
    for bit in range(len(here)):
        record = np.uint64(here[bit])
        digits[bit] = np.uint8((record >> above) & full)
        names[bit] = np.uint16(record & mask)
    for bit in range(len(here), RECORDS):
        digits[bit] = 0
        names[bit] = NO_GROUP
    for digit in range(np.uint64(len(larger))):
        larger[digit] = larger_than(digits, digit)
    for group in range(np.uint64(len(groups))):
        groups[group] = equal_to(names, group)


@njit(cache=True, nogil=True, inline="always")
def _copy(rows, source, out, target):  # type: ignore[no-untyped-def]
    for g in range(np.uint64(rows.shape[1])):
        out[target, g] = rows[source, g]
