"""Pictures of rankings: evaluators' biases as a caterpillar, scores by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.panels import RankedPanel
from comparity.rankings import BiasedRanking, Ranking
from comparity.reporting.canvas import (
    PALETTE,
    finished,
    fitted,
    label_rows,
    own_axes,
    row_height,
)
from comparity.reporting.formats import count, several, visible
from comparity.reporting.rankings import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_biases", "plot_ranking", "plot_scores"]

# Up to so many evaluators are named in a picture, and up to so many scores drawn one by one.
NAMED, STROKES = 60, 300
LEANS, OTHERS = PALETTE[5], PALETTE[0]


def plot_ranking(ranking: Ranking, ax: Axes | None = None) -> Axes:
    """Draw a ranking: its evaluators' biases where it has them, its scores otherwise."""
    if isinstance(ranking, BiasedRanking):
        return plot_biases(ranking, ax)
    return plot_scores(RankedPanel(ranking=ranking), ax=ax)


def plot_biases(
    ranking: BiasedRanking, ax: Axes | None = None, *, contrast: int | None = None
) -> Axes:
    """Draw each evaluator's bias with its interval, in order: a caterpillar.

    Parameters
    ----------
    ranking : BiasedRanking
        The fit.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    contrast : int, optional
        Which contrast; by default all of them, or the first where there are too many to name.
    """
    own, shown = ax is None, _shown_contrasts(ranking, contrast)
    many = len(ranking.evaluators) * len(shown) > NAMED
    places = [place for one in shown for place in _in_order(ranking, one, many=many)]
    names = [] if many else [_named(ranking, k, c, several=len(shown) > 1) for k, c in places]
    height = 1.6 + 0.16 * (NAMED if many else sum(name.count("\n") + 1 for name in names))
    ax = own_axes(width=7.5, height=height) if ax is None else ax
    _draw_biases(ax, ranking, np.array(places).reshape(-1, 2), many=many)
    if many:
        silent = len(ranking.evaluators) - len(places)
        left = f"; {count(silent)} who judged no such pair left out" if silent else ""
        ax.set_ylabel(f"{count(len(places))} evaluators, by bias{left}")
    else:
        ax.set_yticks(range(len(names)), names, parse_math=False, fontsize=8)
        ax.set_ylim(-0.6, len(names) - 0.4)
    title = (
        f"Biases of {several(len(ranking.evaluators), 'evaluator')} with 95% intervals, "
        f"{several(ranking.n_comparisons, 'comparison')}"
    )
    across = "bias in logits" + (f", {ranking.contrasts[shown[0]]}" if len(shown) == 1 else "")
    return finished(ax, title=title, across=across, own=own)


def _shown_contrasts(ranking: BiasedRanking, contrast: int | None) -> list[int]:
    if contrast is not None:
        return [contrast]
    fit_in = ranking.bias.size <= NAMED
    return list(range(len(ranking.contrasts))) if fit_in else [0]


def _in_order(ranking: BiasedRanking, contrast: int, *, many: bool) -> list[tuple[int, int]]:
    """Return evaluators by bias; of many, only those whose intervals are not the prior's."""
    order = np.argsort(ranking.bias[:, contrast], kind="stable")
    if many:
        order = order[ranking.n_informative[order, contrast] > 0]
    return [(k, contrast) for k in order.tolist()]


def _draw_biases(ax: Axes, ranking: BiasedRanking, at: NDArray[np.int64], *, many: bool) -> None:
    """Draw a row for each evaluator and contrast, those who lean in another colour."""
    found, (low, high) = ranking.bias[*at.T], ranking.bias_intervals()[*at.T].T
    leans, rows = ranking.q[*at.T] <= LEVEL, np.arange(len(at))
    for chosen, colour, marker, label in (
        (~leans, OTHERS, "D", "may not lean"),
        (leans, LEANS, "s", f"leans (q ≤ {LEVEL:g})"),
    ):
        ends, told = (rows[chosen], low[chosen], high[chosen]), count(int(chosen.sum()))
        ax.hlines(*ends, color=colour, lw=0.3 if many else 1, alpha=0.3 if many else 1)
        style: dict[str, Any] = {"ms": 2 if many else 4, "color": colour}
        ax.plot(found[chosen], rows[chosen], marker, label=f"{label}: {told}", **style)
    ax.axvline(0, color="#666666", lw=0.8)


def _named(ranking: BiasedRanking, evaluator: int, contrast: int, *, several: bool) -> str:
    """Return the name of an evaluator beside a picture, with the contrast where there are more."""
    name = fitted(str(ranking.evaluators[evaluator]), letters=44, lines=1)
    about = f", {fitted(str(ranking.contrasts[contrast]), letters=36, lines=1)}" if several else ""
    return f"{name} (n {count(int(ranking.n_judged[evaluator]))}){about}"


def plot_scores(
    panel: RankedPanel, attribute: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the scores of each group, with evaluators at their word and freed of their biases.

    Parameters
    ----------
    panel : RankedPanel
    attribute : str, optional
        Which attribute; the first by default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    own, groups = ax is None, _groups(panel, attribute)
    fits = [(panel.before, "at their word"), (panel.ranking, visible(panel.ranking.model))]
    shown = [
        (fit.scores[inside], PALETTE[number % len(PALETTE)], fitted(f"{group}, {label}"))
        for fit, label in fits
        if fit is not None
        for number, (group, inside) in enumerate(groups.items())
    ]
    labels = [f"{label}\nn {count(len(scores))}" for scores, _, label in shown]
    if ax is None:
        ax = own_axes(width=7.5, height=1.3 + row_height(labels, least=0.55) * len(shown))
    for row, (scores, colour, _) in enumerate(shown):
        _draw_scores(ax, scores, row, colour)
        ax.plot(scores.mean(), row, "o", color=colour, mec="black")
    label_rows(ax, labels)
    # Where scores are drawn as a hill, the first one stands on its row.
    ax.set_ylim(len(labels) - 0.5, -0.9)
    compared = "" if panel.before is None else ", evaluators taken at their word and corrected"
    title = f"Scores{' by group' if panel.groups else ''}{compared}"
    across = "score in logits" + ("; a dot is the mean of the group" if panel.groups else "")
    return finished(ax, title=title, across=across, own=own)


def _draw_scores(ax: Axes, scores: NDArray[np.float64], row: int, colour: str) -> None:
    """Draw a stroke for each score, or of many scores how they are spread."""
    if len(scores) <= STROKES:
        ax.plot(scores, np.full(len(scores), row), "|", ms=12, alpha=0.5, color=colour)
        return
    heights, edges = np.histogram(scores, bins=60)
    top = row - 0.8 * heights / heights.max()
    ax.fill_between((edges[1:] + edges[:-1]) / 2, row, top, step="mid", alpha=0.7, color=colour)


def _groups(panel: RankedPanel, attribute: str | None) -> dict[str, Any]:
    if not panel.groups:
        return {"all items": np.ones(len(panel.ranking.items), dtype=bool)}
    column = panel.groups[attribute or next(iter(panel.groups))]
    names = np.array([str(name) for name in column.tolist()])
    return {group: names == group for group in sorted(set(names.tolist()))}
