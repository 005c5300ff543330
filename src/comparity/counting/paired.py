"""Counts of decisions from arrays of codes, fast, and of two sets of predictions at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counting._values import (
    as_array,
    check_lengths,
    factorised,
    group_codes,
    positives,
    rows_of,
)
from comparity.counts import Confusion, DecisionCounts
from comparity.errors import EmptyTableError, MissingValueError
from comparity.tables import text_of

__all__ = ["count_small_codes", "count_two_predictions", "truths"]

FEWEST = 10**5
"""From so many rows on, loading the compiled kernel pays."""


def count_small_codes(
    labels: NDArray[Any], predictions: NDArray[Any], groups: NDArray[Any]
) -> DecisionCounts | None:
    """Count 0/1 labels and predictions of groups coded from 0 to 255, in one pass.

    Returns ``None`` where the arrays are anything else, or too short for it to pay: then
    :func:`comparity.counting.positions.count_decision_arrays` does it, and finds what is wrong.
    """
    columns = (labels, predictions, groups)
    whole = all(column.dtype.kind in "biu" and column.ndim == 1 for column in columns)
    if not whole or not FEWEST <= len(labels) == len(predictions) == len(groups):
        return None
    from comparity.counting._tables import tabulate, tabulate_bytes

    found: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    if all(column.dtype.itemsize == 1 and column.flags.c_contiguous for column in columns):
        found = tabulate_bytes(*(column.view(np.uint8) for column in columns))
    if not len(found):
        found = tabulate(*columns)
    table = found.reshape(-1, 4)
    occurring = np.flatnonzero(table.any(axis=1))
    if len(occurring) < 2:
        return None
    return DecisionCounts(
        {
            text_of(groups.dtype.type(code)): Confusion(
                true_negatives=tn, false_positives=fp, false_negatives=fn, true_positives=tp
            )
            for code, (tn, fp, fn, tp) in zip(
                occurring.tolist(), table[occurring].tolist(), strict=True
            )
        }
    )


def count_two_predictions(
    y_true: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike,
    positive: object = None,
) -> NDArray[np.float64]:
    """Count rows by group, label and both predictions, the groups in sorted order.

    Parameters
    ----------
    y_true, first, second, groups : array_like
        One entry for each item; labels and predictions are 0 and 1, or true and false.
    positive : object, optional
        The positive value, where labels are other words.

    Returns
    -------
    ndarray, (K, 2, 2, 2)

    Examples
    --------
    >>> count_two_predictions([1, 0], [1, 1], [0, 1], groups=["a", "b"])[0, 1].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    columns = {
        "y_true": as_array(y_true, "y_true"),
        "y_pred": as_array(first, "y_pred"),
        "compare": as_array(second, "compare"),
        "sensitive_features": as_array(groups, "sensitive_features"),
    }
    check_lengths(columns)
    if not len(columns["y_true"]):
        raise EmptyTableError("array")
    group, names = group_codes(columns["sensitive_features"], "sensitive_features", "array")
    label, before = truths(columns["y_true"], columns["y_pred"], ("y_true", "y_pred"), positive)
    _, after = truths(columns["y_true"], columns["compare"], ("y_true", "compare"), positive)
    codes = 8 * group + 4 * label + 2 * before + after
    return np.bincount(codes, minlength=8 * len(names)).reshape(-1, 2, 2, 2).astype(np.float64)


def truths(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    names: tuple[str, str],
    positive: object = None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which labels and which predictions are positive; gaps and other values are errors."""
    coded = [factorised(column) for column in (labels, predictions)]
    for (codes, _), name in zip(coded, names, strict=True):
        if (codes < 0).any():
            raise MissingValueError(name, "array", rows_of(codes < 0))
    yes = positives(coded[0][1], coded[1][1], names=names, positive=positive)
    return yes[0][coded[0][0]], yes[1][coded[1][0]]
