"""Reference: Narasimhan, Cotter, Gupta and Wang: Tables 1, 2, 4 and 5.

The simulated ranking task is judged by the closed-form accuracies of the learned weights in the
population, so that no test set adds noise. Best possible there (search over all directions):
without a goal 0.9225 with a
difference of 0.249; within 0.01 of cross-group parity 0.8697; robust 0.8829 with least rate
0.8828; cross-group and within-group parity by a mixture 0.677.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

from comparity import FairRanker, FairRegressor, pairwise_accuracy
from comparity.errors import InfeasibleGoalWarning
from tests.mitigation.simulated import THREE, TWO, directions, mixed, population, ranking
from tests.reproductions.test_pairwise_fairness import crime, law_school


def trained(
    seed: int, queries: int, shares: tuple[float, ...] = TWO, **choices: Any
) -> tuple[np.ndarray, float, np.ndarray, float]:
    """Return matrix and accuracy in the population, of the best single model and the mixture."""
    X, y, group, query = ranking(queries, np.random.default_rng(seed), shares)
    model = FairRanker(validation_fraction=1 / 3, random_state=seed, **choices)
    with warnings.catch_warnings():
        # Held-out rows are few: what keeps the goal in the population may miss it there.
        warnings.simplefilter("ignore", InfeasibleGoalWarning)
        model.fit(X, y, sensitive_features=group, queries=query)
    members = model.stochastic_
    average = mixed(members.coefficients, members.probabilities, shares)
    return *population(model.coef_, shares), *average


def mean_of(runs: list[tuple[Any, ...]], what: Any) -> float:
    return float(np.mean([what(*run) for run in runs]))


def across(matrix: np.ndarray, *_: Any) -> float:
    return abs(matrix[0, 1] - matrix[1, 0])


@pytest.mark.slow
def test_without_a_goal_the_published_accuracy_and_violation_come_out() -> None:
    """Table 1: 0.92 (0.28); the population has 0.9225 (0.249)."""
    runs = [trained(seed, 3750, goal=None, steps=300) for seed in range(5)]
    assert mean_of(runs, lambda _, accuracy, *__: accuracy) == pytest.approx(0.92, abs=0.01)
    assert mean_of(runs, across) == pytest.approx(0.25, abs=0.06)


@pytest.mark.slow
def test_constrained_training_keeps_the_goal_at_the_published_accuracy() -> None:
    """Table 1: 0.86 (0.01); no linear model has more than 0.8697 within 0.01."""
    runs = [trained(seed, 3750) for seed in range(5)]
    for first in (0, 2):
        assert np.mean([run[first + 1] for run in runs]) >= 0.86
        assert np.mean([across(run[first]) for run in runs]) <= 0.02


@pytest.mark.slow
def test_robust_training_raises_the_least_rate_to_its_optimum() -> None:
    """Table 1: 0.86 (0.02); closed form: the largest least of A01, A10 and AUC is 0.8828."""

    def least(matrix: np.ndarray, accuracy: float, *_: Any) -> float:
        return min(matrix[0, 1], matrix[1, 0], accuracy)

    optimum = max(least(*population(direction)) for direction in directions())
    assert optimum == pytest.approx(0.8828, abs=2e-4)
    runs = [trained(seed, 3750, form="robust") for seed in range(5)]
    assert mean_of(runs, least) >= optimum - 0.01
    assert mean_of(runs, lambda _, __, *mixture: least(*mixture)) >= optimum - 0.01


@pytest.mark.slow
def test_with_both_goals_the_order_of_table_4_comes_out() -> None:
    """Table 4: constrained 0.75 (0.05), robust 0.89 (0.05) by the sum of minima."""
    both = ("cross-group", "within-group")

    def worst(matrix: np.ndarray) -> float:
        return max(across(matrix), abs(matrix[0, 0] - matrix[1, 1]))

    runs = [trained(seed, 3750, goal=both) for seed in range(5)]
    accuracy, violation = (
        np.mean([one(run) for run in runs])
        for one in (lambda run: run[3], lambda run: worst(run[2]))
    )
    assert 0.65 <= accuracy <= 0.85
    assert violation <= 0.07
    runs = [trained(seed, 3750, goal=both, form="robust") for seed in range(5)]
    assert np.mean([run[1] for run in runs]) == pytest.approx(0.89, abs=0.01)
    assert np.mean([worst(run[0]) for run in runs]) <= 0.07


@pytest.mark.slow
def test_three_groups_have_the_marginals_of_table_5() -> None:
    """Table 5: without a goal 0.95 (0.28), constrained 0.72 (0.03), robust 0.91 (0.07).

    Closed form: 0.940 (0.206); best mixture within 0.01 0.713; best least rate 0.8853.
    """

    def marginals(matrix: np.ndarray) -> np.ndarray:
        return matrix @ THREE

    def least(matrix: np.ndarray, accuracy: float) -> float:
        return min(*marginals(matrix), accuracy)

    run = partial(trained, queries=3750, shares=THREE)
    free = [run(seed, goal=None, steps=300) for seed in range(3)]
    bound = [run(seed, goal="marginal") for seed in range(3)]
    robust = [run(seed, goal="marginal", form="robust") for seed in range(3)]
    assert np.mean([one[1] for one in free]) == pytest.approx(0.940, abs=0.01)
    assert np.mean([np.ptp(marginals(one[2])) for one in bound]) <= 0.05
    assert np.mean([one[3] for one in bound]) == pytest.approx(0.713, abs=0.06)
    optimum = max(least(*population(direction, THREE)) for direction in directions())
    assert optimum == pytest.approx(0.8853, abs=2e-4)
    assert np.mean([least(*one[2:]) for one in robust]) >= optimum - 0.015


def test_a_small_run_moves_towards_the_constrained_optimum() -> None:
    matrix, accuracy, *_ = trained(0, 900, steps=150, slack=0.05)
    assert across(matrix) < 0.12
    assert accuracy > 0.85


def held_out(
    estimator: Any, data: tuple[np.ndarray, ...], seed: int, *, continuous: bool
) -> tuple[float, float, float]:
    """Return accuracy, squared error and difference of the mixture on a quarter of the rows."""
    features, label, sensitive = data
    order = np.random.default_rng(seed).permutation(len(label))
    rest, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
    estimator.fit(features[rest], label[rest], sensitive_features=sensitive[rest])
    members, found = estimator.stochastic_, []
    for member in range(len(members)):
        scores = members.predict(features[test], member)
        audit = pairwise_accuracy(
            label[test], scores, sensitive_features=sensitive[test], continuous=continuous
        )
        error = ((scores - label[test]) ** 2).mean()
        found.append([audit.overall, error, audit.matrix[0, 1] - audit.matrix[1, 0]])
    accuracy, error, gap = members.probabilities @ found
    return accuracy, error, abs(gap)


REAL = [
    pytest.mark.slow,
    pytest.mark.real,
    pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set"),
]


def real(test: Any) -> Any:
    for mark in REAL:
        test = mark(test)
    return test


@real
def test_crime_regression_has_the_violation_and_error_of_table_2() -> None:
    """Table 2: 0.028 (0.03) from 0.021 (0.33) without a goal."""
    choices = {"continuous": True, "validation_fraction": 1 / 3, "l2": 0.05}
    runs = [
        held_out(FairRegressor(random_state=seed, **choices), crime(), seed, continuous=True)
        for seed in range(5)
    ]
    _, error, gap = np.mean(runs, axis=0)
    assert error <= 0.028 + 0.003
    assert gap <= 0.03 + 0.02


@real
def test_crime_ranking_has_the_violation_and_accuracy_of_table_1() -> None:
    """Table 1: 0.81 (0.04) from 0.93 (0.18) without a goal."""
    features, label, black = crime()
    high = (label >= np.quantile(label, 0.7)).astype(float)
    choices = {"continuous": True, "validation_fraction": 1 / 3, "l2": 0.01}
    runs = [
        held_out(
            FairRanker(random_state=seed, **choices), (features, high, black), seed, continuous=True
        )
        for seed in range(5)
    ]
    accuracy, _, gap = np.mean(runs, axis=0)
    assert accuracy >= 0.81 - 0.02
    assert gap <= 0.04 + 0.02


@real
def test_law_school_regression_has_the_violation_and_error_of_table_2() -> None:
    """Table 2: 0.143 (0.02) from 0.142 (0.30) without a goal."""
    choices = {"validation_fraction": 1 / 3, "steps": 200}
    runs = [
        held_out(FairRegressor(random_state=seed, **choices), law_school(), seed, continuous=False)
        for seed in range(3)
    ]
    _, error, gap = np.mean(runs, axis=0)
    assert error <= 0.143 + 0.005
    assert gap <= 0.02 + 0.02
