"""Two tasks told apart by Welch's test with judges as units, and what is shown of either."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom
from scipy.stats import t as student

from comparity.inference.gap_tests import Interval
from comparity.tasks.answers import Floats
from comparity.tasks.result import RATIO, TaskContrast, TaskEstimate

ANY = (-math.inf, math.inf)


class OverJudges(NamedTuple):
    """A number with its variance and degrees of freedom, for other judges."""

    value: float
    variance: float
    dof: float
    n_judges: int


def mean_over_judges(values: Floats) -> OverJudges:
    """Return the mean over judges, each counted once.

    Examples
    --------
    >>> mean_over_judges(np.array([1.0, 2.0, 6.0]))
    OverJudges(value=3.0, variance=2.3333333333333335, dof=2, n_judges=3)
    """
    n = len(values)
    if n < 2:
        return OverJudges(float(values[0]) if n else math.nan, math.nan, math.nan, n)
    return OverJudges(float(values.mean()), float(values.var(ddof=1)) / n, n - 1, n)


def median_over_judges(values: Floats, level: float) -> TaskEstimate:
    """Return the median with the interval between two order statistics, exact for any spread.

    Examples
    --------
    >>> median_over_judges(np.arange(1.0, 11.0), 0.95).interval
    Interval(low=2.0, high=9.0, level=0.95)
    """
    n, tail = len(values), (1 - level) / 2
    cut = max((k for k in range(1, n // 2 + 1) if binom.cdf(k - 1, n, 0.5) <= tail), default=0)
    ordered = np.sort(values)
    ends = (float(ordered[cut - 1]), float(ordered[n - cut])) if cut else (math.nan, math.nan)
    middle = float(np.median(values)) if n else math.nan
    return TaskEstimate(value=middle, interval=Interval(*ends, level), n_judges=n)


def contrast_tasks(
    outcome: str,
    scale: str,
    told: tuple[OverJudges, OverJudges],
    level: float,
    about: str,
    *,
    tested: tuple[OverJudges, OverJudges] | None = None,
    bounds: tuple[float, float] = ANY,
) -> TaskContrast:
    """Compare two tasks by Welch's test; a ratio is tested as a difference of logarithms.

    Parameters
    ----------
    outcome, scale : str
    told : tuple of OverJudges
        What is shown of ratings and comparisons; logarithms where the scale is a ratio.
    level : float
        Of all intervals.
    about : str
    tested : tuple of OverJudges, optional
        What is compared, where it differs from what is shown.
    bounds : tuple of float
        Between which the shown numbers lie.
    """
    first, second = told if tested is None else tested
    parts = (first.variance, second.variance)
    dof = satterthwaite(parts, (first.dof, second.dof))
    whole = OverJudges(first.value - second.value, sum(parts), dof, 0)
    error = math.sqrt(whole.variance) if whole.variance > 0 else math.nan
    p = 2 * float(student.sf(abs(whole.value) / error, dof)) if error > 0 else math.nan
    ratings, comparisons = (
        TaskEstimate(
            value=_shown(one.value, scale),
            interval=_interval(one, scale, level, bounds),
            n_judges=one.n_judges,
        )
        for one in told
    )
    return TaskContrast(
        outcome=outcome,
        scale=scale,
        ratings=ratings,
        comparisons=comparisons,
        value=_shown(whole.value, scale),
        interval=_interval(whole, scale, level, ANY),
        p_value=p,
        about=about,
    )


def unknown_contrast(outcome: str, scale: str, why: str, level: float) -> TaskContrast:
    """Return a contrast of which nothing is known."""
    none = OverJudges(math.nan, math.nan, math.nan, 0)
    return contrast_tasks(outcome, scale, (none, none), level, why)


def satterthwaite(parts: Sequence[float], dofs: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances; ``nan`` where one is not known.

    Examples
    --------
    >>> satterthwaite((2.0, 2.0), (9, 9))
    18.0
    """
    if not all(math.isfinite(one) and one >= 0 for one in parts):
        return math.nan
    below = sum(part**2 / dof for part, dof in zip(parts, dofs, strict=True) if part > 0)
    return sum(parts) ** 2 / below if below > 0 else math.nan


def _interval(one: OverJudges, scale: str, level: float, bounds: tuple[float, float]) -> Interval:
    known = math.isfinite(one.value) and one.variance >= 0 and one.dof > 0
    if not known:
        return Interval(math.nan, math.nan, level)
    reach = float(student.isf((1 - level) / 2, one.dof)) * math.sqrt(one.variance)
    ends = (_shown(one.value + side * reach, scale) for side in (-1, 1))
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in ends)
    return Interval(low, high, level)


def _shown(value: float, scale: str) -> float:
    """Return a number as it is shown: of a logarithm the power."""
    with np.errstate(over="ignore"):
        return float(np.exp(value)) if scale == RATIO else value
