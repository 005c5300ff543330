"""Covariances over pairs, by listing the pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def differences(
    columns: np.ndarray, label: Sequence[float], query: Sequence[int], weights: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return better less worse in every column for every pair, and the weights of the pairs."""
    n = len(label)
    pairs = [(i, j) for i in range(n) for j in range(n) if label[i] > label[j]]
    pairs = [(i, j) for i, j in pairs if query[i] == query[j]]
    rows = np.array([columns[i] - columns[j] for i, j in pairs])
    return rows.reshape(len(pairs), -1), np.array([weights[i] * weights[j] for i, j in pairs])
