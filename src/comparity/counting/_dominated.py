"""Items below each item in label, score and attribute at once, weighted by label differences.

As in :mod:`comparity.counting._differences` runs of labels are merged in the order of scores, but
what an item of the lower run says is kept in a tree over the values of the attribute, and an item
of the upper run hears of the smaller ones only. Defined by the loops in
``tests/plain/weighted_pairs.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counting._differences import scaled
from comparity.counting.compilation import njit

__all__ = ["dominated"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def dominated(
    y: Floats, f: Floats, z: Floats, *, weight: Floats, query: Codes
) -> tuple[Floats, Floats]:
    """Return what each item's pairs with items below it in all three weigh, and squared weights.

    O(N log^2 N) time and O(N) memory. Weights are in units of scaled labels.
    """
    order = np.lexsort((f, y, query))
    rank = np.unique(z, return_inverse=True)[1].astype(np.int64)
    changed = np.ones((2, len(y)), dtype=bool)
    for row, column in enumerate((query[order], y[order])):
        changed[row, 1:] = column[1:] != column[:-1]
    offsets = np.append(np.flatnonzero(changed[0]), len(y))
    columns = [column[order] for column in (scaled(y), f, rank, weight)]
    parts, answer = np.zeros((len(y), 2)), np.empty((len(y), 2))
    kernel: Any = _count
    kernel(*columns, changed.any(axis=0), offsets, parts)
    answer[order] = parts
    return answer[:, 0], answer[:, 1]


@njit(cache=True, nogil=True)
def _count(y, f, rank, weight, new_label, offsets, parts):  # type: ignore[no-untyped-def]
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
                _merge(
                    one, two, (bounds[run], bounds[run + 1], bounds[run + 2]), items, tree, parts
                )
            left = (n_runs + 1) // 2
            for run in range(left):
                bounds[run] = bounds[2 * run]
            bounds[left] = bounds[n_runs]
            n_runs = left


@njit(cache=True, nogil=True)
def _merge(one, two, edges, items, tree, parts):  # type: ignore[no-untyped-def]
    """Merge two runs by rising score; items of the upper run hear of lower ones before them."""
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
        _tell(tree, rank[item], weight[item], y[item] - label, parts[item])
        merged[row], moved[row] = value, item
        row += 1
    for heard in range(start, low):
        _forget(tree, rank[place[heard]])
    while low < middle:
        merged[row], moved[row] = score[low], place[low]
        low, row = low + 1, row + 1
    score[start:end], place[start:end] = merged[start:end], moved[start:end]


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
def _tell(tree, rank, w, distance, row):  # type: ignore[no-untyped-def]
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
