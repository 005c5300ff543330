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


def item_covariance(met: Sequence[Met]) -> float:
    """Return the products of residuals that share an item, each residual with itself left out."""
    middle, total = mean(met), sum(one[3] for one in met)
    residuals = [(items, w * (alike - middle) / total) for _, items, alike, w in met]
    return sum(
        e * f
        for place, (one, e) in enumerate(residuals)
        for other, (two, f) in enumerate(residuals)
        if place != other and one & two
    )
