"""The authors' scheme: its steps, and what it does to the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from comparity import barp
from comparity.datasets.simulated_panels import simulate_comparisons
from comparity.errors import OptionError
from comparity.ranking.alternating import Alternating
from comparity.ranking.result import BiasedRanking
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


def by_hand(
    scores: np.ndarray, bias: np.ndarray, rounds: int, *, scores_first: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Alternate scipy's BFGS, one iteration each, with numeric gradients."""
    options = {"maxiter": 1}
    for _ in range(rounds):
        for _ in range(2):
            if scores_first:
                of_scores = minimize(lambda s, b=bias: loss(s, b), scores, options=options)
                scores = of_scores.x
            else:
                of_bias = minimize(lambda b, s=scores: loss(s, b), bias, options=options)
                bias = of_bias.x
            scores_first = not scores_first
    return scores, bias


def fitted(mode: str | Alternating) -> BiasedRanking:
    return barp(
        WORLD.comparisons, evaluators=WORLD.evaluators, sensitive_features=WORLD.groups, mode=mode
    )


def test_steps_are_single_iterations_of_bfgs_biases_first() -> None:
    scores, bias = by_hand(np.zeros(7), np.zeros(3), 100)
    ours = fitted("alternating")
    assert ours.bias[:, 0] == pytest.approx(bias, abs=1e-3)
    assert ours.scores == pytest.approx(scores, abs=1e-3)
    assert ours.log_likelihood == pytest.approx(-loss(scores, bias), abs=1e-4)
    assert ours.iterations <= 100
    assert np.isnan(ours.p).all()
    assert "stopped early" in ours.notes[-1]


def test_the_inputs_of_algorithm_1_are_those_of_the_scheme() -> None:
    """Scores first, other rounds and another start, by hand."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=7), rng.normal(size=3)
    scores, bias = by_hand(*start, 5, scores_first=True)
    ours = fitted(Alternating(first="scores", rounds=5, scores=start[0], biases=start[1]))
    assert ours.iterations == 5
    assert ours.scores == pytest.approx(scores, abs=1e-4)
    assert ours.bias[:, 0] == pytest.approx(bias, abs=1e-4)
    assert "given values" in ours.anchor
    other = fitted(Alternating(rounds=5, scores=start[0], biases=start[1]))
    assert np.abs(other.scores - scores).max() > 0.01


def test_defaults_are_the_authors_and_thresholds_end_it_before() -> None:
    default, named = fitted("alternating"), fitted(Alternating())
    assert (default.scores == named.scores).all()
    assert (default.bias == named.bias).all()
    loose = fitted(Alternating(first="scores", score_gradient=0.1, bias_gradient=0.1))
    assert loose.converged
    assert loose.iterations < fitted(Alternating(first="scores", rounds=1000)).iterations


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"first": "both"}, "first"),
        ({"rounds": 0}, "rounds"),
        ({"score_gradient": -1.0}, "score_gradient"),
        ({"scores": np.zeros(6)}, "7 finite numbers"),
        ({"biases": np.full(3, np.nan)}, "3 by 1 finite numbers"),
    ],
)
def test_inputs_that_make_no_scheme_are_refused(inputs: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        fitted(Alternating(**inputs))


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
