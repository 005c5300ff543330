"""The catalogue of metrics for one set of predictions: values, intervals, and the few to report."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decision_rows import count_decision_arrays, count_decisions, truths
from comparity.counts.decisions import (
    DecisionCounts,
    GroupedDecisions,
    NeighbourCounts,
    count_small_codes,
)
from comparity.counts.neighbours import count_neighbours, feature_matrix
from comparity.counts.paired_decisions import count_two_predictions, read_two_predictions
from comparity.errors import NoUnprivilegedError, UnknownPrivilegedError
from comparity.inference.metric_intervals import SMOOTHING, resample_table
from comparity.metrics.cards import (
    catalogue_with,
    metric_rows,
    ranges,
    rate_rows,
    select_by_values,
)
from comparity.metrics.catalogue import FURTHER
from comparity.metrics.comparison import compare_paired, metric_values
from comparity.metrics.entropy import VARIATIONS
from comparity.metrics.options import KINDS, MetricsForm, MetricsOptions, check_kinds
from comparity.metrics.result import MetricValue, Scorecard, Selection
from comparity.results.options import provenance, shows
from comparity.tables.columns import open_table
from comparity.tables.features import as_array, check_apart, named_attributes, placed_features
from comparity.tables.files import file_facts, read_table
from comparity.tables.frames import collect_columns, text_of
from comparity.tables.typing import Attributes, Column, Matrix
from comparity.tables.values import (
    check_groups,
    check_lengths,
    cross_attributes,
    group_codes,
    numbers,
    yes_values,
)

TABLE = "decisions"

CLUSTER_RESAMPLES = 500


@shows(MetricsOptions)
def fairness_metrics(
    y_true: Column,
    y_pred: Column,
    *,
    sensitive_features: Attributes,
    privileged: Any,
    X: Matrix | None = None,
    compare: Column | None = None,
    kinds: Sequence[str] = (),
    positive: Any = None,
    threshold: float | None = None,
    **choices: Any,
) -> Scorecard:
    """Work out the thirty published metrics of predictions and data, each with its interval.

    Counts of group, label and prediction are all that is needed, except for consistency (D0),
    which looks at the nearest neighbours of each row of `X`. Rows are taken to be independent.

    Parameters
    ----------
    y_true, y_pred : array-like
        Label and decision of each item: 0/1, true/false, or two values with `positive`.
    sensitive_features : array-like, mapping or frame
        The group of each item; of several attributes the combinations are the groups, called
        ``"f & old"``.
    privileged : value or collection of values
        The group, or groups, that have the advantage; all others are unprivileged.
    X : array-like or frame, optional
        Features for consistency, as they are: scale them, and put the sensitive attribute among
        them, to follow AIF360.
    compare : array-like, optional
        Other predictions for the same items: which metrics would move towards their ideal value?
    kinds : sequence of str, optional
        Kinds of fairness that matter, for the few metrics to report; see :func:`select_metrics`.
    positive : optional
        The value that is the positive one, where labels are neither 0/1 nor true/false.
    threshold : float, optional
        Decide 1 where `y_pred` (and `compare`) is at least this, if it is a score.
    variation : {"standard", "doubled root"}
        Definition of the coefficient of variation; the second is that of early AIF360.
    n_neighbors : int
        Neighbours for consistency, the item itself included.
    level : float
        Confidence level of the intervals.
    replicates, seed : int
        Resamples of the counts for metrics with a kink, and their seed.

    Returns
    -------
    Scorecard
        With one :class:`~comparity.metrics.result.MetricValue` for each metric, and the rates of
        all groups without a privileged one. A rate without trials gives ``nan``, a ratio to zero
        ``inf``.

    References
    ----------
    .. [1] Majumder et al., "Fair Enough: Searching for Sufficient Measures of Fairness".

    Examples
    --------
    >>> y_true = [1] * 50 + [0] * 60 + [1] * 75 + [0] * 75
    >>> y_pred = [1] * 30 + [0] * 20 + [1] * 12 + [0] * 48
    >>> y_pred += [1] * 60 + [0] * 15 + [1] * 20 + [0] * 55
    >>> card = fairness_metrics(
    ...     y_true, y_pred, sensitive_features=["f"] * 110 + ["m"] * 150, privileged="m"
    ... )
    >>> round(card["C0"].value, 3), card["C0"].place, round(card["C14"].value, 3)
    (-0.2, 'outside', 0.716)
    """
    options = MetricsOptions(**choices)
    attribute, groups = join_attributes(sensitive_features)
    labels, predictions = as_array(y_true), as_array(y_pred)
    counts = _count_arrays(labels, predictions, attribute, groups, positive, threshold)
    rng = np.random.default_rng(options.seed)
    neighbours = None
    if X is not None:
        truth, _ = truths(labels, labels, ("y_true", "y_true"), positive)
        matrix = feature_matrix(placed_features(X), len(labels))
        neighbours = count_neighbours(matrix, truth, n_neighbors=options.n_neighbors, rng=rng)
    paired = None
    if compare is not None:
        before = _cut_predictions(predictions, "y_pred", threshold)
        after = _cut_predictions(as_array(compare), "compare", threshold)
        paired = count_two_predictions(labels, before, after, groups=groups, positive=positive)
    camps = privileged_groups(privileged, attribute, counts.groups)
    return score_counts(
        counts, camps, options, neighbours=neighbours, paired=paired, kinds=kinds, rng=rng
    )


def score_counts(
    counts: DecisionCounts,
    privileged: Collection[str],
    options: MetricsOptions,
    *,
    rng: np.random.Generator,
    neighbours: NeighbourCounts | None = None,
    paired: NDArray[np.float64] | None = None,
    kinds: Sequence[str] = (),
) -> Scorecard:
    """Work out all metrics from counts."""
    contrast = GroupedDecisions.of(counts, privileged)
    drawn = resample_table(contrast, replicates=options.replicates, rng=rng, smoothing=SMOOTHING)
    catalogue = catalogue_with(VARIATIONS[options.variation])
    metrics = metric_rows(catalogue, contrast, drawn, neighbours, level=options.level)
    further = metric_rows(FURTHER, contrast, drawn, None, level=options.level)
    selection = None
    if kinds:
        values = metric_values(resample_table(contrast, replicates=CLUSTER_RESAMPLES, rng=rng))
        selection = select_by_values({one.id: one for one in metrics}, values, kinds)
    comparison = None
    if paired is not None:
        comparison = compare_paired(contrast, paired, catalogue, options, rng=rng)
    return Scorecard(
        metrics=metrics,
        further=further,
        spreads=rate_rows(counts.groups, contrast, drawn, level=options.level),
        groups=counts.groups,
        privileged=tuple(sorted(privileged)),
        n=counts.n,
        selection=selection,
        comparison=comparison,
        notes=_notes((*metrics, *further), neighbours),
        provenance=provenance(options),
    )


def _notes(metrics: Sequence[MetricValue], neighbours: NeighbourCounts | None) -> tuple[str, ...]:
    notes = ["Rows are taken to be independent of each other."]
    small = [one.id for one in metrics if not one.promised]
    if small:
        notes.append(
            "Coverage of the interval is not promised, since a count is below 10, for "
            f"{ranges(small)}."
        )
    missing = [one.id for one in metrics if one.value != one.value]
    if missing:
        notes.append(f"A rate has no trials, or both rates are zero: no {ranges(missing)}.")
    if neighbours is None:
        notes.append("Without features there is no consistency (D0).")
    elif neighbours.tied:
        notes.append(
            f"{neighbours.tied:,} items have further items just as near as their last neighbour; "
            "consistency (D0) depends on which of them are taken."
        )
    if neighbours is not None and neighbours.checked:
        shift, error = neighbours.error
        notes.append(
            f"Neighbours are approximate; on {neighbours.checked:,} items found exactly the "
            f"consistency (D0) is higher by {shift:+.4f} (standard error {error:.4f})."
        )
    return tuple(notes)


def select_metrics(
    y_true: Column,
    y_pred: Column,
    *,
    sensitive_features: Attributes,
    privileged: Any,
    kinds: Sequence[str] = KINDS[:2],
    X: Matrix | None = None,
    **choices: Any,
) -> Selection:
    """Choose the few metrics to report for this data and model, each with the reason.

    Three steps: which kinds of fairness matter, which clusters measure them, one metric of each;
    where the metrics of a cluster disagree about this data, one from either side. Clusters are the
    published ones; whether metrics move together in resamples of this very data is checked, and
    said where they do not.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, privileged, X
        As in :func:`fairness_metrics`.
    kinds : sequence of str
        Some of ``"group"``, ``"individual"``, ``"false negatives"`` and ``"false positives"``:
        parity between groups, among individuals, and which error is the graver harm.
    **choices
        As in :func:`fairness_metrics`.

    Examples
    --------
    >>> y_true, y_pred = [1, 1, 0, 0] * 100, [1, 0, 0, 1] * 50 + [1, 1, 0, 0, 0, 1, 0, 0] * 25
    >>> chosen = select_metrics(
    ...     y_true, y_pred, sensitive_features=["f"] * 200 + ["m"] * 200, privileged="m",
    ...     kinds=["false negatives"],
    ... ).chosen
    >>> [one.id for one in chosen]
    ['C3', 'C0']
    """
    card = fairness_metrics(
        y_true,
        y_pred,
        sensitive_features=sensitive_features,
        privileged=privileged,
        X=X,
        kinds=check_kinds(kinds),
        **choices,
    )
    assert card.selection is not None
    return card.selection


def metrics_frame(frame: Any, **choices: Any) -> Scorecard:
    """Work out the metrics of a frame of any engine; `choices` are those of :class:`MetricsForm`.

    Rows are counted on the engine the frame lives in; with features, which consistency (D0) looks
    for neighbours in, they are brought to memory.
    """
    form = MetricsForm(**choices)
    check_apart(form.sensitive, (form.label, form.prediction))
    card = _card_of_rows(frame, form) if form.features else _card_of_counts(frame, form)
    if form.compare is not None and card.comparison is not None:
        names = (form.prediction, form.compare)
        card = replace(card, comparison=replace(card.comparison, names=names))
    data: dict[str, Any] = {"label": form.label, "prediction": form.prediction}
    data |= {"sensitive": list(form.sensitive), "features": list(form.features)}
    data |= yes_values(form.positive, form.threshold)
    return replace(card, provenance={**card.provenance, "data": data | {"compare": form.compare}})


def _card_of_counts(frame: Any, form: MetricsForm) -> Scorecard:
    about: dict[str, Any] = {"label": form.label, "sensitive": form.sensitive}
    about |= {"positive": form.positive, "threshold": form.threshold}
    counts = count_decisions(frame, **about, prediction=form.prediction, intersection=True)
    attribute = " & ".join(form.sensitive)
    check_groups({attribute: counts[attribute].groups})
    camps = privileged_groups(form.privileged, attribute, counts[attribute].groups)
    paired = None
    if form.compare is not None:
        # What is wrong with the column is told here.
        count_decisions(frame, **about, prediction=form.compare)
        both = (form.prediction, form.compare)
        paired = read_two_predictions(frame, **about, predictions=both)
    options, rng = form.narrow(MetricsOptions), np.random.default_rng(form.seed)
    return score_counts(counts[attribute], camps, options, paired=paired, kinds=form.kinds, rng=rng)


def _card_of_rows(frame: Any, form: MetricsForm) -> Scorecard:
    label, sensitive = form.label, form.sensitive
    said = {"positive": form.positive, "threshold": form.threshold}
    for one in (form.prediction, form.compare):
        if one is not None:
            # What is wrong with a column is told by its name here, and by its role below.
            count_decisions(frame, label=label, prediction=one, sensitive=sensitive, **said)
    groups = {f"group{place}": name for place, name in enumerate(sensitive)}
    inputs = {f"feature{place}": name for place, name in enumerate(form.features)}
    named = {"label": label, "prediction": form.prediction, **groups, **inputs}
    if form.compare is not None:
        named["compare"] = form.compare
    columns = collect_columns(open_table(frame, TABLE, named).frame)
    matrix = [numbers(columns[ours], name, TABLE) for ours, name in inputs.items()]
    return fairness_metrics(
        columns["label"],
        columns["prediction"],
        sensitive_features={name: columns[ours] for ours, name in groups.items()},
        privileged=form.privileged,
        X=np.column_stack(matrix) if matrix else None,
        compare=columns.get("compare"),
        kinds=form.kinds,
        **said,
        **asdict(form.narrow(MetricsOptions)),
    )


def metrics_file(path: str | Path, **choices: Any) -> Scorecard:
    """Work out the metrics of a file; `choices` as in :func:`metrics_frame`."""
    card = metrics_frame(read_table(path), **choices)
    files = file_facts(path)
    data = {**card.provenance["data"], "files": files}
    return replace(card, provenance={**card.provenance, "data": data})


def join_attributes(sensitive_features: Any) -> tuple[str, NDArray[Any]]:
    """Return the name and the groups of an attribute, or of several the combinations."""
    attributes = named_attributes(sensitive_features)
    if len(attributes) == 1:
        return next(iter(attributes.items()))
    check_lengths(attributes)
    coded = {
        name: group_codes(column, name, "array", several=False)
        for name, column in attributes.items()
    }
    attribute, (codes, names) = cross_attributes(coded, intersection=True).popitem()
    return attribute, np.array(names, dtype=object)[codes]


def _count_arrays(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    attribute: str,
    groups: NDArray[Any],
    positive: Any,
    threshold: float | None,
) -> DecisionCounts:
    counts = None
    if positive is None and threshold is None:
        counts = count_small_codes(labels, predictions, groups)
    if counts is None:
        said = {"positive": positive, "threshold": threshold}
        sensitive = {attribute: groups}
        counts = count_decision_arrays(labels, predictions, sensitive=sensitive, **said)[attribute]
    check_groups({attribute: counts.groups})
    return counts


def _cut_predictions(predictions: NDArray[Any], name: str, threshold: float | None) -> NDArray[Any]:
    return predictions if threshold is None else numbers(predictions, name, "array") >= threshold


def privileged_groups(privileged: Any, attribute: str, groups: Sequence[str]) -> frozenset[str]:
    """Return the groups called privileged; some group must be left that is not."""
    several = isinstance(privileged, Collection) and not isinstance(privileged, str | bytes)
    named = frozenset(text_of(value) for value in (privileged if several else [privileged]))
    if not named or not named <= set(groups):
        raise UnknownPrivilegedError(sorted(named - set(groups)), attribute, groups)
    if named == set(groups):
        raise NoUnprivilegedError(attribute, groups)
    return named
