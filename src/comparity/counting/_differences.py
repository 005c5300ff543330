r"""Who is above whom in label and in score, item by item, each pair weighted by a label difference.

A pair weighs :math:`w_i w_j (y_i - y_j)^p`. With a reference label :math:`r` between the two,

.. math:: (y_i - y_j)^p = \sum_m \binom{p}{m} (y_i - r)^{p - m} (r - y_j)^m,

so that sums of :math:`w_j (r - y_j)^m` over a block of items are all that item :math:`i` needs to
know of the block. Each node of the tree over label levels has the highest label of its block for
:math:`r`: no summand is negative, and nothing cancels. Defined by the loops in
``tests/plain/weighted_pairs.py``.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Below", "below", "scaled"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Below(NamedTuple):
    """What each item's pairs with items of lower labels weigh, by group of the other: (N, K).

    Attributes
    ----------
    trials : ndarray
        All of them.
    hits : ndarray
        Those whose other item has a lower score.
    ties : ndarray
        Those whose other item has the same score.
    """

    trials: Floats
    hits: Floats
    ties: Floats


def scaled(y: Floats) -> Floats:
    """Return labels of size at most one in the same proportions, so that no power overflows."""
    exponent = int(np.frexp(np.abs(y).max(initial=0.0))[1])
    # Through a half twice: the power of two itself may be too large for a float.
    return np.ldexp(np.ldexp(y, -(exponent // 2)), exponent // 2 - exponent)


def below(
    y: Floats,
    f: Floats,
    group: Codes,
    n_groups: int,
    *,
    weight: Floats,
    query: Codes,
    power: int,
) -> Below:
    """Sum up the pairs of each item with items of lower labels in the same query.

    O(N log L K) time for N items, K groups and L distinct labels, O(N K) memory. Pairs of higher
    labels are those of lower ones where all labels and scores have the other sign.
    """
    parts = Below(*(np.zeros((len(y), n_groups)) for _ in range(3)))
    if not len(y):
        return parts
    by_label = np.lexsort((y, query))
    new = np.arange(len(y)) == 0
    for column in (query[by_label], y[by_label]):
        new[1:] |= column[1:] != column[:-1]
    level = np.empty(len(y), dtype=np.int64)
    level[by_label] = np.cumsum(new) - 1
    labels = scaled(y)[by_label][new]
    order = np.lexsort((level, f, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=query[order[:1]] - 1))
    offsets = np.append(starts, len(y))
    choose = np.array([comb(power, m) for m in range(power + 1)], dtype=np.float64)
    kernel: Any = _below
    columns = (order, f, level, group, weight)
    kernel(*columns, labels, offsets, choose, parts.trials, parts.hits, parts.ties)
    return parts


@njit(cache=True, nogil=True)
def _below(order, score, level, group, weight, labels, offsets, choose, trials, hits, ties):  # type: ignore[no-untyped-def]
    """Fill in the sums, query by query; items come by query, then by score, then by level."""
    longest = np.diff(offsets).max() if len(offsets) > 1 else 0
    n_groups = trials.shape[1]
    tree = np.zeros((longest + 1, len(choose), n_groups))
    block = np.zeros((len(choose), n_groups))
    total = np.zeros((longest, n_groups))
    for place in range(len(offsets) - 1):
        items = order[offsets[place] : offsets[place + 1]]
        first = level[items].min()
        own = labels[first : level[items].max() + 1]
        tree[: len(own) + 1] = 0.0
        _trials(items, level, group, weight, own, first, choose, block, total, trials)
        end = 0
        while end < len(items):
            start, end = end, _next_score(items, score, end)
            _ties(items[start:end], level, group, weight, own, first, choose, block, ties)
            for item in items[start:end]:
                _add_prefix(tree, own, level[item] - first, choose, hits[item])
            for item in items[start:end]:
                _enter(tree, own, level[item] - first, group[item], weight[item])
        for item in items:
            for g in range(n_groups):
                hits[item, g] *= weight[item]


@njit(cache=True, nogil=True)
def _next_score(items, score, start):  # type: ignore[no-untyped-def]
    end = start + 1
    while end < len(items) and score[items[end]] == score[items[start]]:
        end += 1
    return end


@njit(cache=True, nogil=True)
def _shift(block, step):  # type: ignore[no-untyped-def]
    """Move the reference of sums of powers up by a step: Pascal's triangle from the top."""
    for m in range(len(block) - 1, 0, -1):
        factor = 1.0
        for lower in range(m - 1, -1, -1):
            # Binomial coefficient of m over lower, built up on the way down.
            factor *= step * (lower + 1) / (m - lower)
            block[m] += factor * block[lower]


@njit(cache=True, nogil=True)
def _trials(items, level, group, weight, own, first, choose, block, total, trials):  # type: ignore[no-untyped-def]
    """Fill in what all pairs with lower labels weigh, walking up the levels."""
    power = len(choose) - 1
    at = total[: len(own)]
    at[:] = 0.0
    for item in items:
        at[level[item] - first, group[item]] += weight[item]
    block[:] = 0.0
    for here in range(len(own)):
        if here:
            _shift(block, own[here] - own[here - 1])
        for g in range(trials.shape[1]):
            # The row held the items of this level and now holds the pairs of one of them.
            at[here, g], block[0, g] = block[power, g], block[0, g] + at[here, g]
    for item in items:
        for g in range(trials.shape[1]):
            trials[item, g] = weight[item] * at[level[item] - first, g]


@njit(cache=True, nogil=True)
def _ties(items, level, group, weight, own, first, choose, block, ties):  # type: ignore[no-untyped-def]
    """Fill in the pairs among items of one score, which come in the order of levels."""
    if len(items) == 1:
        return
    block[:] = 0.0
    start, here = 0, level[items[0]]
    for place in range(len(items)):
        item = items[place]
        if level[item] != here:
            for earlier in items[start:place]:
                block[0, group[earlier]] += weight[earlier]
            _shift(block, own[level[item] - first] - own[here - first])
            start, here = place, level[item]
        for g in range(ties.shape[1]):
            ties[item, g] = weight[item] * block[-1, g]


@njit(cache=True, nogil=True)
def _add_prefix(tree, own, node, choose, row):  # type: ignore[no-untyped-def]
    """Add the items seen below level `node`, weighted by their distance to its label."""
    label, power = own[node], len(choose) - 1
    while node > 0:
        distance, factor = label - own[node - 1], 1.0
        for m in range(power, -1, -1):
            for g in range(len(row)):
                row[g] += choose[m] * factor * tree[node, m, g]
            factor *= distance
        node -= node & -node


@njit(cache=True, nogil=True)
def _enter(tree, own, level, group, weight):  # type: ignore[no-untyped-def]
    """Put an item into the tree."""
    node = level + 1
    while node <= len(own):
        distance, amount = own[node - 1] - own[level], weight
        for m in range(tree.shape[1]):
            tree[node, m, group] += amount
            amount *= distance
        node += node & -node
