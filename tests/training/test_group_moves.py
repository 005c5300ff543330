"""Shifts of two groups: against a grid of shifts and double loops over pairs.

Goals kept by moving scores: against the functions themselves, and what is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from comparity import pairwise_accuracy
from comparity.errors import OptionError, TwoGroupsOnlyError
from comparity.errors.fits import UnknownMovesError
from comparity.training.group_moves import group_shift
from comparity.training.rankers import FairRanker, FairRegressor


def people(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, group = rng.normal(size=n), rng.integers(0, 2, n)
    return y, y + rng.normal(size=n) + (1 if seed % 2 else -1) * group, group


def difference(y: np.ndarray, scores: np.ndarray, group: np.ndarray, pairs: np.ndarray) -> float:
    """Return A(0 > 1) - A(1 > 0), by all pairs."""
    better = pairs & (y[:, None] > y)
    cells = [better & np.outer(group == a, group != a) for a in (0, 1)]
    right = scores[:, None] > scores
    return float(right[cells[0]].mean() - right[cells[1]].mean())


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("slack", [0.02, 0.1])
@pytest.mark.parametrize("within", [False, True])
def test_no_smaller_shift_of_a_grid_keeps_the_slack(seed: int, slack: float, within: bool) -> None:
    y, scores, group = people(120, seed)
    query = np.arange(120) % 2 if within else np.zeros(120)
    pairs = query[:, None] == query
    fit = group_shift(y, scores, sensitive_features=group, queries=query, slack=slack)
    moved = fit.transform(scores, sensitive_features=group)
    assert abs(difference(y, moved, group, pairs)) == pytest.approx(fit.difference)
    assert fit.difference <= slack < fit.difference_before
    apart = fit.shifts["1"] - fit.shifts["0"]
    smaller = np.linspace(0, apart, 60)[:-1] * (1 - 1e-9)
    gaps = [difference(y, scores + shift * group, group, pairs) for shift in smaller]
    assert min(np.abs(gaps)) > slack
    assert moved.mean() == pytest.approx(scores.mean())
    assert fit.squared_error == pytest.approx(np.mean((moved - y) ** 2))


def test_scores_within_the_slack_stay() -> None:
    y, scores, group = people(100, 3)
    fit = group_shift(y, scores, sensitive_features=group, slack=1.0)
    assert set(fit.shifts.values()) == {0.0}


def test_a_shift_is_of_two_groups_and_a_slack_no_less_than_0() -> None:
    y, scores, _ = people(90, 4)
    with pytest.raises(TwoGroupsOnlyError):
        group_shift(y, scores, sensitive_features=np.arange(90) % 3)
    with pytest.raises(OptionError):
        group_shift(y, scores, sensitive_features=np.arange(90) % 2, slack=-0.1)


QUICK: dict[str, Any] = {"steps": 60, "slack": 0.02, "random_state": 0, "progress": False}


def simulated(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, 2, n), rng.normal(size=n)
    X = np.column_stack([y + group, y]) + rng.normal(size=(n, 2))
    return X, y, np.array(["a", "b"])[group]


def gap(y: np.ndarray, scores: np.ndarray, group: np.ndarray) -> float:
    matrix = pairwise_accuracy(y, scores, sensitive_features=group).matrix
    return float(abs(matrix[0, 1] - matrix[1, 0]))


def test_shifted_predictions_are_those_of_the_function() -> None:
    X, y, group = simulated(800)
    model = FairRegressor(**QUICK, adjust="shift").fit(X, y, sensitive_features=group)
    # The same rows are held out, evenly by group.
    free = FairRegressor(**{**QUICK, "goal": None}).fit(X, y, sensitive_features=group)
    by_hand = group_shift(y, free.predict(X), sensitive_features=group, slack=0.02)
    expected = by_hand.transform(free.predict(X), sensitive_features=group)
    np.testing.assert_allclose(model.predict(X, sensitive_features=group), expected)
    assert model.training_.best.squared_error == pytest.approx(by_hand.squared_error)
    assert model.training_.best.accuracy == pytest.approx(by_hand.accuracy)


@pytest.mark.parametrize("adjust", ["shift", "monotone"])
def test_the_goal_is_kept_on_the_rows_moved_by_and_nearly_on_fresh_ones(adjust: str) -> None:
    X, y, group = simulated(1500)
    model = FairRanker(**QUICK, adjust=adjust).fit(X, y, sensitive_features=group)
    assert model.training_.feasible
    assert gap(y, model.predict(X, sensitive_features=group), group) <= 0.02 + 1e-9
    X, y, group = simulated(4000, seed=1)
    free = model.model_.scores(X)
    # Of 4,000 rows differences are uncertain by about 0.02.
    assert gap(y, model.predict(X, sensitive_features=group), group) < 0.08 < gap(y, free, group)


def test_groups_are_needed_to_score() -> None:
    X, y, group = simulated(300)
    model = FairRanker(**QUICK, adjust="shift").fit(X, y, sensitive_features=group)
    assert not hasattr(model, "stochastic_")
    with pytest.raises(UnknownMovesError, match="sensitive_features"):
        model.predict(X)


@pytest.mark.parametrize(
    ("kind", "choices", "why"),
    [
        (FairRanker, {"adjust": "turn"}, "shift"),
        (FairRanker, {"adjust": "shift", "goal": "within-group"}, "cross-group"),
        (FairRanker, {"adjust": "shift", "form": "robust"}, "robust"),
        (FairRegressor, {"adjust": "monotone"}, "predictions"),
    ],
)
def test_what_cannot_be_moved_for_is_refused(kind: Any, choices: Any, why: str) -> None:
    X, y, group = simulated(200)
    with pytest.raises(OptionError, match=why):
        kind(**QUICK, **choices).fit(X, y, sensitive_features=group)


def test_more_than_two_groups_are_refused() -> None:
    X, y, _ = simulated(300)
    with pytest.raises(TwoGroupsOnlyError):
        FairRanker(**QUICK, adjust="shift").fit(X, y, sensitive_features=np.arange(300) % 3)


def test_searches_compare_moving_with_training() -> None:
    X, y, group = simulated(600)
    with sklearn.config_context(enable_metadata_routing=True):
        model = FairRanker(**QUICK).set_fit_request(sensitive_features=True)
        search = GridSearchCV(model, {"adjust": [None, "shift"]}, cv=2, error_score="raise")
        found = search.fit(X, y, sensitive_features=group).cv_results_["mean_test_score"]
    assert np.isfinite(found).all()
