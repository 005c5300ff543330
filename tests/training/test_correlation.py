"""The correlation penalty: against listed pairs, finite differences and a search."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.utils.estimator_checks import parametrize_with_checks

from comparity import FairRanker, pairwise_accuracy
from comparity.errors import MissingSensitiveError, OptionError
from comparity.training.correlation import CorrelationRanker, CorrelationRegressor, pair_moments
from tests.plain.correlation import differences
from tests.training.simulated import directions, population, ranking


@parametrize_with_checks(
    [
        CorrelationRanker(strength=0, validation_fraction=0, steps=20),
        CorrelationRegressor(strength=0, validation_fraction=0, steps=20),
    ]
)
def test_estimators_keep_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("levels", [2, 3, 40])
@pytest.mark.parametrize("queries", [1, 5])
def test_covariances_are_those_of_listed_pairs(levels: int, queries: int) -> None:
    rng = np.random.default_rng(levels + queries)
    X, y = rng.normal(size=(40, 3)) + 5, rng.integers(0, levels, 40).astype(float)
    z, query = rng.integers(0, 3, 40)[:, None] == np.arange(3), rng.integers(0, queries, 40)
    weights = rng.uniform(0.5, 2, 40)
    found = pair_moments(X, y, z.astype(float), query=query, weights=weights)
    rows, weight = differences(np.column_stack([X, z.astype(float)]), y, query, weights)
    expected = np.cov(rows.T, aweights=weight, ddof=0)
    assert found.features == pytest.approx(expected[:3, :3])
    assert found.crossed == pytest.approx(expected[:3, 3:])
    assert found.spread == pytest.approx(np.sqrt(np.diag(expected)[3:]))


def test_correlations_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    X, y, z = rng.normal(size=(30, 2)), rng.integers(0, 2, 30).astype(float), rng.normal(size=30)
    w = np.array([0.3, -1.0])
    rows, _ = differences(np.column_stack([X @ w, z]), y, np.zeros(30), np.ones(30))
    found = pair_moments(X, y, z[:, None]).penalty(w)[0]
    assert found == pytest.approx(abs(np.corrcoef(rows.T)[0, 1]))


def test_the_gradient_is_a_finite_difference() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 5, 60).astype(float)
    groups = (rng.integers(0, 3, 60)[:, None] == np.arange(3)).astype(float)
    moments = pair_moments(X, y, groups)
    for _ in range(5):
        w = rng.normal(size=4)
        slope = approx_fprime(w, lambda v: moments.penalty(v)[0], 1e-7)
        assert moments.penalty(w)[1] == pytest.approx(slope, abs=1e-6)


def test_without_pairs_or_spread_there_is_no_penalty() -> None:
    X = np.arange(6.0).reshape(3, 2)
    nothing = pair_moments(X, np.ones(3), np.ones((3, 1)))
    assert nothing.penalty(np.ones(2))[0] == 0
    one_group = pair_moments(X, np.arange(3.0), np.ones((3, 1)))
    assert one_group.penalty(np.ones(2))[0] == 0
    assert not one_group.penalty(np.zeros(2))[1].any()


def test_a_strong_penalty_finds_the_direction_without_correlation() -> None:
    """With strength 50 nothing but the correlation counts; the search knows all directions."""
    X, y, group, query = ranking(300, np.random.default_rng(1))
    columns = (group[:, None] == np.arange(2)).astype(float)
    moments = pair_moments(X, y.astype(float), columns, query=query)
    least = min(moments.penalty(w)[0] for w in directions(1))
    model = CorrelationRanker(strength=50, validation_fraction=0, steps=300, step_sizes=0.05)
    model.fit(X, y, sensitive_features=group, queries=query)
    assert moments.penalty(model.coef_)[0] <= least + 0.01


def test_the_published_strength_narrows_the_gap_and_costs_accuracy() -> None:
    """Table 1 of Narasimhan et al.: 0.92 (0.28) without, 0.84 (0.04) with the penalty."""
    X, y, group, query = ranking(1000, np.random.default_rng(2))
    model = CorrelationRanker(steps=200, random_state=0)
    model.fit(X, y, sensitive_features=group, queries=query)
    matrix, overall = population(model.coef_)
    assert abs(matrix[0, 1] - matrix[1, 0]) < 0.15
    assert 0.80 < overall < 0.91


def test_a_strength_of_zero_is_training_without_a_goal() -> None:
    X, y, group, _ = ranking(60, np.random.default_rng(3))
    choices = {"steps": 30, "random_state": 0}
    free = FairRanker(goal=None, **choices).fit(X, y, sensitive_features=group)
    ours = CorrelationRanker(strength=0, **choices).fit(X, y, sensitive_features=group)
    assert ours.coef_ == pytest.approx(free.coef_)
    assert ours.training_.goals == ("correlation penalty",)


def test_the_account_of_a_regressor_has_its_squared_error() -> None:
    rng = np.random.default_rng(4)
    z, y = rng.normal(size=300), rng.normal(size=300)
    X = np.column_stack([y + z, y - 0.5 * z]) + rng.normal(size=(300, 2))
    model = CorrelationRegressor(continuous=True, validation_fraction=0, steps=100)
    model.fit(X, y, sensitive_features=z)
    outcome, scores = model.training_.best, model.predict(X)
    assert outcome.squared_error == pytest.approx(np.mean((scores - y) ** 2))
    audited = pairwise_accuracy(y, scores, sensitive_features=z, continuous=True)
    assert outcome.accuracy == pytest.approx(audited.overall)
    assert outcome.largest_difference < model.training_.start.largest_difference


def test_bad_input_is_named() -> None:
    X, y, group, _ = ranking(10, np.random.default_rng(3))
    with pytest.raises(MissingSensitiveError, match="strength=1"):
        CorrelationRanker().fit(X, y)
    with pytest.raises(OptionError, match="strength"):
        CorrelationRanker(strength=-1).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("unit", [1e-13, 1e-200, 1e20, 1e307])
def test_the_unit_of_a_number_changes_nothing(unit: float) -> None:
    rng = np.random.default_rng(6)
    z, y = rng.normal(size=300), rng.integers(0, 2, 300)
    X = np.column_stack([y + z, y]) + rng.normal(size=(300, 2))
    ranker = CorrelationRanker(continuous=True, steps=30, random_state=0)
    free = CorrelationRanker(strength=0, steps=30, random_state=0).fit(X, y)
    expected = ranker.fit(X, y, sensitive_features=z).coef_
    assert abs(expected[0] - free.coef_[0]) > 0.1
    assert ranker.fit(X, y, sensitive_features=unit * z).coef_ == pytest.approx(expected)
