"""Reference: Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression".

Small versions of the parts of ``reproductions/004``, and its parts themselves where they are slow.
The simulated ranking task is judged by the closed-form accuracies of the learned weights in the
population, so that no test set adds noise. Best possible there (search over all directions):
without a goal 0.9225 with a difference of 0.249; within 0.01 of cross-group parity 0.8697; robust
0.8829 with least rate 0.8828; cross-group and within-group parity by a mixture 0.677.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.cli.published import Reproduction, Request
from comparity.cli.reproduce import find_papers, load_parts
from comparity.datasets.simulated import TWO, directions, mix_populations, population, ranking
from comparity.errors import InfeasibleGoalWarning
from comparity.training.rankers import FairRanker

real = pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
PARTS = load_parts(find_papers()["004"])
SEEDS = range(5)


def reproduced(part: str, runs: int | None = None, output: Path | None = None) -> Reproduction:
    data = os.environ.get("COMPARITY_DATA")
    request = Request(data=Path(data) if data else None, runs=runs, output=output)
    return PARTS[part](request)


def behind(part: str, name: str) -> Any:
    """Return what the part is made with."""
    return PARTS[part].__globals__[name]


def fails(found: Reproduction) -> list[str]:
    return [one.text for one in found.conclusions if not one.holds]


@cache
def trained(**choices: Any) -> list[tuple[np.ndarray, float]]:
    """Return matrix and accuracy in the population of mixtures, for five simulated data sets."""
    found = []
    for seed in SEEDS:
        features, label, group, query = ranking(3750, np.random.default_rng(seed))
        ranker = FairRanker(validation_fraction=1 / 3, random_state=seed, **choices)
        with warnings.catch_warnings():
            # Held-out rows are few: what keeps the goal in the population may miss it there.
            warnings.simplefilter("ignore", InfeasibleGoalWarning)
            ranker.fit(features, label, sensitive_features=group, queries=query)
        members = ranker.stochastic_
        found.append(mix_populations(members.coefficients, members.probabilities))
    return found


def across(matrix: np.ndarray) -> float:
    return abs(matrix[0, 1] - matrix[1, 0])


@pytest.mark.slow
def test_without_a_goal_the_published_accuracy_and_violation_come_out() -> None:
    """Table 1: 0.92 (0.28); the population has 0.9225 (0.249)."""
    runs = trained(goal=None, steps=300)
    assert np.mean([accuracy for _, accuracy in runs]) == pytest.approx(0.92, abs=0.01)
    assert np.mean([across(matrix) for matrix, _ in runs]) == pytest.approx(0.25, abs=0.06)


@pytest.mark.slow
def test_constrained_training_keeps_the_goal_at_the_published_accuracy() -> None:
    """Table 1: 0.86 (0.01); no linear model has more than 0.8697 within 0.01."""
    runs = trained()
    assert np.mean([accuracy for _, accuracy in runs]) >= 0.86
    assert np.mean([across(matrix) for matrix, _ in runs]) <= 0.02


@pytest.mark.slow
def test_robust_training_raises_the_least_rate_to_its_optimum() -> None:
    """Table 1: 0.86 (0.02); closed form: the largest least of A01, A10 and AUC is 0.8828."""

    def least(matrix: np.ndarray, accuracy: float) -> float:
        return min(matrix[0, 1], matrix[1, 0], accuracy)

    optimum = max(least(*population(direction)) for direction in directions())
    assert optimum == pytest.approx(0.8828, abs=2e-4)
    assert np.mean([least(*run) for run in trained(form="robust")]) >= optimum - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("part", ["table 4", "table 5", "figure 1", "figure 2"])
def test_conclusions_from_the_simulation_hold(part: str, tmp_path: Path) -> None:
    found = reproduced(part, output=tmp_path)
    assert found.conclusions
    assert fails(found) == []
    assert all(Path(path).stat().st_size > 1000 for path in found.figures)


def test_a_small_run_moves_towards_the_constrained_optimum() -> None:
    rest, test = behind("table 4", "halves")(0, 0, TWO)
    few = rest.rows(rest.query < 1200)
    ranker = FairRanker(steps=150, slack=0.05, validation_fraction=1 / 3, random_state=0)
    matrix, accuracy = population(few.fitted(ranker).coef_)
    assert abs(matrix[0, 1] - matrix[1, 0]) < 0.12
    assert accuracy > 0.85
    tested = test.tested(test.scored(ranker))
    assert tested.accuracy == pytest.approx(accuracy, abs=0.02)


def test_whole_queries_are_trained_on_or_tested() -> None:
    rest, test = behind("table 4", "halves")(0, 0, TWO)
    assert not set(rest.query) & set(test.query)
    assert len(np.unique(rest.query)) == 3 * len(np.unique(test.query)) == 3750


def test_separation_shows_in_standardised_gaps_and_information_but_not_in_raw_gaps() -> None:
    """Scores are labels and noise in both groups, so that separation holds; label laws differ."""
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 1500)
    label = rng.normal(size=1500) * np.array([1.0, 0.5])[group] + group
    task = behind("table 4", "Task")(
        features=label[:, None], label=label, sensitive=np.array(["a", "b"])[group]
    )
    score = label + rng.normal(size=1500)
    found = behind("separation", "measured")(task, score, 0)
    assert abs(found["raw gap"]) > 0.1
    assert found["raw p"] < 1e-4
    assert found["standardised p"] > 0.05
    assert found["information p"] > 0.05


@real
@pytest.mark.real
def test_experts_of_the_w3c_are_as_many_as_their_table_says() -> None:
    """qurels.csv: 13, 14, 9, 11, 20, 7, 12, 12, 18 and 10 experts in the ten topics."""
    read = behind("table 1", "rankings").__wrapped__.__globals__["w3c"]
    task = read(Path(os.environ["COMPARITY_DATA"]))
    experts = np.bincount(task.query, task.label)[1:]
    assert experts.tolist() == [13, 14, 9, 11, 20, 7, 12, 12, 18, 10]
    women = np.bincount(task.query, task.label * (task.sensitive == "female"))[1:]
    assert women.tolist() == [2, 0, 1, 4, 0, 4, 1, 1, 3, 3]


@real
@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("part", ["figure 5", "figure 6", "separation"])
def test_conclusions_from_real_data_hold(part: str) -> None:
    found = reproduced(part)
    assert found.conclusions
    assert fails(found) == []


@real
@pytest.mark.real
@pytest.mark.slow
def test_regressions_have_the_violations_and_errors_of_table_2() -> None:
    assert fails(reproduced("table 2")) == []


@real
@pytest.mark.real
@pytest.mark.slow
def test_crime_ranking_has_the_violation_and_accuracy_of_table_1() -> None:
    """Table 1: 0.81 (0.04) from 0.93 (0.18) without a goal."""
    folder = Path(os.environ["COMPARITY_DATA"])
    found = behind("table 1", "rankings")(folder, "Crime", ("Constr.",), 5, 0)
    assert np.mean([one.accuracy for one in found["Constr."]]) >= 0.81 - 0.02
    assert np.mean([across(one.matrix) for one in found["Constr."]]) <= 0.04 + 0.02
