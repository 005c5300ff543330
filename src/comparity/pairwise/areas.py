r"""Areas under curves within and across groups, as sums over the matrix of pairwise accuracies.

For binary labels the entry :math:`A_{i>j}` is the area under the ROC curve of the positives of
group i and the negatives of group j, so every area that mixes groups is a weighted mean of entries.
With graded labels read *better item* for positive and *worse item* for negative. Areas of
scikit-learn and of the papers count a score tie as half: give a matrix counted with
``score_ties="half"``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "bnsp_auc",
    "bpsn_auc",
    "pinned_auc",
    "subgroup_auc",
    "weighted_pinned_auc",
    "xauc",
    "xauc_gap",
]


def xauc(matrix: ArrayLike, first: int, second: int) -> float:
    r"""Probability that a positive of one group is scored above a negative of another.

    .. math:: \mathrm{xAUC}(i, j) = P(f(x) > f(x') \mid y = 1, x \in G_i, y' = 0, x' \in G_j)
       = A_{i>j}

    The cross-group area of Kallus and Zhou [1]_. Their balanced xAUC, of one group's positives over
    all negatives and of all positives over one group's negatives, are the row and column marginals.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.
    first, second : int
        Positions of the groups.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when the cell holds no pair.

    References
    ----------
    .. [1] Kallus and Zhou, "The fairness of risk scores beyond classification: bipartite ranking
       and the xAUC metric", NeurIPS 2019.

    Examples
    --------
    >>> xauc([[0.94, 0.98], [0.73, 0.89]], 1, 0)
    0.73
    """
    return float(np.asarray(matrix, dtype=np.float64)[first, second])


def xauc_gap(matrix: ArrayLike, first: int, second: int) -> float:
    r"""Difference between two groups in how often positives beat the other's negatives.

    .. math:: \Delta\mathrm{xAUC} = \mathrm{xAUC}(i, j) - \mathrm{xAUC}(j, i)

    The xAUC disparity [1]_.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.
    first, second : int
        Positions of the groups.

    Returns
    -------
    float
        Between -1 and 1; positive when scores favour `first`. ``nan`` when either cell holds no
        pair.

    References
    ----------
    .. [1] Kallus and Zhou, "The fairness of risk scores beyond classification: bipartite ranking
       and the xAUC metric", NeurIPS 2019.

    Examples
    --------
    >>> round(xauc_gap([[0.94, 0.98], [0.73, 0.89]], 0, 1), 2)
    0.25
    """
    return xauc(matrix, first, second) - xauc(matrix, second, first)


def subgroup_auc(matrix: ArrayLike, group: int) -> float:
    """Area under the curve of one group alone: the entry of the group on the diagonal.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies, group of the better item first.
    group : int
        Position of the group.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when the group holds no pair.

    References
    ----------
    .. [1] Borkan, Dixon, Sorensen, Thain and Vasserman, "Nuanced metrics for measuring unintended
       bias with real data for text classification", WWW 2019.

    Examples
    --------
    >>> subgroup_auc([[0.94, 0.98], [0.73, 0.89]], 1)
    0.89
    """
    return xauc(matrix, group, group)


def bnsp_auc(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Area under the curve of background negatives and subgroup positives.

    .. math:: \frac{\sum_{j \ne g} n_{gj} A_{g>j}}{\sum_{j \ne g} n_{gj}}

    The background are all items outside the group. Low when positives of the group are scored below
    negatives of others [1]_.

    Parameters
    ----------
    matrix, n_pairs : (K, K) array_like
        Pairwise accuracies and the number of pairs behind each, group of the better item first. A
        last row and column may stand for items in no group.
    group : int
        Position of the group.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` without such pairs.

    References
    ----------
    .. [1] Borkan, Dixon, Sorensen, Thain and Vasserman, "Nuanced metrics for measuring unintended
       bias with real data for text classification", WWW 2019.

    Examples
    --------
    >>> bnsp_auc([[0.9, 0.5, 0.75], [0.9] * 3, [0.9] * 3], [[9, 1, 3], [9] * 3, [9] * 3], 0)
    0.6875
    """
    cells = _cells(n_pairs, [group], _others(n_pairs, group))
    return _pool_cells(matrix, cells)


def bpsn_auc(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Area under the curve of background positives and subgroup negatives.

    .. math:: \frac{\sum_{i \ne g} n_{ig} A_{i>g}}{\sum_{i \ne g} n_{ig}}

    The background are all items outside the group. Low when negatives of the group are scored above
    positives of others [1]_.

    Parameters
    ----------
    matrix, n_pairs : (K, K) array_like
        Pairwise accuracies and the number of pairs behind each, group of the better item first. A
        last row and column may stand for items in no group.
    group : int
        Position of the group.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` without such pairs.

    References
    ----------
    .. [1] Borkan, Dixon, Sorensen, Thain and Vasserman, "Nuanced metrics for measuring unintended
       bias with real data for text classification", WWW 2019.

    Examples
    --------
    >>> bpsn_auc([[0.9, 0.5], [0.75, 0.9]], [[4, 2], [3, 6]], 0)
    0.75
    """
    cells = _cells(n_pairs, _others(n_pairs, group), [group])
    return _pool_cells(matrix, cells)


def pinned_auc(matrix: ArrayLike, positives: ArrayLike, negatives: ArrayLike, group: int) -> float:
    r"""Area under the curve of a group pinned to an equally large sample of all items.

    Of the whole data and of the group, samples of the same size are joined [1]_. In the limit an
    item of the group weighs :math:`v_g = 1 / |D_g| + 1 / |D|` and any other :math:`v_i = 1 / |D|`,
    so that with :math:`P_i` positives and :math:`N_j` negatives

    .. math:: \frac{\sum_{ij} v_i P_i \, v_j N_j \, A_{i>j}}{\sum_{ij} v_i P_i \, v_j N_j}.

    The weights depend on the shares of positives. Values of groups with different shares are means
    of the matrix by different weights, and may differ for that reason alone [2]_.

    Parameters
    ----------
    matrix : (K, K) array_like
        Pairwise accuracies for binary labels, group of the positive first. A last row and column
        may stand for items in no group.
    positives, negatives : (K,) array_like
        Number of items of each label, by group.
    group : int
        Position of the group.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` without positives or without negatives.

    References
    ----------
    .. [1] Dixon, Li, Sorensen, Thain and Vasserman, "Measuring and mitigating unintended bias in
       text classification", AIES 2018.
    .. [2] Borkan, Dixon, Li, Sorensen, Thain and Vasserman, "Limitations of pinned AUC for
       measuring unintended bias", arXiv 1903.02088 (2019).

    Examples
    --------
    >>> round(pinned_auc([[1.0, 0.0], [0.0, 1.0]], [30, 10], [30, 10], 1), 3)
    0.531
    """
    p, n = (np.asarray(count, dtype=np.float64) for count in (positives, negatives))
    size = p + n
    if not size[group]:
        return float("nan")
    value = np.full(len(size), 1 / size.sum())
    value[group] += 1 / size[group]
    return _pool_cells(matrix, np.outer(value * p, value * n))


def weighted_pinned_auc(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Area under the curve of a group and its background in equal parts of the same composition.

    .. math:: \tfrac14 \left( \mathrm{AUC}_{gg} + \mathrm{AUC}_{gb} + \mathrm{AUC}_{bg}
       + \mathrm{AUC}_{bb} \right)

    the mean of subgroup, BNSP and BPSN area and the area of the background. Pinned AUC compares
    groups of different shares of positives with different weights [1]_. If items are weighted so
    that the group and its background have the same total of positives and the same total of
    negatives, all four areas weigh the same, whatever the totals are: this is that area.

    Parameters
    ----------
    matrix, n_pairs : (K, K) array_like
        Pairwise accuracies and the number of pairs behind each, group of the better item first. A
        last row and column may stand for items in no group.
    group : int
        Position of the group.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` when any of the four is without pairs.

    References
    ----------
    .. [1] Borkan, Dixon, Li, Sorensen, Thain and Vasserman, "Limitations of pinned AUC for
       measuring unintended bias", arXiv 1903.02088 (2019).

    Examples
    --------
    >>> weighted_pinned_auc([[1.0, 0.5], [0.25, 0.75]], [[9, 1], [1, 4]], 0)
    0.625
    """
    others = _others(n_pairs, group)
    background = _pool_cells(matrix, _cells(n_pairs, others, others))
    across = bnsp_auc(matrix, n_pairs, group) + bpsn_auc(matrix, n_pairs, group)
    return (subgroup_auc(matrix, group) + across + background) / 4


def _others(n_pairs: ArrayLike, group: int) -> list[int]:
    return [code for code in range(len(np.asarray(n_pairs))) if code != group]


def _cells(n_pairs: ArrayLike, better: list[int], worse: list[int]) -> NDArray[np.float64]:
    """Return the number of pairs in the chosen cells, and zero in all others."""
    chosen = np.zeros(np.shape(n_pairs))
    chosen[np.ix_(better, worse)] = np.asarray(n_pairs, dtype=np.float64)[np.ix_(better, worse)]
    return chosen


def _pool_cells(matrix: ArrayLike, weights: NDArray[np.float64]) -> float:
    """Return the weighted mean of the entries; those without weight may be ``nan``."""
    rates = np.where(weights > 0, np.asarray(matrix, dtype=np.float64), 0.0)
    total = weights.sum()
    return float((weights * rates).sum() / total) if total > 0 else float("nan")
