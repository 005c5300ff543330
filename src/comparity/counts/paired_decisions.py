"""Two predictions for the same items, counted together by group and label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.decision_rows import DecisionRows, cut_scores, find_positives, truths
from comparity.errors import EmptyTableError
from comparity.tables.columns import open_table
from comparity.tables.frames import collect_columns
from comparity.tables.values import (
    Codes,
    as_array,
    check_lengths,
    cross_attributes,
    group_codes,
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
    return _cross(group, len(names), (label, before, after))


def _cross(
    group: Codes,
    n_groups: int,
    said: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]],
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    label, before, after = said
    codes = 8 * group + 4 * label + 2 * before + after
    counted = np.bincount(codes, weights, minlength=8 * n_groups)
    return counted.reshape(-1, 2, 2, 2).astype(np.float64)


def read_two_predictions(
    frame: Any,
    *,
    label: str,
    predictions: tuple[str, str],
    sensitive: Sequence[str],
    positive: object = None,
    threshold: float | None = None,
) -> NDArray[np.float64]:
    """Count rows by group, label and both predictions, on the engine the table lives in.

    Parameters
    ----------
    frame : frame of any engine
        One row for each item; each prediction has been counted, and has no gaps.
    label : str
    predictions : (str, str)
        Columns with both predictions.
    sensitive : sequence of str
        Columns with groups, whose combinations are counted.
    positive : object, optional
        The positive value, where labels are other words.
    threshold : float, optional
        A prediction at or above it is positive.

    Returns
    -------
    ndarray, (K, 2, 2, 2)
        As :func:`count_two_predictions` counts arrays.

    Examples
    --------
    >>> import polars
    >>> rows = {"y": [1, 0, 0], "p": [1, 1, 1], "q": [0, 1, 1], "g": ["a", "b", "b"]}
    >>> read_two_predictions(
    ...     polars.DataFrame(rows), label="y", predictions=("p", "q"), sensitive=["g"]
    ... )[1, 0].tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    sides = dict(zip(("first", "second"), predictions, strict=True))
    table = open_table(frame, "decisions", {"label": label, **sides, **groups})
    rows = table.frame
    if threshold is not None:
        rows = rows.with_columns(*(cut_scores(table, side, threshold) for side in sides))
    found = collect_columns(rows.group_by(*table.columns).agg(nw.len().alias("n")))
    coded = {
        name: group_codes(found[ours], name, "decisions", several=False)
        for ours, name in groups.items()
    }
    _, (group, names) = cross_attributes(coded, intersection=True).popitem()
    said = []
    for side, name in sides.items():
        decided = found[side] if threshold is None else found[side] == 1
        read = DecisionRows(
            labels=found["label"],
            predictions=decided,
            names=(label, name),
            groups={},
            is_cut=threshold is not None,
        )
        said.append(find_positives(read, positive))
    (truth, before), (_, after) = said
    return _cross(group, len(names), (truth, before, after), found["n"].astype(np.int64))
