r"""All pairs of items by the order of a protected attribute that is a number, such as age.

Question: does a model put the better item first as often when the better item has the larger
value of the attribute as when it has the smaller one? Equations (9)-(11) of Narasimhan, Cotter,
Gupta and Wang, "Pairwise fairness for ranking and regression", AAAI 2020:

.. math::

    A_> = P(f > f' \mid y > y', z > z'), \qquad A_< = P(f > f' \mid y > y', z < z').

Three orders need no three-dimensional search. Let :math:`c_{yf}` be the number of items that labels
and scores put on the same side of an item, and so on for every two of the three orders. Over items
that differ from it in all three values, D of them, every two orders agree or one differs from both
others, so that all three agree on

.. math:: \tfrac12 (c_{yf} + c_{yz} + c_{fz} - D).

Ties are taken off by counting within classes of equal values too.

Pairs may be weighted by how far their labels are apart, :math:`w_i w_j (y_i - y_j)`, as in
:func:`comparity.counts.query_pairs.weighted_pairs`. Counts of two orders do not suffice then, so
pairs that three orders agree on are searched for. What two orders agree on is counted as if one of
them were the score, and what ties in one as if it were the query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs, all_pairs, name_sums
from comparity.counts.kernels.dominance import concordances
from comparity.counts.kernels.label_differences import item_pairs, sum_dominated
from comparity.counts.kernels.sorting import Classes, classes, joint_classes, one_class
from comparity.counts.pairs import TIE_VALUE, Cell, Sharing
from comparity.counts.query_pairs import query_pairs

LARGER = Cell("larger", "smaller")
"""Pairs whose better item has the larger value of the attribute."""
SMALLER = Cell("smaller", "larger")
"""Pairs whose better item has the smaller value of the attribute."""
EQUAL = Cell("equal", "equal")
"""Pairs of items with the same value of the attribute."""
CELLS = (LARGER, SMALLER, EQUAL)

BLOCK = 2**14
"""Items whose pairs are added up at a time: some thirty columns of so many fit a cache."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def ordered_pairs(
    y: Floats,
    f: Floats,
    z: Floats,
    *,
    query: NDArray[np.int64] | None = None,
    weights: Floats | None = None,
    score_ties: str = "disagree",
) -> AllPairs:
    """Count all pairs that labels imply by which item has the larger attribute.

    Parameters
    ----------
    y, f, z : ndarray
        Label, score and attribute of each item; finite.
    query : ndarray of int, optional
        Query of each item. Only items of the same query are then paired, and queries are the
        independent clusters; otherwise pairs that share an item are dependent.
    weights : ndarray, optional
        Positive weight of each item; a pair weighs the product of its two.
    score_ties : {"disagree", "half"}
        What equal scores count as.

    Returns
    -------
    AllPairs
        With three cells in every case; a cell without pairs has no trials.

    Notes
    -----
    O(n log n) time and O(n) memory, whatever the number of distinct labels. Defined by the double
    loop in ``tests/plain/ordered_pairs.py``.

    Examples
    --------
    >>> y, z = np.array([0.0, 1.0, 2.0]), np.array([30.0, 50.0, 40.0])
    >>> found = ordered_pairs(y, np.array([0.1, 0.3, 0.2]), z).sharing
    >>> for cell, trials, hits in zip(found.cells, found.trials, found.hits):
    ...     print(cell, int(trials), int(hits))
    larger > smaller 2 2
    smaller > larger 1 0
    equal > equal 0 0
    """
    tie = TIE_VALUE[score_ties]
    clusters = one_class(len(y)) if query is None else classes(query)
    sums = _BlockSums(tie, None if query is None else clusters)
    columns = [np.ones(len(y))] if weights is None else [weights, weights**2, np.ones(len(y))]
    agreements = _agreements(y, f, z, clusters, columns)
    # Blocks of items that fit a cache: no column as long as the table is written but the last.
    for start in range(0, len(y), BLOCK):
        block = slice(start, start + BLOCK)
        pairs, *others = (found.pairs(block) for found in agreements)
        squares, plain = others or (pairs, pairs)
        if others:
            # Differences of sums of weights are rounded; what is nothing is known from the counts.
            for part in (pairs, squares):
                part.clear_where_empty(plain)
        sums.add(pairs, squares, plain, block)
    return sums.pairs()


