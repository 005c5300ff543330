"""Exact tests and intervals of two proportions by enumeration: every table, every plausible rate.

Limits are searched breadth-first over all gaps, on both sides at once, with steps of a hundredth
and then twenty times finer each time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

from comparity.inference.proportions import restricted_rate

TIE, MISSED = 1e-7, 1e-8

Vector = NDArray[np.float64]
Rates = tuple[tuple[float, float], tuple[float, float]]


def score_statistic(
    first: Vector, n_first: int, second: Vector, n_second: int, gap: Vector
) -> Vector:
    """Return the statistic of observed rates, with rates that maximise the likelihood."""
    p, q, s = (np.asarray(value, dtype=np.float64) for value in (first, second, gap))
    excess = p - q - s
    excess = np.where(np.abs(excess) < 1e-14, 0, excess)
    # Rates near 1 lose digits that rates near 0 keep; misses have the same variance as hits.
    flip = p + q > 1
    p, q, s = np.where(flip, 1 - p, p), np.where(flip, 1 - q, q), np.where(flip, -s, s)
    rate = restricted_rate(p, n_first, q, n_second, s)
    other = np.clip(rate - s, 0, 1)
    error = np.sqrt(rate * (1 - rate) / n_first + other * (1 - other) / n_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(excess == 0, 0, excess / error)


def plausible_rates(x: int, n: int, y: int, m: int) -> Rates:
    """Return the intervals of Clopper and Pearson that together miss a rate with MISSED."""
    tails = MISSED / 4, 1 - MISSED / 4
    first, second = (
        (
            float(beta.ppf(tails[0], hits, trials - hits + 1)) if hits else 0.0,
            float(beta.ppf(tails[1], hits + 1, trials - hits)) if hits < trials else 1.0,
        )
        for hits, trials in ((x, n), (y, m))
    )
    return first, second


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


def largest_probability(region: NDArray[np.bool_], gap: float, rates: Rates) -> float:
    """Return the largest probability of a set of tables over plausible rates with this gap."""
    (low, high), (other_low, other_high) = rates
    ends = np.array([max(other_low, low - gap), min(other_high, high - gap)])
    if ends[0] > ends[1]:
        return 0.0
    parts = np.clip((ends - max(0.0, -gap)) / max(1 - abs(gap), 1e-300), 0, 1)
    start, end = np.arcsin(np.sqrt(parts))
    angles, width = np.linspace(start, end, 129), (end - start) / 128
    for _ in range(6):
        values = probability(region, gap, angles)
        # The three highest, in case two peaks are nearly as high.
        best = angles[np.argsort(values)[-3:]]
        largest = float(values.max())
        angles = np.clip(best[:, None] + width * np.linspace(-1, 1, 11), start, end).ravel()
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
    rates = plausible_rates(x, n, y, m)
    (low, high), (other_low, other_high) = rates
    if (side == "below" and low - other_high > gap) or (side == "above" and high - other_low < gap):
        return 1.0
    region = tables_as_extreme(x, n, y, m, np.array(gap), side)
    return min(largest_probability(region, gap, rates) + MISSED, 1.0)


def interval(x: int, n: int, y: int, m: int, alpha: float) -> tuple[float, float]:
    """Return the hull of the gaps that the two-sided test does not reject at alpha."""
    low = high = x / n - y / m
    rates, alpha = plausible_rates(x, n, y, m), alpha - MISSED
    starts, step, parts = np.array([-1.0]), 0.01, 200
    while step > 1e-6 and len(starts):
        alive = []
        for start in starts:
            gaps = np.round(start + step * np.arange(parts + 1), 9)
            regions = tables_as_extreme(x, n, y, m, gaps)
            kept = [g for g, r in zip(gaps, regions, strict=True) if exceeds(r, g, rates, alpha)]
            low, high = min([low, *kept]), max([high, *kept])
            alive += [
                (left, right)
                for left, right, one, other in zip(
                    gaps, gaps[1:], regions, regions[1:], strict=False
                )
                if exceeds(one | other, left, rates, alpha)
                or exceeds(one | other, right, rates, alpha)
            ]
        starts = np.array([left for left, right in alive if left < low or right > high])
        step, parts = step / 20, 20
    return float(low), float(high)


def exceeds(region: NDArray[np.bool_], gap: float, rates: Rates, alpha: float) -> bool:
    return largest_probability(region, float(gap), rates) > alpha
