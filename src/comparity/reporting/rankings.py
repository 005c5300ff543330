"""Rankings and leaning evaluators, for terminal, page and picture."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.panels import RankedPanel
from comparity.rankings import BiasedRanking, Effect, Ranking, ScoreDependence
from comparity.reporting.canvas import (
    fitted,
    framed,
    label_rows,
    lettered,
    own_axes,
    row_height,
)
from comparity.reporting.charts import bias_chart
from comparity.reporting.formats import (
    count,
    interval,
    p_value,
    percent,
    rate,
    several,
    signed,
    visible,
)
from comparity.reporting.grids import Grid
from comparity.reporting.rate_charts import rank_chart
from comparity.reporting.sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LEVEL", "plot_biases", "plot_ranking", "plot_scores", "section"]

Rows = list[dict[str, Any]]

LEVEL = 0.05
"""Share of false alarms among evaluators said to lean."""

# So many evaluators and items are shown; all of them are in to_dict() and --json.
EVALUATORS, ITEMS = 15, 15
# Up to so many evaluators are named in a picture, and up to so many scores drawn one by one.
NAMED, STROKES = 60, 300
# From the palette of Okabe and Ito.
LEANS, OTHERS = "#D55E00", "#0072B2"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


@singledispatch
def section(result: Ranking | RankedPanel) -> Section:
    """Return what is shown of a ranking."""
    raise TypeError(f"{type(result).__name__} is no ranking")


@section.register
def _(ranking: Ranking) -> Section:
    return _section(RankedPanel(ranking=ranking))


@section.register
def _(panel: RankedPanel) -> Section:
    return _section(panel)


def _section(panel: RankedPanel) -> Section:
    ranking = panel.ranking
    shown = ranking.to_dict()
    biases, places = shown.get("biases"), shown["ranking"]
    charts = (bias_chart(biases, level=LEVEL),) if biases else (rank_chart(places),)
    return Section(
        headline=f"Ranking of {count(len(ranking.items))} items by {visible(ranking.model)}",
        sentences=tuple(_sentences(ranking)),
        charts=charts,
        grids=tuple(_grids(panel, biases, places)),
        lists={"Notes": [visible(note) for note in _notes(ranking)]},
    )


def _sentences(ranking: Ranking) -> Iterator[str]:
    if isinstance(ranking, BiasedRanking):
        yield _found(int((ranking.q <= LEVEL).any(axis=1).sum()), len(ranking.evaluators))
        yield f"The common level of the biases is an assumption: {visible(ranking.anchor)}."
    ties = f", {count(ranking.n_ties)} of them ties" if ranking.n_ties else ""
    yield f"{several(ranking.n_comparisons, 'comparison')}{ties}; {_fitted(ranking)}."


def _found(lean: int, n: int) -> str:
    if not lean:
        who = "The only evaluator is not" if n == 1 else f"None of {count(n)} evaluators is"
        return f"{who} found to lean, at a false-discovery rate of {percent(LEVEL)}."
    verb = "leans" if lean == 1 else "lean"
    return (
        f"{count(lean)} of {several(n, 'evaluator')} {verb}; about {percent(LEVEL)} of such "
        "findings are false alarms."
    )


def _fitted(ranking: Ranking) -> str:
    priors = "; ".join(visible(str(prior)) for prior in ranking.priors) or "no prior"
    return priors if ranking.converged else f"{priors}; THE FIT DID NOT CONVERGE"


def _notes(ranking: Ranking) -> list[str]:
    return list(dict.fromkeys((*ranking.notes, *ranking.provenance.get("notes", ()))))


def _grids(panel: RankedPanel, biases: Rows | None, places: Rows) -> Iterator[Grid]:
    ranking = panel.ranking
    if isinstance(ranking, BiasedRanking):
        yield _leaning(biases or [], several=len(ranking.contrasts) > 1)
        yield _levels(ranking)
        if ranking.suggestions:
            yield _suggested(ranking)
        if ranking.score_dependence is not None:
            yield _dependence(ranking.score_dependence)
    effects = [effect for effect in (ranking.seat, ranking.ties) if effect is not None]
    if effects:
        yield _effects(effects)
    reliabilities = {
        name: values
        for name, values in ranking.parameters.items()
        if np.shape(values) == np.shape(ranking.evaluators) and len(ranking.evaluators)
    }
    if reliabilities:
        yield _of_evaluators(ranking, reliabilities)
    yield _places(places)
    if panel.groups:
        yield _means(panel)


def _leaning(rows: Rows, *, several: bool) -> Grid:
    more = f", the first {EVALUATORS} of {count(len(rows))}" if len(rows) > EVALUATORS else ""
    return Grid(
        title=f"Evaluators by how surely they lean{more}",
        header=(
            "evaluator",
            "bias (logits)",
            "95% interval",
            "p",
            "q",
            "comparisons",
        ),
        rows=tuple(
            (
                visible(str(row["evaluator"]))
                + (f"\n{visible(row['contrast'])}" if several else ""),
                signed(row["bias"]),
                interval(row["low"], row["high"]),
                p_value(row["p_value"]),
                p_value(row["q_value"]),
                count(row["comparisons"]),
            )
            for row in rows[:EVALUATORS]
        ),
    )


def _levels(ranking: BiasedRanking) -> Grid:
    means = zip(ranking.contrasts, ranking.mean_bias, ranking.mean_bias_intervals(), strict=True)
    return Grid(
        title="Mean bias of all evaluators",
        header=("a positive bias favours", "mean bias (logits)", "95% interval"),
        rows=tuple(
            (visible(str(contrast)), signed(float(mean)), interval(*map(float, ends)))
            for contrast, mean, ends in means
        ),
    )


def _suggested(ranking: BiasedRanking) -> Grid:
    return Grid(
        title="Intersections, whether they deserve a bias of their own",
        header=("intersection", "items", "score gap", "p of gap", "p of spread", "q", "deserves"),
        rows=tuple(
            (
                visible(" & ".join(one.groups)),
                count(one.n_items),
                signed(one.score_gap),
                p_value(one.gap_p),
                p_value(one.spread_p),
                p_value(one.q_value),
                "yes" if one.deserves else "no",
            )
            for one in ranking.suggestions
        ),
    )


def _dependence(found: ScoreDependence) -> Grid:
    return Grid(
        title="Do biases grow with the score?",
        header=("slopes", "chi-square", "df", "p of none"),
        rows=(
            (
                ", ".join(map(signed, found.slopes)),
                f"{found.statistic:.2f}",
                str(found.dof),
                p_value(found.p_value),
            ),
        ),
    )


def _effects(effects: list[Effect]) -> Grid:
    return Grid(
        title="Seat and ties",
        header=("effect", "value (logits)", "95% interval", "p"),
        rows=tuple(
            (
                visible(effect.name),
                signed(effect.value),
                interval(*effect.interval()),
                p_value(effect.p_value),
            )
            for effect in effects
        ),
    )


def _of_evaluators(ranking: Ranking, columns: dict[str, Any]) -> Grid:
    """List what else a model says of evaluators, the lowest first."""
    n = len(ranking.evaluators)
    order = np.argsort(next(iter(columns.values())), kind="stable")[:EVALUATORS].tolist()
    more = f", the lowest {EVALUATORS} of {count(n)}" if n > EVALUATORS else ""
    return Grid(
        title=f"Evaluators{more}",
        header=("evaluator", *map(visible, columns)),
        rows=tuple(
            (visible(str(ranking.evaluators[k])), *(rate(values[k]) for values in columns.values()))
            for k in order
        ),
    )


def _places(rows: Rows) -> Grid:
    if all(row["standard_error"] is None for row in rows):
        return _bare_places(rows)
    more = f", the first {ITEMS} of {count(len(rows))}" if len(rows) > ITEMS else ""
    return Grid(
        title=f"Ranking{more}",
        header=("item", "rank", "95% of ranks", "score", "std. error"),
        rows=tuple(
            (
                visible(str(row["item"])),
                count(row["rank"]),
                f"{count(row['rank_low'])} to {count(row['rank_high'])}",
                signed(row["score"]),
                "n/a" if row["standard_error"] is None else f"{row['standard_error']:.3f}",
            )
            for row in rows[:ITEMS]
        ),
    )


def _bare_places(rows: Rows) -> Grid:
    """List the order of a model without standard errors."""
    more = f", the first {ITEMS} of {count(len(rows))}" if len(rows) > ITEMS else ""
    return Grid(
        title=f"Ranking{more}",
        header=("item", "rank", "score"),
        rows=tuple(
            (visible(str(row["item"])), count(row["rank"]), signed(row["score"]))
            for row in rows[:ITEMS]
        ),
    )


def _means(panel: RankedPanel) -> Grid:
    several, compared = len(panel.groups) > 1, panel.before is not None
    before = ("evaluators taken at their word",) if compared else ()
    return Grid(
        title="Mean score by group",
        header=("group", "items", *before, visible(panel.ranking.model)),
        rows=tuple(
            (
                visible(f"{row['attribute']}: {row['group']}" if several else row["group"]),
                count(row["items"]),
                *([signed(row["before"])] if compared else []),
                signed(row["after"]),
            )
            for row in panel.mean_scores()
        ),
    )


def plot_ranking(ranking: Ranking, ax: Axes | None = None) -> Axes:
    """Draw a ranking: its evaluators' biases where it has them, its scores otherwise."""
    if isinstance(ranking, BiasedRanking):
        return plot_biases(ranking, ax)
    return plot_scores(RankedPanel(ranking=ranking), ax=ax)


