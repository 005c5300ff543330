"""Rows of decisions, from arrays or a table, made into counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.counts.clusters import Clustering, read_clusters, row_moments, shared_clusters
from comparity.counts.decisions import ClusteredDecisionCounts, Confusion, DecisionCounts
from comparity.counts.pairs import Cell, Sharing
from comparity.errors import EmptyTableError, MissingValueError, OptionError
from comparity.tables.columns import Table, check_columns, check_sensitive, open_table
from comparity.tables.frames import collect_columns
from comparity.tables.memory import check_room
from comparity.tables.values import (
    Codes,
    as_array,
    check_lengths,
    cross_attributes,
    factorise,
    group_codes,
    numbers,
    positives,
    rows_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRows:
    """Labels, decisions and groups, each row as often as it occurs.

    Attributes
    ----------
    labels, predictions : ndarray
        As they were given; true or false where scores were cut.
    names : (str, str)
        What errors call the two.
    groups : mapping of str to (ndarray of int, list of str)
        Codes and names of the groups, by attribute.
    is_cut : bool
        Whether predictions are scores that were cut.
    weights : ndarray of int or None
        How often each row occurs; once if ``None``.
    table : str
        What errors call where rows are from.
    clusters : mapping of str to Clustering
        What makes rows dependent.
    """

    labels: NDArray[Any]
    predictions: NDArray[Any]
    names: tuple[str, str]
    groups: Mapping[str, tuple[Codes, list[str]]]
    is_cut: bool = False
    weights: Codes | None = None
    table: str = "array"
    clusters: Mapping[str, Clustering] = field(default_factory=dict)

    def factorise(self) -> tuple[tuple[Codes, list[Any]], tuple[Codes, list[Any]]]:
        """Return codes and distinct values of labels and of decisions; gaps are errors."""
        coded = factorise(self.labels), factorise(self.predictions)
        for (codes, _), name in zip(coded, self.names, strict=True):
            if (codes < 0).any():
                raise MissingValueError(name, self.table, rows_of(codes < 0))
        return coded


def count_decision_arrays(
    y_true: ArrayLike, y_pred: ArrayLike, *, positive: object = None, **choices: Any
) -> dict[str, DecisionCounts]:
    """Count decisions by group, label and prediction, from arrays.

    Parameters
    ----------
    y_true, y_pred : array_like
        Label and prediction of each item: 0 and 1, or true and false, as numbers or text.
    positive : object, optional
        The positive value, where labels are other words.
    **choices
        Those of :func:`decision_arrays`.

    Returns
    -------
    dict of str to DecisionCounts
        One for each attribute; with what decisions share, where any share a cluster.

    Examples
    --------
    >>> counts = count_decision_arrays([1, 1, 0], [1, 0, 0], sensitive={"sex": ["f", "m", "m"]})
    >>> counts["sex"]["m"].positives
    Tally(hits=0, trials=1, ties=0)
    """
    return count_confusions(decision_arrays(y_true, y_pred, **choices), positive)


def decision_arrays(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive: Mapping[str, ArrayLike],
    threshold: float | None = None,
    intersection: bool = False,
    clusters: Mapping[str, NDArray[Any]] | None = None,
) -> DecisionRows:
    """Check arrays of labels and decisions.

    Parameters
    ----------
    y_true, y_pred : array_like
        Label and prediction of each item.
    sensitive : mapping of str to array_like
        Group of each item, by attribute.
    threshold : float, optional
        A prediction at or above it is positive.
    intersection : bool
        Whether to form the intersection of all attributes too.
    clusters : mapping of str to ndarray, optional
        What makes decisions dependent, by name.
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
    return DecisionRows(
        labels=labels,
        predictions=predictions,
        names=("y_true", "y_pred"),
        groups=cross_attributes(attributes, intersection=intersection),
        is_cut=threshold is not None,
        clusters=read_clusters(clusters or {}, table="array", beside={"y_true": labels}),
    )


def count_confusions(rows: DecisionRows, positive: object = None) -> dict[str, DecisionCounts]:
    """Cross labels with predictions in every group."""
    return count_kinds(rows, *find_positives(rows, positive))


