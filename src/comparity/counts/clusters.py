r"""What clusters of judgments hold: second moments over items, pairs, evaluators and further kinds.

Judgments may share an item, an evaluator, and whatever else a column says: a prompt, a session. Two
judgments are dependent if they share anything, so the second moments sum over the union of these
relations. Each kind of cluster :math:`k` divides the judgments, and so does every combination of
kinds, such as (evaluator, prompt). With :math:`C_S` the moments over the clusters of a combination
:math:`S`, and :math:`I_S`, :math:`P_S` those over items and pairs of items within them, inclusion
and exclusion give

.. math:: \sum_{S} (-1)^{|S|} (I_S - P_S) + \sum_{S \ne \emptyset} (-1)^{|S| + 1} C_S

(Cameron, Gelbach and Miller, "Robust inference with multiway clustering", J. Business and Economic
Statistics 29, 2011).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from comparity.errors import OneClusterError, OptionError
from comparity.tables.features import UNNAMED, named_attributes
from comparity.tables.values import check_lengths, group_codes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Kinds = frozenset[str]

EVALUATORS = "(evaluators)"
"""The kind of cluster that evaluators are, beside columns, which have names of their own."""

MOST_KINDS = 4
"""So many columns of clusters; each doubles the number of combinations."""

MOST_SUMMED = 10**4
"""The sums of so many clusters that are no evaluators are kept one by one.

A cell may lie in few of them, whose number then counts; with more their squares are taken together.
"""

MOST_LISTED = 64
"""The sums of so many evaluators are kept one by one.

