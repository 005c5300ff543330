"""Sorting numbers together with a small code or their position, as fast as numbers alone.

``np.sort`` of 64-bit integers is several times faster than ``np.argsort`` (eight times at ten
million, where the processor has wide registers). A float becomes an integer of the same order, and
what is to come along is written into its low bits. Measured by ``benchmarks/bench_pairwise.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

__all__ = ["order_of", "records_of", "sorted_with_codes"]

SIGN = np.int64(-(2**63))
STEPS = np.uint64(52)
"""So many bits of a float tell it from those of the same sign and exponent."""
SHORT_RUN = 64
"""Numbers up to which a run is sorted by insertion."""


def sorted_with_codes(
    values: NDArray[np.float64], code: NDArray[np.uint16], n_codes: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Sort by value, then by code.

    Returns
    -------
    packed : ndarray of uint64
        In order; the code in the low ``(n_codes - 1).bit_length()`` bits, the value above them.
    borders : ndarray of int
        The leading bits of a value, which have to make room for the code, are those of the stretch
        of `packed` between two borders: values of two stretches are never equal.
    """
    numbers = values.view(np.int64)
    low, high = map(np.uint64, _range(numbers))
    bits = (n_codes - 1).bit_length()
    kept = min(64 - bits, 63)
    starts = _starts(numbers, low, np.uint64(kept), (int(high) - int(low) >> kept) + 1)
    borders = np.unique(starts)
    packed: NDArray[np.uint64] = _packed(
        numbers, low, np.uint64(kept), code, np.uint64(bits), starts
    )
    for start, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        packed[start:end].sort()
    return packed, borders


