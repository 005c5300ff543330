"""Kernels: how likely a set of tables of two proportions is at the rates that data leave plausible.

A table is a pair of numbers of hits, ``i`` of ``n`` and ``j`` of ``m``. Only rates that the data
leave plausible are looked at, and only hits that such rates make possible: a few standard
deviations of them, however many trials there are. Sets are staircases: in row ``i`` they hold the
tables with ``j < upper[i]`` and those with ``j >= lower[i]``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

# Rates of 0 and 1 are moved by less than can be seen, so that odds are finite.
LEAST_RATE, LEAST_MISSING = 1e-300, 1e-14
# Hits less likely than this, next to the likeliest number, are left out.
NEGLIGIBLE = 1e-13
# With more possible numbers of second hits than these, a variance of about 1,300 or more, sums of
# their probabilities are taken from Edgeworth's series, which is off by less than 2e-7 there.
MOST_LISTED = 1000
# The probability of a set of tables is a polynomial in the nuisance rate. On the scale on which
# binomial rates have constant spread it is looked at in steps of half the spread of all trials.
FEWEST_STEPS, MOST_STEPS = 4, 1024
# How often a parabola is drawn through three values to find a peak, and how much closer each time.
PARABOLAS, CLOSER = 5, 4.0

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]
Bounds = tuple[float, float]
Stairs = tuple[Steps, Steps]


class PlausibleTables(NamedTuple):
    """Rates that the data leave plausible, tables that such rates make possible, and room to work.

    Attributes
    ----------
    n, m : int
        Trials behind the first and the second rate.
    first_rates, second_rates : tuple of float
        Lowest and highest plausible rate.
    i, j : int
        Fewest hits that these make possible.
    columns : int
        How many numbers of second hits they make possible.
    more_n, more_m : ndarray
        How many times as many ways there are to have one hit more, from ``i`` and ``j`` on.
    first, second, below : ndarray
        Room for probabilities of so many hits, and of fewer second hits; the last two are empty
        where there are too many of them to list.
    """

    n: int
    m: int
    first_rates: Bounds
    second_rates: Bounds
    i: int
    j: int
    columns: int
    more_n: Floats
    more_m: Floats
    first: Floats
    second: Floats
    below: Floats


@njit(cache=True)
def plausible_tables(n: int, m: int, rates: tuple[Bounds, Bounds]) -> PlausibleTables:
    """Return the tables that rates between these bounds make possible."""
    i, last_i = _possible_hits(n, rates[0])
    j, last_j = _possible_hits(m, rates[1])
    columns = last_j + 1 - j
    listed = columns if columns <= MOST_LISTED else 0
    hits, others = np.arange(i, last_i + 1), np.arange(j, j + listed)
    return PlausibleTables(
        n,
        m,
        rates[0],
        rates[1],
        i,
        j,
        columns,
        (n - hits) / (hits + 1.0),
        (m - others) / (others + 1.0),
        np.empty(len(hits)),
        np.empty(listed),
        np.empty(listed + 1),
    )


@njit(cache=True)
def _possible_hits(n: int, rates: Bounds) -> tuple[int, int]:
    """Return the fewest and the most hits that are not negligible at any rate between two."""
    low, high = rates
    fewest, most = min(int((n + 1) * low), n), min(int((n + 1) * high), n)
    share = 1.0
    while fewest > 0 and share > NEGLIGIBLE:
        share *= fewest / (n - fewest + 1.0) * ((1 - low) / low)
        fewest -= 1
    share = 1.0
    while most < n and share > NEGLIGIBLE:
        share *= (n - most) / (most + 1.0) * (high / (1 - high))
        most += 1
    return fewest, most


@njit(cache=True)
def largest_probability(
    tables: PlausibleTables, stairs: Stairs, gap: float, enough: float
) -> float:
    """Return the largest probability of a staircase over plausible rates with this gap.

    0 where there are none. If `enough` is not 0, only on which side of it the result is counts.
    Between two angles more are looked at only where there is room for a larger probability.
    """
    start, end = _angles(tables, gap)
    if start > end:
        return 0.0
    spread = math.sqrt(tables.n + tables.m)
    steps = FEWEST_STEPS
    while steps < min(4 * spread * (end - start), MOST_STEPS):
        steps *= 2
    width = (end - start) / steps
    values = np.full(steps + 1, -1.0)
    largest, stride = 0.0, steps // FEWEST_STEPS
    for step in range(0, steps + 1, stride):
        values[step] = _probability(tables, stairs, gap, start + step * width)
        largest = max(largest, values[step])
    while stride > 1 and not 0 < enough < largest:
        for step in range(0, steps, stride):
            left, right = values[step], values[step + stride]
            highest = _highest_between(left, right, spread * stride * width)
            if min(left, right) >= 0 and highest > max(largest, enough):
                middle = step + stride // 2
                values[middle] = _probability(tables, stairs, gap, start + middle * width)
                largest = max(largest, values[middle])
        stride //= 2
    for step in range(steps + 1):
        if largest >= 1 or 0 < enough < largest:
            break
        value = values[step]
        is_peak = values[max(step - 1, 0)] <= value >= values[min(step + 1, steps)]
        highest = _highest_between(value, value, spread * width)
        if is_peak and value >= 0 and highest > max(largest, enough):
            places = start, start + step * width, end
            peak = _peak(tables, stairs, gap, places, width, max(largest, enough))
            largest = max(largest, peak)
    return largest


@njit(cache=True)
def _angles(tables: PlausibleTables, gap: float) -> Bounds:
    """Return the angles between which both rates are plausible; the first is larger if none are."""
    (low, high), (other_low, other_high) = tables.first_rates, tables.second_rates
    start, end = max(other_low, low - gap), min(other_high, high - gap)
    if start > end:
        return 1.0, 0.0
    base, size = max(0.0, -gap), max(1 - abs(gap), 1e-300)
    return (
        math.asin(math.sqrt(min(max((start - base) / size, 0.0), 1.0))),
        math.asin(math.sqrt(min(max((end - base) / size, 0.0), 1.0))),
    )


@njit(cache=True)
def _highest_between(left: float, right: float, distance: float) -> float:
    r"""Return what a probability can be at most between two angles where it has these values.

    The score has a variance of at most :math:`4 (n + m)` at any angle. The slope of a probability
    :math:`P` is its covariance with the score, at most :math:`2 \sqrt{(n + m) P (1 - P)}`, so
    :math:`\arcsin \sqrt P` changes by at most `distance`: :math:`\sqrt{n + m}` times that of the
    angles. And of a peak of tables, each about normal with a variance of :math:`1 / 4 (n + m)` or
    more, the larger value at two angles around it has at least the share
    :math:`\exp(-2 \, \mathrm{distance}^2)`.
    """
    angle = (
        math.asin(math.sqrt(min(max(left, 0.0), 1.0)))
        + math.asin(math.sqrt(min(max(right, 0.0), 1.0)))
    ) / 2
    by_slope = math.sin(min(angle + distance / 2, math.pi / 2)) ** 2
    return min(by_slope, max(left, right) * math.exp(2 * distance**2))


@njit(cache=True)
def _peak(
    tables: PlausibleTables,
    stairs: Stairs,
    gap: float,
    places: tuple[float, float, float],
    width: float,
    others: float,
) -> float:
    """Return the largest probability within a step of the second of three angles, by parabolas.

    The other two are the ends. It is refined only as long as it may be larger than `others`.
    """
    start, centre, end = places
    largest, spread = 0.0, math.sqrt(tables.n + tables.m)
    for _ in range(PARABOLAS):
        centre = min(max(centre, start + width), end - width)
        left, middle, right = (
            _probability(tables, stairs, gap, centre - width),
            _probability(tables, stairs, gap, centre),
            _probability(tables, stairs, gap, centre + width),
        )
        largest = max(largest, left, middle, right)
        if _highest_between(largest, largest, spread * width) <= others:
            break
        bend = left + right - 2 * middle
        move = math.copysign(1.0, right - left) if bend >= 0 else (left - right) / bend / 2
        centre += width * min(max(move, -1.0), 1.0)
        width /= CLOSER
    return largest


@njit(cache=True)
def _probability(tables: PlausibleTables, stairs: Stairs, gap: float, angle: float) -> float:
    """Return the probability of a staircase at the nuisance rate that belongs to an angle."""
    upper, lower = stairs
    rate = max(0.0, -gap) + (1 - abs(gap)) * math.sin(angle) ** 2
    start, stop = _fill_binomial(tables.first, tables.n, tables.i, rate + gap, tables.more_n)
    listed = len(tables.second) > 0
    begin, end = _fill_sums(tables, rate) if listed else (0, tables.columns)
    below, total = tables.below, tables.below[end] if listed else 1.0
    within, every = 0.0, 0.0
    for row in range(start, stop):
        every += tables.first[row]
        if lower[row] > upper[row]:
            few, many = min(max(upper[row], begin), end), min(max(lower[row], begin), end)
            if listed:
                between = below[many] - below[few]
            else:
                between = _below(tables.m, rate, tables.j + many)
                between -= _below(tables.m, rate, tables.j + few)
            within += tables.first[row] * between
    return max(1 - within / (every * total), 0.0)


@njit(cache=True)
def _fill_sums(tables: PlausibleTables, rate: float) -> tuple[int, int]:
    """Fill in how likely fewer second hits are, and between which places."""
    begin, end = _fill_binomial(tables.second, tables.m, tables.j, rate, tables.more_m)
    tables.below[begin] = 0.0
    for place in range(begin, end):
        tables.below[place + 1] = tables.below[place] + tables.second[place]
    return begin, end


@njit(cache=True)
def _below(m: int, rate: float, hits: int) -> float:
    """Return the probability of fewer hits, by Edgeworth's series.

    A sum of steps is an integral to half a step further if their second and fourth cumulant are
    changed by -1/12 and 1/120 (Sheppard's corrections).
    """
    spread = m * rate * (1 - rate)
    variance = spread - 1 / 12
    x = (hits - 0.5 - m * rate) / math.sqrt(variance)
    skew = spread * (1 - 2 * rate) / (variance * math.sqrt(variance))
    excess = (spread * (1 - 6 * rate * (1 - rate)) + 1 / 120) / variance**2
    density = math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    first, second = x**2 - 1, x * (x**2 - 3)
    third = x * (x**4 - 10 * x**2 + 15)
    series = skew / 6 * first + excess / 24 * second + skew**2 / 72 * third
    return math.erfc(-x / math.sqrt(2)) / 2 - density * series


@njit(cache=True)
def _fill_binomial(out: Floats, n: int, fewest: int, rate: float, more: Floats) -> tuple[int, int]:
    """Fill in how likely hits are next to the likeliest number, and between which places.

    The first place is that of `fewest` hits. What is outside of the places returned is negligible.
    """
    p = min(max(rate, LEAST_RATE), 1 - LEAST_MISSING)
    odds, against = p / (1 - p), (1 - p) / p
    start = min(max(int((n + 1) * p) - fewest, 0), len(out) - 1)
    last = start
    out[start] = 1.0
    while last + 1 < len(out) and out[last] > NEGLIGIBLE:
        out[last + 1] = out[last] * (odds * more[last])
        last += 1
    while start > 0 and out[start] > NEGLIGIBLE:
        out[start - 1] = out[start] * (against / more[start - 1])
        start -= 1
    return start, last + 1
