"""Shares of wins as they are defined: the mean outcome of each item, with Wilson's interval."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist, fmean, pvariance


def outcomes_of(item: int, pairs: Sequence[Sequence[int]], tied: Sequence[bool]) -> list[float]:
    """Return 1 for each win of an item, 0 for each loss and 1/2 for each tie."""
    found = []
    for (better, worse), tie in zip(pairs, tied, strict=True):
        if item in (better, worse):
            found.append(0.5 if tie else float(item == better))
    return found


def standard_error(outcomes: Sequence[float]) -> float:
    """Return how far the farther end of Wilson's interval is from the mean, over its quantile."""
    n, z = len(outcomes), NormalDist().inv_cdf(0.975)
    share, shrinkage = fmean(outcomes), 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / shrinkage
    half_width = z / shrinkage * (pvariance(outcomes) / n + z**2 / (4 * n**2)) ** 0.5
    return max(share - (centre - half_width), centre + half_width - share) / z
