"""Kernels of the exact test of two proportions: tables as extreme as the observed one.

A table is a pair of numbers of hits, ``i`` of ``n`` and ``j`` of ``m``. The score statistic rises
with ``i`` and falls with ``j``, so the tables at least as extreme as the observed one form a
staircase: in row ``i`` they are those with ``j < upper[i]``, whose gap is large, and those with
``j >= lower[i]``, whose gap is small. A staircase takes ``n + m`` statistics, its probability
``n + m`` products. The definitions, over all tables, are in ``tests/plain/two_proportions.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

__all__ = ["ABOVE", "BELOW", "EQUAL", "exact_p_value", "lowest_gap"]

EQUAL, BELOW, ABOVE = 0, 1, 2
"""Which tables count: with a statistic as large in size, as low, or as high as the observed."""

# Rounding noise of the score statistic: tables this close to the observed one count as ties.
TIE = 1e-7
# A difference of two rates is exact up to this.
ROUNDING = 1e-14
# Newton's steps that bring the closed-form root to full precision where two roots nearly meet.
POLISH = 4
# The probability of a set of tables is a polynomial in the nuisance rate. On the scale on which
# binomial rates have constant spread it is looked at in so many steps at most, 32 at a time first.
STEPS, WIDEST = 128, 32
STEP = math.pi / 2 / STEPS
# How often a parabola is drawn through three values to find a peak, and how much closer each time.
PARABOLAS, CLOSER = 5, 4.0
# Gaps are tried a hundredth apart, and between two of them by halves down to 1.22e-6.
PARTS, HALVINGS = 100, 13
FINEST = 1 / PARTS / 2**HALVINGS

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]


class Trials(NamedTuple):
    """Numbers of trials, what binomial probabilities need, and room to work in.

    Attributes
    ----------
    n, m : int
        Trials behind the first and the second rate.
    choose_n, choose_m : ndarray of shape (n + 1,) and (m + 1,)
        Logarithms of the numbers of ways to have so many hits.
    more_n, more_m : ndarray of shape (n + 1,) and (m + 1,)
        How many times as many ways there are to have one hit more.
    first, second : ndarray of shape (n + 1,) and (m + 1,)
        Room for probabilities of so many hits.
    below, above : ndarray of shape (m + 2,)
        Room for their sums, of fewer than j hits and of j or more.
    """

    n: int
    m: int
    choose_n: Floats
    choose_m: Floats
    more_n: Floats
    more_m: Floats
    first: Floats
    second: Floats
    below: Floats
    above: Floats


@njit(cache=True)
def exact_p_value(x: int, n: int, y: int, m: int, gap: float, side: int) -> float:
    """Return the largest probability, over all rates with this gap, of tables as extreme.

    Parameters
    ----------
    x, n, y, m : int
        Hits and trials of the first and of the second group.
    gap : float
        First minus second rate, between -1 and 1.
    side : {EQUAL, BELOW, ABOVE}
        Which tables count.
    """
    trials = _trials(n, m)
    stairs = _staircase(x, n, y, m, gap, side)
    return min(_largest_probability(trials, stairs, gap, 0.0), 1.0)


@njit(cache=True)
def lowest_gap(x: int, n: int, y: int, m: int, alpha: float) -> float:
    """Return the lowest gap whose two-sided p value exceeds `alpha`, on the finest steps.

    What is not rejected need not be one piece. But between two neighbouring gaps only tables that
    are extreme at one of them come in: where all of these together stay below alpha, every gap in
    between is rejected, and none is looked at. Zero is one of the first points, so a gap of zero
    that is not rejected is never left out.
    """
    trials, observed = _trials(n, m), x / n - y / m
    if observed == -1:
        return -1.0
    before = _staircase(x, n, y, m, -1.0, EQUAL)
    for part in range(-PARTS, PARTS):
        left, right = part / PARTS, (part + 1) / PARTS
        if left >= observed:
            break
        after = _staircase(x, n, y, m, right, EQUAL)
        if _look_between(trials, before, left, after, right, alpha)[0]:
            found = _first_kept(trials, x, y, left, alpha)
            if found > left:
                return min(found, observed)
        before = after
    return observed


@njit(cache=True)
def _first_kept(trials: Trials, x: int, y: int, start: float, alpha: float) -> float:
    """Return the lowest gap of a hundredth from a rejected `start` on that is not, or `start`.

    The hundredth is searched from the left, by halves.
    """
    n, m = trials.n, trials.m
    lefts, rights = np.empty(HALVINGS + 2, np.int64), np.empty(HALVINGS + 2, np.int64)
    lefts[0], rights[0], waiting = 0, 2**HALVINGS, 1
    while waiting:
        waiting -= 1
        first, last = lefts[waiting], rights[waiting]
        left, right = start + first * FINEST, start + last * FINEST
        before = _staircase(x, n, y, m, left, EQUAL)
        after = _staircase(x, n, y, m, right, EQUAL)
        alive, kept = _look_between(trials, before, left, after, right, alpha)
        if last - first == 1:
            if kept:
                return float(right)
        elif alive:
            middle = (first + last) // 2
            lefts[waiting], rights[waiting] = middle, last
            lefts[waiting + 1], rights[waiting + 1] = first, middle
            waiting += 2
    return start


@njit(cache=True)
def _look_between(
    trials: Trials,
    before: tuple[Steps, Steps],
    left: float,
    after: tuple[Steps, Steps],
    right: float,
    alpha: float,
) -> tuple[bool, bool]:
    """Say whether any gap from a rejected one to another may be kept, and whether the last is.

    `before` and `after` are the staircases at these two gaps.
    """
    either = np.maximum(before[0], after[0]), np.minimum(before[1], after[1])
    if not _exceeds(trials, either, right, alpha):
        # The gap on the left is rejected, so only further tables can make a difference.
        return _differ(either, before) and _exceeds(trials, either, left, alpha), False
    return True, not _differ(either, after) or _exceeds(trials, after, right, alpha)


@njit(cache=True)
def _differ(one: tuple[Steps, Steps], other: tuple[Steps, Steps]) -> bool:
    return bool(np.any(one[0] != other[0]) or np.any(one[1] != other[1]))


@njit(cache=True)
def _trials(n: int, m: int) -> Trials:
    return Trials(
        n,
        m,
        _log_choose(n),
        _log_choose(m),
        (n - np.arange(n + 1)) / np.arange(1.0, n + 2),
        (m - np.arange(m + 1)) / np.arange(1.0, m + 2),
        np.empty(n + 1),
        np.empty(m + 1),
        np.empty(m + 2),
        np.empty(m + 2),
    )


@njit(cache=True)
def _log_choose(n: int) -> Floats:
    choose = np.empty(n + 1)
    for hits in range(n + 1):
        choose[hits] = math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1)
    return choose


@njit(cache=True)
def _staircase(x: int, n: int, y: int, m: int, gap: float, side: int) -> tuple[Steps, Steps]:
    """Return, for each number of first hits, which second hits are as extreme as the observed."""
    observed = _score_statistic(x, n, y, m, gap)
    least, most = observed - TIE, observed + TIE
    if side == EQUAL:
        least, most = abs(observed) - TIE, TIE - abs(observed)
    upper, lower = np.zeros(n + 1, np.int64), np.full(n + 1, m + 1)
    if side != BELOW:
        j = 0
        for i in range(n + 1):
            while j <= m and _score_statistic(i, n, j, m, gap) >= least:
                j += 1
            upper[i] = j
    if side != ABOVE:
        j = 0
        for i in range(n + 1):
            while j <= m and _score_statistic(i, n, j, m, gap) > most:
                j += 1
            lower[i] = j
    return upper, lower


@njit(cache=True, error_model="numpy")
def _score_statistic(i: int, n: int, j: int, m: int, gap: float) -> float:
    """Return :func:`comparity.inference.exact.score_statistic` of one table."""
    p, q = i / n, j / m
    excess = p - q - gap
    if abs(excess) < ROUNDING:
        return 0.0
    # Rates near 1 lose digits that rates near 0 keep; misses have the same variance as hits.
    if p + q > 1:
        p, q, gap = 1 - p, 1 - q, -gap
    rate = _restricted_rate(p, q, m / n, gap)
    other = min(max(rate - gap, 0.0), 1.0)
    return excess / math.sqrt(rate * (1 - rate) / n + other * (1 - other) / m)


@njit(cache=True, error_model="numpy")
def _restricted_rate(p: float, q: float, ratio: float, gap: float) -> float:
    """Return the likeliest first rate if the first minus the second rate is `gap`."""
    a = 1 + ratio
    if gap == 0:  # of equal rates the likeliest is the pooled one, without rounding
        return (p + ratio * q) / a
    b = -(1 + ratio + p + ratio * q + gap * (ratio + 2))
    c = gap**2 + gap * (2 * p + ratio + 1) + p + ratio * q
    d = -p * gap * (1 + gap)
    third = b / (3 * a)
    v = third**3 - b * c / (6 * a**2) + d / (2 * a)
    u = math.copysign(math.sqrt(max(third**2 - c / (3 * a), 0.0)), v)
    cosine = 0.0 if u == 0 else min(max(v / u**3, -1.0), 1.0)
    low, high = max(0.0, gap), min(1.0, 1 + gap)
    root = 2 * u * math.cos((math.pi + math.acos(cosine)) / 3) - third
    root = min(max(root, low), high)
    for _ in range(POLISH):
        slope = (3 * a * root + 2 * b) * root + c
        if abs(slope) <= 1e-13:
            break
        step = (((a * root + b) * root + c) * root + d) / slope
        root = min(max(root - step, low), high)
        if abs(step) < 1e-16:
            break
    return root


@njit(cache=True)
def _exceeds(trials: Trials, stairs: tuple[Steps, Steps], gap: float, alpha: float) -> bool:
    """Say whether some rates with this gap give a staircase a probability above alpha."""
    return _largest_probability(trials, stairs, gap, alpha) > alpha


@njit(cache=True)
def _largest_probability(
    trials: Trials, stairs: tuple[Steps, Steps], gap: float, enough: float
) -> float:
    """Return the largest probability of a staircase over all rates with this gap.

    If `enough` is not 0, only on which side of it the result is counts. Between two angles more
    are looked at only where the probability at one of them leaves room for a larger one.
    """
    values = np.full(STEPS + 1, -1.0)
    largest, stride = 0.0, WIDEST
    for step in range(0, STEPS + 1, stride):
        values[step] = _probability(trials, stairs, gap, step * STEP)
        largest = max(largest, values[step])
    while stride > 1 and not 0 < enough < largest:
        share = _least_share(trials, stride)
        for step in range(0, STEPS, stride):
            ends = max(values[step], values[step + stride])
            seen = values[step] >= 0 and values[step + stride] >= 0
            if seen and ends >= share * max(largest, enough):
                middle = step + stride // 2
                values[middle] = _probability(trials, stairs, gap, middle * STEP)
                largest = max(largest, values[middle])
        stride //= 2
    least = _least_share(trials, 1) * max(largest, enough)
    for step in range(STEPS + 1):
        if largest >= 1 or 0 < enough < largest:
            break
        is_peak = values[max(step - 1, 0)] <= values[step] >= values[min(step + 1, STEPS)]
        if is_peak and values[step] >= least:
            largest = max(largest, _peak(trials, stairs, gap, step * STEP))
    return largest


@njit(cache=True)
def _least_share(trials: Trials, stride: int) -> float:
    """Return which share of a peak is reached at the nearer of two angles around it.

    The peak of one table in n + m trials has a standard deviation of at least 1 / (2 sqrt(n + m)),
    that of several is wider. For safety, the logarithm of the share is doubled.
    """
    distance = stride * STEP / 2
    return math.exp(-4 * (trials.n + trials.m) * distance**2)


@njit(cache=True)
def _peak(trials: Trials, stairs: tuple[Steps, Steps], gap: float, centre: float) -> float:
    """Return the largest probability within a step of an angle, by parabolas."""
    largest, width = 0.0, STEP
    for _ in range(PARABOLAS):
        centre = min(max(centre, width), math.pi / 2 - width)
        left, middle, right = (
            _probability(trials, stairs, gap, centre - width),
            _probability(trials, stairs, gap, centre),
            _probability(trials, stairs, gap, centre + width),
        )
        largest = max(largest, left, middle, right)
        bend = left + right - 2 * middle
        move = math.copysign(1.0, right - left) if bend >= 0 else (left - right) / bend / 2
        centre += width * min(max(move, -1.0), 1.0)
        width /= CLOSER
    return largest


@njit(cache=True)
def _probability(trials: Trials, stairs: tuple[Steps, Steps], gap: float, angle: float) -> float:
    """Return the probability of a staircase at the nuisance rate that belongs to an angle."""
    n, m = trials.n, trials.m
    upper, lower = stairs
    rate = max(0.0, -gap) + (1 - abs(gap)) * math.sin(angle) ** 2
    _fill_binomial(trials.first, n, min(max(rate + gap, 0.0), 1.0), trials.choose_n, trials.more_n)
    _fill_binomial(trials.second, m, rate, trials.choose_m, trials.more_m)
    below, above = trials.below, trials.above
    below[0] = above[m + 1] = 0.0
    for j in range(m + 1):
        below[j + 1] = below[j] + trials.second[j]
        above[m - j] = above[m + 1 - j] + trials.second[m - j]
    total = 0.0
    for i in range(n + 1):
        if lower[i] <= upper[i]:
            total += trials.first[i] * below[m + 1]
        else:
            total += trials.first[i] * (below[upper[i]] + above[lower[i]])
    return total


@njit(cache=True)
def _fill_binomial(out: Floats, n: int, rate: float, choose: Floats, more: Floats) -> None:
    """Fill in the probabilities of 0 to n hits, from the likeliest number outwards."""
    # Rates of 0 and 1 are moved by less than one rounding error, so that 0 * log 0 is 0.
    p = min(max(rate, 1e-300), 1 - 2.0**-53)
    odds, against = p / (1 - p), (1 - p) / p
    mode = min(int((n + 1) * p), n)
    out[mode] = math.exp(choose[mode] + mode * math.log(p) + (n - mode) * math.log1p(-p))
    for hits in range(mode, n):
        out[hits + 1] = out[hits] * (odds * more[hits])
    for hits in range(mode, 0, -1):
        # The coefficients are the same from either end.
        out[hits - 1] = out[hits] * (against * more[n - hits])
