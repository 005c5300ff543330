"""A part of the judged pairs that shares nothing, chosen without looking at judgments.

Question: which judged pairs can be used so that no item, and no evaluator, occurs twice? On such
pairs the tests of independent proportions are right whatever the sharing was, at the price of
leaving the other pairs out.

Pairs of items are chosen, not judgments: which of the two was put first, and whether the model
agrees, plays no part, and neither does how often a pair was judged. The choice is greedy, hence
maximal (no pair could be added), and starts with the rarest combinations of groups so that these
keep as many pairs as they can. Of the judgments of a chosen pair one is then drawn at random.
(Choosing judgments would be wrong: a pair judged both ways would enter the way the rarer cell
wants it.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts import Cell, JudgedPairs, PairCounts, SharedPairCounts, Tally

__all__ = ["disjoint_pairs"]


def disjoint_pairs(counts: SharedPairCounts, *, rng: np.random.Generator) -> PairCounts:
    """Keep a maximal set of pairs in which no item and no evaluator occurs twice.

    Parameters
    ----------
    counts : SharedPairCounts
        Judged pairs that share items or evaluators.
    rng : numpy.random.Generator
        Draws the order of pairs of the same groups, and one judgment of each chosen pair.

    Returns
    -------
    PairCounts
        One judgment for each pair that was kept.
    """
    pairs = counts.pairs
    kept = _greedy(pairs, _sequence(pairs, rng))
    cells: dict[Cell, Tally] = {}
    for code, cell in enumerate(pairs.cells):
        order = pairs.order[kept[pairs.cell[kept] == code]]
        cells[cell] = Tally(int((order > 0).sum()), len(order), int((order == 0).sum()))
    return PairCounts(cells, counts.judgment_ties)


def _sequence(pairs: JudgedPairs, rng: np.random.Generator) -> NDArray[np.int64]:
    """Order the rows: rare groups first, pairs at random, the judgments of a pair at random."""
    low, high = np.minimum(pairs.better, pairs.worse), np.maximum(pairs.better, pairs.worse)
    key = low * pairs.n_items + high
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    groups = [tuple(sorted(cell)) for cell in pairs.cells]
    kinds = {kind: code for code, kind in enumerate(dict.fromkeys(groups))}
    kind = np.array([kinds[group] for group in groups], dtype=np.int64)[pairs.cell]
    rarity = np.bincount(kind[first], minlength=len(kinds))[kind]
    # A row judged n times comes first among the rows of its pair with a chance of n to all:
    # the smallest of exponential waiting times with rates n.
    waiting = rng.exponential(size=len(pairs)) / pairs.trials
    return np.lexsort((waiting, rng.random(len(first))[pair], rarity))


def _greedy(pairs: JudgedPairs, sequence: NDArray[np.int64]) -> NDArray[np.int64]:
    used_items: set[int] = set()
    used_evaluators: set[int] = set()
    kept = []
    judges = [-1] * len(pairs) if pairs.evaluator is None else pairs.evaluator.tolist()
    first, second = pairs.better.tolist(), pairs.worse.tolist()
    for row in sequence.tolist():
        items = (first[row], second[row])
        if used_items.isdisjoint(items) and judges[row] not in used_evaluators:
            kept.append(row)
            used_items.update(items)
            if pairs.evaluator is not None:
                used_evaluators.add(judges[row])
    return np.array(kept, dtype=np.int64)
