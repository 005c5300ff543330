r"""How alike the labels of similar items are.

Like the other metrics it sees counts only: how many items have a label and so many positive labels
among their neighbours. :mod:`comparity.counting.neighbours` finds the neighbours.
"""

from __future__ import annotations

import numpy as np

from comparity.contrasts import NeighbourCounts

__all__ = ["consistency"]


def consistency(counts: NeighbourCounts) -> float:
    r"""One minus the mean difference between a label and the mean label of nearest neighbours.

    .. math:: 1 - \frac{1}{n} \sum_i \Bigl| y_i - \frac{1}{k} \sum_{j \in N_k(i)} y_j \Bigr|

    An item counts among its own neighbours, as in AIF360, so that the smallest value is 1/k. Items
    at equal distance compete for the last place: with many repeated rows the value depends on
    which of them are taken, in AIF360 as here, and :attr:`NeighbourCounts.tied` says for how many.

    Parameters
    ----------
    counts : NeighbourCounts
        Items by label and number of positive neighbours.

    Returns
    -------
    float
        Between 1/k and 1, 1 where all neighbours have one label; ``nan`` without items.

    References
    ----------
    .. [1] Zemel, Wu, Swersky, Pitassi and Dwork (2013), "Learning fair representations".

    Examples
    --------
    >>> table = np.array([[6, 1, 0], [0, 1, 2]])
    >>> consistency(NeighbourCounts(table=table, dependent_square=0.0))
    0.9
    """
    n = counts.table.sum()
    if not n:
        return float("nan")
    share = np.arange(counts.n_neighbors + 1) / counts.n_neighbors
    away = np.abs(np.array([[0.0], [1.0]]) - share)
    return float(1 - (counts.table * away).sum() / n)
