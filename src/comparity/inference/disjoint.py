"""A part of the judged pairs that shares nothing, chosen without looking at agreement.

Question: which judged pairs can be used so that no item, and no evaluator, occurs twice? On such
pairs the tests of independent proportions are right whatever the sharing was, at the price of
leaving the other pairs out. The choice is greedy, hence maximal (no pair could be added), and
starts with the rarest cells so that these keep as many pairs as they can; the model's scores play
no part in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts import Cell, PairCounts, SharedPairCounts, Tally

__all__ = ["disjoint_pairs"]


def disjoint_pairs(counts: SharedPairCounts, *, rng: np.random.Generator) -> PairCounts:
    """Keep a maximal set of judged pairs in which no item and no evaluator occurs twice.

    Parameters
    ----------
    counts : SharedPairCounts
        Judged pairs that share items or evaluators.
    rng : numpy.random.Generator
        Breaks ties between pairs of the same cell.

    Returns
    -------
    PairCounts
        Each kept pair counts once, however often it was judged.
    """
    pairs = counts.pairs
    by_cell = np.bincount(pairs.cell, pairs.trials, len(pairs.cells))
    sequence = np.lexsort((rng.random(len(pairs)), by_cell[pairs.cell]))
    kept = _greedy(pairs.better, pairs.worse, pairs.evaluator, sequence)
    cells: dict[Cell, Tally] = {}
    for code, cell in enumerate(pairs.cells):
        order = pairs.order[kept[pairs.cell[kept] == code]]
        cells[cell] = Tally(int((order > 0).sum()), len(order), int((order == 0).sum()))
    return PairCounts(cells, counts.judgment_ties)


def _greedy(
    better: NDArray[np.int64],
    worse: NDArray[np.int64],
    evaluator: NDArray[np.int64] | None,
    sequence: NDArray[np.int64],
) -> NDArray[np.int64]:
    used_items: set[int] = set()
    used_evaluators: set[int] = set()
    kept = []
    judges = [-1] * len(better) if evaluator is None else evaluator.tolist()
    first, second = better.tolist(), worse.tolist()
    for row in sequence.tolist():
        items = (first[row], second[row])
        if used_items.isdisjoint(items) and judges[row] not in used_evaluators:
            kept.append(row)
            used_items.update(items)
            if evaluator is not None:
                used_evaluators.add(judges[row])
    return np.array(kept, dtype=np.int64)
