"""Pictures of rankings: evaluators' biases as a caterpillar, scores by group, ranges of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.ranking.rank import RankedPanel
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.reports.charts import (
    DRAWN_ROWS,
    LABELS,
    LEFT,
    RIGHT,
    ROW,
    WIDTH,
    Chart,
    Mark,
    Tick,
    _or_nan,
    round_numbers,
    shortened,
)
from comparity.reports.formats import clipped, count, several, signed
from comparity.reports.gap_charts import DRAWN
from comparity.reports.plots import PALETTE, finished, fitted, label_rows, own_axes, row_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "LEVEL",
    "bias_chart",
    "plot_biases",
    "plot_ranking",
    "plot_scores",
    "rank_chart",
]


def bias_chart(biases: Sequence[Mapping[str, Any]], *, level: float) -> Chart:
    """Place the biases of evaluators with their intervals, in order: a caterpillar.

    Parameters
    ----------
    biases : sequence of mapping
        Rows of one contrast as they are in JSON, who leans most surely first; of many evaluators
        the first are drawn.
    level : float
        False-discovery rate up to which an evaluator is said to lean.
    """
    shown = sorted(biases[:DRAWN], key=lambda row: _or_nan(row["bias"]))
    ends = [abs(_or_nan(row[end])) for row in shown for end in ("bias", "low", "high")]
    # A lone evaluator under "zero mean bias" has a bias and an interval of exactly zero.
    reach = 1.08 * max((end for end in ends if math.isfinite(end)), default=0.0) or 1.0
    left, right = LABELS + 10.0, WIDTH - 20.0

    def place(bias: float | None) -> float | None:
        share = (_or_nan(bias) + reach) / (2 * reach)
        return round(left + share * (right - left), 1) if math.isfinite(share) else None

    zero = place(0.0) or 0.0
    some, chosen = "each evaluator", ""
    if len(biases) > DRAWN:
        some = f"the {count(len(shown))} of {count(len(biases))} evaluators who stand out most"
        chosen = "; of so many some leave zero out by chance: only squares are findings"
    return Chart(
        title=f"Bias of {some} with its 95% interval ({clipped(str(biases[0]['contrast']))})"
        f"{chosen}",
        about="; ".join(
            f"{shortened(visible(str(row['evaluator'])))}: {signed(row['bias'])}" for row in shown
        ),
        height=ROW * len(shown) + 48.0,
        left=left,
        right=right,
        ticks=tuple(
            Tick(place(at) or 0.0, f"{at:+g}" if at else "0") for at in round_numbers(reach)
        ),
        axis="bias in logits; squares are found to lean, diamonds are not",
        marks=tuple(
            Mark(
                label=shortened(visible(str(row["evaluator"]))),
                note=several(row["comparisons"], "comparison"),
                finding="found" if _or_nan(row["q_value"]) <= level else "open",
                y=ROW * (place_of + 0.5),
                x=place(row["bias"]),
                low=place(row["low"]),
                high=place(row["high"]),
            )
            for place_of, row in enumerate(shown)
        ),
        band=(zero, zero, zero),
    )


def rank_chart(ranking: Sequence[Mapping[str, Any]]) -> Chart:
    """Place the first items by rank, with the range that 95 in 100 such ranges hold it in.

    Parameters
    ----------
    ranking : sequence of mapping
        Rows as they are in JSON, the best first.
    """
    n, shown = len(ranking), ranking[:DRAWN_ROWS]

    def place(position: float) -> float:
        return round(LEFT + (position - 1) / max(n - 1, 1) * (RIGHT - LEFT), 1)

    marks = tuple(
        Mark(
            label=shortened(visible(str(row["item"]))),
            note=f"{count(row['rank_low'])} to {count(row['rank_high'])}",
            finding="open",
            y=ROW * (position + 0.5),
            x=place(row["rank"]),
            low=place(row["rank_low"]),
            high=place(row["rank_high"]),
        )
        for position, row in enumerate(shown)
    )
    steps = sorted({1, *(round(n * share / 4) for share in range(1, 5))} - {0})
    return Chart(
        title=f"Rank of the first {count(len(shown))} of {count(n)} items with its 95% range",
        about="; ".join(f"{mark.label}: {mark.note}" for mark in marks),
        height=ROW * len(marks) + 48.0,
        left=LEFT,
        right=RIGHT,
        ticks=tuple(Tick(place(step), count(step)) for step in steps),
        axis="rank; 1 is the best",
        marks=marks,
        band=(LEFT, LEFT, LEFT),
    )


LEVEL = 0.05
"""Share of false alarms among evaluators said to lean."""


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
    unit = panel.ranking.unit
    across = unit if unit == "share of wins" else f"score in {unit}"
    across += "; a dot is the mean of the group" if panel.groups else ""
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
