r"""All pairs of items by the order of a protected attribute that is a number, such as age.

Question: does a model put the better item first as often when the better item has the larger
value of the attribute as when it has the smaller one? Equations (9)-(11) of Narasimhan, Cotter,
Gupta and Wang, "Pairwise fairness for ranking and regression", AAAI 2020:

.. math::

    A_> = P(f > f' \mid y > y', z > z'), \qquad A_< = P(f > f' \mid y > y', z < z').

Every count needed is a sum over pairs of products of the signs :math:`s_y, s_f, s_z` of
differences, and three orders need no three-dimensional search. Where no sign is zero,

.. math::

    [s_y = s_f = s_z] = \tfrac14 (1 + s_y s_f + s_y s_z + s_f s_z),

and a sign that is zero is a tie, so the same sums are taken within classes of equal values too.
What is left are sums of :math:`s_u s_v` for every item, each by one merge sort.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting._concordance import Classes, classes, joint_classes, signed_agreement
from comparity.counting.sharing import TIE_VALUE, Sharing, evenness
from comparity.counts import Cell

__all__ = ["EQUAL", "LARGER", "SMALLER", "OrderedPairs", "ordered_pairs"]

LARGER = Cell("larger", "smaller")
"""Pairs whose better item has the larger value of the attribute."""
SMALLER = Cell("smaller", "larger")
"""Pairs whose better item has the smaller value of the attribute."""
EQUAL = Cell("equal", "equal")
"""Pairs of items with the same value of the attribute."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedPairs:
    """All pairs by the order of an attribute.

    Attributes
    ----------
    sharing : Sharing
        Agreement in the cells `LARGER`, `SMALLER` and `EQUAL`, with its second moments.
    score_ties : ndarray
        Pairs (their weight) whose scores are equal, by cell.
    n_queries : int
        Number of queries; 0 where every two items are a pair.
    """

    sharing: Sharing
    score_ties: Floats
    n_queries: int


def ordered_pairs(
    y: Floats,
    f: Floats,
    z: Floats,
    *,
    query: NDArray[np.int64] | None = None,
    weights: Floats | None = None,
    score_ties: str = "disagree",
) -> OrderedPairs:
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
    OrderedPairs
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
    clusters = classes(np.zeros(len(y), dtype=np.int64) if query is None else query)
    if weights is None:
        (plain,) = _pairs_of_items(y, f, z, clusters, [np.ones(len(y))])
        pairs, squares = plain, plain
    else:
        columns = [weights, weights**2, np.ones(len(y))]
        pairs, squares, plain = _pairs_of_items(y, f, z, clusters, columns)
        # Differences of sums of weights are rounded; what is nothing is known from the counts.
        for part in (pairs, squares):
            part.clear_where_empty(plain)
    vectors = np.vstack([pairs.trials, pairs.hits + tie * pairs.ties])
    items, own = vectors @ vectors.T, squares.own(tie)
    if query is None:
        dependent, n_clusters, method = items - own, 0, "all-pairs score z"
    else:
        by_query = np.vstack([np.bincount(clusters.rank, row) for row in vectors]) / 2
        dependent = by_query @ by_query.T
        held = np.bincount(clusters.rank, plain.trials.sum(axis=0))
        n_clusters, method = int(np.count_nonzero(held)), "query-clustered score z"
    totals, ties = vectors.sum(axis=1) / 2, pairs.ties.sum(axis=1) / 2
    sharing = Sharing(
        cells=(LARGER, SMALLER, EQUAL),
        trials=totals[:3],
        hits=totals[3:],
        dependent=dependent,
        own=own,
        half_hits=ties if tie else np.zeros(3),
        effective_items=evenness(totals[:3], np.diag(items)),
        n_clusters=n_clusters,
        method=method,
    )
    n_queries = 0 if query is None else clusters.n_distinct
    return OrderedPairs(sharing=sharing, score_ties=ties, n_queries=n_queries)


