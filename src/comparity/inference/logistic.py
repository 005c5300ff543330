"""Logistic regression whose errors know that rows of one cluster depend on each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

RIDGE = 0.01
"""A prior of SD 10 keeps coefficients finite where one column decides every row."""
MOST_STEPS, SETTLED = 100, 1e-10
AT_ONCE = 20_000
"""Clusters left out at a time, which bounds memory."""


def logistic_with_clusters(
    design: Floats, won: NDArray[np.bool_], cluster: NDArray[Any], *, ridge: float = RIDGE
) -> tuple[list[float], list[float]]:
    """Return coefficients, and errors that allow for clusters by leaving out one at a time.

    Slopes of a cluster count for as much as one step of Newton moves coefficients without it (CV3
    of Cameron and Miller, 2015): a cluster with most rows fits its own outcomes, and its slopes
    alone tell too little. Errors are at least those of independent rows: residuals of outcomes that
    are all alike are zero, and tell nothing.

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
    covariance = _jackknife(design, won - expit(design @ point), point, cluster, inverse)
    variances = np.maximum(np.diagonal(covariance), np.diagonal(inverse))
    return point.tolist(), np.sqrt(variances).tolist()


def _jackknife(
    design: Floats, residuals: Floats, point: Floats, cluster: NDArray[Any], inverse: Floats
) -> Floats:
    """Return the covariance of coefficients by one step of Newton without each cluster."""
    codes = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    order, clusters, n = np.argsort(codes, kind="stable"), int(codes.max()) + 1, len(point)
    ends = np.searchsorted(codes[order], np.arange(0, clusters + AT_ONCE, AT_ONCE))
    bend, found = np.linalg.inv(inverse), np.zeros((n, n))
    for place, (low, high) in enumerate(pairwise(ends.tolist())):
        rows = order[low:high]
        x, code = design[rows], codes[rows] - place * AT_ONCE
        chance = expit(x @ point)
        many = int(code[-1]) + 1
        sums, bends = np.zeros((many, n)), np.zeros((many, n, n))
        np.add.at(sums, code, x * residuals[rows, None])
        for column in range(n):
            np.add.at(bends[:, column], code, x * (x[:, column] * chance * (1 - chance))[:, None])
        moved = np.linalg.solve(bend - bends, sums[:, :, None])[:, :, 0]
        found += moved.T @ moved
    return (clusters - 1) / clusters * found
