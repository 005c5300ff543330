"""Boosted trees as scores: against LightGBM's own objective and pairs counted one by one."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest

from comparity import BoostedTrees, FairRanker, FairRegressor
from comparity.errors import NoTreeError, OptionError
from comparity.tables.features import labelled_items
from comparity.training.kinds import curvature
from comparity.training.rows import CellWeights, Scale, training_rows
from tests.training.interaction import interaction

EVERYWHERE = {"validation_fraction": 0, "random_state": 0}


def test_without_a_goal_a_regression_is_that_of_lightgbm() -> None:
    """Witness: LightGBM's own squared error, from the mean of the labels on."""
    X, y, _ = interaction(400, seed=0)
    label = X[:, 0] * X[:, 1] + 0.1 * y
    trees = BoostedTrees(leaves=7, min_rows=10)
    model = FairRegressor(
        scorer=trees, goal=None, l2=0, steps=30, step_sizes=0.2, snapshots=1, **EVERYWHERE
    ).fit(X, label)
    same = {"num_leaves": 7, "min_child_samples": 10, "learning_rate": 0.2, "n_estimators": 30}
    other = lightgbm.LGBMRegressor(
        **same, min_child_weight=0, deterministic=True, force_row_wise=True, verbosity=-1
    ).fit(X, label)
    assert model.predict(X) == pytest.approx(other.booster_.predict(X), abs=1e-5)


@pytest.mark.parametrize("squared", [False, True])
def test_curvature_counts_the_pairs_of_each_row(squared: bool) -> None:
    X, y, group = interaction(30, seed=1)
    scale = Scale(centre=np.zeros(3), unit=np.ones(3))
    loss = "squared hinge" if squared else "hinge"
    choices = FairRanker(margin=0.5, loss=loss)._choices()
    rows = training_rows(X, labelled_items(y, y, group), np.arange(30), scale, choices)
    weights = CellWeights(0.0, np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 2.0, 0.0]))
    found = curvature(rows, weights, choices)
    expected = np.zeros(30)
    for better, worse, weight in ((0, 1, 1.0), (1, 0, 2.0)):
        above = np.flatnonzero((y == 1) & (group == better))
        below = np.flatnonzero((y == 0) & (group == worse))
        expected[above] += weight / len(above)
        expected[below] += weight / len(below)
    # A margin of one half: a pair bends by four, squared by eight.
    expected *= 8 if squared else 4
    assert found == pytest.approx(np.maximum(expected, 1e-6 * expected.mean()))


def test_candidates_are_the_first_trees_of_a_game() -> None:
    X, y, group = interaction(300, seed=2)
    model = FairRanker(scorer="boosted", steps=20, slack=0.05, step_sizes=(0.1, 0.3), **EVERYWHERE)
    model.fit(X, y, sensitive_features=group)
    assert 1 <= len(model.model_.trees) <= 20
    assert model.training_.best.accuracy == pytest.approx(model.score(X, y))


def test_a_learning_rate_that_errs_more_with_every_tree_is_refused() -> None:
    X, y, group = interaction(200, seed=4)
    model = FairRegressor(scorer="boosted", steps=5, step_sizes=2.1, **EVERYWHERE)
    with pytest.raises(OptionError, match="learning rate of at most 2"):
        model.fit(X, y, sensitive_features=group)


def test_rows_that_cannot_be_split_are_refused() -> None:
    X, y, group = interaction(36, seed=4)
    model = FairRanker(scorer="boosted", steps=5, **EVERYWHERE)
    with pytest.raises(NoTreeError, match="36 rows by 3 features into leaves of at least 20"):
        model.fit(X, y, sensitive_features=group)
    # LightGBM takes numbers below 1e-35 for 0.
    with pytest.raises(NoTreeError, match="features that vary"):
        model.set_params(scorer=BoostedTrees(min_rows=1)).fit(X * 1e-50, y, group)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"leaves": 1}, "leaves"),
        ({"min_rows": 0.5}, "min_rows"),
        ({"params": {"objective": "lambdarank"}}, "objective"),
        ({"params": {"n_estimators": 9}}, "steps="),
        ({"params": {"boosting": "dart"}}, "gbdt"),
        ({"params": {"cat_feature": [0]}}, "every category a column"),
        ({"params": {"linear_tree": True}}, "leaves are numbers"),
    ],
)
def test_choices_that_make_no_game_are_refused(choices: dict[str, Any], said: str) -> None:
    X, y, group = interaction(60, seed=3)
    with pytest.raises(OptionError, match=said):
        FairRanker(scorer=BoostedTrees(**choices)).fit(X, y, sensitive_features=group)
