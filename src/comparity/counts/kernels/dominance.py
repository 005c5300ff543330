"""Who is above whom in label and in score, item by item or by group, for any labels and weights.

Items are lined up by score, from the lowest, and each is told the weight of the items before it
that have lower labels, by group: its hits as better item. Labels are numbered, and items are dealt
out by the digits of these numbers, from the first digit on. While items with the same leading
digits are dealt out by the next one, a table holds, for each value of that digit, the weight of the
items seen with smaller values. So each item is looked at once for each digit, whatever the number
of pairs.

Ties need no care on the way: equal labels have equal numbers, and of equal scores the one with the
highest label comes first. As worse item an item is the better one in the reversed line. Defined by
the loops in ``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.sorting import Classes, joint_classes, order_of, ranks_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

DIGIT = 4
"""Bits of a digit: more take longer to enter in the table than they save walks."""

VALUES = 1 << DIGIT

FEW_LEVELS = 64
"""So many different labels are found without sorting them."""

SLOTS = 1024
"""Size of the hash table of labels: sparse, and small enough for the fastest cache."""


class Line(NamedTuple):
    """Items by score, lowest first; of equal scores the highest label first.

    Attributes
    ----------
    level : ndarray of int
        The place of the label among the different labels, lowest first.
    group : ndarray of int
    weight : ndarray of float
        Empty where all items weigh one.
    same_score : ndarray of bool
        Whether the score equals the one before.
    starts : ndarray of int
        How many items are below each level, then how many there are.
    n_groups : int
    """

    level: Codes
    group: Codes
    weight: Floats
    same_score: NDArray[np.bool_]
    starts: NDArray[np.int64]
    n_groups: int

    def backwards(self) -> Line:
        """Return the line in which worse items are better ones."""
        same = np.zeros_like(self.same_score)
        same[1:] = self.same_score[:0:-1]
        starts = len(self.level) - self.starts[::-1]
        level = (len(starts) - 2 - self.level)[::-1].copy()
        group, weight = self.group[::-1].copy(), self.weight[::-1].copy()
        return Line(level, group, weight, same, starts, self.n_groups)


def line_up(
    y: Floats, f: Floats, group: NDArray[np.int64], n_groups: int, weights: Floats | None = None
) -> Line:
    """Line up items by score. O(N log N) time."""
    level, starts = _levels(y)
    order, same_score = order_of(f)
    if same_score.any():
        order_ties(order, same_score, level)
    weight = np.empty(0) if weights is None else weights[order]
    levels, own = _take(level, order, len(starts) - 1), _take(group, order, n_groups)
    return Line(levels, own, weight, same_score, starts, n_groups)


def _take(codes: NDArray[np.integer], order: NDArray[np.int64], n_codes: int) -> Codes:
    """Return codes in an order; where few differ, as bytes, more of which fit into the cache."""
    kept = codes.astype(np.uint8 if n_codes <= 2**8 else np.int32)
    return np.take(kept, order).astype(np.int32, copy=False)


def line_totals(line: Line) -> tuple[Floats, Floats, Floats]:
    """Return trials, hits and score ties by group of the better and group of the worse item.

    O(N log L) time for L different labels and O(N) memory. Sums of whole numbers are exact.
    """
    trials, hits, ties = np.zeros((3, line.n_groups, line.n_groups))
    row = np.empty(0, dtype=np.int32)
    dealt = deal(*line[:3], row, line.starts, hits)
    _add_trials(*dealt[:3], trials)
    add_ties(*line[:4], row, 1.0, ties)
    return trials, hits, ties


def hits_by_item(line: Line, tie: float) -> tuple[Floats, tuple[Codes, Codes, Floats, Codes]]:
    """Return the hits of each item as better item against each group, a tie counted as given.

    With them level, group, weight and place in the line of all items, in the order of levels.
    O(N log L + N K) time and O(N K) memory.
    """
    row = np.arange(len(line.level), dtype=np.int32)
    hits = np.zeros((len(row), line.n_groups))
    dealt: tuple[Codes, Codes, Floats, Codes] = deal(*line[:3], row, line.starts, hits)
    if tie:
        add_ties(*line[:4], row, tie, hits)
    return hits, dealt


def concordances(
    segments: Classes, first: Classes, second: Classes, weights: Sequence[Floats]
) -> list[Floats]:
    """Return for each item the weight of the items of its segment that two orders agree on.

    These are above it in both orders or below it in both. Defined by the double loop in
    ``tests/plain/ordered_pairs.py``.

    Parameters
    ----------
    segments, first, second : Classes
    weights : sequence of ndarray
        Positive weights of the items; one answer for each, exact where they are whole numbers.

    Notes
    -----
    O(n log d) time for d distinct values of `first`, O(n) memory. Items of later segments come
    first in the line, so that no item is above any other segment's in both orders. With B what is
    below an item in both orders, what is above it in both is B + P - Q: P are the items that
    precede it from the largest value of `first` down (ties by `second`, upwards), Q those that
    precede it from the smallest value of `second` up (ties by `first`, downwards).
    """
    falling = first.backwards()
    by_first, by_second = joint_classes(falling, second), joint_classes(second, falling)
    if segments.n_distinct > 1:
        late = segments.backwards()
        by_first, by_second = joint_classes(late, by_first), joint_classes(late, by_second)
        first = joint_classes(segments, first)
    order = by_second.order
    level, group = first.rank[order].astype(np.int32), np.zeros(len(order), dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(first.rank))])
    answers = []
    for weight in weights:
        line = Line(level, group, weight[order], np.zeros(len(order), dtype=bool), starts, 1)
        below = np.empty(len(order))
        below[order] = hits_by_item(line, 0.0)[0][:, 0] / line.weight
        answers.append(2 * below + (by_first.before(weight) - by_second.before(weight)))
    return answers


def few_levels(y: Floats) -> tuple[Floats, Codes] | None:
    """Return the different labels in order, and the place of each item's; nothing of too many.

    Examples
    --------
    >>> levels, level = few_levels(np.array([2.0, 1.0, 2.0]))
    >>> levels.tolist(), level.tolist()
    ([1.0, 2.0], [1, 0, 1])
    """
    distinct, found = _find_levels((y + 0.0).view(np.int64))
    if not len(distinct):
        return None
    levels, rank = np.unique(distinct.view(np.float64), return_inverse=True)
    return levels, rank.astype(np.int32)[found]


def _levels(y: Floats) -> tuple[Codes, NDArray[np.int64]]:
    """Return the place of each label among the different labels, and how many are below each."""
    few = few_levels(y)
    if few is not None:
        return few[1], np.concatenate([[0], np.cumsum(np.bincount(few[1]))])
    order, same = order_of(y)
    starts = np.append(np.flatnonzero(~same), len(y))
    return ranks_of(order, same)[0].astype(np.int32), starts


@njit(cache=True, nogil=True)
def _find_levels(numbers):  # type: ignore[no-untyped-def]
    """Give numbers to labels in the order they come in; no label if there are too many.

    `numbers` are the bits of the labels, without negative zeros.
    """
    slots, found = np.empty(SLOTS, dtype=np.int64), np.full(SLOTS, -1, dtype=np.int64)
    distinct = np.empty(FEW_LEVELS, dtype=np.int64)
    level = np.empty(len(numbers), dtype=np.uint8)
    n_levels = 0
    for position in range(len(numbers)):
        number = numbers[position]
        slot = np.int64((np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(54))
        while found[slot] >= 0 and slots[slot] != number:
            slot = (slot + 1) % SLOTS
        if found[slot] < 0:
            if n_levels == FEW_LEVELS:
                return distinct[:0], level
            slots[slot], found[slot], distinct[n_levels] = number, n_levels, number
            n_levels += 1
        level[position] = found[slot]
    return distinct[:n_levels], level


@njit(cache=True, nogil=True)
def order_ties(order, same_score, level):  # type: ignore[no-untyped-def]
    """Put the items of each block of equal scores in the order of labels, highest first."""
    end = 0
    while end < len(order):
        start, end = end, end + 1
        while end < len(order) and same_score[end]:
            end += 1
        if end - start > 1:
            block = order[start:end].copy()
            falling = np.argsort(-level[block].astype(np.float64), kind="mergesort")
            # Assigned one by one: to check the shapes of slices takes two seconds to compile.
            for place in range(len(block)):
                order[start + place] = block[falling[place]]


@njit(cache=True, nogil=True)
def deal(level, group, weight, row, starts, hits):  # type: ignore[no-untyped-def]
    """Add to rows of hits the weight of items before with lower levels, by group of these.

    An item adds to the row of its group where `row` is empty. Returns level, group, weight and row
    of all items in the order of levels.
    """
    columns = level, group, weight, row
    dealt = np.empty_like(level), np.empty_like(group), np.empty_like(weight), np.empty_like(row)
    spare = np.empty_like(level), np.empty_like(group), np.empty_like(weight), np.empty_like(row)
    lower, places = np.zeros((hits.shape[1], VALUES)), np.empty(VALUES, dtype=np.int64)
    n_levels, shift = len(starts) - 1, 0
    while n_levels > VALUES << shift:
        shift += DIGIT
    while shift >= 0:
        for first in range(0, n_levels, VALUES << shift):
            for value in range(VALUES):
                places[value] = starts[min(first + (value << shift), n_levels)]
            lower[:] = 0.0
            end = starts[min(first + (VALUES << shift), n_levels)]
            _deal_block(columns, dealt, places[0], end, shift, lower, places, hits)
        columns, dealt, spare = dealt, spare, dealt
        shift -= DIGIT
    return columns


@njit(cache=True, nogil=True, inline="always")
def _deal_block(columns, dealt, start, end, shift, lower, places, hits):  # type: ignore[no-untyped-def]
    """Deal out items with the same leading digits, which lie together, by the next digit."""
    level, group, weight, row = columns
    for place in range(start, end):
        digit, own = (level[place] >> shift) & (VALUES - 1), group[place]
        to = places[digit]
        places[digit] = to + 1
        dealt[0][to], dealt[1][to] = level[place], own
        w, target = 1.0, own
        if len(weight):
            w = weight[place]
            dealt[2][to] = w
        if len(row):
            target = row[place]
            dealt[3][to] = target
        for g in range(len(lower)):
            hits[target, g] += w * lower[g, digit]
        for value in range(digit + 1, VALUES):
            lower[own, value] += w


@njit(cache=True, nogil=True)
def _add_trials(level, group, weight, trials):  # type: ignore[no-untyped-def]
    """Add the weight of items with lower levels to the row of each item's group."""
    below, upto = np.zeros(len(trials)), np.zeros(len(trials))
    for place in range(len(level)):
        if place and level[place] != level[place - 1]:
            for g in range(len(below)):
                below[g] = upto[g]
        own, w = group[place], weight[place] if len(weight) else 1.0
        for g in range(len(below)):
            trials[own, g] += w * below[g]
        upto[own] += w


@njit(cache=True, nogil=True)
def add_ties(level, group, weight, same_score, row, tie, rows):  # type: ignore[no-untyped-def]
    """Add to rows `tie` times the weight of items with equal scores and lower levels, by group."""
    lower, upto = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for place in range(len(level) - 2, -1, -1):
        if not same_score[place + 1]:
            continue
        if place + 2 == len(level) or not same_score[place + 2]:
            lower[:] = 0.0
            upto[:] = 0.0
        upto[group[place + 1]] += weight[place + 1] if len(weight) else 1.0
        if level[place] != level[place + 1]:
            for g in range(len(lower)):
                lower[g] = upto[g]
        w = weight[place] if len(weight) else 1.0
        target = row[place] if len(row) else group[place]
        for g in range(len(lower)):
            rows[target, g] += tie * w * lower[g]
