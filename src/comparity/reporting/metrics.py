"""Scorecards, clusters of metrics, choices and changes, for every medium."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from comparity.reporting.formats import count, interval, percent, rate, signed, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section
from comparity.resamples import Change, Comparison, MetricClusters, Selection, Sensitivity
from comparity.results import Interval
from comparity.scorecards import MetricValue, RateSpread, Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_changes", "plot_dendrogram", "plot_scorecard", "section"]

INSIDE, OUTSIDE, ACROSS = "#009E73", "#D55E00", "#56B4E9"
COLOURS = {"inside": INSIDE, "outside": OUTSIDE, "across": ACROSS, "none": "#999999"}
MOVES = {"towards": INSIDE, "away": OUTSIDE, "unchanged": "#999999", "unknown": "#999999"}
MOST_GROUPS = 6


@singledispatch
def section(result: Any) -> Section:
    """Return what is shown of a result of this kind."""
    raise TypeError(type(result).__name__)


@section.register
def _(card: Scorecard) -> Section:
    places = [one.place for one in card.metrics if one.place != "none"]
    outside = places.count("outside")
    groups = [visible(group) for group in card.groups if group not in card.privileged]
    compared = f"{', '.join(groups)} (unprivileged) with {', '.join(map(visible, card.privileged))}"
    level = card.metrics[0].interval.level
    return Section(
        headline=f"Metrics: {outside} of {len(places)} outside their published range",
        sentences=(
            "Published ranges are conventions, and metrics contradict each other: choose few, for "
            "a reason.",
            f"compares {compared}; {count(card.n)} decisions; intervals at {percent(level)}",
        ),
        grids=tuple(_card_grids(card)),
        lists={"Notes": [visible(note) for note in card.notes], **_choice_lists(card.selection)},
    )


@section.register
def _(selection: Selection) -> Section:
    return Section(
        headline=f"{len(selection.chosen)} metrics to report",
        sentences=(f"for fairness of these kinds: {', '.join(selection.kinds)}",),
        grids=(_choices(selection),),
        lists=_choice_lists(selection),
    )


@section.register
def _(comparison: Comparison) -> Section:
    return Section(headline=_moves(comparison), grids=(_changes(comparison),))


@section.register
def _(clusters: MetricClusters) -> Section:
    low, high = clusters.stretch
    dropped = f", {count(clusters.n_dropped)} left out" if clusters.n_dropped else ""
    rows = tuple(
        (str(place), ", ".join(cluster))
        for place, cluster in enumerate(map(_visible, clusters.clusters), start=1)
    )
    return Section(
        headline=f"{len(clusters.clusters)} clusters of {len(clusters.ids)} metrics",
        sentences=(
            f"the same for every cut between {low:.3f} and {high:.3f}",
            f"1 - |{clusters.correlation} correlation|, {clusters.linkage} linkage, "
            f"{count(clusters.n_resamples)} resamples{dropped}",
        ),
        grids=(Grid(title="Metrics that move together", header=("cluster", "metrics"), rows=rows),),
        lists={"Without variation": [*_visible(clusters.constant)]},
    )


@section.register
def _(sensitivity: Sensitivity) -> Section:
    rows = tuple(
        (visible(one.id), rate(one.median), f"{one.iqr:.4f}", "deaf" if one.deaf else "")
        for one in sensitivity.spreads
    )
    return Section(
        headline=f"{len(sensitivity.deaf)} of {len(rows)} metrics hardly respond",
        sentences=(
            f"their interquartile range is at most {sensitivity.threshold:.4f}: "
            f"{sensitivity.factor:g} standard deviations of the interquartile ranges",
        ),
        grids=(Grid(title="Over resamples", header=("metric", "median", "IQR", ""), rows=rows),),
    )


def _card_grids(card: Scorecard) -> Iterator[Grid]:
    if card.selection is not None:
        yield _choices(card.selection, card)
    if card.comparison is not None:
        yield _changes(card.comparison)
    for cluster in dict.fromkeys(one.cluster for one in card.metrics):
        rows = [_metric_row(one) for one in card.metrics if one.cluster == cluster]
        header = ("metric", "value", "interval", "range", "value is", "interval is")
        yield Grid(title=visible(cluster).capitalize(), header=header, rows=tuple(rows))
    yield _rates(card)


def _metric_row(one: MetricValue) -> tuple[str, ...]:
    low, high = one.fair_range
    return (
        f"{one.id} {visible(one.name)}\n{visible(one.direction)}",
        _number(one.value),
        f"{_ends(one.interval)}{'' if one.promised else ' ?'}",
        f"{low:g} to {high:g}",
        one.place,
        one.interval_place,
    )


def _choices(selection: Selection, card: Scorecard | None = None) -> Grid:
    rows = []
    for one in selection.chosen:
        metric = None if card is None else card[one.id]
        shown = "" if metric is None else f"{_number(metric.value)}\n{_ends(metric.interval)}"
        name = f"{one.id} {visible(one.name)}\n{visible(one.cluster)}"
        rows.append((name, shown, "" if metric is None else metric.place, visible(one.reason)))
    return Grid(
        title=f"To report, for {', '.join(selection.kinds)}",
        header=("metric", "value", "is", "why"),
        rows=tuple(rows),
    )


def _choice_lists(selection: Selection | None) -> dict[str, list[str]]:
    if selection is None:
        return {}
    differences = [visible(line) for line in selection.differences]
    same = "Metrics move together in resamples of this data as published."
    lists = {"Clusters, here and as published": differences or [same]}
    if selection.deaf:
        lists["Hardly respond to resampling this data"] = [", ".join(selection.deaf)]
    return lists


def _changes(comparison: Comparison) -> Grid:
    before, after = map(visible, comparison.names)
    return Grid(
        title=_moves(comparison),
        header=("metric", before, after, "ideal", "moved", "change of distance"),
        rows=tuple(_change_row(change) for change in comparison.changes),
    )


def _change_row(change: Change) -> tuple[str, ...]:
    shift = "" if change.interval is None else _ends(change.interval)
    return (
        f"{change.id} {visible(change.name)}",
        _number(change.before),
        _number(change.after),
        f"{change.ideal:g}",
        f"{change.moved}{'' if change.is_clear or change.interval is None else ' ?'}",
        shift,
    )


def _moves(comparison: Comparison) -> str:
    counts = comparison.counts
    unknown = f", {counts['unknown']} unknown" if counts["unknown"] else ""
    return (
        f"{counts['towards']} metrics move towards their ideal value, {counts['away']} away, "
        f"{counts['unchanged']} stay{unknown}"
    )


def _rates(card: Scorecard) -> Grid:
    groups = card.groups if len(card.groups) <= MOST_GROUPS else ()
    return Grid(
        title="Rates of all groups, no group privileged",
        header=("rate", *map(visible, groups), "largest - smallest", "smallest / largest"),
        rows=tuple(_rate_row(one, groups) for one in card.spreads),
    )


def _rate_row(one: RateSpread, groups: tuple[str, ...]) -> tuple[str, ...]:
    doubt = "" if one.promised else " ?"
    return (
        one.name,
        *(rate(one.rates[group]) for group in groups),
        f"{rate(one.gap)}\n{_ends(one.gap_interval)}{doubt}",
        f"{rate(one.ratio)}\n{_ends(one.ratio_interval)}{doubt}",
    )


def _number(value: float) -> str:
    return "inf" if value == math.inf else signed(value)


def _ends(found: Interval) -> str:
    low, high, _ = found
    if high == math.inf and low == low:
        return f"[{signed(low)}, inf)"
    return interval(low, high)


def _visible(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(visible(name) for name in names)


def plot_scorecard(card: Scorecard, ax: Axes | None = None) -> Axes:
    """Draw every metric's interval around its ideal value, on the scale of its published range.

    One unit is the half-width of the published range, so that the band from -1 to 1 is the range of
    every metric; what is further out than 5 is drawn at 5.
    """
    shown = [one for one in card.metrics if one.value == one.value]
    ax = _axes(ax, height=1.5 + 0.26 * len(shown))
    ax.axvspan(-1, 1, color="#999999", alpha=0.18, lw=0)
    ax.axvline(0, color="#666666", lw=0.8)
    for row, one in enumerate(shown):
        half = (one.fair_range[1] - one.fair_range[0]) / 2
        ends = (one.interval.low, one.value, one.interval.high)
        low, middle, high = ((min(max((end - one.ideal) / half, -5), 5)) for end in ends)
        colour = COLOURS[one.interval_place]
        ax.plot([low, high], [row, row], color=colour, lw=2.2)
        ax.plot(middle, row, "o" if one.place == "inside" else "X", color=colour, ms=6)
    ax.set_yticks(range(len(shown)), [f"{one.id} {one.name}" for one in shown], fontsize=8)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("distance from the ideal value, in half-widths of the published range")
    ax.set_title("Metrics and their published ranges", loc="left")
    return ax


def plot_dendrogram(clusters: MetricClusters, ax: Axes | None = None) -> Axes:
    """Draw the tree of merges, with the cut."""
    from scipy.cluster.hierarchy import dendrogram

    ax = _axes(ax, height=4.5)
    dendrogram(
        clusters.merges,
        labels=list(clusters.ids),
        color_threshold=clusters.threshold,
        ax=ax,
        leaf_rotation=90,
    )
    ax.axhline(clusters.threshold, color="#666666", ls="--", lw=1)
    ax.axhspan(*clusters.stretch, color="#999999", alpha=0.18, lw=0)
    ax.set_ylabel(f"1 - |{clusters.correlation} correlation|")
    ax.set_title(f"{len(clusters.clusters)} clusters", loc="left")
    return ax


def plot_changes(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw how far each metric is from its ideal value, before and after."""
    shown = [one for one in comparison.changes if one.moved != "unknown"]
    ax = _axes(ax, height=1.5 + 0.26 * len(shown))
    for row, one in enumerate(shown):
        distances = [min(abs(value - one.ideal), 5.0) for value in (one.before, one.after)]
        ax.plot(distances, [row, row], color=MOVES[one.moved], lw=1.5)
        ax.plot(
            distances[1],
            row,
            ">" if distances[1] > distances[0] else "<",
            ms=7,
            color=MOVES[one.moved],
        )
    ax.set_yticks(range(len(shown)), [f"{one.id} {one.name}" for one in shown], fontsize=8)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("distance from the ideal value (at most 5)")
    ax.set_title(_moves(comparison), loc="left", fontsize=9)
    return ax


def _axes(ax: Axes | None, *, height: float) -> Axes:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(9.0, height), layout="constrained").subplots()
