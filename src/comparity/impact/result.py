"""The frozen answer of an audit of impact ratios, and how it is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import Interval
from comparity.reports.advice import IMPACT_STEPS
from comparity.reports.charts import Axis, Mark, Row, RowChart, Tick, shorten_label
from comparity.reports.plots import draw
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
    several,
)
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AT_LEAST, BELOW, OPEN = "at least 4/5", "below 4/5", "neither"
NOWHERE = Interval(math.nan, math.nan, math.nan)
NAMED = 6
"""Groups that a sentence names; the table has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactGroup:
    """A group, its rate, and that rate over the largest one.

    Attributes
    ----------
    group : str
    n, hits : int
        People, and those selected (or above the median); -1 where they are hidden.
    rate : float
    rate_interval : Interval
    share : float
        Of all people whose group is known.
    ratio : float
        Rate over the largest rate of the groups compared; ``nan`` where there is none.
    interval : Interval
        Allows for not knowing which group has the largest rate.
    p_value : float
        Of no group having a larger rate: Fisher's exact test, one-sided, corrected for the number
        of other groups.
    four_fifths : str
        What is shown of a ratio of four fifths, where that was asked.
    why_none : str
        Why there is no ratio.
    """

    group: str
    n: int = -1
    hits: int = -1
    rate: float = math.nan
    rate_interval: Interval = NOWHERE
    share: float = math.nan
    ratio: float = math.nan
    interval: Interval = NOWHERE
    p_value: float = math.nan
    four_fifths: str = ""
    why_none: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactTable:
    """All groups of one attribute, or of a combination.

    Attributes
    ----------
    attribute : str
    groups : tuple of ImpactGroup
    unknown, unknown_hits : int
        People whose group is not known, and how many of them were selected.
    """

    attribute: str
    groups: tuple[ImpactGroup, ...]
    unknown: int
    unknown_hits: int

    @property
    def best(self) -> ImpactGroup:
        """The group with the largest rate of those that have a ratio."""
        return max(
            (one for one in self.groups if not one.why_none), key=lambda one: (one.rate, one.group)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactRatios(Result):
    """Selection or scoring rates of groups, and their impact ratios.

    Attributes
    ----------
    tables : tuple of ImpactTable
        One for each attribute, and one for their combination.
    outcome : str
        What rates are of.
    median : float or None
        Of the scores, where rates are shares above it.
    n, hits : int
    level : float
        Of the intervals.
    four_fifths : bool
        Whether that was asked.
    provenance : mapping
    """

    tables: tuple[ImpactTable, ...]
    outcome: str
    median: float | None
    n: int
    hits: int
    level: float
    four_fifths: bool
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def with_provenance(self, more: Mapping[str, Any]) -> ImpactRatios:
        """Return the same answer with more on where it came from."""
        return replace(self, provenance={**self.provenance, **more})

    def section(self) -> Section:
        """Return the ratios as a section of a report."""
        return _section(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each group."""
        return [
            {
                **{"attribute": table.attribute, "group": one.group},
                "n": None if one.n < 0 else one.n,
                "selected": None if one.hits < 0 else one.hits,
                **{"rate": one.rate, "ratio": one.ratio},
                **{"ratio_low": one.interval.low, "ratio_high": one.interval.high},
                **{"p_value": one.p_value, "four_fifths": one.four_fifths, "remark": one.why_none},
            }
            for table in self.tables
            for one in table.groups
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the impact ratios of the last table, the finest groups."""
        return draw(_chart(self, self.tables[-1]), ax)


def _section(found: ImpactRatios) -> Section:
    return Section(
        headline=f"Impact ratios of {clip(found.outcome)}: {_people(found.n)}",
        sentences=tuple(_sentences(found)),
        charts=tuple(_chart(found, table) for table in found.tables),
        grids=tuple(_grid(found, table) for table in found.tables),
        lists={"What to know": list(_notes(found))},
        steps=IMPACT_STEPS,
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
            f"{ends.high:.2f}): {_chance(worst, found.level)}."
        )
        yield from _on_four_fifths(found, table)


def _chance(one: ImpactGroup, level: float) -> str:
    """Return whether chance explains that a rate is below the largest one."""
    is_shown = one.p_value < 1 - level
    told = "below 1 by more than chance explains" if is_shown else "chance may explain it"
    return f"{told} (p {p_value(one.p_value)})"


def _on_four_fifths(found: ImpactRatios, table: ImpactTable) -> Iterator[str]:
    if not found.four_fifths:
        return
    by_answer: dict[str, list[str]] = {}
    for one in table.groups:
        if one.four_fifths:
            by_answer.setdefault(one.four_fifths, []).append(visible(one.group))
    words = {
        AT_LEAST: "at least four fifths is shown for",
        BELOW: "less than four fifths is shown for",
        OPEN: "neither is shown for",
    }
    told = [
        f"{said} {_list_groups(by_answer[answer])}"
        for answer, said in words.items()
        if answer in by_answer
    ]
    yield f"{clip(table.attribute)}, four fifths: {'; '.join(told)}."


def _answer(one: ImpactGroup) -> str:
    return f"{OPEN} shown" if one.four_fifths == OPEN else one.four_fifths or MISSING


def _list_groups(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {several(len(names) - NAMED, 'more group')}"


def _ends(one: ImpactGroup) -> str:
    return f"[{one.interval.low:.2f}, {one.interval.high:.2f}]"


def _notes(found: ImpactRatios) -> Iterator[str]:
    yield (
        "An impact ratio is the rate of a group divided by the largest rate of any group. Its "
        f"{percent(found.level)} interval allows for not knowing which group that is. The p value "
        "tests that no group has a larger rate (Fisher's exact test, one-sided, corrected for the "
        "number of groups)."
    )
    yield "Assumed: rows are independent of each other, one for each person."
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
    yield "A ratio does not say why rates differ, and is not a legal finding."


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
                *((_answer(one),) if asked else ()),
            )
            for one in table.groups
        ),
    )


def _counts(one: ImpactGroup) -> tuple[str, str, str]:
    if one.hits < 0:
        return one.why_none.replace("fewer than", "<").removesuffix(" people"), MISSING, MISSING
    ends = interval(*one.rate_interval[:2], sign=False)
    return count(one.n), count(one.hits), f"{rate(one.rate)}\n{ends}"


def _chart(found: ImpactRatios, table: ImpactTable) -> RowChart:
    shown = [one for one in table.groups if not one.why_none]
    return RowChart(
        title=f"Impact ratio by {clip(table.attribute)}, with {percent(found.level)} intervals; "
        f"the line marks {'four fifths' if found.four_fifths else 'equal rates'}",
        about="; ".join(f"{visible(one.group)}: {one.ratio:.2f}" for one in shown),
        axis=Axis(
            label="rate divided by the largest rate",
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