def order_of(
    values: NDArray[np.float64], *, descending: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the positions of values in order, and whether each value equals the one before.

    Positions of equal values ascend.
    """
    order = np.empty(len(values), dtype=np.int64)
    return order, _lined_up(values, None, 0, descending, order)


def records_of(
    values: NDArray[np.float64], code: NDArray[Any], bits: int, *, descending: bool = False
) -> tuple[NDArray[np.uint32] | NDArray[np.int64], NDArray[np.bool_]]:
    """Return the positions of values in order, each with its code, as :func:`order_of` does.

    The code is in the lowest `bits` of a record, the position above them. To carry it through the
    sort takes less time than to look it up afterwards, by position.
    """
    narrow = len(values) << bits <= 2**32
    records: NDArray[Any] = np.empty(len(values), dtype=np.uint32 if narrow else np.int64)
    return records, _lined_up(values, code, bits, descending, records)


def _lined_up(
    values: NDArray[np.float64],
    code: NDArray[Any] | None,
    code_bits: int,
    descending: bool,
    records: NDArray[Any],
) -> NDArray[np.bool_]:
    """Write positions in order and their codes; return whether each value equals the one before."""
    numbers = values.view(np.int64)
    bits = max(len(values) - 1, 1).bit_length() + code_bits
    rank, n_ranks = _ranks(numbers)
    last = (int(n_ranks) << int(STEPS)) - 1
    lost = max(bits + last.bit_length() - 64, 0)
    shifts = np.uint64(code_bits), np.uint64(bits), np.uint64(lost)
    packed = _packed_records(numbers, rank, np.uint64(last), descending, code, *shifts)
    packed.sort()
    same: NDArray[np.bool_] = _unpacked(packed, np.uint64(bits), records)
    if lost:
        # The lowest bits of the values had no room: few values agree in all others.
        _repair(values, records, code_bits, same, descending)
    return same


@njit(cache=True, nogil=True, inline="always")
def _key(number):  # type: ignore[no-untyped-def]
    """Return the bits of a float as an integer of the same order; both zeros are one."""
    if number == SIGN:
        number = np.int64(0)
    return np.uint64(number ^ ((number >> 63) | SIGN))


@njit(cache=True, nogil=True)
def _range(numbers):  # type: ignore[no-untyped-def]
    low, high = _key(numbers[0]), _key(numbers[0])
    for number in numbers:
        low = min(low, _key(number))
        high = max(high, _key(number))
    return low, high


@njit(cache=True, nogil=True)
def _starts(numbers, low, kept, n_stretches):  # type: ignore[no-untyped-def]
    """Return where each stretch of equal leading bits starts, and the end of the last."""
    starts = np.zeros(n_stretches + 1, dtype=np.int64)
    starts[n_stretches] = len(numbers)
    if n_stretches > 1:
        sizes = np.zeros(n_stretches, dtype=np.int64)
        for number in numbers:
            sizes[np.int64((_key(number) - low) >> kept)] += 1
        # Number by number: slices and sums of arrays would take seconds to compile.
        for stretch in range(n_stretches):
            starts[stretch + 1] = starts[stretch] + sizes[stretch]
    return starts


@njit(cache=True, nogil=True)
def _packed(numbers, low, kept, code, bits, starts):  # type: ignore[no-untyped-def]
    packed = np.empty(len(numbers), dtype=np.uint64)
    place = starts[:-1].copy()
    if len(place) == 1:
        for position in range(len(numbers)):
            packed[position] = ((_key(numbers[position]) - low) << bits) | np.uint64(code[position])
        return packed
    for position in range(len(numbers)):
        key = _key(numbers[position]) - low
        stretch = np.int64(key >> kept)
        packed[place[stretch]] = (key << bits) | np.uint64(code[position])
        place[stretch] += 1
    return packed


@njit(cache=True, nogil=True)
def _ranks(numbers):  # type: ignore[no-untyped-def]
    """Return the rank of each sign and exponent among those that occur, and their number."""
    occurs = np.zeros(1 << (64 - STEPS), dtype=np.uint64)
    for number in numbers:
        occurs[_key(number) >> STEPS] = 1
    total = np.uint64(0)
    for place in range(len(occurs)):
        occurs[place], total = total, total + occurs[place]
    return occurs, total


@njit(cache=True, nogil=True)
def _packed_records(numbers, rank, last, descending, code, code_bits, bits, lost):  # type: ignore[no-untyped-def]
    packed = np.empty(len(numbers), dtype=np.uint64)
    within = (np.uint64(1) << STEPS) - np.uint64(1)
    for position in range(len(numbers)):
        key = _key(numbers[position])
        key = (rank[key >> STEPS] << STEPS) | (key & within)
        record = np.uint64(position) << code_bits
        if code is not None:
            record |= np.uint64(code[position])
        packed[position] = (((last - key if descending else key) >> lost) << bits) | record
    return packed


@njit(cache=True, nogil=True)
def _unpacked(packed, bits, records):  # type: ignore[no-untyped-def]
    """Write the records; return whether the value of each equals the one before."""
    same = np.empty(len(packed), dtype=np.bool_)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    same[0] = False
    for place in range(len(packed)):
        records[place] = packed[place] & mask
    for place in range(1, len(packed)):
        same[place] = packed[place] >> bits == packed[place - 1] >> bits
    return same


def _repair(
    values: NDArray[np.float64],
    records: NDArray[Any],
    bits: int,
    same: NDArray[np.bool_],
    descending: bool,
) -> None:
    """Sort each run of values with the same leading bits, and see which are the same."""
    sign = -1.0 if descending else 1.0
    for start, end in _sort_short_runs(values, records, bits, same, sign).tolist():
        run = records[start:end]
        own = sign * values[run >> bits]
        order = np.argsort(own, kind="stable")
        run[:], own = run[order], own[order]
        same[start + 1 : end] = own[1:] == own[:-1]


@njit(cache=True, nogil=True)
def _sort_short_runs(values, records, bits, same, sign):  # type: ignore[no-untyped-def]
    """Sort runs that are short; return where those start and end that are not, nor in order."""
    long_runs = np.empty((len(records) // SHORT_RUN + 1, 2), dtype=np.int64)
    n_long = start = np.int64(0)
    for end in range(1, len(records) + 1):
        if end < len(records) and same[end]:
            continue
        if end - start <= SHORT_RUN:
            _insert(values, records, start, end, bits, sign)
        if end - start > 1 and not _ascend(values, records, start, end, bits, sign, same):
            long_runs[n_long, 0], long_runs[n_long, 1] = start, end
            n_long += 1
        start = np.int64(end)
    return long_runs[:n_long]


@njit(cache=True, nogil=True)
def _insert(values, records, start, end, bits, sign):  # type: ignore[no-untyped-def]
    for i in range(start + 1, end):
        record, j = records[i], i
        here = sign * values[record >> bits]
        while j > start and sign * values[records[j - 1] >> bits] > here:
            records[j] = records[j - 1]
            j -= 1
        records[j] = record


@njit(cache=True, nogil=True)
def _ascend(values, records, start, end, bits, sign, same):  # type: ignore[no-untyped-def]
    """See which values equal the one before, and say whether none is smaller."""
    before = sign * values[records[start] >> bits]
    for place in range(start + 1, end):
        here = sign * values[records[place] >> bits]
        if here < before:
            return False
        same[place] = here == before
        before = here
    return True
