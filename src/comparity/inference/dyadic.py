r"""Tests of agreement gaps when judged pairs share items or evaluators.

Question: may two kinds of pairs have the same agreement, given that one item occurs in many pairs?

For cells 1 and 2 with :math:`n_1, n_2` judgments, observed gap :math:`d` and hypothesised gap
:math:`\delta`, the residual of judgment :math:`p` is :math:`e_p = agree_p - \rho_c` with

.. math::

    \rho_1 = \bar p + \delta \frac{n_2}{n_1 + n_2}, \qquad
    \rho_2 = \bar p - \delta \frac{n_1}{n_1 + n_2},

:math:`\bar p` pooled over both cells, and :math:`u_p = e_p / n_1` in cell 1,
:math:`-e_p / n_2` in cell 2. Then :math:`V(\delta)` is the sum of :math:`u_p u_q` over judgments
that share an item or an evaluator (:mod:`comparity.counting.sharing`), a quadratic in
:math:`\delta`, and :math:`(d - \delta) / \sqrt{V(\delta)}` is the statistic. Because residuals are
taken at the hypothesis (a *score* test) it keeps its level in small samples, where the usual form
with residuals at the observed rates does not.

The reference law is the normal. With :math:`G` evaluators as clusters the sum of :math:`G`
independent parts over the root of their squares is not normal but
:math:`t \sqrt{G / (G - 1 + t^2)}` with :math:`t` on :math:`G - 1` degrees of freedom, which is
exact for normal parts, tends to the normal, and matters with ten evaluators or fewer.

The variance follows Aronow, Samii and Assenova, "Cluster-robust variance estimation for dyadic
data", Political Analysis 23 (2015), and Cameron, Gelbach and Miller, "Robust inference with
multiway clustering", J. Business and Economic Statistics 29 (2011), with null-imposed residuals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from comparity.counting.sharing import Sharing
from comparity.counts import Cell
from comparity.results import GapTest, Interval

__all__ = ["FEWEST_ITEMS", "ScoreGap", "compare_cells", "rate_covariance", "rate_interval"]

FEWEST_ITEMS = 10
"""Below this many distinct items in a cell no variance is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreGap:
    """A gap with its variance as a quadratic in the hypothesised gap: a :class:`Pivot`.

    Attributes
    ----------
    gap : float
        The observed gap.
    variance : tuple of float
        Constant, linear and quadratic coefficient of the variance.
    n_clusters : int
        Independent clusters (evaluators, queries) behind the variance; 0 for the normal law.
    low, high : float
        The range gaps can have.
    """

    gap: float
    variance: tuple[float, float, float]
    n_clusters: int = 0
    low: float = -1.0
    high: float = 1.0

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        constant, linear, quadratic = self.variance
        return constant + hypothesised * (linear + hypothesised * quadratic)

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return min(1.0, 2 * self._tail(abs(self._statistic(hypothesised))))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return self._tail(-self._statistic(hypothesised))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return self._tail(self._statistic(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject.

        These solve a quadratic inequality. Where they are no bounded interval (very few clusters)
        the whole range is returned.
        """
        squared = self._quantile(1 - level) ** 2
        constant, linear, quadratic = self.variance
        a = 1 - squared * quadratic
        b = -(2 * self.gap + squared * linear)
        c = self.gap**2 - squared * constant
        discriminant = b * b - 4 * a * c
        if a <= 0 or discriminant < 0:
            return Interval(self.low, self.high, level)
        root = math.sqrt(discriminant)
        low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
        return Interval(max(low, self.low), min(high, self.high), level)

    def _statistic(self, hypothesised: float) -> float:
        return (self.gap - hypothesised) / math.sqrt(self.variance_at(hypothesised))

    def _tail(self, statistic: float) -> float:
        if not self.n_clusters:
            return float(ndtr(-statistic))
        clusters = self.n_clusters
        room = clusters - statistic**2
        if room <= 0:
            return 0.0 if statistic > 0 else 1.0
        return float(stdtr(clusters - 1, -statistic * math.sqrt((clusters - 1) / room)))

    def _quantile(self, alpha: float) -> float:
        if not self.n_clusters:
            return float(-ndtri(alpha / 2))
        clusters = self.n_clusters
        t = float(-stdtrit(clusters - 1, alpha / 2))
        return t * math.sqrt(clusters / (clusters - 1 + t * t))


def compare_cells(sharing: Sharing, first: Cell, second: Cell, *, null: str) -> GapTest:
    """Test whether two cells have the same agreement.

    Parameters
    ----------
    sharing : Sharing
        Judged pairs and what they share.
    first, second : Cell
        The cells to compare.
    null : str
        The hypothesis in words.

    Returns
    -------
    GapTest
        Without a p value, and with the reason, where a cell holds no judgments or fewer than
        ten distinct items, or where all judgments of both cells agree, or all disagree.
    """
    known = {cell: code for code, cell in enumerate(sharing.cells)}
    trials, hits, items = (
        [float(column[known[cell]]) if cell in known else 0.0 for cell in (first, second)]
        for column in (sharing.trials, sharing.hits, sharing.n_items)
    )
    n = (round(trials[0]), round(trials[1]))
    if not all(n):
        empty = first if not n[0] else second
        return _untested(null, math.nan, n, f"no judged pair of the kind {empty}")
    gap = hits[0] / trials[0] - hits[1] / trials[1]
    if min(items) < FEWEST_ITEMS:
        scarce = first if items[0] <= items[1] else second
        found = f"only {min(items):.0f} distinct items in pairs {scarce}, {FEWEST_ITEMS} are needed"
        return _untested(null, gap, n, found)
    if sum(hits) in (0.0, sum(trials)):
        word = "no" if sum(hits) == 0 else "every"
        return _untested(null, gap, n, f"the model agrees with {word} judgment, nothing varies")
    return _score_test(sharing, known[first], known[second], null=null)


def _score_test(sharing: Sharing, first: int, second: int, *, null: str) -> GapTest:
    n = sharing.trials[[first, second]]
    hits = sharing.hits[[first, second]]
    gap = float(hits[0] / n[0] - hits[1] / n[1])
    at_zero, slope = _weights(n, hits)
    codes = [first, second, len(sharing.cells) + first, len(sharing.cells) + second]
    block = np.ix_(codes, codes)
    variance = _quadratic(sharing.dependent[block], at_zero, slope)
    reason = ""
    if not _positive(variance):
        variance = _quadratic(sharing.bound[block], at_zero, slope)
        reason = "the variance came out negative; a larger, conservative one was used"
    pivot = ScoreGap(gap=gap, variance=variance, n_clusters=sharing.n_clusters)
    observed = at_zero + gap * slope
    total, own = pivot.variance_at(gap), float(observed @ sharing.own[block] @ observed)
    return GapTest(
        null=null,
        gap=gap,
        standard_error=math.sqrt(total),
        p_value=pivot.p_value(0.0),
        n=(round(n[0]), round(n[1])),
        method=sharing.method,
        pivot=pivot,
        shared_variance=max(total - own, 0.0),
        reason=reason,
    )


def _untested(null: str, gap: float, n: tuple[int, int], reason: str) -> GapTest:
    return GapTest(
        null=null,
        gap=gap,
        standard_error=math.nan,
        p_value=math.nan,
        n=n,
        method="none",
        pivot=None,
        reason=reason,
    )


def _weights(
    n: NDArray[np.float64], hits: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of (n1, n2, hits1, hits2) in the sum of u: at gap zero, and per gap."""
    pooled = hits.sum() / n.sum()
    at_zero = np.array([-pooled / n[0], pooled / n[1], 1 / n[0], -1 / n[1]])
    slope = np.array([-n[1] / n.sum() / n[0], -n[0] / n.sum() / n[1], 0.0, 0.0])
    return at_zero, slope


def _quadratic(
    matrix: NDArray[np.float64], at_zero: NDArray[np.float64], slope: NDArray[np.float64]
) -> tuple[float, float, float]:
    return (
        float(at_zero @ matrix @ at_zero),
        float(2 * at_zero @ matrix @ slope),
        float(slope @ matrix @ slope),
    )


def _positive(variance: tuple[float, float, float]) -> bool:
    """Say whether the variance is positive for every gap between -1 and 1."""
    constant, linear, quadratic = variance
    gaps = [-1.0, 0.0, 1.0]
    if quadratic > 0 and abs(linear) < 2 * quadratic:
        gaps.append(-linear / (2 * quadratic))
    return all(constant + gap * (linear + gap * quadratic) > 0 for gap in gaps)


def rate_interval(sharing: Sharing, cell: Cell, level: float = 0.95) -> Interval:
    """Return the score interval of the agreement in one cell; ``nan`` where there is none."""
    if cell not in sharing.cells:
        return Interval(math.nan, math.nan, level)
    code = sharing.cells.index(cell)
    n = sharing.trials[code]
    block = np.ix_([code, len(sharing.cells) + code], [code, len(sharing.cells) + code])
    constant, slope = np.array([0.0, 1 / n]), np.array([-1 / n, 0.0])
    for matrix in (sharing.dependent, sharing.bound):
        variance = _quadratic(matrix[block], constant, slope)
        rate = float(sharing.hits[code] / n)
        pivot = ScoreGap(
            gap=rate, variance=variance, n_clusters=sharing.n_clusters, low=0.0, high=1.0
        )
        if min(pivot.variance_at(p) for p in (rate, 0.0, 1.0)) > 0 or matrix is sharing.bound:
            break
    return pivot.interval(level)


def rate_covariance(sharing: Sharing) -> NDArray[np.float64]:
    """Return the covariance matrix of the agreement in all cells, residuals at observed rates."""
    size = len(sharing.cells)
    weights = np.zeros((2 * size, size))
    weights[np.arange(size), np.arange(size)] = -sharing.hits / sharing.trials**2
    weights[size + np.arange(size), np.arange(size)] = 1 / sharing.trials
    covariance: NDArray[np.float64] = weights.T @ sharing.dependent @ weights
    return covariance
