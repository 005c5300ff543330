"""Symmetric accuracies: of every two groups, the mean of both roles of their items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import column_marginals, merge_cells, row_marginals
from comparity.counts.pairs import Sharing, subset
from comparity.inference.dyadic import FEWEST_CLUSTERS, FEWEST_ITEMS, null_covariance
from comparity.inference.gap_tests import GapTest, Reference, untested_gap
from comparity.inference.pivots import NullGap

UNTESTED = "too few items or queries, or nothing varies"
"""Why symmetric accuracies are not compared."""


def compare_symmetric(
    sharing: Sharing, groups: Sequence[str], others: Sequence[str] = ()
) -> list[GapTest]:
    """Test for every two groups whether their symmetric accuracies are equal.

    Parameters
    ----------
    sharing : Sharing
        Pairs by cell and what they share.
    groups, others : sequence of str
        The groups to compare, and what stands for items in no group.
    """
    parts = {**row_marginals(groups, others), **column_marginals(groups, others)}
    sides = merge_cells(sharing, parts)
    held = subset(sharing, np.flatnonzero(sharing.trials).tolist())
    share = np.array([[cell in cells for cell in held.cells] for cells in parts.values()])
    share = share * held.trials
    k = len(groups)
    tests = []
    for i, j in combinations(range(k), 2):
        null = f"symmetric({groups[i]}) = symmetric({groups[j]})"
        one, two = (round(float(sides.trials[[g, k + g]].sum())) for g in (i, j))
        used = [i, k + i, j, k + j]
        few_clusters = 0 < sharing.n_clusters < FEWEST_CLUSTERS
        if few_clusters or sides.effective_items[used].min() < FEWEST_ITEMS:
            tests.append(untested_gap(null, (one, two), UNTESTED))
            continue
        weights = np.array([0.5, 0.5, -0.5, -0.5]) @ (
            share[used] / share[used].sum(axis=1, keepdims=True)
        )
        tests.append(_test_null(held, weights, null, (one, two)))
    return tests


def _test_null(
    held: Sharing, weights: NDArray[np.float64], null: str, n: tuple[int, int]
) -> GapTest:
    gap = float(weights @ (held.hits / held.trials))
    variance = float(weights @ null_covariance(held) @ weights)
    if variance <= 0:
        return untested_gap(null, n, UNTESTED)
    error = math.sqrt(variance)
    pivot = NullGap(gap=gap, standard_error=error, reference=Reference(n_clusters=held.n_clusters))
    return GapTest(
        null=null,
        gap=gap,
        standard_error=error,
        p_value=pivot.p_value(0.0),
        n=n,
        method=held.method,
        pivot=pivot,
        # All pairs of these items are counted already: no judgment could be added.
        shared_variance=variance,
    )
