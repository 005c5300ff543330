"""Integrals over the lead of one item before another, given all judgments of the pair.

A pair's judgments are a product of logistic curves (Davidson's, with ties) in the lead u. With a
normal density of u there is one mode, and points about it give the integral, its moments, and means
of slopes and curvatures of each judgment.
"""

from __future__ import annotations

import math

import numpy as np

from comparity.counts.kernels.compilation import njit

MOST_STEPS = 30
NEAR = 0.3
"""Distance from the mode, in SDs, that is near enough for points about it."""
APART, NOTHING, MOST_POINTS = 0.35, 16.0, 128
"""Distance of points, the fall of a logarithm beyond which nothing is left, and points at most."""
STEPS = np.arange(MOST_POINTS // 2) * APART
ALONG, LOG_WEIGHTS = np.sinh(STEPS), np.log(np.cosh(STEPS))
"""Points on one side of the mode, in widths, and logarithms of their weights."""
OF_EACH = 6
"""Means of each judgment."""
LARGE = 1e200
"""Where a product is replaced by its logarithm."""


@njit(cache=True, nogil=True, error_model="numpy")
def _log_probability(margin, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return the log-probability of a judgment where its evaluator has ties."""
    half = margin / 2
    peak = max(abs(half), log_tie)
    total = math.exp(half - peak) + math.exp(-half - peak) + math.exp(log_tie - peak)
    return (log_tie if tied else half) - peak - math.log(total)


@njit(cache=True, nogil=True, error_model="numpy")
def slopes_of(margin, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return slopes of a log-probability in margin and log tie, and its curvature in margin."""
    if log_tie == -np.inf:
        small = math.exp(-abs(margin))
        lost = (small if margin > 0 else 1.0) / (1 + small)
        return lost, 0.0, lost * (1 - lost)
    half = margin / 2
    peak = max(abs(half), log_tie)
    win, lose, tie = math.exp(half - peak), math.exp(-half - peak), math.exp(log_tie - peak)
    total = win + lose + tie
    lean = (win - lose) / (2 * total)
    bend = (win + lose) / (4 * total) - lean * lean
    return (0.0 if tied else 0.5) - lean, (1.0 if tied else 0.0) - tie / total, bend


@njit(cache=True, nogil=True, error_model="numpy")
def _find_mode(start, mean, variance, first, last, load, offset, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return about where a pair's judgments times a normal density are largest, and the curvature.

    The slope falls everywhere: a step of Newton that leads beyond what is known of it is halved.
    """
    place, bend, low, high = start, 1 / variance, -np.inf, np.inf
    for _ in range(MOST_STEPS):
        slope, bend = (mean - place) / variance, 1 / variance
        for r in range(first, last):
            pull, _, curvature = slopes_of(load[r] * place + offset[r], tied[r], log_tie[r])
            slope += load[r] * pull
            bend += load[r] * load[r] * curvature
        if slope > 0:
            low = place
        else:
            high = place
        step = slope / bend
        if abs(step) * math.sqrt(bend) < NEAR:
            break
        inside = low < place + step < high
        place = place + step if inside else (low + high) / 2
    return place, bend


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_logs(u, first, last, load, offset, tied, log_tie):  # type: ignore[no-untyped-def]
    """Return the log-probability of a pair's judgments at a lead, with few logarithms."""
    value, product = 0.0, 1.0
    for r in range(first, last):
        margin = load[r] * u + offset[r]
        if log_tie[r] == -np.inf:
            value += min(margin, 0.0)
            product *= 1 + math.exp(-abs(margin))
            if product > LARGE:
                value, product = value - math.log(product), 1.0
        else:
            value += _log_probability(margin, tied[r], log_tie[r])
    return value - math.log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def tilt(start, mean, variance, first, last, load, offset, tied, log_tie, places, shares):  # type: ignore[no-untyped-def]
    """Integrate a pair's judgments times a normal density: its logarithm, moments, and points.

    `places` and `shares` become a rule for means over the product: points at even distances of t
    with u = mode + width sinh t, from the mode to either side as far as there is anything.
    """
    centre, bend = _find_mode(start, mean, variance, first, last, load, offset, tied, log_tie)
    width, top, count = 1 / math.sqrt(bend), -np.inf, 0
    for side in (1, -1):
        for step in range(0 if side == 1 else 1, MOST_POINTS // 2):
            u = centre + side * width * ALONG[step]
            value = _sum_logs(u, first, last, load, offset, tied, log_tie)
            value += LOG_WEIGHTS[step] - (u - mean) ** 2 / (2 * variance)
            places[count], shares[count], top = u, value, max(top, value)
            count += 1
            if value < top - NOTHING:
                break
    total, moment = 0.0, 0.0
    for q in range(count):
        shares[q] = math.exp(shares[q] - top)
        total += shares[q]
        moment += shares[q] * places[q]
    moment, square = moment / total, 0.0
    for q in range(count):
        shares[q] /= total
        square += shares[q] * (places[q] - moment) ** 2
    whole = top + math.log(total * APART * width) - math.log(2 * math.pi * variance) / 2
    return whole, moment, square, count


@njit(cache=True, nogil=True, error_model="numpy")
def sum_curves(first, last, load, offset, tied, log_tie, places, shares, means):  # type: ignore[no-untyped-def]
    """Fill in means over a pair's lead u, for each of its judgments.

    Of slopes in what it adds, in its load and in the log tie; and of the curvature in what it adds,
    times 1, u and its square.
    """
    for r in range(first, last):
        means[r] = 0.0
        for q in range(len(places)):
            u, share = places[q], shares[q]
            slope, tie, bend = slopes_of(load[r] * u + offset[r], tied[r], log_tie[r])
            means[r, 0] += share * slope
            means[r, 1] += share * slope * u
            means[r, 2] += share * tie
            means[r, 3] += share * bend
            means[r, 4] += share * bend * u
            means[r, 5] += share * bend * u * u
