"""Counts from arrays: decisions row by row, and judged pairs by item position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counting._ledger import Attribute, Codes, Ledger, count_ledger
from comparity.counting._values import (
    as_array,
    check_lengths,
    crossed,
    factorised,
    group_codes,
    numbers,
    positives,
    rows_of,
    values_of,
)
from comparity.counts import Confusion, DecisionCounts, PairCounts, SharedPairCounts
from comparity.errors import (
    EmptyTableError,
    MissingValueError,
    OneGroupError,
    OptionError,
    PositionError,
    SelfComparisonError,
)
from comparity.tables import check_option, is_missing

__all__ = ["DESIGNS", "count_decision_arrays", "count_position_pairs"]

DESIGNS = ("auto", "fresh", "shared")


def count_decision_arrays(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive: Mapping[str, ArrayLike],
    positive: object = None,
    threshold: float | None = None,
    intersection: bool = False,
) -> dict[str, DecisionCounts]:
    """Count decisions by group, label and prediction, from arrays.

    Parameters
    ----------
    y_true, y_pred : array_like
        Label and prediction of each item: 0 and 1, or true and false, as numbers or text.
    sensitive : mapping of str to array_like
        Group of each item, by attribute.
    positive : object, optional
        The positive value, where labels are other words.
    threshold : float, optional
        A prediction at or above it is positive.
    intersection : bool
        Whether to count the intersection of all attributes too.

    Returns
    -------
    dict of str to DecisionCounts
        One for each attribute.

    Examples
    --------
    >>> counts = count_decision_arrays([1, 1, 0], [1, 0, 0], sensitive={"sex": ["f", "m", "m"]})
    >>> counts["sex"]["m"].positives
    Tally(hits=0, trials=1, ties=0)
    """
    check_threshold(threshold)
    labels, predictions = as_array(y_true, "y_true"), as_array(y_pred, "y_pred")
    groups = {str(name): as_array(column, str(name)) for name, column in sensitive.items()}
    check_sensitive(list(groups))
    check_lengths({"y_true": labels, "y_pred": predictions, **groups})
    if not len(labels):
        raise EmptyTableError("array")
    if threshold is not None:
        # The comparison itself; text predictions are read as numbers first.
        predictions = numbers(predictions, "y_pred", "array") >= threshold
    attributes = {name: group_codes(column, name, "array") for name, column in groups.items()}
    return count_confusions(
        labels,
        predictions,
        names=("y_true", "y_pred"),
        groups=crossed(attributes, intersection=intersection),
        positive=positive,
        cut=threshold is not None,
    )


def count_confusions(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    *,
    names: tuple[str, str],
    groups: Mapping[str, tuple[Codes, list[str]]],
    positive: object,
    cut: bool,
    weights: Codes | None = None,
    table: str = "array",
) -> dict[str, DecisionCounts]:
    """Cross labels with predictions in every group, each row counted `weights` times."""
    label_codes, label_values = factorised(labels)
    codes, values = factorised(predictions)
    for column, name in ((label_codes, names[0]), (codes, names[1])):
        if (column < 0).any():
            raise MissingValueError(name, table, rows_of(column < 0))
    if cut:
        true_labels, _ = positives(label_values, [], names=names, positive=positive)
        true_predictions = np.array([value == "True" for value in values], dtype=bool)
    else:
        true_labels, true_predictions = positives(
            label_values, values, names=names, positive=positive
        )
    kind = 2 * true_labels[label_codes].astype(np.int64) + true_predictions[codes]
    return {name: _confusions(kind, *group, weights) for name, group in groups.items()}


def _confusions(
    kind: Codes, group: Codes, names: list[str], weights: Codes | None
) -> DecisionCounts:
    counts = np.bincount(4 * group + kind, weights, 4 * len(names)).astype(np.int64)
    return DecisionCounts(
        {
            name: Confusion(
                true_negatives=tn, false_positives=fp, false_negatives=fn, true_positives=tp
            )
            for name, (tn, fp, fn, tp) in zip(names, counts.reshape(-1, 4).tolist(), strict=True)
        }
    )


def check_sensitive(names: Sequence[str]) -> None:
    """Raise an error unless at least one sensitive attribute is named, and none twice."""
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        raise OptionError("sensitive", names, ["a list of one or more different columns"])


def check_threshold(threshold: float | None) -> None:
    """Raise an error unless the threshold is absent or a finite number."""
    number = isinstance(threshold, int | float | np.number)
    if threshold is not None and not (number and np.isfinite(threshold)):
        raise OptionError("threshold", threshold, ["a finite number"])


def count_position_pairs(
    pairs: ArrayLike,
    *,
    scores: ArrayLike,
    sensitive: Mapping[str, ArrayLike],
    evaluators: ArrayLike | None = None,
    tied_pairs: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    continuous: bool = False,
    intersection: bool = False,
    design: str = "auto",
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count judged pairs by cell and agreement, from positions of items.

    Parameters
    ----------
    pairs : array_like of int, shape (n, 2)
        Positions of the items, the better one first.
    scores : array_like of float
        The model's score of each item.
    sensitive : mapping of str to array_like
        Group of each item, by attribute.
    evaluators : array_like, optional
        Who judged, for each of `pairs`.
    tied_pairs : array_like of int, shape (m, 2), optional
        Pairs judged equal.
    reference : array_like of float, optional
        Label or reference score of each item; the counts keep it, and single pairs.
    continuous : bool
        Whether the attributes are numbers; the cells then say whether the better item has the
        larger value.
    intersection : bool
        Whether to count the intersection of all attributes too.
    design : {"auto", "fresh", "shared"}
        ``"auto"`` looks whether an item or an evaluator occurs in two judgments.

    Returns
    -------
    dict of str to PairCounts or SharedPairCounts
        One for each attribute.

    Examples
    --------
    >>> counts = count_position_pairs(
    ...     [[0, 1], [3, 2]], scores=[0.9, 0.2, 0.4, 0.1], sensitive={"sex": ["f", "m", "f", "m"]}
    ... )
    >>> counts["sex"]
    PairCounts({Cell(better='f', worse='m'): Tally(hits=1, trials=1, ties=0), \
Cell(better='m', worse='f'): Tally(hits=0, trials=1, ties=0)}, {})
    """
    check_option("design", design, DESIGNS)
    score_array = as_array(scores, "scores", "item")
    columns = {str(name): as_array(column, str(name)) for name, column in sensitive.items()}
    check_sensitive(list(columns))
    known = {} if reference is None else {"reference": as_array(reference, "reference", "item")}
    check_lengths({"scores": score_array, **columns, **known})
    if not len(score_array):
        raise EmptyTableError("item")
    judged = _positions(pairs, "pairs", len(score_array))
    tied = _positions([] if tied_pairs is None else tied_pairs, "tied_pairs", len(score_array))
    if not len(judged) and not len(tied):
        raise EmptyTableError("comparison")
    evaluator, names = _evaluators(evaluators, len(judged))
    ledger = Ledger(
        better=judged[:, 0],
        worse=judged[:, 1],
        trials=np.ones(len(judged), dtype=np.int64),
        evaluator=evaluator,
        evaluators=names,
        tied_first=tied[:, 0],
        tied_second=tied[:, 1],
        tied_trials=np.ones(len(tied), dtype=np.int64),
    )
    return count_ledger(
        ledger,
        scores=numbers(score_array, "scores", "item"),
        attributes=attributes_of(columns, continuous=continuous, intersection=intersection),
        design=design,
        reference=numbers(known["reference"], "reference", "item") if known else None,
    )


