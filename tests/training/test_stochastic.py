"""Mixtures of scores: who is drawn, and who is scored by the same member."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from comparity import FairRanker
from comparity.errors import LengthMismatchError, NonFiniteFeatureError
from comparity.training.models import LinearModel, StochasticScorer

MIXTURE = StochasticScorer(
    [LinearModel(np.array([slope, 0.0]), 0.0) for slope in (1.0, -1.0, 10.0)],
    np.array([0.5, 0.3, 0.2]),
)
QUERIES = 20_000


def test_every_query_is_scored_by_one_member_drawn_as_often_as_its_share() -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(np.repeat(np.arange(QUERIES), 3))
    X = np.column_stack([rng.uniform(1, 2, len(order)), rng.normal(size=len(order))])
    slope = MIXTURE.predict(X, queries=order, rng=1) / X[:, 0]
    by_query = slope[np.argsort(order)].reshape(QUERIES, 3)
    assert np.ptp(by_query, axis=1) == pytest.approx(0, abs=1e-12)
    for wanted, share in zip((1.0, -1.0, 10.0), MIXTURE.probabilities, strict=True):
        error = 4 * np.sqrt(share * (1 - share) / QUERIES)
        assert np.isclose(by_query[:, 0], wanted).mean() == pytest.approx(share, abs=error)


def test_without_queries_one_member_scores_everybody() -> None:
    X = np.array([[1.0, 5.0], [2.0, 7.0]])
    for seed in range(20):
        expected = MIXTURE.predict(X, MIXTURE.draw(seed))
        assert np.array_equal(MIXTURE.predict(X, rng=seed), expected)
    assert MIXTURE.predict(X, 2).tolist() == [10.0, 20.0]
    assert "of 3, drawn with probabilities 0.5, 0.3, 0.2" in repr(MIXTURE)


def test_bad_rows_are_named() -> None:
    with pytest.raises(NonFiniteFeatureError, match="data row 2"):
        MIXTURE.predict([[1.0, 2.0], [np.nan, 1.0]], 0)
    with pytest.raises(LengthMismatchError, match="queries: 1"):
        MIXTURE.predict([[1.0, 2.0], [2.0, 1.0]], queries=["a"])


@pytest.mark.parametrize("engine", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_a_mixture_takes_columns_in_the_order_of_training_alone(engine) -> None:
    rng = np.random.default_rng(3)
    group, y = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    columns = {"test": y + group + rng.normal(size=400), "age": rng.normal(size=400)}
    frame, turned = engine(columns), engine(dict(reversed(columns.items())))
    ranker = FairRanker(slack=0.02, steps=20, random_state=0)
    mixture = ranker.fit(frame, y, sensitive_features=group).stochastic_
    expected = np.column_stack(list(columns.values())) @ mixture.coefficients[0]
    assert mixture.predict(frame, 0) == pytest.approx(expected)
    for scorer in (mixture, ranker):
        with pytest.raises(ValueError, match="must be in the same order"):
            scorer.predict(turned)
