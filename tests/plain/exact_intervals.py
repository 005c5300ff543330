"""Exact tests and intervals of two proportions by enumeration: every table, every nuisance rate.

Limits are searched breadth-first over all gaps, on both sides at once, with steps of a hundredth
and then twenty times finer each time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from comparity.inference.exact import score_statistic

TIE = 1e-7
GRID = np.linspace(0, np.pi / 2, 129)

Vector = NDArray[np.float64]


def tables_as_extreme(
    x: int, n: int, y: int, m: int, gaps: Vector, side: str = "equal"
) -> NDArray[np.bool_]:
    """Say which tables are as extreme as the observed one, for each gap (last two axes)."""
    first, second = np.arange(n + 1)[:, None] / n, np.arange(m + 1) / m
    every = score_statistic(first, n, second, m, np.asarray(gaps)[..., None, None])
    observed = every[..., x, y][..., None, None]
    if side == "equal":
        return np.asarray(np.abs(every) >= np.abs(observed) - TIE)
    return np.asarray(every <= observed + TIE if side == "below" else every >= observed - TIE)


def largest_probability(region: NDArray[np.bool_], gap: float) -> float:
    """Return the largest probability of a set of tables over all rates with this gap."""
    angles, width = GRID, GRID[1]
    for _ in range(6):
        values = probability(region, gap, angles)
        # The three highest, in case two peaks are nearly as high.
        best = angles[np.argsort(values)[-3:]]
        largest = float(values.max())
        angles = np.clip(best[:, None] + width * np.linspace(-1, 1, 11), 0, np.pi / 2).ravel()
        width /= 5
    return min(largest, 1.0)


def probability(region: NDArray[np.bool_], gap: float, angles: Vector) -> Vector:
    n, m = region.shape[0] - 1, region.shape[1] - 1
    second = max(0.0, -gap) + (1 - abs(gap)) * np.sin(angles) ** 2
    first = np.clip(second + gap, 0, 1)
    one = binom.pmf(np.arange(n + 1), n, first[:, None])
    two = binom.pmf(np.arange(m + 1), m, np.clip(second, 0, 1)[:, None])
    return np.asarray(((one @ region) * two).sum(axis=1))


def p_value(x: int, n: int, y: int, m: int, gap: float, side: str = "equal") -> float:
    return largest_probability(tables_as_extreme(x, n, y, m, np.array(gap), side), gap)


def interval(x: int, n: int, y: int, m: int, alpha: float) -> tuple[float, float]:
    """Return the hull of the gaps that the two-sided test does not reject at alpha."""
    low = high = x / n - y / m
    starts, step, parts = np.array([-1.0]), 0.01, 200
    while step > 1e-6 and len(starts):
        alive = []
        for start in starts:
            gaps = np.round(start + step * np.arange(parts + 1), 9)
            regions = tables_as_extreme(x, n, y, m, gaps)
            kept = [g for g, r in zip(gaps, regions, strict=True) if exceeds(r, g, alpha)]
            low, high = min([low, *kept]), max([high, *kept])
            alive += [
                (left, right)
                for left, right, one, other in zip(
                    gaps, gaps[1:], regions, regions[1:], strict=False
                )
                if exceeds(one | other, left, alpha) or exceeds(one | other, right, alpha)
            ]
        starts = np.array([left for left, right in alive if left < low or right > high])
        step, parts = step / 20, 20
    return float(low), float(high)


def exceeds(region: NDArray[np.bool_], gap: float, alpha: float) -> bool:
    return largest_probability(region, float(gap)) > alpha
