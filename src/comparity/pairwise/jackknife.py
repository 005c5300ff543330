r"""Audits of all pairs whose items come in clusters, by leaving out clusters in turn.

An item takes part in pairs with all others, so that what items of one person have in common is in
nearly all pairs. The gap :math:`d` is worked out again without each cluster, weights and curves of
standardisation included; with :math:`d_{(b)}` the gap without cluster :math:`b` of :math:`B`,

.. math:: V = \frac{B - 1}{B} \sum_b (d_{(b)} - \bar d)^2

is its variance (the jackknife [1]_), compared with Student's t on one degree of freedom fewer than
the clusters that hold items of the scarcer group. More than 64 clusters are dealt to 64 blocks, the
largest first, which are independent of each other as clusters are. Items may share clusters of
several kinds, a person and a page. With :math:`V_S` the jackknife's variance over clusters of every
combination :math:`S` of kinds,

.. math:: V = \max\Big(\max_k V_k, \sum_S (-1)^{|S| + 1} V_S\Big)

counts what two items share twice once [2]_, and is no smaller than for one of the kinds alone:
differences of estimated variances may come out too small. The kind with the fewest clusters gives
the degrees of freedom. The jackknife knows nothing of rates next to zero or one: where these leave
fewer than 15 items of a group to err or not to err, the test of independent items has to reject,
too.

References
----------
.. [1] Efron and Stein (1981), "The jackknife estimate of variance", Annals of Statistics 9; Bell
   and McCaffrey (2002), "Bias reduction in standard errors for linear regression with multi-stage
   samples", Survey Methodology 28.
.. [2] Cameron, Gelbach and Miller (2011), "Robust inference with multiway clustering", J. Business
   and Economic Statistics 29.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import (
    Clustering,
    combinations_of,
    combine_codes,
    shared_clusters,
)
from comparity.inference.clustered_means import BothReject
from comparity.inference.dyadic import AMPLE, FEWEST_CLUSTERS
from comparity.inference.gap_tests import Interval, Pivot
from comparity.inference.means import RatioPivot
from comparity.pairwise.options import PairwiseOptions
from comparity.results.audit import Audit, JudgedGap
from comparity.results.judging import cluster_notes, judge, overall_finding
from comparity.results.result import EXIT_STATUS
from comparity.tables.features import LabelledItems

Gaps = NDArray[np.float64]

MOST_BLOCKS = 64
"""So many times pairs are counted again; t on 63 degrees of freedom is within 2 % of the normal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JackknifeGap(BothReject, RatioPivot):
    """A gap with its jackknife error, whose test of independent items has to reject, too."""

    other: Pivot

    def interval(self, level: float) -> Interval:
        """Return the gaps of rates that not both tests reject."""
        low, high, _ = BothReject.interval(self, level)
        return Interval(max(low, -1.0), min(high, 1.0), level)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Clusters of items, dealt to blocks that can be left out in turn.

    Attributes
    ----------
    clusters : ndarray of int
        The cluster of each item.
    """

    clusters: NDArray[np.int64]

    @property
    def codes(self) -> NDArray[np.int64]:
        """The block of each item; large clusters are dealt first."""
        _, number, sizes = np.unique(self.clusters, return_inverse=True, return_counts=True)
        place = np.empty(len(sizes), dtype=np.int64)
        place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
        return (place % MOST_BLOCKS)[number]

    def variances(self, items: LabelledItems, measure: Callable[[LabelledItems], Gaps]) -> Gaps:
        """Return the jackknife's variance of every gap; ``nan`` where a block holds all of one."""
        codes = self.codes
        gaps = np.array([measure(items.keep(codes != block)) for block in np.unique(codes)])
        found: Gaps = (len(gaps) - 1) * gaps.var(axis=0)
        return found

    def scarcest(self, items: LabelledItems) -> int:
        """Return in how many blocks the items of the scarcest group lie."""
        held = [self.codes[items.group == code] for code in range(len(items.groups))]
        return min(len(np.unique(codes)) for codes in held)


Measured = tuple[Audit, Callable[[LabelledItems], Gaps]]


