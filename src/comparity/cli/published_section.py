"""How a table or figure that was computed again is told."""

from __future__ import annotations

import math

from comparity.cli.published import (
    COMES_OUT,
    CONSISTENT,
    DIFFERS,
    Published,
    Reproduced,
    Reproduction,
)
from comparity.errors.spelling import visible
from comparity.reports.sections import Grid, Section


def section(result: Reproduction) -> Section:
    """Return what is shown of a reproduction: the numbers, then what follows from them."""
    return Section(
        headline=f"{visible(result.part)} of paper {visible(result.paper)}: {_answer(result)}",
        sentences=(visible(result.question), visible(result.title)),
        grids=(_numbers(result),) if result.rows else (),
        lists={
            "Conclusions": [
                f"{'holds' if one.holds else 'does not hold'}: {visible(one.text)}"
                for one in result.conclusions
            ],
            "What was done otherwise": [visible(note) for note in result.notes],
            "Pictures": [visible(name) for name in result.figures],
        },
    )


def _answer(result: Reproduction) -> str:
    held = sum(one.holds for one in result.conclusions)
    parts = []
    if result.n_compared:
        parts.append(f"{result.n_matching} of {result.n_compared} published numbers come out")
    if result.n_consistent:
        parts.append(f"{result.n_consistent} are consistent, not confirmed")
    if result.conclusions:
        parts.append(f"{held} of {len(result.conclusions)} conclusions hold")
    return ", ".join(parts) or "nothing was published to compare with"


def _numbers(result: Reproduction) -> Grid:
    why = any(row.why for row in result.rows if row.matches is False)
    header = ("row", "column", "published", "ours", "difference", "comes out")
    return Grid(
        title=result.part,
        header=(*header, "why it differs") if why else header,
        rows=tuple(_cells(row, why=why) for row in result.rows),
    )


def _cells(row: Reproduced, *, why: bool) -> tuple[str, ...]:
    ours = _number(row.ours)
    cells = (
        visible(row.row),
        visible(row.column),
        _number(row.published),
        ours if row.spread is None else f"{ours}\n± {_number(row.spread)}",
        "" if row.difference is None else f"{row.difference:+.3g}",
        _verdict(row),
    )
    reason = visible(row.why) if row.matches is False else ""
    return (*cells, reason) if why else cells


def _verdict(row: Reproduced) -> str:
    """Return whether a number is reproduced; values that are not numbers have to be equal."""
    if row.reference and row.matches is not None:
        return "as the reference" if row.matches else "not as the reference"
    words = {COMES_OUT: "yes", DIFFERS: "no", CONSISTENT: "consistent"}
    return words[row.verdict] if row.verdict else ""


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return visible(value or "")
    if not math.isfinite(value):
        return "n/a"
    # Four significant digits, and whole numbers whole.
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def listing(published: Published) -> Grid:
    """Return the parts of a paper, with how long each takes and what cannot be run."""
    runnable = [
        (name, question, published.times[name]) for name, question in published.questions.items()
    ]
    absent = [(name, why, "cannot be run") for name, why in published.absent.items()]
    return Grid(
        title=visible(f"{published.paper}: {published.authors}, {published.title}"),
        header=("part", "what it shows", "time"),
        rows=tuple(tuple(map(visible, row)) for row in (*runnable, *absent)),
    )
