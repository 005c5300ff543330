"""Rankers by their definitions: one comparison at a time, no derivative by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product


def margin(
    better: int,
    worse: int,
    scores: Sequence[float],
    bias: Sequence[float],
    groups: Sequence[Sequence[int]],
) -> float:
    lean = sum(b * (g - h) for b, g, h in zip(bias, groups[better], groups[worse], strict=True))
    return scores[better] - scores[worse] + lean


def times_of_evaluator(
    values: Sequence[float], factor: Sequence[float], evaluator: Sequence[int]
) -> list[float]:
    """A number of each comparison times the factor of who judged it."""
    return [value * factor[k] for value, k in zip(values, evaluator, strict=True)]


def sum_by_evaluator(
    evaluator: Sequence[int], values: Sequence[float], n_evaluators: int
) -> list[float]:
    """The sum of the values of each evaluator."""
    pairs = list(zip(evaluator, values, strict=True))
    return [sum(value for k, value in pairs if k == who) for who in range(n_evaluators)]


def log_probability(m: float, *, tied: bool = False, log_tie: float | None = None) -> float:
    """Davidson's model; Bradley-Terry without a tie parameter."""
    tie = 0.0 if log_tie is None else math.exp(log_tie)
    total = math.exp(m / 2) + math.exp(-m / 2) + tie
    return math.log((tie if tied else math.exp(m / 2)) / total)


def reachable(edges: Sequence[tuple[int, int]], n: int) -> list[list[bool]]:
    """Say from which items one comes to which along edges (Warshall)."""
    near = [[i == j for j in range(n)] for i in range(n)]
    for one, two in edges:
        near[one][two] = True
    for middle, i, j in product(range(n), repeat=3):
        near[i][j] = near[i][j] or (near[i][middle] and near[middle][j])
    return near
