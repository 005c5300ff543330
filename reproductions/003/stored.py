"""The very panels behind the stored numbers of Figure 2, drawn again from their seeds.

The authors keep one vector of scores and draw five panels for every point. Their notebook seeds the
scores with 30 as it stands, which are the scores of Figure 3, left; with 42 all stored numbers come
out, from the seed 43 for the panels that the notebook names. The stored numbers of FA*IR come
out at level 0.1, not at the 0.15 that the notebook names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from comparity.datasets.simulated_panels import SimulatedPanel

__all__ = ["FAIR_TOP_K", "GROUPS", "SCORES", "SCORES_OF_FIGURE_3", "stored_panels"]

SCORES: NDArray[np.float64] = np.random.RandomState(42).normal(0, 5, 100)
"""Quality of the items in every panel of Figure 2; the last 30 are of the second group."""
SCORES_OF_FIGURE_3: NDArray[np.float64] = np.random.RandomState(30).normal(0, 5, 100)
GROUPS = {"group": ["a"] * 70 + ["b"] * 30}
FAIR_TOP_K = {"protected": "a", "p": 0.7, "alpha": 0.1}
"""Whom FA*IR protects in Figure 2: the majority."""

EVALUATORS, PAIRS, REPETITIONS = 50, 100, 5
SEED = 43


def stored_panels(laws: Sequence[tuple[float, float]]) -> Iterator[tuple[int, SimulatedPanel]]:
    """Draw five panels for every point of one side of the figure, in the authors' order.

    Parameters
    ----------
    laws : sequence of (float, float)
        Mean and standard deviation of biases at each point.

    Yields
    ------
    point : int
        Position in `laws`.
    panel : SimulatedPanel
    """
    rng = np.random.RandomState(SEED)
    for _ in range(REPETITIONS):
        for point, (mean, spread) in enumerate(laws):
            yield point, _panel(rng.normal(mean, spread, EVALUATORS), rng)


def _panel(bias: NDArray[np.float64], rng: np.random.RandomState) -> SimulatedPanel:
    group = np.array(GROUPS["group"])
    evaluator = np.repeat(np.arange(EVALUATORS), PAIRS)
    shown = np.empty((len(evaluator), 2), dtype=np.int64)
    chance = np.empty(len(evaluator))
    # Two numbers are drawn for one pair after the other: the items, then who wins.
    for row in range(len(evaluator)):
        shown[row] = rng.permutation(len(SCORES))[:2]
        chance[row] = rng.random_sample()
    seen = SCORES[shown] + bias[evaluator, None] * (group[shown] == "b")
    lost = chance >= 1 / (1 + np.exp(seen[:, 1] - seen[:, 0]))
    return SimulatedPanel(
        comparisons=np.where(lost[:, None], shown[:, ::-1], shown),
        evaluators=evaluator,
        ties=np.zeros(len(evaluator), dtype=bool),
        seats=np.where(lost, -1, 1),
        scores=SCORES,
        groups={"group": group},
        bias_names=("group",),
        bias=bias[:, None],
    )
