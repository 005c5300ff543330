"""Items in order, their ranks, the nearest of them, a table of small codes, and rows permuted.

``np.sort`` of 64-bit integers is several times faster than ``np.argsort`` (eight times at ten
million, where the processor has wide registers). A float becomes an integer of the same order, and
its position is written into the low bits. Measured by ``benchmarks/bench_pairwise.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

SIGN = np.int64(-(2**63))
MOVES = 16
"""So many steps for each number are taken to put right what the lost bits left in disorder."""

MOST_CODES = 256
"""Groups have codes from 0 to one less than this."""


def order_of(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the positions of values in order, and whether each value equals the one before.

    Positions of equal values ascend.
    """
    bits = np.uint64(max(len(values) - 1, 1).bit_length())
    packed: NDArray[np.uint64] = _pack_keys(values.view(np.int64), bits)
    packed.sort()
    order, same, is_sorted = _unpack_order(values, packed, bits)
    if not is_sorted:
        order = np.argsort(values, kind="stable")
        same[1:] = np.diff(values[order]) == 0
    return order, same


@njit(cache=True, nogil=True)
def _pack_keys(numbers, bits):  # type: ignore[no-untyped-def]
    """Return the bits of floats as integers of the same order, the lowest ones the position."""
    packed = np.empty(len(numbers), dtype=np.uint64)
    for position in range(len(numbers)):
        # Both zeros are one.
        number = np.int64(0) if numbers[position] == SIGN else numbers[position]
        key = np.uint64(number ^ ((number >> 63) | SIGN))
        packed[position] = ((key >> bits) << bits) | np.uint64(position)
    return packed


@njit(cache=True, nogil=True)
def _unpack_order(values, packed, bits):  # type: ignore[no-untyped-def]
    """Return positions, whether each value equals the one before, and whether all are in order.

    The lowest bits of the values had no room. Few values agree in all others, and these are put in
    order by insertion, unless there are too many of them.
    """
    n, left = len(packed), MOVES * len(packed)
    order, same = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for place in range(n):
        position, to = np.int64(packed[place] & mask), place
        same[place] = place > 0 and packed[place] >> bits == packed[place - 1] >> bits
        while same[to] and values[order[to - 1]] > values[position]:
            order[to] = order[to - 1]
            to -= 1
        order[to] = position
        left -= place - to
        if left < 0:
            return order, same, False
    for place in range(n):
        if same[place]:
            same[place] = values[order[place]] == values[order[place - 1]]
    return order, same, True


@njit(cache=True, nogil=True)
def ranks_of(order, same):  # type: ignore[no-untyped-def]
    """Return the rank of each item, and how many there are; both arrays are of `order_of`."""
    rank = np.empty(len(order), dtype=np.int64)
    current = -1
    for place in range(len(order)):
        current += not same[place]
        rank[order[place]] = current
    return rank, current + 1


