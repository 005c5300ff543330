r"""Pairs of items within queries: only items that were ranked for the same query are compared.

Queries are independent clusters. With :math:`a_q` the trials and hits of query :math:`q` by cell,
the second moments of the design are :math:`\sum_q a_q a_q^T`, whatever happens within a query.

Accuracy over all pairs counts a close call as much as a pair at opposite ends. Pairs may also weigh
:math:`w_i w_j (y_i - y_j)`, with :math:`w` the weights of their items: what the conclusion of
Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression", proposes. The
rates are ratios of two U-statistics with that kernel, and their second moments follow from each
item's weighted pairs as in :mod:`comparity.counts.all_pairs`, or, with queries, from the sums of
each query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs, cells_of, name_sums
from comparity.counts.clusters import cluster_products
from comparity.counts.kernels.label_differences import ItemPairs, Sums, item_pairs
from comparity.counts.kernels.moments import moments_by_cell
from comparity.counts.kernels.queries import (
    SQUARES,
    USES,
    count_queries,
    empty_sums,
    is_sorted,
    moments,
    offsets_of,
)
from comparity.counts.kernels.sorting import sort_by_code
from comparity.counts.pairs import TIE_VALUE

MOST_COMPARED_DIRECTLY = 256
"""Largest query whose items are all compared with each other."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Column = NDArray[Any]

NO_UNIT = np.empty(0, dtype=np.int64)
"""Every pair counts once."""

# numba's own types know no arguments.
_count_queries: Any = count_queries
_is_sorted: Any = is_sorted
_offsets_of: Any = offsets_of


def query_pairs(
    y: Floats,
    f: Floats,
    group: Codes,
    groups: tuple[str, ...],
    query: Codes,
    *,
    weights: Floats | None = None,
    average: str = "pairs",
    once_in: str = "cells",
    score_ties: str = "disagree",
) -> AllPairs:
    """Sum up how often scores order the items of a query as labels do.

    Parameters
    ----------
    y, f : ndarray of float
        Label and score of each item, all finite; the item with the larger label is better.
    group : ndarray of int
        Position of its group in `groups`.
    groups : tuple of str
        The groups; some may have no item.
    query : ndarray of int
        Query of each item, in any order.
    weights : ndarray of float, optional
        Positive weights of items; a pair weighs the product of its two.
    average : {"pairs", "queries"}
        Whether every pair counts once, or every query, with the rate of its pairs, as in the
        experiments of [1]_.
    once_in : {"cells", "rows", "columns", "whole"}
        Where every query counts once: in each cell that it has pairs in, in the pairs with one
        group of the better item (cells of a row taken together), with one group of the worse item,
        or in all.
    score_ties : {"disagree", "half"}
        What a pair with equal scores counts as: a miss, or half a hit.

    Returns
    -------
    AllPairs
        With no trials where all labels of every query are equal.

    Notes
    -----
    O(n) memory for n items, beside the moments: O(K^4) for K groups. Queries of m items, up to 256,
    take O(n m) time, several items compared at once; larger ones O(n log n + n K log L) for L
    distinct labels. To this add the square of the number of cells that each query touches.
    Defined by the double loops in ``tests/plain/query_pairs.py``.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise fairness for ranking and regression",
       AAAI 2020.

    Examples
    --------
    >>> y, f = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.9, 0.1, 0.4, 0.7])
    >>> group, query = np.array([0, 1, 0, 1]), np.array([7, 7, 3, 3])
    >>> pairs = query_pairs(y, f, group, ("a", "b"), query)
    >>> pairs.sharing.trials.tolist(), pairs.sharing.hits.tolist(), pairs.sharing.n_clusters
    ([0.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], 2)
    """
    unit = query_units(len(groups), once_in) if average == "queries" else NO_UNIT
    columns, offsets = _by_query(y, f, group, weights, query)
    tie = TIE_VALUE[score_ties]
    sums, products = empty_sums(len(groups) ** 2)
    n_clusters = _count_queries(
        columns, offsets, MOST_COMPARED_DIRECTLY, len(groups), unit, tie, sums, products
    )
    parts = sums.T.copy()
    return name_sums(
        cells_of(groups),
        parts[:SQUARES],
        parts[SQUARES:USES],
        tie=tie,
        moments=moments(products),
        uses=parts[USES],
        n_clusters=n_clusters,
    )