With more, the squares of their sums are as good as a known variance: Student's quantile on 64
degrees of freedom is 1.998, the normal one 1.960, so that half as many would cost 4 % of an
interval's length where nothing but evaluators is shared, and twice as many 1 %.
"""

FEW_CELLS, DENSE_BYTES = 16, 2**29
"""Totals of all clusters in so few cells, and of that size, are held as a table without gaps."""


class Clustering(NamedTuple):
    """Which cluster of one kind each row is in: positions in `names`."""

    codes: Codes
    names: tuple[str, ...]

    def keep(self, rows: NDArray[np.bool_]) -> Clustering:
        """Return the same of some rows."""
        return Clustering(self.codes[rows], self.names)

    def repeats(self, trials: Codes) -> bool:
        """Return whether any cluster holds more than one trial."""
        return bool((np.bincount(self.codes, trials) > 1).any())

    @property
    def n(self) -> int:
        """How many clusters hold a row."""
        return int(np.count_nonzero(np.bincount(self.codes)))


def named_clusters(cluster: Any) -> dict[str, NDArray[Any]]:
    """Return clusters by name: of a sequence, a series, a mapping, or the columns of a frame.

    Examples
    --------
    >>> list(named_clusters([1, 1, 2])), named_clusters(None)
    (['cluster'], {})
    """
    found = {} if cluster is None else named_attributes(cluster)
    return {"cluster" if name == UNNAMED else name: one for name, one in found.items()}


def read_clusters(
    columns: Mapping[str, NDArray[Any]],
    *,
    table: str,
    beside: Mapping[str, NDArray[Any]] | None = None,
    several: bool = True,
) -> dict[str, Clustering]:
    """Return the clusters that columns name.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The cluster of each row, by name.
    table : str
        What errors call the rows.
    beside : mapping of str to ndarray, optional
        What has to have as many entries.
    several : bool
        Whether one cluster is too few.

    Raises
    ------
    OneClusterError
        All rows are in one cluster, so that nothing is known of others.
    ComparityError
        A row has no cluster, lengths differ, or there are more than four columns.
    """
    if len(columns) > MOST_KINDS:
        raise OptionError("cluster", list(columns), [f"at most {MOST_KINDS} columns"])
    if columns:
        check_lengths({**(beside or {}), **columns})
    found = {}
    for name, column in columns.items():
        codes, names = group_codes(column, name, table, several=False)
        if several and len(names) == 1:
            raise OneClusterError(name, names[0])
        found[name] = Clustering(codes, tuple(names))
    return found


def shared_clusters(clusters: Mapping[str, Clustering], trials: Codes) -> dict[str, Clustering]:
    """Return the kinds of clusters of which any holds more than one trial."""
    return {name: one for name, one in clusters.items() if one.repeats(trials)}


class FurtherClusters(NamedTuple):
    """A second kind of few clusters: totals of each, and moments over what only these share."""

    sums: Floats
    moments: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FewClusters:
    """What each of a few clusters holds, and what is shared beside them.

    Attributes
    ----------
    kind : str
        What the clusters are: `EVALUATORS`, or the name of a column.
    sums : ndarray of shape (clusters, 2 cells)
        Trials of each cluster in every cell, then hits.
    by_item : ndarray of shape (2 cells, 2 cells)
        Second moments over judgments that share an item, whatever else they share.
    between : ndarray of shape (2 cells, 2 cells)
        The same over dependent judgments that share no cluster of a kind that has few.
    further : tuple of FurtherClusters
        Other kinds that have few clusters, in the order of their numbers.
    """

    kind: str
    sums: Floats
    by_item: Floats
    between: Floats
    further: tuple[FurtherClusters, ...] = ()

    def of(self, rows: Sequence[int]) -> FewClusters:
        """Keep some rows of the moments, and the clusters that hold any of them."""
        block = np.ix_(rows, rows)
        return FewClusters(
            kind=self.kind,
            sums=_filled_rows(self.sums[:, rows]),
            by_item=self.by_item[block],
            between=self.between[block],
            further=tuple(
                FurtherClusters(_filled_rows(one.sums[:, rows]), one.moments[block])
                for one in self.further
            ),
        )

    @property
    def n_least(self) -> int:
        """How many clusters there are of the kind that has the fewest."""
        return min([len(self.sums), *(len(one.sums) for one in self.further)])


def _filled_rows(sums: Floats) -> Floats:
    return sums[sums.any(axis=1)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterMoments:
    """Second moments of trials and hits by cell, summed over each kind of cluster.

    Rows and columns are the trials of every cell, then its hits.

    Attributes
    ----------
    items, pairs : ndarray
        Over items, and over unordered pairs of items.
    same : mapping of frozenset of str to ndarray
        Over the clusters of every combination of kinds.
    within : mapping of frozenset of str to ndarray
        Over items minus over pairs, each within the clusters of a combination.
    sizes : mapping of str to int
        How many clusters there are of each kind.
    sums : mapping of str to ndarray
        Trials and hits of each cluster, of evaluators if there are at most `MOST_LISTED`, of other
        kinds that have at most `MOST_SUMMED`.
    """

    items: Floats
    pairs: Floats
    same: Mapping[Kinds, Floats] = field(default_factory=dict)
    within: Mapping[Kinds, Floats] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, Floats] = field(default_factory=dict)

    def dependent(self, kinds: Sequence[str]) -> Floats:
        """Return the sum over judgments that share an item or a cluster of any of the kinds."""
        by_item = self.items - self.pairs
        for several in combinations_of(kinds):
            by_item = by_item + _sign(several) * self.within[several]
        return sum((self._only(kind, kinds[:place]) for place, kind in enumerate(kinds)), by_item)

    def sum_touching(self, kinds: Sequence[str]) -> Floats:
        """Return the same with judgments that share twice counted twice: never negative."""
        return sum((self.same[frozenset([kind])] for kind in kinds), self.items)

    def few(self, kinds: Sequence[str]) -> FewClusters | None:
        """Return what each cluster holds, of the kind with the fewest, if these are few."""
        listed = sorted((one for one in kinds if one in self.sums), key=lambda one: self.sizes[one])
        if not listed:
            return None
        parts = [self._only(kind, listed[:place]) for place, kind in enumerate(listed)]
        return FewClusters(
            kind=listed[0],
            sums=self.sums[listed[0]],
            by_item=self.items - self.pairs,
            between=self.dependent(kinds) - sum(parts),
            further=tuple(
                FurtherClusters(self.sums[kind], part)
                for kind, part in zip(listed[1:], parts[1:], strict=True)
            ),
        )

    def _only(self, kind: str, others: Sequence[str]) -> Floats:
        """Return the sum over judgments that share a cluster of one kind, and none of others."""
        found = self.same[frozenset([kind])]
        for several in combinations_of(others):
            found = found + _sign(several) * self.same[several | {kind}]
        return found


def row_moments(
    kinds: Mapping[str, Clustering], cell: Codes, trials: Floats, hits: Floats, own: Floats
) -> ClusterMoments:
    """Sum up which rows share clusters, where they share nothing else.

    Parameters
    ----------
    kinds : mapping of str to Clustering
        The cluster of each row, by kind.
    cell, trials, hits : ndarray
        Of each row, which may stand for several trials.
    own : ndarray
        Second moments of each trial with itself.
    """
    n_cells = len(own) // 2
    same = {
        several: cluster_products(
            combine_codes([kinds[kind].codes for kind in several]), cell, trials, hits, n_cells
        )
        for several in combinations_of(kinds)
    }
    sizes = {kind: one.n for kind, one in kinds.items()}
    return ClusterMoments(
        items=own,
        pairs=np.zeros_like(own),
        same=same,
        within=dict.fromkeys(same, own),
        sizes=sizes,
        sums={
            kind: _filled_rows(cluster_totals(kinds[kind].codes, cell, trials, hits, n_cells))
            for kind, number in sizes.items()
            if number <= MOST_SUMMED
        },
    )


def combinations_of(kinds: Iterable[str]) -> Iterator[Kinds]:
    """Yield every combination of one or more kinds."""
    known = [*kinds]
    for size in range(1, len(known) + 1):
        yield from map(frozenset, combinations(known, size))


def _sign(kinds: Kinds) -> int:
    return -1 if len(kinds) % 2 else 1


def combine_codes(columns: Sequence[Codes]) -> Codes:
    """Return one number for each combination of codes that are not negative."""
    return reduce(_combine_two, columns)


def _combine_two(first: Codes, second: Codes) -> Codes:
    size = int(second.max(initial=-1)) + 1
    if int(first.max(initial=0)) >= 2**62 // max(size, 1):
        # Number the codes first where the product would not fit into 63 bits.
        first = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return first.astype(np.int64) * size + second


def cluster_products(
    cluster: Codes, cell: Codes, trials: Floats, hits: Floats, n_cells: int
) -> Floats:
    r"""Sum up products of what clusters hold in every two cells, trials first, then hits.

    A cluster is whatever makes judgments dependent: an item, a pair of items, an evaluator. For
    each let the vector :math:`a` hold its trials in every cell, then its hits. The sum of
    :math:`a a^T` over clusters gives the variance of any contrast of cell rates at any hypothesised
    rates. Defined by the loops in ``tests/plain/clusters.py``.

    Parameters
    ----------
    cluster, cell, trials, hits : ndarray
        Of each row; clusters are numbers that are not negative.
    n_cells : int
    """
    alone = np.zeros((2 * n_cells, 2 * n_cells))
    if cluster.max(initial=-1) > 4 * len(cluster):
        # Most have one row. To sort and look for the others is much faster than to number all.
        ordered = np.sort(cluster)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        repeated = repeated[np.diff(repeated, prepend=-1) > 0]
        shared, place = _find_codes(repeated, cluster)
        alone = _row_products(cell[~shared], trials[~shared], hits[~shared], n_cells)
        cluster, cell, trials, hits = place, cell[shared], trials[shared], hits[shared]
    n_clusters = int(cluster.max(initial=-1)) + 1
    if n_cells > FEW_CELLS or 16 * n_clusters * n_cells > DENSE_BYTES:
        places = np.tile(cluster, 2), np.concatenate([cell, n_cells + cell])
        shape = (n_clusters, 2 * n_cells)
        sparse = csr_array((np.concatenate([trials, hits]), places), shape=shape)
        products: Floats = (sparse.T @ sparse).toarray()
        return alone + products
    totals = cluster_totals(cluster, cell, trials, hits, n_cells)
    return alone + totals.T @ totals


def _find_codes(known: Codes, codes: Codes) -> tuple[NDArray[np.bool_], Codes]:
    """Return which codes are among known ones, which are sorted, and where these are there."""
    # Few share their lowest bits with a known one, and only they are looked for.
    lowest = 2 ** len(codes).bit_length() - 1
    marked = np.zeros(lowest + 1, dtype=bool)
    marked[known & lowest] = True
    found = marked[codes & lowest]
    place = np.searchsorted(known, codes[found])
    same = known[np.minimum(place, len(known) - 1)] == codes[found]
    found[found] = same
    return found, place[same]


def cluster_totals(
    cluster: Codes, cell: Codes, trials: Floats, hits: Floats, n_cells: int
) -> Floats:
    """Return the trials of each cluster in every cell, then its hits, a row for each cluster."""
    shape = int(cluster.max(initial=-1)) + 1, n_cells
    code, size = cluster * n_cells + cell, shape[0] * n_cells
    columns = [np.bincount(code, part, size).reshape(shape) for part in (trials, hits)]
    totals: Floats = np.hstack(columns)
    return totals


def _row_products(cell: Codes, trials: Floats, hits: Floats, n_cells: int) -> Floats:
    """Return the products of clusters of one row."""
    amounts = (trials * trials, trials * hits, hits * hits)
    n, cross, both = (np.diag(np.bincount(cell, amount, n_cells)) for amount in amounts)
    return np.block([[n, cross], [cross, both]])
