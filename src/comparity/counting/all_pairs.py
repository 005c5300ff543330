r"""All pairs that labels imply, summed up as judged pairs that share items.

Every two items with different labels are a judgment: the item with the larger label is better.
There are up to :math:`N^2 / 2` of them, and none is looked at: an item's number of pairs and hits
against each group (its *placements*) follow from its rank by label and by score. An item of group
:math:`a` occurs in the cells :math:`(a, \cdot)` and :math:`(\cdot, a)` only. With :math:`v_i` its
pairs and hits there, the second moments of the design are

.. math:: \sum_i v_i v_i^T - \sum_{pairs} v_{ij} v_{ij}^T

as in :mod:`comparity.counting.sharing`, where the last sum needs only the totals: a pair belongs to
one cell. For one group and binary labels this is the variance of DeLong, DeLong and Clarke-Pearson
("Comparing the areas under two or more correlated receiver operating characteristic curves",
Biometrics 44, 1988), for several groups its covariance between all cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting._dominance import new_state, place
from comparity.counting.sharing import TIE_VALUE, Sharing
from comparity.counts import Cell

__all__ = ["AllPairs", "all_pairs", "cell_counts"]

METHOD = "all-pairs score z"

CHUNK = 2**14
"""So many items have their placements in memory at once."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllPairs:
    """All pairs of items with different labels, summed up.

    Attributes
    ----------
    sharing : Sharing
        Trials, hits and second moments of all K * K cells, in the order of the groups given; the
        group of the better item changes slowest. `own` equals `dependent`: labels cannot be judged
        again, more pairs come with more items only.
    score_ties : ndarray
        Pairs with equal scores by cell (their weight, where items are weighted), counted in the
        trials, whatever they count for in the hits.
    """

    sharing: Sharing
    score_ties: Floats


def all_pairs(
    y: Floats,
    f: Floats,
    group: Codes,
    groups: tuple[str, ...],
    *,
    weights: Floats | None = None,
    score_ties: str = "disagree",
) -> AllPairs:
    """Sum up how often scores order items as labels do, over all pairs, with second moments.

    O(N log N + N K^2) time, O(N K) memory for N items of K groups. Defined by the double loop in
    ``tests/plain/all_pairs.py``.

    Parameters
    ----------
    y, f : ndarray of float
        Label and score of each item, all finite.
    group : ndarray of int
        Position of its group in `groups`.
    groups : tuple of str
        The groups; some may have no item.
    weights : ndarray of float, optional
        Positive weights of items; a pair weighs the product of its two.
    score_ties : {"disagree", "half"}
        What a pair with equal scores counts as: a miss, or half a hit.

    Returns
    -------
    AllPairs
        With no trials where all labels are equal.

    Examples
    --------
    >>> y, f = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.4, 0.4, 0.9])
    >>> pairs = all_pairs(y, f, np.array([0, 1, 0, 1]), ("a", "b"))
    >>> for cell, hits, ties in zip(pairs.sharing.cells, pairs.sharing.hits, pairs.score_ties):
    ...     print(cell, int(hits), int(ties))
    a > a 1 0
    a > b 0 1
    b > a 1 0
    b > b 1 0
    """
    tie = TIE_VALUE[score_ties]
    k = len(groups)
    sums, products, ties = _placed(y, f, group, k, weights, tie)
    trials, hits = sums[:, :k], sums[:, 2 * k : 3 * k]
    pairs = trials, hits, ties
    if weights is not None:
        sums, _, squares = _placed(y, f, group, k, weights**2, tie)
        pairs = sums[:, :k], sums[:, 2 * k : 3 * k], squares
    moments = _by_cell(products)
    dependent = moments - _pair_moments(*pairs, tie)
    sharing = Sharing(
        cells=tuple(Cell(better, worse) for better in groups for worse in groups),
        trials=trials.ravel(),
        hits=hits.ravel(),
        dependent=dependent,
        bound=moments,
        own=dependent,
        n_items=_n_items(y, group, k).ravel(),
        method=METHOD,
    )
    return AllPairs(sharing=sharing, score_ties=ties.ravel())


def cell_counts(y: Floats, f: Floats, group: Codes, n_groups: int) -> tuple[Codes, Codes, Codes]:
    """Count pairs, hits and score ties by group of the better item and group of the worse one.

    Parameters are those of :func:`all_pairs`; three K x K arrays. A score tie is no hit.
    """
    sums, _, ties = _placed(y, f, group, n_groups, None, 0.0)
    trials, hits = sums[:, :n_groups], sums[:, 2 * n_groups : 3 * n_groups]
    return trials.astype(np.int64), hits.astype(np.int64), ties.astype(np.int64)


def _placed(
    y: Floats, f: Floats, group: Codes, k: int, weights: Floats | None, tie: float
) -> tuple[Floats, Floats, Floats]:
    """Return sums and sums of products of the placements by group, and score ties by cell.

    A placement has 4 K entries: trials as better item against each group, trials as worse item,
    hits as better item, hits as worse item.
    """
    levels, level = np.unique(y, return_inverse=True)
    order = np.lexsort((level, f))
    level, group, score = level[order], group[order], f[order]
    weight = np.ones(len(y)) if weights is None else weights[order]
    at = np.zeros((len(levels), k))
    np.add.at(at, (level, group), weight)
    upto = np.cumsum(at, axis=0)
    lower, higher = upto - at, upto[-1:] - upto
    sums, products, ties = np.zeros((k, 4 * k)), np.zeros((k, 4 * k, 4 * k)), np.zeros((k, k))
    state = new_state(len(levels), k)
    rows = np.empty((min(CHUNK, len(y)), 4 * k))
    for start in range(0, len(y), CHUNK):
        stop = min(start + CHUNK, len(y))
        place(start, stop, score, level, group, weight, lower, higher, tie, state, rows, ties)
        for g in range(k):
            placed = rows[: stop - start][group[start:stop] == g]
            sums[g] += placed.sum(axis=0)
            products[g] += placed.T @ placed
    return sums, products, ties


def _by_cell(products: Floats) -> Floats:
    """Add up the products of all groups by the cells that their entries belong to."""
    k = len(products)
    codes = np.arange(k * k).reshape(k, k)
    moments = np.zeros((2 * k * k, 2 * k * k))
    for g in range(k):
        touched = np.concatenate([codes[g], codes[:, g]])
        entries = np.concatenate([touched, k * k + touched])
        # Cell (g, g) is touched in both roles: its entries come twice and must be added.
        np.add.at(moments, np.ix_(entries, entries), products[g])
    return moments


def _pair_moments(trials: Floats, hits: Floats, ties: Floats, tie: float) -> Floats:
    """Return the moments of single pairs: a pair is in one cell, and agrees, ties or does not."""
    n, s = np.diag(trials.ravel()), np.diag(hits.ravel())
    # Hits hold `tie` for every score tie, squares of hits its square.
    squares = s - np.diag((tie - tie**2) * ties.ravel())
    return np.block([[n, s], [s, squares]])


def _n_items(y: Floats, group: Codes, k: int) -> Codes:
    """Count the items of every cell: better than some item of the other group, or worse."""
    found = np.zeros((k, k), dtype=np.int64)
    members = [y[group == g] for g in range(k)]
    for a in range(k):
        for b in range(k):
            if not len(members[a]) or not len(members[b]):
                continue
            above = members[a] > members[b].min()
            under = members[b] < members[a].max()
            if a == b:
                found[a, a] = np.count_nonzero(above | under)
            else:
                found[a, b] = np.count_nonzero(above) + np.count_nonzero(under)
    return found
