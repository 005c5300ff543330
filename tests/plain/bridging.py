"""The biased bridge of Yu and Xi, equations (6) and (7), by the definition.

DPD divides by the root of the pooled variances of both errors, and degrees of freedom have four
terms, as the authors' code does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance
from typing import NamedTuple


class Bridged(NamedTuple):
    gap: float
    variance: float
    dof: float
    dpd: float


def biased_bridge(
    first_errors: Sequence[float],
    first_groups: Sequence[int],
    second_errors: Sequence[float],
    second_groups: Sequence[int],
) -> Bridged:
    """Errors are predictions minus decisions; groups are 0 and 1, gaps are of 1 over 0."""
    parts = {}
    for side, errors, groups in (
        (0, first_errors, first_groups),
        (1, second_errors, second_groups),
    ):
        for group in (0, 1):
            parts[side, group] = [e for e, a in zip(errors, groups, strict=True) if a == group]
    mean = {key: fmean(part) for key, part in parts.items()}
    of_mean = {key: variance(part) / len(part) for key, part in parts.items()}
    gap = (mean[1, 1] - mean[0, 1]) - (mean[1, 0] - mean[0, 0])
    total = sum(of_mean.values())
    freedom = total**2 / sum(v**2 / (len(parts[key]) - 1) for key, v in of_mean.items())
    squared = 0.0
    for side in (0, 1):
        sums = sum(variance(parts[side, a]) * (len(parts[side, a]) - 1) for a in (0, 1))
        squared += sums / (len(parts[side, 0]) + len(parts[side, 1]) - 2)
    return Bridged(gap, total, freedom, gap / sqrt(squared))
