"""Sums over judgments that share an item, an evaluator or a pair, item by item.

The judgments that touch each item are listed first: in heaps of neighbouring items, then item by
item within a heap. Defined by the sums over single pairs of :mod:`comparity.counts.judged_pairs`,
whose twin is ``tests/plain/dyadic.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

KIND_BITS, JUDGE_BITS = 10, 21
"""Room for kinds and evaluators in what is listed of a judgment: one whole number of 64 bits, whose
last says whether the item listed first is the better one."""
JUDGE, OTHER = 1 + KIND_BITS, 1 + KIND_BITS + JUDGE_BITS
"""From which bit on evaluator and other item stand there."""

MOST_HEAPS, MOST_BITS = 2**10, 16
"""Heaps of items, each with its own place in the cache to be written to; and bits for the items of
one."""

FEW_COUNTS = 2**15
"""Counts by evaluator and kind that stay in the fastest cache."""


class Touches(NamedTuple):
    """Judgments that touch some items, in heaps of neighbouring items.

    Attributes
    ----------
    first, last : int
        These items.
    bits : int
        Items of a heap are two to this power.
    ends : ndarray of int
        Where heaps begin, and the end of the last.
    own : ndarray of uint16
        The item that is touched, from the first of its heap on.
    listed : ndarray of int
        The judgment: other item, who judged, kind, and whether the item is the better one.
    has_judges : bool
    """

    first: int
    last: int
    bits: int
    ends: Codes
    own: NDArray[np.uint16]
    listed: Codes
    has_judges: bool


def divide_touches(columns: tuple[NDArray[Any], ...], first: int, last: int) -> Touches:
    """Put the judgments that touch some items into heaps, each of which fits into the cache."""
    # Writing to all items in turn would miss the cache, and the table of pages, each time.
    bits = min(max((last - first - 1) // MOST_HEAPS, 0).bit_length(), MOST_BITS)
    ends, own, listed = _put_in_heaps(*columns, first, last, bits)
    return Touches(first, last, bits, ends, own, listed, len(columns[2]) > 0)


@njit(cache=True, nogil=True)
def _put_in_heaps(better, worse, judge, kind, place, first, last, bits):  # type: ignore[no-untyped-def]
    """Return where heaps begin, and the item and the judgment of each touch, heap by heap."""
    ends = np.zeros(((last - first - 1) >> bits) + 2, np.int64)
    for items in (better, worse):
        for p in range(len(items)):
            if first <= items[p] < last:
                ends[((items[p] - first) >> bits) + 1] += 1
    for heap in range(len(ends) - 1):
        ends[heap + 1] += ends[heap]
    free, within = ends[:-1].copy(), (1 << bits) - 1
    own, listed = np.empty(ends[-1], np.uint16), np.empty(ends[-1], np.int64)
    for p in range(len(better)):
        rest = np.int64(place[kind[p]]) << 1
        if len(judge):
            rest |= np.int64(judge[p]) << JUDGE
        one, two = np.int64(better[p]), np.int64(worse[p])
        if first <= one < last:
            heap = (one - first) >> bits
            own[free[heap]] = (one - first) & within
            listed[free[heap]] = two << OTHER | rest | 1
            free[heap] += 1
        if first <= two < last:
            heap = (two - first) >> bits
            own[free[heap]] = (two - first) & within
            listed[free[heap]] = one << OTHER | rest
            free[heap] += 1
    return ends, own, listed


def add_touches(
    touches: Touches, held: NDArray[np.int32], judged: Codes, products: Codes, cubes: Floats
) -> None:
    """Count judgments by item and by evaluator, and add up what they share, heap by heap.

    Products of counts by kind: over pairs, items of an evaluator, and pairs of one. And the cubes
    of how often each evaluator (or all together) judged each pair so.
    """
    n_tables = len(judged) if judged.size <= FEW_COUNTS else 1
    counts = np.zeros((n_tables, len(cubes)), np.int64)
    later = np.zeros_like(products[1])
    _add_heaps(touches, counts, later, held, judged, products, cubes)
    if n_tables > 1 and touches.has_judges:
        # Each two judgments were met once, and none with itself.
        once = held[touches.first : touches.last].sum(axis=0)
        products[1] += later + later.T + np.diag(once)


@njit(cache=True, nogil=True)
def _add_heaps(touches, counts, later, held, judged, products, cubes):  # type: ignore[no-untyped-def]
    """Do so, with room for counts by evaluator and for `later`, or for the counts of one."""
    room = 0
    for heap in range(len(touches.ends) - 1):
        room = max(room, touches.ends[heap + 1] - touches.ends[heap])
    sorted_, keys = np.empty(room, np.int64), np.empty(room, np.int64)
    met = np.zeros(len(cubes), np.int64)
    for heap in range(len(touches.ends) - 1):
        start, end = touches.ends[heap], touches.ends[heap + 1]
        item = touches.first + (heap << touches.bits)
        own, listed = touches.own[start:end], touches.listed[start:end]
        starts = _sort_heap(own, listed, 1 << touches.bits, sorted_)
        for k in range(len(starts) - 1):
            mine = sorted_[starts[k] : starts[k + 1]]
            for touch in mine:
                kind = touch >> 1 & (2**KIND_BITS - 1)
                held[item + k, kind] += 1
                if touch & 1:
                    judged[touch >> JUDGE & (2**JUDGE_BITS - 1), kind] += 1
            if touches.has_judges:
                _add_items(mine, keys, counts, met, later, products[1])
            _add_pairs(mine, item + k, touches.has_judges, keys, counts[0], met, products, cubes)


@njit(cache=True, nogil=True)
def _sort_heap(own, listed, width, out):  # type: ignore[no-untyped-def]
    """Bring the touches of each item of a heap together, and return where those of each begin."""
    starts = np.zeros(width + 1, np.int64)
    for t in range(len(own)):
        starts[own[t] + 1] += 1
    for k in range(width):
        starts[k + 1] += starts[k]
    free = starts[:-1].copy()
    for t in range(len(own)):
        out[free[own[t]]] = listed[t]
        free[own[t]] += 1
    return starts


@njit(cache=True, nogil=True)
def _add_items(mine, keys, counts, met, later, products):  # type: ignore[no-untyped-def]
    """Add up products of counts by kind over the evaluators of one item.

    With room for all evaluators `later` gets, for each judgment, those before it by kind.
    """
    if len(counts) > 1:
        for touch in mine:
            kind = touch >> 1 & (2**KIND_BITS - 1)
            seen, row = counts[touch >> JUDGE & (2**JUDGE_BITS - 1)], later[kind]
            for other in range(len(seen)):
                row[other] += seen[other]
            seen[kind] += 1
        for touch in mine:
            counts[touch >> JUDGE & (2**JUDGE_BITS - 1), touch >> 1 & (2**KIND_BITS - 1)] = 0
        return
    for n in range(len(mine)):
        keys[n] = mine[n] & (2**OTHER - 1)
    _sort(keys, len(mine))
    _add_clusters(keys, len(mine), JUDGE, counts[0], met, products)


@njit(cache=True, nogil=True)
def _add_pairs(mine, item, has_judges, keys, counts, met, products, cubes):  # type: ignore[no-untyped-def]
    """Add up products of counts by kind over pairs of items, and over the evaluators of each."""
    n = 0
    for touch in mine:
        # Each pair once, where its first item is.
        if touch >> OTHER > item:
            keys[n] = touch
            n += 1
    _sort(keys, n)
    _add_clusters(keys, n, OTHER, counts, met, products[0])
    if has_judges:
        _add_clusters(keys, n, JUDGE, counts, met, products[2])
    _add_cubes(keys, n, cubes)


@njit(cache=True, nogil=True)
def _add_clusters(keys, n, shift, counts, met, products):  # type: ignore[no-untyped-def]
    """Add up products of counts by kind over runs of keys that are alike from this bit on."""
    start = 0
    while start < n:
        cluster, end, many = keys[start] >> shift, start, 0
        while end < n and keys[end] >> shift == cluster:
            kind = keys[end] >> 1 & (2**KIND_BITS - 1)
            if counts[kind] == 0:
                met[many] = kind
                many += 1
            counts[kind] += 1
            end += 1
        for a in range(many):
            here = counts[met[a]]
            for b in range(many):
                products[met[a], met[b]] += here * counts[met[b]]
        for a in range(many):
            counts[met[a]] = 0
        start = end


@njit(cache=True, nogil=True)
def _add_cubes(keys, n, cubes):  # type: ignore[no-untyped-def]
    """Add up, by kind, the cubes of how often a key occurs."""
    start = 0
    while start < n:
        end = start
        while end < n and keys[end] == keys[start]:
            end += 1
        cubes[keys[start] >> 1 & (2**KIND_BITS - 1)] += float(end - start) ** 3
        start = end


@njit(cache=True, nogil=True)
def _sort(keys, n):  # type: ignore[no-untyped-def]
    """Sort the first n numbers (Shell): few of them, for which a library's sort takes longer."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap:
        for place in range(gap, n):
            key, at = keys[place], place
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3
