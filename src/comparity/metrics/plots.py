"""Pictures of metrics: cards, clusters, choices, changes, and how they respond to data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from comparity.metrics.clusters import ClusterStability
from comparity.metrics.comparison import Sensitivity
from comparity.metrics.distortion import Distortions
from comparity.metrics.result import (
    Comparison,
    MetricClusters,
    MetricsAnswer,
    MetricValue,
    Scorecard,
    Selection,
)
from comparity.reports.charts import AXIS, LABELS, WIDTH, Chart, Tick, round_numbers
from comparity.reports.formats import count, several
from comparity.reports.plots import (
    PALETTE,
    finished,
    fitted,
    label_rows,
    lettered,
    own_axes,
    row_height,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "FARTHEST",
    "draw",
    "moves_in_words",
    "scaled",
    "tree_chart",
]


LEAF = 24.0


def tree_chart(clusters: MetricClusters) -> Chart:
    """Place the tree of merges, leaves on the left and the last merge on the right."""
    merges, ids = clusters.merges.tolist(), clusters.ids
    order = _leaves(merges, len(ids))
    most = max([clusters.stretch[1], *(merge[2] for merge in merges)]) * 1.02 or 1.0
    left, right = LABELS + 10.0, WIDTH - 20.0

    def place(height: float) -> float:
        return round(left + height / most * (right - left), 1)

    at = {leaf: (0.0, LEAF * (row + 0.5)) for row, leaf in enumerate(order)}
    branches = []
    for number, (first, second, height, _) in enumerate(merges, start=len(ids)):
        (near, upper), (far, lower) = at[int(first)], at[int(second)]
        line = ((near, upper), (height, upper), (height, lower), (far, lower))
        branches.append(tuple((place(x), y) for x, y in line))
        at[number] = (height, (upper + lower) / 2)
    low, high = map(place, clusters.stretch)
    return Chart(
        title="Which metrics move together in resamples of this data",
        about="; ".join(" ".join(cluster) for cluster in clusters.clusters),
        height=LEAF * len(ids) + AXIS,
        left=left,
        right=right,
        ticks=tuple(Tick(place(one), f"{one:g}") for one in round_numbers(most) if one >= 0),
        levels=tuple(Tick(LEAF * (row + 0.5), ids[leaf]) for row, leaf in enumerate(order)),
        axis=f"1 - |{clusters.correlation} correlation|",
        band=(low, high, low),
        band_is=f"where a cut gives the same {count(len(clusters.clusters))} clusters",
        branches=tuple(branches),
    )


def _leaves(merges: Sequence[Sequence[float]], n: int) -> list[int]:
    """Return the leaves so that no two branches cross."""
    members = {leaf: [leaf] for leaf in range(n)}
    for number, (first, second, *_) in enumerate(merges, start=n):
        members[number] = members[int(first)] + members[int(second)]
    return members[n + len(merges) - 1]


FARTHEST = 5.0
"""Pictures end so many half-widths of the published range, or units, from the ideal value."""


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


def scaled(one: MetricValue) -> tuple[float, float, float]:
    """Return interval and value as distances from the ideal, in half-widths of the range."""
    half = (one.fair_range[1] - one.fair_range[0]) / 2
    ends = (one.interval.low, one.value, one.interval.high)
    low, middle, high = (min(max((end - one.ideal) / half, -FARTHEST), FARTHEST) for end in ends)
    return low, middle, high


INSIDE, OUTSIDE, ACROSS, GREY = "#009E73", "#D55E00", "#56B4E9", "#777777"


PLACES = {
    "inside": (INSIDE, "o", "interval inside the range"),
    "across": (ACROSS, "D", "across an end of it"),
    "outside": (OUTSIDE, "X", "outside"),
    "none": (GREY, ".", "no interval"),
}


MOVES = {"towards": INSIDE, "away": OUTSIDE, "unchanged": GREY}


@singledispatch
def draw(answer: MetricsAnswer, ax: Axes | None = None) -> Axes:
    """Draw an answer about metrics."""
    raise TypeError(type(answer).__name__)


@draw.register(Scorecard)
def plot_scorecard(card: Scorecard, ax: Axes | None = None) -> Axes:
    """Draw every metric's interval around its ideal value, on the scale of its published range.

    One unit is the half-width of the published range, so that the band from -1 to 1 is the range of
    every metric; what is further out than 5 is drawn at 5.
    """
    shown, own = [one for one in card.metrics if one.value == one.value], ax is None
    ax = own_axes(width=9.0, height=1.8 + 0.26 * len(shown)) if ax is None else ax
    ax.axvspan(-1, 1, color="#999999", alpha=0.18, lw=0, label="the published range")
    ax.axvline(0, color="#666666", lw=0.8)
    for row, one in enumerate(shown):
        low, middle, high = scaled(one)
        colour, marker, label = PLACES[one.interval_place]
        ax.plot([low, high], [row, row], color=colour, lw=2.2)
        ax.plot(middle, row, marker, color=colour, ms=6, ls="", label=label)
    label_rows(ax, [f"{one.id} {one.name}" for one in shown], fontsize=8)
    title = (
        f"Metrics and their published ranges, {several(card.n, 'decision')}: "
        f"{', '.join(sorted(set(card.groups) - set(card.privileged)))} against "
        f"{', '.join(card.privileged)}"
    )
    across = "distance from the ideal value, in half-widths of the published range"
    if any(FARTHEST in map(abs, scaled(one)) for one in shown):
        across += f"; what is further out than {FARTHEST:g} is drawn there"
    return finished(ax, title=title, across=across, own=own)


@draw.register(MetricClusters)
def plot_dendrogram(clusters: MetricClusters, ax: Axes | None = None) -> Axes:
    """Draw the tree of merges, with the cut."""
    own = ax is None
    ax = own_axes(width=9.0, height=4.5) if ax is None else ax
    _draw_tree(ax, clusters)
    title = (
        f"{several(len(clusters.clusters), 'cluster')} of {len(clusters.ids)} metrics that move "
        f"together, {several(clusters.n_resamples, 'resample')}"
    )
    return finished(ax, title=title, across="metric", own=own)


@draw.register(Selection)
def plot_choices(selection: Selection, ax: Axes | None = None) -> Axes:
    """Draw which metrics move together in this data, and which few of them are to be reported.

    Without clusters, where there were too few resamples for them, only the names are drawn.
    """
    own, chosen = ax is None, [one.id for one in selection.chosen]
    ax = own_axes(width=9.0, height=4.8) if ax is None else ax
    title = f"To report, for {', '.join(selection.kinds)}: {', '.join(chosen)}"
    if selection.clusters is None or not len(selection.clusters.merges):
        ax.set_axis_off()
        names = "\n".join(f"{one.id} {one.name}" for one in selection.chosen)
        ax.text(0.0, 0.95, names, va="top", transform=ax.transAxes, parse_math=False)
        lettered(ax, title=title, across="", own=own)
        return ax
    _draw_tree(ax, selection.clusters)
    for name in ax.get_xticklabels():
        if name.get_text() in chosen:
            name.set(color=OUTSIDE, fontweight="bold", fontsize=11)
        elif name.get_text() in selection.deaf:
            name.set(color=GREY, fontstyle="italic")
    resamples = several(selection.clusters.n_resamples, "resample")
    across = f"metric; bold is to be reported, italics hardly respond to data; {resamples}"
    return finished(ax, title=title, across=across, own=own)


@draw.register(Comparison)
def plot_changes(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw how far each metric is from its ideal value, before and after."""
    shown, own = [one for one in comparison.changes if one.moved != "unknown"], ax is None
    ax = own_axes(width=9.0, height=1.8 + 0.26 * len(shown)) if ax is None else ax
    for row, one in enumerate(shown):
        before, after = (min(abs(value - one.ideal), FARTHEST) for value in (one.before, one.after))
        colour, marker = MOVES[one.moved], ">" if after > before else "<"
        ax.plot([before, after], [row, row], color=colour, lw=1.5)
        ax.plot(after, row, marker, ms=7, ls="", color=colour, label=one.moved)
    label_rows(ax, [f"{one.id} {one.name}" for one in shown], fontsize=8)
    first, second = comparison.names
    across = (
        f"distance from the ideal value, from {first} to {second} (arrow); "
        f"what is further than {FARTHEST:g} is drawn there"
    )
    return finished(ax, title=moves_in_words(comparison), across=across, own=own)


