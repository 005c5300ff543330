r"""Resampled counts, and intervals of measures with a kink.

Decisions are independent, so a resample of rows is a multinomial draw of the table of counts: no
row is touched, and ten thousand resamples of a million rows cost as much as of a hundred.

The size of a gap, the widest of several gaps and the length of a vector of gaps have a kink at
parity. There the usual bootstrap fails however large the sample: the estimate is never below the
truth, its resamples are never below it either, and the interval lies off to one side. What does
hold everywhere is a bound. If :math:`T = \max_j |L_j|` with smooth :math:`L_j`, then

.. math:: |\hat T - T| \le \max_j |\hat L_j - L_j|,

and the right side is a maximum of smooth errors, which the bootstrap estimates well. The interval
is :math:`\hat T \pm q`, with q the quantile of that bound over resamples, cut at 0: near parity it
is one-sided. Terms that cannot be the largest, and signs that cannot be in doubt, are left out of
the bound, so that far from a kink the interval is the usual symmetric one. Here this is called the
*folded bootstrap*. It is conservative by construction. The idea of a bound over all directions that
may matter is that of [1]_; that the plain bootstrap fails at a kink is shown there, too.

References
----------
.. [1] Fang and Santos (2019), "Inference on directionally differentiable functions".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.inference.gap_tests import Interval

__all__ = ["Slopes", "absolute_slopes", "folded_interval", "maximum_slopes", "norm_slopes"]
__all__ += ["resampled"]

Floats = NDArray[np.float64]

CLEAR = 3.0
"""A term further than this many standard errors from a kink is on its side of it."""

SMOOTHING = 0.5
"""Added to every cell that is drawn from: a cell that happens to be empty is not impossible."""


@dataclass(frozen=True, slots=True)
class Slopes:
    """By how much a measure may have moved in each resample: the least and the most.

    Both are equal where the measure is smooth.

    Examples
    --------
    >>> smooth = Slopes(np.array([-1.0, 2.0]), np.array([-1.0, 2.0]))
    >>> (0.5 * smooth - smooth).size.tolist()
    [0.5, 1.0]
    """

    low: Floats
    high: Floats

    def __add__(self, other: Slopes) -> Slopes:
        return Slopes(self.low + other.low, self.high + other.high)

    def __rmul__(self, factor: float) -> Slopes:
        ends = factor * self.low, factor * self.high
        return Slopes(np.minimum(*ends), np.maximum(*ends))

    def __sub__(self, other: Slopes) -> Slopes:
        return self + -1.0 * other

    @property
    def size(self) -> Floats:
        """The largest possible move, either way."""
        largest: Floats = np.maximum(np.abs(self.low), np.abs(self.high))
        return largest


def resampled(
    contrast: GroupedDecisions,
    *,
    replicates: int,
    rng: np.random.Generator,
    smoothing: float = 0.0,
) -> GroupedDecisions:
    """Draw tables as if the decisions had been made anew.

    Parameters
    ----------
    contrast : GroupedDecisions
        One table of counts.
    replicates : int
        How many tables to draw.
    rng : numpy.random.Generator
        Source of randomness.
    smoothing : float
        Added to every cell before drawing.

    Returns
    -------
    GroupedDecisions
        With a leading axis of length `replicates`; every table has as many decisions.

    Examples
    --------
    >>> contrast = GroupedDecisions(np.full((2, 2, 2), 5.0), np.array([False, True]))
    >>> drawn = resampled(contrast, replicates=3, rng=np.random.default_rng(1))
    >>> drawn.cells.shape, drawn.cells.sum(axis=(1, 2, 3)).tolist()
    ((3, 2, 2, 2), [40.0, 40.0, 40.0])
    """
    weights = contrast.cells.ravel() + smoothing
    drawn = rng.multinomial(round(contrast.n), weights / weights.sum(), size=replicates)
    return contrast.with_cells(drawn.reshape(replicates, *contrast.cells.shape).astype(np.float64))


def folded_interval(
    value: float, slopes: Slopes, *, level: float, least: float = -math.inf
) -> Interval:
    """Return the value plus and minus the quantile of how far it may have moved.

    Parameters
    ----------
    value : float
        The measure as observed.
    slopes : Slopes
        Its possible moves over resamples; resamples in which it does not exist are ``nan``.
    level : float
        Confidence level.
    least : float
        The measure cannot be below this.
    """
    sizes = slopes.size[np.isfinite(slopes.size)]
    if not math.isfinite(value) or not len(sizes):
        return Interval(math.nan, math.nan, level)
    reach = float(np.quantile(sizes, level))
    return Interval(max(value - reach, least), value + reach, level)


def absolute_slopes(observed: float, errors: Floats) -> Slopes:
    """Return the moves of ``|x|`` from the errors of x over resamples."""
    spread = float(np.nanstd(errors))
    if abs(observed) > CLEAR * spread:
        moved = math.copysign(1.0, observed) * errors
        return Slopes(moved, moved)
    return Slopes(-np.abs(errors), np.abs(errors))


def maximum_slopes(observed: Floats, errors: Floats) -> Slopes:
    """Return the moves of ``max_j |x_j|`` from the errors of all terms, shape (replicates, terms).

    A term is left out where it is further below the largest than `CLEAR` standard errors of the
    difference.
    """
    sizes = np.abs(observed)
    largest = int(np.argmax(sizes))
    signs = np.where(observed < 0, -1.0, 1.0)
    spread = np.nanstd(errors * signs - (errors * signs)[:, [largest]], axis=0)
    may_win = sizes >= sizes[largest] - CLEAR * spread
    parts = [absolute_slopes(float(observed[j]), errors[:, j]) for j in np.flatnonzero(may_win)]
    return Slopes(
        np.min([part.low for part in parts], axis=0), np.max([part.high for part in parts], axis=0)
    )


def norm_slopes(observed: Floats, errors: Floats, moved: Floats) -> Slopes:
    """Return the moves of the length of a vector from the errors of its entries.

    Parameters
    ----------
    observed : ndarray, (K,)
        The vector.
    errors : ndarray, (replicates, K)
        Its errors.
    moved : ndarray, (replicates,)
        By how much the measure itself moved: taken where the vector is clearly not zero.
    """
    lengths = np.sqrt((errors**2).sum(axis=-1))
    if math.sqrt(float(observed @ observed)) > CLEAR * math.sqrt(float(np.nanmean(lengths**2))):
        return Slopes(moved, moved)
    return Slopes(-lengths, lengths)
