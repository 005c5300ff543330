"""Learn a ranking from comparisons alone, without a single label, and treat two groups alike.

Essays have two features, a grammar score that favours native speakers and a measure of argument.
Twelve teachers compared pairs of essays: which is better? Most of them lean toward native speakers.
Three scores are learned from their judgments: without a goal, with equal agreement across groups,
and with the teachers' leans taken out as well. All are measured against what teachers without a
lean say of other essays.

Run as ``python examples/learn_from_comparisons.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity import ComparisonRanker

ESSAYS, JUDGMENTS, TEACHERS = 400, 6000, 12
LEAN = 1.0

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def essays(n: int, rng: np.random.Generator) -> tuple[Floats, Codes, Floats]:
    """Return features, groups (1 for native speakers) and quality, which is alike in both."""
    native, quality = rng.integers(0, 2, n), 1.5 * rng.normal(size=n)
    grammar = quality + 1.2 * native + rng.normal(size=n)
    argument = quality + 1.2 * rng.normal(size=n)
    return np.column_stack([grammar, argument]), native, quality


def judge(seen: Floats, rng: np.random.Generator) -> Codes:
    """Compare two essays for each row of what a teacher sees in all of them; better one first."""
    m, n = seen.shape
    first = rng.integers(0, n, m)
    pairs = np.column_stack([first, (first + rng.integers(1, n, m)) % n])
    worth = np.take_along_axis(seen, pairs, axis=1) + rng.gumbel(size=(m, 2))
    return np.where((worth[:, :1] > worth[:, 1:]), pairs, pairs[:, ::-1])


def agreement(scores: Floats, pairs: Codes, native: Codes) -> dict[str, float]:
    """Return how often scores agree with judgments: overall, and in both directions across."""
    right, (better, worse) = scores[pairs[:, 0]] > scores[pairs[:, 1]], native[pairs].T
    up, down = (right[(better == g) & (worse == 1 - g)].mean() for g in (1, 0))
    return {"all": right.mean(), "native better": up, "other better": down}


def main(seed: int = 0) -> dict[str, dict[str, float]]:
    """Learn three scores and print what they come to."""
    rng = np.random.default_rng(seed)
    X, native, quality = essays(ESSAYS, rng)
    teacher = rng.integers(0, TEACHERS, JUDGMENTS)
    lean = np.where(np.arange(TEACHERS) % 4 == 0, 0.0, LEAN)[teacher]
    pairs = judge(quality + lean[:, None] * native, rng)
    fresh_X, fresh_native, fresh_quality = essays(2000, rng)
    truth = judge(np.broadcast_to(fresh_quality, (50_000, 2000)), rng)
    rankers = {
        "no goal": ComparisonRanker(goal=None),
        "cross-group": ComparisonRanker(slack=0.01, steps=200, random_state=seed),
        "cross-group, leans taken out": ComparisonRanker(
            slack=0.01, steps=200, random_state=seed, adjust_judges=True
        ),
    }
    found = {}
    for name, ranker in rankers.items():
        ranker.fit(X, pairs, sensitive_features=native, evaluators=teacher)
        found[name] = agreement(ranker.predict(fresh_X), truth, fresh_native)
        rates = ", ".join(f"{what} {rate:.3f}" for what, rate in found[name].items())
        print(f"{name:30} {rates}")
    return found


if __name__ == "__main__":
    main()