class Classes(NamedTuple):
    """Items in order, and the position of each one's value among the distinct values."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    n_distinct: int

    def weight(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each item the weight of all items with the same value, itself included."""
        if self.n_distinct == len(self.rank):
            return weight
        return self._totals(weight)[self.rank]

    def before(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each item the weight of all items with smaller values."""
        totals = self._totals(weight)
        sums: NDArray[np.float64] = np.cumsum(totals) - totals
        return sums[self.rank]

    def _totals(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self.rank, weight, self.n_distinct).astype(np.float64, copy=False)

    def backwards(self) -> Classes:
        """Return the classes with larger values first."""
        return Classes(self.order[::-1], self.n_distinct - 1 - self.rank, self.n_distinct)


def classes(values: NDArray[np.float64] | NDArray[np.int64]) -> Classes:
    """Rank values; equal values share a rank."""
    if values.dtype == np.float64:
        order, same = order_of(np.asarray(values, dtype=np.float64))
    else:
        order = np.argsort(values, kind="stable")
        same = np.append(False, np.diff(values[order]) == 0)[: len(values)]
    rank, n_distinct = ranks_of(order, same)
    return Classes(order, rank, n_distinct)


def one_class(n: int) -> Classes:
    """Rank items that are all equal."""
    return Classes(np.arange(n), np.zeros(n, dtype=np.int64), min(n, 1))


def joint_classes(first: Classes, second: Classes) -> Classes:
    """Rank items by the first value, and by the second where the first is equal."""
    if first.n_distinct == len(first.rank):
        return first
    order = sort_by_code(second.order, first.rank, first.n_distinct)
    rank, n_distinct = _joint_ranks(first.rank, second.rank, order)
    return Classes(order, rank, n_distinct)


def positions_of(n: int) -> NDArray[np.integer]:
    """Return the positions of n rows in order, in half the memory where 32 bits hold them."""
    return np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)


@njit(cache=True, nogil=True)
def sort_by_code(order, code, n_codes):  # type: ignore[no-untyped-def]
    """Bring items of one code together, smaller codes first, else in the order given.

    O(n) time: one walk to count, one to place.
    """
    place = np.zeros(n_codes + 1, dtype=np.int64)
    for item in range(len(code)):
        place[code[item] + 1] += 1
    for number in range(n_codes):
        place[number + 1] += place[number]
    answer = np.empty_like(order)
    for item in order:
        answer[place[code[item]]] = item
        place[code[item]] += 1
    return answer


@njit(cache=True, nogil=True)
def _joint_ranks(first, second, order):  # type: ignore[no-untyped-def]
    rank = np.empty(len(order), dtype=np.int64)
    current, before = -1, -1
    for item in order:
        if current < 0 or first[item] != first[before] or second[item] != second[before]:
            current += 1
        rank[item] = current
        before = item
    return rank, current + 1


@njit(cache=True, nogil=True)
def tabulate(
    label: NDArray[Any], prediction: NDArray[Any], group: NDArray[Any]
) -> NDArray[np.int64]:  # pragma: no cover
    """Count rows by group, label and prediction; empty if a value is out of range.

    Four tables take turns, so that equal rows in a row do not wait for each other's count.
    """
    table = np.zeros((4, 4 * MOST_CODES), dtype=np.int64)
    for row in range(len(label)):
        y, c, g = np.int64(label[row]), np.int64(prediction[row]), np.int64(group[row])
        if ((y | c) >> 1) | (g >> 8):
            return np.zeros(0, dtype=np.int64)
        table[row & 3, 4 * g + 2 * y + c] += 1
    total: NDArray[np.int64] = table.sum(axis=0)
    return total


@njit(cache=True, nogil=True)
def smallest(
    block: NDArray[np.float32], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:  # pragma: no cover
    """Return the positions and values of the k + 1 smallest entries of each row, in order.

    Of equal entries the one further left is the smaller. The value after the k-th tells whether
    the k-th is tied.
    """
    rows, columns = block.shape
    wanted = min(k + 1, columns)
    places = np.zeros((rows, wanted), dtype=np.int64)
    values = np.full((rows, wanted), np.inf, dtype=block.dtype)
    for row in range(rows):
        last = np.inf
        for column in range(columns):
            value = block[row, column]
            if value < last:
                place = wanted - 1
                while place > 0 and values[row, place - 1] > value:
                    values[row, place] = values[row, place - 1]
                    places[row, place] = places[row, place - 1]
                    place -= 1
                values[row, place] = value
                places[row, place] = column
                last = values[row, wanted - 1]
    return places, values


@njit(cache=True, nogil=True, fastmath=True)
def nearest_in_heaps(
    data: NDArray[np.float32],
    starts: NDArray[np.int64],
    heaps: NDArray[np.int64],
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:  # pragma: no cover
    """Return the k + 1 nearest items of each item in some heaps, and their squared distances.

    Parameters
    ----------
    data : ndarray, (n, d)
        Items sorted by heap: heap h holds ``starts[h]`` to ``starts[h + 1]``.
    starts : ndarray of int
        Where heaps begin, and the end of the last.
    heaps : ndarray of int, (n, probes)
        The heaps in which each item looks, its own first.
    k : int
        Neighbours, the item itself included.
    """
    n, d = data.shape
    items = np.zeros((n, k + 1), dtype=np.int64)
    squares = np.full((n, k + 1), np.inf, dtype=np.float32)
    for row in range(n):
        last = np.float32(np.inf)
        for heap in heaps[row]:
            for item in range(starts[heap], starts[heap + 1]):
                square = np.float32(0)
                for column in range(d):
                    step = data[row, column] - data[item, column]
                    square += step * step
                if square < last:
                    place = k
                    while place > 0 and squares[row, place - 1] > square:
                        squares[row, place] = squares[row, place - 1]
                        items[row, place] = items[row, place - 1]
                        place -= 1
                    squares[row, place] = square
                    items[row, place] = item
                    last = squares[row, k]
    return items, squares


CHUNK = 2_000_000
"""Random numbers held in memory at once."""


def sums_of_dealings(
    values: NDArray[np.float64],
    moved: NDArray[np.float64],
    size: int,
    draws: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw `size` of all rows without replacement, again and again, and sum what was drawn.

    Parameters
    ----------
    values, moved : ndarray, (n,)
        A value and a mark (0 or 1) for each row.
    size, draws : int
        Rows in each draw, and how many draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, (4, draws)
        Sums of values, of their squares, of marks, and of values of marked rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sums_of_dealings(np.arange(3.0), np.array([1.0, 0.0, 0.0]), 3, 1, rng)[:, 0].tolist()
    [3.0, 5.0, 1.0, 0.0]
    """
    order = np.arange(len(values))
    found = np.empty((4, draws))
    part = max(1, CHUNK // size)
    for start in range(0, draws, part):
        chosen = rng.random((min(part, draws - start), size))
        _sum_drawn(values, moved, order, chosen, found[:, start : start + part])
    return found


@njit(cache=True, nogil=True)
def _sum_drawn(
    values: NDArray[np.float64],
    moved: NDArray[np.float64],
    order: NDArray[np.int64],
    chosen: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:  # pragma: no cover
    """Shuffle the first places of `order` (Fisher and Yates), which may be in any order before."""
    n = len(order)
    draws, size = chosen.shape
    for draw in range(draws):
        total, squares, marks, marked = 0.0, 0.0, 0.0, 0.0
        for place in range(size):
            other = place + int(chosen[draw, place] * (n - place))
            row = order[other]
            order[other] = order[place]
            order[place] = row
            value = values[row]
            total += value
            squares += value * value
            marks += moved[row]
            marked += value * moved[row]
        found[0, draw] = total
        found[1, draw] = squares
        found[2, draw] = marks
        found[3, draw] = marked
