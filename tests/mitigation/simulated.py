"""The simulated ranking task of Narasimhan et al., whose accuracies are known in closed form.

Every linear score is normal in each group and label, so that
A(i > j) = Phi(w.(mu_+i - mu_-j) / sqrt(w'(S_+i + S_-j) w)). The mean of negative items of group 0
is (-1, -1), as in the authors' code; the text prints (-1, 1), with which their figures do not
come out. The text prints (-1, 1) for the third group, too, and again only (-1, -1) gives the
figures: best robust 0.915 with marginals 0.066 apart (published 0.91, 0.07), best mixture within
0.01 0.713 (0.72); with (-1, 1) these are 0.716, 0.118 and 0.565.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

MEANS = {
    (1, 0): (1.0, 0.0),
    (1, 1): (-1.5, 0.75),
    (0, 0): (-1.0, -1.0),
    (0, 1): (-2.0, -1.0),
    (1, 2): (1.5, 0.5),
    (0, 2): (-1.0, -1.0),
}
SPREADS = {(1, 0): 1.0, (1, 1): 0.5, (0, 0): 1.0, (0, 1): 1.0, (1, 2): 1.0, (0, 2): 1.0}
TWO = (0.9, 0.1)
THREE = (0.45, 0.1, 0.45)


def ranking(
    queries: int, rng: np.random.Generator, shares: tuple[float, ...] = TWO
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels, groups and queries: 11 candidates each, one of them positive."""
    label = np.zeros((queries, 11), dtype=int)
    label[np.arange(queries), rng.integers(0, 11, queries)] = 1
    group = rng.choice(len(shares), size=(queries, 11), p=shares)
    features = np.empty((queries, 11, 2))
    for y in (0, 1):
        for a in range(len(shares)):
            rows = (label == y) & (group == a)
            noise = np.sqrt(SPREADS[y, a]) * rng.normal(size=(rows.sum(), 2))
            features[rows] = np.array(MEANS[y, a]) + noise
    query = np.repeat(np.arange(queries), 11)
    return features.reshape(-1, 2), label.ravel(), group.ravel(), query


def population(direction: np.ndarray, shares: tuple[float, ...] = TWO) -> tuple[np.ndarray, float]:
    """Return the matrix of accuracies and the accuracy over all pairs, for a linear score."""
    k = len(shares)
    matrix = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            shift = direction @ (np.array(MEANS[1, i]) - np.array(MEANS[0, j]))
            spread = (SPREADS[1, i] + SPREADS[0, j]) * (direction @ direction)
            matrix[i, j] = norm.cdf(shift / np.sqrt(spread))
    return matrix, float(np.outer(shares, shares).ravel() @ matrix.ravel())


def mixed(
    directions: np.ndarray, probabilities: np.ndarray, shares: tuple[float, ...] = TWO
) -> tuple[np.ndarray, float]:
    """Return the mean of both over a mixture of scores."""
    found = [population(direction, shares) for direction in directions]
    matrix = np.sum([p * one[0] for p, one in zip(probabilities, found, strict=True)], axis=0)
    return matrix, float(probabilities @ [one[1] for one in found])


def directions(step: float = 0.1) -> np.ndarray:
    """Return unit vectors all around: two features have no other linear orders."""
    angles = np.radians(np.arange(0, 360, step))
    return np.column_stack([np.cos(angles), np.sin(angles)])
