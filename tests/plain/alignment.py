"""Definition of the shift that aligns two groups: ranks by counting, shifts by trying them all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import NormalDist


def normal_scores(values: Sequence[float]) -> list[float]:
    """Return the normal quantile of each value's rank over n + 1."""
    ranks = [1 + sum(other < one for other in values) for one in values]
    return [NormalDist().inv_cdf(rank / (len(values) + 1)) for rank in ranks]


def excess(first: Sequence[float], second: Sequence[float], shift: float) -> float:
    """Return the sum of normal scores of the second group, moved down by a shift."""
    moved = [*first, *(one - shift for one in second)]
    return sum(normal_scores(moved)[len(first) :])


def aligning_shift(first: Sequence[float], second: Sequence[float], goal: float = 0.0) -> float:
    """Return the shift at which the sum falls below a goal, of all at which ranks change."""
    places = sorted(two - one for one in first for two in second)
    between = [places[0] - 1, *((a + b) / 2 for a, b in pairwise(places))]
    reached = [excess(first, second, shift) > goal for shift in [*between, places[-1] + 1]]
    return places[reached.index(False) - 1]


def null_variance(n_first: int, n_second: int) -> float:
    """Return the variance of the sum over all ways to choose the second group."""
    scores = normal_scores(range(n_first + n_second))
    sums = [sum(some) for some in combinations(scores, n_second)]
    mean = sum(sums) / len(sums)
    return sum((one - mean) ** 2 for one in sums) / len(sums)
