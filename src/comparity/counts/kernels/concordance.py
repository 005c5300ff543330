r"""How often two orders of the same items agree, item by item.

For item :math:`i` the kernel returns :math:`\sum_j w_j \operatorname{sign}(u_i - u_j)
\operatorname{sign}(v_i - v_j)` over the items :math:`j` of its segment: the weight of items that
both orders put on the same side of it, less the weight of those that they put on opposite sides.
Defined by the double loop in ``tests/plain/ordered_pairs.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.sorting import order_of, ranks_of

__all__ = ["Classes", "classes", "grouped", "joint_classes", "one_class", "signed_agreement"]


class Classes(NamedTuple):
    """Items in order, and the position of each one's value among the distinct values."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    n_distinct: int

    def weight(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each item the weight of all items with the same value, itself included."""
        if self.n_distinct == len(self.rank):
            return weight
        totals = np.bincount(self.rank, weight, self.n_distinct).astype(np.float64, copy=False)
        return totals[self.rank]


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
    order = grouped(second.order, first.rank, first.n_distinct)
    rank, n_distinct = _joint_ranks(first.rank, second.rank, order)
    return Classes(order, rank, n_distinct)


def signed_agreement(
    order: NDArray[np.int64],
    segment: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the signed agreement of two orders for every item, within segments.

    Parameters
    ----------
    order : ndarray
        The items by segment, then by `first`, then by `second`.
    segment, first, second : ndarray
        Ranks of each item. Equal ranks of `first` lie in one segment.
    weight : ndarray
        Weight of each item.

    Returns
    -------
    ndarray
        One number for each item; exact while all weights are whole numbers.

    Notes
    -----
    O(n log d) time for d distinct values of `first` in a segment, O(n) memory: runs of equal
    `first` are merged two by two in the order of `second`.
    """
    answer = np.zeros(len(order))
    _merge_segments(order, segment, first, second, weight, answer)
    return answer


@njit(cache=True, nogil=True)
def grouped(order, code, n_codes):  # type: ignore[no-untyped-def]
    """Bring items of one code together, smaller codes first, else in the order given.

    O(n) time: one walk to count, one to place.
    """
    place = np.zeros(n_codes + 1, dtype=np.int64)
    for item in range(len(code)):
        place[code[item] + 1] += 1
    for number in range(n_codes):
        place[number + 1] += place[number]
    answer = np.empty(len(order), dtype=np.int64)
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
def _merge_segments(order, segment, first, second, weight, answer):  # type: ignore[no-untyped-def]
    n = len(order)
    values, item, weights, sums = _columns(n)
    spare = _columns(n)
    bounds = np.empty(n + 1, dtype=np.int64)
    for place in range(n):
        values[place] = second[order[place]]
        item[place] = order[place]
        weights[place] = weight[order[place]]
    start = 0
    while start < n:
        end, n_runs = start, 0
        while end < n and segment[order[end]] == segment[order[start]]:
            if end == start or first[order[end]] != first[order[end - 1]]:
                bounds[n_runs] = end
                n_runs += 1
            end += 1
        bounds[n_runs] = end
        one, two = (values, item, weights, sums), spare
        while n_runs > 1:
            n_runs = _merge_runs(one, two, bounds, n_runs)
            one, two = two, one
        for place in range(start, end):
            answer[one[1][place]] = one[3][place]
        start = end


@njit(cache=True, nogil=True)
def _columns(n):  # type: ignore[no-untyped-def]
    """Return room for value, item, weight and sum; narrow, because all of it is moved often."""
    return np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n), np.zeros(n)


@njit(cache=True, nogil=True)
def _merge_runs(one, two, bounds, n_runs):  # type: ignore[no-untyped-def]
    """Merge neighbouring runs from one set of columns into the other; return how many are left."""
    for run in range(0, n_runs - 1, 2):
        _merge(one, two, bounds[run], bounds[run + 1], bounds[run + 2])
    if n_runs % 2:
        for place in range(bounds[n_runs - 1], bounds[n_runs]):
            _move(one, place, two, place, 0.0)
    left = (n_runs + 1) // 2
    for run in range(left):
        bounds[run] = bounds[2 * run]
    bounds[left] = bounds[n_runs]
    return left


@njit(cache=True, nogil=True)
def _merge(one, two, start, middle, end):  # type: ignore[no-untyped-def]
    """Merge a run with the next, whose items are larger in the first order."""
    values, _, weights, _ = one
    all_low, all_high = weights[start:middle].sum(), weights[middle:end].sum()
    low, high, place = start, middle, start
    before_low = before_high = 0.0
    while low < middle and high < end:
        if values[low] == values[high]:
            low, high, place, before_low, before_high = _merge_ties(
                one,
                two,
                (low, high, place),
                (middle, end),
                (before_low, before_high, all_low, all_high),
            )
            continue
        # Without jumps, because which run comes next cannot be foreseen.
        is_low = values[low] < values[high]
        source = low if is_low else high
        more = all_high - 2 * before_high if is_low else 2 * before_low - all_low
        _move(one, source, two, place, more)
        before_low += weights[source] if is_low else 0.0
        before_high += 0.0 if is_low else weights[source]
        low += is_low
        high += not is_low
        place += 1
    for source in range(low, middle):
        _move(one, source, two, place, -all_high)
        place += 1
    for source in range(high, end):
        _move(one, source, two, place, all_low)
        place += 1


@njit(cache=True, nogil=True)
def _merge_ties(one, two, places, ends, sums):  # type: ignore[no-untyped-def]
    """Merge all items of both runs with the next value: ties count for neither side."""
    low, high, place = places
    before_low, before_high, all_low, all_high = sums
    values, _, weights, _ = one
    value, stop_low, stop_high = values[low], low, high
    up_to_low, up_to_high = before_low, before_high
    while stop_low < ends[0] and values[stop_low] == value:
        up_to_low += weights[stop_low]
        stop_low += 1
    while stop_high < ends[1] and values[stop_high] == value:
        up_to_high += weights[stop_high]
        stop_high += 1
    for source in range(low, stop_low):
        _move(one, source, two, place, all_high - before_high - up_to_high)
        place += 1
    for source in range(high, stop_high):
        _move(one, source, two, place, before_low + up_to_low - all_low)
        place += 1
    return stop_low, stop_high, place, up_to_low, up_to_high


@njit(cache=True, nogil=True, inline="always")
def _move(one, source, two, place, more):  # type: ignore[no-untyped-def]
    two[0][place] = one[0][source]
    two[1][place] = one[1][source]
    two[2][place] = one[2][source]
    two[3][place] = one[3][source] + more
