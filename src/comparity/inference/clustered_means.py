r"""Means of differences in rows that come in clusters: are they equal, on the scale of DPD.

A gap :math:`g` of two means, in standard deviations :math:`s`, is judged as in
:mod:`comparity.inference.means`: a hypothesised ratio :math:`h` by the distance :math:`g - h s`.
With means :math:`\rho_a` that differ by :math:`h s`, a row of group :math:`a` adds to it

.. math:: u_i(h) = \pm \frac{D_i - \rho_a}{n_a} - h \frac{(D_i - \bar D_a)^2 - c}{2 s (N - 2)}

with :math:`c` such that the last term sums to zero. These are summed by cluster, and the sums are
tested as those of evaluators are (:mod:`comparity.inference.evaluators`).

Where Welch's test needs help (differences that are rare, or skewed in few rows), so does this one:
the test of independent rows has to reject, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import cast

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import ClusterMoments, combinations_of, combine_codes
from comparity.counts.differences import ClusteredRows, Moments
from comparity.inference.cluster_spread import ClusterSpread, cluster_spread, lie_across
from comparity.inference.dyadic import FEWEST_CLUSTERS
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest, Interval, Pivot, untested_gap
from comparity.inference.means import WELCH, RatioPivot

Vector = NDArray[np.float64]

SIDES = np.array([1.0, -1.0])

REACH = 1e3
"""Gaps of so many standard deviations are not looked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanGap:
    """A gap of two means in standard deviations, as a sum of influences; see the module.

    Attributes
    ----------
    means, sizes : ndarray of shape (2,)
        Of the group and of the reference group.
    scale : float
        The standard deviation.
    dependent : ndarray of shape (5, 5)
        Second moments over dependent rows of no cluster: of rows and sums of both groups, and of
        what rows move the scale by.
    own : ndarray of shape (5, 5)
        The same over each row with itself.
    """

    means: Vector
    sizes: Vector
    scale: float
    dependent: Vector
    own: Vector

    @property
    def gap(self) -> float:
        """The observed gap."""
        return float(SIDES @ self.means) / self.scale

    def weights(self, hypothesised: float) -> Vector:
        """Return what turns the five columns into the distance from the hypothesis."""
        share = SIDES / self.sizes
        distance = (self.gap - hypothesised) * self.scale
        means = self.means - distance * share / (SIDES @ share)
        return np.concatenate([-means * share, share, [-hypothesised]]) / self.scale

    @property
    def line(self) -> tuple[Vector, Vector]:
        """The weights at the observed gap, and what they gain by a gap larger by one."""
        base = self.weights(self.gap)
        return base, self.weights(self.gap + 1.0) - base

    def variance_at(self, hypothesised: float) -> float:
        """Return what dependent rows of no cluster add to the variance."""
        weights = self.weights(hypothesised)
        return float(weights @ self.dependent @ weights)


