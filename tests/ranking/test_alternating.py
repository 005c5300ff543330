"""The authors' scheme: its steps, and what it does to the likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from comparity import barp
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.errors import OptionError
from tests.plain import ranking as plain

WORLD = simulate_comparisons(
    rng=np.random.default_rng(1),
    bias=norm(1, 1),
    scores=norm(0, 1),
    groups={"sex": 3},
    n_items=7,
    n_evaluators=3,
    pairs=30,
)


def loss(scores: np.ndarray, bias: np.ndarray) -> float:
    groups = WORLD.membership.astype(int).tolist()
    return -sum(
        plain.log_probability(plain.margin(i, j, scores.tolist(), [bias[k]], groups))
        for (i, j), k in zip(WORLD.comparisons.tolist(), WORLD.evaluators, strict=True)
    )


def test_steps_are_single_iterations_of_bfgs_biases_first() -> None:
    """By hand: scipy's BFGS, one iteration each, with numeric gradients."""
    scores, bias = np.zeros(7), np.zeros(3)
    for _ in range(100):
        options = {"maxiter": 1}
        found = minimize(lambda b, s=scores: loss(s, b), bias, method="BFGS", options=options)
        bias = found.x
        found = minimize(lambda s, b=bias: loss(s, b), scores, method="BFGS", options=options)
        scores = found.x
    ours = barp(
        WORLD.comparisons,
        evaluators=WORLD.evaluators,
        sensitive_features=WORLD.groups,
        mode="alternating",
    )
    assert ours.bias[:, 0] == pytest.approx(bias, abs=1e-3)
    assert ours.scores == pytest.approx(scores, abs=1e-3)
    assert ours.log_likelihood == pytest.approx(-loss(scores, bias), abs=1e-4)
    assert ours.iterations <= 100
    assert np.isnan(ours.p).all()
    assert "stopped early" in ours.notes[-1]


@pytest.mark.parametrize("name", ["seats", "tolerance"])
def test_seats_and_tolerances_are_not_part_of_the_scheme(name: str) -> None:
    chosen = {"seats": WORLD.seats, "tolerance": 1e-3}[name]
    with pytest.raises(OptionError, match=f"no {name} beside it"):
        barp(
            WORLD.comparisons,
            evaluators=WORLD.evaluators,
            sensitive_features=WORLD.groups,
            mode="alternating",
            **{name: chosen},
        )
