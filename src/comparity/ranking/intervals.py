"""Intervals of scores, biases and ranks from estimates and their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.inference.anytime import boundary
from comparity.ranking.fits import normal_quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXACT_RANKS = 20_000
"""Up to so many items every two are compared for rank intervals; above, intervals must not meet."""


TINIEST_ERROR = 1e-100

LEAN_VARIANCE = 0.25
"""Variance of leans at which findings that hold at any moment come soonest: leans of half a logit,
which make 62 of 100 even pairs out of 50."""


def normal_intervals(
    values: Floats, errors: Floats, level: float, *, anytime: bool = False
) -> Floats:
    """Return normal intervals, their two ends along a last axis."""
    half = _quantile(errors, level, anytime=anytime) * errors
    return np.stack([values - half, values + half], axis=-1)


def _quantile(errors: Floats, level: float, *, anytime: bool) -> Floats | float:
    """Return how many errors an interval reaches, at one look or at all moments together."""
    if not anytime:
        return normal_quantile(level)
    # An error whose square is no number any more is as good as any other that is tiny.
    known = np.where(errors > 0, np.maximum(errors, TINIEST_ERROR), np.nan)
    return np.nan_to_num(boundary(known**-2.0, LEAN_VARIANCE, 1 - level))


def ratio_intervals(
    values: Floats,
    errors: Floats,
    covariances: Floats,
    variances: Floats,
    level: float,
    *,
    anytime: bool = False,
) -> Floats:
    r"""Return Fieller's intervals of ratios, of whose denominators we know the log errors.

    The ratio is b if b deviates from the estimate by d with
    :math:`d^2 \le q^2 (V + 2 d C + d^2 W)`, with V, C and W the variance of the estimate, its
    covariance with the logarithm of the denominator, and the variance of that.
    """
    square = _quantile(errors, level, anytime=anytime) ** 2
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        bend = 1 - square * variances
        middle = square * covariances / bend
        half = np.sqrt(middle**2 + square * errors**2 / bend)
        ends = np.stack([values - middle - half, values - middle + half], axis=-1)
    unbounded = (bend <= 0) & (errors > 0)
    ends[unbounded] = -np.inf, np.inf
    return ends


def rank_intervals(
    scores: Floats, standard_errors: Floats, level: float, shared: Floats | None = None
) -> Ints:
    """Return the ranks each item can have, as (n, 2).

    `shared` is the part of the errors that items have in common, as multiples of independent
    standard normal variables, (n, variables): of two items it is their difference that counts.

    Scores are relative to their mean, so that other errors have a correlation of -1 / (n - 1) where
    all items are compared alike; the variance of a difference is n / (n - 1) times the sum of both.
    """
    n = len(scores)
    # An item without an error may have any rank.
    errors = np.where(np.isfinite(standard_errors), standard_errors, np.inf)
    if n < 2 or not np.isfinite(errors).any():
        return np.column_stack([np.ones(n, np.int64), np.full(n, n, np.int64)])
    cut = normal_quantile(level ** (1 / (n - 1)))
    if n > EXACT_RANKS:
        low, high = scores - cut * errors, scores + cut * errors
        above = n - np.searchsorted(np.sort(low), high, side="right")
        below = np.searchsorted(np.sort(high), low, side="left")
    else:
        known = int(np.isfinite(errors).sum())
        own = errors_of_items(errors, shared) * (known / max(known - 1, 1)) ** 0.5
        common = np.zeros((n, 0)) if shared is None else shared
        above, below = _count_certain(scores, own, common, cut)
    return np.column_stack([above + 1, n - below]).astype(np.int64)


def errors_of_items(standard_errors: Floats, shared: Floats | None) -> Floats:
    """Return errors without what items have in common."""
    if shared is None:
        return standard_errors
    # A recorded result may hold any numbers.
    with np.errstate(over="ignore"):
        own: Floats = np.sqrt(np.maximum(standard_errors**2 - (shared**2).sum(axis=1), 0.0))
    return own


def _count_certain(scores: Floats, errors: Floats, shared: Floats, cut: float) -> tuple[Ints, Ints]:
    """Count for every item those certainly above and certainly below it, block by block."""
    above, below = np.zeros(len(scores), np.int64), np.zeros(len(scores), np.int64)
    rows = max(1, 2_000_000 // len(scores))
    for start in range(0, len(scores), rows):
        block = slice(start, start + rows)
        # A recorded result may hold any numbers; an error beyond all of them leaves any rank.
        with np.errstate(over="ignore"):
            gap = scores[None, :] - scores[block, None]
            square = errors[None, :] ** 2 + errors[block, None] ** 2
            for part in shared.T:
                square += (part[None, :] - part[block, None]) ** 2
            error = cut * np.sqrt(square)
        above[block] = (gap > error).sum(axis=1)
        below[block] = (gap < -error).sum(axis=1)
    return above, below
