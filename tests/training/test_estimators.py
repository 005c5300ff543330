"""Scores for searches: against double loops over pairs, and where the population is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparity import FairRanker, FairRegressor
from comparity.errors import EmptyCellError, MissingSensitiveError, OptionError
from comparity.training.estimators import GoalScore
from tests.training.simulated import population, ranking

SLACKS = {"slack": [0.01, 0.1]}


@pytest.fixture(scope="module")
def task() -> tuple[np.ndarray, ...]:
    return ranking(400, np.random.default_rng(1))


def asking(**choices: Any) -> FairRanker:
    """Return a ranker that is given groups and queries by whatever fits it."""
    ranker = FairRanker(steps=100, l2=0.0, validation_fraction=0, random_state=0, **choices)
    with sklearn.config_context(enable_metadata_routing=True):
        return ranker.set_fit_request(sensitive_features=True, queries=True)


def searched(task: tuple[np.ndarray, ...], scoring: Any) -> GridSearchCV:
    X, y, group, query = task
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = asking().set_score_request(queries=True)
        search = GridSearchCV(ranker, SLACKS, scoring=scoring, cv=3, error_score="raise")
        return search.fit(X, y, sensitive_features=group, queries=query)


def true_difference(search: GridSearchCV) -> float:
    matrix, _ = population(search.best_estimator_.coef_)
    return float(abs(matrix[0, 1] - matrix[1, 0]))


@pytest.mark.long
@pytest.mark.parametrize("scoring", [None, GoalScore()])
def test_a_search_takes_the_tight_slack_where_accuracy_alone_takes_the_wide_one(
    task, scoring
) -> None:
    """In the population, too, the one differs less and the other is more accurate."""
    kept = searched(task, scoring)
    missed = searched(task, lambda model, X, y: model.score(X, y))
    assert (kept.best_params_, missed.best_params_) == ({"slack": 0.01}, {"slack": 0.1})
    assert true_difference(kept) < 0.05 < 0.09 < true_difference(missed)
    right = [population(one.best_estimator_.coef_)[1] for one in (kept, missed)]
    assert right[0] < right[1]


@pytest.mark.long
def test_a_wide_slack_wins_where_it_is_wide_enough_to_the_score(task) -> None:
    assert searched(task, GoalScore(slack=0.3)).best_params_ == {"slack": 0.1}


def plain(y: np.ndarray, scores: np.ndarray, pairs: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted share of pairs in order, by a loop over all of them."""
    found = [(weight[i] * weight[j], scores[i] > scores[j]) for i, j in np.argwhere(pairs)]
    return sum(w for w, right in found if right) / sum(w for w, _ in found)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("slack", [0.02, 0.9])
def test_scores_are_accuracies_less_what_is_beyond_the_slack(slack: float, regression) -> None:
    rng = np.random.default_rng(3)
    group, y = rng.integers(0, 2, 60), rng.integers(0, 4, 60).astype(float)
    X = np.column_stack([y + 2 * group, y]) + rng.normal(size=(60, 2))
    weight, query = rng.integers(1, 4, 60), rng.integers(0, 3, 60)
    kind = FairRegressor if regression else FairRanker
    model = kind(goal=None, steps=5, random_state=0).fit(X, y)
    scores, pairs = model.predict(X), (query[:, None] == query) & (y[:, None] > y)
    cells = [pairs & np.outer(group == a, group != a) for a in (0, 1)]
    across = [plain(y, scores, cell, weight) for cell in cells]
    accuracy = plain(y, scores, pairs, weight)
    if regression:
        accuracy = r2_score(y, scores, sample_weight=weight)
    expected = accuracy - 3 * max(0, abs(across[0] - across[1]) - slack)
    found = GoalScore(slack=slack, penalty=3)(model, X, y, group, query, weight)
    assert found == pytest.approx(expected)
    assert (found < accuracy - 0.1) == (slack < 0.1)
    assert model.score(X, y, queries=query, sample_weight=weight) == pytest.approx(accuracy)


def test_the_score_of_an_estimator_does_not_go_by_its_own_slack(task) -> None:
    X, y, group, query = task
    model = asking(slack=1.0).fit(X, y, group, query)
    found = model.score(X, y, sensitive_features=group, queries=query)
    assert found == GoalScore()(model, X, y, group, query)
    assert found < model.score(X, y, queries=query) - 0.3
    robust = model.set_params(form="robust")
    assert robust.score(X, y, sensitive_features=group) == robust.score(X, y)


def test_pipelines_and_other_models_are_scored(task) -> None:
    X, y, group, query = task
    with sklearn.config_context(enable_metadata_routing=True):
        chain = make_pipeline(StandardScaler(), asking(slack=0.01))
        for model in (chain, LinearRegression()):
            given = {"sensitive_features": group} | ({"queries": query} if model is chain else {})
            found = cross_val_score(model, X, y, scoring=GoalScore(), cv=2, params=given)
            assert np.isfinite(found).all()


def test_groups_that_are_missing_and_kinds_of_pairs_that_are_none_are_named(task) -> None:
    X, y, group, query = task
    model = asking(slack=0.5).fit(X, y, group, query)
    with pytest.raises(MissingSensitiveError, match=r"score\(X, y, sens.*metadata_routing=True"):
        GoalScore()(model, X, y)
    with pytest.raises(EmptyCellError):
        GoalScore()(model, X, y, np.where(y == 1, 0, 1))
    for wrong in ({"slack": -1}, {"penalty": -1}, {"goal": "fair"}):
        with pytest.raises(OptionError):
            GoalScore(**wrong)
