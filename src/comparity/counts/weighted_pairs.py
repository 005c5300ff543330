"""All pairs weighted by how far their labels are apart, by group or by a numeric attribute.

Accuracy over all pairs counts a close call as much as a pair at opposite ends. Here a pair weighs
:math:`w_i w_j (y_i - y_j)`, with :math:`w` the weights of its items: what the conclusion of
Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression", proposes. The
rates are ratios of two U-statistics with that kernel, and their second moments follow from each
item's weighted pairs as in :mod:`comparity.counts.all_pairs` (or, with queries, from the sums of
each query as in :mod:`comparity.counts.query_pairs`).

The cells are those of :mod:`comparity.counts.ordered_pairs`, the weights those of
:mod:`comparity.counts.weighted_pairs`: :math:`w_i w_j (y_i - y_j)`. Signs of differences do not
suffice here, so pairs that three orders agree on are searched for. What two orders agree on is
counted as if one of them were the score, and what ties in one as if it were the query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs
from comparity.counts.judged_pairs import cluster_products
from comparity.counts.kernels.differences import ItemPairs, Sums, dominated, item_pairs
from comparity.counts.kernels.moments import moments_by_cell, pair_moments
from comparity.counts.kernels.sorting import classes, joint_classes
from comparity.counts.ordered_pairs import EQUAL, LARGER, SMALLER, OrderedPairs
from comparity.counts.pairs import TIE_VALUE, Cell, Sharing, evenness
from comparity.counts.query_pairs import query_units

__all__ = [
    "weighted_order",
    "weighted_pairs",
]


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
        Where every query counts once, as in :func:`comparity.counts.query_pairs.query_pairs`.
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
    moments = moments_by_cell(items.placement_products(pairs, tie))
    n, strict, tied = (items.by_cell(part) for part in pairs.squares)
    own = pair_moments(n, strict, tied, tie)
    n_clusters, dependent = 0, moments - own
    if query is not None:
        n_clusters, dependent = items.by_query(pairs, tie)
    trials, hits, ties = (items.by_cell(part).ravel() for part in pairs.better)
    sharing = Sharing(
        cells=tuple(Cell(better, worse) for better in groups for worse in groups),
        trials=trials,
        hits=hits + tie * ties,
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


def weighted_order(
    y: Floats,
    f: Floats,
    z: Floats,
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
    score_ties: str = "disagree",
) -> OrderedPairs:
    """Sum up all pairs that labels imply by which item has the larger attribute.

    O(N log^2 N) time and O(N) memory. Defined by the double loop in
    ``tests/plain/weighted_pairs.py``.

    Parameters
    ----------
    y, f, z : ndarray of float
        Label, score and attribute of each item; finite.
    query, weights, score_ties
        As in :func:`comparity.counts.ordered_pairs.ordered_pairs`.

    Returns
    -------
    OrderedPairs
        With three cells in every case, in arbitrary units of weight.

    Examples
    --------
    >>> y, z = np.array([0.0, 1.0, 4.0]), np.array([30.0, 50.0, 40.0])
    >>> found = weighted_order(y, np.array([0.1, 0.3, 0.2]), z).sharing
    >>> print(found.cells[0], found.hits[0] / found.trials[0])
    larger > smaller 1.0
    """
    tie = TIE_VALUE[score_ties]
    cluster = classes(np.zeros(len(y), dtype=np.int64) if query is None else query).rank
    weight = np.ones(len(y)) if weights is None else weights
    items = _OrderedItems(y, f, z, weight, cluster)
    better, worse, squares = items.pairs()
    vectors = (better + worse).with_ties(tie)
    moments, own = vectors @ vectors.T, pair_moments(*squares.totals(), tie)
    dependent, n_clusters = moments - own, 0
    if query is not None:
        rows = better.with_ties(tie)
        held = np.unique(cluster[rows[:3].any(axis=0)])
        sums = np.array([np.bincount(cluster, row) for row in rows])
        dependent, n_clusters = sums @ sums.T, len(held)
    trials, hits, ties = better.totals()
    sharing = Sharing(
        cells=(LARGER, SMALLER, EQUAL),
        trials=trials,
        hits=hits + tie * ties,
        dependent=dependent,
        own=own,
        half_hits=ties if tie else np.zeros(3),
        effective_items=evenness(trials, np.diag(moments)),
        n_clusters=n_clusters,
        method="all-pairs score z" if query is None else "query-clustered score z",
    )
    n_queries = 0 if query is None else len(np.unique(query))
    return OrderedPairs(sharing=sharing, score_ties=ties, n_queries=n_queries)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Pairs of each item by cell, (3, N): all, in the order of the labels, with equal scores."""

    trials: Floats
    hits: Floats
    ties: Floats

    def __add__(self, other: _Cells) -> _Cells:
        parts = ((self.trials, other.trials), (self.hits, other.hits), (self.ties, other.ties))
        return _Cells(*(one + two for one, two in parts))

    def with_ties(self, tie: float) -> Floats:
        """Return trials, then hits, of the three cells."""
        return np.vstack([self.trials, self.hits + tie * self.ties])

    def totals(self) -> tuple[Floats, Floats, Floats]:
        """Return the three parts summed over items."""
        return self.trials.sum(axis=1), self.hits.sum(axis=1), self.ties.sum(axis=1)


