"""Kernels of the exact test of two proportions: tables as extreme as the observed one.

A table is a pair of numbers of hits, ``i`` of ``n`` and ``j`` of ``m``. The score statistic rises
with ``i`` and falls with ``j``, so the tables at least as extreme as the observed one form a
staircase: in row ``i`` they are those with ``j < upper[i]``, whose gap is large, and those with
``j >= lower[i]``, whose gap is small. How likely staircases are is found by
:mod:`comparity.inference.plausible_tables`. The definitions, over all tables, are in
``tests/plain/two_proportions.py``.
"""

from __future__ import annotations

import math

import numpy as np

from comparity.counts.kernels.compilation import njit
from comparity.inference.plausible_tables import (
    Bounds,
    PlausibleTables,
    Stairs,
    largest_probability,
    plausible_tables,
)

EQUAL, BELOW, ABOVE = 0, 1, 2
"""Which tables count: with a statistic as large in size, as low, or as high as the observed."""

# Rounding noise of the score statistic: tables this close to the observed one count as ties.
TIE = 1e-7
# A difference of two rates is exact up to this.
LEAST_EXCESS = 1e-14
# Newton's steps that bring the closed-form root to full precision where two roots nearly meet.
POLISH = 4
# Gaps are tried a tenth apart, or as many times half of that as leave a few of them below the
# observed one, and between two of them by halves.
WIDEST_PART, FEWEST_PARTS, HALVINGS = 0.1, 4, 17


@njit(cache=True)
def exact_p_value(
    first: tuple[int, int],
    second: tuple[int, int],
    rates: tuple[Bounds, Bounds],
    gap: float,
    side: int,
) -> float:
    """Return the largest probability, over plausible rates with this gap, of tables as extreme.

    Tables with low statistics get less likely with a larger first and a smaller second rate, so of
    the plausible rates whose gap is `gap` or larger those with `gap` itself are the worst, and the
    same holds for the other side. Where no plausible rates have this gap, all of them belong to
    the hypothesis of a one-sided test, and the result is 1, or none do, and it is 0.

    Parameters
    ----------
    first, second : tuple of int
        Hits and trials of the two groups.
    rates : tuple of tuple of float
        Lowest and highest plausible rate of either group.
    gap : float
        First minus second rate, between -1 and 1.
    side : {EQUAL, BELOW, ABOVE}
        Which tables count.
    """
    (low, high), (other_low, other_high) = rates
    if (side == BELOW and low - other_high > gap) or (side == ABOVE and high - other_low < gap):
        return 1.0
    tables = plausible_tables(first[1], second[1], rates)
    stairs = _staircase(tables, first[0], second[0], gap, side)
    return min(largest_probability(tables, stairs, gap, 0.0), 1.0)


@njit(cache=True)
def lowest_gap(
    first: tuple[int, int], second: tuple[int, int], rates: tuple[Bounds, Bounds], alpha: float
) -> float:
    """Return the lowest gap whose two-sided p value exceeds `alpha`, on the finest steps.

    What is not rejected need not be one piece. But between two neighbouring gaps only tables that
    are extreme at one of them come in: where all of these together stay below alpha, every gap in
    between is rejected, and none is looked at. Zero is one of the first points, so a gap of zero
    that is not rejected is never left out.
    """
    (x, n), (y, m) = first, second
    observed, lowest, part = x / n - y / m, rates[0][0] - rates[1][1], WIDEST_PART
    if observed == -1:
        return -1.0
    while part * FEWEST_PARTS > observed - lowest:
        part /= 2
    tables = plausible_tables(n, m, rates)
    start = max(math.floor(lowest / part), -round(1 / part))
    before = _staircase(tables, x, y, start * part, EQUAL)
    for place in range(start, math.ceil(observed / part)):
        ends = place * part, (place + 1) * part
        after = _staircase(tables, x, y, ends[1], EQUAL)
        found = _first_kept(tables, (x, y), ends, (before, after), alpha)
        if found > ends[0]:
            return min(found, observed)
        before = after
    return observed


@njit(cache=True)
def _first_kept(
    tables: PlausibleTables,
    hits: tuple[int, int],
    ends: Bounds,
    stairs: tuple[Stairs, Stairs],
    alpha: float,
) -> float:
    """Return the lowest gap from a rejected one to another that is not rejected, or the first.

    What is between them is searched from the left, by halves.
    """
    start, finest = ends[0], (ends[1] - ends[0]) / 2**HALVINGS
    left, before = 0, stairs[0]
    # Where the part that is looked at ends, and those to its right; whether that gap is kept.
    rights, afters = [2**HALVINGS], [stairs[1]]
    kept = [_exceeds(tables, stairs[1], ends[1], alpha)]
    while rights:
        gaps = start + left * finest, start + rights[-1] * finest
        alive = kept[-1] or _may_exceed_between(tables, (before, afters[-1]), gaps, alpha)
        if alive and rights[-1] - left > 1:
            middle = (left + rights[-1]) // 2
            gap = start + middle * finest
            rights.append(middle)
            afters.append(_staircase(tables, hits[0], hits[1], gap, EQUAL))
            kept.append(_exceeds(tables, afters[-1], gap, alpha))
        elif kept.pop():
            return float(gaps[1])
        else:
            left, before = rights.pop(), afters.pop()
    return start


