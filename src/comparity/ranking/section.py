"""Rankings and leaning evaluators, for terminal and page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors.spelling import visible
from comparity.ranking.fits import SEAT, Effect, ScoreDependence
from comparity.ranking.pictures import LEVEL, bias_picture, if_equal, rank_chart, sharpness_chart
from comparity.ranking.rank import RankedPanel
from comparity.ranking.result import BiasedRanking, Ranking
from comparity.ranking.sentences import sentences_on
from comparity.reports.advice import LEAN_STEPS
from comparity.reports.charts import Chart
from comparity.reports.sections import (
    Grid,
    Section,
    count,
    interval,
    p_value,
    rate,
    short_id,
    signed,
)
from comparity.results.result import missing_as_none

Rows = list[dict[str, Any]]

# So many evaluators and items are shown; all of them are in to_dict() and --json.
EVALUATORS, ITEMS = 15, 15

# So many contrasts have a chart of their own, those with the surest bias first.
CONTRASTS = 4


def section(result: Ranking | RankedPanel) -> Section:
    """Return what is shown of a ranking."""
    panel = RankedPanel(ranking=result) if isinstance(result, Ranking) else result
    ranking = panel.ranking
    places = missing_as_none(ranking.rows())
    biases = missing_as_none(ranking.bias_rows()) if isinstance(ranking, BiasedRanking) else None
    return Section(
        headline=f"Ranking of {count(len(ranking.items))} items by {visible(ranking.model)}",
        sentences=tuple(sentences_on(ranking)),
        charts=tuple(_charts(ranking, biases, places)),
        grids=tuple(_grids(panel, biases, places)),
        lists={"Notes": [visible(note) for note in _notes(ranking)]},
        steps=LEAN_STEPS if biases else (),
    )


def _charts(ranking: Ranking, biases: Rows | None, places: Rows) -> Iterator[Chart]:
    if biases:
        by_contrast: dict[str, Rows] = {}
        for row in biases:
            by_contrast.setdefault(str(row["contrast"]), []).append(row)
        given = if_equal(ranking) if isinstance(ranking, BiasedRanking) else ""
        for rows in list(by_contrast.values())[:CONTRASTS]:
            unit = "logits" if rows[0]["contrast"] == str(SEAT) else ranking.unit
            yield bias_picture(rows, level=LEVEL, unit=unit, condition=given)
        if isinstance(ranking, BiasedRanking) and ranking.sharpness is not None:
            yield sharpness_chart(ranking.sharpness_rows())
    elif _have_errors(places):
        yield rank_chart(places)


def _have_errors(places: Rows) -> bool:
    """Return whether the model gives errors of scores, without which any rank is possible."""
    return any(row["standard_error"] is not None for row in places)


def _notes(ranking: Ranking) -> list[str]:
    return list(dict.fromkeys((*ranking.notes, *ranking.provenance.get("notes", ()))))


def _grids(panel: RankedPanel, biases: Rows | None, places: Rows) -> Iterator[Grid]:
    ranking = panel.ranking
    if isinstance(ranking, BiasedRanking):
        yield _bias_grid(biases or [], ranking)
        yield _mean_bias_grid(ranking)
        if ranking.sharpness is not None:
            yield _sharpness_grid(ranking)
        if ranking.suggestions:
            yield _suggestion_grid(ranking)
        if ranking.score_dependence is not None:
            yield _dependence_grid(ranking.score_dependence)
    if ranking.seat is not None or ranking.ties is not None:
        yield _effect_grid(ranking.seat, ranking.ties)
    if len(ranking.evaluators) and ranking.parameters:
        yield _evaluator_grid(ranking)
    yield _rank_grid(places, ranking.unit)
    if panel.groups:
        yield _mean_grid(panel)


def _bias_grid(rows: Rows, ranking: BiasedRanking) -> Grid:
    contrasts, several = ranking.contrasts, len(ranking.contrasts) > 1
    of = f"{count(len(rows))}{' biases' if several else ''}"
    toward = "" if several else "".join(f" ({visible(str(one))})" for one in contrasts)
    more = f", the first {EVALUATORS} of {of}" if len(rows) > EVALUATORS else ""
    return Grid(
        title=f"Evaluators by how surely they lean{if_equal(ranking)}{toward}{more}",
        header=(
            *("evaluator", f"bias ({_bias_unit(ranking)})", "95% interval"),
            *("q", *_header_if_equal(ranking), "between groups"),
        ),
        rows=tuple(
            (
                short_id(row["evaluator"]) + (f"\n{visible(row['contrast'])}" if several else ""),
                signed(row["bias"]),
                *_bias_cells(row, *_header_if_equal(ranking)),
            )
            for row in rows[:EVALUATORS]
        ),
    )


def _bias_unit(ranking: BiasedRanking) -> str:
    """Return what biases are measured in; those toward seats always in logits."""
    mixed = ranking.unit != "logits" and SEAT in ranking.contrasts
    return f"{ranking.unit}; seats in logits" if mixed else ranking.unit


def _sharpness_grid(ranking: BiasedRanking) -> Grid:
    rows = ranking.sharpness_rows()
    more = f", the first {EVALUATORS} of {count(len(rows))}" if len(rows) > EVALUATORS else ""
    return Grid(
        title=f"Sharpness: logits for an item that is one SD better{more}",
        header=("evaluator", "sharpness", "95% interval", "comparisons"),
        rows=tuple(
            (
                short_id(row["evaluator"]) + (" (inverted)" if row["sharpness"] < 0 else ""),
                rate(row["sharpness"]),
                f"[{rate(row['sharpness_low'])}, {rate(row['sharpness_high'])}]",
                count(row["comparisons"]),
            )
            for row in rows[:EVALUATORS]
        ),
    )


def _header_if_equal(ranking: BiasedRanking) -> tuple[str, ...]:
    """Return the title of q values without the chance between groups, where there is any."""
    alike = np.array_equal(ranking.cautious_q, ranking.q, equal_nan=True)
    return () if alike else ("q if groups here are equal",)


def _bias_cells(row: Mapping[str, Any], *if_equal: str) -> tuple[str, ...]:
    """Return what is known of a bias; of one that is assumed, only that."""
    if row["low"] == row["high"] == row["bias"]:
        return ("trusted", "", *("" for _ in if_equal), "")
    return (
        interval(row["cautious_low"], row["cautious_high"]),
        p_value(row["cautious_q_value"]),
        *(p_value(row["q_value"]) for _ in if_equal),
        f"{count(row['informative'])} of {count(row['comparisons'])}",
    )


def _mean_bias_grid(ranking: BiasedRanking) -> Grid:
    means = zip(ranking.contrasts, ranking.mean_bias, ranking.mean_bias_intervals(), strict=True)
    return Grid(
        title="Mean bias of all evaluators",
        header=("a positive bias favours", f"mean bias ({_bias_unit(ranking)})", "95% interval"),
        rows=tuple(
            (visible(str(contrast)), signed(float(mean)), interval(*map(float, ends)))
            for contrast, mean, ends in means
        ),
    )


def _suggestion_grid(ranking: BiasedRanking) -> Grid:
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


def _dependence_grid(found: ScoreDependence) -> Grid:
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


def _effect_grid(seat: Effect | None, ties: Effect | None) -> Grid:
    effects = [effect for effect in (seat, ties) if effect is not None]
    return Grid(
        title="Seat and ties",
        header=("effect", "value (logits)", "95% interval", "p"),
        rows=tuple(
            (
                visible(effect.name),
                signed(effect.value),
                interval(*effect.interval()[:2]),
                # That ties are as likely as wins between equals is a question nobody asks.
                p_value(effect.p_value) if effect is seat else "",
            )
            for effect in effects
        ),
    )


def _evaluator_grid(ranking: Ranking) -> Grid:
    """List what else a model says of evaluators, the lowest of the first first."""
    n = len(ranking.evaluators)
    columns = {name: np.reshape(values, (n, -1)) for name, values in ranking.parameters.items()}
    order = np.argsort(next(iter(columns.values()))[:, 0], kind="stable")[:EVALUATORS].tolist()
    more = f", the lowest {EVALUATORS} of {count(n)}" if n > EVALUATORS else ""
    return Grid(
        title=f"Evaluators{more}",
        header=("evaluator", *map(visible, columns)),
        rows=tuple(
            (
                short_id(ranking.evaluators[k]),
                *(", ".join(map(_format_of(values), values[k])) for values in columns.values()),
            )
            for k in order
        ),
    )


def _format_of(values: NDArray[np.float64]) -> Callable[[float], str]:
    """Return how to write shares, or numbers that may be of either sign."""
    return rate if ((values >= 0) & (values <= 1)).all() else signed


def _rank_grid(rows: Rows, unit: str) -> Grid:
    """List the order, with errors where the model gives them."""
    score, told = _score_format(unit), _have_errors(rows)
    more = f", the first {ITEMS} of {count(len(rows))}" if len(rows) > ITEMS else ""
    errors = ("95% rank range", f"score ({unit})", "std. error") if told else ("score",)
    return Grid(
        title=f"Ranking{more}",
        header=("item", "rank", *errors),
        rows=tuple(
            (short_id(row["item"]), count(row["rank"]), score(row["score"]))
            if not told
            else (
                short_id(row["item"]),
                count(row["rank"]),
                f"{count(row['rank_low'])} to {count(row['rank_high'])}",
                score(row["score"]),
                rate(row["standard_error"]),
            )
            for row in rows[:ITEMS]
        ),
    )


def _score_format(unit: str) -> Callable[[float], str]:
    """Return how to write scores: logits have a sign, shares and points have none."""
    return {"points": "{:,.1f}".format, "share of wins": rate}.get(unit, signed)


def _mean_grid(panel: RankedPanel) -> Grid:
    several, compared = len(panel.groups) > 1, panel.before is not None
    before = ("evaluators unadjusted",) if compared else ()
    score = _score_format(panel.ranking.unit)

    def mean(value: float) -> str:
        # The anchor may have made it zero, up to rounding of either sign.
        return score(round(value, 9) + 0.0)

    return Grid(
        title=f"Mean score by group ({panel.ranking.unit})",
        header=("group", "items", *before, visible(panel.ranking.model)),
        rows=tuple(
            (
                visible(f"{row['attribute']}: {row['group']}" if several else row["group"]),
                count(row["items"]),
                *([mean(row["before"])] if compared else []),
                mean(row["after"]),
            )
            for row in panel.mean_scores()
        ),
    )
