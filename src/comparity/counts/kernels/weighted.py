"""Who is above whom in label and score, item by item, for any labels, weights and attribute.

Items arrive in the order of their scores; a Fenwick tree over label levels, one vector of groups
to a node, holds the weight of the items seen. Defined by the loops in ``tests/plain/all_pairs.py``.

As in :mod:`comparity.counts.kernels.differences` runs of labels are merged in the order of scores,
but what an item of the lower run says is kept in a tree over the values of the attribute, and an
item of the upper run hears of the smaller ones only. Defined by the loops in
``tests/plain/weighted_pairs.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.differences import scaled
from comparity.counts.kernels.placements import HELD, Placements, add_held, add_rest
from comparity.counts.kernels.sorting import order_of

__all__ = [
    "dominated",
    "weighted_placements",
]


def weighted_placements(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    group: NDArray[np.int64],
    n_groups: int,
    weights: NDArray[np.float64],
    tie: float,
) -> Placements:
    """Return sums and products of the placements of items with weights.

    O(N log N K + N K^2) time, O(N K) memory.
    """
    k = n_groups
    by_label, same_label = order_of(y)
    level = np.cumsum(~same_label) - 1
    n_levels = int(level[-1]) + 1
    by_score, _ = order_of(f[by_label])
    level, order = level[by_score], by_label[by_score]
    score, group, weight = f[order], group[order], weights[order]
    at = np.bincount(level * k + group, weight, minlength=n_levels * k)
    upto = np.zeros((n_levels + 1, k))
    np.cumsum(at.reshape(-1, k), axis=0, out=upto[1:])
    sums, products, ties = np.zeros((k, 4 * k)), np.zeros((k, 4 * k, 4 * k)), np.zeros((k, k))
    _place(score, level, group, weight, upto, tie, sums, products, ties)
    return Placements(sums=sums, products=products, ties=ties)


@njit(cache=True, nogil=True)
def _place(score, level, group, weight, upto, tie, sums, products, ties):  # type: ignore[no-untyped-def]
    """Add up the placements of items ordered by score, then by level.

    `upto` is the weight of each group below each level, and after the last.
    """
    n_groups = len(ties)
    tree = np.zeros_like(upto)
    held, n_held = np.zeros((n_groups, HELD, 4 * n_groups)), np.zeros(n_groups, dtype=np.int64)
    block = np.zeros((4, n_groups))
    below, above = block[0], block[2]
    end = 0
    while end < len(score):
        start, end = end, _next_block(score, group, weight, end, block)
        here = -1
        for position in range(start, end):
            if level[position] != here:
                here = level[position]
                _next_level(level, group, weight, position, end, block)
            own, w = group[position], weight[position]
            row = held[own, n_held[own]]
            for g in range(n_groups):
                row[g] = w * upto[here, g]
                row[n_groups + g] = w * (upto[-1, g] - upto[here + 1, g])
                row[2 * n_groups + g] = w * tie * below[g]
                # Of the items with higher labels, those with lower or tied scores are misses.
                missed = block[3, g] + (1.0 - tie) * above[g]
                row[3 * n_groups + g] = row[n_groups + g] - w * missed
                ties[own, g] += w * below[g]
            _add_prefix(tree, here, w, row[2 * n_groups : 3 * n_groups])
            _add_prefix(tree, here + 1, w, row[3 * n_groups :])
            for entry in range(4 * n_groups):
                sums[own, entry] += row[entry]
            n_held[own] += 1
            if n_held[own] == HELD:
                add_held(held[own], products[own])
                n_held[own] = 0
        for position in range(start, end):
            block[3, group[position]] += weight[position]
            node = level[position] + 1
            while node < len(tree):
                tree[node, group[position]] += weight[position]
                node += node & -node
    add_rest(held, n_held, products)


@njit(cache=True, nogil=True)
def _add_prefix(tree, node, w, row):  # type: ignore[no-untyped-def]
    """Add the weights seen below level `node`, times the weight of the item."""
    while node > 0:
        for g in range(len(row)):
            row[g] += w * tree[node, g]
        node -= node & -node


@njit(cache=True, nogil=True)
def _next_block(score, group, weight, start, block):  # type: ignore[no-untyped-def]
    """Return the end of the block of tied scores; all its items are above the level so far."""
    for g in range(block.shape[1]):
        block[0, g] = block[1, g] = block[2, g] = 0.0
    end = start
    while end < len(score) and score[end] == score[start]:
        block[2, group[end]] += weight[end]
        end += 1
    return end


@njit(cache=True, nogil=True)
def _next_level(level, group, weight, start, end, block):  # type: ignore[no-untyped-def]
    """Move on to the next level in a block of tied scores."""
    for g in range(block.shape[1]):
        block[0, g] += block[1, g]
        block[1, g] = 0.0
    for position in range(start, end):
        if level[position] != level[start]:
            break
        block[1, group[position]] += weight[position]
    for g in range(block.shape[1]):
        block[2, g] -= block[1, g]


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
