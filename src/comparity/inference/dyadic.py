r"""Tests of agreement gaps when judged pairs share items or evaluators.

Question: may two kinds of pairs have the same agreement, given that one item occurs in many pairs?

Cells 1 and 2 have :math:`n_1, n_2` judgments, the observed gap is :math:`d`. For a hypothesised gap
:math:`\delta` let :math:`\rho_1, \rho_2` be the likeliest rates with
:math:`\rho_1 - \rho_2 = \delta` (the pooled rate for :math:`\delta = 0`), let
:math:`u_p = (agree_p - \rho_1) / n_1` in cell 1 and :math:`-(agree_p - \rho_2) / n_2` in cell 2.
The variance of the gap under the hypothesis is what single judgments contribute, plus what
judgments that share an item or an evaluator contribute together:

.. math::

    V(\delta) = \frac{\rho_1 (1 - \rho_1)}{n_1} + \frac{\rho_2 (1 - \rho_2)}{n_2}
    + \max\Big(0, \sum_{p \ne q \text{ that share}} u_p u_q \Big)

and :math:`(d - \delta) / \sqrt{V(\delta)}` is the statistic. Without sharing this is the score test
of two proportions. Rates and residuals are taken at the hypothesis: the usual form with residuals
at the observed rates finds too much in small samples, and so does the sum over all :math:`p, q`
with the squared residuals in place of the first two terms, where cells are of unequal size and
agreement is high (a small cell without a miss then has next to no variance).

The reference law is the normal. With :math:`G` evaluators (or queries) as clusters the sum of
:math:`G` independent parts over the root of their squares is not normal but
:math:`t \sqrt{G / (G - 1 + t^2)}` with :math:`t` on :math:`G - 1` degrees of freedom, which is
exact for normal parts, tends to the normal, and matters with ten clusters or fewer.

The shared part follows Aronow, Samii and Assenova, "Cluster-robust variance estimation for dyadic
data", Political Analysis 23 (2015), and Cameron, Gelbach and Miller, "Robust inference with
multiway clustering", J. Business and Economic Statistics 29 (2011), with null-imposed residuals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from comparity.counting.sharing import Sharing
from comparity.counts import Cell
from comparity.inference._unconditional import restricted_rate
from comparity.results import GapTest, Interval

__all__ = [
    "FEWEST_CLUSTERS",
    "FEWEST_ITEMS",
    "Reference",
    "SharedGap",
    "SharedRate",
    "WinGap",
    "compare_cells",
    "compare_wins",
    "null_covariance",
    "rate_covariance",
    "rate_interval",
    "shared_rate",
]

FEWEST_ITEMS = 10
"""Below this many items in a cell, counted by how evenly they are used, no variance is believed."""

FEWEST_CLUSTERS = 3
"""With fewer evaluators or queries as clusters no variance is believed."""

# A variance below this is rounding.
NOTHING = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The law a statistic is compared with.

    Attributes
    ----------
    n_clusters : int
        Independent clusters behind the variance; 0 for the normal law.
    """

    n_clusters: int = 0

    def tail(self, statistic: float) -> float:
        """Return the probability of a statistic at least this large."""
        if not self.n_clusters:
            return float(ndtr(-statistic))
        room = self.n_clusters - statistic**2
        if room <= 0:
            return 0.0 if statistic > 0 else 1.0
        t = statistic * math.sqrt((self.n_clusters - 1) / room)
        return float(stdtr(self.n_clusters - 1, -t))

    def quantile(self, alpha: float) -> float:
        """Return the size a statistic has with probability `alpha`, on either side."""
        if not self.n_clusters:
            return float(-ndtri(alpha / 2))
        t = float(-stdtrit(self.n_clusters - 1, alpha / 2))
        return t * math.sqrt(self.n_clusters / (self.n_clusters - 1 + t * t))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedGap:
    """A gap between two cells that may share items: a :class:`comparity.results.Pivot`.

    Attributes
    ----------
    rates, trials : tuple of float
        Agreement and judgments (or their weight) of the two cells.
    own : tuple of float
        Sum of squared weights of the judgments; the number of judgments where they weigh one.
    shared : ndarray, (4, 4)
        Second moments of (trials 1, trials 2, hits 1, hits 2) over judgments that share.
    tie_share : float
        Share of judgments that count as half a hit.
    reference : Reference
    """

    rates: tuple[float, float]
    trials: tuple[float, float]
    own: tuple[float, float]
    shared: NDArray[np.float64]
    tie_share: float = 0.0
    reference: Reference = Reference()

    @property
    def gap(self) -> float:
        """The observed gap."""
        return self.rates[0] - self.rates[1]

    def parts_at(self, hypothesised: float) -> tuple[float, float]:
        """Return what single judgments and what shared ones add to the variance."""
        first, second = self._restricted(hypothesised)
        n, m = self.trials
        single = _spread(first, self.tie_share) * self.own[0] / n**2
        single += _spread(second, self.tie_share) * self.own[1] / m**2
        weights = np.array([-first / n, second / m, 1 / n, -1 / m])
        return single, max(float(weights @ self.shared @ weights), 0.0)

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        return sum(self.parts_at(hypothesised))

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return min(1.0, 2 * self.reference.tail(abs(self._statistic(hypothesised))))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return self.reference.tail(-self._statistic(hypothesised))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return self.reference.tail(self._statistic(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        step = quantile * math.sqrt(self.variance_at(self.gap))
        low, high = (
            _crossing(lambda gap: abs(self._statistic(gap)) - quantile, self.gap, end, step)
            for end in (-1.0, 1.0)
        )
        return Interval(low, high, level)

    def _restricted(self, hypothesised: float) -> tuple[float, float]:
        """Return the likeliest rates that differ by the hypothesised gap."""
        gap = min(max(hypothesised, -1.0), 1.0)
        # Weighted judgments count as many as would have their variance.
        n, m = (total**2 / own for total, own in zip(self.trials, self.own, strict=True))
        first = float(restricted_rate(self.rates[0], n, self.rates[1], m, gap))
        return first, min(max(first - gap, 0.0), 1.0)

    def _statistic(self, hypothesised: float) -> float:
        return _standardised(self.gap - hypothesised, self.variance_at(hypothesised))


def _standardised(distance: float, variance: float) -> float:
    """Return a distance in standard errors; infinite where there is no error."""
    if abs(distance) < NOTHING:
        return 0.0
    if variance < NOTHING:
        return math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def _spread(rate: float, tie_share: float) -> float:
    """Return the variance of an outcome of 0, 1, or one half with the given probability."""
    return max(rate * (1 - rate) - tie_share / 4, 0.0)


def _crossing(excess: Callable[[float], float], inside: float, end: float, step: float) -> float:
    """Return where a function that is negative at `inside` becomes positive towards `end`.

    Walks in growing steps, the first of the size given; `end` if it stays negative.
    """
    from scipy.optimize import brentq

    direction = math.copysign(1.0, end - inside)
    near, reach = inside, max(step, 1e-9)
    while abs(near - end) > NOTHING:
        far = inside + direction * min(reach, abs(end - inside))
        if excess(far) > 0:
            return float(brentq(lambda x: min(excess(x), 1e6), near, far, xtol=1e-12))
        near, reach = far, 1.5 * reach
    return end


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
        Without a p value, and with the reason, where a cell holds no judgments, where its judgments
        rest on fewer than ten items (an item that occurs in most of them counts for little), or
        where nothing varies: all judgments of both cells agree, or none, or all tie.
    """
    known = {cell: code for code, cell in enumerate(sharing.cells)}
    for cell in (first, second):
        if cell not in known or not sharing.trials[known[cell]]:
            n = _judgments(sharing, known, first, second)
            return _untested(null, math.nan, n, f"no pair of the kind {cell}")
    codes = [known[first], known[second]]
    pivot = _pivot(sharing, codes)
    n = _judgments(sharing, known, first, second)
    scarce = min(codes, key=lambda code: float(sharing.effective_items[code]))
    found = float(sharing.effective_items[scarce])
    if found < FEWEST_ITEMS:
        return _untested(null, pivot.gap, n, _few(sharing.cells[scarce], found))
    if 0 < sharing.n_clusters < FEWEST_CLUSTERS:
        return _untested(null, pivot.gap, n, _few_clusters(sharing))
    if pivot.variance_at(0.0) < NOTHING:
        return _untested(null, pivot.gap, n, "all outcomes are equal, nothing varies")
    single, shared = pivot.parts_at(pivot.gap)
    return GapTest(
        null=null,
        gap=pivot.gap,
        standard_error=math.sqrt(single + shared),
        p_value=pivot.p_value(0.0),
        n=n,
        method=sharing.method,
        pivot=pivot,
        shared_variance=shared,
    )


def _pivot(sharing: Sharing, codes: list[int]) -> SharedGap:
    n, hits = sharing.trials[codes], sharing.hits[codes]
    size = len(sharing.cells)
    rows = [*codes, *(size + code for code in codes)]
    block = np.ix_(rows, rows)
    rates = hits / n
    return SharedGap(
        rates=(float(rates[0]), float(rates[1])),
        trials=(float(n[0]), float(n[1])),
        own=(float(sharing.own[codes[0], codes[0]]), float(sharing.own[codes[1], codes[1]])),
        shared=sharing.dependent[block] - sharing.own[block],
        tie_share=float(sharing.half_hits[codes].sum() / n.sum()),
        reference=Reference(n_clusters=sharing.n_clusters),
    )


def _judgments(
    sharing: Sharing, known: dict[Cell, int], first: Cell, second: Cell
) -> tuple[int, int]:
    one, two = (
        round(float(sharing.trials[known[cell]])) if cell in known else 0
        for cell in (first, second)
    )
    return one, two


def _few(cell: Cell, found: float) -> str:
    return (
        f"the pairs {cell} rest on {found:.1f} items, counted by how evenly they are used; "
        f"{FEWEST_ITEMS} are needed"
    )


def _few_clusters(sharing: Sharing) -> str:
    return f"only {sharing.n_clusters} independent clusters, {FEWEST_CLUSTERS} are needed"


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedRate:
    """The rate of one cell whose pairs may share items, tested like a gap.

    Attributes
    ----------
    rate, trials, own, tie_share : float
        As in :class:`SharedGap`, of one cell.
    shared : ndarray, (2, 2)
        Second moments of (trials, hits) over judgments that share.
    reference : Reference
    """

    rate: float
    trials: float
    own: float
    shared: NDArray[np.float64]
    tie_share: float = 0.0
    reference: Reference = Reference()

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the rate if it is `hypothesised`."""
        weights = np.array([-hypothesised, 1.0]) / self.trials
        single = _spread(hypothesised, self.tie_share) * self.own / self.trials**2
        return single + max(float(weights @ self.shared @ weights), 0.0)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised rate in standard errors."""
        return _standardised(self.rate - hypothesised, self.variance_at(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the rates that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        step = quantile * math.sqrt(self.variance_at(self.rate))
        low, high = (
            _crossing(lambda rate: abs(self.statistic(rate)) - quantile, self.rate, end, step)
            for end in (0.0, 1.0)
        )
        return Interval(low, high, level)


def shared_rate(sharing: Sharing, cell: Cell) -> SharedRate:
    """Return the rate of a cell that holds pairs."""
    code, size = sharing.cells.index(cell), len(sharing.cells)
    n = float(sharing.trials[code])
    block = np.ix_([code, size + code], [code, size + code])
    return SharedRate(
        rate=float(sharing.hits[code]) / n,
        trials=n,
        own=float(sharing.own[code, code]),
        shared=sharing.dependent[block] - sharing.own[block],
        tie_share=float(sharing.half_hits[code]) / n,
        reference=Reference(n_clusters=sharing.n_clusters),
    )


def rate_interval(sharing: Sharing, cell: Cell, level: float = 0.95) -> Interval:
    """Return the score interval of the agreement in one cell; ``nan`` where there is none."""
    held = cell in sharing.cells and sharing.trials[sharing.cells.index(cell)] > 0
    if not held or 0 < sharing.n_clusters < FEWEST_CLUSTERS:
        return Interval(math.nan, math.nan, level)
    return shared_rate(sharing, cell).interval(level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WinGap:
    """How much more often one side wins than the other: twice a rate minus one.

    A :class:`comparity.results.Pivot`; ties of the scores are half a win of both sides.

    Attributes
    ----------
    wins : SharedRate
        Share of wins of the first side.
    """

    wins: SharedRate

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return min(1.0, 2 * self.wins.reference.tail(abs(self._statistic(hypothesised))))

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return self.wins.reference.tail(-self._statistic(hypothesised))

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return self.wins.reference.tail(self._statistic(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        low, high, _ = self.wins.interval(level)
        return Interval(2 * low - 1, 2 * high - 1, level)

    def _statistic(self, hypothesised: float) -> float:
        return self.wins.statistic((1 + hypothesised) / 2)


def compare_wins(sharing: Sharing, cell: Cell, *, null: str) -> GapTest:
    """Test whether the first item of a pair wins as often as the second.

    Parameters
    ----------
    sharing : Sharing
        With score ties counted as half a hit.
    cell : Cell
        The pairs.
    null : str
        The hypothesis in words.
    """
    code = sharing.cells.index(cell)
    n = round(float(sharing.trials[code]))
    if not n:
        return _untested(null, math.nan, (0, 0), f"no pair of the kind {cell}")
    wins = shared_rate(sharing, cell)
    found = float(sharing.effective_items[code])
    if found < FEWEST_ITEMS:
        return _untested(null, 2 * wins.rate - 1, (n, n), _few(cell, found))
    if 0 < sharing.n_clusters < FEWEST_CLUSTERS:
        return _untested(null, 2 * wins.rate - 1, (n, n), _few_clusters(sharing))
    if wins.variance_at(0.5) < NOTHING:
        return _untested(null, 2 * wins.rate - 1, (n, n), "all outcomes are equal, nothing varies")
    pivot = WinGap(wins=wins)
    return GapTest(
        null=null,
        gap=2 * wins.rate - 1,
        standard_error=2 * math.sqrt(wins.variance_at(wins.rate)),
        p_value=pivot.p_value(0.0),
        n=(n, n),
        method=sharing.method,
        pivot=pivot,
    )


def rate_covariance(sharing: Sharing) -> NDArray[np.float64]:
    """Return the covariance matrix of the agreement in all cells, residuals at observed rates."""
    return _covariance(sharing, sharing.hits / sharing.trials)


def null_covariance(sharing: Sharing) -> NDArray[np.float64]:
    """Return the covariance matrix of the agreement if all cells have the pooled rate."""
    pooled = sharing.hits.sum() / sharing.trials.sum()
    covariance = _covariance(sharing, np.full(len(sharing.cells), pooled))
    residual = _covariance_of(sharing.own, sharing.trials, pooled)
    ties = float(sharing.half_hits.sum() / sharing.trials.sum())
    single = _spread(float(pooled), ties) * np.diag(sharing.own)[: len(sharing.cells)]
    return covariance - residual + np.diag(single / sharing.trials**2)


def _covariance(sharing: Sharing, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return _covariance_of(sharing.dependent, sharing.trials, rates)


def _covariance_of(
    moments: NDArray[np.float64], trials: NDArray[np.float64], rates: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    size = len(trials)
    weights = np.zeros((2 * size, size))
    weights[np.arange(size), np.arange(size)] = -rates / trials
    weights[size + np.arange(size), np.arange(size)] = 1 / trials
    covariance: NDArray[np.float64] = weights.T @ moments @ weights
    return covariance