class BothReject:
    """Mixed into a test of clusters: the test of independent rows has to reject, too.

    Attributes
    ----------
    other : Pivot
        The test of independent rows.
    """

    __slots__ = ()
    other: Pivot

    @property
    def _both(self) -> tuple[Pivot, Pivot]:
        return cast("Pivot", super()), self.other

    def p_value(self, hypothesised: float) -> float:
        """Return the two-sided p value of ``gap = hypothesised``."""
        return max(test.p_value(hypothesised) for test in self._both)

    def p_below(self, hypothesised: float) -> float:
        """Return the p value of ``gap >= hypothesised`` against ``gap < hypothesised``."""
        return max(test.p_below(hypothesised) for test in self._both)

    def p_above(self, hypothesised: float) -> float:
        """Return the p value of ``gap <= hypothesised`` against ``gap > hypothesised``."""
        return max(test.p_above(hypothesised) for test in self._both)

    def interval(self, level: float) -> Interval:
        """Return the gaps that not both tests reject."""
        one, two = (test.interval(level) for test in self._both)
        return Interval(min(one.low, two.low), max(one.high, two.high), level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CheckedGap(BothReject, ClusterGap):
    """A clustered gap of means whose test of independent rows has to reject, too."""

    other: Pivot


def compare_clustered(
    unclustered: GapTest, group: Moments, reference: Moments, rows: ClusteredRows
) -> GapTest:
    """Test whether two groups have the same mean difference, where rows share clusters.

    Parameters
    ----------
    unclustered : GapTest
        The test of independent rows.
    group, reference : Moments
        Differences in the two groups.
    rows : ClusteredRows
        The same, row by row, in clusters.

    Returns
    -------
    GapTest
        On the scale of DPD. No test, and the reason, with fewer than three clusters, with one that
        holds a whole group, or where nothing varies.
    """
    null, n = unclustered.null, unclustered.n
    if not isinstance(unclustered.pivot, RatioPivot):
        reason = unclustered.reason or "no difference varies"
        return untested_gap(null, n, reason, gap=unclustered.gap)
    reason = _reason_against(rows)
    if reason:
        return untested_gap(null, n, reason, gap=unclustered.gap)
    found = _cluster_gap(group, reference, rows, unclustered.pivot.scale)
    method = "t and signs of clusters" if found.flips_signs else "t of clusters"
    if unclustered.method != WELCH:
        known = {one.name: getattr(found, one.name) for one in fields(found)}
        found = CheckedGap(**known, other=unclustered.pivot)
        method = f"{method}, and {unclustered.method}"
    return GapTest(
        null=null,
        gap=unclustered.gap,
        standard_error=math.sqrt(found.variance_at(found.gap)),
        p_value=found.p_value(0.0),
        n=n,
        method=method,
        pivot=found,
        reason=unclustered.reason,
    )


def _reason_against(rows: ClusteredRows) -> str:
    """Return why clusters cannot tell the variance; nothing where they can."""
    for name, one in rows.clusters.items():
        if one.n < FEWEST_CLUSTERS:
            return f"only {one.n} clusters by {name}, {FEWEST_CLUSTERS} are needed"
        if min(one.keep(side).n for side in (rows.second, ~rows.second)) < 2:
            return f"all rows of a group lie in one cluster by {name}"
    return ""


def _cluster_gap(
    group: Moments, reference: Moments, rows: ClusteredRows, scale: float
) -> ClusterGap:
    both = (group, reference)
    means, sizes = (np.array([getattr(one, name) for one in both]) for name in ("mean", "n"))
    columns = _columns(rows, means, scale)
    own = columns.T @ (rows.weights[:, None] * columns)
    moments = _moments(rows, columns, own)
    few = moments.few(list(rows.clusters))
    assert few is not None, "all clusters are listed"
    between = MeanGap(
        means=means, sizes=sizes.astype(np.float64), scale=scale, dependent=few.between, own=own
    )
    variances = np.array([one.m2 / one.n for one in both])
    further = tuple((one.moments, _spread(one.sums, means, variances)) for one in few.further)
    spread = None
    if not lie_across(few.sums[:, :2], SIDES):
        spread = _spread(few.sums, means, variances)
    # A gap of means has no bounds.
    return ClusterGap(between=between, sums=few.sums, further=further, spread=spread, reach=REACH)


def _columns(rows: ClusteredRows, means: Vector, scale: float) -> Vector:
    """Return rows and differences by group, and what each row moves the scale by."""
    sides = np.column_stack([~rows.second, rows.second]).astype(np.float64)
    squares = (rows.values - sides @ means) ** 2
    n = float(rows.weights.sum())
    squares -= float(rows.weights @ squares) / n
    moved = squares / (2 * scale * (n - 2))
    return np.column_stack([sides, sides * rows.values[:, None], moved])


def _moments(rows: ClusteredRows, columns: Vector, own: Vector) -> ClusterMoments:
    """Return second moments of columns over clusters of every combination of kinds."""
    kinds, same, sums = rows.clusters, {}, {}
    for several in combinations_of(kinds):
        codes = combine_codes([kinds[kind].codes for kind in several])
        held, place = np.unique(codes, return_inverse=True)
        totals = np.zeros((len(held), columns.shape[1]))
        np.add.at(totals, place, rows.weights[:, None] * columns)
        same[several] = totals.T @ totals
        if len(several) == 1:
            sums[next(iter(several))] = totals
    return ClusterMoments(
        items=own,
        pairs=np.zeros_like(own),
        same=same,
        within=dict.fromkeys(same, own),
        sizes={kind: len(totals) for kind, totals in sums.items()},
        sums=sums,
    )


def _spread(sums: Vector, means: Vector, variances: Vector) -> ClusterSpread:
    """Return how well clusters tell the variance of the gap."""
    n = len(sums)
    if lie_across(sums[:, :2], SIDES):
        return ClusterSpread(np.array([n / (n - 1)]), np.array([n - 1.0]))
    return cluster_spread(sums[:, :2], sums[:, 2:4] - sums[:, :2] * means, SIDES, variances)
