"""Counts to rows of a scorecard: every metric, and every rate of every group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from comparity.catalogue.entries import Entry
from comparity.contrasts import Contrast, NeighbourCounts
from comparity.inference.delta import quantile
from comparity.inference.measures import (
    Measured,
    measure_interval,
    widest_gap_interval,
    widest_ratio_interval,
)
from comparity.metrics.classification import BASE, RATES, Rate
from comparity.metrics.differential import BiasAmplification
from comparity.metrics.entropy import GroupEntropy, GroupVariation
from comparity.metrics.labels import consistency
from comparity.results import Interval
from comparity.scorecards import MetricValue, RateSpread

__all__ = ["PROMISED", "metric_rows", "rate_rows"]

PROMISED = 10
"""Intervals cover as often as they say where every cell they rest on holds so many decisions."""

SHARED_NEIGHBOURS = "normal, over items that share a neighbour"


def metric_rows(
    catalogue: Mapping[str, Entry],
    contrast: Contrast,
    drawn: Contrast,
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
                    found = measure_interval(one.measure, contrast, drawn, level=level)
            rows.append(_row(one, value, found, promised=_is_promised(one, contrast)))
        elif neighbours is not None:
            value, found = _consistency(neighbours, level)
            rows.append(_row(one, value, found, promised=_enough(neighbours.table.sum(axis=1))))
    return tuple(rows)


def rate_rows(
    groups: Sequence[str], contrast: Contrast, drawn: Contrast, *, level: float
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
        cluster=one.cluster.name,
    )


def _is_promised(one: Entry, contrast: Contrast) -> bool:
    """Say whether all cells a metric rests on hold enough decisions."""
    every = isinstance(one.measure, BiasAmplification) or (
        isinstance(one.measure, GroupEntropy | GroupVariation) and one.measure.all_groups
    )
    if one.of_data:
        return _enough((contrast if one.id == "D1" else contrast.two_camps).cells.sum(axis=-1))
    return _enough((contrast if every else contrast.two_camps).cells)


def _enough(cells: NDArray[np.generic]) -> bool:
    return bool(cells.min() >= PROMISED)


def _consistency(neighbours: NeighbourCounts, level: float) -> tuple[float, Measured]:
    value = consistency(neighbours)
    variance = neighbours.dependent_square / neighbours.n**2 + neighbours.error[1] ** 2
    reach = quantile(level) * math.sqrt(variance)
    interval = Interval(max(value - reach, 0.0), min(value + reach, 1.0), level)
    return value, Measured(interval, SHARED_NEIGHBOURS)


def _spread(
    rate: Rate, groups: Sequence[str], contrast: Contrast, drawn: Contrast, level: float
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
