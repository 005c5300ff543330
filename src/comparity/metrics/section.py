"""Scorecards, clusters of metrics, choices and changes, for every medium."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import Any

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import Interval
from comparity.metrics.cards import ranges
from comparity.metrics.comparison import Sensitivity
from comparity.metrics.distortion import Distortions
from comparity.metrics.metric_clusters import ClusterStability
from comparity.metrics.pictures import (
    has_sign,
    metrics_chart,
    moves_in_words,
    number_text,
    tree_chart,
)
from comparity.metrics.result import (
    Change,
    Comparison,
    MetricClusters,
    MetricValue,
    RateSpread,
    Scorecard,
    Selection,
)
from comparity.reports.charts import Chart
from comparity.reports.cover import said_threshold
from comparity.reports.sections import (
    Grid,
    Section,
    clip,
    count,
    interval,
    percent,
    rate,
    several,
    signed,
)

MOST_GROUPS = 6
# Columns by their names in the provenance, and what they are called where nobody named them.
WORDS = {"label": "the label", "prediction": "the decision"}
ANSWERS = {"true positive rate": "yes", "false positive rate": "no"}
"""Rates of decisions by what the label says."""


METRIC = ("metric", "value", "interval", "range", "value is", "interval is")


@singledispatch
def section(result: Any) -> Section:
    """Return what is shown of a result of this kind."""
    raise TypeError(type(result).__name__)


@section.register
def _(card: Scorecard) -> Section:
    places = [one.place for one in card.metrics if one.place != "none"]
    outside = places.count("outside")
    groups = [visible(group) for group in card.groups if group not in card.privileged]
    others = ", ".join(map(visible, card.privileged))
    compared = f"{', '.join(groups)} (unprivileged) with {others} (privileged)"
    level = card.metrics[0].interval.level
    return Section(
        headline=f"Metrics: {outside} of {len(places)} outside their published range",
        sentences=(
            *_rates_in_words(card),
            "Published ranges are conventions, and metrics contradict each other: choose few, for "
            "a reason.",
            f"Compares {compared}; {several(card.n, 'decision')}; intervals at {percent(level)}.",
        ),
        charts=tuple(_charts(card)),
        grids=tuple(_card_grids(card)),
        lists={
            "Notes": [visible(note) for note in card.notes],
            **_choice_lists(card.selection),
            "Intervals": _methods(card),
        },
    )


def _rates_in_words(card: Scorecard) -> Iterator[str]:
    """Say the larger gap of the two error rates in numbers that people repeat."""
    told = [one for one in card.spreads if one.name in ANSWERS and math.isfinite(one.gap)]
    found = max(told, key=lambda one: one.gap, default=None)
    if found is None:
        return
    data = card.provenance.get("data")
    # A file that was written elsewhere may hold anything there.
    named = data if isinstance(data, Mapping) else {}
    label, model = (clip(str(named.get(key) or words)) for key, words in WORDS.items())
    (low_group, low), *_, (high_group, high) = sorted(found.rates.items(), key=lambda one: one[1])
    ends, yes = found.gap_interval, said_threshold(named) or "yes"
    of = _groups_in_words(named)
    yield visible(
        f"Where {label} is {ANSWERS[found.name]}, {model} is {yes} for {100 * low:.0f} of 100 "
        f"{of} {low_group} and for {100 * high:.0f} of 100 {of} {high_group}. The gap is "
        f"{100 * found.gap:.0f} points ({percent(ends.level)} interval {100 * ends.low:.0f} to "
        f"{100 * ends.high:.0f})."
    )


def _groups_in_words(data: Mapping[str, Any]) -> str:
    """Return what comes before the name of a group: ``with sex =``, where there is a column."""
    columns = data.get("sensitive")
    if isinstance(columns, list | tuple) and len(columns) == 1 and isinstance(columns[0], str):
        return f"with {clip(columns[0])} ="
    return "in group"


@section.register
def _(distortions: Distortions) -> Section:
    rows = tuple(
        (
            f"{one.distance}\nfarthest {one.everybody.maximum:.3f}",
            *(rate(camp.average) for camp in (one.unprivileged, one.privileged)),
            f"{signed(one.difference)}\n{_ends(one.difference_interval, sign=True)}",
            number_text(one.ratio, sign=False),
        )
        for one in distortions
    )
    header = ("distance", "unprivileged", "privileged", "difference", "ratio")
    return Section(
        headline="How far rows were moved, on average",
        grids=(Grid(title="By kind of distance", header=header, rows=rows),),
    )


@section.register
def _(selection: Selection) -> Section:
    return Section(
        headline=f"{several(len(selection.chosen), 'metric')} to report",
        sentences=(f"For fairness of these kinds: {', '.join(selection.kinds)}.",),
        grids=(_choices(selection),),
        lists=_choice_lists(selection),
    )


@section.register
def _(comparison: Comparison) -> Section:
    return Section(headline=moves_in_words(comparison), grids=(_changes(comparison),))


@section.register
def _(clusters: MetricClusters) -> Section:
    low, high = clusters.stretch
    dropped = f", {count(clusters.n_dropped)} left out" if clusters.n_dropped else ""
    rows = tuple(
        (str(place), ", ".join(cluster))
        for place, cluster in enumerate(map(_visible, clusters.clusters), start=1)
    )
    return Section(
        headline=f"{several(len(clusters.clusters), 'cluster')} of {len(clusters.ids)} metrics",
        sentences=(
            f"The same for every cut between {low:.3f} and {high:.3f}.",
            f"Distance: 1 - |{clusters.correlation} correlation|, {clusters.linkage} linkage, "
            f"{several(clusters.n_resamples, 'resample')}{dropped}.",
        ),
        charts=(tree_chart(clusters),) if len(clusters.merges) else (),
        grids=(Grid(title="Metrics that move together", header=("cluster", "metrics"), rows=rows),),
        lists={"Without variation": [*_visible(clusters.constant)]},
    )


@section.register
def _(stability: ClusterStability) -> Section:
    same = sum(one.agreement == 1 for one in stability.trials) - 1
    rows = tuple(
        (visible(f"{one.choice}: {one.value}"), str(one.n_clusters), rate(one.agreement))
        for one in stability.trials
    )
    return Section(
        headline=f"{len(stability.reference.clusters)} clusters; the same under {same} of "
        f"{len(rows) - 1} other choices",
        sentences=(
            "Agreement is the adjusted Rand index with the reference: 1 for the same clusters, 0 "
            "for what chance gives.",
            "Other linkages, correlations and classifiers are cut to as many clusters.",
        ),
        grids=(
            Grid(
                title="Clusters under other choices",
                header=("choice", "clusters", "agreement"),
                rows=rows,
            ),
        ),
    )


@section.register
def _(sensitivity: Sensitivity) -> Section:
    rows = tuple(
        (visible(one.id), rate(one.median), f"{one.iqr:.4f}", "insensitive" if one.deaf else "")
        for one in sensitivity.spreads
    )
    return Section(
        headline=f"{len(sensitivity.deaf)} of {len(rows)} metrics hardly respond",
        sentences=(
            f"Their interquartile range is at most {sensitivity.threshold:.4f}: "
            f"{sensitivity.factor:g} standard deviations of the interquartile ranges.",
        ),
        grids=(Grid(title="Over resamples", header=("metric", "median", "IQR", ""), rows=rows),),
    )


def _card_grids(card: Scorecard) -> Iterator[Grid]:
    if card.selection is not None:
        yield _choices(card.selection, card)
    if card.comparison is not None:
        yield _changes(card.comparison)
    for cluster in dict.fromkeys(one.cluster for one in card.metrics):
        rows = [metric_row(one) for one in card.metrics if one.cluster == cluster]
        yield Grid(title=visible(cluster).capitalize(), header=METRIC, rows=tuple(rows))
    if card.further:
        rows = [metric_row(one) for one in card.further]
        yield Grid(title="Further metrics", header=METRIC, rows=tuple(rows))
    yield _rates(card)


def metric_row(one: MetricValue) -> tuple[str, ...]:
    """Return the row of a metric below the header :data:`METRIC`."""
    low, high = one.fair_range
    return (
        f"{one.id} {visible(one.name)}\n{visible(one.direction)}",
        number_text(one.value, sign=has_sign(one)),
        f"{_ends(one.interval, sign=has_sign(one))}{'' if one.promised else ' ?'}",
        f"{low:g} to {high:g}",
        one.place,
        one.interval_place,
    )


def _choices(selection: Selection, card: Scorecard | None = None) -> Grid:
    rows = []
    for one in selection.chosen:
        about = f"{visible(one.cluster)}: {visible(one.reason)}"
        metric = () if card is None else metric_row(card[one.id])[1:]
        rows.append((f"{one.id} {visible(one.name)}\n{about}", *metric))
    values = () if card is None else METRIC[1:]
    return Grid(
        title=f"To report, for {', '.join(selection.kinds)}",
        header=("metric, cluster and reason", *values),
        rows=tuple(rows),
    )


def _charts(card: Scorecard) -> Iterator[Chart]:
    """Yield the metrics with their ranges, then the tree of what moves together here."""
    chosen = card.selection
    if chosen is None:
        yield metrics_chart("All metrics", [one for one in card.metrics if one.place != "none"])
        return
    yield metrics_chart("The few to report", [card[one.id] for one in chosen.chosen])
    if chosen.clusters is not None and len(chosen.clusters.merges):
        yield tree_chart(chosen.clusters)


def _choice_lists(selection: Selection | None) -> dict[str, list[str]]:
    if selection is None:
        return {}
    differences = [visible(line) for line in selection.differences]
    same = "Metrics move together in resamples of this data as published."
    lists = {"Clusters, here and as published": differences or [same]}
    if selection.deaf:
        lists["Hardly respond to resampling this data"] = [ranges(selection.deaf)]
    return lists


def _methods(card: Scorecard) -> list[str]:
    """Say how the intervals were found, by method."""
    ids: dict[str, list[str]] = {}
    for one in (*card.metrics, *card.further):
        if one.place != "none":
            ids.setdefault(one.method, []).append(one.id)
    return [f"{ranges(found)}: {method}" for method, found in ids.items()]


def _changes(comparison: Comparison) -> Grid:
    before, after = map(visible, comparison.names)
    return Grid(
        title=moves_in_words(comparison),
        header=("metric", before, after, "ideal", "moved", "change of distance"),
        rows=tuple(_change_row(change) for change in comparison.changes),
    )


def _change_row(change: Change) -> tuple[str, ...]:
    sign = has_sign(change)
    return (
        f"{change.id} {visible(change.name)}",
        number_text(change.before, sign=sign),
        number_text(change.after, sign=sign),
        f"{change.ideal:g}",
        f"{change.moved}{'' if change.is_clear or change.interval is None else ' ?'}",
        "" if change.interval is None else _ends(change.interval, sign=True),
    )


def _rates(card: Scorecard) -> Grid:
    return Grid(
        title="Rates of all groups, no group privileged",
        header=("rate", "largest - smallest", "smallest / largest"),
        rows=tuple(_rate_row(one) for one in card.spreads),
    )


def _rate_row(one: RateSpread) -> tuple[str, ...]:
    doubt = "" if one.promised else " ?"
    return (
        f"{one.name}\n{_by_group(one.rates)}",
        f"{rate(one.gap)}\n{_ends(one.gap_interval, sign=False)}{doubt}",
        f"{rate(one.ratio)}\n{_ends(one.ratio_interval, sign=False)}{doubt}",
    )


def _by_group(rates: Mapping[str, float]) -> str:
    """Return the rates of all groups, or of many groups the least and the largest."""
    groups = list(rates)
    if len(groups) > MOST_GROUPS:
        known = sorted((one for one in groups if rates[one] == rates[one]), key=rates.__getitem__)
        groups = [known[0], known[-1]] if known else []
    shown = [f"{visible(group)} {rate(rates[group])}" for group in groups]
    left = len(rates) - len(groups)
    return ", ".join([*shown, *([f"{count(left)} more groups"] if left else [])])


def _ends(found: Interval, *, sign: bool) -> str:
    low, high, _ = found
    if high == math.inf and low == low:
        return f"[{number_text(low, sign=sign)}, inf)"
    return interval(low, high, sign=sign)


def _visible(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(visible(name) for name in names)
