"""Mixtures of candidates: against enumeration of vertices and known games."""

from __future__ import annotations

import warnings
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from comparity import FairRanker
from comparity.errors import InfeasibleGoalWarning, OptionError
from comparity.training.mixtures import best_iterate, best_of_minima, mix, mix_minima

tenths = st.integers(-10, 10).map(lambda tenth: tenth / 10)
problems = st.integers(1, 6).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=tenths), arrays(float, (n, 2), elements=tenths))
)


SHARES = np.array([(i, j, 20 - i - j) for i in range(21) for j in range(21 - i)]) / 20


def best_mixture(objective: np.ndarray, excess: np.ndarray) -> float | None:
    """Return the least objective over mixtures of up to three candidates, on a grid."""
    found = []
    for members in combinations_with_replacement(range(len(objective)), 3):
        kept = (SHARES @ excess[list(members)] <= 1e-9).all(axis=1)
        found += (SHARES @ objective[list(members)])[kept].tolist()
    return min(found, default=None)


@given(problems)
def test_no_mixture_on_a_grid_is_better(problem: tuple[np.ndarray, np.ndarray]) -> None:
    objective, excess = problem
    mixture = mix(objective, excess)
    expected = best_mixture(objective, excess)
    if expected is not None:
        assert mixture.excess == pytest.approx(0, abs=1e-9)
        found = mixture.probabilities @ objective[mixture.members]
        assert found <= expected + 1e-6


@given(problems)
def test_a_mixture_has_at_most_one_member_more_than_constraints(
    problem: tuple[np.ndarray, np.ndarray],
) -> None:
    objective, excess = problem
    mixture = mix(objective, excess)
    assert 1 <= len(mixture.members) <= excess.shape[1] + 1
    assert mixture.probabilities.sum() == pytest.approx(1)
    missed = mixture.probabilities @ excess[mixture.members]
    assert missed.max() <= mixture.excess + 1e-6


@pytest.mark.long
@given(problems, st.integers(0, 10), st.integers(3, 5), st.integers(0, 2**32 - 1))
def test_a_span_is_all_differences_of_its_rates(
    problem: tuple[np.ndarray, np.ndarray], tenths: int, many: int, seed: int
) -> None:
    objective, excess = problem
    rates = np.random.default_rng(seed).uniform(size=(len(objective), many)).round(2)
    first, second = map(list, zip(*permutations(range(many), 2), strict=True))
    listed = np.hstack([excess, rates[:, first] - rates[:, second] - tenths / 10])
    expected = mix(objective, listed)
    found = mix(objective, excess, spans=[rates], slack=tenths / 10)
    assert found.excess == pytest.approx(expected.excess, abs=1e-6)
    costs = [one.probabilities @ objective[one.members] for one in (found, expected)]
    # Two mixtures that miss a constraint by least may differ by what the solver calls least.
    assert costs[0] == pytest.approx(costs[1], abs=1e-5 if expected.excess < 1e-6 else 1e-3)
    assert len(found.members) <= excess.shape[1] + 2 * many + 1


def test_of_equal_minima_the_one_with_the_least_objective_is_taken() -> None:
    """Rates that add up to 1 are at most a half, however wrong or right the model is else."""
    values = np.array([[0.2, 0.8], [0.8, 0.2], [0.5, 0.5], [0.4, 0.6], [0.6, 0.4]])
    mixture = mix_minima([values], np.array([0.1, 0.1, 0.9, 0.6, 0.5]))
    assert mixture.members.tolist() == [0, 1]
    assert mixture.probabilities == pytest.approx([0.5, 0.5])


def test_where_nothing_is_feasible_the_worst_constraint_is_missed_by_least() -> None:
    """Halfway between the two candidates both constraints are missed by 0.2."""
    mixture = mix(np.array([0.0, 1.0]), np.array([[0.5, -0.1], [-0.1, 0.5]]))
    assert mixture.excess == pytest.approx(0.2)
    assert mixture.probabilities == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("apart", [1e-9, 1e-6, 1e-3])
