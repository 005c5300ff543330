"""Kernels of the score and the exact test of two independent proportions.

Everything is vectorised over hypothesised gaps and over tables. The definitions, written as plain
loops, are in ``tests/plain/two_proportions.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

__all__ = ["largest_probability", "restricted_rate", "score_statistic"]

# The probability of a set of tables is a polynomial in the nuisance rate. On the scale on which
# binomial rates have constant spread, its peaks are many of these grid steps wide at 60 trials, so
# that the largest value on the grid lacks less than a hundredth of the largest value of all.
GRID = np.linspace(0, np.pi / 2, 129)
GRID_ACCURACY = 0.98
PEAKS, ZOOM, ROUNDS = 3, np.linspace(-1, 1, 11), 5
# Newton's steps that bring the closed-form root to full precision where two roots nearly meet, as
# they do for rare hits among very many trials.
POLISH = 4
# A difference of two rates is exact up to this.
ROUNDING = 1e-14


def restricted_rate(
    first: ArrayLike, n_first: ArrayLike, second: ArrayLike, n_second: ArrayLike, gap: ArrayLike
) -> NDArray[np.float64]:
    r"""Return the likeliest first rate if the first minus the second rate is `gap`.

    The root of the cubic :math:`a p^3 + b p^2 + c p + d = 0` in closed form (Farrington and
    Manning 1990), with observed rates `first` and `second`. Arguments are broadcast.
    """
    p, q, s = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (first, second, gap))
    )
    ratio = np.asarray(n_second, dtype=np.float64) / np.asarray(n_first, dtype=np.float64)
    a = 1 + ratio
    b = -(1 + ratio + p + ratio * q + s * (ratio + 2))
    c = s**2 + s * (2 * p + ratio + 1) + p + ratio * q
    d = -p * s * (1 + s)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a**2) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 0)), v)
    cosine = np.divide(v, u**3, out=np.zeros_like(v), where=u != 0)
    angle = (np.pi + np.arccos(np.clip(cosine, -1, 1))) / 3
    low, high = np.maximum(0, s), np.minimum(1, 1 + s)
    root: NDArray[np.float64] = np.clip(2 * u * np.cos(angle) - b / (3 * a), low, high)
    for _ in range(POLISH):
        value = ((a * root + b) * root + c) * root + d
        slope = (3 * a * root + 2 * b) * root + c
        step = np.divide(value, slope, out=np.zeros_like(root), where=np.abs(slope) > 1e-13)
        root = np.clip(root - step, low, high)
    # Of equal rates the likeliest is the pooled one, without rounding.
    return np.where(s == 0, (p + ratio * q) / a, root)


def score_statistic(
    first: ArrayLike, n_first: int, second: ArrayLike, n_second: int, gap: ArrayLike
) -> NDArray[np.float64]:
    """Return the observed minus the hypothesised gap in standard errors under the hypothesis.

    `first` and `second` are observed rates. 0 where the observed gap is the hypothesised one, and
    infinite where the hypothesis leaves no other outcome.
    """
    p, q, s = (np.asarray(value, dtype=np.float64) for value in (first, second, gap))
    excess = p - q - s
    excess = np.where(np.abs(excess) < ROUNDING, 0, excess)
    # Rates near 1 lose digits that rates near 0 keep; misses have the same variance as hits.
    flip = p + q > 1
    p, q, s = np.where(flip, 1 - p, p), np.where(flip, 1 - q, q), np.where(flip, -s, s)
    rate = restricted_rate(p, n_first, q, n_second, s)
    other = np.clip(rate - s, 0, 1)
    error = np.sqrt(rate * (1 - rate) / n_first + other * (1 - other) / n_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(excess == 0, 0, excess / error)


def largest_probability(
    region: NDArray[np.bool_], gaps: NDArray[np.float64], *, decide_at: float | None = None
) -> NDArray[np.float64]:
    """Return the largest probability of sets of tables over all rates with the given gaps.

    Parameters
    ----------
    region : ndarray of bool, shape (n_gaps, n_first + 1, n_second + 1)
        Which numbers of hits belong to the set, for each gap.
    gaps : ndarray, shape (n_gaps,)
        First minus second rate, between -1 and 1.
    decide_at : float, optional
        Work out only on which side of this number each result lies.
    """
    weights = region.astype(np.float64)
    values = _probability(weights, gaps, np.broadcast_to(GRID, (len(gaps), len(GRID))))
    largest = np.asarray(values.max(axis=1))
    unsure = np.ones(len(gaps), dtype=bool)
    if decide_at is not None:
        unsure = (largest <= decide_at) & (largest >= GRID_ACCURACY * decide_at)
    if unsure.any():
        refined = _refined(weights[unsure], gaps[unsure], values[unsure])
        largest[unsure] = np.maximum(largest[unsure], refined)
    return np.asarray(np.minimum(largest, 1))


def _refined(
    weights: NDArray[np.float64], gaps: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the largest probability near the highest peaks of the values on the grid."""
    padded = np.pad(values, ((0, 0), (1, 1)), constant_values=-1)
    is_peak = (values >= padded[:, :-2]) & (values >= padded[:, 2:])
    highest = np.argpartition(np.where(is_peak, values, -1), -PEAKS, axis=1)[:, -PEAKS:]
    centres, width = GRID[highest], GRID[1]
    for _ in range(ROUNDS):
        around = np.clip(centres[:, :, None] + width * ZOOM, 0, np.pi / 2)
        nearby = _probability(weights, gaps, around.reshape(len(gaps), -1)).reshape(around.shape)
        best = nearby.argmax(axis=2)[:, :, None]
        centres = np.take_along_axis(around, best, axis=2)[:, :, 0]
        width *= ZOOM[1] - ZOOM[0]
    return np.asarray(nearby.max(axis=(1, 2)))


def _probability(
    weights: NDArray[np.float64], gaps: NDArray[np.float64], angles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability of each set at nuisance rates given as angles of each gap."""
    low, high = np.maximum(0, -gaps)[:, None], np.minimum(1, 1 - gaps)[:, None]
    second = low + (high - low) * np.sin(angles) ** 2
    first = np.clip(second + gaps[:, None], 0, 1)
    n_first, n_second = weights.shape[1] - 1, weights.shape[2] - 1
    joint = (_binomial(n_first, first) @ weights) * _binomial(n_second, second)
    return np.asarray(joint.sum(axis=2))


def _binomial(n: int, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of 0 to n hits, along a new last axis."""
    hits = np.arange(n + 1)
    choose = gammaln(n + 1) - gammaln(hits + 1) - gammaln(n - hits + 1)
    # Rates of 0 and 1 are moved by less than one rounding error, so that 0 * log 0 is 0.
    p = np.clip(rate, 1e-300, 1 - 2**-53)
    log_hit, log_miss = np.log(p)[..., None], np.log1p(-p)[..., None]
    return np.asarray(np.exp(choose + hits * log_hit + (n - hits) * log_miss))
