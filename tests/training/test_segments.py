"""Single models between the members of a mixture."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from comparity import pairwise_accuracy
from comparity.errors import InfeasibleGoalWarning
from comparity.training.rankers import FairRanker, FairRegressor

LARGE: dict[str, Any] = {"steps": 60, "step_sizes": 0.5, "progress": False}


def predicted(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, 2000), rng.normal(size=2000)
    return np.column_stack([y + group, y]) + rng.normal(size=(2000, 2)), y, group


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_one_model_costs_little_more_than_the_mixture_where_steps_are_large(seed: int) -> None:
    """Games with large steps jump over the goal; scores in between keep it."""
    X, y, group = predicted(seed)
    model = FairRegressor(slack=0.02, random_state=seed, **LARGE)
    training = model.fit(X, y, sensitive_features=group).training_
    assert training.best.largest_difference <= 0.02
    assert training.mixture.squared_error is not None
    assert training.best.squared_error <= 1.02 * training.mixture.squared_error


def test_the_account_of_one_model_is_that_of_its_scores() -> None:
    """Without rows held out, the audit of the same rows tells the same."""
    X, y, group = predicted(5)
    model = FairRegressor(slack=0.02, random_state=5, validation_fraction=0, **LARGE)
    told = model.fit(X, y, sensitive_features=group).training_.best
    scores = model.predict(X)
    matrix = pairwise_accuracy(y, scores, sensitive_features=group).matrix
    assert told.largest_difference == pytest.approx(abs(matrix[0, 1] - matrix[1, 0]))
    assert told.squared_error == pytest.approx(((scores - y) ** 2).mean())


def test_no_ranking_is_turned_round_to_keep_a_goal() -> None:
    """Three groups of which two lean to either side; equal rates are had by ordering wrongly."""
    rng = np.random.default_rng(6)
    group, y = rng.integers(0, 3, 1500), rng.integers(0, 2, 1500)
    lean = np.array([0.0, 2.0, -2.0])[group]
    X = np.column_stack([y + lean, y - lean]) + 0.5 * rng.normal(size=(1500, 2))
    ranker = FairRanker(goal="all cells", slack=0.001, steps=80, random_state=6, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleGoalWarning)
        ranker.fit(X, y, sensitive_features=group)
    assert ranker.score(X, y) > 0.5