@dataclass(frozen=True, slots=True, eq=False)
class _ItemPairs:
    """Pairs that hold each item, (3, n): trials, hits and score ties by cell."""

    trials: Floats
    hits: Floats
    ties: Floats

    def clear_where_empty(self, counts: _ItemPairs) -> None:
        """Set to zero what is a sum over no pair."""
        self.trials[counts.trials == 0] = 0.0
        self.hits[counts.hits == 0] = 0.0
        self.ties[counts.ties == 0] = 0.0

    def own(self, tie: float) -> Floats:
        """Return the moments of single pairs; every pair is here with both its items."""
        n, hits, ties = (part.sum(axis=1) / 2 for part in (self.trials, self.hits, self.ties))
        cross, squares = np.diag(hits + tie * ties), np.diag(hits + tie**2 * ties)
        return np.block([[np.diag(n), cross], [cross, squares]])


def _pairs_of_items(
    y: Floats, f: Floats, z: Floats, clusters: Classes, columns: list[Floats]
) -> list[_ItemPairs]:
    """Count the pairs of every item, once for each column of weights."""
    label, score, attribute = (_within(clusters, values) for values in (y, f, z))
    label_score, yf = _agreement(clusters, label, score, columns)
    label_attribute, yz = _agreement(clusters, label, attribute, columns)
    score_attribute, fz = _agreement(clusters, score, attribute, columns)
    yf_in_z = _agreement_within(attribute, label, score, label_score, columns)
    yz_in_f = _agreement_within(score, label, attribute, label_attribute, columns)
    fz_in_y = _agreement_within(label, score, attribute, score_attribute, columns)
    alike = joint_classes(attribute, label_score)
    answers = []
    for place, weight in enumerate(columns):
        n_y, n_f, n_z = (part.weight(weight) for part in (label, score, attribute))
        n_yf, n_yz = label_score.weight(weight), label_attribute.weight(weight)
        n_fz, n_yfz = score_attribute.weight(weight), alike.weight(weight)
        # Weight of the items that differ: in label and attribute, in all three, and so on.
        differ_yz = clusters.weight(weight) - n_y - n_z + n_yz
        tied_f = n_f - n_yf - n_fz + n_yfz
        tied_z = n_z - n_yz - n_fz + n_yfz
        differ = differ_yz - tied_f
        sf, sz = yf[place] - yf_in_z[place], yz[place] - yz_in_f[place]
        szf = fz[place] - fz_in_y[place]
        trials = (differ_yz + yz[place]) / 2, (differ_yz - yz[place]) / 2, n_z - n_yz
        hits = (differ + sf + sz + szf) / 4, (differ + sf - sz - szf) / 4
        ties = (tied_f + yz_in_f[place]) / 2, (tied_f - yz_in_f[place]) / 2, n_fz - n_yfz
        parts = trials, (*hits, (tied_z + yf_in_z[place]) / 2), ties
        answers.append(_ItemPairs(*(weight * np.vstack(part) for part in parts)))
    return answers


def _within(clusters: Classes, values: Floats) -> Classes:
    """Rank values within clusters, so that equal ranks lie in one cluster."""
    ranked = classes(values)
    return ranked if clusters.n_distinct == 1 else joint_classes(clusters, ranked)


def _agreement(
    clusters: Classes, first: Classes, second: Classes, columns: list[Floats]
) -> tuple[Classes, list[Floats]]:
    """Return the classes of equal pairs of values, and the signed agreement of every item."""
    if first.n_distinct > second.n_distinct:
        first, second = second, first
    both = joint_classes(first, second)
    ranks = (clusters.rank, first.rank, second.rank)
    return both, [signed_agreement(both.order, *ranks, weight) for weight in columns]


def _agreement_within(
    segments: Classes, first: Classes, second: Classes, both: Classes, columns: list[Floats]
) -> list[Floats]:
    """Return the signed agreement over items that are equal in a third value."""
    if segments.n_distinct == len(segments.rank):
        return [np.zeros(len(weight)) for weight in columns]
    if first.n_distinct > second.n_distinct:
        first, second = second, first
    order = joint_classes(segments, both).order
    ranks = (segments.rank, first.rank, second.rank)
    return [signed_agreement(order, *ranks, weight) for weight in columns]