def plot_biases(ranking: BiasedRanking, ax: Axes | None = None, *, contrast: int = 0) -> Axes:
    """Draw each evaluator's bias with its interval, in order: a caterpillar.

    Parameters
    ----------
    ranking : BiasedRanking
        The fit.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    contrast : int
        Which contrast.
    """
    own = ax is None
    order = np.argsort(ranking.bias[:, contrast], kind="stable")
    many = len(order) > NAMED
    if many:
        # Their intervals are the prior's, and would hide the others.
        order = order[ranking.n_informative[order, contrast] > 0]
    names = [_named(ranking, k, many=many) for k in order.tolist()]
    height = 1.6 + 0.16 * (NAMED if many else sum(name.count("\n") + 1 for name in names))
    ax = own_axes(width=7.5, height=height) if ax is None else ax
    low, high = ranking.bias_intervals()[order, contrast].T
    leans = ranking.q[order, contrast] <= LEVEL
    rows, found = np.arange(len(order)), ranking.bias[order, contrast]
    for chosen, colour, marker, label in (
        (~leans, OTHERS, "D", "may not lean"),
        (leans, LEANS, "s", f"leans (q ≤ {LEVEL:g})"),
    ):
        ends, told = (rows[chosen], low[chosen], high[chosen]), count(int(chosen.sum()))
        ax.hlines(*ends, color=colour, lw=0.3 if many else 1, alpha=0.3 if many else 1)
        style: dict[str, Any] = {"ms": 2 if many else 4, "color": colour}
        ax.plot(found[chosen], rows[chosen], marker, label=f"{label}: {told}", **style)
    ax.axvline(0, color="#666666", lw=0.8)
    if many:
        silent = len(ranking.evaluators) - len(order)
        left = f"; {count(silent)} who judged no such pair left out" if silent else ""
        ax.set_ylabel(f"{count(len(order))} evaluators, by bias{left}")
    else:
        ax.set_yticks(rows, names, parse_math=False, fontsize=8)
    title = (
        f"Biases of {several(len(ranking.evaluators), 'evaluator')} with 95% intervals, "
        f"{several(ranking.n_comparisons, 'comparison')}"
    )
    across = f"bias in logits, {ranking.contrasts[contrast]}"
    lettered(ax, title=title, across=across, own=own)
    framed(ax, own=own)
    return ax


def _named(ranking: BiasedRanking, place: int, *, many: bool) -> str:
    """Return the name of an evaluator beside a picture; of many, none has one."""
    if many:
        return ""
    name = fitted(str(ranking.evaluators[place]), letters=44, lines=1)
    return f"{name} (n {count(int(ranking.n_judged[place]))})"


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
        (fit.scores[inside], COLOURS[number % len(COLOURS)], fitted(f"{group}, {label}"))
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
    lettered(ax, title=title, across=across, own=own)
    framed(ax, own=own)
    return ax


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
