r"""Which judgments share an item or an evaluator, summed up so that any variance follows.

For a contrast of cell rates with weights :math:`w` the residual of judgment :math:`p` is
:math:`u_p`, linear in its trials and hits. Judgments that share an item or an evaluator are
dependent, all others are not, so the variance is the sum of :math:`u_p u_q` over dependent
:math:`p, q`. Summed cluster by cluster:

.. math::

    V = \sum_{items} U_i^2 - \sum_{pairs} U_{ij}^2
        + \sum_{evaluators} U_k^2
        - \Big( \sum_{k, items} U_{ki}^2 - \sum_{k, pairs} U_{kij}^2 \Big)

where :math:`U` is the sum of :math:`u` over the judgments of the cluster. The first difference
counts judgments that share both items once instead of twice; the last bracket takes off what
items and evaluators both counted. A pair judged four times is one pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.clusters import hits_of, moments_by_key, moments_by_number, pair_keys
from comparity.counts.pairs import Cell, JudgedPairs, PairCounts, SharedPairCounts

__all__ = [
    "Sharing",
    "distinct_items",
    "evenness",
    "independent_judgments",
    "shared_judgments",
    "subset",
]

TIE_VALUE = {"disagree": 0.0, "half": 0.5}
"""What a tie of the model's scores counts as."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharing:
    """Second moments of trials and hits by cell, over dependent judgments.

    Each matrix has a row and a column for the trials of every cell, then for its hits, so that
    ``w @ matrix @ w`` is the variance of a linear combination ``w`` of them.

    Attributes
    ----------
    cells : tuple of Cell
    trials, hits : ndarray
        Totals by cell; hits include half of the score ties where these were scored as half.
    dependent : ndarray
        Over all pairs of judgments that share an item or an evaluator.
    own : ndarray
        Over each judgment with itself only: what is left when nothing is shared.
    half_hits : ndarray
        Trials that count as half a hit, by cell.
    effective_items : ndarray
        Items in each cell, counted by how evenly they are used: the square of all uses over the
        sum of squared uses. Equal to their number where all are used alike, near one where one
        item occurs in most judgments.
    touching : ndarray or None
        The same as `dependent` before judgments that share twice are taken off once: larger, and
        never negative. ``None`` where no judgment was counted twice.
    n_clusters : int
        How many independent clusters (evaluators, queries) the variance is a sum over, where
        these are few; 0 where it sums over items and the normal law will do.
    method : str
        Name of the test made from it.
    """

    cells: tuple[Cell, ...]
    trials: NDArray[np.float64]
    hits: NDArray[np.float64]
    dependent: NDArray[np.float64]
    own: NDArray[np.float64]
    half_hits: NDArray[np.float64]
    effective_items: NDArray[np.float64]
    touching: NDArray[np.float64] | None = None
    n_clusters: int = 0
    method: str = "dyadic score z"

    @property
    def counts_all_pairs(self) -> bool:
        """Whether all pairs that labels imply were counted, not judgments one by one."""
        return self.touching is None and bool(np.any(self.dependent != self.own))


def shared_judgments(
    counts: SharedPairCounts,
    *,
    score_ties: str = "disagree",
    evaluators: bool = True,
    weights: NDArray[np.float64] | None = None,
) -> Sharing:
    """Sum up which judgments share items, and evaluators where these are known.

    O(m log m) time and O(m) memory for m distinct judged pairs. The sums are defined by the
    double loop over judgments in ``tests/plain/dyadic.py``.

    Parameters
    ----------
    counts : SharedPairCounts
        Judged pairs.
    score_ties : {"disagree", "half"}
        What a tie of the model's scores counts as.
    evaluators : bool
        Whether judgments of one evaluator are dependent.
    weights : ndarray of float, optional
        Weight of each judgment, by row of ``counts.pairs``, not negative; 1 by default. Judgments
        that weigh nothing are left out.
    """
    pairs, weight = _held(counts.pairs, weights)
    trials = pairs.trials * weight
    hits = hits_of(trials, pairs.order, TIE_VALUE[score_ties])
    rows = (pairs.cell, trials, hits, len(pairs.cells))
    same_pair = pair_keys(pairs.better, pairs.worse, pairs.n_items)
    both = (pairs.better, pairs.worse)
    items = moments_by_number(both, pairs.n_items, *rows)
    dependent, touching = items - moments_by_key(same_pair, *rows), items
    n_clusters = 0
    if evaluators and pairs.evaluator is not None:
        by_evaluator = moments_by_number((pairs.evaluator,), len(pairs.evaluators), *rows)
        dependent += by_evaluator - _within_evaluators(pairs, same_pair, trials, hits)
        touching = items + by_evaluator
        n_clusters = len(np.unique(pairs.evaluator))
    n, totals, own, half_hits = (
        _own(counts, pairs.cells, score_ties)
        if weights is None
        else _own_weighted(pairs, weight, score_ties)
    )
    return Sharing(
        cells=pairs.cells,
        trials=n,
        hits=totals,
        dependent=dependent,
        own=own,
        half_hits=half_hits,
        effective_items=evenness(n, np.diag(items)),
        touching=touching,
        n_clusters=n_clusters,
    )