@draw.register(Sensitivity)
def plot_sensitivity(sensitivity: Sensitivity, ax: Axes | None = None) -> Axes:
    """Draw the interquartile range of each metric over resamples, and what is too small."""
    own = ax is None
    ax = own_axes(width=8.0, height=1.8 + 0.24 * len(sensitivity.spreads)) if ax is None else ax
    ax.axvspan(0, sensitivity.threshold, color="#999999", alpha=0.18, lw=0, label="too small")
    deaf, others = (OUTSIDE, "X", "hardly responds"), (PALETTE[0], "o", "responds")
    _draw_stems(ax, [(one.iqr, deaf if one.deaf else others) for one in sensitivity.spreads])
    label_rows(ax, [fitted(one.id) for one in sensitivity.spreads], fontsize=8)
    title = (
        f"{len(sensitivity.deaf)} of {len(sensitivity.spreads)} metrics hardly respond to data, "
        f"{several(sensitivity.n_resamples, 'resample')}"
    )
    across = "interquartile range over resamples, in the unit of the metric"
    return finished(ax, title=title, across=across, own=own)


@draw.register(ClusterStability)
def plot_stability(stability: ClusterStability, ax: Axes | None = None) -> Axes:
    """Draw how far clusters found otherwise agree with those of the reference."""
    own, reference = ax is None, stability.reference
    labels = [f"{one.choice}: {one.value} ({one.n_clusters})" for one in stability.trials]
    ax = own_axes(width=8.0, height=1.8 + 0.3 * len(labels)) if ax is None else ax
    same, others = (INSIDE, "o", "the same clusters"), (ACROSS, "D", "others")
    found = [one.agreement for one in stability.trials]
    _draw_stems(ax, [(value, same if value == 1 else others) for value in found])
    ax.axvline(0, color="#666666", lw=0.8)
    label_rows(ax, [fitted(label) for label in labels])
    title = (
        f"Clusters of {len(reference.ids)} metrics under other choices, "
        f"{several(reference.n_resamples, 'resample')}"
    )
    across = "adjusted Rand index with the reference; 0 is what chance gives (number of clusters)"
    return finished(ax, title=title, across=across, own=own)


