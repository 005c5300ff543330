"""Differential parity by its definitions: loops over rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance


def differences(
    first: Sequence[float], second: Sequence[float], groups: Sequence[str], group: str
) -> list[float]:
    """R(A = a) of Definition 2."""
    rows = zip(first, second, groups, strict=True)
    return [one - other for one, other, name in rows if name == group]


def dpt(group: Sequence[float], reference: Sequence[float]) -> tuple[float, float]:
    """DPT and DoF of equation (2)."""
    parts = [(variance(one) / len(one), len(one) - 1) for one in (group, reference)]
    total = sum(part for part, _ in parts)
    dof = total**2 / sum(part**2 / freedom for part, freedom in parts)
    return (fmean(group) - fmean(reference)) / math.sqrt(total), dof


def dpd(group: Sequence[float], reference: Sequence[float]) -> float:
    """DPD of equation (3)."""
    freedom = len(group) + len(reference) - 2
    pooled = (
        (len(group) - 1) * variance(group) + (len(reference) - 1) * variance(reference)
    ) / freedom
    return (fmean(group) - fmean(reference)) / math.sqrt(pooled)


def dpd_total(group: Sequence[float], reference: Sequence[float]) -> float:
    """DPD as in the authors' code."""
    return (fmean(group) - fmean(reference)) / math.sqrt(variance([*group, *reference]))


def energy_distance(x: Sequence[float], y: Sequence[float]) -> float:
    """2 E|X - Y| - E|X - X'| - E|Y - Y'|."""

    def mean_distance(a: Sequence[float], b: Sequence[float]) -> float:
        return fmean(abs(p - q) for p in a for q in b)

    return 2 * mean_distance(x, y) - mean_distance(x, x) - mean_distance(y, y)


def largest_distance(x: Sequence[float], y: Sequence[float]) -> float:
    """The largest distance of two distribution functions."""

    def share(a: Sequence[float], v: float) -> float:
        return sum(p <= v for p in a) / len(a)

    return max(abs(share(x, v) - share(y, v)) for v in [*x, *y])
