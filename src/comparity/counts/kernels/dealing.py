"""How many larger numbers come before each one in a line, by group: O(N log N) time, O(N) memory.

A set of up to 64 records is a word, a bit for each record. Two questions are asked of them all the
time, and each is answered for many records or groups at once: which records have a value equal to
or above a number, and how many records of each group are in a set. Plain loops that say the same
are in ``tests/plain/lanes.py``.

Records are dealt out by the digits of their numbers, from the first: while those of the same
leading digits are dealt out by their next digit, each is told how many records of each group went
to larger digits before it. Records come 64 at a time, as bits of a word, so that counting them is
counting bits (:mod:`comparity.counts.kernels.dealing`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from comparity.counts.kernels.compilation import njit

__all__ = [
    "LANES",
    "NO_GROUP",
    "RECORDS",
    "add_counts",
    "deal",
    "equal_to",
    "lanes_for",
    "larger_than",
    "tell",
]


RECORDS = 64
"""Records that a word has bits for."""


LANES = 8
"""Groups counted at once; rows of groups are filled up to a multiple of it."""


NO_GROUP = 2**16 - 1
"""What fills up the groups of fewer than 64 records."""


_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def _compared(sign: str) -> Any:
    """Return an instruction that tells which of 64 values compare with a number."""

    def ask(typing_context, values, number):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            width = context.get_value_type(signature.args[0].dtype)
            vector = ir.VectorType(width, RECORDS)
            found = _load(builder, _place(context, builder, signature, arguments, 0, vector))
            number = _everywhere(builder, builder.trunc(arguments[1], width), vector)
            return builder.bitcast(builder.icmp_unsigned(sign, found, number), _INT64)

        return types.uint64(values, types.uint64), generate

    return intrinsic(ask)


equal_to: Any = _compared("==")
"""``equal_to(values, number)``: the set of those of 64 unsigned values that equal a number."""


larger_than: Any = _compared(">")
"""``larger_than(values, number)``: the set of those of 64 unsigned values above a number."""


def _added(typing_context, sums, to, base, start, groups, lane, word):  # type: ignore[no-untyped-def]
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = ir.VectorType(_INT64, LANES)
        totals = ir.VectorType(context.get_value_type(sums.dtype), LANES)
        there, known, marks = (
            _place(context, builder, signature, arguments, number, vector, arguments[number + 1])
            for number, vector in ((0, totals), (2, words), (4, words))
        )
        chosen = builder.and_(_load(builder, marks), _everywhere(builder, arguments[6], words))
        more = builder.add(_load(builder, known), _ones(builder, chosen, words))
        if totals.element != _INT64:
            more = builder.trunc(more, totals)
        builder.store(builder.add(_load(builder, there), more), there).align = 1
        return context.get_dummy_value()

    place = types.uint64
    return types.none(sums, place, base, place, groups, place, types.uint64), generate


add_counts: Any = intrinsic(_added)
"""``add_counts(sums, to, base, start, groups, lane, word)``, for eight groups from `lane` on.

``sums[to + i] += base[start + i] + size of (groups[lane + i] & word)`` for i from 0 to 7, arrays
counted through as if they had one dimension. Sums have 32 or 64 bits, the others 64.
"""


def lanes_for(n_groups: int) -> int:
    """Return how many numbers a row of groups has: a whole number of vectors."""
    return -(-n_groups // LANES) * LANES


@njit(cache=True, nogil=True, inline="always")
def tell(rows, target, counts, source, groups, marked):  # type: ignore[no-untyped-def]
    """Add to a row, by group, a row of counts and the records in a set."""
    width = np.uint64(len(groups))
    to, start = target * width, source * width
    for lane in range(np.uint64(0), width, np.uint64(LANES)):
        add_counts(rows, to + lane, counts, start + lane, groups, lane, marked)


def _place(
    context: Any,
    builder: Any,
    signature: Any,
    arguments: Any,
    number: int,
    vector: ir.VectorType,
    start: Any = None,
) -> Any:
    """Return the address of a vector in the array that is the argument with this number."""
    array = context.make_array(signature.args[number])(context, builder, arguments[number])
    first = array.data if start is None else builder.gep(array.data, [start])
    return builder.bitcast(first, vector.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    # Arrays are aligned to their numbers, not to whole vectors.
    loaded = builder.load(place)
    loaded.align = 1
    return loaded


def _everywhere(builder: Any, number: Any, vector: ir.VectorType) -> Any:
    """Return a vector that holds a number in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(_INT32, 0))
    lanes = ir.Constant(ir.VectorType(_INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, empty, lanes)


def _ones(builder: Any, words: Any, vector: ir.VectorType) -> Any:
    """Return how many bits of each word are one."""
    name = f"llvm.ctpop.v{vector.count}i64"
    known = builder.module.globals.get(name)
    function = known or ir.Function(builder.module, ir.FunctionType(vector, [vector]), name)
    return builder.call(function, [words])


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
