"""Trees scored without LightGBM: the same numbers as LightGBM's own, bit for bit."""

from __future__ import annotations

import json
from typing import Any

import lightgbm
import numpy as np
import pytest

from comparity.training.kinds import trees_of
from comparity.training.model_files import SavedScorer, read_model, write_model
from comparity.training.models import TreesModel, sum_trees
from comparity.training.rows import Scale
from tests.plain.trees import sum_trees as walk_trees

P = 4
QUIET = {"verbosity": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
GROWN = {
    "plain": {"num_leaves": 31},
    "stumps": {"num_leaves": 2},
    "a chain": {"num_leaves": 64, "min_data_in_leaf": 1, "monotone_constraints": [1, 0, 0, 0]},
    "zeros missing": {"num_leaves": 15, "zero_as_missing": True},
    "nothing missing": {"num_leaves": 15, "use_missing": False},
    "nothing to split": {"num_leaves": 15, "min_data_in_leaf": 10**4},
}


def grow(params: dict[str, Any], *, lost: float, seed: int = 0) -> lightgbm.Booster:
    """Grow trees on features with zeros, ties, several scales, and some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, P)) * [1.0, 1e30, 1e-30, 1.0]
    X[rng.random(X.shape) < 0.2] = 0.0
    X[:, 3] = X[:, 3].round()
    y = X[:, 0] + (X[:, 1] > 0) - (X[:, 2] == 0) * X[:, 3] + 0.1 * rng.normal(size=500)
    X[rng.random(X.shape) < lost] = np.nan
    y += 1e2 * np.isnan(X[:, 3])
    asked = {**QUIET, **params}
    return lightgbm.train(asked, lightgbm.Dataset(X, label=y, params=asked), num_boost_round=30)


def awkward_rows(thresholds: np.ndarray) -> np.ndarray:
    """Return rows of every threshold, its neighbours, zeros, NaN, infinities and huge numbers."""
    special = [0.0, -0.0, 1e-35, -1e-35, 1e-36, 1.1e-35, 5e-324, 1.7e308, -1.7e308]
    near = [np.nextafter(thresholds, np.inf), thresholds, np.nextafter(thresholds, -np.inf)]
    values = np.concatenate([*near, special, [np.nan, np.inf, -np.inf, 1e300, 1e301]])
    return np.random.default_rng(1).choice(values, size=(4000, P))


@pytest.mark.parametrize("lost", [0.0, 0.2])
@pytest.mark.parametrize("name", GROWN)
def test_scores_are_those_of_lightgbm_bit_for_bit(name: str, lost: float) -> None:
    booster = grow(GROWN[name], lost=lost)
    trees = trees_of(booster, 30)
    thresholds = np.concatenate([tree.threshold for tree in trees])
    X = awkward_rows(thresholds[np.isfinite(thresholds)])
    assert np.array_equal(sum_trees(trees, X), booster.predict(X, raw_score=True))
    first = booster.predict(X, raw_score=True, num_iteration=7)
    assert np.array_equal(sum_trees(trees_of(booster, 7), X), first)


def test_thresholds_that_let_all_numbers_pass_occur_and_are_kept(tmp_path) -> None:
    trees = trees_of(grow({"num_leaves": 15}, lost=0.2), 30)
    assert any(np.isinf(tree.threshold).any() for tree in trees)
    assert {4, 3} <= {one for tree in trees for one in tree.missing.tolist()}
    scale = Scale(centre=np.zeros(P), unit=np.ones(P))
    saved = SavedScorer(kind="boosted", features=tuple("abcd"), model=TreesModel(trees, scale))
    write_model(tmp_path / "m.json", saved)
    back = read_model(tmp_path / "m.json").model
    X = awkward_rows(np.zeros(1))
    assert np.array_equal(sum_trees(back.trees, X), sum_trees(trees, X))
    plain = json.loads((tmp_path / "m.json").read_text("utf-8"))["model"]["trees"]
    assert [walk_trees(plain, row) for row in X[:50]] == sum_trees(trees, X[:50]).tolist()
