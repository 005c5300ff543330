"""Pictures of rankings: evaluators' biases as a caterpillar, scores by group, ranges of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.ranking.rank import RankedPanel
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.reports.audits import MOST_TESTS
from comparity.reports.charts import (
    MOST_ROWS,
    Axis,
    Curve,
    CurveChart,
    Mark,
    Row,
    RowChart,
    Tick,
    axis_around,
    axis_between,
    round_edges,
    shorten_label,
)
from comparity.reports.plots import (
    PALETTE,
    draw,
    finish_axes,
    fit_text,
    label_rows,
    own_axes,
    row_height,
)
from comparity.reports.sections import clip, count, several, signed
from comparity.results.result import missing_as_none

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.ranking.fair_topk import FairTopK

Rows = Sequence[Mapping[str, Any]]

LEVEL = 0.05
"""Share of false alarms among evaluators said to lean."""

# Up to so many evaluators are named in a picture, and up to so many scores drawn one by one.
NAMED, STROKES = 60, 300
SHARPNESS = "logits for an item that is one SD better"


def if_equal(ranking: BiasedRanking) -> str:
    """Add to leans that evaluators are assumed to be equally consistent and are not."""
    tested = ranking.equal_sharpness
    wrong = ranking.sharpness is None and tested is not None and tested.p_value <= LEVEL
    return ", if all were equally consistent" if wrong else ""


def bias_chart(
    biases: Rows, *, level: float, unit: str = "logits", condition: str = ""
) -> RowChart:
    """Describe the biases of evaluators with their intervals, in order: a caterpillar.

    Parameters
    ----------
    biases : sequence of mapping
        Rows of one contrast, who leans most surely first; of many evaluators
        the first are drawn.
    level : float
        False-discovery rate up to which an evaluator is said to lean.
    unit : str
        What biases are measured in.
    condition : str
        What must hold for findings to be true, beside the anchor.
    """
    shown = sorted(biases[:MOST_TESTS], key=_bias)
    some, chosen = "each evaluator", ""
    if len(biases) > MOST_TESTS:
        some = f"the {count(len(shown))} of {count(len(biases))} evaluators who stand out most"
        chosen = "; of so many some leave zero out by chance: only squares are findings"
    contrast = clip(str(biases[0]["contrast"]))
    return RowChart(
        title=f"Bias of {some} with its 95% interval ({contrast}){chosen}",
        about="; ".join(
            f"{shorten_label(visible(str(row['evaluator'])))}: {signed(row['bias'])}"
            for row in shown
        ),
        axis=axis_around(f"bias in {unit}", _ends(shown)),
        rows=tuple(
            Row(
                label=shorten_label(visible(str(row["evaluator"]))),
                note=several(row["comparisons"], "comparison"),
                marks=(_bias_mark(row, level),),
            )
            for row in shown
        ),
        line=0.0,
        legend=_legend(condition),
    )


def bias_picture(biases: Rows, *, level: float, unit: str, condition: str = "") -> RowChart:
    """Describe biases one by one, or of many evaluators how they are spread."""
    marks = [mark for row in biases if (mark := _bias_mark(row, level)).is_known]
    if len(marks) <= MOST_BARS:
        return bias_chart(biases, level=level, unit=unit, condition=condition)
    contrast = clip(str(biases[0]["contrast"]))
    title = f"Bias in {unit} of {several(len(marks), 'evaluator')} ({contrast}), by range"
    return count_by_range(marks, title, _legend(condition))


def _legend(condition: str) -> dict[str, str]:
    return {"found": f"found to lean{condition}", "open": "not found to lean"}


def _bias(row: Mapping[str, Any]) -> float:
    """Return a bias, or infinity where there is none, so that it stands last."""
    return math.inf if row["bias"] is None else float(row["bias"])


def _ends(rows: Rows) -> list[float]:
    return [end for row in rows for one in [_bias_mark(row, 0.0)] for end in (one.low, one.high)]


def _bias_mark(row: Mapping[str, Any], level: float) -> Mark:
    x, low, high, q = (
        math.nan if row[name] is None else float(row[name])
        for name in ("bias", "cautious_low", "cautious_high", "cautious_q_value")
    )
    return Mark(kind="found" if q <= level else "open", x=x, low=low, high=high)


def sharpness_chart(rows: Rows) -> RowChart:
    """Describe how sharp evaluators are, with intervals, the sharpest first.

    Parameters
    ----------
    rows : sequence of mapping
        One for each evaluator, with its name, sharpness, the ends of its interval and the number of
        its comparisons; of many, how many are in each range.
    """
    if len(rows) > MOST_BARS:
        marks = [Mark(kind="open", x=row["sharpness"], low=0, high=0) for row in rows]
        title = f"Sharpness of {several(len(marks), 'evaluator')}, by range ({SHARPNESS})"
        return count_by_range(marks, title)
    shown = rows
    names = [shorten_label(visible(str(row["evaluator"]))) for row in shown]
    ends = [row[end] for row in shown for end in ("sharpness_low", "sharpness_high")]
    return RowChart(
        title="Sharpness of each evaluator with its 95% interval",
        about="; ".join(
            f"{name}: {row['sharpness']:.2f}" for name, row in zip(names, shown, strict=True)
        ),
        axis=axis_between(SHARPNESS, ends, from_zero=True),
        rows=tuple(
            Row(
                label=name,
                note=several(row["comparisons"], "comparison"),
                marks=(
                    Mark(
                        kind="open",
                        x=row["sharpness"],
                        low=row["sharpness_low"],
                        high=row["sharpness_high"],
                    ),
                ),
            )
            for name, row in zip(names, shown, strict=True)
        ),
    )


def plot_sharpness(ranking: BiasedRanking, ax: Axes | None = None) -> Axes:
    """Draw how sharp each evaluator is, with its interval."""
    return draw(sharpness_chart(ranking.sharpness_rows()), ax)


def rank_chart(ranking: Rows) -> RowChart:
    """Describe the first items by rank, with the range that 95 in 100 such ranges hold it in.

    Parameters
    ----------
    ranking : sequence of mapping
        Rows as they are in JSON, the best first.
    """
    n, shown = len(ranking), ranking[:MOST_ROWS]
    names = [shorten_label(visible(str(row["item"]))) for row in shown]
    notes = [f"{count(row['rank_low'])} to {count(row['rank_high'])}" for row in shown]
    steps = sorted({1, *(round(n * share / 4) for share in range(1, 5))} - {0})
    return RowChart(
        title=f"Rank of the first {count(len(shown))} of {count(n)} items with its 95% range",
        about="; ".join(f"{name}: {note}" for name, note in zip(names, notes, strict=True)),
        axis=Axis(
            label="rank; 1 is the best",
            low=1.0,
            high=max(n, 2.0),
            ticks=tuple(Tick(step, count(step)) for step in steps),
        ),
        rows=tuple(
            Row(
                label=name,
                note=note,
                marks=(
                    Mark(kind="open", x=row["rank"], low=row["rank_low"], high=row["rank_high"]),
                ),
            )
            for name, note, row in zip(names, notes, shown, strict=True)
        ),
    )


def plot_ranking(ranking: Ranking, ax: Axes | None = None) -> Axes:
    """Draw the biases of evaluators in order, a caterpillar, or scores where there are none."""
    if isinstance(ranking, BiasedRanking):
        return draw(_caterpillar(ranking), ax)
    return plot_scores(RankedPanel(ranking=ranking), ax=ax)


def _caterpillar(ranking: BiasedRanking) -> RowChart:
    """Describe all biases; of many evaluators, who have no names, only those with data."""
    names = [str(one) for one in ranking.contrasts]
    if ranking.bias.size > NAMED:
        names = names[:1]
    rows = [row for row in missing_as_none(ranking.bias_rows()) if row["contrast"] in names]
    rows.sort(key=lambda row: (names.index(row["contrast"]), _bias(row)))
    silent, n = 0, len(ranking.evaluators)
    if len(rows) > NAMED:
        rows = [row for row in rows if row["informative"]]
        silent = n - len(rows)
    left = f"; {count(silent)} who judged no such pair left out" if silent else ""
    leaning = sum(_bias_mark(row, LEVEL).kind == "found" for row in rows)
    return RowChart(
        title=f"Biases of {several(n, 'evaluator')} with 95% intervals, "
        f"{several(ranking.n_comparisons, 'comparison')}",
        under=f"bias in {ranking.unit}" + (f", {names[0]}" if len(names) == 1 else ""),
        axis=axis_between(f"bias in {ranking.unit}", [0.0, *_ends(rows)]),
        rows=tuple(
            Row(
                label=str(row["evaluator"]),
                note=f"n {count(row['comparisons'])}"
                + (f", {row['contrast']}" if len(names) > 1 else ""),
                marks=(_bias_mark(row, LEVEL),),
            )
            for row in rows
        ),
        line=0.0,
        legend={
            "open": f"may not lean: {count(len(rows) - leaning)}",
            "found": f"leans (q ≤ {LEVEL:g}{if_equal(ranking)}): {count(leaning)}",
        },
        beside=f"{count(len(rows))} evaluators, by bias{left}",
    )


def plot_scores(
    panel: RankedPanel, attribute: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the scores of each group, with evaluators at face value and adjusted for their biases.

    Parameters
    ----------
    panel : RankedPanel
    attribute : str, optional
        Which attribute; the first by default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    own, groups = ax is None, _groups(panel, attribute)
    fits = [(panel.before, "unadjusted"), (panel.ranking, visible(panel.ranking.model))]
    shown = [
        (fit.scores[inside], PALETTE[number % len(PALETTE)], fit_text(f"{group}, {label}"))
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
    compared = "" if panel.before is None else ", unadjusted and adjusted for evaluators' biases"
    title = f"Scores{' by group' if panel.groups else ''}{compared}"
    unit = panel.ranking.unit
    across = unit if unit == "share of wins" else f"score in {unit}"
    across += "; a dot is the mean of the group" if panel.groups else ""
    return finish_axes(ax, title=title, across=across, own=own)


def _draw_scores(ax: Axes, scores: NDArray[np.float64], row: int, colour: str) -> None:
    """Draw a stroke for each score, or of many scores how they are spread."""
    if len(scores) <= STROKES:
        ax.plot(scores, np.full(len(scores), row), "|", ms=12, alpha=0.5, color=colour)
        return
    heights, edges = np.histogram(scores, bins=60)
    top = row - 0.8 * heights / heights.max()
    ax.fill_between((edges[1:] + edges[:-1]) / 2, row, top, step="mid", alpha=0.7, color=colour)


def _groups(panel: RankedPanel, attribute: str | None) -> dict[str, NDArray[np.bool_]]:
    if not panel.groups:
        return {"all items": np.ones(len(panel.ranking.items), dtype=bool)}
    column = panel.groups[attribute or next(iter(panel.groups))]
    names = np.array([str(name) for name in column.tolist()])
    return {group: names == group for group in sorted(set(names.tolist()))}


MOST_BARS = 30
"""Numbers of more evaluators than this are drawn by range."""


def count_by_range(
    marks: Sequence[Mark], title: str, legend: Mapping[str, str] | None = None
) -> RowChart:
    """Describe how numbers are spread over about ten ranges, by the kind of their marks.

    Parameters
    ----------
    marks : sequence of Mark
        One for each evaluator, all of them known.
    title : str
        What the numbers are.
    legend : mapping of str to str, optional
        What each kind of mark stands for.
    """
    edges = round_edges([mark.x for mark in marks])
    within = np.digitize([mark.x for mark in marks], edges) - 1
    rows = [
        _row(ends, [marks[k].kind for k in np.flatnonzero(within == place).tolist()])
        for place, ends in enumerate(pairwise(edges))
    ]
    longest = [mark.x for row in rows for mark in row.marks]
    return RowChart(
        title=title,
        about="; ".join(f"{row.label}: {row.note}" for row in rows),
        axis=axis_between("evaluators", longest, from_zero=True),
        rows=tuple(rows),
        legend=legend or {},
    )


def _row(ends: tuple[float, float], kinds: Sequence[str]) -> Row:
    """Return a range with one stem for those found, and one for the others."""
    # Two kinds stand above each other.
    apart = 0.3 if len({*kinds}) > 1 else 0.0
    stems = (
        (kind, kinds.count(kind), below) for kind, below in (("found", -apart), ("open", apart))
    )
    return Row(
        label=" to ".join(f"{end:+g}" if end else "0" for end in ends),
        note=several(len(kinds), "evaluator"),
        marks=tuple(
            Mark(kind=kind, x=n, low=0, high=n, below=below) for kind, n, below in stems if n
        ),
    )


def places_chart(result: FairTopK) -> CurveChart:
    """Describe how many protected items the first places hold, and how many they must."""
    places, held = range(1, result.k + 1), result.protected.cumsum().tolist()
    most = max(*held, *result.table, result.p * result.k)
    curves = [
        Curve(label="held", points=list(zip(places, held, strict=True)), style="steps"),
        Curve(label="needed", points=list(zip(places, result.table, strict=True)), style="steps"),
        Curve(
            label=f"a share of {result.p:g}",
            points=[(place, result.p * place) for place in places],
            style="guide",
        ),
    ]
    if result.failed_at is not None:
        told = f"scores alone fail at place {count(result.failed_at)}"
        ends = [(result.failed_at, 0.0), (result.failed_at, most)]
        curves.append(Curve(label=told, points=ends))
    across = f"place, of {count(result.k)}; chosen from {several(result.n_items, 'item')}"
    up = axis_between(f"items of {result.group!r} among the first", [0.0, most], from_zero=True)
    return CurveChart(
        title=result.headline,
        axis=axis_between(across, places),
        up=replace(up, ticks=tuple(tick for tick in up.ticks if tick.at == round(tick.at))),
        curves=tuple(curves),
    )