def query_counts(
    y: Floats, f: Floats, group: Codes, n_groups: int, query: Codes
) -> tuple[Codes, Codes, Codes]:
    """Count pairs within queries, hits and score ties by groups of the better and the worse item.

    Parameters are those of :func:`query_pairs`; three K x K arrays. A score tie is no hit. Without
    second moments this is the faster the more groups there are: a query of ten items has 45 pairs,
    but up to 45 * 46 / 2 products of its cells.
    """
    columns, offsets = _by_query(y, f, group, None, query)
    sums, products = empty_sums(n_groups**2)
    _count_queries(
        columns, offsets, MOST_COMPARED_DIRECTLY, n_groups, NO_UNIT, 0.0, sums, products[:0]
    )
    trials, hits, ties = sums[:, :3].T.astype(np.int64).reshape(3, n_groups, n_groups)
    return trials, hits, ties


def query_units(n_groups: int, once_in: str) -> Codes:
    """Return for each of the K * K cells the number of what a query counts once in.

    Parameters are those of :func:`query_pairs`.

    Examples
    --------
    >>> query_units(2, "rows").tolist(), query_units(2, "columns").tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    cells = np.arange(n_groups**2)
    units = {"cells": cells, "rows": cells // n_groups, "columns": cells % n_groups}
    return units.get(once_in, np.zeros_like(cells))


def _by_query(
    y: Floats, f: Floats, group: Codes, weights: Floats | None, query: Codes
) -> tuple[tuple[Column, ...], Codes]:
    """Bring rows of one query together.

    Returns the columns, and where each query starts and the last one ends. Rows that are together
    already are not copied.
    """
    columns: tuple[Column, ...] = y, f, group, np.ones(len(y)) if weights is None else weights
    if not _is_sorted(query):
        first, n_codes = query.min(), int(query.max()) - int(query.min()) + 1
        if n_codes <= 2 * len(query):
            order = sort_by_code(np.arange(len(query)), query - first, n_codes)
        else:
            order = np.argsort(query, kind="stable")
        query, columns = query[order], tuple(column[order] for column in columns)
    return columns, _offsets_of(query)


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
        Where every query counts once, as in :func:`query_pairs`.
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
    items = _QueryItems(group[pairs.order], len(groups), query_of[pairs.order])
    if average == "queries":
        pairs = items.average_by_query(pairs, query_units(len(groups), once_in))
    moments = moments_by_cell(items.placement_products(pairs, tie))
    squares = [items.by_cell(part) for part in pairs.squares]
    sums, uses, n_clusters = [items.by_cell(part) for part in pairs.better], np.diag(moments), None
    if query is not None:
        n_clusters, moments = items.by_query(pairs, tie)
    how: Any = {"tie": tie, "moments": moments, "uses": uses, "n_clusters": n_clusters}
    return name_sums(cells_of(groups), sums, squares, **how)


@dataclass(frozen=True, slots=True)
class _QueryItems:
    """Groups of items, and the queries they are compared in, in the order of their pairs."""

    group: Codes
    k: int
    query: Codes

    def placement_products(self, pairs: ItemPairs, tie: float) -> Floats:
        """Sum up the products of what each item's pairs are, by group of the item."""
        hits = [part.hits + tie * part.ties for part in (pairs.better, pairs.worse)]
        rows = np.hstack([pairs.better.trials, pairs.worse.trials, *hits])
        groups = [rows[self.group == g] for g in range(self.k)]
        return np.array([own.T @ own for own in groups])

    def by_cell(self, part: Floats) -> Floats:
        """Sum up by group of the item, (K, K)."""
        return np.array([part[self.group == g].sum(axis=0) for g in range(self.k)])

    def by_query(self, pairs: ItemPairs, tie: float) -> tuple[int, Floats]:
        """Return how many queries hold a pair, and the products of their sums by cell."""
        row, other = np.nonzero(pairs.better.trials)
        held, cluster = np.unique(self.query[row], return_inverse=True)
        cell = self.group[row] * self.k + other
        trials, hits, ties = (part[row, other] for part in pairs.better)
        return len(held), cluster_products(cluster, cell, trials, hits + tie * ties, self.k**2)

    def average_by_query(self, pairs: ItemPairs, unit: Codes) -> ItemPairs:
        """Divide each pair's weight by the total weight of its query and unit of cells."""
        rank = np.unique(self.query, return_inverse=True)[1].astype(np.int64)[:, None]
        own, others = self.group[:, None], np.arange(self.k)[None, :]
        as_better = rank * self.k**2 + unit[own * self.k + others]
        as_worse = rank * self.k**2 + unit[others * self.k + own]
        # Numbered again, because most queries have pairs in few of the cells.
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
