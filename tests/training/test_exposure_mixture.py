"""Mixtures of two rankings: against linear programs over all matrices, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from comparity.training.exposure_program import best_mixture, least_difference

VALUES = st.integers(-6, 6).map(lambda value: value / 2)
ITEMS = st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=7)


def worths(n: int) -> np.ndarray:
    return 1 / np.log2(np.arange(n) + 2)


def program(u: np.ndarray, f: np.ndarray, slack: float) -> float:
    """Return the best utility over doubly stochastic matrices; nan where none keeps the limit."""
    n = len(u)
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    limit = np.outer(f, worths(n)).ravel()
    found = linprog(
        -np.outer(u, worths(n)).ravel(),
        np.vstack([limit, -limit]),
        [slack, slack],
        sums,
        np.ones(2 * n),
        bounds=(0, 1),
    )
    return -found.fun if found.status == 0 else np.nan


def exposures(rankings: np.ndarray, shares: np.ndarray) -> np.ndarray:
    n = rankings.shape[1]
    drawn = [np.bincount(ranking, worths(n), n) for ranking in rankings]
    return np.asarray(shares @ drawn)


@given(ITEMS, st.sampled_from([0.0, 0.1, 1.0, 10.0]))
def test_no_matrix_is_better_within_the_limit(
    items: list[tuple[float, float]], extra: float
) -> None:
    u, f = np.array(items).T
    slack = least_difference(f, worths(len(u))) + extra
    found = best_mixture(u, f, worths(len(u)), slack)
    assert found is not None
    seen = exposures(*found)
    assert abs(f @ seen) <= slack + 1e-9
    # The program's own tolerance is 1e-7.
    assert u @ seen >= program(u, f, slack + 1e-6) - 1e-4
    assert sum(found[1]) == pytest.approx(1)


@given(ITEMS)
def test_below_the_least_difference_there_is_none(items: list[tuple[float, float]]) -> None:
    u, f = np.array(items).T
    least = least_difference(f, worths(len(u)))
    if least > 0.01:
        assert best_mixture(u, f, worths(len(u)), 0.99 * least) is None
        assert np.isnan(program(u, f, 0.99 * least))


def test_many_items_keep_the_limit_to_rounding() -> None:
    rng = np.random.default_rng(0)
    u, group = rng.uniform(0, 1, 2000), rng.random(2000) < 0.3
    f = np.where(group, 1 / group.sum(), -1 / (~group).sum())
    u[group] *= 0.5
    rankings, shares = best_mixture(u, f, worths(2000), 0.0)
    seen = exposures(rankings, shares)
    assert f @ seen == pytest.approx(0, abs=1e-12)
    # Neither group can gain by an exchange of two of its own items.
    for own in (group, ~group):
        assert (np.diff(seen[own][np.argsort(u[own])]) >= 0).all()
