"""Degrees of freedom of clustered variances, against matrices and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity.inference.cluster_spread import cluster_spread


@given(seed=st.integers(0, 2**20), n_clusters=st.integers(3, 9))
def test_factors_and_dofs_are_those_of_the_matrix(seed: int, n_clusters: int) -> None:
    """W = (I - p 1') diag(v) (I - 1 p'), written out; one cell, so that its share is all."""
    rng = np.random.default_rng(seed)
    trials = rng.integers(1, 50, (n_clusters, 1)).astype(float)
    residuals = rng.normal(size=(n_clusters, 1)) * trials
    found = cluster_spread(trials, residuals, np.array([1.0]), np.array([2.0]))
    n = trials.sum()
    centre = np.eye(n_clusters) - trials / n

    def matrix(rho: float) -> np.ndarray:
        total = 2.0 * ((1 - rho) * trials + rho * trials**2).ravel()
        return centre @ np.diag(total) @ centre.T

    least, most = (np.trace(matrix(rho)) for rho in (0.0, 1.0))
    rho = float(np.clip((float((residuals**2).sum()) - least) / (most - least), 0, 1))
    model = matrix(rho)
    variance = 2.0 * ((1 - rho) * trials + rho * trials**2).sum()
    assert found.factors[0] == pytest.approx(variance / np.trace(model))
    assert found.dofs[0] == pytest.approx(np.trace(model) ** 2 / np.trace(model @ model))


def test_shares_of_cells_follow_their_squares() -> None:
    """Two cells in clusters of their own, of one size: 4 / 3 and 6 / 5 of their squares."""
    trials = np.zeros((10, 2))
    trials[:4, 0], trials[4:, 1] = 7.0, 3.0
    residuals = np.random.default_rng(1).normal(size=(10, 2)) * (trials > 0)
    factors, dofs = cluster_spread(trials, residuals, np.array([1.0, -1.0]), np.ones(2))
    squares = (residuals**2).sum(axis=0) / trials.sum(axis=0) ** 2
    assert factors * squares.sum() == pytest.approx(squares * np.array([4 / 3, 6 / 5]))
    assert dofs == pytest.approx([3, 5])
