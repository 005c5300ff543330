"""Definitions of how residuals of one evaluator and one item, or of one pair, go together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np


def products(
    cells: list[dict[tuple[int, int], float]],
    product: np.ndarray,
    weight: np.ndarray,
    part: Mapping[tuple[int, int], float] | None = None,
) -> tuple[float, float]:
    """Sum products of two comparisons, and of their variances, over all pairs within a cell.

    `cells` has for every comparison the cells it is in, with the sign it has there; `part` is what
    of a cell's variances counts, all by default.
    """
    found = total = 0.0
    for p, q in combinations(range(len(product)), 2):
        for cell in cells[p].keys() & cells[q].keys():
            found += cells[p][cell] * cells[q][cell] * product[p, q]
            total += weight[p] * weight[q] * (1.0 if part is None else part[cell])
    return found, total
