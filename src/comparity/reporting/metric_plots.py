"""Pictures of scorecards, clusters of metrics and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from comparity.reporting.metrics import FARTHEST, moves_in_words, scaled
from comparity.resamples import Comparison, MetricClusters
from comparity.scorecards import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_changes", "plot_dendrogram", "plot_scorecard"]

INSIDE, OUTSIDE, ACROSS = "#009E73", "#D55E00", "#56B4E9"
COLOURS = {"inside": INSIDE, "outside": OUTSIDE, "across": ACROSS, "none": "#999999"}
MOVES = {"towards": INSIDE, "away": OUTSIDE, "unchanged": "#999999", "unknown": "#999999"}


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
        low, middle, high = scaled(one)
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
        distances = [min(abs(value - one.ideal), FARTHEST) for value in (one.before, one.after)]
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
    ax.set_title(moves_in_words(comparison), loc="left", fontsize=9)
    return ax


def _axes(ax: Axes | None, *, height: float) -> Axes:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(9.0, height), layout="constrained").subplots()
