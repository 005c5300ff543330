r"""How far a model is from pairwise parity: one number from the matrix of pairwise accuracies.

Entry :math:`(i, j)` of the matrix is

.. math:: A_{i>j} = P(f(x) > f(x') \mid y > y', x \in G_i, x' \in G_j),

how often a model puts the better item first when that is of group i and the worse of group j:
the agreement of the cell. The notions are those of Narasimhan, Cotter, Gupta and Wang, "Pairwise
Fairness for Ranking and Regression" (AAAI 2020); equation numbers are theirs. An entry without
pairs is ``nan``, and so is every number that would need it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.all_pairs import column_marginals, merged, row_marginals
from comparity.counts.pairs import Sharing, subset
from comparity.inference.dyadic import FEWEST_CLUSTERS, FEWEST_ITEMS, null_covariance
from comparity.inference.gap_tests import GapTest, Interval, untested_gap
from comparity.inference.pivots import NORMAL, Reference, Statistic

__all__ = [
    "NullGap",
    "compare_symmetric",
    "cross_group_gap",
    "least_accuracy",
    "least_cross_group_accuracy",
    "marginal_gap",
    "pairwise_equal_opportunity_gap",
    "pairwise_parity_gap",
    "symmetric_accuracy_gap",
    "within_group_gap",
]


UNTESTED = "too few items or queries, or nothing varies"
"""Why symmetric accuracies are not compared."""


def pairwise_equal_opportunity_gap(matrix: ArrayLike) -> float:
    r"""Largest difference between any two cells.

    .. math:: \max_{i,j} A_{i>j} - \min_{i,j} A_{i>j}

    Pairwise equal opportunity, equation (4), asks that it is zero. For two groups and binary labels
    that is comparative separation. Like every range it grows with the number of cells by chance
    alone.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any cell holds no pair.

    Examples
    --------
    >>> round(pairwise_equal_opportunity_gap([[0.94, 0.98], [0.73, 0.89]]), 2)
    0.25
    """
    return _range(_square(matrix))


def cross_group_gap(matrix: ArrayLike) -> float:
    r"""Largest difference between any two cells of different groups.

    .. math:: \max_{i \ne j} A_{i>j} - \min_{i \ne j} A_{i>j}

    Cross-group equal opportunity, equation (5), asks that it is zero. For two groups it is
    :math:`|A_{i>j} - A_{j>i}|`, the size of the xAUC disparity
    (:func:`comparity.pairwise.areas.xauc_gap`).

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any such cell holds no pair, or with one group.

    Examples
    --------
    >>> round(cross_group_gap([[0.94, 0.98], [0.73, 0.89]]), 2)
    0.25
    """
    return _range(_across(matrix))


def within_group_gap(matrix: ArrayLike) -> float:
    r"""Largest difference between two groups in how well a model orders their own items.

    .. math:: \max_i A_{i>i} - \min_i A_{i>i}

    Within-group equal accuracy, equation (6), asks that it is zero.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any such cell holds no pair.

    Examples
    --------
    >>> round(within_group_gap([[0.94, 0.98], [0.73, 0.89]]), 2)
    0.05
    """
    return _range(np.diagonal(_square(matrix)))


def least_accuracy(matrix: ArrayLike) -> float:
    r"""Accuracy in the cell that a model orders worst: :math:`\min_{i,j} A_{i>j}`.

    What robust training raises when it looks at all cells.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any cell holds no pair.

    Examples
    --------
    >>> least_accuracy([[0.94, 0.98], [0.73, 0.89]])
    0.73
    """
    rates = _square(matrix)
    return float(rates.min()) if rates.size else float("nan")


def least_cross_group_accuracy(matrix: ArrayLike) -> float:
    r"""Accuracy in the worst cell of different groups: :math:`\min_{i \ne j} A_{i>j}`.

    Equation (13) maximises the smaller of it and the overall accuracy.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any such cell holds no pair, or with one group.

    Examples
    --------
    >>> least_cross_group_accuracy([[0.68, 0.98], [0.73, 0.89]])
    0.73
    """
    across = _across(matrix)
    return float(across.min()) if across.size else float("nan")


def marginal_gap(marginals: ArrayLike) -> float:
    r"""Largest difference between two groups in a marginal accuracy.

    .. math:: \max_i A_{i>:} - \min_i A_{i>:}

    where :math:`A_{i>:}` is the accuracy over all pairs whose better item is in group i. Marginal
    equal opportunity, equation (7), asks that it is zero. The same number of the column marginals
    :math:`A_{:>i}` compares groups by their worse items.

    Parameters
    ----------
    marginals : (K,) array_like
        One marginal for each group, pooled over pairs.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any marginal is without pairs.

    Examples
    --------
    >>> round(marginal_gap([0.95, 0.75, 0.91]), 2)
    0.2
    """
    return _range(np.asarray(marginals, dtype=np.float64))


def symmetric_accuracy_gap(row_marginals: ArrayLike, column_marginals: ArrayLike) -> float:
    r"""Largest difference between two groups in accuracy as better and as worse item together.

    .. math:: \max_i (A_{i>:} + A_{:>i}) - \min_i (A_{i>:} + A_{:>i})

    Symmetric equal accuracy asks that it is zero: it is meant for predictions that should be
    accurate rather than high. A model that favours one group may have a gap of zero, because what
    that group gains when it is better it loses when it is worse.

    Parameters
    ----------
    row_marginals, column_marginals : (K,) array_like
        Accuracy over pairs whose better, and whose worse, item is in each group.

    Returns
    -------
    float
        Between 0 and 2; ``nan`` when any marginal is without pairs.

    Examples
    --------
    >>> symmetric_accuracy_gap([0.75, 0.5], [0.75, 0.75])
    0.25
    """
    rows = np.asarray(row_marginals, dtype=np.float64)
    return _range(rows + np.asarray(column_marginals, dtype=np.float64))


def pairwise_parity_gap(wins: ArrayLike) -> float:
    r"""Largest difference between two groups in how often their items are put first.

    .. math:: \max_{i \ne j} W_{i>j} - \min_{i \ne j} W_{i>j},
       \qquad W_{i>j} = P(f(x) > f(x') \mid x \in G_i, x' \in G_j)

    Pairwise statistical parity, equation (8), asks that it is zero. No label enters. Without score
    ties :math:`W_{j>i} = 1 - W_{i>j}`, so that for two groups it is
    :math:`|2 W_{i>j} - 1|`.

    Parameters
    ----------
    wins : (K, K) array_like
        How often an item of the first group has the larger score; the diagonal is not looked at.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any two groups have no pair, or with one group.

    Examples
    --------
    >>> pairwise_parity_gap([[0.5, 0.75], [0.25, 0.5]])
    0.5
    """
    return _range(_across(wins))


def _square(matrix: ArrayLike) -> NDArray[np.float64]:
    rates = np.asarray(matrix, dtype=np.float64)
    assert rates.ndim == 2, rates.shape
    assert rates.shape[0] == rates.shape[1], rates.shape
    return rates


def _across(matrix: ArrayLike) -> NDArray[np.float64]:
    """Return the entries off the diagonal."""
    rates = _square(matrix)
    return rates[~np.eye(len(rates), dtype=bool)]


def _range(rates: NDArray[np.float64]) -> float:
    """Return the largest minus the smallest rate; ``nan`` if any is ``nan`` or there is none."""
    return float(np.ptp(rates)) if rates.size else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class NullGap(Statistic):
    """A gap with the standard error it has if there is none: a pivot.

    Attributes
    ----------
    gap, standard_error : float
    reference : Reference
    """

    gap: float
    standard_error: float
    reference: Reference = NORMAL

    def interval(self, level: float) -> Interval:
        """Return the gaps that the two-sided test at ``1 - level`` does not reject."""
        half = self.reference.quantile(1 - level) * self.standard_error
        return Interval(max(self.gap - half, -1.0), min(self.gap + half, 1.0), level)

    def statistic(self, hypothesised: float) -> float:
        """Return the distance between observed and hypothesised gap in standard errors."""
        return (self.gap - hypothesised) / self.standard_error


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
    sides = merged(sharing, parts)
    held = subset(sharing, np.flatnonzero(sharing.trials).tolist())
    share = np.array([[cell in cells for cell in held.cells] for cells in parts.values()])
    share = share * held.trials
    k = len(groups)
    tests = []
    for i, j in combinations(range(k), 2):
        null = f"symmetric({groups[i]}) = symmetric({groups[j]})"
        one, two = (round(float(sides.trials[[g, k + g]].sum())) for g in (i, j))
        used = [i, k + i, j, k + j]
        if sides.effective_items[used].min() < FEWEST_ITEMS or _has_few_clusters(sharing):
            tests.append(untested_gap(null, (one, two), UNTESTED))
            continue
        weights = np.array([0.5, 0.5, -0.5, -0.5]) @ (
            share[used] / share[used].sum(axis=1, keepdims=True)
        )
        tests.append(_test_null(held, weights, null, (one, two)))
    return tests


def _has_few_clusters(sharing: Sharing) -> bool:
    return 0 < sharing.n_clusters < FEWEST_CLUSTERS


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
    )
