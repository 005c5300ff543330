r"""How far a model is from pairwise parity: one number from the matrix of pairwise accuracies.

Entry :math:`(i, j)` of the matrix is

.. math:: A_{i>j} = P(f(x) > f(x') \mid y > y', x \in G_i, x' \in G_j),

how often a model puts the better item first when that is of group i and the worse of group j:
the agreement of the cell. With binary labels it is the area under the ROC curve of the positives of
group i and the negatives of group j, so every area that mixes groups is a weighted mean of entries.
With graded labels read *better item* for positive and *worse item* for negative.

Everywhere `matrix` is a (K, K) array_like of accuracies, group of the better item first; `n_pairs`
the number of pairs behind each; `group`, `first` and `second` positions of groups. Where a group is
compared with all others, a last row and column may stand for items in no group. An entry without
pairs is ``nan``, and so is every number that would need it, or a mean over no pairs at all. All
numbers are between 0 and 1 where nothing else is said. Areas of scikit-learn and of the papers
count a score tie as half (``score_ties="half"``); with ``"disagree"`` a tie is an error.

References
----------
.. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression", AAAI
   2020; equation numbers are theirs.
.. [2] Kallus and Zhou, "The fairness of risk scores beyond classification: bipartite ranking and
   the xAUC metric", NeurIPS 2019.
.. [3] Borkan, Dixon, Sorensen, Thain and Vasserman, "Nuanced metrics for measuring unintended bias
   with real data for text classification", WWW 2019.
.. [4] Dixon, Li, Sorensen, Thain and Vasserman, "Measuring and mitigating unintended bias in text
   classification", AIES 2018.
.. [5] Borkan, Dixon, Li, Sorensen, Thain and Vasserman, "Limitations of pinned AUC for measuring
   unintended bias", arXiv 1903.02088 (2019).
.. [6] Kuhlman, VanValkenburg and Rundensteiner, "FARE: Diagnostics for fair ranking using pairwise
   error metrics", WWW 2019: for two groups and rankings without ties; here the other group is
   everyone outside the group, and pairs with equal labels are left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def pairwise_equal_opportunity_gap(matrix: ArrayLike) -> float:
    r"""Largest difference between any two cells.

    .. math:: \max_{i,j} A_{i>j} - \min_{i,j} A_{i>j}

    Pairwise equal opportunity, equation (4), asks that it is zero. For two groups and binary labels
    that is comparative separation. Like every range it grows with the number of cells by chance
    alone.

    Examples
    --------
    >>> round(pairwise_equal_opportunity_gap([[0.94, 0.98], [0.73, 0.89]]), 2)
    0.25
    """
    return _range(_square(matrix))


def cross_group_gap(matrix: ArrayLike) -> float:
    r"""Largest difference between any two cells of different groups; ``nan`` with one group.

    .. math:: \max_{i \ne j} A_{i>j} - \min_{i \ne j} A_{i>j}

    Cross-group equal opportunity, equation (5), asks that it is zero. For two groups it is
    :math:`|A_{i>j} - A_{j>i}|`, the size of :func:`xauc_gap`.

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

    Examples
    --------
    >>> round(within_group_gap([[0.94, 0.98], [0.73, 0.89]]), 2)
    0.05
    """
    return _range(np.diagonal(_square(matrix)))


def least_accuracy(matrix: ArrayLike) -> float:
    r"""Accuracy in the cell that a model orders worst: :math:`\min_{i,j} A_{i>j}`.

    What robust training raises when it looks at all cells.

    Examples
    --------
    >>> least_accuracy([[0.94, 0.98], [0.73, 0.89]])
    0.73
    """
    rates = _square(matrix)
    return float(rates.min()) if rates.size else math.nan


def least_cross_group_accuracy(matrix: ArrayLike) -> float:
    r"""Accuracy in the worst cell of different groups: :math:`\min_{i \ne j} A_{i>j}`.

    Equation (13) maximises the smaller of it and the overall accuracy. ``nan`` with one group.

    Examples
    --------
    >>> least_cross_group_accuracy([[0.68, 0.98], [0.73, 0.89]])
    0.73
    """
    across = _across(matrix)
    return float(across.min()) if across.size else math.nan


def marginal_gap(marginals: ArrayLike) -> float:
    r"""Largest difference between two groups in a marginal accuracy, pooled over pairs.

    .. math:: \max_i A_{i>:} - \min_i A_{i>:}

    where :math:`A_{i>:}` is the accuracy over all pairs whose better item is in group i. Marginal
    equal opportunity, equation (7), asks that it is zero. The same number of the column marginals
    :math:`A_{:>i}` compares groups by their worse items.

    Examples
    --------
    >>> round(marginal_gap([0.95, 0.75, 0.91]), 2)
    0.2
    """
    return _range(np.asarray(marginals, dtype=np.float64))


def symmetric_accuracy_gap(row_marginals: ArrayLike, column_marginals: ArrayLike) -> float:
    r"""Largest difference between two groups in accuracy as better and as worse item together.

    .. math:: \max_i (A_{i>:} + A_{:>i}) - \min_i (A_{i>:} + A_{:>i})

    Between 0 and 2. Symmetric equal accuracy asks that it is zero: it is meant for predictions that
    should be accurate rather than high. A model that favours one group may have a gap of zero,
    because what that group gains when it is better it loses when it is worse.

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

    Pairwise statistical parity, equation (8), asks that it is zero. No label enters; the diagonal
    is not looked at. Without score ties :math:`W_{j>i} = 1 - W_{i>j}`, so that for two groups it is
    :math:`|2 W_{i>j} - 1|`.

    Examples
    --------
    >>> pairwise_parity_gap([[0.5, 0.75], [0.25, 0.5]])
    0.5
    """
    return _range(_across(wins))


def xauc(matrix: ArrayLike, first: int, second: int) -> float:
    r"""Probability that a positive of one group is scored above a negative of another.

    .. math:: \mathrm{xAUC}(i, j) = P(f(x) > f(x') \mid y = 1, x \in G_i, y' = 0, x' \in G_j)
       = A_{i>j}

    The cross-group area of [2]_. Its balanced xAUC, of one group's positives over all negatives and
    of all positives over one group's negatives, are the row and column marginals.

    Examples
    --------
    >>> xauc([[0.94, 0.98], [0.73, 0.89]], 1, 0)
    0.73
    """
    return float(np.asarray(matrix, dtype=np.float64)[first, second])


def xauc_gap(matrix: ArrayLike, first: int, second: int) -> float:
    r"""Difference between two groups in how often positives beat the other's negatives.

    .. math:: \Delta\mathrm{xAUC} = \mathrm{xAUC}(i, j) - \mathrm{xAUC}(j, i)

    The xAUC disparity [2]_, between -1 and 1; positive when scores favour `first`.

    Examples
    --------
    >>> round(xauc_gap([[0.94, 0.98], [0.73, 0.89]], 0, 1), 2)
    0.25
    """
    return xauc(matrix, first, second) - xauc(matrix, second, first)


def subgroup_auc(matrix: ArrayLike, group: int) -> float:
    """Area under the curve of one group alone [3]_: the entry of the group on the diagonal."""
    return xauc(matrix, group, group)


def bnsp_auc(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Area under the curve of background negatives and subgroup positives [3]_.

    .. math:: \frac{\sum_{j \ne g} n_{gj} A_{g>j}}{\sum_{j \ne g} n_{gj}}

    The background are all items outside the group. Low when positives of the group are scored below
    negatives of others.

    Examples
    --------
    >>> bnsp_auc([[0.9, 0.5, 0.75], [0.9] * 3, [0.9] * 3], [[9, 1, 3], [9] * 3, [9] * 3], 0)
    0.6875
    """
    better, worse = _cells_with(group, n_pairs)
    return _mean_rate(matrix, n_pairs, better & ~worse)


def bpsn_auc(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Area under the curve of background positives and subgroup negatives [3]_.

    .. math:: \frac{\sum_{i \ne g} n_{ig} A_{i>g}}{\sum_{i \ne g} n_{ig}}

    Low when negatives of the group are scored above positives of others.

    Examples
    --------
    >>> bpsn_auc([[0.9, 0.5], [0.75, 0.9]], [[4, 2], [3, 6]], 0)
    0.75
    """
    better, worse = _cells_with(group, n_pairs)
    return _mean_rate(matrix, n_pairs, worse & ~better)


def pinned_auc(matrix: ArrayLike, positives: ArrayLike, negatives: ArrayLike, group: int) -> float:
    r"""Area under the curve of a group pinned to an equally large sample of all items.

    Of the whole data and of the group, samples of the same size are joined [4]_. In the limit an
    item of the group weighs :math:`v_g = 1 / |D_g| + 1 / |D|` and any other :math:`v_i = 1 / |D|`,
    so that with :math:`P_i` positives and :math:`N_j` negatives by group

    .. math:: \frac{\sum_{ij} v_i P_i \, v_j N_j \, A_{i>j}}{\sum_{ij} v_i P_i \, v_j N_j}.

    The weights depend on the shares of positives. Values of groups with different shares are means
    of the matrix by different weights, and may differ for that reason alone [5]_.

    Examples
    --------
    >>> round(pinned_auc([[1.0, 0.0], [0.0, 1.0]], [30, 10], [30, 10], 1), 3)
    0.531
    """
    p, n = (np.asarray(count, dtype=np.float64) for count in (positives, negatives))
    size = p + n
    if not size[group]:
        return math.nan
    value = np.full(len(size), 1 / size.sum())
    value[group] += 1 / size[group]
    return _mean_rate(matrix, np.outer(value * p, value * n), np.ones((1, 1), dtype=bool))


def weighted_pinned_auc(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Area under the curve of a group and its background in equal parts of the same composition.

    .. math:: \tfrac14 \left( \mathrm{AUC}_{gg} + \mathrm{AUC}_{gb} + \mathrm{AUC}_{bg}
       + \mathrm{AUC}_{bb} \right)

    the mean of subgroup, BNSP and BPSN area and the area of the background. Pinned AUC compares
    groups of different shares of positives with different weights [5]_. If items are weighted so
    that the group and its background have the same total of positives and the same total of
    negatives, all four areas weigh the same, whatever the totals are: this is that area.

    Examples
    --------
    >>> weighted_pinned_auc([[1.0, 0.5], [0.25, 0.75]], [[9, 1], [1, 4]], 0)
    0.625
    """
    better, worse = _cells_with(group, n_pairs)
    background = _mean_rate(matrix, n_pairs, ~better & ~worse)
    across = bnsp_auc(matrix, n_pairs, group) + bpsn_auc(matrix, n_pairs, group)
    return (subgroup_auc(matrix, group) + across + background) / 4


def rank_equality_error(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Share of pairs with another group in which a group's item is wrongly put first.

    .. math:: \frac{\sum_{i \ne g} n_{ig} (1 - A_{i>g})}{\sum_{i \ne g} (n_{ig} + n_{gi})}

    Rank equality asks that the errors of two groups are the same [6]_.

    Examples
    --------
    >>> rank_equality_error([[1.0, 0.5], [0.75, 1.0]], [[1, 6], [2, 1]], 0)
    0.0625
    """
    better, worse = _cells_with(group, n_pairs)
    wrongly_first = np.where(worse, 1 - np.asarray(matrix), 0.0)
    return _mean_rate(wrongly_first, n_pairs, better ^ worse)


def rank_calibration_error(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Share of all pairs with an item of a group that are put in the wrong order.

    .. math:: \frac{\sum n_{ij} (1 - A_{i>j})}{\sum n_{ij}} \quad
       \text{over cells with } i = g \text{ or } j = g

    Rank calibration asks that the errors of two groups are the same [6]_.

    Examples
    --------
    >>> rank_calibration_error([[1.0, 0.5], [0.5, 0.0]], [[1, 4], [3, 9]], 0)
    0.4375
    """
    better, worse = _cells_with(group, n_pairs)
    return _mean_rate(1 - np.asarray(matrix), n_pairs, better | worse)


def rank_parity_error(wins: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Share of pairs with another group in which a group's item is put first, whatever the labels.

    .. math:: \frac{\sum_{j \ne g} m_{gj} W_{g>j}}{\sum_{j \ne g} m_{gj}},
       \qquad W_{g>j} = P(f(x) > f(x') \mid x \in G_g, x' \in G_j)

    with :math:`m` pairs, whatever their labels. Rank parity asks that the errors of two groups are
    the same: a half each [6]_.

    Examples
    --------
    >>> rank_parity_error([[0.5, 0.75], [0.25, 0.5]], [[6, 12], [12, 3]], 0)
    0.75
    """
    return bnsp_auc(wins, n_pairs, group)


def _square(matrix: ArrayLike) -> Floats:
    rates = np.asarray(matrix, dtype=np.float64)
    assert rates.ndim == 2, rates.shape
    assert rates.shape[0] == rates.shape[1], rates.shape
    return rates


def _across(matrix: ArrayLike) -> Floats:
    """Return the entries off the diagonal."""
    rates = _square(matrix)
    return rates[~np.eye(len(rates), dtype=bool)]


def _range(rates: Floats) -> float:
    """Return the largest minus the smallest rate; ``nan`` if any is ``nan`` or there is none."""
    return float(np.ptp(rates)) if rates.size else math.nan


def _cells_with(group: int, n_pairs: ArrayLike) -> tuple[Flags, Flags]:
    """Return which cells have a group's item as the better one (a row), and as the worse one."""
    own = np.arange(len(np.asarray(n_pairs))) == group
    return own[:, None], own[None, :]


def _mean_rate(rates: ArrayLike, weights: ArrayLike, chosen: Flags) -> float:
    """Return the weighted mean over the chosen cells; those without weight may be ``nan``."""
    weights = np.where(chosen, weights, 0.0)
    total = weights.sum()
    known = np.where(weights > 0, rates, 0.0)
    return float((weights * known).sum() / total) if total > 0 else math.nan