@njit(cache=True)
def _may_exceed_between(
    tables: PlausibleTables, stairs: tuple[Stairs, Stairs], gaps: Bounds, alpha: float
) -> bool:
    """Return whether a gap between two rejected ones, with these staircases, may be kept."""
    (before, after), (left, right) = stairs, gaps
    either = np.maximum(before[0], after[0]), np.minimum(before[1], after[1])
    # Only tables that are not extreme at a gap can make a difference there.
    return (_differ(either, after) and _exceeds(tables, either, right, alpha)) or (
        _differ(either, before) and _exceeds(tables, either, left, alpha)
    )


@njit(cache=True)
def _exceeds(tables: PlausibleTables, stairs: Stairs, gap: float, alpha: float) -> bool:
    """Return whether plausible rates with this gap may give a staircase more than alpha."""
    return largest_probability(tables, stairs, gap, alpha) > alpha


@njit(cache=True)
def _differ(one: Stairs, other: Stairs) -> bool:
    return bool(np.any(one[0] != other[0]) or np.any(one[1] != other[1]))


@njit(cache=True)
def _staircase(tables: PlausibleTables, x: int, y: int, gap: float, side: int) -> Stairs:
    """Return, for each number of first hits, which second hits are as extreme as the observed.

    Both are places in the list of possible numbers of second hits.
    """
    rows, columns = len(tables.first), tables.columns
    observed = score_statistic(x, tables.n, y, tables.m, gap)
    least, most = observed - TIE, observed + TIE
    if side == EQUAL:
        least, most = abs(observed) - TIE, TIE - abs(observed)
    upper, lower = np.zeros(rows, np.int64), np.full(rows, columns)
    if side != BELOW:
        place = 0
        for row in range(rows):
            place = _first_less(tables, row, place, gap, least)
            upper[row] = place
    if side != ABOVE:
        place = 0
        for row in range(rows):
            place = _first_less(tables, row, place, gap, most)
            lower[row] = place
    return upper, lower


@njit(cache=True)
def _first_less(tables: PlausibleTables, row: int, start: int, gap: float, bound: float) -> int:
    """Return the first place from `start` on whose statistic, which falls, is below a bound.

    In strides that double and then halve: a few rows can have thousands of columns.
    """
    i, j, n, m = tables.i + row, tables.j, tables.n, tables.m
    found, end, stride = start, tables.columns, 1
    while found < end:
        ahead = min(found + stride, end) - 1
        if score_statistic(i, n, j + ahead, m, gap) < bound:
            end = ahead
            break
        found, stride = ahead + 1, 2 * stride
    while found < end:
        middle = (found + end) // 2
        if score_statistic(i, n, j + middle, m, gap) < bound:
            end = middle
        else:
            found = middle + 1
    return found


@njit(cache=True)
def score_statistic(i: int, n: int, j: int, m: int, gap: float) -> float:
    r"""Return the observed minus a hypothesised gap in standard errors under the hypothesis.

    .. math:: z(\delta) = \frac{\hat p_1 - \hat p_2 - \delta}
       {\sqrt{\tilde p_1 (1 - \tilde p_1) / n + \tilde p_2 (1 - \tilde p_2) / m}}

    where :math:`\tilde p_1 - \tilde p_2 = \delta` are the likeliest rates with that gap [1]_, [2]_,
    without the factor of [1]_ for few trials. 0 where the observed gap is the hypothesised one,
    infinite where the hypothesis leaves no other outcome.

    References
    ----------
    .. [1] Miettinen and Nurminen (1985), "Comparative analysis of two rates".
    .. [2] Farrington and Manning (1990), "Test statistics and sample size formulae for comparative
       binomial trials with null hypothesis of non-zero risk difference or non-unity relative risk".
    """
    p, q = i / n, j / m
    excess = p - q - gap
    if abs(excess) < LEAST_EXCESS:
        return 0.0
    # Rates near 1 lose digits that rates near 0 keep; misses have the same variance as hits.
    if p + q > 1:
        p, q, gap = 1 - p, 1 - q, -gap
    rate = restricted_rate(p, q, m / n, gap)
    other = min(max(rate - gap, 0.0), 1.0)
    variance = rate * (1 - rate) / n + other * (1 - other) / m
    return excess / math.sqrt(variance) if variance else math.copysign(math.inf, excess)


@njit(cache=True)
def restricted_rate(p: float, q: float, ratio: float, gap: float) -> float:
    """Return the likeliest first rate if the first minus the second rate is `gap`.

    `p` and `q` are the observed rates, `ratio` is second over first trials. It is the root of a
    cubic in closed form (Farrington and Manning 1990), polished.
    """
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
        if abs(step) < 1e-9 * root:
            break
    return root