def find_positives(
    rows: DecisionRows, positive: object = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which labels and which decisions are positive; gaps and other values are errors."""
    (label_codes, label_values), (codes, values) = rows.factorise()
    if rows.is_cut:
        true_labels, _ = positives(label_values, [], names=rows.names, positive=positive)
        true_predictions = np.array([value == "True" for value in values], dtype=bool)
    else:
        true_labels, true_predictions = positives(
            label_values, values, names=rows.names, positive=positive
        )
    return true_labels[label_codes], true_predictions[codes]


def count_kinds(
    rows: DecisionRows, labelled: NDArray[np.bool_], decided: NDArray[np.bool_]
) -> dict[str, DecisionCounts]:
    """Count, by group, the rows that are and are not `labelled`, and those `decided` of each."""
    kind = 2 * labelled.astype(np.int64) + decided
    counts = {name: _confusions(kind, *group, rows.weights) for name, group in rows.groups.items()}
    trials = np.ones(len(kind), dtype=np.int64) if rows.weights is None else rows.weights
    shared = shared_clusters(rows.clusters, trials)
    if not shared:
        return counts
    return {
        name: _add_clusters(counts[name], kind, *group, trials, shared)
        for name, group in rows.groups.items()
    }


def _add_clusters(
    counts: DecisionCounts,
    kind: Codes,
    group: Codes,
    names: list[str],
    trials: Codes,
    clusters: Mapping[str, Clustering],
) -> ClusteredDecisionCounts:
    """Return counts with the second moments of decisions that share a cluster."""
    # Labels and groups say the cell, and the prediction says whether it is a hit.
    cell, weight = 2 * group + kind // 2, trials.astype(np.float64)
    hits = weight * (kind % 2)
    n, yes = (np.bincount(cell, part, 2 * len(names)).astype(np.float64) for part in (weight, hits))
    own = np.block([[np.diag(n), np.diag(yes)], [np.diag(yes), np.diag(yes)]])
    moments = row_moments(clusters, cell, weight, hits, own)
    cells = tuple(Cell(name, label) for name in names for label in "01")
    sharing = Sharing.of(cells, (n, yes, own, np.zeros_like(n)), moments, list(clusters))
    # Each decision is about an item of its own.
    sharing = replace(sharing, effective_items=n, method="clustered score z")
    return ClusteredDecisionCounts(counts, sharing=sharing, n_clusters=moments.sizes)


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


def check_threshold(threshold: float | None) -> None:
    """Raise an error unless the threshold is absent or a finite number."""
    number = isinstance(threshold, int | float | np.number)
    if threshold is not None and not (number and np.isfinite(threshold)):
        raise OptionError("threshold", threshold, ["a finite number"])


def count_decisions(
    frame: Any, *, positive: object = None, **choices: Any
) -> dict[str, DecisionCounts]:
    """Count decisions by group, label and prediction, on the engine the table lives in.

    Parameters
    ----------
    frame : frame of any engine
        One row for each item.
    positive : object, optional
        The positive value, where labels are other words than 0 and 1, or true and false.
    **choices
        Those of :func:`read_decisions`.

    Returns
    -------
    dict of str to DecisionCounts
        One for each sensitive column, with what decisions share, where any share a cluster. Counts
        of parts may be added, unless decisions share clusters; a part with one group only is
        refused.

    Raises
    ------
    ComparityError
        A column is missing, has gaps, or holds what it should not; the error names rows.

    Examples
    --------
    >>> import polars
    >>> rows = {"hired": [1, 1, 0, 0], "model": [0.9, 0.4, 0.6, 0.2], "sex": ["f", "m", "f", "m"]}
    >>> counts = count_decisions(
    ...     polars.DataFrame(rows), label="hired", prediction="model", sensitive=["sex"],
    ...     threshold=0.5,
    ... )
    >>> counts["sex"]["f"].positives.rate, counts["sex"]["f"].negatives.rate
    (1.0, 1.0)
    """
    return count_confusions(read_decisions(frame, **choices), positive)


def read_decisions(
    frame: Any,
    *,
    label: str,
    prediction: str,
    sensitive: Sequence[str],
    threshold: float | None = None,
    intersection: bool = False,
    clusters: Sequence[str] = (),
) -> DecisionRows:
    """Read the distinct rows of a table and how often each occurs, on the engine it lives in.

    Parameters
    ----------
    frame : frame of any engine
        One row for each item.
    label, prediction : str
        Columns with labels and decisions.
    sensitive : sequence of str
        Columns with groups.
    threshold : float, optional
        A prediction at or above it is positive.
    intersection : bool
        Whether to form the intersection of all sensitive columns too.
    clusters : sequence of str
        Columns that say what makes decisions dependent.
    """
    check_sensitive(sensitive)
    check_threshold(threshold)
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    shared = {f"cluster{place}": name for place, name in enumerate(clusters)}
    columns = {"label": label, "prediction": prediction, **groups, **shared}
    table = open_table(frame, "decisions", columns)
    rows = table.frame
    if clusters:
        check_room(rows, "cluster", tuple(clusters), "no clusters")
    if threshold is not None:
        rows = rows.with_columns(cut_scores(table, "prediction", threshold))
    found = collect_columns(rows.group_by(*columns).agg(nw.len().alias("n")))
    if not len(found["n"]):
        raise EmptyTableError("decisions")
    _check_found(table, found, cut=threshold is not None)
    check_columns(table, names=list(shared))
    kinds = {name: found[ours] for ours, name in shared.items()}
    coded = {name: group_codes(found[ours], name, "decisions") for ours, name in groups.items()}
    return DecisionRows(
        labels=found["label"],
        predictions=found["prediction"] == 1 if threshold is not None else found["prediction"],
        names=(label, prediction),
        groups=cross_attributes(coded, intersection=intersection),
        is_cut=threshold is not None,
        weights=found["n"].astype(np.int64),
        table="decisions",
        clusters=read_clusters(kinds, table="decisions"),
    )


def cut_scores(table: Table, column: str, threshold: float) -> nw.Expr:
    """Return 1 where a score is at or above the threshold, 0 below, -1 where it is no number."""
    score = table.number(column)
    usable = score.is_finite() & ~table.missing(column)
    above = nw.when(score >= threshold).then(nw.lit(1)).otherwise(nw.lit(0))
    return nw.when(usable).then(above).otherwise(nw.lit(-1)).alias(column)


def _check_found(table: Table, found: dict[str, Any], *, cut: bool) -> None:
    """Look for gaps among the few distinct rows; only if there are any, look for their rows."""
    broken = any((factorise(found[name])[0] < 0).any() for name in table.columns)
    if broken or (cut and (found["prediction"] == -1).any()):
        numeric = ["prediction"] if cut else []
        check_columns(table, complete=table.columns, numeric=numeric)


def truths(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    names: tuple[str, str],
    positive: object = None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which labels and which predictions are positive; gaps and other values are errors."""
    rows = DecisionRows(labels=labels, predictions=predictions, names=names, groups={})
    return find_positives(rows, positive)
