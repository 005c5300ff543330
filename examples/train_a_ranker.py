"""Train a ranker that treats two groups alike, and see what that costs.

Candidates for a post have two test scores. The first was made with one group in mind: it is good
for that group and misleading for the other. A ranker that only counts right orders leans on it;
one that is trained for cross-group parity leans on the second. Both are audited on candidates that
neither saw, and the curve of what parity costs is drawn to ``trade_off.png`` where asked for.

Run as ``python examples/train_a_ranker.py [PICTURE [SCORER]]``; the scorer is linear, neural or
boosted, the last two with the extras ``torch`` and ``boosting``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from comparity import FairRanker, pairwise_accuracy
from comparity.training.rankers import trade_off

QUERIES = 1500
CANDIDATES = 10
SLACKS = (0.01, 0.05, 0.1, 0.2, 0.4)

World = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.str_], NDArray[np.int64]]


def world(queries: int, rng: np.random.Generator) -> World:
    """Return test scores, fitness for the post, group and post of each candidate."""
    n = queries * CANDIDATES
    group = rng.choice(["home", "away"], n, p=[0.8, 0.2])
    fit = (rng.random(n) < 0.3).astype(np.int64)
    home = group == "home"
    first = np.where(home, 2.0 * fit, 0.5 * fit - 1.0) + rng.normal(size=n)
    second = 1.2 * fit + rng.normal(size=n)
    return np.column_stack([first, second]), fit, group, np.repeat(np.arange(queries), CANDIDATES)


def main(
    picture: str = "", scorer: str = "linear", *, queries: int = QUERIES, steps: int = 300
) -> None:
    """Print both audits and the trade-off."""
    rng = np.random.default_rng(20260131)
    X, fit, group, post = world(queries, rng)
    new_X, new_fit, new_group, new_post = world(queries, rng)
    for goal in (None, "cross-group"):
        ranker = FairRanker(scorer=scorer, goal=goal, slack=0.02, steps=steps, random_state=0)
        ranker.fit(X, fit, sensitive_features=group, queries=post)
        audit = pairwise_accuracy(
            new_fit, ranker.predict(new_X), sensitive_features=new_group, queries=new_post
        )
        weights = f", weights of the tests {ranker.coef_.round(2)}" if scorer == "linear" else ""
        print(f"goal: {goal or 'none'}{weights}")
        print(f"  accuracy {audit.overall:.3f}, cross-group: {audit.finding}")
        for test in audit.tests[:1]:
            print(f"  {test.null}: gap {test.gap:+.3f}")
    print()
    print(ranker.training_)
    curve = trade_off(ranker, X, fit, sensitive_features=group, queries=post, slacks=SLACKS)
    print()
    print(curve)
    if picture:
        curve.plot().figure.savefig(Path(picture))


if __name__ == "__main__":
    main(*sys.argv[1:])
