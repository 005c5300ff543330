"""Loops over comparisons: leads, what gradients and products add up, and both in one pass.

Plain definitions are in ``tests/plain/ranking.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

Floats = NDArray[np.float64]

BLOCK = 512
LONG = 2**20
"""Comparisons after which a pass turns from scores to the sums over them. A million of either fit
into the cache, and not of both: in turns of a block, a pass takes twice as long."""

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
def times_of_evaluator(values, factor, evaluator):  # type: ignore[no-untyped-def]
    """Return a number of each comparison times the factor of who judged it."""
    out = np.empty(len(values))
    for p in range(len(values)):
        out[p] = values[p] * factor[evaluator[p]]
    return out


@njit(cache=True, nogil=True)
def sum_by_evaluator(evaluator, values, sums):  # type: ignore[no-untyped-def]
    """Add up the values of each evaluator, whose comparisons come in one run."""
    start = 0
    while start < len(values):
        k, total, end = evaluator[start], 0.0, start
        while end < len(values) and evaluator[end] == k:
            total += values[end]
            end += 1
        sums[k] += total
        start = end


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


@njit(cache=True, nogil=True)
def weighted_product(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, weight, scores, bias, score_out, bias_out
):
    """Multiply the Hessian in scores and biases, of any number of contrasts, with a vector."""
    for p in range(len(better)):
        one, two, k = better[p], worse[p], evaluator[p]
        change = scores[one] - scores[two]
        for c in range(contrast.shape[1]):
            change += bias[k, c] * contrast[p, c]
        change *= weight[p]
        score_out[one] += change
        score_out[two] -= change
        for c in range(contrast.shape[1]):
            bias_out[k, c] += change * contrast[p, c]


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
def logistic_slopes(margin, slope, curvature):  # type: ignore[no-untyped-def]
    """Return the loss of the logistic model and fill in slopes and curvatures in the margin."""
    tail, bits, loss = np.empty(BLOCK), np.empty(BLOCK, np.int64), 0.0
    for start in range(0, len(margin), BLOCK):
        n = min(BLOCK, len(margin) - start)
        _exponential(margin[start : start + n], tail, bits, n)
        product, linear = 1.0, 0.0
        for t in range(n):
            product *= 1.0 + tail[t]
            linear += max(0.0, -margin[start + t])
        loss += np.log(product) + linear
        for t in range(n):
            ratio = 1.0 / (1.0 + tail[t])
            other = tail[t] * ratio if margin[start + t] >= 0.0 else ratio
            slope[start + t], curvature[start + t] = -other, other * (1.0 - other)
    return loss


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def add_fused(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, scores, bias, sharpness, score_sums, bias_sums, weight
):
    """Return the loss of the logistic model and add gradient and diagonal, (2, items), in blocks.

    Evaluators come in runs, so that their sums stay in registers; margins of a block stay in
    cache, and its logarithms are one logarithm of a product.
    """
    room, loss = min(LONG, len(better)), 0.0
    slope, curvature = np.empty(room), np.empty(room)
    tail, bits = np.empty(BLOCK), np.empty(BLOCK, np.int64)
    for first in range(0, len(better), LONG):
        last = min(first + LONG, len(better))
        for start in range(first, last, BLOCK):
            n = min(BLOCK, last - start)
            # A curvature takes the place of its margin.
            margin, other = curvature[start - first :], slope[start - first :]
            for t in range(n):
                p = start + t
                k = evaluator[p]
                lead = scores[better[p]] - scores[worse[p]] + bias[k] * contrast[p]
                margin[t] = sharpness[k] * lead
            _exponential(margin, tail, bits, n)
            product, linear = 1.0, 0.0
            for t in range(n):
                product *= 1.0 + tail[t]
                linear += max(0.0, -margin[t])
            loss += np.log(product) + linear
            for t in range(n):
                # The probability that the comparison had gone the other way.
                ratio, own = 1.0 / (1.0 + tail[t]), sharpness[evaluator[start + t]]
                against = tail[t] * ratio if margin[t] >= 0.0 else ratio
                other[t] = own * against
                margin[t] = own * own * against * (1.0 - against)
                weight[start + t] = margin[t]
            k, gradient, diagonal = evaluator[start], 0.0, 0.0
            for t in range(n):
                p = start + t
                d = contrast[p]
                if evaluator[p] != k:
                    bias_sums[k, 0] += gradient
                    bias_sums[k, 1] += diagonal
                    k, gradient, diagonal = evaluator[p], 0.0, 0.0
                gradient -= other[t] * d
                diagonal += margin[t] * d * d
            bias_sums[k, 0] += gradient
            bias_sums[k, 1] += diagonal
        _add_to_items(better[first:last], worse[first:last], slope, -1.0, score_sums[0])
        _add_to_items(better[first:last], worse[first:last], curvature, 1.0, score_sums[1])
    return loss


@njit(cache=True, nogil=True)
def _add_to_items(better, worse, values, sign, sums):  # type: ignore[no-untyped-def]
    """Add values to the worse items, and with this sign to the better ones."""
    for p in range(len(better)):
        sums[better[p]] += sign * values[p]
        sums[worse[p]] += values[p]


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


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def mean_slopes(margin, spread, tie, nodes, shares):  # type: ignore[no-untyped-def]
    """Return by how much mean slopes over margins with this variance differ from slopes.

    By a rule of nodes with shares. Where the spread is negative, the difference of as much variance
    with the other sign. `tie` is Davidson's parameter, zero without ties.
    """
    deviation, place, tail = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    bits, out = np.empty(BLOCK, np.int64), np.zeros(len(margin))
    for start in range(0, len(margin), BLOCK):
        n = min(BLOCK, len(margin) - start)
        for t in range(n):
            deviation[t] = np.sqrt(abs(spread[start + t]))
        # Whatever the outcome adds to a slope is in all of them, and in no difference.
        for q in range(len(nodes) + 1):
            node, share = (nodes[q], shares[q]) if q < len(nodes) else (0.0, -1.0)
            for t in range(n):
                place[t] = (margin[start + t] + node * deviation[t]) / 2
            _exponential(place, tail, bits, n)
            for t in range(n):
                square = tail[t] * tail[t]
                lean = (1.0 - square) / (2.0 * (1.0 + square + tie * tail[t]))
                out[start + t] += share * (lean if place[t] >= 0.0 else -lean)
        for t in range(n):
            if spread[start + t] < 0.0:
                out[start + t] = -out[start + t]
    return out


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def mean_pulls(margin, own, spread, tied, tie, narrow, wide, limit):  # type: ignore[no-untyped-def]
    """Return mean slopes and curvatures in log sharpness over margins with this variance.

    `own` is the part of the margin that sharpness multiplies, and `tied` is empty without ties;
    `narrow` is the rule for blocks whose variances reach no further than `limit`, `wide` that for
    others; the rest as in :func:`mean_slopes`.
    """
    deviation, place, tail = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    bits, pull, weight = np.empty(BLOCK, np.int64), np.zeros(len(margin)), np.zeros(len(margin))
    for start in range(0, len(margin), BLOCK):
        n, most = min(BLOCK, len(margin) - start), 0.0
        for t in range(n):
            deviation[t] = np.sqrt(spread[start + t])
            most = max(most, spread[start + t])
        nodes, shares = narrow if most <= limit else wide
        for q in range(len(nodes)):
            node, share = nodes[q], shares[q]
            for t in range(n):
                place[t] = (margin[start + t] + node * deviation[t]) / 2
            _exponential(place, tail, bits, n)
            for t in range(n):
                p, square = start + t, tail[t] * tail[t]
                ratio = 1.0 / (1.0 + square + tie * tail[t])
                lean = (1.0 - square) * ratio / 2
                led = own[p] + node * deviation[t]
                pull[p] += share * led * (lean if place[t] >= 0.0 else -lean)
                weight[p] += share * led * led * ((1.0 + square) * ratio / 4 - lean * lean)
        for t in range(n):
            # The outcome itself has the same slope at all margins.
            if not len(tied) or not tied[start + t]:
                pull[start + t] -= own[start + t] / 2
    return pull, weight
