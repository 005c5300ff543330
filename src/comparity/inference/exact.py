"""The exact unconditional test of two independent proportions, for few trials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from comparity.counts import Tally
from comparity.inference._unconditional import largest_probability, score_statistic
from comparity.results import Interval

__all__ = ["ExactPivot"]

Side = Literal["equal", "below", "above"]

# Rounding noise of the score statistic: tables this close to the observed one count as ties.
TIE = 1e-7
# No step towards a limit of an interval is smaller; the last is of 1.25e-6.
FINEST = 1e-6


@dataclass(frozen=True, slots=True)
class ExactPivot:
    r"""Exact unconditional test of a gap, ordered by the score statistic.

    .. math:: p(\delta) = \sup_{p_1 - p_2 = \delta}
       P\bigl(|z(X; \delta)| \ge |z(x; \delta)|\bigr)

    with the statistic of :class:`~comparity.inference.proportions.ScorePivot`; one-sided p values
    leave out the absolute values. No rates whatever make the test reject a true hypothesis more
    often than its level. At :math:`\delta = 0` it is Barnard's test with the pooled statistic; the
    interval is the hull of the gaps that the two-sided test does not reject [1]_, [2]_. The work
    grows with the product of the numbers of trials: it is meant for fewer than a hundred each.

    Attributes
    ----------
    first, second : Tally
        Hits and trials; both need trials.

    References
    ----------
    .. [1] Chan and Zhang (1999), "Test-based exact confidence intervals for the difference of two
       binomial proportions".
    .. [2] Agresti and Min (2001), "On small-sample confidence intervals for parameters in discrete
       distributions".

    Examples
    --------
    >>> pivot = ExactPivot(Tally(7, 12), Tally(8, 15))
    >>> pivot.p_value(0.0) > 0.8
    True
    >>> low, high, _ = pivot.interval(0.95)
    >>> low < 7 / 12 - 8 / 15 < high
    True
    """

    first: Tally
    second: Tally

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        if abs(hypothesised) > 1:  # no rates are that far apart
            return 0.0
        return self._p_value(hypothesised, "equal")

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        if abs(hypothesised) > 1:
            return float(hypothesised < -1)
        return self._p_value(hypothesised, "below")

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        if abs(hypothesised) > 1:
            return float(hypothesised > 1)
        return self._p_value(hypothesised, "above")

    def interval(self, level: float) -> Interval:
        """Return the hull of the gaps, between -1 and 1, that are not rejected at ``1 - level``."""
        return _interval(self, level)

    def _search(self, level: float) -> Interval:
        alpha = 1 - level
        low = high = self.first.rate - self.second.rate
        # Zero is one of the first points, so a gap of zero that is not rejected is never left out.
        starts, step, parts = np.array([-1.0]), 0.01, 200
        while step > FINEST and len(starts):
            gaps = np.round(starts[:, None] + step * np.arange(parts + 1), 9)
            region = self._as_extreme(gaps, "equal")
            kept = np.append(gaps[self._exceed(region, gaps, alpha)], [low, high])
            low, high = float(kept.min()), float(kept.max())
            left, right = gaps[:, :-1].ravel(), gaps[:, 1:].ravel()
            either = (region[:, :-1] | region[:, 1:]).reshape(len(left), *region.shape[2:])
            # What is not rejected need not be one piece. But between two neighbouring gaps only
            # tables that are extreme at one of them come in: where all of these together stay
            # below alpha, every gap in between is rejected, and none is looked at.
            outside = (left < low) | (right > high)
            left, right, either = left[outside], right[outside], either[outside]
            alive = self._exceed(either, left, alpha) | self._exceed(either, right, alpha)
            starts, step, parts = left[alive], step / 20, 20
        return Interval(low, high, level)

    def _p_value(self, hypothesised: float, side: Side) -> float:
        gaps = np.array([hypothesised])
        return float(largest_probability(self._as_extreme(gaps, side), gaps)[0])

    def _exceed(
        self, region: NDArray[np.bool_], gaps: NDArray[np.float64], alpha: float
    ) -> NDArray[np.bool_]:
        """Say at which gaps the tables of the region may have a probability above alpha."""
        flat = region.reshape(-1, *region.shape[-2:])
        return (largest_probability(flat, gaps.ravel(), decide_at=alpha) > alpha).reshape(
            gaps.shape
        )

    def _as_extreme(self, gaps: NDArray[np.float64], side: Side) -> NDArray[np.bool_]:
        """Say which tables are as extreme as the observed one, for each gap (last two axes)."""
        n_first, n_second = self.first.trials, self.second.trials
        first = np.arange(n_first + 1)[:, None] / n_first
        second = np.arange(n_second + 1) / n_second
        every = score_statistic(first, n_first, second, n_second, gaps[..., None, None])
        observed = every[..., self.first.hits, self.second.hits][..., None, None]
        if side == "equal":
            return np.asarray(np.abs(every) >= np.abs(observed) - TIE)
        return np.asarray(every <= observed + TIE if side == "below" else every >= observed - TIE)


@lru_cache(maxsize=1024)
def _interval(pivot: ExactPivot, level: float) -> Interval:
    # A table, a picture and JSON ask for the same interval, which takes 0.2 s to find.
    return pivot._search(level)
