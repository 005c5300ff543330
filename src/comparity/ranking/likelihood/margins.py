r"""Passes over comparisons: margins, gradient, curvature and products with the Hessian.

The margin of comparison p, judged by evaluator k, is
:math:`m_p = s_{better} - s_{worse} + b_k \cdot d_p` with :math:`d_p` the difference of the two
items' contrasts. The plain definitions are in ``tests/plain/ranking.py``. `fused` and
`fused_product` do the same for the logistic model with one contrast in one pass each; they are
what makes millions of comparisons quick (``benchmarks/bench_ranking.py``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

Floats = NDArray[np.float64]

BLOCK = 512
LOG2E = 1.4426950408889634
# The logarithm of two in two parts, so that the remainder of the argument is exact.
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10


@njit(cache=True, nogil=True)
def margins(better, worse, evaluator, contrast, scores, bias):  # type: ignore[no-untyped-def]
    """Return the margin of every comparison."""
    out = np.empty(len(better))
    for p in range(len(better)):
        margin = scores[better[p]] - scores[worse[p]]
        for c in range(contrast.shape[1]):
            margin += bias[evaluator[p], c] * contrast[p, c]
        out[p] = margin
    return out


@njit(cache=True, nogil=True)
def add_gradient(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, slope, curvature, score_sums, bias_gradient, bias_blocks
):
    """Scatter slopes and curvatures in the margin to scores and biases.

    `score_sums` holds gradient and diagonal side by side, `bias_blocks` one matrix of contrasts
    by contrasts for each evaluator.
    """
    for p in range(len(better)):
        one, two, k = better[p], worse[p], evaluator[p]
        score_sums[one, 0] += slope[p]
        score_sums[one, 1] += curvature[p]
        score_sums[two, 0] -= slope[p]
        score_sums[two, 1] += curvature[p]
        for c in range(contrast.shape[1]):
            if contrast[p, c] != 0:
                bias_gradient[k, c] += slope[p] * contrast[p, c]
                for d in range(contrast.shape[1]):
                    bias_blocks[k, c, d] += curvature[p] * contrast[p, c] * contrast[p, d]


@njit(cache=True, nogil=True)
def add_product(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, change, score_out, bias_out
):
    """Scatter a change of every slope to scores and biases."""
    for p in range(len(better)):
        score_out[better[p]] += change[p]
        score_out[worse[p]] -= change[p]
        for c in range(contrast.shape[1]):
            bias_out[evaluator[p], c] += change[p] * contrast[p, c]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy", inline="always")
def _exponential(margin: Floats, out: Floats, bits: NDArray[np.int64], n: int) -> None:
    """Fill `out` with exp(-|margin|), to 3.1e-13 of itself, in arithmetic that vectorises."""
    power = bits.view(np.float64)
    for t in range(n):
        x = max(-abs(margin[t]), -700.0)
        k = np.floor(x * LOG2E + 0.5)
        r = x - k * LN2_HIGH - k * LN2_LOW
        # Taylor's polynomial of degree ten; |r| is at most half the logarithm of two, so that
        # the rest is at most sqrt(2) * (log(2) / 2)**11 / 11! of the exponential.
        p = 1.0 + r / 10.0
        for degree in (9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0):
            p = 1.0 + p * r / degree
        out[t] = p
        bits[t] = (np.int64(k) + 1023) << 52
    for t in range(n):
        out[t] *= power[t]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def fused(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, scores, bias, score_sums, bias_sums, weight
):
    """Return the loss of the logistic model and add gradient and diagonal, in blocks.

    Evaluators come in runs, so that their sums stay in registers; margins of a block stay in
    cache, and its logarithms are one logarithm of a product.
    """
    margin, tail, bits = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.int64)
    loss = 0.0
    for start in range(0, len(better), BLOCK):
        n = min(BLOCK, len(better) - start)
        for t in range(n):
            p = start + t
            margin[t] = scores[better[p]] - scores[worse[p]] + bias[evaluator[p]] * contrast[p]
        _exponential(margin, tail, bits, n)
        product, linear = 1.0, 0.0
        for t in range(n):
            product *= 1.0 + tail[t]
            linear += max(0.0, -margin[t])
        loss += np.log(product) + linear
        for t in range(n):
            # The probability that the comparison had gone the other way.
            ratio = 1.0 / (1.0 + tail[t])
            tail[t] = tail[t] * ratio if margin[t] >= 0.0 else ratio
            margin[t] = tail[t] * (1.0 - tail[t])
            weight[start + t] = margin[t]
        k, gradient, diagonal = evaluator[start], 0.0, 0.0
        for t in range(n):
            p = start + t
            one, two, d = better[p], worse[p], contrast[p]
            score_sums[one, 0] -= tail[t]
            score_sums[one, 1] += margin[t]
            score_sums[two, 0] += tail[t]
            score_sums[two, 1] += margin[t]
            if evaluator[p] != k:
                bias_sums[k, 0] += gradient
                bias_sums[k, 1] += diagonal
                k, gradient, diagonal = evaluator[p], 0.0, 0.0
            gradient -= tail[t] * d
            diagonal += margin[t] * d * d
        bias_sums[k, 0] += gradient
        bias_sums[k, 1] += diagonal
    return loss


@njit(cache=True, nogil=True, fastmath=True)
def fused_product(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, weight, scores, bias, score_out, bias_out
):
    """Multiply the Hessian of the logistic model with a vector, in the precision of the vector."""
    if not len(better):
        return
    k = evaluator[0]
    mine, total = bias[k], weight[0] * bias[k] * 0
    for p in range(len(better)):
        if evaluator[p] != k:
            bias_out[k] += total
            k = evaluator[p]
            mine, total = bias[k], total * 0
        one, two, d = better[p], worse[p], contrast[p]
        change = weight[p] * (scores[one] - scores[two] + mine * d)
        score_out[one] += change
        score_out[two] -= change
        total += change * d
    bias_out[k] += total


# Probabilities down to here are summed as they are; smaller ones as logarithms.
SMALLEST_CHANCE = 1e-200


# Nothing is gained from larger ratios of likelihoods, and they would overflow.
LARGEST_LOG_RATIO = 700.0


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
def _ratios(share, d, other, first, second):  # type: ignore[no-untyped-def]
    """Return the log probability, and both parts' probabilities over it."""
    chance = share * first + (1.0 - share) * second
    if chance > SMALLEST_CHANCE:
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
    return (
        total,
        math.exp(min(one - total, LARGEST_LOG_RATIO)),
        math.exp(min(two - total, LARGEST_LOG_RATIO)),
    )


@njit(cache=True, nogil=True)
def add_mixture(  # type: ignore[no-untyped-def]
    winner,
    loser,
    evaluator,
    weight,
    contrast,
    scores,
    shares,
    slopes,
    of_scores,
    of_shares,
    of_slopes,
):
    """Return the log-likelihood of a mixture and add its gradient; without contrasts CrowdBT's.

    Defined by ``tests/plain/mixtures.py``, see :mod:`comparity.ranking.mixtures`. About three times
    as fast as the same in numpy, which makes a dozen arrays of the length of the comparisons.
    """
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
