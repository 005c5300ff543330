r"""All pairs that labels imply, each weighted by how far its labels are apart.

Accuracy over all pairs counts a close call as much as a pair at opposite ends. Here a pair weighs
:math:`w_i w_j (y_i - y_j)`, with :math:`w` the weights of its items: what the conclusion of
Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression", proposes. The
rates are ratios of two U-statistics with that kernel, and their second moments follow from each
item's weighted pairs as in :mod:`comparity.counting.all_pairs` (or, with queries, from the sums of
each query as in :mod:`comparity.counting.query_pairs`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting._clusters import moments_by_number
from comparity.counting._differences import ItemPairs, Sums, item_pairs
from comparity.counting._placements import Placements, moments_by_cell
from comparity.counting.all_pairs import AllPairs
from comparity.counting.query_pairs import query_units
from comparity.counting.sharing import TIE_VALUE, Sharing, evenness
from comparity.counts import Cell

__all__ = ["weighted_pairs"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def weighted_pairs(
    y: Floats,
    f: Floats,
    group: Codes,
    groups: tuple[str, ...],
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
    average: str = "pairs",
    once_in: str = "cells",
    score_ties: str = "disagree",
) -> AllPairs:
    """Sum up how often scores order items as labels do, far-apart pairs counting more.

    O(N log N + N K log L + N K^2) time for N items of K groups with L distinct labels, and O(N K)
    memory, beside the moments. Defined by the
    double loop in ``tests/plain/weighted_pairs.py``.

    Parameters
    ----------
    y, f : ndarray of float
        Label and score of each item, all finite.
    group : ndarray of int
        Position of its group in `groups`.
    groups : tuple of str
        The groups; some may have no item.
    query : ndarray of int, optional
        Items are paired only within a query, and queries are the independent clusters.
    weights : ndarray of float, optional
        Positive weights of items.
    average : {"pairs", "queries"}
        Whether pairs count by their weight, or every query counts once.
    once_in : {"cells", "rows", "columns", "whole"}
        Where every query counts once, as in :func:`comparity.counting.query_pairs.query_pairs`.
    score_ties : {"disagree", "half"}
        What a pair with equal scores counts as: a miss, or half a hit.

    Returns
    -------
    AllPairs
        In units of weight that are arbitrary; with no trials where all labels are equal or there
        are no items.

    Examples
    --------
    >>> y, f = np.array([0.0, 1.0, 5.0]), np.array([0.1, 0.9, 0.4])
    >>> found = weighted_pairs(y, f, np.array([0, 0, 0]), ("a",)).sharing
    >>> (found.hits / found.trials).tolist()
    [0.6]
    """
    query_of = np.zeros(len(y), dtype=np.int64) if query is None else query
    weight = np.ones(len(y)) if weights is None else weights
    tie = TIE_VALUE[score_ties]
    pairs = item_pairs(y, f, group, len(groups), weight=weight, query=query_of)
    items = _Items(group[pairs.order], len(groups), query_of[pairs.order])
    if average == "queries":
        pairs = items.averaged(pairs, query_units(len(groups), once_in))
    placed = items.placements(pairs, tie)
    moments, own = moments_by_cell(placed.products), items.single(pairs.squares, tie)
    n_clusters, dependent = 0, moments - own
    if query is not None:
        n_clusters, dependent = items.by_query(pairs, tie)
    trials, ties = placed.trials.ravel(), placed.ties.ravel()
    sharing = Sharing(
        cells=tuple(Cell(better, worse) for better in groups for worse in groups),
        trials=trials,
        hits=placed.hits.ravel(),
        dependent=dependent,
        own=own,
        half_hits=ties if tie else np.zeros_like(ties),
        effective_items=evenness(trials, np.diag(moments)),
        n_clusters=n_clusters,
        method="all-pairs score z" if query is None else "query-clustered score z",
    )
    return AllPairs(sharing=sharing, score_ties=ties)


@dataclass(frozen=True, slots=True)
class _Items:
    """Groups of items, and the queries they are compared in, in the order of their pairs."""

    group: Codes
    k: int
    query: Codes

    def placements(self, pairs: ItemPairs, tie: float) -> Placements:
        """Sum up pairs by group of the item, with their products."""
        hits = [part.hits + tie * part.ties for part in (pairs.better, pairs.worse)]
        rows = np.hstack([pairs.better.trials, pairs.worse.trials, *hits])
        sums, products = np.zeros((self.k, 4 * self.k)), np.zeros((self.k, *[4 * self.k] * 2))
        for g in range(self.k):
            own = rows[self.group == g]
            sums[g], products[g] = own.sum(axis=0), own.T @ own
        return Placements(sums=sums, products=products, ties=self.by_cell(pairs.better.ties))

    def by_cell(self, part: Floats) -> Floats:
        """Sum up by group of the item, (K, K)."""
        return np.array([part[self.group == g].sum(axis=0) for g in range(self.k)])

    def single(self, squares: Sums, tie: float) -> Floats:
        """Return the moments of single pairs from their squared weights."""
        n, hits, ties = (self.by_cell(part).ravel() for part in squares)
        cross, both = np.diag(hits + tie * ties), np.diag(hits + tie**2 * ties)
        return np.block([[np.diag(n), cross], [cross, both]])

    def by_query(self, pairs: ItemPairs, tie: float) -> tuple[int, Floats]:
        """Return how many queries hold a pair, and the products of their sums by cell."""
        row, other = np.nonzero(pairs.better.trials)
        held, cluster = np.unique(self.query[row], return_inverse=True)
        cell = self.group[row] * self.k + other
        trials, hits, ties = (part[row, other] for part in pairs.better)
        columns = (cell, trials, hits + tie * ties, self.k**2)
        return len(held), moments_by_number((cluster.astype(np.int64),), len(held), *columns)

    def averaged(self, pairs: ItemPairs, unit: Codes) -> ItemPairs:
        """Divide pairs by what all pairs of their query and unit of cells weigh together."""
        rank = np.unique(self.query, return_inverse=True)[1].astype(np.int64)[:, None]
        own, others = self.group[:, None], np.arange(self.k)[None, :]
        as_better = rank * self.k**2 + unit[own * self.k + others]
        as_worse = rank * self.k**2 + unit[others * self.k + own]
        # Numbered anew, because most queries have pairs in few of the cells.
        codes = np.unique(np.concatenate([as_better, as_worse]), return_inverse=True)[1]
        better, worse = codes.reshape(2, len(self.group), self.k)
        together = np.zeros(int(codes.max(initial=-1)) + 1)
        np.add.at(together, better, pairs.better.trials)
        share = np.divide(1.0, together, out=np.zeros_like(together), where=together > 0)
        return ItemPairs(
            order=pairs.order,
            better=Sums(*(part * share[better] for part in pairs.better)),
            worse=Sums(*(part * share[worse] for part in pairs.worse)),
            squares=Sums(*(part * share[better] ** 2 for part in pairs.squares)),
        )