def ordered_wins(z: Floats, f: Floats, *, query: Codes | None = None) -> Sharing:
    """Count how often the item with the larger attribute has the larger score; a tie is half a win.

    No label enters. Of scores that are 0 and 1, wins minus losses, over all pairs, are the share of
    ones among the larger of two minus that among the smaller: Somers' D of the score given the
    attribute.

    Parameters
    ----------
    z, f : ndarray
        Attribute and score of each item; finite.
    query : ndarray of int, optional
        As in :func:`ordered_pairs`.

    Returns
    -------
    Sharing
        With one cell, :data:`LARGER`; without trials where all attributes are equal.

    Examples
    --------
    >>> found = ordered_wins(np.array([30.0, 50.0, 40.0]), np.array([0.1, 0.3, 0.3]))
    >>> found.trials.tolist(), found.hits.tolist()
    ([3.0], [2.5])
    """
    columns = (z, f, np.zeros(len(z), dtype=np.int64), ("",))
    if query is None:
        found = all_pairs(*columns, score_ties="half").sharing
    else:
        found = query_pairs(*columns, query, score_ties="half").sharing
    return replace(found, cells=(LARGER,))


class _PairsByItem(NamedTuple):
    """Pairs that hold each item, (3, n): trials, hits and score ties by cell."""

    trials: Floats
    hits: Floats
    ties: Floats

    def clear_where_empty(self, counts: _PairsByItem) -> None:
        """Set to zero what is a sum over no pair."""
        for part, count in zip(self, counts, strict=True):
            part[count == 0] = 0.0

    def with_ties(self, tie: float) -> Floats:
        """Return trials, then hits, of the three cells."""
        return np.vstack([self.trials, self.hits + tie * self.ties])

    def totals(self) -> tuple[Floats, Floats, Floats]:
        """Return the three parts summed over items."""
        return self.trials.sum(axis=1), self.hits.sum(axis=1), self.ties.sum(axis=1)


class _BlockSums:
    """Sums over the items of blocks; every pair is there with both its items."""

    def __init__(self, tie: float, queries: Classes | None) -> None:
        self.tie = tie
        self.queries = queries
        self.sums, self.squares = np.zeros((3, 3)), np.zeros((3, 3))
        self.items = np.zeros((6, 6))
        n_queries = queries.n_distinct if queries else 0
        self.by_query, self.held = np.zeros((6, n_queries)), np.zeros(n_queries)

    def add(
        self, pairs: _PairsByItem, squares: _PairsByItem, plain: _PairsByItem, block: slice
    ) -> None:
        """Add a block of items."""
        vectors = pairs.with_ties(self.tie)
        self.items += vectors @ vectors.T
        self.sums += [part.sum(axis=1) / 2 for part in pairs]
        self.squares += [part.sum(axis=1) / 2 for part in squares]
        if self.queries:
            rank = self.queries.rank[block]
            np.add.at(self.held, rank, plain.trials.sum(axis=0))
            for total, row in zip(self.by_query, vectors, strict=True):
                np.add.at(total, rank, row / 2)

    def pairs(self) -> AllPairs:
        """Name the parts of the sums."""
        how: Any = {"tie": self.tie, "moments": self.items, "uses": np.diag(self.items)}
        if self.queries is not None:
            held = int(np.count_nonzero(self.held))
            how |= {"moments": self.by_query @ self.by_query.T, "n_clusters": held}
        return name_sums(CELLS, self.sums, self.squares, **how)


class _Agreements(NamedTuple):
    """Per item: weight of items alike in some of the three values, and of concordant items.

    ``n`` counts items alike in the values named, ``c`` those that two orders put on the same side,
    ``c_.._in_.`` those of them that are alike in the third value.
    """

    weight: Floats
    n: Floats
    n_y: Floats
    n_f: Floats
    n_z: Floats
    n_yf: Floats
    n_yz: Floats
    n_fz: Floats
    n_yfz: Floats
    c_yf: Floats
    c_yz: Floats
    c_fz: Floats
    c_yf_in_z: Floats
    c_yz_in_f: Floats
    c_fz_in_y: Floats

    def pairs(self, block: slice) -> _PairsByItem:
        """Count the pairs of the items of a block."""
        a = _Agreements(*(part[block] for part in self))
        # Weight of the items that differ: in label and attribute, and in score or not.
        differ_yz = a.n - a.n_y - a.n_z + a.n_yz
        tied_f = a.n_f - a.n_yf - a.n_fz + a.n_yfz
        yf, yz, fz = a.c_yf - a.c_yf_in_z, a.c_yz - a.c_yz_in_f, a.c_fz - a.c_fz_in_y
        apart = yz + fz - (differ_yz - tied_f)
        trials = a.c_yz, differ_yz - a.c_yz, a.n_z - a.n_yz
        hits = (yf + apart) / 2, (yf - apart) / 2, a.c_yf_in_z
        ties = a.c_yz_in_f, tied_f - a.c_yz_in_f, a.n_fz - a.n_yfz
        return _PairsByItem(*(a.weight * np.vstack(part) for part in (trials, hits, ties)))


