"""Weights that give every group the reference group's proportion of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counting._values import as_array, binary, check_lengths, factorised, group_codes
from comparity.errors import UnknownGroupError
from comparity.errors.baselines import LabelAbsentError
from comparity.mitigation.weights import table_of
from comparity.tables import text_of

__all__ = ["debiasing_weights"]


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
