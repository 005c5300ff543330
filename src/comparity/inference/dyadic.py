r"""Tests of agreement gaps between cells whose judged pairs share items or evaluators.

The statistics and their variances are explained in :mod:`comparity.inference.pivots`; here they
are computed from counts, or refused if the counts are too small.

The reference may be an estimate, such as a panel's scores adjusted for the biases of its
evaluators (:class:`CarriedGap`). Two errors of the reference affect a gap :math:`d` between two
cells. First, its groups may be shifted against each other. This error is common to all items; it
moves the gap by :math:`d(h) - d(-h)` and adds :math:`((d(h) - d(-h)) / 2)^2` to its variance, with
:math:`h` one standard error of the shift. Second, each item has an error of its own, which reverses
the order of close pairs and pulls agreement towards one half, in some cells more than in others.
Adding errors of this distribution once more moves the gap by about as much as the first time, by
:math:`b = E\,d^* - d` (the idea of simulation-extrapolation [1]_). The test allows for a bias of
up to twice that, :math:`|b| \le a`:

.. math:: T(\delta) = \operatorname{sign}(d - \delta)
    \frac{\max(|d - \delta| - a, 0)}{\sqrt{V(\delta) + V_{shift}}}

References
----------
.. [1] Cook and Stefanski (1994), "Simulation-extrapolation estimation in parametric measurement
   error models", JASA 89.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import EVALUATORS, FewClusters
from comparity.counts.pairs import ROUNDING, Cell, Sharing
from comparity.inference.cluster_spread import ClusterSpread, cluster_spread, lie_across
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import (
    NORMAL,
    GapTest,
    Interval,
    Reference,
    Statistic,
    find_limit,
    untested_gap,
)
from comparity.inference.pivots import (
    NOTHING,
    DyadicGap,
    SharedGap,
    SharedRate,
    WinGap,
    spread,
)

FEWEST_ITEMS = 10
"""Below this many items in a cell, counted by how evenly they are used, no variance is believed."""


FEWEST_CLUSTERS = 3
"""With fewer evaluators, queries or other clusters no variance is believed."""


AMPLE = 15
"""With this many hits and misses expected in either cell, squared residuals give the variance."""


def compare_cells(
    sharing: Sharing,
    first: Cell | tuple[Cell, ...],
    second: Cell | tuple[Cell, ...],
    *,
    null: str,
    guarded: bool = True,
) -> GapTest:
    """Test whether two cells, or the means of several, have the same agreement.

    Parameters
    ----------
    sharing : Sharing
        Judged pairs and what they share.
    first, second : Cell or tuple of Cell
        The cells to compare; of several the unweighted mean of their rates.
    null : str
        The hypothesis in words.
    guarded : bool
        Whether few hits or misses get the binomial variance, few evaluators or other clusters
        the test of :mod:`comparity.inference.evaluators`, and few queries a distribution of their
        own.
        Otherwise squared residuals and the normal one are used whatever the counts.

    Returns
    -------
    GapTest
        Without a p value, and with the reason, where a cell holds no judgments, where its judgments
        rest on fewer than ten items (an item that occurs in most of them counts for little), or
        where nothing varies: all judgments of both cells agree, or none, or all tie.
    """
    sides = [(side,) if isinstance(side, Cell) else side for side in (first, second)]
    known = {cell: code for code, cell in enumerate(sharing.cells)}
    n = tuple(_judgments(sharing, known, side) for side in sides)
    for cell in (*sides[0], *sides[1]):
        if cell not in known or not sharing.trials[known[cell]]:
            return untested_gap(null, (n[0], n[1]), f"no pair of the kind {cell}")
    codes = [known[cell] for side in sides for cell in side]
    contrast = np.repeat([1 / len(sides[0]), -1 / len(sides[1])], [len(side) for side in sides])
    reason = _reason_against(sharing, codes, guarded=guarded)
    if reason:
        rates = sharing.hits[codes] / sharing.trials[codes]
        return untested_gap(null, (n[0], n[1]), reason, gap=float(contrast @ rates))
    pivot, variance = _pivot(sharing, codes, contrast, guarded=guarded)
    if pivot.variance_at(0.0) < NOTHING:
        reason = "all outcomes are equal, nothing varies"
        return untested_gap(null, (n[0], n[1]), reason, gap=pivot.gap)
    single, shared = pivot.parts_at(pivot.gap)
    return GapTest(
        null=null,
        gap=pivot.gap,
        standard_error=math.sqrt(max(single + shared, 0.0)),
        p_value=pivot.p_value(0.0),
        n=(n[0], n[1]),
        method=sharing.method + variance,
        pivot=pivot,
        shared_variance=max(shared, 0.0),
    )


def _reason_against(sharing: Sharing, codes: list[int], *, guarded: bool) -> str:
    """Return why the variance of these cells cannot be estimated; nothing if it can."""
    scarce = min(codes, key=lambda code: float(sharing.effective_items[code]))
    found = float(sharing.effective_items[scarce])
    if found < FEWEST_ITEMS:
        return _few(sharing.cells[scarce], found, evenly=guarded)
    if 0 < sharing.n_clusters < FEWEST_CLUSTERS:
        return _few_clusters(sharing)
    if guarded and sharing.few is not None:
        held = sharing.few.of(_rows(sharing, codes))
        if held.n_least < FEWEST_CLUSTERS and sharing.few.kind == EVALUATORS:
            return f"only {held.n_least} evaluators judged such pairs, {FEWEST_CLUSTERS} are needed"
        if held.n_least < FEWEST_CLUSTERS:
            return f"such rows lie in only {held.n_least} clusters, {FEWEST_CLUSTERS} are needed"
        if sharing.few.kind != EVALUATORS or held.further:
            for code in codes:
                if sharing.few.of([code]).n_least < 2:
                    return f"all rows of {sharing.cells[code]} lie in one cluster"
    return ""


def _rows(sharing: Sharing, codes: list[int]) -> list[int]:
    """Return the rows of the moments that are about these cells."""
    return [*codes, *(len(sharing.cells) + code for code in codes)]


def _pivot(
    sharing: Sharing, codes: list[int], contrast: NDArray[np.float64], *, guarded: bool
) -> tuple[DyadicGap | SharedGap | ClusterGap, str]:
    """Return the test of a contrast, and what its variance is called where it is not the usual one.

    Squared residuals are the variance where they can carry it. If judgments that share twice, taken
    off once, take off too much, they are not taken off.
    """
    n, hits = sharing.trials[codes], sharing.hits[codes]
    rows = _rows(sharing, codes)
    block = np.ix_(rows, rows)
    dependent, own = sharing.dependent[block], sharing.own[block]
    singles = np.diag(own)[: len(codes)]
    reference = Reference(n_clusters=sharing.n_clusters) if guarded else NORMAL
    ample = DyadicGap(
        rates=hits / n,
        trials=n,
        dependent=dependent,
        own=own,
        contrast=contrast,
        reference=reference,
    )
    shares = bool(np.any(dependent != own))
    # Weighted judgments count as many as would have their variance.
    worth = float((n**2 / singles).min())
    # All pairs of a few hundred items are many pairs without being ample.
    listed = shares and sharing.touching is not None
    many = worth * min(ample.pooled_rate, 1 - ample.pooled_rate) >= AMPLE
    tie_share = float(sharing.half_hits[codes].sum() / n.sum())
    if guarded and sharing.few is not None:
        return _cluster_pivot(ample, sharing.few.of(rows), tie_share, ample_counts=many)
    if listed and (many or not guarded):
        least, rounding = ample.least_variance(), ROUNDING * abs(ample.variance_at(0.0))
        if least > rounding or (not guarded and least >= -rounding):
            return ample, ""
        # Rates of one and zero have no variance at their own gap, which is not a negative one.
        if least < -rounding:
            assert sharing.touching is not None, "listed judgments know their clusters"
            return replace(ample, dependent=sharing.touching[block]), ", nothing taken off"
    few = SharedGap(
        rates=ample.rates,
        trials=n,
        own=singles,
        shared=dependent - own,
        contrast=contrast,
        tie_share=tie_share,
        reference=reference,
    )
    return few, ", binomial variance" if listed else ""


def _cluster_pivot(
    gap: DyadicGap, held: FewClusters, tie_share: float, *, ample_counts: bool
) -> tuple[ClusterGap, str]:
    """Return the test of a gap in a few clusters, and what it adds to the name."""
    between = replace(gap, dependent=held.between, reference=NORMAL)
    further = tuple((one.moments, _spread(gap, one.sums)) for one in held.further)
    kind, within = "evaluators", None
    if held.kind != EVALUATORS:
        kind = "clusters"
        if not lie_across(held.sums[:, : len(gap.trials)], gap.contrast):
            within = _spread(gap, held.sums)
    found = ClusterGap(between=between, sums=held.sums, further=further, spread=within)
    source = f", t and signs of {kind}" if found.flips_signs else f", t of {kind}"
    # Rates of one and zero have no variance at their own gap.
    if ample_counts and found.variance_at(gap.gap) > ROUNDING * found.variance_at(0.0):
        return found, source
    binomial = SharedGap(
        rates=gap.rates,
        trials=gap.trials,
        own=np.diag(gap.own)[: len(gap.trials)],
        shared=held.by_item - gap.own,
        contrast=gap.contrast,
        tie_share=tie_share,
    )
    return replace(found, binomial=binomial), f", binomial variance{source}"


def _spread(gap: DyadicGap, sums: NDArray[np.float64]) -> ClusterSpread:
    """Return how well clusters tell the variance of a gap."""
    size, n = len(gap.trials), len(sums)
    if lie_across(sums[:, :size], gap.contrast):
        return ClusterSpread(np.array([n / (n - 1)]), np.array([n - 1.0]))
    residuals = sums[:, size:] - gap.rates * sums[:, :size]
    own = np.diag(gap.own)
    squares = own[size:] - 2 * gap.rates * np.diag(gap.own[:size, size:])
    squares += gap.rates**2 * own[:size]
    return cluster_spread(sums[:, :size], residuals, gap.contrast, squares / gap.trials)


def _judgments(sharing: Sharing, known: dict[Cell, int], side: tuple[Cell, ...]) -> int:
    return sum(round(float(sharing.trials[known[cell]])) for cell in side if cell in known)


def _few(cell: Cell, found: float, *, evenly: bool = True) -> str:
    if not evenly:
        return f"the pairs {cell} rest on {found:.0f} items; {FEWEST_ITEMS} are needed"
    return (
        f"the pairs {cell} rest on {found:.1f} items, counted by how evenly they are used; "
        f"{FEWEST_ITEMS} are needed"
    )


def _few_clusters(sharing: Sharing) -> str:
    return f"only {sharing.n_clusters} independent clusters, {FEWEST_CLUSTERS} are needed"


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
        return untested_gap(null, (0, 0), f"no pair of the kind {cell}")
    wins = shared_rate(sharing, cell)
    found = float(sharing.effective_items[code])
    if found < FEWEST_ITEMS:
        return untested_gap(null, (n, n), _few(cell, found), gap=2 * wins.rate - 1)
    if 0 < sharing.n_clusters < FEWEST_CLUSTERS:
        return untested_gap(null, (n, n), _few_clusters(sharing), gap=2 * wins.rate - 1)
    if wins.variance_at(0.5) < NOTHING:
        return untested_gap(
            null, (n, n), "all outcomes are equal, nothing varies", gap=2 * wins.rate - 1
        )
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
    single = spread(float(pooled), ties) * np.diag(sharing.own)[: len(sharing.cells)]
    return covariance - residual + np.diag(single / sharing.trials**2)


def _covariance(sharing: Sharing, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    return _covariance_of(sharing.dependent, sharing.trials, rates)


def _covariance_of(
    moments: NDArray[np.float64], trials: NDArray[np.float64], rates: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    # A rate depends on trials and hits of its own cell; of a matrix of weights most would be zeros.
    of_trial, of_hit, size = (-rates / trials)[:, None], (1 / trials)[:, None], len(trials)
    weighed = of_trial * moments[:size] + of_hit * moments[size:]
    covariance: NDArray[np.float64]
    covariance = of_trial.T * weighed[:, :size] + of_hit.T * weighed[:, size:]
    return covariance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedGap(Statistic):
    """A gap with the error of its reference: a :class:`comparity.inference.gap_tests.Pivot`.

    Attributes
    ----------
    given : DyadicGap or SharedGap
        The gap if the reference were the truth.
    shift_variance : float
        What an error common to all items of a group adds to the variance.
    allowance : float
        How far errors of single items may have moved the gap.
    """

    given: DyadicGap | SharedGap
    shift_variance: float
    allowance: float

    @property
    def reference(self) -> Reference:
        """The distribution the statistic is compared with."""
        return self.given.reference

    def variance_at(self, hypothesised: float) -> float:
        """Return the variance of the gap if it is `hypothesised`."""
        return self.given.variance_at(hypothesised) + self.shift_variance

    def statistic(self, hypothesised: float) -> float:
        """Return how far the gap is from the hypothesis beyond the allowance, in errors."""
        distance = self.given.gap - hypothesised
        beyond = max(abs(distance) - self.allowance, 0.0)
        return math.copysign(beyond, distance) / math.sqrt(self.variance_at(hypothesised))

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        quantile = self.reference.quantile(1 - level)
        gap = self.given.gap
        step = self.allowance + quantile * math.sqrt(self.variance_at(gap))
        low, high = (
            find_limit(lambda at: abs(self.statistic(at)) - quantile, gap, end, step)
            for end in (-1.0, 1.0)
        )
        return Interval(low, high, level)