def independent_judgments(counts: PairCounts, *, score_ties: str = "disagree") -> Sharing:
    """Sum up judged pairs that share nothing."""
    cells = tuple(counts)
    n, hits, own, half_hits = _own(counts, cells, score_ties)
    return Sharing(
        cells=cells,
        trials=n,
        hits=hits,
        dependent=own,
        own=own,
        half_hits=half_hits,
        effective_items=2 * n,
        method="score z, independent pairs",
    )


def evenness(trials: NDArray[np.float64], squared_uses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many evenly used items each cell is worth; every judgment uses two.

    Parameters
    ----------
    trials : ndarray, (n_cells,)
        Judgments by cell.
    squared_uses : ndarray
        Sum over items of their squared uses, by cell first.
    """
    squares = squared_uses[: len(trials)]
    return np.divide((2 * trials) ** 2, squares, out=np.zeros_like(trials), where=squares > 0)


def distinct_items(pairs: JudgedPairs) -> NDArray[np.float64]:
    """Return how many different items the judgments of each cell are about."""
    places = [pairs.cell * pairs.n_items + item for item in (pairs.better, pairs.worse)]
    used = np.unique(np.concatenate(places)) // max(pairs.n_items, 1)
    return np.bincount(used, minlength=len(pairs.cells)).astype(np.float64)


def subset(sharing: Sharing, codes: Sequence[int]) -> Sharing:
    """Keep the cells at the given positions."""
    chosen = np.asarray(codes, dtype=np.int64)
    block = np.ix_(*[np.concatenate([chosen, len(sharing.cells) + chosen])] * 2)
    return replace(
        sharing,
        cells=tuple(sharing.cells[code] for code in codes),
        trials=sharing.trials[chosen],
        hits=sharing.hits[chosen],
        dependent=sharing.dependent[block],
        own=sharing.own[block],
        touching=None if sharing.touching is None else sharing.touching[block],
        half_hits=sharing.half_hits[chosen],
        effective_items=sharing.effective_items[chosen],
    )


def _own(
    counts: PairCounts | SharedPairCounts, cells: tuple[Cell, ...], score_ties: str
) -> tuple[NDArray[np.float64], ...]:
    """Return trials and hits by cell, the moments of single judgments, and hits that are half."""
    tie = TIE_VALUE[score_ties]
    tallies = [counts[cell] for cell in cells]
    n = np.array([tally.trials for tally in tallies], dtype=np.float64)
    ties = np.array([tally.ties for tally in tallies], dtype=np.float64)
    hits = np.array([tally.hits for tally in tallies], dtype=np.float64)
    total, squares = hits + tie * ties, hits + tie**2 * ties
    own = np.block([[np.diag(n), np.diag(total)], [np.diag(total), np.diag(squares)]])
    return n, total, own, ties if tie else np.zeros_like(ties)


def _held(
    pairs: JudgedPairs, weights: NDArray[np.float64] | None
) -> tuple[JudgedPairs, NDArray[np.float64]]:
    """Return the rows that weigh something, and their weights."""
    if weights is None:
        return pairs, np.ones(len(pairs))
    held = weights > 0
    evaluator = None if pairs.evaluator is None else pairs.evaluator[held]
    names = ("better", "worse", "cell", "order", "trials")
    kept = {name: getattr(pairs, name)[held] for name in names}
    return replace(pairs, evaluator=evaluator, **kept), weights[held]


def _own_weighted(
    pairs: JudgedPairs, weight: NDArray[np.float64], score_ties: str
) -> tuple[NDArray[np.float64], ...]:
    """Return what :func:`_own` does, from the weights of the rows and their squares."""
    tie, codes = TIE_VALUE[score_ties], 3 * pairs.cell + pairs.order + 1

    def by_order(amount: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        table = np.bincount(codes, amount, 3 * len(pairs.cells)).reshape(-1, 3).astype(np.float64)
        return [table.sum(axis=1), table[:, 2], table[:, 1]]

    n, hits, ties = by_order(pairs.trials * weight)
    squares, hit_squares, tie_squares = by_order(pairs.trials * weight**2)
    cross = np.diag(hit_squares + tie * tie_squares)
    both = np.diag(hit_squares + tie**2 * tie_squares)
    own = np.block([[np.diag(squares), cross], [cross, both]])
    return n, hits + tie * ties, own, ties if tie else np.zeros_like(ties)


def _within_evaluators(
    pairs: JudgedPairs,
    same_pair: NDArray[np.int64],
    trials: NDArray[np.float64],
    hits: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum over judgments that share an item and were made by the same evaluator."""
    keys = np.concatenate([pairs.better, pairs.worse])
    size = len(pairs.cells)
    cell, n, s = np.tile(pairs.cell, 2), np.tile(trials, 2), np.tile(hits, 2)
    items = moments_by_key(_by_evaluator(pairs, keys), cell, n, s, size)
    same = _by_evaluator(pairs, same_pair)
    return items - moments_by_key(same, pairs.cell, trials, hits, size)


def _by_evaluator(pairs: JudgedPairs, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number for each evaluator and key."""
    assert pairs.evaluator is not None
    evaluator = np.resize(pairs.evaluator, len(keys)).astype(np.int64)
    if int(keys.max(initial=0)) >= 2**62 // max(len(pairs.evaluators), 1):
        # Number the keys first where the product would not fit into 63 bits.
        keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return keys * len(pairs.evaluators) + evaluator
