"""A world that no linear score can order: quality is a product of two features."""

from __future__ import annotations

import numpy as np


def interaction(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups; a third feature knows the label, and leans to group 1."""
    rng = np.random.default_rng(seed)
    group, both = rng.integers(0, 2, n), rng.normal(size=(n, 2))
    y = (2 * both.prod(axis=1) + 0.5 * rng.normal(size=n) > 0).astype(int)
    leaning = y + 1.5 * group + rng.normal(size=n)
    return np.column_stack([both, leaning]), y, group
