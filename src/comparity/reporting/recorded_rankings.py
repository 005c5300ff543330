"""What is shown of a ranking that was read back from its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from comparity.reporting.charts import Chart, bias_chart
from comparity.reporting.formats import clipped, count, interval, p_value, rate, several, signed
from comparity.reporting.grids import Grid
from comparity.reporting.rankings import LEVEL
from comparity.reporting.rate_charts import rank_chart
from comparity.reporting.recorded import mapping, number, sequence, text, whole
from comparity.reporting.sections import Section

__all__ = ["ranking_section"]

Content = Mapping[str, Any]
# So many evaluators and items are listed; all are in the JSON.
LISTED = 15


def ranking_section(content: Content) -> Section:
    """Return what is shown of a ranking: who leans, the picture, and the first items."""
    places = _rows(content, "ranking")
    return Section(
        headline=f"Ranking of {several(len(places), 'item')} by {clipped(text(content['model']))}",
        sentences=tuple(_sentences(content)),
        charts=tuple(_charts(content)),
        grids=tuple(_grids(content)),
        lists={"Notes": [clipped(str(note)) for note in sequence(content["notes"])]},
    )


def _rows(content: Content, name: str) -> list[Content]:
    return [mapping(row) for row in content.get(name) or []]


def _sentences(content: Content) -> Iterator[str]:
    biases = _rows(content, "biases")
    if biases:
        everybody = {str(row["evaluator"]) for row in biases}
        leaning = {str(row["evaluator"]) for row in biases if number(row["q_value"]) <= LEVEL}
        yield (
            f"{count(len(leaning))} of {several(len(everybody), 'evaluator')} said to lean, at a "
            f"false-discovery rate of {LEVEL:.0%}."
        )
        yield f"The common level of the biases is an assumption: {clipped(str(content['anchor']))}."
    ties = whole(content["n_ties"])
    told = f", {count(ties)} of them ties" if ties else ""
    yield f"{several(whole(content['n_comparisons']), 'comparison')}{told}."


def _charts(content: Content) -> Iterator[Chart]:
    biases, places = _rows(content, "biases"), _rows(content, "ranking")
    if biases:
        yield bias_chart(biases, level=LEVEL)
    elif places:
        yield rank_chart(places)


def _grids(content: Content) -> Iterator[Grid]:
    if biases := _rows(content, "biases"):
        yield Grid(
            title="Evaluators by how surely they lean" + _more(biases),
            header=("evaluator", "bias (logits)", "95% interval", "p", "q", "comparisons"),
            rows=tuple(
                (
                    clipped(f"{row['evaluator']} ({row['contrast']})"),
                    signed(row["bias"]),
                    interval(row["low"], row["high"]),
                    p_value(row["p_value"]),
                    p_value(row["q_value"]),
                    count(whole(row["comparisons"])),
                )
                for row in biases[:LISTED]
            ),
        )
    if means := _rows(content, "mean_scores"):
        yield Grid(
            title="Mean score by group",
            header=("group", "items", "evaluators taken at their word", "ranking"),
            rows=tuple(
                (
                    clipped(f"{row['attribute']}: {row['group']}"),
                    count(whole(row["items"])),
                    signed(row.get("before")),
                    signed(row["after"]),
                )
                for row in means
            ),
        )
    places = _rows(content, "ranking")
    yield Grid(
        title="Ranking" + _more(places),
        header=("item", "rank", "95% of ranks", "score", "std. error"),
        rows=tuple(
            (
                clipped(str(row["item"])),
                count(whole(row["rank"])),
                f"{count(whole(row['rank_low']))} to {count(whole(row['rank_high']))}",
                signed(row["score"]),
                rate(row["standard_error"]),
            )
            for row in places[:LISTED]
        ),
    )


def _more(rows: list[Content]) -> str:
    return f", the first {LISTED} of {count(len(rows))}" if len(rows) > LISTED else ""
