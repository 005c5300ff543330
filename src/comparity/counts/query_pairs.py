r"""Pairs of items within queries: only items that were ranked for the same query are compared.

Queries are independent clusters. With :math:`a_q` the trials and hits of query :math:`q` by cell,
the second moments of the design are :math:`\sum_q a_q a_q^T`, whatever happens within a query.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.concordance import classes, grouped, joint_classes
from comparity.counts.kernels.merging import count_merged
from comparity.counts.kernels.queries import (
    WORD,
    count_masked,
    count_small,
    empty_sums,
    is_sorted,
    moments,
    offsets_of,
)
from comparity.counts.pairs import TIE_VALUE, Cell, Sharing, evenness

__all__ = ["QueryPairs", "query_counts", "query_pairs", "query_units"]

METHOD = "query-clustered score z"

# Two threads are slower than one below this many rows, and hold a second set of products.
ROWS_FOR_THREADS = 10**6
CELLS_FOR_THREADS = 10**3

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Column = NDArray[Any]

NO_UNIT = np.empty(0, dtype=np.int64)
"""Every pair counts once."""

# numba's own types know no arguments.
_count_masked: Any = count_masked
_count_merged: Any = count_merged
_count_small: Any = count_small
_is_sorted: Any = is_sorted
_offsets_of: Any = offsets_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryPairs:
    """All pairs within queries, summed up.

    Attributes
    ----------
    sharing : Sharing
        Trials, hits and second moments of all K * K cells, in the order of the groups given; the
        group of the better item changes slowest. Its clusters are the queries that hold a pair.
    score_ties : ndarray
        Pairs with equal scores by cell, in the unit of the trials.
    n_queries : int
        Number of queries, those without a pair included.
    """

    sharing: Sharing
    score_ties: Floats
    n_queries: int


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
) -> QueryPairs:
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
    QueryPairs
        With no trials where all labels of every query are equal.

    Notes
    -----
    O(n) memory for n items, beside the moments: O(K^4) for K groups. Queries of up to 64 items
    take the time of n m / 64 words for m items to a query; larger ones O(n log n + n K log L) for
    L distinct labels. To this add the square of the number of cells that each query touches.
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
    how = (len(groups), unit, TIE_VALUE[score_ties])
    columns = [y, f, group] if weights is None else [y, f, group, weights]
    query, columns = _by_query(query, columns)
    offsets = _offsets_of(query)
    sizes = np.diff(offsets)
    sums, products = empty_sums(len(groups) ** 2)
    n_clusters = 0
    if weights is None:
        n_clusters += _add_small(columns, offsets, how, (sums, products))
    large = sizes > (WORD if weights is None else 1)
    if large.any():
        rows = np.flatnonzero(np.repeat(large, sizes))
        n_clusters += _add_large(columns, query, rows, how, (sums, products))
    cells = tuple(Cell(better, worse) for better in groups for worse in groups)
    sharing = _sharing(cells, sums, moments(products), how[2], n_clusters)
    return QueryPairs(sharing=sharing, score_ties=sums[:, 2], n_queries=len(sizes))


def query_counts(
    y: Floats, f: Floats, group: Codes, n_groups: int, query: Codes
) -> tuple[Codes, Codes, Codes]:
    """Count pairs within queries, hits and score ties by groups of the better and the worse item.

    Parameters are those of :func:`query_pairs`; three K x K arrays. A score tie is no hit. Without
    second moments this is the faster the more groups there are: a query of ten items has 45 pairs,
    but up to 45 * 46 / 2 products of its cells.
    """
    query, columns = _by_query(query, [y, f, group])
    offsets = _offsets_of(query)
    counts = np.zeros((3, n_groups**2), dtype=np.int64)
    _in_two(_count_small, columns, offsets, (n_groups,), (counts,))
    sizes = np.diff(offsets)
    if sizes.max(initial=0) > WORD:
        rows = np.flatnonzero(np.repeat(sizes > WORD, sizes))
        sums, products = empty_sums(n_groups**2)
        _add_large(columns, query, rows, (n_groups, NO_UNIT, 0.0), (sums, products))
        counts += sums[:, :3].T.astype(np.int64)
    trials, hits, ties = counts.reshape(3, n_groups, n_groups)
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


def _sharing(
    cells: tuple[Cell, ...], sums: Floats, products: Floats, tie: float, n_clusters: int
) -> Sharing:
    """Name the parts of the sums."""
    trials, hits, ties, *squares, uses = sums.T.copy()
    n, strict, tied = squares
    cross, both = np.diag(strict + tie * tied), np.diag(strict + tie**2 * tied)
    return Sharing(
        cells=cells,
        trials=trials,
        hits=hits + tie * ties,
        dependent=products,
        own=np.block([[np.diag(n), cross], [cross, both]]),
        half_hits=ties if tie else np.zeros_like(ties),
        effective_items=evenness(trials, uses),
        n_clusters=n_clusters,
        method=METHOD,
    )


def _by_query(query: Codes, columns: list[Column]) -> tuple[Codes, list[Column]]:
    """Bring rows of one query together; rows that are so already are not copied."""
    if _is_sorted(query):
        return query, columns
    first, n_codes = query.min(), int(query.max()) - int(query.min()) + 1
    if n_codes <= 2 * len(query):
        order = grouped(np.arange(len(query)), query - first, n_codes)
    else:
        order = np.argsort(query, kind="stable")
    return query[order], [column[order] for column in columns]


def _add_small(
    columns: list[Column], offsets: Codes, how: tuple[int, Codes, float], total: tuple[Floats, ...]
) -> int:
    """Add queries of at most 64 items; return how many hold a pair."""
    if how[0] ** 2 > CELLS_FOR_THREADS:
        return int(_count_masked(*columns, offsets, 0, len(offsets) - 1, *how, *total))
    return sum(_in_two(_count_masked, columns, offsets, how, total))


def _in_two(
    count: Any, columns: list[Column], offsets: Codes, how: tuple[Any, ...], total: tuple[Any, ...]
) -> list[int]:
    """Run a kernel over all queries, half of them each in two threads where there are many rows.

    Each adds to arrays of its own; those given hold the sums in the end.
    """
    n_queries = len(offsets) - 1
    if len(columns[0]) < ROWS_FOR_THREADS:
        return [count(*columns, offsets, 0, n_queries, *how, *total)]
    middle, other = n_queries // 2, tuple(np.zeros_like(part) for part in total)
    with ThreadPoolExecutor(1) as pool:
        rest: tuple[Any, ...] = (*columns, offsets, middle, n_queries, *how, *other)
        running = pool.submit(count, *rest)
        answers = [count(*columns, offsets, 0, middle, *how, *total), running.result()]
    for part, more in zip(total, other, strict=True):
        part += more
    return answers


def _add_large(
    columns: list[Column],
    query: Codes,
    rows: Codes,
    how: tuple[int, Codes, float],
    total: tuple[Floats, ...],
) -> int:
    """Add the queries of the given rows, whatever their size; return how many hold a pair."""
    query, y, f, group = (column[rows] for column in (query, *columns[:3]))
    weight = columns[3][rows] if len(columns) > 3 else np.ones(len(rows))
    # Ranks first: one sort of whole numbers then orders by query, label and score.
    labels = joint_classes(classes(query), classes(y))
    order = joint_classes(labels, classes(f)).order
    in_order = (labels.rank[order], f[order], group[order], weight[order])
    return int(_count_merged(*in_order, _offsets_of(query), *how, *total))
