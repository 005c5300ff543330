"""A part of the judged pairs that shares nothing, chosen without looking at judgments.

Question: which judged pairs can be used so that no item, and no evaluator, occurs twice? On such
pairs the tests of independent proportions are right whatever the sharing was, at the price of
leaving the other pairs out.

Pairs of items are chosen, not judgments: which of the two was put first, and whether the model
agrees, plays no part, and neither does how often a pair was judged. The choice is greedy, hence
maximal (no pair could be added), and takes the combinations of groups in turns, always the one
that has the fewest pairs for each of its cells: whatever runs out first, items or evaluators, no
cell is left empty that need not be. Of the judgments of a chosen pair one is then drawn at random.
(Choosing judgments would be wrong: a pair judged both ways would enter the way the rarer cell
wants it.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import Tally
from comparity.counts.pairs import Cell, JudgedPairs, PairCounts, SharedPairCounts

__all__ = ["disjoint_pairs"]

GroupPair = frozenset[str]


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
    kept = _greedy(pairs, _queues(pairs, rng))
    cells: dict[Cell, Tally] = {}
    for code, cell in enumerate(pairs.cells):
        order = pairs.order[kept[pairs.cell[kept] == code]]
        cells[cell] = Tally(int((order > 0).sum()), len(order), int((order == 0).sum()))
    return PairCounts(cells, counts.judgment_ties)


def _queues(pairs: JudgedPairs, rng: np.random.Generator) -> dict[GroupPair, list[int]]:
    """Return the rows of each pair of groups: pairs at random, judgments of a pair at random."""
    low, high = np.minimum(pairs.better, pairs.worse), np.maximum(pairs.better, pairs.worse)
    _, first, pair = np.unique(low * pairs.n_items + high, return_index=True, return_inverse=True)
    # A row judged n times comes first among the rows of its pair with a chance of n to all:
    # the smallest of exponential waiting times with rates n.
    waiting = rng.exponential(size=len(pairs)) / pairs.trials
    sequence = np.lexsort((waiting, rng.random(len(first))[pair]))
    kinds = [frozenset(cell) for cell in pairs.cells]
    queues: dict[GroupPair, list[int]] = {kind: [] for kind in kinds}
    for row in sequence.tolist():
        queues[kinds[pairs.cell[row]]].append(row)
    return queues


def _greedy(pairs: JudgedPairs, queues: dict[GroupPair, list[int]]) -> NDArray[np.int64]:
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
    """Which items and evaluators have not been used.

    Parameters
    ----------
    pairs : JudgedPairs
    """

    def __init__(self, pairs: JudgedPairs) -> None:
        self._items = np.column_stack([pairs.better, pairs.worse]).tolist()
        self._evaluators = None if pairs.evaluator is None else pairs.evaluator.tolist()
        self._used: set[int] = set()
        self._heard: set[int] = set()

    def is_free(self, row: int) -> bool:
        """Return whether no item and no evaluator of a row was used."""
        heard = self._evaluators is not None and self._evaluators[row] in self._heard
        return not heard and self._used.isdisjoint(self._items[row])

    def use(self, row: int) -> None:
        """Use the items and the evaluator of a row."""
        self._used.update(self._items[row])
        if self._evaluators is not None:
            self._heard.add(self._evaluators[row])
