"""Power by definition: literal formulas, and studies drawn row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell

Rates = NDArray[np.float64]
CELLS = tuple(Cell(better, worse) for better in "01" for worse in "01")


def type_two_error(p: float, q: float, n: float, m: float, alpha: float) -> float:
    """Equations (25) and (26) of Xi et al., with the quantile of `alpha` for 1.96."""
    mu = p - q
    sigma = np.sqrt(p * (1 - p) / n + q * (1 - q) / m)
    critical = norm.ppf(1 - alpha / 2) * sigma
    return float(norm.cdf(critical, mu, sigma) - norm.cdf(-critical, mu, sigma))


def rates_in_fixed_cells(
    rng: np.random.Generator,
    tpr: tuple[float, ...],
    tnr: tuple[float, ...],
    positives: tuple[int, ...],
    negatives: tuple[int, ...],
    judgments: int,
) -> Rates:
    """Draw whether the model is right about each item, then `judgments` pairs for every cell."""
    right_positive = [rng.random(n) < rate for n, rate in zip(positives, tpr, strict=True)]
    right_negative = [rng.random(n) < rate for n, rate in zip(negatives, tnr, strict=True)]
    rates = np.empty((len(tpr), len(tnr)))
    for a, better in enumerate(right_positive):
        for b, worse in enumerate(right_negative):
            i = rng.integers(len(better), size=judgments)
            j = rng.integers(len(worse), size=judgments)
            rates[a, b] = np.mean(better[i] & worse[j])
    return rates


def rates_of_random_pairs(
    rng: np.random.Generator,
    tpr: tuple[float, ...],
    tnr: tuple[float, ...],
    shares: tuple[float, ...],
    base_rates: tuple[float, ...],
    n_items: int,
    n_pairs: int,
) -> Rates:
    """Draw items, then pairs of two different items among them, and count every cell."""
    group = rng.choice(len(shares), n_items, p=shares)
    label = rng.random(n_items) < np.array(base_rates)[group]
    right = rng.random(n_items) < np.where(label, np.array(tpr)[group], np.array(tnr)[group])
    first = rng.integers(n_items, size=n_pairs)
    second = (first + rng.integers(1, n_items, size=n_pairs)) % n_items
    better = np.where(label[first], first, second)
    worse = np.where(label[first], second, first)
    ordered = label[better] & ~label[worse]
    agree = right[better] & right[worse]
    cells = [
        [ordered & (group[better] == a) & (group[worse] == b) for b in range(len(shares))]
        for a in range(len(shares))
    ]
    return np.array([[agree[cell].mean() for cell in row] for row in cells])


def gap_with_evaluators(
    rng: np.random.Generator, rate: float, n_evaluators: int, lean: float, judgments: int
) -> float:
    """Draw evaluators who raise one cell and lower its mirror, and return the across gap."""
    leans = rng.normal(0, lean / 2, n_evaluators)
    in_cell = leans[rng.integers(n_evaluators, size=judgments)]
    in_mirror = leans[rng.integers(n_evaluators, size=judgments)]
    agree = rng.random(judgments) < rate + in_cell
    mirror = rng.random(judgments) < rate - in_mirror
    return float(agree.mean() - mirror.mean())


def study_with_evaluators(
    rng: np.random.Generator,
    tpr: tuple[float, float],
    tnr: tuple[float, float],
    shares: tuple[float, float],
    base_rates: tuple[float, float],
    n_pairs: int,
    n_items: int | None,
    n_evaluators: int,
    lean: float,
) -> JudgedPairs:
    """Draw items, pairs, and evaluators who turn some agreements round, judging equal shares."""
    total = n_items or 2 * n_pairs
    group = rng.choice(2, total, p=shares)
    label = rng.random(total) < np.array(base_rates)[group]
    right = rng.random(total) < np.where(label, np.array(tpr)[group], np.array(tnr)[group])
    first = rng.integers(total, size=n_pairs) if n_items else np.arange(n_pairs)
    apart = rng.integers(1, total, size=n_pairs) if n_items else n_pairs
    second = (first + apart) % total
    evaluator = rng.permutation(n_pairs) % n_evaluators
    ordered = label[first] != label[second]
    better, worse = np.where(label[first], [first, second], [second, first])[:, ordered]
    evaluator = evaluator[ordered]
    # The lean is added to the agreement in cell (0, 1) and taken off in cell (1, 0).
    added = rng.normal(0, lean / 2, n_evaluators)[evaluator] * (group[worse] - group[better])
    rate = np.outer(tpr, tnr)[group[better], group[worse]]
    kept, gained = 1 - np.maximum(-added, 0) / rate, np.maximum(added, 0) / (1 - rate)
    agree = rng.random(len(better)) < np.where(right[better] & right[worse], kept, gained)
    return JudgedPairs(
        better=better,
        worse=worse,
        evaluator=evaluator,
        cell=2 * group[better] + group[worse],
        order=np.where(agree, 1, -1).astype(np.int8),
        trials=np.ones(len(better), dtype=np.int64),
        cells=CELLS,
        evaluators=tuple(f"e{k}" for k in range(n_evaluators)),
        n_items=total,
    )


def decisions_violate(
    rng: np.random.Generator,
    tpr: tuple[float, float],
    fpr: tuple[float, float],
    base_rates: tuple[float, float],
    n: int,
) -> bool:
    """Draw decisions about two groups of equal size one by one, and test both rates at 0.05."""
    group = rng.integers(2, size=n)
    label = rng.random(n) < np.array(base_rates)[group]
    rate = np.where(label, np.array(tpr)[group], np.array(fpr)[group])
    predicted = rng.random(n) < rate
    masks = [[(group == a) & (label == y) for a in (0, 1)] for y in (True, False)]
    return any(_differ(predicted[first], predicted[second]) for first, second in masks)


def pairs_violate(
    rng: np.random.Generator,
    tpr: tuple[float, float],
    tnr: tuple[float, float],
    base_rates: tuple[float, float],
    n_pairs: int,
) -> bool:
    """Draw two fresh items for every pair, and test both hypotheses at 0.05."""
    group = rng.integers(2, size=(2, n_pairs))
    label = rng.random((2, n_pairs)) < np.array(base_rates)[group]
    right = rng.random((2, n_pairs)) < np.where(label, np.array(tpr)[group], np.array(tnr)[group])
    ordered = label[0] != label[1]
    agree = right[0] & right[1]
    better = np.where(label[0], group[0], group[1])
    worse = np.where(label[0], group[1], group[0])
    cells = {(a, b): ordered & (better == a) & (worse == b) for a in (0, 1) for b in (0, 1)}
    across = _differ(agree[cells[0, 1]], agree[cells[1, 0]])
    within = _differ(agree[cells[0, 0]], agree[cells[1, 1]])
    return across or within


def _differ(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> bool:
    p, q = first.mean(), second.mean()
    error = np.sqrt(p * (1 - p) / len(first) + q * (1 - q) / len(second))
    return bool(abs(p - q) > 1.959963984540054 * error)
