"""Charts of metrics: cards, clusters, choices, changes, and how they respond to data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

from comparity.metrics.catalogue import EVERY_METRIC
from comparity.metrics.comparison import Sensitivity
from comparity.metrics.distortion import Distortions
from comparity.metrics.metric_clusters import ClusterStability
from comparity.metrics.result import (
    Change,
    Comparison,
    MetricClusters,
    MetricsAnswer,
    MetricValue,
    Scorecard,
    Selection,
)
from comparity.reports.charts import (
    Axis,
    Chart,
    Mark,
    Row,
    RowChart,
    Tick,
    TreeChart,
    axis_between,
    round_numbers,
)
from comparity.reports.plots import draw, finish_axes, own_axes
from comparity.reports.sections import count, rate, several, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FARTHEST = 5.0
"""Pictures end so many half-widths of the published range, or units, from the ideal value."""

PLACES = {"inside": "inside", "outside": "found", "across": "open", "none": "plain"}
"""How marks show where an interval lies."""

MOVES = {"towards": "inside", "away": "found", "unchanged": "open"}
"""How marks show where a metric moved."""


def plot_answer(answer: MetricsAnswer, ax: Axes | None = None) -> Axes:
    """Draw an answer about metrics.

    Without clusters, where there were too few resamples for them, of a choice only the names of
    the metrics are drawn.
    """
    if isinstance(answer, Selection) and not (answer.clusters and len(answer.clusters.merges)):
        return _plot_names(answer, ax)
    return draw(chart_of(answer), ax)


@singledispatch
def chart_of(answer: MetricsAnswer) -> Chart:
    """Describe the picture of an answer about metrics."""
    raise TypeError(type(answer).__name__)


@chart_of.register
def tree_chart(clusters: MetricClusters) -> TreeChart:
    """Describe the tree of merges, leaves on the left and the last merge on the right."""
    from scipy.cluster.hierarchy import leaves_list

    merges, ids = clusters.merges.tolist(), clusters.ids
    order = leaves_list(clusters.merges).tolist() if merges else [*range(len(ids))]
    heights = [clusters.stretch[1], *(merge[2] for merge in merges)]
    axis = axis_between(f"1 - |{clusters.correlation} correlation|", heights, from_zero=True)
    at = {leaf: (0.0, float(row)) for row, leaf in enumerate(order)}
    branches = []
    for number, (first, second, height, _) in enumerate(merges, start=len(ids)):
        (near, upper), (far, lower) = at[int(first)], at[int(second)]
        branches.append(((near, upper), (height, upper), (height, lower), (far, lower)))
        at[number] = (height, (upper + lower) / 2)
    found = several(len(clusters.clusters), "cluster")
    return TreeChart(
        title="Which metrics move together in resamples of this data",
        about="; ".join(" ".join(cluster) for cluster in clusters.clusters),
        heading=f"{found} of {len(ids)} metrics that move together, "
        f"{several(clusters.n_resamples, 'resample')}",
        axis=axis,
        leaves=tuple(ids[leaf] for leaf in order),
        branches=tuple(branches),
        band=clusters.stretch,
        band_is=f"where a cut gives the same {found}",
        cut=clusters.threshold,
    )


def moves_in_words(comparison: Comparison) -> str:
    """Say how many metrics moved where."""
    counts = comparison.counts
    unknown = f", {counts['unknown']} unknown" if counts["unknown"] else ""
    towards = counts["towards"]
    move = "metric moves towards its" if towards == 1 else "metrics move towards their"
    stay = "stays" if counts["unchanged"] == 1 else "stay"
    return (
        f"{towards} {move} ideal value, {counts['away']} away, "
        f"{counts['unchanged']} {stay}{unknown}"
    )


@chart_of.register
def _(card: Scorecard) -> RowChart:
    """Describe every metric of a card, for a picture that stands alone."""
    shown = [one for one in card.metrics if one.value == one.value]
    unprivileged = ", ".join(sorted(set(card.groups) - set(card.privileged)))
    chart = metrics_chart("All metrics", shown)
    far = any(FARTHEST in map(abs, _distances(one)) for one in shown)
    end = f"; what is further out than {FARTHEST:g} is drawn there" if far else ""
    return replace(
        chart,
        heading=f"Metrics and their published ranges, {several(card.n, 'decision')}: "
        f"{unprivileged} against {', '.join(card.privileged)}",
        under=f"{chart.axis.label}{end}",
    )


def metrics_chart(title: str, shown: Sequence[MetricValue]) -> RowChart:
    """Describe metrics around their ideal values, on the scale of their published ranges.

    One unit is the half-width of the published range, so that the band from -1 to 1 is the range of
    every metric; what is further out than 5 is drawn at 5.
    """
    ticks = [Tick(at, f"{at:+g}" if at else "ideal") for at in round_numbers(-FARTHEST, FARTHEST)]
    return RowChart(
        title=f"{title}; what is further out than {FARTHEST:g} is drawn there",
        about="; ".join(f"{one.id} {one.name}: {one.value:.3f}" for one in shown),
        axis=Axis(
            label="distance from the ideal value, in half-widths of the published range",
            low=-FARTHEST,
            high=FARTHEST,
            ticks=tuple(ticks),
        ),
        rows=tuple(
            Row(
                label=f"{one.id} {one.name}",
                note=f"{number_text(one.value, sign=has_sign(one))}, ideal {one.ideal:g}",
                marks=(Mark(kind=PLACES[one.interval_place], low=low, x=x, high=high),),
            )
            for one, (low, x, high) in zip(shown, map(_distances, shown), strict=True)
        ),
        band=(-1.0, 1.0),
        band_is="the published range",
        line=0.0,
        legend={"inside": "inside the range", "open": "across an end of it", "found": "outside"},
    )


def _distances(one: MetricValue) -> tuple[float, float, float]:
    """Return interval and value as distances from the ideal, in half-widths of the range."""
    half = (one.fair_range[1] - one.fair_range[0]) / 2
    ends = (one.interval.low, one.value, one.interval.high)
    low, x, high = (min(max((end - one.ideal) / half, -FARTHEST), FARTHEST) for end in ends)
    return low, x, high


def has_sign(one: MetricValue | Change) -> bool:
    """Return whether a metric takes both signs, so that the plus is worth printing."""
    return EVERY_METRIC[one.id].has_sign


def number_text(value: float, *, sign: bool) -> str:
    """Return the value of a metric, which may be infinite."""
    if value == math.inf:
        return "inf"
    return signed(value) if sign else rate(value)


@chart_of.register
def _(selection: Selection) -> TreeChart:
    """Describe which metrics move together in this data, and which few are to be reported."""
    assert selection.clusters is not None, selection.kinds
    tree = tree_chart(selection.clusters)
    resamples = several(selection.clusters.n_resamples, "resample")
    said = "bold is to be reported, italics hardly respond to data"
    return replace(
        tree,
        heading=_to_report(selection),
        under=f"{tree.axis.label}; {said}; {resamples}",
        chosen=tuple(one.id for one in selection.chosen),
        faint=selection.deaf,
    )


def _to_report(selection: Selection) -> str:
    ids = ", ".join(one.id for one in selection.chosen)
    return f"To report, for {', '.join(selection.kinds)}: {ids}"


def _plot_names(selection: Selection, ax: Axes | None) -> Axes:
    """Write the names of the metrics to report, where there is no tree to show them in."""
    own = ax is None
    ax = own_axes(width=8.0, height=4.6) if ax is None else ax
    ax.set_axis_off()
    names = "\n".join(f"{one.id} {one.name}" for one in selection.chosen)
    ax.text(0.0, 0.95, names, va="top", transform=ax.transAxes, parse_math=False)
    return finish_axes(ax, title=_to_report(selection), across="", own=own)


@chart_of.register
def _(comparison: Comparison) -> RowChart:
    """Describe how far each metric is from its ideal value, before and after."""
    shown = [one for one in comparison.changes if one.moved != "unknown"]
    first, second = comparison.names
    rows = []
    for one in shown:
        before, after = (min(abs(value - one.ideal), FARTHEST) for value in (one.before, one.after))
        mark = Mark(kind=MOVES[one.moved], x=after, low=before, high=after)
        rows.append(Row(label=f"{one.id} {one.name}", marks=(mark,)))
    ends = [end for row in rows for mark in row.marks for end in (mark.low, mark.high)]
    return RowChart(
        title=moves_in_words(comparison),
        axis=axis_between(
            f"distance from the ideal value, from {first} to {second} (mark); "
            f"what is further than {FARTHEST:g} is drawn there",
            ends,
            from_zero=True,
        ),
        rows=tuple(rows),
        legend={kind: moved for moved, kind in MOVES.items()},
    )


@chart_of.register
def _(sensitivity: Sensitivity) -> RowChart:
    """Describe the interquartile range of each metric over resamples, and what is too small."""
    spreads = sensitivity.spreads
    return _stem_chart(
        f"{len(sensitivity.deaf)} of {len(spreads)} metrics hardly respond to data, "
        f"{several(sensitivity.n_resamples, 'resample')}",
        "interquartile range over resamples, in the unit of the metric",
        [(one.id, one.iqr, "found" if one.deaf else "second") for one in spreads],
        legend={"found": "hardly responds", "second": "responds"},
        band=(0.0, sensitivity.threshold),
    )


@chart_of.register
def _(stability: ClusterStability) -> RowChart:
    """Describe how far clusters found otherwise agree with those of the reference."""
    reference = stability.reference
    return _stem_chart(
        f"Clusters of {len(reference.ids)} metrics under other choices, "
        f"{several(reference.n_resamples, 'resample')}",
        "adjusted Rand index with the reference; 0 is what chance gives (number of clusters)",
        [
            (
                f"{one.choice}: {one.value} ({one.n_clusters})",
                one.agreement,
                "inside" if one.agreement == 1 else "open",
            )
            for one in stability.trials
        ],
        legend={"inside": "the same clusters", "open": "others"},
    )


def _stem_chart(
    title: str,
    across: str,
    stems: Iterable[tuple[str, float, str]],
    *,
    legend: dict[str, str],
    band: tuple[float, float] | None = None,
) -> RowChart:
    """Describe values from zero on, one in each row, by name and kind."""
    rows = tuple(
        Row(label=label, marks=(Mark(kind=kind, x=value, low=0.0, high=value),))
        for label, value, kind in stems
    )
    values = [mark.x for row in rows for mark in row.marks]
    return RowChart(
        title=title,
        axis=axis_between(across, [*values, *(band or ())], from_zero=True),
        rows=rows,
        band=band,
        band_is="too small",
        line=0.0,
        legend=legend,
    )


@chart_of.register
def _(distortions: Distortions) -> RowChart:
    """Describe how far rows of both camps were moved on average, by every kind of distance."""
    rows = []
    for one in distortions.distances:
        camps = (("first", one.unprivileged, -0.12), ("second", one.privileged, 0.12))
        marks = tuple(
            Mark(
                kind=kind,
                x=camp.average,
                low=camp.average - 1.96 * camp.standard_error,
                high=camp.average + 1.96 * camp.standard_error,
                below=below,
            )
            for kind, camp, below in camps
        )
        note = f"n {count(one.unprivileged.n)} vs {count(one.privileged.n)}"
        rows.append(Row(label=one.distance, note=note, marks=marks))
    ends = [end for row in rows for mark in row.marks for end in (mark.low, mark.high)]
    across = "average distance between the features of a row before and after, with 95% intervals"
    return RowChart(
        title="How far rows were moved",
        axis=axis_between(across, ends),
        rows=tuple(rows),
        legend={"first": "unprivileged", "second": "privileged"},
    )
