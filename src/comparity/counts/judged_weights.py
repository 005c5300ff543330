r"""Judgments weighted, or chosen, so that more can be said of them.

*Weighted*: every kind of judged pair gets the same distribution of a reference. Items may carry a
label or a reference score beside the score of the model. Judgments are weighted by
:math:`w(y_i, a_i) \, w(y_j, a_j)` with the overlap weights of :mod:`comparity.counts.overlap`,
taken from the items *as they occur in judgments*. If pairs were drawn without regard to the
reference (some items more often than others, if need be) and judges order items by it alike in
every group, better and worse items then have the same distribution of the reference in all cells.
Whether they have is looked up: a design that pairs likes with likes, or a judge who leans, leaves
them apart.

*Chosen*: pairs that share no item and no evaluator, for tests of independent proportions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import EVALUATORS
from comparity.counts.judged_pairs import JudgedPairs, cluster_moments
from comparity.counts.overlap import LARGEST_IMBALANCE, MOST_BINS, Overlap, overlap_weights
from comparity.counts.pair_distances import ComparedPairs, ExpectedRates, expect_rates
from comparity.counts.pairs import TIE_VALUE, Cell, Floats, PairCounts, Sharing, Tally

GroupPair = frozenset[str]

CELL_NOISE = 2.5
"""Sampling noise allowed between distributions of two cells, over the root of their items."""


def item_overlap(pairs: JudgedPairs) -> Overlap:
    """Weigh items so that the reference has one distribution in all groups, as items were judged.

    An item judged ten times counts ten times in the distributions and once in the effective sizes.

    Parameters
    ----------
    pairs : JudgedPairs
        With a reference for every item.

    Returns
    -------
    Overlap
        One weight for each item; 0 for items that were never judged.

    Examples
    --------
    >>> from comparity.counts.ledger import count_position_pairs
    >>> judged = [[0, 1], [2, 1], [2, 3], [0, 3]]
    >>> pairs = count_position_pairs(judged, scores=[4, 3, 2, 1], reference=[1, 0, 1, 0],
    ...     sensitive={"sex": ["f", "f", "m", "m"]})
    >>> item_overlap(pairs["sex"]).weights.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    assert pairs.reference is not None
    groups = sorted({group for cell in pairs.cells for group in cell})
    uses, group = np.zeros(pairs.n_items), np.full(pairs.n_items, len(groups), dtype=np.int64)
    for place, items in enumerate((pairs.better, pairs.worse)):
        codes = np.array([groups.index(cell[place]) for cell in pairs.cells], dtype=np.int64)
        group[items] = codes[pairs.cell]
        uses += np.bincount(items, pairs.trials, pairs.n_items)
    found = overlap_weights(pairs.reference, group, groups, sample_weight=uses)
    # Every use is a judgment of its own, and counted as such.
    weights = np.divide(found.weights, uses, out=np.zeros_like(uses), where=uses > 0)
    return replace(found, weights=weights)


def judgment_weights(pairs: JudgedPairs, overlap: Overlap) -> Floats:
    """Return the product of the weights of its two items for each row of judged pairs."""
    weights: Floats = overlap.weights[pairs.better] * overlap.weights[pairs.worse]
    return weights


def weighted_sharing(
    pairs: JudgedPairs, weights: Floats, *, score_ties: str = "disagree", evaluators: bool = True
) -> Sharing:
    """Return the moments of weighted judgments that share items and evaluators.

    Parameters
    ----------
    pairs : JudgedPairs
    weights : ndarray of float
        Weight of each judgment, by row of `pairs`, not negative. Judgments that weigh nothing are
        left out.
    score_ties : {"disagree", "half"}
        What a tie of the model's scores counts as.
    evaluators : bool
        Whether judgments of one evaluator are dependent.
    """
    held = _keep_rows(pairs, weights > 0)
    weight = weights[weights > 0]
    moments = cluster_moments(held, held.trials * weight, score_ties)
    singles = _single_moments(held, weight, score_ties)
    kinds = [kind for kind in held.kinds() if evaluators or kind != EVALUATORS]
    return Sharing.of(held.cells, singles, moments, kinds)


def _keep_rows(pairs: JudgedPairs, kept: NDArray[np.bool_]) -> JudgedPairs:
    names = ("better", "worse", "cell", "order", "trials")
    return replace(
        pairs,
        evaluator=None if pairs.evaluator is None else pairs.evaluator[kept],
        clusters={name: one.keep(kept) for name, one in pairs.clusters.items()},
        **{name: getattr(pairs, name)[kept] for name in names},
    )


