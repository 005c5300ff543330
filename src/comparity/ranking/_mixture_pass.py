"""One pass over comparisons for the mixture models: log-likelihood and its gradient.

Defined by ``tests/plain/mixtures.py``. About three times as fast as the same in numpy, which makes
a dozen arrays of the length of the comparisons.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from comparity.counting.compilation import njit

__all__ = ["add_mixture"]

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

# Probabilities down to here are summed as they are; smaller ones as logarithms.
SMALL = 1e-200
# Nothing is gained from larger ratios of likelihoods, and they would overflow.
LARGEST = 700.0


@njit(cache=True, nogil=True)
def _expits(x: float) -> tuple[float, float]:
    """Return the logistic function of x and of -x, each to its last digits."""
    tail = math.exp(-abs(x))
    large = 1.0 / (1.0 + tail)
    return (large, tail * large) if x >= 0 else (tail * large, large)


@njit(cache=True, nogil=True)
def _log_expit(x: float) -> float:
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@njit(cache=True, nogil=True)
def _ratios(
    share: float, d: float, other: float, first: float, second: float
) -> tuple[float, float, float]:
    """Return the log probability, and both parts' probabilities over it."""
    chance = share * first + (1.0 - share) * second
    if chance > SMALL:
        over = 1.0 / chance
        return math.log(chance), first * over, second * over
    one, two = _log_expit(d), _log_expit(other)
    if share == 1.0:
        total = one
    elif share == 0.0:
        total = two
    else:
        one_part, two_part = math.log(share) + one, math.log1p(-share) + two
        total = max(one_part, two_part) + math.log1p(math.exp(-abs(one_part - two_part)))
    return total, math.exp(min(one - total, LARGEST)), math.exp(min(two - total, LARGEST))


@njit(cache=True, nogil=True)
def add_mixture(
    winner: Ints,
    loser: Ints,
    evaluator: Ints,
    weight: Floats,
    contrast: Floats,
    scores: Floats,
    shares: Floats,
    slopes: Floats,
    of_scores: Floats,
    of_shares: Floats,
    of_slopes: Floats,
) -> float:
    """Return the log-likelihood and add its gradient; without contrasts it is CrowdBT's."""
    columns = contrast.shape[1]
    # What rounding takes from the sum is kept and given back: line searches compare sums of
    # millions of terms in their last digits.
    total, lost = 0.0, 0.0
    for p in range(len(winner)):
        w, x, k = winner[p], loser[p], evaluator[p]
        d = scores[w] - scores[x]
        other = -d if columns == 0 else 0.0
        for c in range(columns):
            other += slopes[k, c] * contrast[p, c]
        first, below = _expits(d)
        second, above = (below, first) if columns == 0 else _expits(other)
        log_chance, ratio, other_ratio = _ratios(shares[k], d, other, first, second)
        term = weight[p] * log_chance - lost
        before, total = total, total + term
        lost = (total - before) - term
        of_shares[k] += weight[p] * (ratio - other_ratio)
        slope = weight[p] * shares[k] * ratio * below
        stray = weight[p] * (1.0 - shares[k]) * other_ratio * above
        if columns == 0:
            slope -= stray
        for c in range(columns):
            of_slopes[k, c] += stray * contrast[p, c]
        of_scores[w] += slope
        of_scores[x] -= slope
    return total
