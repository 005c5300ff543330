"""Polishing: gradients by finite differences, optima by another solver, and no harm done."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from comparity.errors import InfeasibleGoalWarning
from comparity.tables.features import labelled_items
from comparity.training.candidates import goal_terms, kind_of
from comparity.training.fitting import prepare_rows
from comparity.training.game import first_guess
from comparity.training.goals import choices_of
from comparity.training.polish import SmoothProblem, asked_of, polish
from comparity.training.rankers import FairRanker, FairRegressor

QUICK: dict[str, Any] = {"steps": 60, "progress": False}


def simulated(
    n: int, seed: int, *, binary: bool = False, noise: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One feature leans to group 1, one does not, and the rest is noise."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    y = rng.integers(0, 2, n).astype(float) if binary else rng.normal(size=n)
    told = np.column_stack([y + group, y]) + rng.normal(size=(n, 2))
    return np.hstack([told, rng.normal(size=(n, noise))]), y, group


def prepared(predicted: bool, n: int = 300, **asked: Any) -> tuple[Any, Any, Any]:
    """Return rows without any held out, choices, and what is compared."""
    X, y, group = simulated(n, 0, binary=not predicted)
    choices = choices_of(**asked, predicted=predicted, steps=20)
    items = labelled_items(y, y, group)
    rng = np.random.RandomState(0)
    how = {"predicted": predicted, "fraction": 0, "rng": rng}
    ready = prepare_rows(X, items, choices, **how)
    return ready, choices, goal_terms(ready.rows, ready.items.groups, choices, name="training")


def fitted(kind: Any, scorer: Any, seed: int, **choices: Any) -> Any:
    X, y, group = simulated(600, seed, binary=kind is FairRanker, noise=10)
    model = kind(**QUICK, scorer=scorer, random_state=seed, **{"slack": 0.03, **choices})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleGoalWarning)
        return model.fit(X, y, sensitive_features=group)


@pytest.mark.long
@pytest.mark.parametrize("scorer", ["linear", "neural", "boosted"])
@pytest.mark.parametrize("predicted", [True, False], ids=["regression", "ranking"])
@pytest.mark.parametrize(
    "asked",
    [{}, {"goal": ("all cells", "statistical parity")}, {"form": "robust"}],
    ids=["one difference", "many", "robust"],
)
def test_gradients_are_finite_differences(
    asked: dict[str, Any], predicted: bool, scorer: str
) -> None:
    if predicted and "form" in asked:
        return
    ready, choices, terms = prepared(predicted, n=80, **asked)
    kind = kind_of(scorer, **({"leaves": 3} if scorer == "boosted" else {}))
    from comparity.training.solve import _play_games

    found = _play_games(kind, ready, choices, progress=False)
    model = kind.parameters(found.models[-1], ready.rows, choices)
    limits = asked_of(ready.rows, terms, choices)
    problem = SmoothProblem(
        model=model,
        rows=ready.rows,
        asked=limits,
        width=0.4,
        multipliers=np.linspace(0.1, 0.3, len(limits.limit)),
        weight=5.0,
    )
    rng = np.random.default_rng(1)
    start = np.append(model.start, np.full(limits.levels.shape[1], 0.6))
    # Away from where rectifiers have a corner.
    start = start + 0.01 * rng.normal(size=len(start))
    value, slope = problem(start)
    some = rng.choice(len(start), min(12, len(start)), replace=False)

    def moved(at: np.ndarray) -> float:
        point = start.copy()
        point[some] = at
        return problem(point)[0]

    expected = approx_fprime(start[some], moved, 1e-7)
    assert np.isfinite(value)
    np.testing.assert_allclose(slope[some], expected, atol=2e-5)


def test_the_optimum_is_that_of_sequential_quadratic_programming() -> None:
    """SLSQP of scipy on the squared error, with the smoothed difference as its constraint."""
    ready, choices, terms = prepared(True, n=600, slack=0.02, l2=0.0)
    rows = ready.rows
    asked = asked_of(rows, terms, choices)
    model = kind_of("linear").parameters(first_guess(rows, choices), rows, choices)
    ours = polish(model, rows, asked).models[-1]
    spread = rows.scores(model.start).std()

    def error(at: np.ndarray) -> float:
        return float(np.mean((rows.scores(at) - rows.target) ** 2))

    def spare(at: np.ndarray) -> np.ndarray:
        return asked.limit - asked.rates @ rows.smoothed_accuracy(rows.scores(at), 0.3 * spread)[0]

    limits = {"type": "ineq", "fun": spare}
    theirs = minimize(error, model.start, method="SLSQP", constraints=limits).x
    assert spare(theirs).min() > -1e-6
    # Multipliers of three rounds leave a little, and smoothed differences are not the true ones.
    assert error(ours) == pytest.approx(error(theirs), rel=0.01)
    assert (asked.rates @ rows.accuracy(rows.scores(ours))).max() < 0.02 + 0.005


@pytest.mark.long
@pytest.mark.parametrize("kind", [FairRegressor, FairRanker])
@pytest.mark.parametrize("scorer", ["linear", "neural", "boosted"])
def test_by_the_rows_chosen_by_nothing_gets_worse(kind: Any, scorer: str) -> None:
    for seed in range(1 if scorer == "neural" else 3):
        before, after = (
            fitted(kind, scorer, seed, polish=polish, validation_fraction=0.4).training_
            for polish in (False, True)
        )
        assert after.feasible >= before.feasible
        if before.feasible and not before.training_share and not after.training_share:
            losses = [_loss(one.mixture) for one in (before, after)]
            assert losses[1] <= losses[0] + 1e-9


def _loss(outcome: Any) -> float:
    return 1 - outcome.accuracy if outcome.squared_error is None else outcome.squared_error


@pytest.mark.long
def test_a_squared_error_is_left_on_the_table_without() -> None:
    """On fresh rows, means of five simulated data sets; both keep the slack there."""
    gains = []
    for seed in range(5):
        X, y, _ = simulated(20_000, 100 + seed, noise=10)
        both = [fitted(FairRegressor, "linear", seed, polish=polish) for polish in (False, True)]
        gains.append([float(np.mean((one.predict(X) - y) ** 2)) for one in both])
    before, after = np.mean(gains, axis=0)
    assert after < before


def test_equal_scores_have_no_width() -> None:
    ready, choices, terms = prepared(True)
    model = kind_of("linear").parameters(np.zeros(2), ready.rows, choices)
    assert polish(model, ready.rows, asked_of(ready.rows, terms, choices)).models == []


def test_polishing_is_asked_for_by_yes_or_no() -> None:
    from comparity.errors import OptionError

    with pytest.raises(OptionError, match="polish"):
        fitted(FairRanker, "linear", 0, polish="often")
