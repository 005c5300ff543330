"""What the pairs of each item are where labels were divided into ranges.

Pairs of one range are known item by item. Of pairs across ranges, items in lower and in higher
ranges were counted by bin of score: in different bins they are ordered for certain; in one bin they
tie if it holds a single score, and otherwise half a hit is counted.

Defined by the loops over items in ``tests/plain/label_parts.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.binned import PARTS
from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.dominance import Line, add_ties, hits_by_item

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class OtherRanges(NamedTuple):
    """Weights of the items of the lower ranges, or of the higher ones, by bin and group.

    Attributes
    ----------
    total : ndarray, (K,)
        All of them.
    agreeing : ndarray, (bins, K)
        Those whose scores are in lower bins, or for higher ranges in higher bins.
    beside : ndarray, (bins, K)
        Those in the same bin.
    """

    total: Floats
    agreeing: Floats
    beside: Floats


class PlacedRows(NamedTuple):
    """Items of one range, or rows of a table of them.

    Attributes
    ----------
    place : ndarray of int
        The bin of each.
    group : ndarray of int
    root : ndarray of float
        Its weight; of a row of a table the root of the sum of squared weights.
    inside : ndarray, (n, 6 K)
        What its pairs within the range weigh, times its weight; without columns if it has none.
    """

    place: Codes
    group: Codes
    root: Floats
    inside: Floats


def pairs_inside(line: Line) -> Floats:
    """Return trials, hits and ties of each item as better and as worse one, in the order of a line.

    O(N log L + N K) time for L different labels and N items, shape (N, 6 K).
    """
    n, k = len(line.level), line.n_groups
    found = np.zeros((n, PARTS, k))
    for role in range(2):
        one = line.backwards() if role else line
        hits, dealt = hits_by_item(one, 0.0)
        row = np.arange(n, dtype=np.int32)
        ties, trials = np.zeros((2, n, k))
        add_ties(*one[:4], row, 1.0, ties)
        _add_trials(*dealt, trials)
        for part, values in enumerate((trials, hits, ties)):
            found[:, 2 * part + role] = values[::-1] if role else values
    return found.reshape(n, PARTS * k)


@njit(cache=True, nogil=True)
def _add_trials(level, group, weight, row, trials):  # type: ignore[no-untyped-def]
    """Add what the items with lower levels weigh, by group; items are in the order of levels."""
    k = trials.shape[1]
    below, upto = np.zeros(k), np.zeros(k)
    for place in range(len(level)):
        if place and level[place] != level[place - 1]:
            for g in range(k):
                below[g] = upto[g]
        w = weight[place] if len(weight) else 1.0
        for g in range(k):
            trials[row[place], g] = w * below[g]
        upto[group[place]] += w


@njit(cache=True, nogil=True)
def add_placements(rows, lower, higher, single, products, doubts):  # type: ignore[no-untyped-def]
    """Add products of what the pairs of each item are, at and right of the diagonal, by group.

    `products` and `doubts` are those of :class:`comparity.counts.kernels.binned.Swept`.
    """
    place, group, root, inside = rows
    k = products.shape[0]
    entries, unknown = np.zeros(PARTS * k), np.zeros(2 * k)
    for item in range(len(place)):
        there, own, r = place[item], group[item], root[item]
        in_doubt = not single[there]
        for role in range(2):
            total, agreeing, beside = higher if role else lower
            for g in range(k):
                near, at = r * beside[there, g], role * k + g
                entries[at] = r * total[g]
                entries[2 * k + at] = r * agreeing[there, g] + (near / 2 if in_doubt else 0.0)
                entries[4 * k + at] = 0.0 if in_doubt else near
                unknown[at] = near / 2 if in_doubt else 0.0
        for at in range(inside.shape[1]):
            entries[at] += inside[item, at]
        for i in range(PARTS * k):
            if entries[i] != 0.0:
                for j in range(i, PARTS * k):
                    products[own, i, j] += entries[i] * entries[j]
        if in_doubt:
            for i in range(2 * k):
                for j in range(2 * k):
                    doubts[own, i, j] += unknown[i] * unknown[j]