def _agreements(
    y: Floats, f: Floats, z: Floats, clusters: Classes, columns: list[Floats]
) -> list[_Agreements]:
    """Return what pairs follow from, once for each column of weights."""
    label, score, attribute = (_within(clusters, values) for values in (y, f, z))
    label_score = joint_classes(label, score)
    label_attribute, score_attribute = (joint_classes(one, attribute) for one in (label, score))
    all_three = joint_classes(attribute, label_score)
    alike = clusters, label, score, attribute, label_score, label_attribute, score_attribute
    orders = (label, score), (label, attribute), (score, attribute)
    found = [_concordances(clusters, *pair, columns) for pair in orders]
    found += [
        _concordances(third, *pair, columns)
        for third, pair in zip((attribute, score, label), orders, strict=True)
    ]
    return [
        _Agreements(weight, *(one.weight(weight) for one in (*alike, all_three)), *sums)
        for weight, sums in zip(columns, zip(*found, strict=True), strict=True)
    ]


def _within(clusters: Classes, values: Floats) -> Classes:
    """Rank values within clusters, so that equal ranks lie in one cluster."""
    ranked = classes(values)
    return ranked if clusters.n_distinct == 1 else joint_classes(clusters, ranked)


def _concordances(
    segments: Classes, first: Classes, second: Classes, columns: list[Floats]
) -> list[Floats]:
    """Weigh the concordant items of every item that are equal to it in a third value."""
    if segments.n_distinct == len(segments.rank):
        return [np.zeros(len(weight)) for weight in columns]
    if first.n_distinct > second.n_distinct:
        first, second = second, first
    return concordances(segments, first, second, columns)


def weighted_order(
    y: Floats,
    f: Floats,
    z: Floats,
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
    score_ties: str = "disagree",
) -> AllPairs:
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
    AllPairs
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
    vectors = better.with_ties(tie) + worse.with_ties(tie)
    moments = vectors @ vectors.T
    how: Any = {"tie": tie, "moments": moments, "uses": np.diag(moments)}
    if query is not None:
        rows = better.with_ties(tie)
        held = np.unique(cluster[rows[:3].any(axis=0)])
        sums = np.array([np.bincount(cluster, row) for row in rows])
        how |= {"moments": sums @ sums.T, "n_clusters": len(held)}
    return name_sums(CELLS, better.totals(), squares.totals(), **how)


@dataclass(frozen=True, slots=True)
class _OrderedItems:
    """Items with a number each to be compared by."""

    y: Floats
    f: Floats
    z: Floats
    weight: Floats
    query: Codes

    def pairs(self) -> list[_PairsByItem]:
        """Return pairs as better item, as worse item, and squared weights as better item."""
        all_larger, all_smaller = self.two(self.z, self.query), self.two(-self.z, self.query)
        alike = self.joint(self.f)
        tied_larger, tied_smaller = self.two(self.z, alike), self.two(-self.z, alike)
        same = self.two(self.f, self.joint(self.z))
        hits_larger, hits_smaller = self.three(self.z), self.three(-self.z)
        roles = zip(all_larger, all_smaller, tied_larger, tied_smaller, same, strict=True)
        answer = []
        for role, (larger, smaller, tied, untied, (same_hits, _)) in enumerate(roles):
            trials = larger[0], smaller[0], larger[1]
            hits = hits_larger[role], hits_smaller[role], same_hits
            parts = (trials, hits, (tied[0], untied[0], tied[1]))
            answer.append(_PairsByItem(*map(np.vstack, parts)))
        return answer

    def joint(self, column: Floats) -> Codes:
        """Return one number for each query and value."""
        return joint_classes(classes(self.query), classes(column)).rank

    def two(self, column: Floats, query: Codes) -> list[list[Floats]]:
        """Weigh the pairs whose order in a column is that of the labels, and its ties, by role."""
        alone = np.zeros(len(self.y), dtype=np.int64)
        found = item_pairs(self.y, column, alone, 1, weight=self.weight, query=query)
        back = np.argsort(found.order)
        roles = (found.better, found.worse, found.squares)
        return [[sums.hits[back, 0], sums.ties[back, 0]] for sums in roles]

    def three(self, attribute: Floats) -> tuple[Floats, Floats, Floats]:
        """Weigh the pairs whose scores and attributes have the order of labels, in three roles."""
        columns = (self.y, self.f, attribute)
        better, squares = sum_dominated(*columns, weight=self.weight, query=self.query)
        columns = (-self.y, -self.f, -attribute)
        worse, _ = sum_dominated(*columns, weight=self.weight, query=self.query)
        return better, worse, squares
