"""Weights of rows that make groups and labels look unrelated, or labels alike in every group.

All are functions of how often a label and a group occur, alone and together; with :math:`n_{ay}`
rows of group :math:`a` and label :math:`y`,

==================  ==========================================  ===================================
weights             of a row                                    what becomes equal
==================  ==========================================  ===================================
reweighing          :math:`n_a n_y / n_{ay}`                    the label's distribution in groups
fair balance        :math:`n_a / n_{ay}`                        all labels within every group
equal groups        :math:`1 / n_{ay}`                          all labels within, and all groups
fair reweighing     :math:`p(a) p(y) / p(a, y)`                 as reweighing, with densities
==================  ==========================================  ===================================

and all are rescaled to sum to the number of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.densities import kernel_densities, neighbour_counts, standardised
from comparity.errors import UnknownGroupError
from comparity.errors.fits import LabelAbsentError
from comparity.tables.frames import text_of
from comparity.tables.values import as_array, binary, check_lengths, factorised, group_codes

__all__ = [
    "balancing_weights",
    "debiasing_weights",
    "density_weights",
    "effective_rows",
    "independence_weights",
    "table_of",
]


Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


def table_of(group: Codes, label: Codes) -> Codes:
    """Count rows by group and label, given as codes from 0 on."""
    shape = int(group.max()) + 1, int(label.max()) + 1
    return np.bincount(group * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)


def independence_weights(group: Codes, label: Codes) -> Floats:
    r"""Return :math:`n_a n_y / n_{ay}` for every row, rescaled to sum to the number of rows.

    Examples
    --------
    >>> independence_weights(np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0])).round(3).tolist()
    [1.714, 0.857, 0.857, 0.571]
    """
    table = table_of(group, label)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return _rescaled((expected / np.maximum(table, 1))[group, label])


def balancing_weights(group: Codes, label: Codes, *, equal_groups: bool) -> Floats:
    r"""Return :math:`n_a / n_{ay}`, or :math:`1 / n_{ay}`, rescaled to sum to the number of rows.

    Examples
    --------
    >>> group, label = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 0, 1])
    >>> balancing_weights(group, label, equal_groups=False).tolist()
    [1.5, 0.75, 0.75, 1.0, 1.0]
    >>> balancing_weights(group, label, equal_groups=True).tolist()
    [1.25, 0.625, 0.625, 1.25, 1.25]
    """
    table = table_of(group, label)
    sizes = np.ones((len(table), 1)) if equal_groups else table.sum(axis=1, keepdims=True)
    return _rescaled((sizes / np.maximum(table, 1))[group, label])


def density_weights(
    label: Floats,
    values: Floats,
    group: Codes,
    *,
    radius: float | None = None,
    bandwidth: float | None = None,
) -> Floats:
    r"""Return :math:`p(a) p(y) / p(a, y)` for every row, rescaled to sum to the number of rows.

    Parameters
    ----------
    label : ndarray, (n,)
        Labels as numbers.
    values : ndarray, (n, d)
        Sensitive attributes that are numbers; may have no columns.
    group : ndarray of int, (n,)
        Code of the sensitive attributes that are not.
    radius : float, optional
        Take as density the number of rows nearer than this, in standard deviations.
    bandwidth : float, optional
        Take Gaussian kernels of this width instead.
    """
    y = standardised(label[:, None])
    a = standardised(values)
    both = np.column_stack([a, y])
    everyone = np.zeros_like(group)
    if bandwidth is None:
        assert radius is not None, "one of radius and bandwidth"
        joint = neighbour_counts(both, group, radius)
        apart = neighbour_counts(a, group, radius) * neighbour_counts(y, everyone, radius)
    else:
        joint = kernel_densities(both, group, bandwidth)
        apart = kernel_densities(a, group, bandwidth) * kernel_densities(y, everyone, bandwidth)
    return _rescaled(apart / joint)


def effective_rows(weights: Floats) -> float:
    """Return how many equally weighted rows these are worth: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _rescaled(weights: Floats) -> Floats:
    scaled: Floats = weights * (len(weights) / weights.sum())
    return scaled


def debiasing_weights(
    y: ArrayLike, *, sensitive_features: ArrayLike, reference: Any = None
) -> NDArray[np.float64]:
    r"""Return weights that balance positive and negative rows alike in every group.

    Only negative rows outside the reference group r are weighted, by

    .. math:: \alpha_{g} = \frac{n_{r,-} / n_{r,+}}{n_{g,-} / n_{g,+}}

    and all others count once, which imitates sampling more negative rows of a group [1]_, [2]_.
    A pair weighs the product of its rows' weights, as `sample_weight` has it in
    :class:`comparity.FairRanker`: with ``goal=None`` that is the baseline "debiased" of [2]_.

    Parameters
    ----------
    y : array-like
        Labels 0 and 1, or true and false.
    sensitive_features : array-like
        Group of each row; any number of groups.
    reference : optional
        The group whose proportion the others get; the largest by default, and of equally large
        ones the first.

    Returns
    -------
    ndarray
        One positive weight for each row. They are not rescaled: no weight of the reference group
        differs from 1.

    Raises
    ------
    LabelAbsentError
        A group has only one of the labels.

    References
    ----------
    .. [1] Dixon, Li, Sorensen, Thain and Vasserman, "Measuring and mitigating unintended bias in
       text classification", 2018.
    .. [2] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020, appendix.

    Examples
    --------
    >>> debiasing_weights([1, 0, 0, 0, 1, 0], sensitive_features=list("aaaabb")).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 3.0]
    """
    labels, column = as_array(y, "y"), as_array(sensitive_features, "sensitive_features")
    check_lengths({"y": labels, "sensitive_features": column})
    group, names = group_codes(column, "sensitive_features", "array")
    code, values = factorised(labels)
    positive = binary(values, "y", role="label", positive=None)[code].astype(np.int64)
    table = np.zeros((len(names), 2), dtype=np.int64)
    found = table_of(group, positive)
    table[:, : found.shape[1]] = found
    for label in (0, 1):
        lacking = [names[g] for g in np.flatnonzero(table[:, label] == 0)]
        if lacking:
            raise LabelAbsentError(lacking, str(label))
    place = _reference(reference, names, table)
    ratio = table[:, 0] / table[:, 1]
    return np.where(positive == 1, 1.0, (ratio[place] / ratio)[group])


def _reference(asked: Any, names: list[str], table: NDArray[np.int64]) -> int:
    if asked is None:
        return int(table.sum(axis=1).argmax())
    if text_of(asked) not in names:
        raise UnknownGroupError(text_of(asked), "sensitive_features", names)
    return names.index(text_of(asked))
