"""Trained regressors: against least squares and a search over all coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from comparity import FairRegressor, pairwise_accuracy
from comparity.errors import OptionError

EVERYWHERE = {"validation_fraction": 0, "l2": 0.0}


@pytest.fixture(scope="module")
def task() -> tuple[np.ndarray, ...]:
    """Grades that are higher in one group, with a feature that nearly tells the group."""
    rng = np.random.default_rng(11)
    group, quality = rng.integers(0, 2, 400), rng.normal(size=400)
    X = np.column_stack([quality, group]) + [0.8, 0.4] * rng.normal(size=(400, 2))
    y = (3 + 0.5 * (quality + group) + 0.2 * rng.normal(size=400)).round(1)
    return X, y, group


def gap(y: np.ndarray, scores: np.ndarray, group: np.ndarray) -> float:
    matrix = pairwise_accuracy(y, scores, sensitive_features=group).matrix
    return abs(matrix[0, 1] - matrix[1, 0])


def test_without_a_goal_it_is_least_squares(task) -> None:
    X, y, _ = task
    model = FairRegressor(goal=None, steps=20, **EVERYWHERE).fit(X, y)
    expected = LinearRegression().fit(X, y)
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-5)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-5)
    assert model.score(X, y) == pytest.approx(expected.score(X, y))


def test_weighted_rows_give_weighted_least_squares(task) -> None:
    X, y, _ = task
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = FairRegressor(goal=None, steps=5, **EVERYWHERE).fit(X, y, sample_weight=weights)
    expected = LinearRegression().fit(X, y, sample_weight=weights)
    assert model.coef_ == pytest.approx(expected.coef_, rel=1e-5)


def test_within_the_slack_no_direction_has_a_much_smaller_error(task) -> None:
    """A direction fixes the order; the best scale and intercept along it are least squares.

    Directions that fall with the labels are left out: the best scale along them is zero.
    """
    X, y, group = task
    errors = []
    for angle in np.radians(np.arange(0, 360, 2)):
        scores = X @ [np.cos(angle), np.sin(angle)]
        slope = np.cov(scores, y)[0, 1] / scores.var(ddof=1)
        if slope > 0 and gap(y, scores, group) <= 0.05:
            errors.append(((y - y.mean() - slope * (scores - scores.mean())) ** 2).mean())
    model = FairRegressor(slack=0.05, steps=300, **EVERYWHERE).fit(X, y, sensitive_features=group)
    predicted = model.predict(X)
    assert gap(y, LinearRegression().fit(X, y).predict(X), group) > 0.1
    assert gap(y, predicted, group) <= 0.05
    assert ((predicted - y) ** 2).mean() <= min(errors) * 1.05
    assert model.training_.best.squared_error == pytest.approx(((predicted - y) ** 2).mean())


def test_the_units_of_labels_do_not_matter(task) -> None:
    X, y, group = task
    choices = {"slack": 0.05, "steps": 100, **EVERYWHERE}
    one = FairRegressor(**choices).fit(X, y, sensitive_features=group)
    two = FairRegressor(**choices).fit(X * [10, 0.1] + 5, 100 * y - 7, sensitive_features=group)
    again = (two.predict(X * [10, 0.1] + 5) + 7) / 100
    assert again == pytest.approx(one.predict(X), rel=1e-5)


def test_a_continuous_attribute_is_treated_alike_in_both_orders() -> None:
    rng = np.random.default_rng(6)
    age, quality = rng.normal(size=(2, 300))
    X = np.column_stack([quality, age]) + [0.8, 0.4] * rng.normal(size=(300, 2))
    y = quality + 0.5 * age
    model = FairRegressor(continuous=True, slack=0.05, steps=200, **EVERYWHERE)
    model.fit(X, y, sensitive_features=age)
    found, free = (
        pairwise_accuracy(y, scores, sensitive_features=age, continuous=True).matrix
        for scores in (model.predict(X), LinearRegression().fit(X, y).predict(X))
    )
    assert abs(free[0, 1] - free[1, 0]) > 0.1
    assert abs(found[0, 1] - found[1, 0]) <= 0.05


def test_a_convex_penalty_has_the_optimum_of_scipy(task) -> None:
    """Ridge: the mean squared error of standardised rows plus l2 times the squared coefficients."""
    X, y, _ = task
    Z, t = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    best = minimize(lambda w: ((Z @ w - t) ** 2).mean() + 0.3 * w @ w, np.zeros(2)).x
    model = FairRegressor(goal=None, l2=0.3, steps=1, validation_fraction=0).fit(X, y)
    assert model.coef_ * X.std(0) / y.std() == pytest.approx(best, abs=1e-4)


def test_accuracies_weigh_beside_the_squared_error(task) -> None:
    X, y, group = task
    model = FairRegressor(slack=0.01, steps=150, validation_fraction=0, random_state=0)
    training = model.fit(X, y, sensitive_features=group).training_
    weights, rates = training.cell_weights, training.start.terms
    assert sum(weights.values()) == pytest.approx(0, abs=1e-9)
    # Least squares orders the one more often rightly than the slack allows, the other less often.
    assert weights[max(rates, key=rates.get)] < -0.01 < 0.01 < weights[min(rates, key=rates.get)]
    assert weights["0 > 0"] == weights["1 > 1"] == 0
    assert "the squared error has weight 1" in str(training)
    free = model.set_params(goal=None).fit(X, y).training_
    assert set(free.cell_weights.values()) == {0}
    assert "Final weight" not in str(free)


def test_there_is_no_robust_form(task) -> None:
    X, y, group = task
    with pytest.raises(OptionError, match="no common least"):
        FairRegressor(form="robust").fit(X, y, sensitive_features=group)
