from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from comparity.errors import TooFewSubjectsError
from comparity.relative.prediction import (
    predict_by_parts,
    predict_held_out,
    predict_in_sample,
    regressor_of,
)
from comparity.relative.subjects import DecidedSubjects, decided_subjects


class Spy(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the mean of what it was fitted to, and tells which rows it saw."""

    fitted: ClassVar[list[set[int]]] = []
    asked: ClassVar[list[set[int]]] = []

    def fit(self, X: Any, y: Any) -> Spy:
        Spy.fitted.append(set(X[:, 0].astype(int)))
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        Spy.asked.append(set(X[:, 0].astype(int)))
        return np.full(len(X), self.mean_)


@pytest.fixture(autouse=True)
def forget() -> None:
    Spy.fitted.clear()
    Spy.asked.clear()


def people(n: int = 53, m: int = 40, shared: int = 0) -> tuple[DecidedSubjects, Any]:
    """Subjects whose only feature is their number; the last ones of the first are shared."""
    rng = np.random.default_rng(0)
    ids = np.arange(n), np.arange(n - shared, n - shared + m)
    decisions = tuple(rng.normal(size=len(one)) for one in ids)
    groups = tuple(one % 3 == 0 for one in ids)
    found = decided_subjects(decisions, groups, ids)  # type: ignore[arg-type]
    return found, (ids[0][:, None].astype(float), ids[1][:, None].astype(float))


def test_no_subject_is_predicted_by_a_model_that_saw_it() -> None:
    subjects, features = people(shared=15)
    predict_by_parts(subjects, features, Spy(), folds=5, rng=np.random.default_rng(1))
    of_first, of_second = Spy.asked[::2], Spy.asked[1::2]
    assert not any(seen & left_out for seen, left_out in zip(Spy.fitted, of_first, strict=True))
    assert set.union(*of_first) == set(range(53))
    assert sum(map(len, of_first)) == 53
    assert all(asked == set(range(38, 78)) for asked in of_second)


def test_the_second_is_predicted_by_the_mean_of_all_models() -> None:
    subjects, features = people()
    found = predict_by_parts(subjects, features, Spy(), folds=5, rng=np.random.default_rng(1))
    means = [np.mean(subjects.decisions[0][sorted(rows)]) for rows in Spy.fitted]
    assert found.second == pytest.approx(np.full(40, np.mean(means)))


def test_a_shared_subject_has_one_prediction_on_both_sides() -> None:
    subjects, features = people(shared=15)
    found = predict_by_parts(
        subjects, features, KNeighborsRegressor(1), folds=5, rng=np.random.default_rng(1)
    )
    rows = subjects.twin >= 0
    assert rows.sum() == 15
    assert found.second[rows] == pytest.approx(found.first[subjects.twin[rows]])
    assert not np.isin(found.second[rows], subjects.decisions[0][subjects.twin[rows]]).all()


def test_every_part_has_its_share_of_every_group() -> None:
    subjects, features = people()
    predict_by_parts(subjects, features, Spy(), folds=5, rng=np.random.default_rng(1))
    ones = [sum(row % 3 == 0 for row in asked) for asked in Spy.asked[::2]]
    zeros = [sum(row % 3 != 0 for row in asked) for asked in Spy.asked[::2]]
    assert max(ones) - min(ones) <= 1
    assert max(zeros) - min(zeros) <= 1


def test_the_share_held_out_is_not_fitted_to() -> None:
    subjects, features = people(60)
    found = predict_held_out(subjects, features, Spy(), share=0.25, rng=np.random.default_rng(1))
    assert found.judged.sum() == 15
    assert Spy.fitted == [set(np.flatnonzero(~found.judged))]


def test_in_sample_predictions_are_those_of_one_fit_to_everything() -> None:
    subjects, features = people()
    found = predict_in_sample(subjects, features, LinearRegression(), rng=np.random.default_rng(1))
    model = LinearRegression().fit(features[0], subjects.decisions[0])
    assert found.first == pytest.approx(model.predict(features[0]))
    assert found.second == pytest.approx(model.predict(features[1]))


def test_a_random_regressor_is_repeated_by_its_seed_and_left_as_it_was() -> None:
    subjects, features = people()
    forest = RandomForestRegressor(5)
    one, two = (
        predict_by_parts(subjects, features, forest, folds=3, rng=np.random.default_rng(7))
        for _ in range(2)
    )
    assert (one.second == two.second).all()
    assert not hasattr(forest, "estimators_")
    assert forest.random_state is None


def test_a_group_smaller_than_the_folds_is_refused() -> None:
    subjects, features = people(12)
    with pytest.raises(TooFewSubjectsError, match="at least 10 subjects for 10 folds"):
        predict_by_parts(subjects, features, Spy(), folds=10, rng=np.random.default_rng(1))
    with pytest.raises(TooFewSubjectsError, match="hold out 10%"):
        predict_held_out(subjects, features, Spy(), share=0.1, rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", ["ridge", "forest"])
def test_named_regressors_learn_a_line(name: str) -> None:
    x = np.linspace(0, 1, 200)[:, None]
    assert regressor_of(name).fit(x, 3 * x[:, 0]).score(x, 3 * x[:, 0]) > 0.95
