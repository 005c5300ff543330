"""Answers that order pairs alike, put beside each other one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Order = tuple[int, int, int, int]
"""Judge, first and second item, and their order."""
Met = tuple[frozenset[int], frozenset[int], float, float]
"""Judges and items of two answers about one pair, whether they are alike, and their weight."""


def between_judges(orders: Sequence[Order], weights: Sequence[float]) -> list[Met]:
    """Return every two answers of two judges about one pair."""
    return [
        (frozenset((one[0], two[0])), frozenset(one[1:3]), (1 + one[3] * two[3]) / 2, weight)
        for (one, weight), (two, _) in combinations(zip(orders, weights, strict=True), 2)
        if one[1:3] == two[1:3] and one[0] != two[0]
    ]


def mean(met: Sequence[Met]) -> float:
    """Return how often answers are alike."""
    return sum(w * alike for *_, alike, w in met) / sum(w for *_, w in met)


def judge_variance(met: Sequence[Met]) -> float:
    """Return the jackknife variance over judges."""
    judges = sorted(set().union(*(one[0] for one in met)))
    left = [mean([one for one in met if judge not in one[0]]) for judge in judges]
    n, middle = len(left), sum(left) / len(left)
    return (n - 1) / n * sum((one - middle) ** 2 for one in left)


def residuals(met: Sequence[Met]) -> list[tuple[frozenset[int], frozenset[int], float, float]]:
    """Return judges, items, residual and weight of each meeting; weights add up to 1."""
    middle, total = mean(met), sum(one[3] for one in met)
    return [(who, items, w * (a - middle) / total, w / total) for who, items, a, w in met]


def by_two_judges(met: Sequence[Met]) -> dict[frozenset[int], float]:
    """Return the residuals of every two judges, summed."""
    sums: dict[frozenset[int], float] = {}
    for who, _, e, _ in residuals(met):
        sums[who] = sums.get(who, 0.0) + e
    return sums


def with_four_imagined(met: Sequence[Met]) -> float:
    """Return the variance of the mean of independent meetings, with two alike and two not."""
    n = 1 / sum(w**2 for *_, w in residuals(met))
    value = mean(met)
    middle = (n * value + 2) / (n + 4)
    spread = n * sum(e**2 for *_, e, _ in residuals(met))
    squares = n * (spread + (value - middle) ** 2) + 2 * middle**2 + 2 * (1 - middle) ** 2
    return squares / (n + 4) / n


def noise_of_judges(met: Sequence[Met]) -> float:
    """Return the variance of the squares, and of products of pairs of judges that share a judge."""
    sums = by_two_judges(met)
    products = sum(
        sums[one] ** 2 * sums[two] ** 2 for one in sums for two in sums if one != two and one & two
    )
    return 2 / 3 * sum(e**4 for e in sums.values()) + 2 * products


def apart(met: Sequence[Met]) -> tuple[float, float, float]:
    """Return what shares an item and no judge, of residuals and weights; weights of all."""
    rows = residuals(met)
    found = [0.0, 0.0, 0.0]
    for who, items, e, w in rows:
        for other, those, f, v in rows:
            if items & those:
                found[2] += w * v
                if not who & other:
                    found[0] += e * f
                    found[1] += w * v
    return found[0], found[1], found[2]


def with_items(of_judges: float, met: Sequence[Met]) -> float:
    """Return the variance for other judges and other items."""
    products, weight, whole = apart(met)
    if weight <= 1e-9 or whole >= 1 - 1e-9:
        return of_judges
    return max(of_judges, (of_judges + products * whole / weight) / (1 - whole))
