"""Symmetric equal accuracy: each group is ordered equally well, whichever side it is on.

A group's symmetric accuracy is the mean of its two marginals, the accuracy of pairs whose better
item is in the group and of pairs whose worse item is: :math:`(A_{i>:} + A_{:>i}) / 2`, half of the
sum in Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression". The
marginals overlap in the pairs within the group, so the test is a Wald test with the covariance of
all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from comparity.counting.marginals import column_marginals, merged, row_marginals
from comparity.counting.sharing import Sharing
from comparity.inference.dyadic import FEWEST_ITEMS, rate_covariance
from comparity.inference.proportions import WaldPivot
from comparity.results import GapTest

__all__ = ["compare_symmetric"]


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
    sides = merged(sharing, {**row_marginals(groups, others), **column_marginals(groups, others)})
    k = len(groups)
    enough = sides.effective_items >= FEWEST_ITEMS
    with np.errstate(divide="ignore", invalid="ignore"):
        rates, covariance = sides.hits / sides.trials, rate_covariance(sides)
    tests = []
    for i, j in combinations(range(k), 2):
        weights = np.zeros(2 * k)
        weights[[i, k + i]], weights[[j, k + j]] = 0.5, -0.5
        used = weights != 0
        gap = float(weights[used] @ rates[used])
        variance = float(weights[used] @ covariance[np.ix_(used, used)] @ weights[used])
        n = tuple(round(float(sides.trials[[g, k + g]].sum())) for g in (i, j))
        testable = bool(enough[used].all()) and variance > 0
        pivot = WaldPivot(gap, math.sqrt(variance)) if testable else None
        tests.append(
            GapTest(
                null=f"symmetric({groups[i]}) = symmetric({groups[j]})",
                gap=gap,
                standard_error=math.sqrt(variance) if testable else math.nan,
                p_value=pivot.p_value(0.0) if pivot else math.nan,
                n=(n[0], n[1]),
                method="Wald z" if testable else "none",
                pivot=pivot,
                reason="" if testable else "too few items, or nothing varies",
            )
        )
    return tests
