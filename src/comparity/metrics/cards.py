"""From counts to a scorecard: every metric and rate, the few to report, before and after, notes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from comparity import __version__
from comparity.counts.decisions import DecisionCounts, GroupedDecisions, NeighbourCounts
from comparity.errors import TooFewResamplesError
from comparity.inference.gap_tests import Interval
from comparity.inference.intervals import SMOOTHING, quantile, resampled
from comparity.metrics.catalogue import FURTHER
from comparity.metrics.classification import (
    BASE,
    RATES,
    Rate,
    widest_gap_interval,
    widest_ratio_interval,
)
from comparity.metrics.clusters import cluster_differences, cluster_metrics, published_partition
from comparity.metrics.comparison import compare_values, metric_sensitivity, metric_values
from comparity.metrics.entries import Entry, Measured
from comparity.metrics.entropy import VARIATIONS, consistency
from comparity.metrics.options import MetricsOptions
from comparity.metrics.result import (
    Comparison,
    MetricClusters,
    MetricValue,
    RateSpread,
    Scorecard,
    Selection,
)
from comparity.metrics.selection import catalogue_with, check_kinds, choose_metrics, ranges

__all__ = [
    "PROMISED",
    "metric_rows",
    "rate_rows",
    "scored",
]


PROMISED = 10
"""Intervals cover as often as they say where every cell they rest on holds so many decisions."""


SHARED_NEIGHBOURS = "normal, over items that share a neighbour"


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
    return MetricValue(
        id=one.id,
        name=one.name,
        formula=one.formula,
        value=value,
        interval=found.interval,
        method=found.method,
        promised=promised,
        ideal=one.ideal,
        fair_range=one.fair_range,
        direction=one.direction,
        cluster="" if one.cluster is None else one.cluster.name,
    )


def _is_promised(one: Entry, contrast: GroupedDecisions) -> bool:
    """Say whether all cells a metric rests on hold enough decisions."""
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


TOO_SMALL = "this data is too small to see which metrics move together."


CLUSTER_RESAMPLES = 500


def scored(
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
    drawn = resampled(contrast, replicates=options.replicates, rng=rng, smoothing=SMOOTHING)
    catalogue = catalogue_with(VARIATIONS[options.variation])
    metrics = metric_rows(catalogue, contrast, drawn, neighbours, level=options.level)
    further = metric_rows(FURTHER, contrast, drawn, None, level=options.level)
    selection = None
    if kinds:
        values = metric_values(resampled(contrast, replicates=CLUSTER_RESAMPLES, rng=rng))
        selection = _selected({one.id: one for one in metrics}, values, kinds)
    return Scorecard(
        metrics=metrics,
        further=further,
        spreads=rate_rows(counts.groups, contrast, drawn, level=options.level),
        groups=counts.groups,
        privileged=tuple(sorted(privileged)),
        n=counts.n,
        selection=selection,
        comparison=None if paired is None else _compared(contrast, paired, options, rng),
        notes=_notes((*metrics, *further), neighbours),
        provenance={
            "comparity": __version__,
            "seed": options.seed,
            "options": {k: v for k, v in asdict(options).items() if k != "seed"},
            "data": {},
        },
    )


def _selected(
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
        chosen=choose_metrics(metrics, kinds=asked, deaf=deaf),
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


def _compared(
    contrast: GroupedDecisions,
    paired: NDArray[np.float64],
    options: MetricsOptions,
    rng: np.random.Generator,
) -> Comparison:
    """Compare two sets of predictions over resamples of the same rows."""
    catalogue = catalogue_with(VARIATIONS[options.variation])
    n = round(float(paired.sum()))
    drawn = rng.multinomial(n, paired.ravel() / n, size=options.replicates)
    tables = drawn.reshape(-1, *paired.shape).astype(np.float64)
    # Summing over the other prediction leaves the table of one of them.
    both = [
        [metric_values(contrast.with_cells(cells.sum(axis=axis)), catalogue) for axis in (-1, -2)]
        for cells in (paired, tables)
    ]
    ours = [number for number in catalogue if number.startswith("C")]
    before, after = ({one: float(side[one]) for one in ours} for side in both[0])
    return compare_values(before, after, resampled=(both[1][0], both[1][1]), level=options.level)


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
