"""The very panels behind the stored numbers, drawn again from their seeds.

NumPy's legacy generator draws them, in the order of the authors' notebooks:

=============== =========================== ======================================================
figure          scores                      panels
=============== =========================== ======================================================
2               seed 42 (the notebook as it seed 43, five of each point; FA*IR at level 0.1, where
                stands has 30)              the notebook names 0.15
3, right        seed 44, then biases        the same, going on
4, left         seed 40                     seed 40 again, cell after cell
4, right        seed 42, drawn anew for     the same, going on; five of each point
                each panel
6               seed 43                     groups by seed 45; biases and pairs by seed 38
10              seed 43, then biases        the same, going on; ten of each kind
=============== =========================== ======================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from comparity.datasets.simulated_panels import SimulatedPanel

__all__ = [
    "EVALUATORS",
    "FAIR_TOP_K",
    "GROUPS",
    "PAIRS",
    "SCORES",
    "SCORES_OF_FIGURE_3",
    "SCORE_SPREADS",
    "panel_of_figure_3",
    "panel_of_figure_6",
    "panels_of_figure_4_left",
    "panels_of_figure_4_right",
    "panels_of_figure_10",
    "stored_panels",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCORES: Floats = np.random.RandomState(42).normal(0, 5, 100)
"""Quality of the items in every panel of Figure 2; the last 30 are of the second group."""
SCORES_OF_FIGURE_3: Floats = np.random.RandomState(30).normal(0, 5, 100)
GROUPS = {"group": ["a"] * 70 + ["b"] * 30}
FAIR_TOP_K = {"protected": "a", "p": 0.7, "alpha": 0.1}
"""Whom FA*IR protects in Figure 2: the majority."""
EVALUATORS = (320, 160, 80, 40, 20, 10)
PAIRS = (10, 20, 40, 80, 160, 320)
"""Rows and columns of Figure 4, left."""
SCORE_SPREADS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Standard deviations of scores in Figure 4, right."""
BIASES_OF_FIGURE_4: dict[str, Callable[[float], float]] = {
    "0": lambda sd: 0.0,
    "1": lambda sd: 1.0,
    "a fifth of the SD": lambda sd: sd / 5,
    "the SD": lambda sd: sd,
}
"""What every evaluator adds there, given that standard deviation."""

PANEL = np.full(50, 100)
"""Most panels have 50 evaluators with 100 pairs each."""


def stored_panels(laws: Sequence[tuple[float, float]]) -> Iterator[tuple[int, SimulatedPanel]]:
    """Draw five panels for every point of one side of Figure 2, in the authors' order.

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
    rng = np.random.RandomState(43)
    for _ in range(5):
        for point, (mean, spread) in enumerate(laws):
            yield point, _panel(rng, SCORES, rng.normal(mean, spread, len(PANEL)), PANEL)


def panel_of_figure_3() -> SimulatedPanel:
    """Draw the one panel of Figure 3, right: scores and biases uniform on [-5, 5]."""
    rng = np.random.RandomState(44)
    scores, bias = rng.uniform(-5, 5, 100), rng.uniform(-5, 5, len(PANEL))
    return _panel(rng, scores, bias, PANEL)


def panels_of_figure_4_left() -> Iterator[tuple[int, int, SimulatedPanel]]:
    """Yield evaluators, pairs of each, and the one panel of that size; every bias is 2."""
    scores = np.random.RandomState(40).uniform(-5, 5, 100)
    rng = np.random.RandomState(40)
    for n in EVALUATORS:
        for pairs in PAIRS:
            yield n, pairs, _panel(rng, scores, np.full(n, 2.0), np.full(n, pairs))


def panels_of_figure_4_right() -> Iterator[tuple[str, float, SimulatedPanel]]:
    """Yield what every bias is, the SD of the scores, and five panels of each, in turn."""
    rng = np.random.RandomState(42)
    for law, size in BIASES_OF_FIGURE_4.items():
        for sd in SCORE_SPREADS * 5:
            scores = rng.normal(0, sd, 100)
            yield law, sd, _panel(rng, scores, np.full(len(PANEL), size(sd)), PANEL)


def panel_of_figure_6() -> SimulatedPanel:
    """Draw the one panel of Figure 6: two attributes with 30 items each, biases about -3 and -4."""
    rng = np.random.RandomState(45)
    columns = []
    for _ in range(2):
        column = np.repeat([1.0, 0.0], [30, 70])
        rng.shuffle(column)
        columns.append(column)
    scores = np.random.RandomState(43).normal(0, 5, 100)
    rng = np.random.RandomState(38)
    bias = np.column_stack([rng.normal(mean, 0.1, len(PANEL)) for mean in (-3, -4)])
    return _panel(rng, scores, bias, PANEL, dict(zip(("sex", "race"), columns, strict=True)))


def panels_of_figure_10() -> Iterator[tuple[str, SimulatedPanel]]:
    """Yield how pairs are spread over evaluators, and ten panels of each kind."""
    rng = np.random.RandomState(43)
    scores, bias = rng.normal(0, 5, 100), rng.normal(2, 2, len(PANEL))
    counts = {
        "equal": PANEL,
        "spread": np.tile(np.arange(10, 191, 20), 5),
        "extreme": np.tile([5, 195], 25),
    }
    for kind in ("poisson", *counts):
        for _ in range(10):
            n = rng.poisson(100, len(PANEL)) if kind == "poisson" else counts[kind]
            yield kind, _panel(rng, scores, bias, n)


def _panel(
    rng: np.random.RandomState,
    scores: Floats,
    bias: Floats,
    pairs: Ints,
    member: Mapping[str, Floats] | None = None,
) -> SimulatedPanel:
    """Draw what each evaluator says of their pairs.

    Parameters
    ----------
    rng : RandomState
        Where it stands; it goes on from there.
    scores : ndarray
        Quality of the items.
    bias : ndarray, (evaluators,) or (evaluators, attributes)
        What is added to items of the second group.
    pairs : ndarray of int
        How many pairs each evaluator judges.
    member : mapping of str to ndarray, optional
        1 for items of the second group, by attribute; the last 30 of one by default.
    """
    groups = member or {"group": np.repeat([0.0, 1.0], [70, 30])}
    lean = bias.reshape(len(bias), -1) @ np.array([*groups.values()])
    evaluator = np.repeat(np.arange(len(bias)), pairs)
    shown = np.empty((len(evaluator), 2), dtype=np.int64)
    chance = np.empty(len(evaluator))
    # Two numbers are drawn for one pair after the other: the items, then who wins.
    for row in range(len(evaluator)):
        shown[row] = rng.permutation(len(scores))[:2]
        chance[row] = rng.random_sample()
    seen = scores[shown] + lean[evaluator[:, None], shown]
    # Of scores far apart the exponential overflows to infinity, and the chance is 0 as it should.
    with np.errstate(over="ignore"):
        lost = chance >= 1 / (1 + np.exp(seen[:, 1] - seen[:, 0]))
    return SimulatedPanel(
        comparisons=np.where(lost[:, None], shown[:, ::-1], shown),
        evaluators=evaluator,
        ties=np.zeros(len(evaluator), dtype=bool),
        seats=np.where(lost, -1, 1),
        scores=scores,
        groups={name: np.where(own == 1, "b", "a") for name, own in groups.items()},
        bias_names=tuple(groups),
        bias=bias.reshape(len(bias), -1),
    )
