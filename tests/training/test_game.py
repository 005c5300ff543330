"""The game: what its referee converges to, and its model player against convex solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from comparity.training.game import Constraints, Minima, Nothing, Pace, play
from comparity.training.losses import labelled_pairs


def test_multipliers_are_the_stationary_vector_of_the_matrix() -> None:
    referee = Constraints(np.array([[1.0, -1.0], [-1.0, 1.0]]), 0.01)
    rng = np.random.default_rng(0)
    for _ in range(50):
        referee.see(rng.uniform(0.5, 1, 2), 0.5)
    values, vectors = np.linalg.eig(referee._matrix)
    vector = np.real(vectors[:, np.argmax(np.real(values))])
    assert referee.multipliers() == pytest.approx(vector / vector.sum())
    assert referee._matrix.sum(axis=0) == pytest.approx(1)


def test_swap_regret_vanishes() -> None:
    """No rule that replaces one constraint by another everywhere would have gained more."""
    rng = np.random.default_rng(1)
    referee = Constraints(np.eye(3), 0.0)
    steps, gained, swapped = 4000, 0.0, np.zeros((4, 4))
    for step in range(steps):
        # The rates answer what the referee does, as a model would.
        now = referee.multipliers().copy()
        rates = np.clip(0.5 - now[1:] + 0.2 * np.sin(step / 50 + np.arange(3)), -1, 1)
        rates += 0.1 * rng.normal(size=3)
        payoff = np.append(0.0, rates)
        gained += now @ payoff
        swapped += np.outer(now, payoff)
        referee.see(rates, 0.1)
    regret = (swapped.max(axis=1).sum() - gained) / steps
    assert regret < 0.03


def test_minima_move_weight_to_the_least_rate() -> None:
    referee = Minima([np.eye(2, 4), np.eye(4)[2:]])
    for _ in range(20):
        referee.see(np.array([0.9, 0.6, 0.7, 0.7]), 1.0)
    weights = referee.weights()
    assert weights.wrong[1] > 0.99 / 2
    assert weights.wrong[2:] == pytest.approx([0.25, 0.25])
    assert weights.objective == 0
    assert not weights.right.any()


def small(n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n).astype(float)
    return np.column_stack([y, -y]) * 0.4 + rng.normal(size=(n, 2)), y


@pytest.mark.parametrize("squared", [False, True])
def test_without_a_goal_the_model_reaches_the_convex_optimum(squared: bool) -> None:
    """Witness: scipy, the hinge as a linear program over all pairs, its square by BFGS."""
    X, y = small()
    family = labelled_pairs(y, np.zeros(len(y), dtype=int), ("all",))
    ones = np.ones(1)

    def gradient(w, weights):
        sums = family.sums(X @ w, wrong=weights.objective * ones, squared=squared)
        return sums.accuracy, X.T @ sums.gradient

    run = {"pace": Pace(0.02, 0), "steps": 3000, "referee_rate": 1.0, "snapshots": 50}
    found = play(gradient, np.zeros(2), Nothing(1), **run)
    value = min(family.sums(X @ w, wrong=ones, squared=squared).wrong[0] for w in found.models)
    better, worse = np.nonzero(y[:, None] > y[None, :])
    apart = X[better] - X[worse]
    if squared:
        expected = minimize(lambda w: (np.maximum(0, 1 - apart @ w) ** 2).mean(), [0, 0]).fun
    else:
        p = len(apart)
        limits = np.column_stack([-apart, -np.eye(p)])
        free = [(None, None)] * 2 + [(0, None)] * p
        target = np.append(np.zeros(2), np.full(p, 1 / p))
        expected = linprog(target, A_ub=limits, b_ub=-np.ones(p), bounds=free).fun
    assert value == pytest.approx(expected, abs=2e-3)


def test_snapshots_are_spread_and_include_the_last_step() -> None:
    seen = []

    def gradient(w, weights):
        seen.append(w.copy())
        return np.ones(1), np.ones(1)

    ticks = iter(range(100))
    run = {"pace": Pace(0.1, 0, ticks), "steps": 10, "referee_rate": 1.0, "snapshots": 4}
    found = play(gradient, np.zeros(1), Nothing(1), **run)
    assert [seen.index(w) for w in found.models] == [0, 3, 6, 9]
    assert next(ticks) == 10
