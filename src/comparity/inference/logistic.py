"""Logistic regression whose errors know that rows of one cluster depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

RIDGE = 0.01
"""A prior of SD 10 keeps coefficients finite where one column decides every row."""
MOST_STEPS, SETTLED = 100, 1e-10


def logistic_with_clusters(
    design: Floats, won: NDArray[np.bool_], cluster: NDArray[Any], *, ridge: float = RIDGE
) -> tuple[list[float], list[float]]:
    """Return coefficients, and errors that allow for clusters (Liang and Zeger, 1986; CR1).

    Errors are at least those of independent rows: residuals of outcomes that are all alike are
    zero, and tell nothing.

    Parameters
    ----------
    design : ndarray, (rows, columns)
    won : ndarray of bool
    cluster : ndarray
    ridge : float
        Precision of the prior of each coefficient.

    Examples
    --------
    >>> design = np.ones((8, 1))
    >>> won = np.array([1, 1, 0, 1, 1, 0, 1, 1]) == 1
    >>> [values[0] for values in logistic_with_clusters(design, won, np.arange(8), ridge=0.0)]
    [1.098612..., 0.872871...]
    """
    point = np.zeros(design.shape[1])
    inverse = np.eye(len(point))
    for _ in range(MOST_STEPS):
        chance = expit(design @ point)
        curvature = design.T @ (design * (chance * (1 - chance))[:, None])
        inverse = np.linalg.inv(curvature + ridge * np.eye(len(point)))
        step = inverse @ (design.T @ (won - chance) - ridge * point)
        # A long step may overshoot where outcomes are nearly certain.
        point += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < SETTLED:
            break
    codes = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    sums = np.zeros((int(codes.max()) + 1, len(point)))
    np.add.at(sums, codes, design * (won - expit(design @ point))[:, None])
    n, clusters = len(design), len(sums)
    factor = clusters / max(1, clusters - 1) * (n - 1) / max(1, n - len(point))
    covariance = factor * inverse @ (sums.T @ sums) @ inverse
    variances = np.maximum(np.diagonal(covariance), np.diagonal(inverse))
    return point.tolist(), np.sqrt(variances).tolist()
