"""Goals kept by moving scores: against the functions themselves, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV

from comparity import pairwise_accuracy
from comparity.errors import OptionError, TwoGroupsOnlyError
from comparity.errors.fits import UnknownMovesError
from comparity.training.group_shift import group_shift
from comparity.training.rankers import FairRanker, FairRegressor

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
