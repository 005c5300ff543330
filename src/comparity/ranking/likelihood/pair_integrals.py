r"""Integrals over the lead of one item before another, given all judgments of the pair.

A pair's judgments are a product of logistic curves (Davidson's, with ties) in the lead u. With a
normal density of u there is one mode, and points about it give the integral, its moments, and means
of slopes and curvatures of each judgment.

With margin m and :math:`a = e^{-m/2}` a judgment is a win with probability :math:`1 / D`, a loss
with :math:`a^2 / D` and a tie with :math:`\theta a / D`, where :math:`D = 1 + \theta a + a^2`. As
:math:`a = e^{-gu/2} e^{-o/2}`, all judgments of one evaluator share one exponential at each u.
"""

from __future__ import annotations

import math

import numpy as np

from comparity.counts.kernels.compilation import njit

MOST_STEPS = 30
LAST_STEP = 1e-3
"""Distance from the mode, in SDs, at which the last step to it is taken. Points about another place
give an integral that differs by thousandths where curves are steep, and a sum that jumps."""
POINT_DISTANCE, LARGEST_FALL, MOST_POINTS = 0.35, 16.0, 128
"""Distance of points, the fall of a logarithm beyond which nothing is left, and points at most."""
STEPS = np.arange(MOST_POINTS // 2) * POINT_DISTANCE
ALONG, LOG_WEIGHTS = np.sinh(STEPS), np.log(np.cosh(STEPS))
"""Points on one side of the mode, in widths, and logarithms of their weights."""
LEAST_SHARE_OF_PEAK = math.exp(-LARGEST_FALL)
LOAD, ODDS, TIED, TIE = range(4)
r"""Of each judgment: what it multiplies u with, :math:`e^{-o/2}` for what it adds, whether it is a
tie, and :math:`\theta` of its evaluator."""
OF_EACH = 6
"""Means of each judgment."""
LARGEST_PRODUCT = 1e200
"""Where a product is replaced by its logarithm."""
LARGEST_HALF_MARGIN = 175.0
"""Half a margin beyond which exponentials, whose squares are multiplied, are no longer apart."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _raise(size, u):  # type: ignore[no-untyped-def]
    """Return the exponential of half of what a lead is worth to an evaluator of this sharpness."""
    return math.exp(min(max(size * u / 2, -LARGEST_HALF_MARGIN), LARGEST_HALF_MARGIN))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _slopes_of(a, tied, tie):  # type: ignore[no-untyped-def]
    """Return slopes of a log-probability in margin and log tie, and its curvature in margin."""
    win = 1 / (1 + a * (a + tie))
    lose, even = a * a * win, tie * a * win
    slope = (lose - win) / 2 if tied else lose + even / 2
    return slope, (1.0 if tied else 0.0) - even, win * lose + even * (win + lose) / 4


@njit(cache=True, nogil=True, error_model="numpy")
def _find_mode(start, mean, variance, first, last, judged):  # type: ignore[no-untyped-def]
    """Return where a pair's judgments times a normal density are largest, and the curvature there.

    The slope falls everywhere: a step of Newton that leads beyond what is known of it is halved.
    """
    place, bend, low, high = start, 1 / variance, -np.inf, np.inf
    for _ in range(MOST_STEPS):
        slope, bend = (mean - place) / variance, 1 / variance
        size, up = -1.0, 1.0
        for r in range(first, last):
            load = judged[r, LOAD]
            if abs(load) != size:
                size = abs(load)
                up = _raise(size, place)
            a = judged[r, ODDS] / up if load > 0 else judged[r, ODDS] * up
            pull, _, curvature = _slopes_of(a, judged[r, TIED], judged[r, TIE])
            slope += load * pull
            bend += load * load * curvature
        if slope > 0:
            low = place
        else:
            high = place
        step = slope / bend
        if abs(step) * math.sqrt(bend) < LAST_STEP:
            return place + step, bend
        inside = low < place + step < high
        place = place + step if inside else (low + high) / 2
    return place, bend


@njit(cache=True, nogil=True, error_model="numpy")
def _multiply(u, first, last, judged):  # type: ignore[no-untyped-def]
    """Return one over the probability of a pair's judgments at a lead, and its logarithm apart.

    The first is a product; of what would be too large in it, the logarithm comes second.
    """
    apart, product, size, up = 0.0, 1.0, -1.0, 1.0
    for r in range(first, last):
        load, tie = judged[r, LOAD], judged[r, TIE]
        if abs(load) != size:
            size = abs(load)
            up = _raise(size, u)
        a = judged[r, ODDS] / up if load > 0 else judged[r, ODDS] * up
        factor = 1 + a * (a + tie)
        product *= factor / (tie * a) if judged[r, TIED] else factor
        if product > LARGEST_PRODUCT:
            apart, product = apart + math.log(product), 1.0
    return product, apart


@njit(cache=True, nogil=True, error_model="numpy")
def tilt(start, mean, variance, first, last, judged, rule):  # type: ignore[no-untyped-def]
    """Integrate a pair's judgments times a normal density: its logarithm, moments, and points.

    `rule` becomes one for means over the product, places and shares: points at even distances of t
    with u = mode + width sinh t, from the mode to either side as far as there is anything.
    """
    centre, bend = _find_mode(start, mean, variance, first, last, judged)
    product, apart = _multiply(centre, first, last, judged)
    # Shares are relative to the centre, where the product is largest or nearly so.
    half = 1 / (2 * variance)
    peak = -((centre - mean) ** 2) * half - math.log(product) - apart
    width, top, count = 1 / math.sqrt(bend), 1.0, 1
    rule[0, 0], rule[0, 1], total, moment = centre, 1.0, 1.0, centre
    for side in (1, -1):
        for step in range(1, MOST_POINTS // 2):
            u = centre + side * width * ALONG[step]
            product, apart = _multiply(u, first, last, judged)
            fallen = LOG_WEIGHTS[step] - (u - mean) ** 2 * half - apart - peak
            share = math.exp(fallen) / product
            rule[count, 0], rule[count, 1], top = u, share, max(top, share)
            total += share
            moment += share * u
            count += 1
            if share < top * LEAST_SHARE_OF_PEAK:
                break
    moment, square = moment / total, 0.0
    for q in range(count):
        rule[q, 1] /= total
        square += rule[q, 1] * (rule[q, 0] - moment) ** 2
    whole = peak + math.log(total * POINT_DISTANCE * width) - math.log(2 * math.pi * variance) / 2
    return whole, moment, square, count


@njit(cache=True, nogil=True, error_model="numpy")
def sum_curves(first, last, judged, rule, count, means):  # type: ignore[no-untyped-def]
    """Fill in means over a pair's lead u, for each of its judgments.

    Of slopes in what it adds, in its load and in the log tie; and of the curvature in what it adds,
    times 1, u and its square.
    """
    size = -1.0
    for r in range(first, last):
        load, odds, tied, tie = judged[r, LOAD], judged[r, ODDS], judged[r, TIED], judged[r, TIE]
        if abs(load) != size:
            size = abs(load)
            for q in range(count):
                rule[q, 2] = _raise(size, rule[q, 0])
        by_slope, by_load, by_tie, flat, tilted, square = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for q in range(count):
            u, share = rule[q, 0], rule[q, 1]
            a = odds / rule[q, 2] if load > 0 else odds * rule[q, 2]
            slope, even, bend = _slopes_of(a, tied, tie)
            by_slope += share * slope
            by_load += share * slope * u
            by_tie += share * even
            flat += share * bend
            tilted += share * bend * u
            square += share * bend * u * u
        means[r, 0], means[r, 1], means[r, 2] = by_slope, by_load, by_tie
        means[r, 3], means[r, 4], means[r, 5] = flat, tilted, square