def _single_moments(pairs: JudgedPairs, weight: Floats, score_ties: str) -> tuple[Floats, ...]:
    """Return trials and hits by cell, the moments of single judgments, and hits that are half."""
    tie, codes = TIE_VALUE[score_ties], 3 * pairs.cell + pairs.order + 1

    def by_order(amount: Floats) -> list[Floats]:
        table = np.bincount(codes, amount, 3 * len(pairs.cells)).reshape(-1, 3).astype(np.float64)
        return [table.sum(axis=1), table[:, 2], table[:, 1]]

    n, hits, ties = by_order(pairs.trials * weight)
    squares, hit_squares, tie_squares = by_order(pairs.trials * weight**2)
    cross = np.diag(hit_squares + tie * tie_squares)
    both = np.diag(hit_squares + tie**2 * tie_squares)
    own = np.block([[np.diag(squares), cross], [cross, both]])
    return n, hits + tie * ties, own, ties if tie else np.zeros_like(ties)


def expected_agreement(
    pairs: JudgedPairs, weights: Floats, *, score_ties: str = "disagree"
) -> ExpectedRates:
    """Return what the distances of references explain of the agreement in every cell.

    Parameters
    ----------
    pairs : JudgedPairs
        With a reference for every item.
    weights : ndarray of float
        Weight of each judgment, by row of `pairs`.
    score_ties : {"disagree", "half"}
    """
    assert pairs.reference is not None
    values, level = np.unique(pairs.reference, return_inverse=True)
    sizes = np.bincount(level, minlength=len(values))
    rank = ((2 * np.cumsum(sizes) - sizes) / max(len(level), 1) - 1)[level]
    compared = ComparedPairs(
        distance=pairs.reference[pairs.better] - pairs.reference[pairs.worse],
        place=(rank[pairs.better] + rank[pairs.worse]) / 2,
        weight=pairs.trials * weights,
    )
    columns = (compared.distance, compared.place, compared.weight)
    cells = [
        ComparedPairs(*(column[pairs.cell == code] for column in columns))
        for code in range(len(pairs.cells))
    ]
    hit = np.choose(pairs.order + 1, (0.0, TIE_VALUE[score_ties], 1.0))
    return expect_rates(compared, hit, cells, n_steps=len(pairs) ** (1 / 4), complete=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDistance:
    """How far the reference distributions of two cells are apart after weighting.

    Attributes
    ----------
    distance : float
        The larger of the Kolmogorov distances between their better and between their worse items;
        ``nan`` where a cell has no weight left.
    limit : float
        The largest distance that is trusted: 0.05, plus sampling noise.
    """

    distance: float
    limit: float

    @property
    def reason(self) -> str:
        """Why nothing should be concluded from the two cells; empty where something may."""
        if not self.distance > self.limit:
            return ""
        return (
            f"the weighted references of the items in the two kinds of pairs are "
            f"{self.distance:.3f} apart, more than the {self.limit:.3f} that is trusted: pairs "
            "were not drawn, or not judged, alike"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReferenceDistributions:
    """Weighted distribution functions of the reference, by cell.

    Attributes
    ----------
    cells : tuple of Cell
    better, worse : ndarray, (n_cells, n_levels)
        Of the better and of the worse items; ``nan`` for a cell that weighs nothing.
    """

    cells: tuple[Cell, ...]
    better: Floats
    worse: Floats

    def between(
        self, cells: Sequence[Cell], effective_items: float, *, rounding: bool = False
    ) -> CellDistance:
        """Compare two cells.

        Parameters
        ----------
        cells : sequence of Cell
            The two cells.
        effective_items : float
            Items that the scarcer of the two rests on, counted by how evenly they are used.
        rounding : bool
            Whether the reference of one group may be rounded. That moves a distribution by no more
            than the share of one value, so the largest share that only one cell has is allowed
            besides.
        """
        distance, lump = math.nan, 0.0
        if all(cell in self.cells for cell in cells):
            one, two = (self.cells.index(cell) for cell in cells)
            sides = (self.better, self.worse)
            apart = [np.abs(side[one] - side[two]).max() for side in sides]
            distance = float(np.max(apart))
            if rounding:
                shares = (np.diff(side, axis=1, prepend=0) for side in sides)
                lump = max(float(np.abs(share[one] - share[two]).max()) for share in shares)
        noise = CELL_NOISE / math.sqrt(max(effective_items, 1.0))
        return CellDistance(distance=distance, limit=LARGEST_IMBALANCE + noise + lump)


def reference_distributions(pairs: JudgedPairs, weights: Floats) -> ReferenceDistributions:
    """Return the distributions of the reference in all cells, under weights of the rows.

    More than two thousand values of the reference are taken together in as many bins of neighbours.
    """
    assert pairs.reference is not None
    values, level = np.unique(pairs.reference, return_inverse=True)
    n_levels = min(len(values), MOST_BINS)
    if len(values) > n_levels:
        level = level * n_levels // len(values)
    better, worse = (
        _sum_up(pairs.cell, level[items], pairs.trials * weights, (len(pairs.cells), n_levels))
        for items in (pairs.better, pairs.worse)
    )
    return ReferenceDistributions(cells=pairs.cells, better=better, worse=worse)


def _sum_up(
    cell: NDArray[np.int64], level: NDArray[np.int64], amounts: Floats, shape: tuple[int, int]
) -> Floats:
    summed = np.bincount(cell * shape[1] + level, amounts, shape[0] * shape[1]).reshape(shape)
    sums = np.cumsum(summed, axis=1, dtype=np.float64)
    total = sums[:, -1:]
    divided: Floats = np.divide(sums, total, out=np.full(shape, math.nan), where=total > 0)
    return divided


def disjoint_pairs(pairs: JudgedPairs, *, rng: np.random.Generator) -> PairCounts:
    """Keep a maximal set of pairs in which no item, evaluator or cluster occurs twice.

    On such pairs the tests of independent proportions are right whatever the sharing was, at the
    price of leaving the other pairs out.

    Pairs of items are chosen, not judgments: which of the two was put first, and whether the model
    agrees, plays no part, and neither does how often a pair was judged. The choice is greedy, hence
    maximal (no pair could be added), and takes the combinations of groups in turns, always the one
    that has the fewest pairs for each of its cells: whatever runs out first, items or evaluators,
    no cell is left empty that need not be. Of the judgments of a chosen pair one is then drawn at
    random. (Choosing judgments would be wrong: a pair judged both ways would enter the way the
    rarer cell wants it.)

    Parameters
    ----------
    pairs : JudgedPairs
        Judged pairs that share items or evaluators.
    rng : numpy.random.Generator
        Draws the order of pairs of the same groups, and one judgment of each chosen pair.

    Returns
    -------
    PairCounts
        One judgment for each pair that was kept.
    """
    kept = _take_in_turns(pairs, _rows_by_groups(pairs, rng))
    cells: dict[Cell, Tally] = {}
    for code, cell in enumerate(pairs.cells):
        order = pairs.order[kept[pairs.cell[kept] == code]]
        cells[cell] = Tally(int((order > 0).sum()), len(order), int((order == 0).sum()))
    return PairCounts(cells, pairs.judgment_ties)


def _rows_by_groups(pairs: JudgedPairs, rng: np.random.Generator) -> dict[GroupPair, list[int]]:
    """Return the rows of each pair of groups: pairs at random, judgments of a pair at random."""
    low, high = np.minimum(pairs.better, pairs.worse), np.maximum(pairs.better, pairs.worse)
    _, first, pair = np.unique(low * pairs.n_items + high, return_index=True, return_inverse=True)
    # Engines return rows in any order: draws belong to rows by what these say.
    shared = [one.codes for one in pairs.kinds().values()]
    by_content = np.lexsort((*shared, pairs.worse, pairs.better))
    # A row judged n times comes first among the rows of its pair with a chance of n to all:
    # the smallest of exponential waiting times with rates n.
    waiting = np.empty(len(pairs))
    waiting[by_content] = rng.exponential(size=len(pairs)) / pairs.trials[by_content]
    sequence = np.lexsort((waiting, rng.random(len(first))[pair]))
    kinds = [frozenset(cell) for cell in pairs.cells]
    queues: dict[GroupPair, list[int]] = {kind: [] for kind in kinds}
    for row in sequence.tolist():
        queues[kinds[pairs.cell[row]]].append(row)
    return queues


def _take_in_turns(pairs: JudgedPairs, queues: dict[GroupPair, list[int]]) -> NDArray[np.int64]:
    """Take from the pair of groups with the fewest pairs for each cell until nothing is left."""
    free = _Free(pairs)
    waiting = {kind: filter(free.is_free, rows) for kind, rows in queues.items()}
    taken: dict[GroupPair, list[int]] = {kind: [] for kind in queues}
    while waiting:
        # Two groups have two cells, either may be better; one group has one.
        kind = min(waiting, key=lambda one: len(taken[one]) / len(one))
        row = next(waiting[kind], None)
        if row is None:
            del waiting[kind]
        else:
            free.use(row)
            taken[kind].append(row)
    return np.array([row for rows in taken.values() for row in rows], dtype=np.int64)


class _Free:
    """Which items, evaluators and clusters have not been used.

    Parameters
    ----------
    pairs : JudgedPairs
    """

    def __init__(self, pairs: JudgedPairs) -> None:
        self._items = np.column_stack([pairs.better, pairs.worse]).tolist()
        shared = [one.codes for one in pairs.kinds().values()]
        self._shared = np.array(shared, dtype=np.int64).reshape(-1, len(pairs)).T.tolist()
        self._used: set[int] = set()
        self._heard: list[set[int]] = [set() for _ in shared]

    def is_free(self, row: int) -> bool:
        """Return whether no item, evaluator or cluster of a row was used."""
        shared = zip(self._shared[row], self._heard, strict=True)
        return self._used.isdisjoint(self._items[row]) and not any(
            one in heard for one, heard in shared
        )

    def use(self, row: int) -> None:
        """Use the items, the evaluator and the clusters of a row."""
        self._used.update(self._items[row])
        for one, heard in zip(self._shared[row], self._heard, strict=True):
            heard.add(one)
