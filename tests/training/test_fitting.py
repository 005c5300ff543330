"""What is done before training: units of features, rows that cannot be trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from comparity import FairRanker, FairRegressor, MetaFairClassifier
from comparity.errors import ConstantFeaturesError, EmptyCellError, OptionError, OutOfRangeError
from comparity.tables.features import labelled_items
from comparity.training.fitting import prepare_rows
from comparity.training.goals import choices_of
from tests.training.interaction import interaction

# Networks load torch.
NEURAL = pytest.param("neural", marks=pytest.mark.long)


@pytest.mark.parametrize("unit", [1e-90, 1e-20, 1e20])
def test_a_feature_counts_alike_in_any_unit(unit: float) -> None:
    X, y, group = interaction(400, seed=0)
    shared = {"steps": 40, "slack": 0.5, "random_state": 0}
    coefficients = FairRanker(**shared).fit(X, y, group).coef_
    scaled = FairRanker(**shared).fit(X * [1, 1, unit], y, group).coef_
    assert scaled * [1, 1, unit] == pytest.approx(coefficients, rel=1e-6)


@pytest.mark.parametrize("estimator", [FairRanker, FairRegressor])
@pytest.mark.parametrize("value", [0.0, 5.0, 1e9 + 1e-7])
def test_a_constant_feature_counts_for_nothing(estimator: Any, value: float) -> None:
    X, y, group = interaction(400, seed=0)
    model = estimator(steps=40, slack=0.5, random_state=0)
    constant = np.full((400, 1), value)
    coefficients = model.fit(np.hstack([X, constant]), y, group).coef_
    assert coefficients[3] == 0
    # One feature more makes steps shorter by the root of 3 / 4.
    step = model.step_sizes * np.sqrt(3 / 4)
    assert coefficients[:3] == pytest.approx(
        model.set_params(step_sizes=step).fit(X, y, group).coef_
    )


@pytest.mark.parametrize("scorer", ["linear", NEURAL])
def test_a_feature_that_was_constant_may_vary_later(scorer: str) -> None:
    X, y, group = interaction(400, seed=0)
    X[:, 2] = 7.0
    model = FairRanker(scorer=scorer, steps=5, slack=0.5, random_state=0).fit(X, y, group)
    assert np.array_equal(model.predict(X + np.array([0, 0, 1e6])), model.predict(X))


@pytest.mark.parametrize("estimator", [FairRanker, FairRegressor])
def test_where_a_feature_has_its_zero_does_not_matter(estimator: Any) -> None:
    """Whole numbers lose no digit where one as large as 2**40 is added."""
    X, y, group = interaction(400, seed=0)
    X = np.round(X * 2**10)
    model = estimator(steps=40, slack=0.5, random_state=0)
    coefficients = model.fit(X, y, group).coef_
    moved = X + np.array([2**40, -(2**30), 0])
    assert model.fit(moved, y, group).coef_ == pytest.approx(coefficients, rel=1e-5)


def test_a_ranking_needs_a_feature_that_varies() -> None:
    _, y, group = interaction(40, seed=0)
    with pytest.raises(ConstantFeaturesError, match=r"2 features, the same or .* all 40 rows"):
        FairRanker(validation_fraction=0).fit(np.ones((40, 2)), y, group)
    model = FairRegressor(validation_fraction=0, goal=None, steps=5).fit(np.ones((40, 2)), y)
    assert model.predict([[1, 1]]) == pytest.approx([np.mean(y)])


@pytest.mark.parametrize("unit", [1e-200, 1e-20, 1e25])
def test_labels_are_predicted_in_their_own_unit(unit: float) -> None:
    X, y, group = interaction(400, seed=0)
    model = FairRegressor(steps=40, slack=0.5, random_state=0)
    coefficients = model.fit(X, y, group).coef_
    assert model.fit(X, y * unit, group).coef_ / unit == pytest.approx(coefficients)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, np.column_stack])
@pytest.mark.parametrize(
    "model", [FairRanker(steps=5, slack=1.0, random_state=0), MetaFairClassifier()]
)
def test_groups_may_be_the_one_column_of_a_frame(frame: Any, model: Any) -> None:
    X, y, group = interaction(200, seed=0)
    expected = model.fit(X, y, sensitive_features=group).predict(X)
    table = frame([group]) if frame is np.column_stack else frame({"sex": group})
    assert np.array_equal(model.fit(X, y, sensitive_features=table).predict(X), expected)
    both = frame([group, y]) if frame is np.column_stack else frame({"sex": group, "old": y})
    with pytest.raises(OptionError, match=r"(?s)2 columns.*join several"):
        model.fit(X, y, sensitive_features=both)


@pytest.mark.parametrize("scorer", ["linear", NEURAL, "boosted"])
def test_numbers_whose_squares_are_none_are_named(scorer: str) -> None:
    X, y, group = interaction(400, seed=0)
    X[3, 1] = -1e31
    model = FairRegressor(scorer=scorer, validation_fraction=0, steps=2)
    with pytest.raises(OutOfRangeError, match=r"(?s)X\[:, 1\].*at most 1e\+30.*data row 4"):
        model.fit(X, y, group)
    with pytest.raises(OutOfRangeError, match=r"(?s)'y'.*at most 1e\+30"):
        model.fit(X[:, :1], y * 1e31, group)
    with pytest.raises(OutOfRangeError, match="at most"):
        model.set_params(goal=None).fit(X[:, :1], y).predict([[2e30]])


class Drawn:
    """What draws, told the query to hold out."""

    def __init__(self, query: int) -> None:
        self.query = query

    def uniform(self, size: int) -> np.ndarray:
        return (np.arange(size) != self.query).astype(float)

    def randint(self, high: int) -> int:
        return 0


@pytest.mark.parametrize(("held", "named"), [(0, "training"), (1, "held out")])
def test_a_kind_of_pair_that_either_part_lacks_is_refused(held: int, named: str) -> None:
    """In the second of two queries nobody of group 1 is better than anybody."""
    group, query = np.arange(40) % 2, np.repeat([0, 1], 20)
    y = np.arange(40) // 2 % 2 * ((group == 0) | (query == 0))
    items = labelled_items(y, y, group, queries=query)
    with pytest.raises(EmptyCellError, match=f"do not occur in the {named} rows"):
        prepare_rows(
            np.arange(40.0)[:, None],
            items,
            choices_of(),
            predicted=False,
            fraction=0.5,
            rng=Drawn(held),
        )