@dataclass(frozen=True, slots=True)
class _OrderedItems:
    """Items with a number each to be compared by."""

    y: Floats
    f: Floats
    z: Floats
    weight: Floats
    query: Codes

    def pairs(self) -> tuple[_Cells, _Cells, _Cells]:
        """Return pairs as better item, as worse item, and squared weights as better item."""
        all_larger, all_smaller = self.two(self.z, self.query), self.two(-self.z, self.query)
        alike = self.joint(self.f)
        tied_larger, tied_smaller = self.two(self.z, alike), self.two(-self.z, alike)
        same = self.two(self.f, self.joint(self.z))
        hits_larger, hits_smaller = self.three(self.z), self.three(-self.z)
        roles = zip(all_larger, all_smaller, tied_larger, tied_smaller, same, strict=True)
        answer = []
        for role, (larger, smaller, tied, untied, equal) in enumerate(roles):
            hits = np.vstack([hits_larger[role], hits_smaller[role], equal.hits])
            trials = np.vstack([larger.hits, smaller.hits, larger.ties])
            answer.append(_Cells(trials, hits, np.vstack([tied.hits, untied.hits, tied.ties])))
        return answer[0], answer[1], answer[2]

    def joint(self, column: Floats) -> Codes:
        """Return one number for each query and value."""
        return joint_classes(classes(self.query), classes(column)).rank

    def two(self, column: Floats, query: Codes) -> list[_Line]:
        """Weigh the pairs whose order in a column is that of the labels, in three roles."""
        alone = np.zeros(len(self.y), dtype=np.int64)
        found = item_pairs(self.y, column, alone, 1, weight=self.weight, query=query)
        return [_Line.of(found, role) for role in ("better", "worse", "squares")]

    def three(self, attribute: Floats) -> tuple[Floats, Floats, Floats]:
        """Weigh the pairs whose scores and attributes have the order of labels, in three roles."""
        columns = (self.y, self.f, attribute)
        better, squares = dominated(*columns, weight=self.weight, query=self.query)
        columns = (-self.y, -self.f, -attribute)
        worse, _ = dominated(*columns, weight=self.weight, query=self.query)
        return better, worse, squares


@dataclass(frozen=True, slots=True)
class _Line:
    """Pairs of each item whose order in a column is that of the labels, and those that tie."""

    hits: Floats
    ties: Floats

    @classmethod
    def of(cls, found: ItemPairs, role: str) -> _Line:
        """Bring the sums of a role into the order of the items."""
        sums = getattr(found, role)
        line = cls(np.empty(len(found.order)), np.empty(len(found.order)))
        line.hits[found.order], line.ties[found.order] = sums.hits[:, 0], sums.ties[:, 0]
        return line
