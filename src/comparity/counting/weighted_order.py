r"""All pairs by the order of a numeric attribute, weighted by how far labels are apart.

The cells are those of :mod:`comparity.counting.ordered_pairs`, the weights those of
:mod:`comparity.counting.weighted_pairs`: :math:`w_i w_j (y_i - y_j)`. Signs of differences do not
suffice here, so pairs that three orders agree on are searched for. What two orders agree on is
counted as if one of them were the score, and what ties in one as if it were the query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting._concordance import classes, joint_classes
from comparity.counting._differences import ItemPairs, item_pairs
from comparity.counting._dominated import dominated
from comparity.counting.ordered_pairs import EQUAL, LARGER, SMALLER, OrderedPairs
from comparity.counting.sharing import TIE_VALUE, Sharing, evenness

__all__ = ["weighted_order"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


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
        As in :func:`comparity.counting.ordered_pairs.ordered_pairs`.

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
    items = _Items(y, f, z, weight, cluster)
    better, worse, squares = items.pairs()
    vectors = (better + worse).with_ties(tie)
    moments, own = vectors @ vectors.T, squares.single(tie)
    dependent, n_clusters = moments - own, 0
    if query is not None:
        rows = better.with_ties(tie)
        held = np.unique(cluster[rows[:3].any(axis=0)])
        sums = np.array([np.bincount(cluster, row) for row in rows])
        dependent, n_clusters = sums @ sums.T, len(held)
    totals, ties = better.with_ties(tie).sum(axis=1), better.ties.sum(axis=1)
    sharing = Sharing(
        cells=(LARGER, SMALLER, EQUAL),
        trials=totals[:3],
        hits=totals[3:],
        dependent=dependent,
        own=own,
        half_hits=ties if tie else np.zeros(3),
        effective_items=evenness(totals[:3], np.diag(moments)),
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

    def single(self, tie: float) -> Floats:
        """Return the moments of single pairs, where these are squared weights."""
        n, hits, ties = (part.sum(axis=1) for part in (self.trials, self.hits, self.ties))
        cross, both = np.diag(hits + tie * ties), np.diag(hits + tie**2 * ties)
        return np.block([[np.diag(n), cross], [cross, both]])


@dataclass(frozen=True, slots=True)
class _Items:
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
