"""Plans of panels: how often rankings of drawn panels find who leans, as promised.

A panel has several who lean, whose findings go together, so a share has the standard error of the
means of panels. Beyond three of these a plan may be off by 0.05: it takes every item to be compared
as often, and discoveries among others as expected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from comparity import barp, plan_ranking
from comparity.datasets.simulated_panels import simulate_comparisons

DESIGNS: dict[str, dict[str, Any]] = {
    "one leans": {"lean": 1.0, "n_evaluators": 10, "n_per_evaluator": 220},
    "a third lean": {"lean": 0.8, "n_evaluators": 13, "n_per_evaluator": 200, "leaning": 5},
    "scores far apart": {
        "lean": 1.5,
        "n_evaluators": 13,
        "n_per_evaluator": 150,
        "leaning": 5,
        "score_spread": 3.0,
    },
    "groups differ": {
        "lean": 1.2,
        "n_evaluators": 13,
        "n_per_evaluator": 250,
        "leaning": 5,
        "cautious": True,
    },
}


class Given:
    """A law that gives these values."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def rvs(self, size: int, random_state: np.random.Generator) -> np.ndarray:
        return self.values


SLOW = ("one leans", "scores far apart")


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(design, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, design in DESIGNS.items()
    ],
)
def test_planned_power_is_how_often_a_ranking_finds_the_lean(
    design: dict[str, Any], repetitions: int, rng: np.random.Generator
) -> None:
    options = {"score_spread": 1.0, "cautious": False, "leaning": 1, "n_items": 60} | design
    leaning, evaluators = options.pop("leaning"), options["n_evaluators"]
    others = (leaning - 1) / (evaluators - 1)
    promised = plan_ranking(**options, share=0.3, others_leaning=others).power
    # To either side, as many as there are.
    signs = np.where(np.arange(evaluators) % 2, -1.0, 1.0) * (np.arange(evaluators) < leaning)
    found = []
    for _ in range(repetitions // 10):
        panel = simulate_comparisons(
            rng=rng,
            bias=Given(options["lean"] * signs),
            scores=stats.norm(0, options["score_spread"]),
            groups={"sex": 18},
            n_items=60,
            n_evaluators=evaluators,
            pairs=options["n_per_evaluator"],
            equal_means=not options["cautious"],
        )
        ranking = barp(
            panel.comparisons,
            evaluators=panel.evaluators,
            sensitive_features=panel.sensitive_features,
        )
        q = ranking.cautious_q if options["cautious"] else ranking.q
        found.append(np.mean(q[:leaning] <= 0.05))
    # Of few panels all may find the lean, which does not make the share certain.
    spread = max(np.std(found), np.sqrt(promised * (1 - promised) / leaning))
    error = spread / np.sqrt(len(found))
    assert promised == pytest.approx(np.mean(found), abs=0.05 + 3 * error)
