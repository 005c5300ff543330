"""How impact ratios are told."""

from __future__ import annotations

from collections.abc import Iterator

from comparity.errors.spelling import visible
from comparity.impact.result import AT_LEAST, BELOW, ImpactGroup, ImpactRatios, ImpactTable
from comparity.reports.charts import Axis, Mark, Row, RowChart, Tick, shorten_label
from comparity.reports.sections import (
    MISSING,
    Grid,
    Section,
    clip,
    count,
    interval,
    p_value,
    percent,
    rate,
)


def section_of(found: ImpactRatios) -> Section:
    """Return what is told of impact ratios."""
    return Section(
        headline=f"Impact ratios of {clip(found.outcome)}: {_people(found.n)}",
        sentences=tuple(_sentences(found)),
        charts=tuple(ratio_chart(found, table) for table in found.tables),
        grids=tuple(_grid(found, table) for table in found.tables),
        lists={"What to know": list(_notes(found))},
    )


def _sentences(found: ImpactRatios) -> Iterator[str]:
    what = "are selected" if found.median is None else f"score above the median ({found.median:g})"
    for table in found.tables:
        best = table.best
        others = [one for one in table.groups if not one.why_none and one is not best]
        worst = min(others, key=lambda one: (one.ratio, one.group))
        name, ends = clip(table.attribute), worst.interval
        which = "impact ratio" if len(others) == 1 else f"smallest of {len(others)} impact ratios"
        yield (
            f"Of 100 with {name} = {visible(best.group)}, {100 * best.rate:.0f} {what}; of 100 "
            f"with {name} = {visible(worst.group)}, {100 * worst.rate:.0f}. The {which} is "
            f"{worst.ratio:.2f} ({percent(found.level)} interval {ends.low:.2f} to "
            f"{ends.high:.2f})."
        )
        yield from _on_four_fifths(found, table)


def _on_four_fifths(found: ImpactRatios, table: ImpactTable) -> Iterator[str]:
    if not found.four_fifths:
        return
    by_answer: dict[str, list[str]] = {}
    for one in table.groups:
        if one.four_fifths:
            by_answer.setdefault(one.four_fifths, []).append(visible(one.group))
    words = {AT_LEAST: "at least four fifths is shown for", BELOW: "less than four fifths for"}
    told = [
        f"{words.get(answer, 'neither is shown for')} {', '.join(names)}"
        for answer, names in by_answer.items()
    ]
    yield f"{clip(table.attribute)}, four fifths: {'; '.join(told)}."


def _ends(one: ImpactGroup) -> str:
    return f"[{one.interval.low:.2f}, {one.interval.high:.2f}]"


def _notes(found: ImpactRatios) -> Iterator[str]:
    yield (
        f"An impact ratio is a rate over the largest rate of any group. Its interval "
        f"({percent(found.level)}) allows for not knowing which group that is; p values are exact "
        "(Fisher, one-sided), of no group having a larger rate, corrected for the number of groups."
    )
    for table in found.tables:
        if table.unknown:
            yield (
                f"{clip(table.attribute)} is not known of {_people(table.unknown)}, "
                f"{count(table.unknown_hits)} of them {_hit_word(found)}: they are in no group."
            )
        for one in table.groups:
            if one.why_none:
                told = "" if one.hits < 0 else f", {count(one.hits)} of them {_hit_word(found)}"
                size = "" if one.hits < 0 else f"{_people(one.n)}{told}, "
                yield f"{visible(one.group)}: {size}no ratio: {one.why_none}."
    yield "A ratio says nothing of why rates differ, and is no legal finding."


def _people(n: int) -> str:
    return f"{count(n)} {'person' if n == 1 else 'people'}"


def _hit_word(found: ImpactRatios) -> str:
    return "selected" if found.median is None else "above the median"


def _grid(found: ImpactRatios, table: ImpactTable) -> Grid:
    asked = ("four fifths",) if found.four_fifths else ()
    hits = "selected" if found.median is None else "above median"
    return Grid(
        title=clip(table.attribute),
        header=("group", "people", hits, "rate", "impact ratio", "p", *asked),
        rows=tuple(
            (
                clip(one.group),
                *_counts(one),
                one.why_none or f"{one.ratio:.2f}\n{_ends(one)}",
                p_value(one.p_value),
                *((one.four_fifths or MISSING,) if asked else ()),
            )
            for one in table.groups
        ),
    )


def _counts(one: ImpactGroup) -> tuple[str, str, str]:
    if one.hits < 0:
        return one.why_none.replace("fewer than", "<").removesuffix(" people"), MISSING, MISSING
    ends = interval(*one.rate_interval[:2], sign=False)
    return count(one.n), count(one.hits), f"{rate(one.rate)}\n{ends}"


def ratio_chart(found: ImpactRatios, table: ImpactTable) -> RowChart:
    """Return a picture of the impact ratios of a table."""
    shown = [one for one in table.groups if not one.why_none]
    return RowChart(
        title=f"Impact ratio by {clip(table.attribute)}, with {percent(found.level)} intervals",
        about="; ".join(f"{visible(one.group)}: {one.ratio:.2f}" for one in shown),
        axis=Axis(
            label="rate over the largest rate",
            low=0.0,
            high=1.05,
            ticks=tuple(Tick(at / 5, f"{at / 5:g}") for at in range(6)),
        ),
        rows=tuple(
            Row(
                label=shorten_label(clip(one.group)),
                note=_people(one.n),
                marks=(
                    Mark(kind="plain", x=one.ratio, low=one.interval.low, high=one.interval.high),
                ),
            )
            for one in shown
        ),
        line=0.8 if found.four_fifths else 1.0,
    )
