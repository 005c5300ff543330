"""Worlds with a known truth, to see whether error rates are as promised.

The classifiers are those of Xi et al., "Comparative Separation", Table 1: f0 satisfies separation,
f1, f2 and f3 do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell, PairCounts, Tally

# P(C, Y, A) for (C, Y, A) = 111, 011, 101, 001, 110, 010, 100, 000.
TABLE_1 = {
    "f0": (0.220, 0.055, 0.090, 0.135, 0.180, 0.045, 0.110, 0.165),
    "f1": (0.220, 0.055, 0.081, 0.144, 0.180, 0.045, 0.121, 0.154),
    "f2": (0.231, 0.044, 0.081, 0.144, 0.171, 0.054, 0.121, 0.154),
    "f3": (0.230, 0.045, 0.105, 0.120, 0.200, 0.025, 0.100, 0.175),
}
DECISION, LABEL, GROUP = np.array(
    [[int(c) for c in kind] for kind in ("111", "011", "101", "001", "110", "010", "100", "000")]
).T
CELLS = tuple(Cell(better, worse) for better in "01" for worse in "01")

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def agreement(classifier: str, cell: Cell) -> float:
    """Equation (9): a pair is ordered rightly when both its items are."""
    share = np.array(TABLE_1[classifier])
    positive = (int(cell.better) == GROUP) & (LABEL == 1)
    negative = (int(cell.worse) == GROUP) & (LABEL == 0)
    tpr = share[positive & (DECISION == 1)].sum() / share[positive].sum()
    tnr = share[negative & (DECISION == 0)].sum() / share[negative].sum()
    return float(tpr * tnr)


def random_pairs(n_items: int, n_pairs: int, rng: np.random.Generator) -> Pairs:
    """Two different items, drawn at random; items and pairs may repeat."""
    first = rng.integers(0, n_items, n_pairs)
    return first, (first + rng.integers(1, n_items, n_pairs)) % n_items


def every_pair(n_items: int, n_pairs: int, rng: np.random.Generator) -> Pairs:
    """All pairs of items, each once."""
    first, second = np.triu_indices(n_items, 1)
    return first, second


def pairs_judged_four_times(n_items: int, n_pairs: int, rng: np.random.Generator) -> Pairs:
    first, second = random_pairs(n_items, n_pairs // 4, rng)
    return np.repeat(first, 4), np.repeat(second, 4)


class People:
    """Items drawn from Table 1, and their judged pairs; judges know the label."""

    def __init__(self, classifier: str, n_items: int, rng: np.random.Generator) -> None:
        kind = rng.choice(8, n_items, p=TABLE_1[classifier])
        self.decision, self.label, self.group = DECISION[kind], LABEL[kind], GROUP[kind]

    def judge(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> JudgedPairs:
        ordered = self.label[first] != self.label[second]
        first, second = first[ordered], second[ordered]
        swap = self.label[first] < self.label[second]
        better, worse = np.where(swap, second, first), np.where(swap, first, second)
        return JudgedPairs(
            better=better,
            worse=worse,
            evaluator=None,
            cell=2 * self.group[better] + self.group[worse],
            order=np.sign(self.decision[better] - self.decision[worse]).astype(np.int8),
            trials=np.ones(len(better), dtype=np.int64),
            cells=CELLS,
            n_items=len(self.label),
        )


def fresh_pairs(classifier: str, n_pairs: int, rng: np.random.Generator) -> PairCounts:
    """Pairs made of new people each time."""
    people = People(classifier, 2 * n_pairs, rng)
    counts = people.judge(np.arange(n_pairs), np.arange(n_pairs, 2 * n_pairs))
    return counts.fresh_counts()


def hard_items(
    *,
    minority: float,
    log_odds: float,
    n_items: int,
    n_pairs: int,
    rng: np.random.Generator,
    hub: float = 0.0,
) -> JudgedPairs:
    """Pairs whose agreement has the log odds given plus the hardness of both items.

    `minority` is the share of group 1. With `hub`, the first item is one of that share of pairs.
    """
    group = (rng.random(n_items) < minority).astype(np.int64)
    hardness = rng.normal(0, 0.5, n_items)
    better, worse = random_pairs(n_items, n_pairs, rng)
    against_hub, wins = rng.random((2, n_pairs)) < [[hub], [0.5]]
    other = rng.integers(1, n_items, n_pairs)
    better = np.where(against_hub, np.where(wins, 0, other), better)
    worse = np.where(against_hub, np.where(wins, other, 0), worse)
    agrees = rng.random(n_pairs) < 1 / (1 + np.exp(-log_odds - hardness[better] - hardness[worse]))
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=2 * group[better] + group[worse],
        order=np.where(agrees, 1, -1).astype(np.int8),
        trials=np.ones(n_pairs, dtype=np.int64),
        cells=CELLS,
        n_items=n_items,
    )


def leaning_panel(
    n_evaluators: int, rng: np.random.Generator, *, n_items: int = 200, n_pairs: int = 1000
) -> JudgedPairs:
    """A panel whose members lean to either group, but not all in one direction.

    Agreement has the log odds 0.5 + x_better + x_worse + lean, the lean added where the better
    item is of group 1 and the worse of group 0, taken off in the opposite cell; leans are centred
    at zero, so agreement is equal in all cells on average over evaluators.
    """
    group = rng.integers(0, 2, n_items)
    hardness = rng.normal(0, 0.5, n_items)
    lean = rng.normal(0, 0.5, n_evaluators)
    better, worse = random_pairs(n_items, n_pairs, rng)
    evaluator = rng.integers(0, n_evaluators, n_pairs)
    return _judged_by(evaluator, lean, (better, worse), group, hardness, rng)


def _judged_by(
    evaluator: NDArray[np.int64],
    lean: NDArray[np.float64],
    pairs: Pairs,
    group: NDArray[np.int64],
    hardness: NDArray[np.float64],
    rng: np.random.Generator,
) -> JudgedPairs:
    """Let evaluators who lean judge pairs of items that are unequally hard."""
    better, worse = pairs
    side = group[better] - group[worse]
    logit = 0.5 + hardness[better] + hardness[worse] + side * lean[evaluator]
    agrees = rng.random(len(better)) < 1 / (1 + np.exp(-logit))
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=evaluator,
        cell=2 * group[better] + group[worse],
        order=np.where(agrees, 1, -1).astype(np.int8),
        trials=np.ones(len(better), dtype=np.int64),
        cells=CELLS,
        evaluators=tuple(f"e{k:02}" for k in range(len(lean))),
        n_items=len(group),
    )


def tally_of(rate: float, trials: int, rng: np.random.Generator) -> Tally:
    return Tally(int(rng.binomial(trials, rate)), trials)


def opinionated_panel(
    n_evaluators: int,
    rng: np.random.Generator,
    *,
    leans: str = "normal",
    uneven: bool = False,
    n_items: int | None = 150,
    n_pairs: int = 600,
) -> JudgedPairs:
    """A panel that knows no group on average, whose members lean in one of several ways.

    Agreement has the log odds 0.5 + x_better + x_worse + lean, as in :func:`leaning_panel`. Leans
    are zero ("none"), normal, or plus or minus 0.8 ("camps"); uneven evaluators judge shares as
    1, 1/2, 1/3, ... Without a number of items every pair is made of new ones.
    """
    shares = 1 / np.arange(1, n_evaluators + 1) if uneven else np.ones(n_evaluators)
    signs = rng.choice([-1.0, 1.0], n_evaluators)
    lean = {
        "none": np.zeros(n_evaluators),
        "normal": rng.normal(0, 0.8, n_evaluators),
        "camps": 0.8 * signs,
    }[leans]
    size = n_items or 2 * n_pairs
    group, hardness = rng.integers(0, 2, size), rng.normal(0, 0.7, size)
    better, worse = np.arange(n_pairs), np.arange(n_pairs, 2 * n_pairs)
    if n_items:
        better, worse = random_pairs(n_items, n_pairs, rng)
    evaluator = rng.choice(n_evaluators, n_pairs, p=shares / shares.sum())
    return _judged_by(evaluator, lean, (better, worse), group, hardness, rng)
