r"""Pairwise errors of a ranking by group: how often, and in whose favour, two items are exchanged.

The error measures of FARE: Kuhlman, VanValkenburg and Rundensteiner, "FARE: Diagnostics for fair
ranking using pairwise error metrics", WWW 2019. They are stated there for two groups and rankings
without ties; here the other group is everyone outside the group, pairs with equal labels are left
out, and with ``score_ties="disagree"`` a score tie counts as exchanged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["rank_calibration_error", "rank_equality_error", "rank_parity_error"]


def rank_equality_error(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Share of pairs with another group in which a group's item is wrongly put first.

    .. math:: \frac{\sum_{i \ne g} n_{ig} (1 - A_{i>g})}{\sum_{i \ne g} (n_{ig} + n_{gi})}

    Rank equality asks that the errors of two groups are the same [1]_.

    Parameters
    ----------
    matrix, n_pairs : (K, K) array_like
        Pairwise accuracies and the number of pairs behind each, group of the better item first. A
        last row and column may stand for items in no group.
    group : int
        Position of the group that is favoured.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` without such pairs.

    References
    ----------
    .. [1] Kuhlman, VanValkenburg and Rundensteiner, "FARE", WWW 2019.

    Examples
    --------
    >>> rank_equality_error([[1.0, 0.5], [0.75, 1.0]], [[1, 6], [2, 1]], 0)
    0.0625
    """
    wrong, n = _errors_and_pairs(matrix, n_pairs)
    total = _outside(n, group).sum() + _outside(n.T, group).sum()
    return _ratio(_outside(wrong.T, group).sum(), total)


def rank_calibration_error(matrix: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Share of all pairs with an item of a group that are put in the wrong order.

    .. math:: \frac{\sum n_{ij} (1 - A_{i>j})}{\sum n_{ij}} \quad
       \text{over cells with } i = g \text{ or } j = g

    Rank calibration asks that the errors of two groups are the same [1]_.

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
    .. [1] Kuhlman, VanValkenburg and Rundensteiner, "FARE", WWW 2019.

    Examples
    --------
    >>> rank_calibration_error([[1.0, 0.5], [0.5, 0.0]], [[1, 4], [3, 9]], 0)
    0.4375
    """
    wrong, n = _errors_and_pairs(matrix, n_pairs)
    errors, pairs = (part[group].sum() + _outside(part.T, group).sum() for part in (wrong, n))
    return _ratio(errors, pairs)


def rank_parity_error(wins: ArrayLike, n_pairs: ArrayLike, group: int) -> float:
    r"""Share of pairs with another group in which a group's item is put first, whatever the labels.

    .. math:: \frac{\sum_{j \ne g} m_{gj} W_{g>j}}{\sum_{j \ne g} m_{gj}},
       \qquad W_{g>j} = P(f(x) > f(x') \mid x \in G_g, x' \in G_j)

    Rank parity asks that the errors of two groups are the same: a half each [1]_.

    Parameters
    ----------
    wins : (K, K) array_like
        How often an item of the first group has the larger score.
    n_pairs : (K, K) array_like
        Number of pairs behind each, whatever their labels.
    group : int
        Position of the group that is favoured.

    Returns
    -------
    float
        Between 0 and 1; ``nan`` without such pairs.

    References
    ----------
    .. [1] Kuhlman, VanValkenburg and Rundensteiner, "FARE", WWW 2019.

    Examples
    --------
    >>> rank_parity_error([[0.5, 0.75], [0.25, 0.5]], [[6, 12], [12, 3]], 0)
    0.75
    """
    won, n = _hits_and_pairs(wins, n_pairs)
    return _ratio(_outside(won, group).sum(), _outside(n, group).sum())


def _hits_and_pairs(
    matrix: ArrayLike, n_pairs: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hits and pairs by cell; a cell without pairs has neither."""
    n = np.asarray(n_pairs, dtype=np.float64)
    return n * np.where(n > 0, np.asarray(matrix, dtype=np.float64), 0.0), n


def _errors_and_pairs(
    matrix: ArrayLike, n_pairs: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    hits, n = _hits_and_pairs(matrix, n_pairs)
    return n - hits, n


def _outside(table: NDArray[np.float64], group: int) -> NDArray[np.float64]:
    """Return the row of a group without its own entry."""
    return np.delete(table[group], group)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")