def test_candidates_that_hardly_differ_are_mixed_too(seed: int, apart: float) -> None:
    rng = np.random.default_rng(seed)
    rates = 0.6 + apart * rng.normal(size=(80, 9))
    least = mix_minima([rates, 1 - rates], rng.uniform(size=80))
    mean = least.probabilities @ rates[least.members]
    singles = rates.min(axis=1) + (1 - rates).min(axis=1)
    assert mean.min() + (1 - mean).min() >= singles.max() - 1e-6
    within = mix(rng.uniform(size=80), np.zeros((80, 0)), spans=[rates], slack=0.0)
    spread = np.ptp(within.probabilities @ rates[within.members])
    assert spread == pytest.approx(within.excess, abs=1e-6)


def test_nobody_is_drawn_once_in_a_million_times() -> None:
    """The second candidate would be drawn in 3 of 10 million cases."""
    mixture = mix(np.array([0.1, 0.9]), np.array([[3e-8], [-0.1]]))
    assert mixture.members.tolist() == [0]


def test_candidates_that_went_astray_are_not_in_the_way() -> None:
    objective = np.array([1e300, 0.2, np.inf, 0.3, np.nan])
    mixture = mix(objective, np.array([[-1.0], [0.1], [-1.0], [-0.1], [-1.0]]))
    assert mixture.members.tolist() == [1, 3]
    assert mixture.probabilities == pytest.approx([0.5, 0.5])


def test_without_constraints_the_best_candidate_is_alone() -> None:
    mixture = mix(np.array([0.3, 0.1, 0.2]), np.zeros((3, 0)))
    assert mixture.members.tolist() == [1]


def test_a_minimum_is_raised_as_in_matching_pennies() -> None:
    """Two candidates that each win one term are worth a half together."""
    values = np.array([[1.0, 0.0], [0.0, 1.0], [0.4, 0.4]])
    mixture = mix_minima([values], np.zeros(3))
    assert mixture.probabilities @ values[mixture.members] == pytest.approx([0.5, 0.5])
    assert best_of_minima([values]) == 2


def test_a_sum_of_minima_weighs_each_alike() -> None:
    one, two = np.array([[0.9, 0.9], [0.5, 0.5]]), np.array([[0.1, 0.1], [0.6, 0.6]])
    assert best_of_minima([one, two]) == 1
    assert mix_minima([one, two], np.zeros(2)).members.tolist() == [1]


def test_the_best_iterate_keeps_constraints_before_it_minimises() -> None:
    objective = np.array([0.1, 0.2, 0.3])
    assert best_iterate(objective, np.array([[0.1], [-0.1], [0.0]])) == 1
    assert best_iterate(objective, np.array([[0.3, 0.0], [0.2, 0.1], [0.1, 0.3]])) == 1
    assert best_iterate(objective, np.zeros((3, 0))) == 0


def test_the_uniform_mixture_draws_every_iterate_alike() -> None:
    """Theorem 1: accuracies of the mixture are means over all iterates, here by scikit-learn."""
    rng = np.random.default_rng(0)
    group, y = rng.choice(["a", "b"], 300), rng.integers(0, 2, 300)
    X = np.column_stack([y + rng.normal(size=300), (group == "b") + rng.normal(size=300)])
    ranker = FairRanker(
        steps=40,
        snapshots=40,
        mixture="uniform",
        validation_fraction=0.0,
        random_state=0,
        progress=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleGoalWarning)
        ranker.fit(X, y, sensitive_features=group)
    assert ranker.training_.probabilities == pytest.approx([1 / 40] * 40)
    across = (y == 1) & (group == "a") | (y == 0) & (group == "b")
    back = (y == 1) & (group == "b") | (y == 0) & (group == "a")
    areas = np.array(
        [
            [roc_auc_score(y[kept], member.scores(X)[kept]) for kept in (across, back)]
            for member in ranker.stochastic_.members
        ]
    )
    outcome = ranker.training_.mixture
    assert sorted(outcome.terms.values()) == pytest.approx(sorted(areas.mean(axis=0)))
    mean = np.mean([roc_auc_score(y, one.scores(X)) for one in ranker.stochastic_.members])
    assert outcome.accuracy == pytest.approx(mean)
    with pytest.raises(OptionError, match="step_sizes"):
        FairRanker(mixture="uniform", step_sizes=(0.05, 0.15), progress=False).fit(
            X, y, sensitive_features=group
        )