def know_clusters(
    audits: tuple[Measured, ...],
    items: LabelledItems,
    clusters: Mapping[str, Clustering],
    options: PairwiseOptions,
) -> tuple[Audit, ...]:
    """Judge audits of one set of items again, where some share a cluster.

    Parameters
    ----------
    audits : tuple of (Audit, callable)
        Audits of independent items, and what works out their gaps for some of the items.
    items : LabelledItems
    clusters : mapping of str to Clustering
        The cluster of each item, by kind.
    options : PairwiseOptions
    """
    shared = shared_clusters(clusters, np.ones(len(items), dtype=np.int64))
    found: dict[int, Audit] = {}
    for audit, measure in audits:
        if id(audit) in found:
            continue
        if shared:
            variances = variances_of(shared, items, measure)
            found[id(audit)] = cluster_audit(audit, shared, items, variances, options)
            continue
        unused = cluster_notes({}, options.cluster, rows="items")
        found[id(audit)] = replace(audit, notes=(*audit.notes, *unused))
    return tuple(found[id(audit)] for audit, _ in audits)


def variances_of(
    clusters: Mapping[str, Clustering],
    items: LabelledItems,
    measure: Callable[[LabelledItems], Gaps],
) -> Gaps:
    """Return the variance of every gap over items that share a cluster of any kind."""
    known: dict[frozenset[str], Gaps] = {}
    for several in combinations_of(clusters):
        # In the order of the columns, which sets do not keep: clusters are dealt out by it.
        codes = [one.codes for kind, one in clusters.items() if kind in several]
        known[several] = Blocks(combine_codes(codes)).variances(items, measure)
    all_kinds = sum((-1) ** (len(several) + 1) * one for several, one in known.items())
    alone = [one for several, one in known.items() if len(several) == 1]
    found: Gaps = np.max([all_kinds, *alone], axis=0)
    return found


def cluster_audit(
    audit: Audit,
    clusters: Mapping[str, Clustering],
    items: LabelledItems,
    variances: Gaps,
    options: PairwiseOptions,
) -> Audit:
    """Judge an audit again, with errors that know the clusters.

    Parameters
    ----------
    audit : Audit
        Of independent items.
    clusters : mapping of str to Clustering
        The cluster of each item, by kind.
    items : LabelledItems
        All items, before they are weighted.
    variances : ndarray of shape (tests,)
        Of the gaps.
    options : PairwiseOptions
    """
    scarcest = min(Blocks(one.codes).scarcest(items) for one in clusters.values())
    errs = min((min(one.rate, 1 - one.rate) for one in audit.rates), default=0.0)
    rare = errs * min(items.group_sizes.values()) < AMPLE
    tests = [
        _with_error(test, variance, scarcest, rare)
        for test, variance in zip(audit.tests, variances.tolist(), strict=True)
    ]
    judged = judge(tests, **options.judging, n=audit.n_items, n_items=audit.n_items)
    finding = overall_finding(judged)
    number = {name: one.n for name, one in clusters.items()}
    return replace(
        audit,
        tests=judged,
        finding=finding,
        exit_status=EXIT_STATUS[finding],
        design=f"{audit.design}, clustered by {' and '.join(number)}",
        n_clusters=number,
        # Tests of all cells at once, and intervals of single cells, take items to be independent.
        joint_tests=(),
        notes=(*audit.notes, *cluster_notes(number, options.cluster, rows="items"), RATES),
    )


RATES = "The intervals of single rates take items to be independent; those of gaps do not."


def _with_error(test: JudgedGap, variance: float, scarcest: int, rare: bool) -> JudgedGap:
    """Return a test with the jackknife's error; without a p value where there is none."""
    if test.pivot is None:
        return test
    reason = ""
    if scarcest < FEWEST_CLUSTERS:
        reason = f"a group lies in only {scarcest} clusters, {FEWEST_CLUSTERS} are needed"
    elif not math.isfinite(variance):
        reason = "without one of the clusters there is no such gap"
    if reason:
        return replace(test, p_value=math.nan, pivot=None, reason=reason)
    known = {"gap": test.gap, "scale": 1.0, "variance": variance, "dof": scarcest - 1}
    known |= {"covariance": 0.0, "scale_variance": 0.0}
    pivot = JackknifeGap(**known, other=test.pivot) if rare else RatioPivot(**known)
    return replace(
        test,
        standard_error=math.sqrt(variance),
        p_value=pivot.p_value(0.0),
        pivot=pivot,
        method=f"jackknife t of clusters{f', and {test.method}' if rare else ''}",
    )
