"""Who is above whom in label and in score, item by item, for any labels and weights.

Items arrive in the order of their scores; a Fenwick tree over label levels, one vector of groups
to a node, holds the weight of the items seen. Defined by the loops in ``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from comparity.counting._placements import Placements, add_products, chunks
from comparity.counting._sorting import order_of

__all__ = ["weighted_placements"]


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
    by_label = order_of(y)
    level = np.cumsum(np.diff(y[by_label], prepend=y[by_label[0]]) > 0)
    by_score = order_of(f[by_label])
    level, order = level[by_score], by_label[by_score]
    score, group, weight = f[order], group[order], weights[order]
    at = np.bincount(level * k + group, weight, minlength=(level.max() + 1) * k).reshape(-1, k)
    upto = np.cumsum(at, axis=0)
    lower, higher = upto - at, upto[-1] - upto
    sums, products, ties = np.zeros((k, 4 * k)), np.zeros((k, 4 * k, 4 * k)), np.zeros((k, k))
    state = _new_state(len(at), k)
    for start, stop in chunks(0, len(y), 4 * k):
        rows = np.empty((stop - start, 4 * k))
        items = score, level, group, weight, lower, higher
        _place(start, stop, *items, tie, state, rows, ties)
        by_group = np.argsort(group[start:stop], kind="stable")
        begins = np.searchsorted(group[start:stop][by_group], np.arange(k + 1))
        add_products(products, rows[by_group], begins)
        np.add.at(sums, group[start:stop], rows)
    return Placements(sums=sums, products=products, ties=ties)


def _new_state(n_levels: int, n_groups: int):  # type: ignore[no-untyped-def]
    """Return what :func:`_place` carries from one chunk of items to the next.

    Start and end of the present block of tied scores and the present level in it; weights by
    group of all items seen, of the block, of the block below the level and at the level; the tree.
    """
    return np.array([0, 0, -1]), np.zeros((4, n_groups)), np.zeros((n_levels + 1, n_groups))


@njit(cache=True, nogil=True)
def _place(start, stop, score, level, group, weight, lower, higher, tie, state, rows, ties):  # type: ignore[no-untyped-def]
    """Fill one row for each of the items from `start` to `stop`, ordered by score, then by level.

    A row holds trials as better item against each group, trials as worse item, hits as better and
    hits as worse item. `lower` and `higher` are the weights of each group below and above each
    level. Score ties are added to `ties`, by group of the better and of the worse item.
    """
    ends, sums, tree = state
    seen, block, below, equal = sums[0], sums[1], sums[2], sums[3]
    n_groups = len(seen)
    for position in range(start, stop):
        here, own, w = level[position], group[position], weight[position]
        if position == ends[1]:
            _next_block(score, level, group, weight, ends, sums, tree)
        if here != ends[2]:
            for g in range(n_groups):
                below[g] += equal[g]
                equal[g] = 0.0
            ends[2] = here
            for other in range(position, ends[1]):
                if level[other] != here:
                    break
                equal[group[other]] += weight[other]
        row = rows[position - start]
        for g in range(n_groups):
            row[g] = w * lower[here, g]
            row[n_groups + g] = w * higher[here, g]
            row[2 * n_groups + g] = w * tie * below[g]
            # What is above in label and not above in score is taken off below.
            missed = seen[g] + (1.0 - tie) * (block[g] - below[g] - equal[g])
            row[3 * n_groups + g] = w * (higher[here, g] - missed)
            ties[own, g] += w * below[g]
        node = here
        while node > 0:
            for g in range(n_groups):
                row[2 * n_groups + g] += w * tree[node, g]
            node -= node & -node
        node = here + 1
        while node > 0:
            for g in range(n_groups):
                row[3 * n_groups + g] += w * tree[node, g]
            node -= node & -node


@njit(cache=True, nogil=True)
def _next_block(score, level, group, weight, ends, sums, tree):  # type: ignore[no-untyped-def]
    """Move the block of tied scores into the tree and read the next one."""
    for position in range(ends[0], ends[1]):
        node = level[position] + 1
        while node < len(tree):
            tree[node, group[position]] += weight[position]
            node += node & -node
        sums[0, group[position]] += weight[position]
    sums[1:] = 0.0
    ends[0] = ends[1]
    end = ends[0]
    while end < len(score) and score[end] == score[ends[0]]:
        sums[1, group[end]] += weight[end]
        end += 1
    ends[1] = end
    ends[2] = -1
