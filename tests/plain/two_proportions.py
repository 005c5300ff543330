"""Two independent proportions by definition: loops over tables, bisection, a dense search."""

from __future__ import annotations

import math
from fractions import Fraction


def restricted_rate(x1: int, n1: int, x2: int, n2: int, gap: float) -> float:
    """Maximise the likelihood of rates ``p`` and ``p - gap``: bisect its derivative in ``p``."""

    def slope(p: float) -> float:
        terms = [(x1, p), (x1 - n1, 1 - p), (x2, p - gap), (x2 - n2, 1 - p + gap)]
        return sum(count / rate for count, rate in terms if count)

    low, high = max(0.0, gap), min(1.0, 1.0 + gap)
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def score_statistic(x1: int, n1: int, x2: int, n2: int, gap: float) -> float:
    p1 = restricted_rate(x1, n1, x2, n2, gap)
    p2 = min(max(p1 - gap, 0.0), 1.0)
    excess = x1 / n1 - x2 / n2 - gap
    variance = p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2
    return 0.0 if abs(excess) < 1e-12 else excess / math.sqrt(variance)


def score_interval(x1: int, n1: int, x2: int, n2: int, quantile: float) -> tuple[float, float]:
    """Return where the statistic is plus and minus a quantile: bisect in the gap."""

    def crossing(target: float) -> float:
        low, high = -1.0, 1.0
        while high - low > 1e-13:
            middle = (low + high) / 2
            above = score_statistic(x1, n1, x2, n2, middle) > target
            low, high = (middle, high) if above else (low, middle)
        return (low + high) / 2

    return crossing(quantile), crossing(-quantile)


def plausible_rates(hits: int, n: int, missed: float) -> tuple[float, float]:
    """Return the rates at which as many hits, and as few, have probability `missed`: bisect."""

    def lowest(hits: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(100):
            middle = (low + high) / 2
            tail = sum(binomial(i, n, middle) for i in range(hits, n + 1))
            low, high = (middle, high) if tail < missed else (low, middle)
        return low

    # As few hits are as many misses. As many as none are certain.
    return lowest(hits) if hits else 0.0, 1 - lowest(n - hits) if hits < n else 1.0


def exact_p_value(x1: int, n1: int, x2: int, n2: int, gap: float, side: str = "equal") -> float:
    """Return the largest probability, over 4,001 nuisance rates, of tables at least as extreme.

    Rates are left out that one of the two groups leaves implausible, at 1e-8 together.
    """

    def extremeness(i: int, j: int) -> float:
        statistic = score_statistic(i, n1, j, n2, gap)
        return {"equal": abs(statistic), "above": statistic, "below": -statistic}[side]

    (low1, high1), (low2, high2) = (
        plausible_rates(x, n, 1e-8 / 4) for x, n in ((x1, n1), (x2, n2))
    )
    low, high = max(low2, low1 - gap), min(high2, high1 - gap)
    if low > high:
        in_hypothesis = {"equal": False, "below": low1 - high2 > gap, "above": high1 - low2 < gap}
        return 1.0 if in_hypothesis[side] else 1e-8
    observed = extremeness(x1, x2) - 1e-7
    tables = [(i, j) for i in range(n1 + 1) for j in range(n2 + 1) if extremeness(i, j) >= observed]

    def probability(p2: float) -> float:
        first = [binomial(i, n1, p2 + gap) for i in range(n1 + 1)]
        second = [binomial(j, n2, p2) for j in range(n2 + 1)]
        return sum(first[i] * second[j] for i, j in tables)

    largest = max(probability(low + (high - low) * k / 4000) for k in range(4001))
    return min(largest + 1e-8, 1.0)


def tables_as_extreme_at_zero(x1: int, n1: int, x2: int, n2: int) -> list[tuple[int, int]]:
    """List the tables whose pooled statistic is at least the observed one, without rounding."""

    def squared(i: int, j: int) -> Fraction:
        pooled = Fraction(i + j, n1 + n2)
        gap = Fraction(i, n1) - Fraction(j, n2)
        return gap**2 / (pooled * (1 - pooled)) if gap else Fraction(0)

    observed = squared(x1, x2)
    tables = [(i, j) for i in range(n1 + 1) for j in range(n2 + 1)]
    return [table for table in tables if squared(*table) >= observed]


def binomial(hits: int, n: int, rate: float) -> float:
    rate = min(max(rate, 0.0), 1.0)
    return math.comb(n, hits) * rate**hits * (1 - rate) ** (n - hits)
