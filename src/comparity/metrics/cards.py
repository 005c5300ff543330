"""Every metric and rate with its interval, and the few metrics to report.

References
----------
.. [1] Majumder et al., "Fair Enough", Sections 5.2, 5.3 and 6: (1) determine what type of fairness
   is desirable, (2) look it up in the clusters, (3) test for one metric of each; where metrics of
   a cluster disagree, take one of either side.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions, NeighbourCounts
from comparity.errors import TooFewResamplesError
from comparity.inference.gap_tests import Interval
from comparity.inference.metric_intervals import quantile
from comparity.metrics.catalogue import CATALOGUE, CLUSTERS, EVERY_METRIC, Cluster, Entry
from comparity.metrics.classification import (
    BASE,
    RATES,
    Measured,
    Rate,
    widest_gap_interval,
    widest_ratio_interval,
)
from comparity.metrics.comparison import metric_sensitivity
from comparity.metrics.entropy import STANDARD, Variation, consistency
from comparity.metrics.metric_clusters import (
    cluster_differences,
    cluster_metrics,
    published_partition,
)
from comparity.metrics.options import check_kinds
from comparity.metrics.result import (
    ChosenMetric,
    MetricClusters,
    MetricValue,
    RateSpread,
    Selection,
)

PROMISED = 10
"""Intervals cover as often as they say where every cell they rest on holds so many decisions."""

SHARED_NEIGHBOURS = "normal, over items that share a neighbour"

TOO_SMALL = "this data is too small to see which metrics move together."

Merit = tuple[bool, ...]

SURER = {
    1: "is finite",
    2: "has counts large enough for its interval",
    3: "has an interval with two ends",
    6: "responds to resampling",
}
"""What data say for a metric, by its place in :func:`_merit`."""


def catalogue_with(scale: float) -> Mapping[str, Entry]:
    """Return the catalogue with one of the two definitions of the coefficient of variation.

    Parameters
    ----------
    scale : float
        :data:`~comparity.metrics.entropy.STANDARD` or
        :data:`~comparity.metrics.entropy.DOUBLED_ROOT`.

    Examples
    --------
    >>> catalogue_with(2.0)["C20"].formula
    '2 sqrt(GE_2) of b = yhat - y + 1'
    """
    if scale == STANDARD:
        return CATALOGUE
    entries = dict(CATALOGUE)
    for number, one in CATALOGUE.items():
        if isinstance(one.measure, Variation):
            formula = one.formula.replace("sqrt(2 GE_2)", f"{scale:g} sqrt(GE_2)")
            entries[number] = replace(
                one, formula=formula, measure=replace(one.measure, scale=scale)
            )
    return MappingProxyType(entries)


def metric_rows(
    catalogue: Mapping[str, Entry],
    contrast: GroupedDecisions,
    drawn: GroupedDecisions,
    neighbours: NeighbourCounts | None,
    *,
    level: float,
) -> tuple[MetricValue, ...]:
    """Return every metric with its interval; consistency only where neighbours were counted."""
    rows = []
    for one in catalogue.values():
        if one.measure is not None:
            value = float(one.measure(contrast))
            found = Measured(Interval(math.nan, math.nan, level), "none")
            if not math.isnan(value):
                # Of few rows some resamples have nobody who benefits, and no index.
                with np.errstate(invalid="ignore"):
                    found = one.measure.interval(contrast, drawn, level=level)
            rows.append(_row(one, value, found, promised=_is_promised(one, contrast)))
        elif neighbours is not None:
            value, found = _consistency(neighbours, level)
            rows.append(_row(one, value, found, promised=_enough(neighbours.table.sum(axis=1))))
    return tuple(rows)


def rate_rows(
    groups: Sequence[str], contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> tuple[RateSpread, ...]:
    """Return every rate in every group, with the widest gap and the smallest ratio."""
    return tuple(_spread(rate, groups, contrast, drawn, level) for rate in RATES)


def _row(one: Entry, value: float, found: Measured, *, promised: bool) -> MetricValue:
    same = ("id", "name", "formula", "ideal", "fair_range", "direction")
    return MetricValue(
        **{name: getattr(one, name) for name in same},
        value=value,
        interval=found.interval,
        method=found.method,
        promised=promised,
        cluster="" if one.cluster is None else one.cluster.name,
    )


def _is_promised(one: Entry, contrast: GroupedDecisions) -> bool:
    """Return whether all cells a metric rests on hold enough decisions."""
    every = one.measure is not None and one.measure.sees_all_groups
    cells = (contrast if every else contrast.two_camps).cells
    return _enough(cells.sum(axis=-1) if one.of_data else cells)


def _enough(cells: NDArray[np.generic]) -> bool:
    return bool(cells.min() >= PROMISED)


def _consistency(neighbours: NeighbourCounts, level: float) -> tuple[float, Measured]:
    value = consistency(neighbours)
    variance = neighbours.dependent_square / neighbours.n**2 + neighbours.error[1] ** 2
    reach = quantile(level) * math.sqrt(variance)
    interval = Interval(max(value - reach, 0.0), min(value + reach, 1.0), level)
    return value, Measured(interval, SHARED_NEIGHBOURS)


def _spread(
    rate: Rate,
    groups: Sequence[str],
    contrast: GroupedDecisions,
    drawn: GroupedDecisions,
    level: float,
) -> RateSpread:
    rates = rate.of(contrast.cells)
    nothing = Interval(math.nan, math.nan, level)
    exists = not np.isnan(rates).any()
    largest = float(rates.max()) if exists else math.nan
    cells = contrast.cells.sum(axis=-1) if rate is BASE else contrast.cells
    return RateSpread(
        name=rate.name,
        rates=dict(zip(groups, rates.tolist(), strict=True)),
        gap=float(np.ptp(rates)) if exists else math.nan,
        gap_interval=(
            widest_gap_interval(rate, contrast, drawn, level=level) if exists else nothing
        ),
        ratio=float(rates.min()) / largest if largest > 0 else math.nan,
        ratio_interval=(
            widest_ratio_interval(rate, contrast, drawn, level=level) if largest > 0 else nothing
        ),
        promised=_enough(cells),
    )


def select_by_values(
    metrics: Mapping[str, MetricValue],
    values: Mapping[str, NDArray[np.float64]],
    kinds: Sequence[str],
) -> Selection:
    """Choose metrics, and compare the published clusters with those of resamples of this data."""
    asked = check_kinds(kinds)
    deaf = metric_sensitivity(values).deaf
    predictions = {number: v for number, v in values.items() if number.startswith("C")}
    steady = {number: v for number, v in predictions.items() if not np.isnan(v).any()}
    clusters = _clusters(steady)
    differences: tuple[str, ...] = (TOO_SMALL,)
    if clusters is not None:
        differences = cluster_differences(clusters.clusters, published_partition(steady))
    return Selection(
        chosen=_choose_metrics(metrics, kinds=asked, deaf=deaf),
        kinds=asked,
        clusters=clusters,
        differences=differences,
        deaf=deaf,
    )


def _clusters(values: Mapping[str, NDArray[np.float64]]) -> MetricClusters | None:
    """Return clusters of metrics over resamples, or nothing where the data are too small."""
    if len(values) < 2:
        return None
    try:
        return cluster_metrics(values)
    except TooFewResamplesError:
        return None


def _choose_metrics(
    metrics: Mapping[str, MetricValue], *, kinds: Sequence[str], deaf: Collection[str]
) -> tuple[ChosenMetric, ...]:
    """Choose one metric of every cluster that matters, in the order of clusters, and say why.

    ``"group"`` and ``"individual"`` take all clusters of that kind; ``"false negatives"`` and
    ``"false positives"`` those with a metric of that error. Of two metrics that are alike
    otherwise, the one that responds to data is taken.
    """
    chosen: list[ChosenMetric] = []
    for cluster in CLUSTERS:
        wanting = tuple(kind for kind in kinds if _matters(cluster, kind))
        known = [
            CATALOGUE[one]
            for one in cluster.members
            if one in metrics and not math.isnan(metrics[one].value)
        ]
        if wanting and known:
            chosen += _of_cluster(cluster, known, metrics, wanting, deaf)
    return tuple(chosen)


def _matters(cluster: Cluster, kind: str) -> bool:
    if kind in ("group", "individual"):
        return cluster.kind == kind
    return any(CATALOGUE[one].about == kind for one in cluster.members)


def _of_cluster(
    cluster: Cluster,
    known: Sequence[Entry],
    metrics: Mapping[str, MetricValue],
    kinds: tuple[str, ...],
    deaf: Collection[str],
) -> list[ChosenMetric]:
    errors = [kind for kind in kinds if kind.startswith("false")]
    merits = {one.id: _merit(one, metrics[one.id], errors, deaf) for one in known}
    best, *others = sorted(known, key=lambda one: merits[one.id])
    here = metrics[best.id].place
    against = [one for one in others if metrics[one.id].place != here]
    alike = [one.id for one in others if merits[one.id] == merits[best.id] and one not in against]
    reasons = [*_virtues(best, others, errors), *_surer(best, others, merits)]
    reasons += _doubts(metrics[best.id], known, deaf)
    if alike:
        reasons.append(f"{', '.join(alike)} would serve as well")
    if not others:
        known_here = "" if cluster.members == (best.id,) else " that exists here"
        reasons.insert(0, f"the only one of its cluster{known_here}")
    if against:
        reasons.append(f"{against[0].id} says otherwise")
    picked = [(best, "; ".join(reasons))]
    if against:
        clash = f"{best.id} is {here} its published range"
        there = metrics[against[0].id].place
        picked.append((against[0], f"the cluster disagrees: {clash}, this one is {there}"))
    return [
        ChosenMetric(id=one.id, name=one.name, kinds=kinds, cluster=cluster.name, reason=reason)
        for one, reason in picked
    ]


def _merit(one: Entry, metric: MetricValue, errors: Sequence[str], deaf: Collection[str]) -> Merit:
    """Order metrics: what speaks of the graver error, is finite, has a sure interval."""
    low, high, _ = metric.interval
    return (
        bool(errors) and one.about not in errors,
        not math.isfinite(metric.value),
        not metric.promised,
        not (math.isfinite(low) and math.isfinite(high)),
        # A gap exists where a rate is zero, and a reader need not know how rare it is.
        one.ideal != 0.0,
        # Of what is left, a metric of both errors says more than one of either.
        not errors and bool(one.about),
        # The published rule compares metrics of different scales, so it comes last.
        one.id in deaf,
    )


def _virtues(one: Entry, others: Sequence[Entry], errors: Sequence[str]) -> list[str]:
    """Say in words what `_merit` found better in one metric than in others."""
    reasons = []
    if errors and one.about in errors:
        reasons.append(f"speaks of {one.about}")
    if one.ideal == 0.0 and any(other.ideal == 1.0 for other in others):
        reasons.append("a difference, where a ratio would divide by a rate that may be zero")
    if not errors and not one.about and any(other.about for other in others):
        reasons.append("speaks of both errors")
    return reasons


def _surer(one: Entry, others: Sequence[Entry], merits: Mapping[str, Merit]) -> list[str]:
    """Say what decided where `_merit` came down to what this data can tell."""
    worse: dict[int, list[str]] = {}
    for other in others:
        both = zip(merits[one.id], merits[other.id], strict=True)
        decided = next((place for place, (mine, its) in enumerate(both) if mine != its), None)
        if decided is not None:
            worse.setdefault(decided, []).append(other.id)
    return [
        f"{virtue}, unlike {', '.join(worse[place])}"
        for place, virtue in SURER.items()
        if place in worse
    ]


def _doubts(metric: MetricValue, known: Sequence[Entry], deaf: Collection[str]) -> list[str]:
    """Describe the weaknesses of the best metric of a cluster."""
    doubts = []
    if metric.id in deaf:
        every = all(one.id in deaf for one in known) and len(known) > 1
        whose = "all of its cluster hardly respond" if every else "though it hardly responds"
        doubts.append(f"{whose} to resampling")
    if not metric.promised:
        doubts.append("though counts are too small for its interval to be promised")
    return doubts


def ranges(ids: Iterable[str]) -> str:
    """Shorten a list of identifiers: three or more in a row are written as their first and last.

    Examples
    --------
    >>> ranges(["C0", "C1", "C2", "C3", "C9", "C10", "D1"])
    'C0-C3, C9, C10, D1'
    """
    runs: list[list[str]] = []
    order = list(EVERY_METRIC)
    for one in ids:
        follows = runs and one[0] == runs[-1][-1][0]
        if follows and order.index(one) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    parts = [[f"{run[0]}-{run[-1]}"] if len(run) > 2 else run for run in runs]
    return ", ".join(one for part in parts for one in part)
