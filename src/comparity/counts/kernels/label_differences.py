r"""Who is above whom in label and in score, item by item, pairs weighted by label differences.

A pair weighs :math:`w_i w_j (y_i - y_j)`. With a label :math:`r` between the two,
:math:`y_i - y_j = (y_i - r) + (r - y_j)`, so that the sums of :math:`w_j` and
:math:`w_j (r - y_j)` over items are all that item :math:`i` needs to know of them, and those of
:math:`w_j^2 (r - y_j)^m` up to :math:`m = 2` for squared weights. No summand is negative: nothing
cancels, and sums over no pair are exactly zero.

Items lie in the order of labels. Neighbouring runs of labels are merged in the order of scores, as
in a merge sort; on the way each item of the upper run adds the sums over the items of the lower one
that have lower scores, and the other way round. Where a third order must agree, such as that of
age, the sums of the lower run are kept in a tree over its values, and an item of the upper run adds
those of smaller values only. Defined by the loops in ``tests/plain/weighted_pairs.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Rows of the sums over items: weights, times distance; squares, times distance, times its square.
N_SUMS = 5
TRIALS, HITS, TIES = range(3)


class Sums(NamedTuple):
    """What each item's pairs weigh in one role, by group of the other item: (N, K).

    Attributes
    ----------
    trials : ndarray
        All of them.
    hits : ndarray
        Those whose scores are in the order of the labels.
    ties : ndarray
        Those whose scores are equal.
    """

    trials: Floats
    hits: Floats
    ties: Floats


class ItemPairs(NamedTuple):
    """Pairs of each item, in an order of their own.

    Attributes
    ----------
    order : ndarray of int
        Which item each row of the sums is about.
    better, worse : Sums
        Weights of its pairs as better and as worse item.
    squares : Sums
        Squared weights of its pairs as better item.
    """

    order: Codes
    better: Sums
    worse: Sums
    squares: Sums


def scale_labels(y: Floats) -> Floats:
    """Return labels of size at most one in the same proportions, so that no square overflows."""
    exponent = int(np.frexp(np.abs(y).max(initial=0.0))[1])
    # In two steps: the power of two itself may be too large for a float.
    return np.ldexp(np.ldexp(y, -(exponent // 2)), exponent // 2 - exponent)


def item_pairs(
    y: Floats, f: Floats, group: Codes, n_groups: int, *, weight: Floats, query: Codes
) -> ItemPairs:
    """Sum up the pairs of each item with items of the same query and other labels.

    O(N log N + N K log L) time for N items, K groups and L distinct labels, O(N K) memory.
    Weights are in units of scaled labels.
    """
    order = np.lexsort((f, y, query))
    columns = [column[order] for column in (scale_labels(y), f, group, weight)]
    # Labels that are told apart by their last digits only may be equal once they are scaled.
    new_label = _changes(y[order]) | _changes(query[order])
    offsets = np.append(np.flatnonzero(_changes(query[order])), len(y))
    parts = np.zeros((3, 3, len(y), n_groups))
    kernel: Any = _count
    kernel(*columns, new_label, offsets, *parts)
    return ItemPairs(order, *(Sums(*part) for part in parts))


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    changed = np.ones(len(column), dtype=bool)
    changed[1:] = column[1:] != column[:-1]
    return changed


@njit(cache=True, nogil=True)
def _count(y, f, group, weight, new_label, offsets, better, worse, squares):  # type: ignore[no-untyped-def]
    """Fill in the sums, query by query; items come by query, then by label, then by score."""
    items = y, group, weight
    score, place = f.copy(), np.arange(len(y))
    spare = np.empty(len(y)), np.empty(len(y), dtype=np.int64)
    longest = 0
    for query in range(len(offsets) - 1):
        longest = max(longest, offsets[query + 1] - offsets[query])
    bounds = np.empty(longest + 1, dtype=np.int64)
    for query in range(len(offsets) - 1):
        n_runs = 0
        for item in range(offsets[query], offsets[query + 1]):
            if new_label[item]:
                bounds[n_runs] = item
                n_runs += 1
        bounds[n_runs] = offsets[query + 1]
        _count_trials(items, bounds, n_runs, better[TRIALS], worse[TRIALS], squares[TRIALS])
        one, two = (score, place), spare
        while n_runs > 1:
            for run in range(0, n_runs - 1, 2):
                edges = bounds[run], bounds[run + 1], bounds[run + 2]
                _fall(one, edges, items, worse)
                _rise(one, two, edges, items, better, squares)
            if n_runs % 2:
                for row in range(bounds[n_runs - 1], bounds[n_runs]):
                    two[0][row], two[1][row] = one[0][row], one[1][row]
            n_runs = _halve_runs(bounds, n_runs)
            one, two = two, one


@njit(cache=True, nogil=True)
def _halve_runs(bounds, n_runs):  # type: ignore[no-untyped-def]
    """Leave out every other bound; return how many runs are left."""
    left = (n_runs + 1) // 2
    for run in range(left):
        bounds[run] = bounds[2 * run]
    bounds[left] = bounds[n_runs]
    return left


@njit(cache=True, nogil=True)
def _count_trials(items, bounds, n_runs, better, worse, squares):  # type: ignore[no-untyped-def]
    """Fill in all pairs: walk up the labels for items as better one, down for items as worse."""
    y, _, _ = items
    sums, none = np.zeros((N_SUMS, better.shape[1])), 0.0
    for run in range(n_runs):
        start, end = bounds[run], bounds[run + 1]
        for row in range(start, end):
            _add_pairs(sums, items, row, y[row], y[start], better, squares)
        if run + 1 < n_runs:
            for row in range(start, end):
                _add_item(sums, items, row, none)
            _move(sums, y[end] - y[start])
    sums[:] = 0.0
    for run in range(n_runs - 1, -1, -1):
        start, end = bounds[run], bounds[run + 1]
        for row in range(start, end):
            _add_pair_weights(sums, items, row, none, worse)
        if run:
            for row in range(start, end):
                _add_item(sums, items, row, none)
            _move(sums, y[start] - y[start - 1])


@njit(cache=True, nogil=True)
def _move(sums, step):  # type: ignore[no-untyped-def]
    """Take sums of distances to a label that is a step further away."""
    for g in range(sums.shape[1]):
        sums[4, g] += step * (2 * sums[3, g] + step * sums[2, g])
        sums[3, g] += step * sums[2, g]
        sums[1, g] += step * sums[0, g]


@njit(cache=True, nogil=True, inline="always")
def _add_item(sums, items, item, distance):  # type: ignore[no-untyped-def]
    """Add an item to the sums over its group."""
    _, group, weight = items
    g, w = group[item], weight[item]
    sums[0, g] += w
    sums[1, g] += w * distance
    sums[2, g] += w * w
    sums[3, g] += w * w * distance
    sums[4, g] += w * w * distance * distance


@njit(cache=True, nogil=True, inline="always")
def _add_pair_weights(sums, items, item, distance, parts):  # type: ignore[no-untyped-def]
    """Add pairs of an item with all items of the sums, which lie on the other side of a label."""
    w = items[2][item]
    for g in range(parts.shape[1]):
        parts[item, g] += w * (distance * sums[0, g] + sums[1, g])


@njit(cache=True, nogil=True, inline="always")
def _add_pairs(sums, items, item, label, middle, parts, squares):  # type: ignore[no-untyped-def]
    """Add pairs of an item with all items of the sums, and their squared weights."""
    w, d = items[2][item], label - middle
    for g in range(parts.shape[1]):
        parts[item, g] += w * (d * sums[0, g] + sums[1, g])
        squares[item, g] += w * w * (d * (d * sums[2, g] + 2 * sums[3, g]) + sums[4, g])


@njit(cache=True, nogil=True)
def _rise(one, two, edges, items, better, squares):  # type: ignore[no-untyped-def]
    """Merge two runs by rising score; upper items add the sums of lower ones before them."""
    (score, place), (merged, moved) = one, two
    (low, middle, end), y = edges, items[0]
    high, row, label = middle, low, y[middle - 1]
    sums, tied = np.zeros((N_SUMS, better.shape[2])), np.zeros((N_SUMS, better.shape[2]))
    while high < end:
        value, item = score[high], place[high]
        while low < middle and score[low] < value:
            _add_item(sums, items, place[low], label - y[place[low]])
            merged[row], moved[row] = score[low], place[low]
            low, row = low + 1, row + 1
        _add_pairs(sums, items, item, y[item], label, better[HITS], squares[HITS])
        if low < middle and score[low] == value:
            if high == middle or score[high - 1] != value:
                tied[:] = 0.0
                same = low
                while same < middle and score[same] == value:
                    _add_item(tied, items, place[same], label - y[place[same]])
                    same += 1
            _add_pairs(tied, items, item, y[item], label, better[TIES], squares[TIES])
        merged[row], moved[row] = value, item
        high, row = high + 1, row + 1
    while low < middle:
        merged[row], moved[row] = score[low], place[low]
        low, row = low + 1, row + 1


@njit(cache=True, nogil=True)
def _fall(one, edges, items, worse):  # type: ignore[no-untyped-def]
    """Walk down the scores of two runs; lower items add the sums of upper ones before them."""
    score, place = one
    (start, middle, end), y = edges, items[0]
    high, label = end - 1, y[middle - 1]
    sums, tied = np.zeros((N_SUMS, worse.shape[2])), np.zeros((N_SUMS, worse.shape[2]))
    for low in range(middle - 1, start - 1, -1):
        value, item = score[low], place[low]
        while high >= middle and score[high] > value:
            _add_item(sums, items, place[high], y[place[high]] - label)
            high -= 1
        _add_pair_weights(sums, items, item, label - y[item], worse[HITS])
        if high >= middle and score[high] == value:
            if low == middle - 1 or score[low + 1] != value:
                tied[:] = 0.0
                same = high
                while same >= middle and score[same] == value:
                    _add_item(tied, items, place[same], y[place[same]] - label)
                    same -= 1
            _add_pair_weights(tied, items, item, label - y[item], worse[TIES])


def sum_dominated(
    y: Floats, f: Floats, z: Floats, *, weight: Floats, query: Codes
) -> tuple[Floats, Floats]:
    """Return what each item's pairs with items below it in all three weigh, and squared weights.

    O(N log^2 N) time and O(N) memory. Weights are in units of scaled labels.
    """
    order = np.lexsort((f, y, query))
    rank = np.unique(z, return_inverse=True)[1].astype(np.int64)
    new_query = _changes(query[order])
    offsets = np.append(np.flatnonzero(new_query), len(y))
    columns = [column[order] for column in (scale_labels(y), f, rank, weight)]
    parts, answer = np.zeros((len(y), 2)), np.empty((len(y), 2))
    kernel: Any = _count_dominated
    kernel(*columns, _changes(y[order]) | new_query, offsets, parts)
    answer[order] = parts
    return answer[:, 0], answer[:, 1]


@njit(cache=True, nogil=True)
def _count_dominated(y, f, rank, weight, new_label, offsets, parts):  # type: ignore[no-untyped-def]
    """Fill in the sums, query by query; items come by query, then by label, then by score."""
    items = y, rank, weight
    tree = np.zeros((rank.max() + 2 if len(rank) else 1, 5))
    one = f.copy(), np.arange(len(y))
    two = np.empty(len(y)), np.empty(len(y), dtype=np.int64)
    bounds = np.empty(len(y) + 1, dtype=np.int64)
    for query in range(len(offsets) - 1):
        n_runs = 0
        for item in range(offsets[query], offsets[query + 1]):
            if new_label[item]:
                bounds[n_runs] = item
                n_runs += 1
        bounds[n_runs] = offsets[query + 1]
        while n_runs > 1:
            for run in range(0, n_runs - 1, 2):
                _merge_with_tree(
                    one, two, (bounds[run], bounds[run + 1], bounds[run + 2]), items, tree, parts
                )
            n_runs = _halve_runs(bounds, n_runs)


@njit(cache=True, nogil=True)
def _merge_with_tree(one, two, edges, items, tree, parts):  # type: ignore[no-untyped-def]
    """Merge two runs by rising score; upper items add the sums of lower ones before them."""
    (score, place), (merged, moved) = one, two
    start, middle, end = edges
    y, rank, weight = items
    low, row, label = start, start, y[middle - 1]
    for high in range(middle, end):
        value, item = score[high], place[high]
        while low < middle and score[low] < value:
            _enter(tree, rank[place[low]], weight[place[low]], label - y[place[low]])
            merged[row], moved[row] = score[low], place[low]
            low, row = low + 1, row + 1
        _tell_smaller(tree, rank[item], weight[item], y[item] - label, parts[item])
        merged[row], moved[row] = value, item
        row += 1
    for counted in range(start, low):
        _forget(tree, rank[place[counted]])
    while low < middle:
        merged[row], moved[row] = score[low], place[low]
        low, row = low + 1, row + 1
    for row in range(start, end):
        score[row], place[row] = merged[row], moved[row]


@njit(cache=True, nogil=True)
def _enter(tree, rank, w, distance):  # type: ignore[no-untyped-def]
    node = rank + 1
    while node < len(tree):
        tree[node, 0] += w
        tree[node, 1] += w * distance
        tree[node, 2] += w * w
        tree[node, 3] += w * w * distance
        tree[node, 4] += w * w * distance * distance
        node += node & -node


@njit(cache=True, nogil=True)
def _tell_smaller(tree, rank, w, distance, row):  # type: ignore[no-untyped-def]
    """Add pairs of an item with the items of smaller rank in the tree."""
    node = rank
    while node > 0:
        sums = tree[node]
        row[0] += w * (distance * sums[0] + sums[1])
        row[1] += w * w * (distance * (distance * sums[2] + 2 * sums[3]) + sums[4])
        node -= node & -node


@njit(cache=True, nogil=True)
def _forget(tree, rank):  # type: ignore[no-untyped-def]
    """Clear what an item was entered in: exactly, not by taking it off again."""
    node = rank + 1
    while node < len(tree):
        tree[node] = 0.0
        node += node & -node


@njit(cache=True, nogil=True)
def add_functions(step, part, place, weights, sums):  # type: ignore[no-untyped-def]
    """Add what each pair weighs to the functions at both ends of its step."""
    for c in range(len(weights)):
        for p in range(len(step)):
            low, high = weights[c, p] * (1 - part[p]), weights[c, p] * part[p]
            for degree in range(sums.shape[1]):
                sums[c, degree, step[p]] += low
                sums[c, degree, step[p] + 1] += high
                low, high = low * place[p], high * place[p]


@njit(cache=True, nogil=True)
def add_products(step, part, place, weight, same, beside):  # type: ignore[no-untyped-def]
    """Add what each pair weighs to the products of functions of one knot, and of neighbours."""
    for p in range(len(step)):
        weighed = weight[p]
        for degree in range(len(same)):
            same[degree, step[p]] += weighed * (1 - part[p]) ** 2
            same[degree, step[p] + 1] += weighed * part[p] ** 2
            beside[degree, step[p]] += weighed * part[p] * (1 - part[p])
            weighed *= place[p]