@draw.register(Distortions)
def plot_distortions(distortions: Distortions, ax: Axes | None = None) -> Axes:
    """Draw how far rows of both camps were moved on average, by every kind of distance."""
    own, found = ax is None, distortions.distances
    labels = [
        f"{one.distance}\nn {count(one.unprivileged.n)} vs {count(one.privileged.n)}"
        for one in found
    ]
    ax = own_axes(width=7.5, height=1.6 + row_height(labels, least=0.6) * len(found)) if own else ax
    assert ax is not None
    camps: Mapping[str, Any] = {
        name: [getattr(one, name) for one in found] for name in ("unprivileged", "privileged")
    }
    for (name, moved), shift, colour, marker in zip(
        camps.items(), (-0.12, 0.12), (OUTSIDE, PALETTE[0]), "Xo", strict=True
    ):
        ax.errorbar(
            [one.average for one in moved],
            [row + shift for row in range(len(moved))],
            xerr=[1.96 * one.standard_error for one in moved],
            fmt=marker,
            color=colour,
            label=name,
        )
    label_rows(ax, labels)
    across = "average distance between the features of a row before and after, with 95% intervals"
    return finished(ax, title="How far rows were moved", across=across, own=own)


def _draw_stems(ax: Axes, stems: Sequence[tuple[float, tuple[str, str, str]]]) -> None:
    """Draw values from zero on, one in each row, by colour, marker and what these mean."""
    for row, (value, (colour, marker, label)) in enumerate(stems):
        ax.plot([0, value], [row, row], color=colour, lw=1.5)
        ax.plot(value, row, marker, color=colour, ls="", label=label)


def _draw_tree(ax: Axes, clusters: MetricClusters) -> None:
    from scipy.cluster.hierarchy import dendrogram

    dendrogram(
        clusters.merges,
        labels=list(clusters.ids),
        link_color_func=lambda _: PALETTE[0],
        ax=ax,
        leaf_rotation=90,
    )
    found = several(len(clusters.clusters), "cluster")
    ax.axhspan(
        *clusters.stretch,
        color="#999999",
        alpha=0.18,
        lw=0,
        label=f"where a cut gives the same {found}",
    )
    ax.axhline(clusters.threshold, color="#666666", ls="--", lw=1, label="the cut")
    ax.set_ylabel(f"1 - |{clusters.correlation} correlation|")
