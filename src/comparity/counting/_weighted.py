"""Who is above whom in label and in score, item by item, for any labels and weights.

Items arrive in the order of their scores; a Fenwick tree over label levels, one vector of groups
to a node, holds the weight of the items seen. Defined by the loops in ``tests/plain/all_pairs.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counting._placements import HELD, Placements, add_held, add_rest
from comparity.counting._sorting import order_of
from comparity.counting.compilation import njit

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
