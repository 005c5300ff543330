"""Definitions of how residuals of one evaluator and one item, or of one pair, go together."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def products(
    cells: list[dict[tuple[int, int], float]], product: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """Sum products of two comparisons, and of their variances, over all pairs within a cell.

    `cells` has for every comparison the cells it is in, with the sign it has there.
    """
    found = total = 0.0
    for p, q in combinations(range(len(product)), 2):
        for cell in cells[p].keys() & cells[q].keys():
            found += cells[p][cell] * cells[q][cell] * product[p, q]
            total += weight[p] * weight[q]
    return found, total
