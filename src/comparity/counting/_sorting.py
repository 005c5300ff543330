"""Sorting numbers together with a small code or their position, as fast as numbers alone.

``np.sort`` of 64-bit integers is several times faster than ``np.argsort`` (eight times at ten
million, where the processor has wide registers). A float becomes an integer of the same order, and
what is to come along is written into its low bits. Measured by ``benchmarks/bench_pairwise.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["order_of", "sorted_with_codes"]

SIGN = np.int64(-(2**63))
SHORT_RUN = 16


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
    numbers = values.view(np.int64)
    low, high = map(np.uint64, _range(numbers))
    bits = max(len(values) - 1, 1).bit_length()
    room = 64 - bits - (int(high) - int(low)).bit_length()
    packed = _packed_positions(numbers, low, high, descending, np.uint64(bits), room)
    packed.sort()
    order, same = _positions(packed, np.uint64(bits))
    if room < 0:
        # The lowest bits of the values had no room: few values agree in all others.
        _repair(values, order, same, descending)
    return order, same


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
        starts[1:] = np.cumsum(sizes)
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
def _packed_positions(numbers, low, high, descending, bits, room):  # type: ignore[no-untyped-def]
    packed = np.empty(len(numbers), dtype=np.uint64)
    lost = np.uint64(max(-room, 0))
    for position in range(len(numbers)):
        key = high - _key(numbers[position]) if descending else _key(numbers[position]) - low
        packed[position] = ((key >> lost) << bits) | np.uint64(position)
    return packed


@njit(cache=True, nogil=True)
def _positions(packed, bits):  # type: ignore[no-untyped-def]
    order, same = np.empty(len(packed), dtype=np.int64), np.empty(len(packed), dtype=np.bool_)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    same[0] = False
    for place in range(len(packed)):
        order[place] = np.int64(packed[place] & mask)
    for place in range(1, len(packed)):
        same[place] = packed[place] >> bits == packed[place - 1] >> bits
    return order, same


@njit(cache=True, nogil=True)
def _repair(values, order, same, descending):  # type: ignore[no-untyped-def]
    """Sort each run of values with the same leading bits, and see which are the same."""
    start = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and same[end]:
            continue
        if end - start > 1:
            _sort_run(values, order[start:end], descending)
            for place in range(start + 1, end):
                same[place] = values[order[place]] == values[order[place - 1]]
        start = end


@njit(cache=True, nogil=True)
def _sort_run(values, run, descending):  # type: ignore[no-untyped-def]
    sign = -1.0 if descending else 1.0
    if len(run) > SHORT_RUN:
        true = sign * values[run]
        if np.any(true[1:] < true[:-1]):
            run[:] = run[np.argsort(true, kind="mergesort")]
        return
    for i in range(1, len(run)):
        here, j = run[i], i
        while j > 0 and sign * values[run[j - 1]] > sign * values[here]:
            run[j] = run[j - 1]
            j -= 1
        run[j] = here
