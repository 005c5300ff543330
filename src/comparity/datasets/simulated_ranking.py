"""The simulated ranking task of Narasimhan et al., whose accuracies are known in closed form.

Every query has 11 candidates, one of them positive, with two features that are normal in each group
and label. A linear score w is then normal, too, so that

    A(i > j) = Phi(w . (mu_+i - mu_-j) / sqrt(w' (S_+i + S_-j) w)).

The mean of negative items of group 0 is (-1, -1), as in the authors' code; the text prints (-1, 1),
with which their figures do not come out. The text prints (-1, 1) for the third group, too, and
again only (-1, -1) gives the figures: best robust 0.915 with marginals 0.066 apart (published 0.91,
0.07), best mixture within 0.01 0.713 (0.72); with (-1, 1) these are 0.716, 0.118 and 0.565.

References
----------
Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression", AAAI 2020.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

__all__ = ["MEANS", "SPREADS", "THREE", "TWO", "directions", "mixed", "population", "ranking"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MEANS = {
    (1, 0): (1.0, 0.0),
    (1, 1): (-1.5, 0.75),
    (0, 0): (-1.0, -1.0),
    (0, 1): (-2.0, -1.0),
    (1, 2): (1.5, 0.5),
    (0, 2): (-1.0, -1.0),
}
"""Mean of both features, by label and group."""
SPREADS = {(1, 0): 1.0, (1, 1): 0.5, (0, 0): 1.0, (0, 1): 1.0, (1, 2): 1.0, (0, 2): 1.0}
"""Variance of each feature, by label and group."""
TWO = (0.9, 0.1)
"""How often an item is of each of two groups."""
THREE = (0.45, 0.1, 0.45)
"""The same with three groups."""
CANDIDATES = 11


def ranking(
    queries: int, rng: np.random.Generator, shares: tuple[float, ...] = TWO
) -> tuple[Floats, Codes, Codes, Codes]:
    """Return features, labels, groups and queries of simulated candidates.

    Parameters
    ----------
    queries : int
        Number of queries, of 11 candidates each.
    rng : numpy.random.Generator
    shares : tuple of float
        How often an item is of each group.

    Examples
    --------
    >>> features, label, group, query = ranking(100, np.random.default_rng(0))
    >>> features.shape, int(label.sum()), int(query.max())
    ((1100, 2), 100, 99)
    """
    label = np.zeros((queries, CANDIDATES), dtype=np.int64)
    label[np.arange(queries), rng.integers(0, CANDIDATES, queries)] = 1
    group = rng.choice(len(shares), size=(queries, CANDIDATES), p=shares)
    features = np.empty((queries, CANDIDATES, 2))
    for y in (0, 1):
        for a in range(len(shares)):
            rows = (label == y) & (group == a)
            noise = np.sqrt(SPREADS[y, a]) * rng.normal(size=(rows.sum(), 2))
            features[rows] = np.array(MEANS[y, a]) + noise
    query = np.repeat(np.arange(queries), CANDIDATES)
    return features.reshape(-1, 2), label.ravel(), group.ravel(), query


def population(direction: Floats, shares: tuple[float, ...] = TWO) -> tuple[Floats, float]:
    """Return the matrix of accuracies, and the accuracy over all pairs, of a linear score.

    Parameters
    ----------
    direction : ndarray, (2,)
        Weights of the features.
    shares : tuple of float
        How often an item is of each group.

    Examples
    --------
    >>> matrix, overall = population(np.array([np.cos(0.707), np.sin(0.707)]))
    >>> matrix.round(2).tolist(), round(overall, 2)
    ([[0.94, 0.98], [0.73, 0.89]], 0.92)
    """
    k = len(shares)
    matrix = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            shift = direction @ (np.array(MEANS[1, i]) - np.array(MEANS[0, j]))
            spread = (SPREADS[1, i] + SPREADS[0, j]) * (direction @ direction)
            matrix[i, j] = norm.cdf(shift / np.sqrt(spread))
    return matrix, float(np.outer(shares, shares).ravel() @ matrix.ravel())


def mixed(
    scores: Floats, probabilities: Floats, shares: tuple[float, ...] = TWO
) -> tuple[Floats, float]:
    """Return the mean of both over a mixture of linear scores, one to a row."""
    found = [population(direction, shares) for direction in scores]
    matrix = np.sum([p * one[0] for p, one in zip(probabilities, found, strict=True)], axis=0)
    return matrix, float(probabilities @ np.array([one[1] for one in found]))


def directions(step: float = 0.1) -> Floats:
    """Return unit vectors all around: two features have no other linear orders.

    Parameters
    ----------
    step : float
        In degrees.
    """
    angles = np.radians(np.arange(0, 360, step))
    return np.column_stack([np.cos(angles), np.sin(angles)])
