"""Judged pairs of items that repeat, pair by pair.

Tests need counts and moments only, but some questions need the pairs: which judgments are made of
other items, what each judgment weighs, and what comes out when parts that share items are added.
:class:`JudgedPairs` keeps them, and makes :class:`~comparity.counts.pairs.SharedPairCounts` once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from comparity.counts.clusters import (
    DENSE_BYTES,
    EVALUATORS,
    FEW_CELLS,
    MOST_LISTED,
    MOST_SUMMED,
    Clustering,
    ClusterMoments,
    cluster_products,
    cluster_totals,
    combinations_of,
    combine_codes,
)
from comparity.counts.pairs import TIE_VALUE, Cell, Floats, PairCounts, SharedPairCounts, Tally
from comparity.errors import IncompatibleCountsError

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedPairs:
    """Distinct judged pairs and how often each was judged, as columns.

    Parts that were counted against the same item table can be added, whatever items and evaluators
    they share.

    Attributes
    ----------
    better, worse : ndarray of int
        Positions of the two items in the item table.
    evaluator : ndarray of int or None
        Positions in `evaluators`; ``None`` where evaluators are unknown.
    cell : ndarray of int
        Positions in `cells`.
    order : ndarray of int8
        1 where the model puts the better item first, 0 where it ties, -1 where it does not.
    trials : ndarray of int
        How often this pair was judged this way (by this evaluator).
    cells : tuple of Cell
    evaluators : tuple of str
    n_items : int
        Length of the item table.
    item_table : str
        Fingerprint of the item table: positions mean nothing in another one.
    reference : ndarray of float or None
        Label or reference score of every item, where agreement is to be standardised to one
        distribution of it.
    clusters : mapping of str to Clustering
        What else makes judgments dependent, such as the prompt: the cluster of each row, by name.
    judgment_ties : mapping of (str, str) to int
        Tied judgments by the two groups compared, in sorted order.
    """

    better: Codes
    worse: Codes
    evaluator: Codes | None
    cell: Codes
    order: NDArray[np.int8]
    trials: Codes
    cells: tuple[Cell, ...]
    evaluators: tuple[str, ...] = ()
    n_items: int
    item_table: str = ""
    reference: Floats | None = None
    clusters: Mapping[str, Clustering] = field(default_factory=dict)
    judgment_ties: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_pair = (self.better, self.worse, self.evaluator, self.cell, self.order, self.trials)
        shared = (one.codes for one in self.clusters.values())
        for column in (*by_pair, *shared, self.reference):
            if column is not None:
                column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.trials)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JudgedPairs):
            return NotImplemented
        return self.fresh_counts() == other.fresh_counts() and _are_same_pairs(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: JudgedPairs) -> JudgedPairs:
        if not isinstance(other, JudgedPairs):
            raise IncompatibleCountsError("design", [type(self).__name__, type(other).__name__])
        return merge_pairs([self, other])

    @property
    def n(self) -> int:
        """Number of judgments that put one item first."""
        return int(self.trials.sum())

    def tallies(self) -> dict[Cell, Tally]:
        """Return the tally of every cell."""
        codes = 3 * self.cell + self.order + 1
        table = np.bincount(codes, self.trials, 3 * len(self.cells)).astype(np.int64)
        missed, tied, hit = table.reshape(-1, 3).T.tolist()
        return {
            cell: Tally(hit[code], missed[code] + tied[code] + hit[code], tied[code])
            for code, cell in enumerate(self.cells)
        }

    def uses(self) -> Codes:
        """Return in how many judgments each item occurs."""
        uses = np.bincount(self.better, self.trials, self.n_items)
        return (uses + np.bincount(self.worse, self.trials, self.n_items)).astype(np.int64)

    @property
    def n_evaluators(self) -> int:
        """How many evaluators judged; 0 where they are unknown."""
        return 0 if self.evaluator is None else Clustering(self.evaluator, self.evaluators).n

    def kinds(self) -> dict[str, Clustering]:
        """Return all that divides the judgments into clusters, evaluators first."""
        known = {} if self.evaluator is None else {EVALUATORS: self.evaluator}
        return {
            **{kind: Clustering(codes, self.evaluators) for kind, codes in known.items()},
            **self.clusters,
        }

    def fresh_counts(self) -> PairCounts:
        """Return the tallies alone, as if no item and no evaluator occurred twice."""
        return PairCounts(self.tallies(), self.judgment_ties)

    def shared_counts(self) -> SharedPairCounts:
        """Return tallies, and the moments of judgments that share items and evaluators.

        O(m log m) time and O(m) memory for m distinct judged pairs. The sums are defined by the
        double loop over judgments in ``tests/plain/dyadic.py``.
        """
        trials = self.trials.astype(np.float64)
        moments = cluster_moments(self, trials)
        has_ties = bool((self.order == 0).any())
        uses = self.uses()
        return SharedPairCounts(
            self.tallies(),
            self.judgment_ties,
            moments=moments,
            half_moments=cluster_moments(self, trials, "half") if has_ties else moments,
            cell_items=_distinct_items(self),
            group_items=_items_by_group(self),
            n_items=int((uses > 0).sum()),
            n_evaluators=self.n_evaluators,
            n_clusters={name: one.n for name, one in self.clusters.items()},
            most_uses=int(uses.max(initial=0)),
        )


def cluster_moments(
    pairs: JudgedPairs, trials: Floats, score_ties: str = "disagree"
) -> ClusterMoments:
    """Sum up which judgments share items, evaluators where these are known, and clusters.

    Parameters
    ----------
    pairs : JudgedPairs
    trials : ndarray of float
        How much each row counts.
    score_ties : {"disagree", "half"}
        What a tie of the model's scores counts as.
    """
    hits = trials * np.array([0.0, TIE_VALUE[score_ties], 1.0])[pairs.order + 1]
    once = (pairs.cell, trials, hits)
    twice = (np.tile(pairs.cell, 2), np.tile(trials, 2), np.tile(hits, 2))
    n_cells = len(pairs.cells)
    items = np.concatenate([pairs.better, pairs.worse])
    low, high = np.minimum(pairs.better, pairs.worse), np.maximum(pairs.better, pairs.worse)
    same_pair = low * pairs.n_items + high
    kinds = pairs.kinds()
    same, within = {}, {}
    for several in combinations_of(kinds):
        codes = combine_codes([kinds[kind].codes for kind in several])
        same[several] = cluster_products(codes, *once, n_cells)
        by_item = combine_codes([items, np.tile(codes, 2)])
        within[several] = cluster_products(by_item, *twice, n_cells)
        within[several] -= cluster_products(combine_codes([same_pair, codes]), *once, n_cells)
    sizes = {kind: one.n for kind, one in kinds.items()}
    sums = {
        kind: cluster_totals(kinds[kind].codes, *once, n_cells)
        for kind, number in sizes.items()
        if number <= (MOST_LISTED if kind == EVALUATORS else MOST_SUMMED)
    }
    return ClusterMoments(
        items=cluster_products(items, *twice, n_cells),
        pairs=cluster_products(same_pair, *once, n_cells),
        same=same,
        within=within,
        sizes=sizes,
        # Positions that no judgment is at hold nothing.
        sums={kind: totals[totals.any(axis=1)] for kind, totals in sums.items()},
    )


@dataclass(frozen=True, slots=True, eq=False)
class ItemResiduals:
    """What each item, and what each judgment by itself, adds to the rates of cells.

    Attributes
    ----------
    cells : tuple of Cell
    by_item : ndarray or csr_array of shape (cells, items)
        Sums over the judgments of an item of outcome minus rate, over the judgments of the cell.
    crossed : ndarray of shape (cells, cells)
        Sums over items of the square of one cell times another.
    cubes : ndarray of shape (cells,)
        Sums of the cubes of residuals, judgment by judgment.
    """

    cells: tuple[Cell, ...]
    by_item: Floats | csr_array
    crossed: Floats
    cubes: Floats

    def third_cumulant(self, first: Sequence[Cell], second: Sequence[Cell]) -> float:
        """Return the third cumulant of a gap between mean rates; 0 where a cell holds nothing."""
        if not {*first, *second} <= {*self.cells}:
            return 0.0
        codes = [self.cells.index(cell) for cell in (*first, *second)]
        sides = ([1 / len(first)] * len(first), [-1 / len(second)] * len(second))
        contrast = np.concatenate(sides)
        single = float(contrast**3 @ self.cubes[codes])
        if len(codes) > 2:
            sums = contrast @ self.by_item[codes]
            return float((sums * sums) @ sums) - single
        # Many groups have thousands of pairs of cells: (x + y)^3 without going over the items.
        products = self.crossed[np.ix_(codes, codes)] * contrast * contrast[:, None] ** 2
        return float(3 * products.sum() - 2 * products.trace()) - single


def item_residuals(
    pairs: JudgedPairs, trials: Floats, score_ties: str = "disagree"
) -> ItemResiduals:
    """Return what each item adds to the rates of cells, beyond its part of their mean.

    Defined by the loops in ``tests/plain/item_skewness.py``; arguments as in
    :func:`cluster_moments`.
    """
    outcome, n_cells = np.array([0.0, TIE_VALUE[score_ties], 1.0]), len(pairs.cells)
    kind = 3 * pairs.cell + pairs.order + 1
    held = np.bincount(kind, trials, 3 * n_cells).reshape(-1, 3)
    n = np.maximum(held.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    residual: Floats = ((outcome - held @ outcome[:, None] / n) / n).ravel()[kind] * trials
    cubes: Floats = np.bincount(pairs.cell, residual * residual * residual, n_cells).astype(float)
    shape = n_cells, pairs.n_items
    if n_cells > FEW_CELLS or 8 * n_cells * pairs.n_items > DENSE_BYTES:
        places = np.tile(pairs.cell, 2), np.concatenate([pairs.better, pairs.worse])
        sparse = csr_array((np.tile(residual, 2), places), shape=shape)
        return ItemResiduals(pairs.cells, sparse, ((sparse * sparse) @ sparse.T).toarray(), cubes)
    place, size = pairs.cell * pairs.n_items, n_cells * pairs.n_items
    ends = (np.bincount(place + end, residual, size) for end in (pairs.better, pairs.worse))
    by_item: Floats = np.add(*ends, dtype=np.float64).reshape(shape)
    return ItemResiduals(pairs.cells, by_item, (by_item * by_item) @ by_item.T, cubes)


def _distinct_items(pairs: JudgedPairs) -> Floats:
    """Return how many different items the judgments of each cell are about."""
    places = [pairs.cell * pairs.n_items + item for item in (pairs.better, pairs.worse)]
    n_places = len(pairs.cells) * pairs.n_items
    if n_places > DENSE_BYTES:
        used = np.unique(np.concatenate(places)) // max(pairs.n_items, 1)
        return np.bincount(used, minlength=len(pairs.cells)).astype(np.float64)
    # A mark at every place is ten times faster than sorting them.
    marks = np.zeros(n_places, dtype=bool)
    for place in places:
        marks[place] = True
    held = marks.reshape(len(pairs.cells), pairs.n_items).sum(axis=1)
    return np.asarray(held, dtype=np.float64)


def _items_by_group(pairs: JudgedPairs) -> dict[str, int]:
    """Return how many different items of each group the judgments are about."""
    groups = sorted({group for cell in pairs.cells for group in cell})
    if not groups:
        return {}
    place = {group: code for code, group in enumerate(groups)}
    used = np.zeros((len(groups), pairs.n_items), dtype=bool)
    for side, items in enumerate((pairs.better, pairs.worse)):
        code = np.array([place[cell[side]] for cell in pairs.cells], dtype=np.int64)
        used[code[pairs.cell], items] = True
    return dict(zip(groups, used.sum(axis=1).tolist(), strict=True))


def merge_pairs(parts: Sequence[JudgedPairs]) -> JudgedPairs:
    """Join parts into one set of distinct pairs, in a canonical order."""
    _check_compatible(parts)
    names = tuple(parts[0].clusters)
    cells = tuple(sorted({cell for part in parts for cell in part.cells}))
    evaluators = tuple(sorted({name for part in parts for name in part.evaluators}))
    n_items = parts[0].n_items
    better = np.concatenate([part.better for part in parts])
    worse = np.concatenate([part.worse for part in parts])
    cell = np.concatenate([_recode(part.cell, part.cells, cells) for part in parts])
    order = np.concatenate([part.order for part in parts])
    trials = np.concatenate([part.trials for part in parts])
    known = [
        _recode(part.evaluator, part.evaluators, evaluators)
        for part in parts
        if part.evaluator is not None
    ]
    evaluator = np.concatenate(known) if known else None
    clusters = {name: _join_clusters([one.clusters[name] for one in parts]) for name in names}
    # The cell and the order follow from the pair: with evaluator and clusters it identifies a row.
    shared = [one.codes for one in clusters.values()]
    columns = (*shared, *([] if evaluator is None else [evaluator]), worse, better)
    sequence = np.lexsort(columns)
    changed = np.zeros(len(sequence), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= np.diff(column[sequence]) != 0
    first = sequence[changed]
    return JudgedPairs(
        better=better[first],
        worse=worse[first],
        evaluator=None if evaluator is None else evaluator[first],
        cell=cell[first],
        order=order[first],
        trials=np.add.reduceat(trials[sequence], np.flatnonzero(changed)) if len(first) else trials,
        cells=cells,
        evaluators=evaluators,
        n_items=n_items,
        item_table=parts[0].item_table,
        reference=parts[0].reference,
        clusters={name: Clustering(one.codes[first], one.names) for name, one in clusters.items()},
        judgment_ties=dict(sum((Counter(part.judgment_ties) for part in parts), Counter())),
    )


def _check_compatible(parts: Sequence[JudgedPairs]) -> None:
    if len({(part.item_table, part.n_items) for part in parts}) > 1:
        raise IncompatibleCountsError("item table", [part.n_items for part in parts])
    if len({part.evaluator is None for part in parts}) > 1:
        raise IncompatibleCountsError("evaluators", [part.evaluator is not None for part in parts])
    if len({tuple(part.clusters) for part in parts}) > 1:
        raise IncompatibleCountsError("clusters", [list(part.clusters) for part in parts])


def _join_clusters(parts: Sequence[Clustering]) -> Clustering:
    """Put clusters of one kind behind each other; those of one name are one."""
    names = tuple(sorted({name for part in parts for name in part.names}))
    return Clustering(
        np.concatenate([_recode(part.codes, part.names, names) for part in parts]), names
    )


def _recode(codes: Codes, old: Sequence[Hashable], new: Sequence[Hashable]) -> Codes:
    if tuple(old) == tuple(new):
        return codes
    position = {name: code for code, name in enumerate(new)}
    return np.array([position[name] for name in old], dtype=np.int64)[codes]


def _are_same_pairs(first: JudgedPairs, second: JudgedPairs) -> bool:
    if (first.item_table, first.n_items) != (second.item_table, second.n_items):
        return False
    if first.kinds().keys() != second.kinds().keys():
        return False
    one, two = _columns_by_name(first), _columns_by_name(second)
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


def _columns_by_name(pairs: JudgedPairs) -> dict[str, NDArray[np.generic]]:
    """Return the canonical columns with cells and evaluators by name instead of by code."""
    merged = merge_pairs([pairs])
    columns: dict[str, NDArray[np.generic]] = {
        name: getattr(merged, name) for name in ("better", "worse", "order", "trials")
    }
    columns["cell"] = np.array([str(cell) for cell in merged.cells], dtype=object)[merged.cell]
    if merged.evaluator is not None:
        columns["evaluator"] = np.array(merged.evaluators, dtype=object)[merged.evaluator]
    for name, one in merged.clusters.items():
        columns[f"cluster {name}"] = np.array(one.names, dtype=object)[one.codes]
    return columns