def attributes_of(
    columns: Mapping[str, NDArray[Any]],
    *,
    continuous: bool,
    intersection: bool,
    table: str = "item",
) -> dict[str, Attribute]:
    """Return what the items' sensitive columns say, with the intersection where asked for."""
    if continuous:
        check_not_crossed(intersection)
        return {name: _numeric_attribute(column, name, table) for name, column in columns.items()}
    coded = {name: group_codes(column, name, table) for name, column in columns.items()}
    groups = crossed(coded, intersection=intersection)
    return {name: Attribute(codes=codes, names=tuple(n)) for name, (codes, n) in groups.items()}


def check_not_crossed(intersection: bool) -> None:
    """Raise an error if numbers are to be crossed like groups."""
    if intersection:
        why = "continuous attributes have no groups to cross"
        raise OptionError("intersection", True, ["intersection=False", "continuous=False"], why)


def _numeric_attribute(column: NDArray[Any], name: str, table: str) -> Attribute:
    values = numbers(column, name, table)
    if len(values) and values.min() == values.max():
        raise OneGroupError(name, [str(values[0])])
    return Attribute(values=values)


def _evaluators(evaluators: ArrayLike | None, n_pairs: int) -> tuple[Codes | None, tuple[str, ...]]:
    if evaluators is None:
        return None, ()
    array = as_array(evaluators, "evaluators")
    check_lengths({"pairs": np.empty(n_pairs), "evaluators": array})
    codes, names = group_codes(array, "evaluators", "array", several=False)
    return codes, tuple(names)


def _positions(pairs: ArrayLike, name: str, n_items: int) -> NDArray[np.int64]:
    try:
        # np.asarray alone would forget a mask.
        array = values_of(pairs, name) if np.ma.is_masked(pairs) else np.asarray(pairs)
    except ValueError as error:
        raise PositionError(name, "pairs of integers", "rows of different lengths") from error
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise PositionError(name, "an array of shape (n, 2)", f"shape {array.shape}")
    if array.dtype.kind not in "iu":
        missing = np.array([any(map(is_missing, row)) for row in array.tolist()], dtype=bool)
        if missing.any():
            raise MissingValueError(name, "comparison", rows_of(missing))
        raise PositionError(name, "integers", f"{array.dtype}, such as {array.tolist()[0][0]!r}")
    outside = (array < 0) | (array >= n_items)
    if outside.any():
        rows = outside[:, 0] | outside[:, 1]
        found = f"{array[outside][:5].tolist()} in {rows_of(rows)}"
        raise PositionError(name, f"positions from 0 to {n_items - 1}", found)
    equal = array[:, 0] == array[:, 1]
    if equal.any():
        raise SelfComparisonError(rows_of(equal, array[:, 0]))
    return array.astype(np.int64)
