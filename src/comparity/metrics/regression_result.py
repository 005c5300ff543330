"""The answer about errors that are numbers, and how it is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from comparity.errors.spelling import visible
from comparity.inference.gap_tests import Interval, plain
from comparity.reports.charts import Mark, Row, RowChart, axis_between
from comparity.reports.plots import draw
from comparity.reports.sections import MISSING, Grid, Section, p_value, percent, several
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = ("mean error", "mean absolute error", "residual correlation")

NOTES = (
    "Rows are taken to be independent of each other.",
    "Errors are prediction minus label. The residual correlation is that of errors with "
    "predictions: above 0 where high predictions are too high.",
    "Intervals of gaps hold together, as p values do after Holm's correction over all of them.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupError:
    """One measure of the errors of one group.

    Attributes
    ----------
    measure, group : str
        Which measure, of whom.
    value : float
        ``nan`` with too few rows, and of a correlation where nothing varies.
    interval : Interval
    n : int
        Rows of the group.
    """

    measure: str
    group: str
    value: float
    interval: Interval
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGap:
    """How far a measure is apart in two groups.

    Attributes
    ----------
    measure, first, second : str
        Which measure, of whom; the gap is first minus second.
    gap : float
    interval : Interval
        At such a level that those of all gaps hold together.
    p_value, p_adjusted : float
        Of no gap, before and after Holm's correction over all gaps of the answer.
    """

    measure: str
    first: str
    second: str
    gap: float
    interval: Interval
    p_value: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionMetrics(Result):
    """Errors of predictions that are numbers, by group, and how far they are apart.

    Attributes
    ----------
    errors : tuple of GroupError
        One for each measure and group.
    gaps : tuple of ErrorGap
        One for each measure and two groups.
    groups : tuple of str
    level : float
        Of the intervals of one group, and of all gaps together.
    n : int
        Rows.
    notes : tuple of str
    provenance : mapping
        Version, options and facts about the data.
    """

    errors: tuple[GroupError, ...]
    gaps: tuple[ErrorGap, ...]
    groups: tuple[str, ...]
    level: float
    n: int
    notes: tuple[str, ...] = NOTES
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return _section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each measure and group, as a frame of the named engine."""
        rows = [
            {
                "measure": one.measure,
                "group": one.group,
                "value": plain(one.value),
                "low": plain(one.interval.low),
                "high": plain(one.interval.high),
                "n": one.n,
            }
            for one in self.errors
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean errors of all groups."""
        return draw(_chart(self, "mean error"), ax)


def _section(found: RegressionMetrics) -> Section:
    """Return what is shown: measures by group, then gaps."""
    apart = [one for one in found.gaps if one.p_adjusted <= 1 - found.level]
    errors = {(one.measure, one.group): one for one in found.errors}
    return Section(
        headline=f"Errors by group: {len(apart)} of {len(found.gaps)} gaps are beyond chance",
        sentences=(
            f"{several(found.n, 'row')}; overall false-alarm rate {percent(1 - found.level)} "
            "(Holm). Nothing is judged: how large a gap may be depends on the unit of the labels.",
        ),
        charts=tuple(_chart(found, measure) for measure in MEASURES),
        grids=(
            Grid(
                title="By group",
                header=("group", *MEASURES),
                rows=tuple(
                    (
                        f"{visible(group)}\nn {errors[MEASURES[0], group].n:,}",
                        *(_tell_error(errors[measure, group]) for measure in MEASURES),
                    )
                    for group in found.groups
                ),
            ),
            Grid(
                title="Gaps",
                header=("measure", "groups", "gap", "interval", "p (adj.)"),
                rows=tuple(
                    (
                        one.measure,
                        f"{visible(one.first)} - {visible(one.second)}",
                        _number(one.gap),
                        _ends(one.interval.low, one.interval.high),
                        p_value(one.p_adjusted),
                    )
                    for one in found.gaps
                ),
            ),
        ),
        lists={"Notes": [visible(note) for note in found.notes]},
    )


def _tell_error(one: GroupError) -> str:
    low, high, _ = one.interval
    sign = one.measure != "mean absolute error"
    return f"{_number(one.value, sign=sign)}\n{_ends(low, high, sign=sign)}"


def _number(value: float, *, sign: bool = True) -> str:
    """Return a number in the unit of the labels, with four digits."""
    if math.isnan(value):
        return MISSING
    return f"{value:+.4g}" if sign else f"{value:.4g}"


def _ends(low: float, high: float, *, sign: bool = True) -> str:
    if math.isnan(low) or math.isnan(high):
        return MISSING
    return f"[{_number(low, sign=sign)}, {_number(high, sign=sign)}]"


def _chart(found: RegressionMetrics, measure: str) -> RowChart:
    """Describe a measure of all groups with its intervals."""
    shown = [one for one in found.errors if one.measure == measure]
    values = [end for one in shown for end in (one.value, *one.interval[:2]) if end == end]
    return RowChart(
        title=f"{measure.capitalize()} by group, {several(found.n, 'row')}",
        axis=axis_between(f"{measure}, intervals at {percent(found.level)}", [0.0, *values]),
        rows=tuple(
            Row(
                label=visible(one.group),
                note=f"n {one.n:,}",
                marks=(
                    Mark(kind="first", x=one.value, low=one.interval.low, high=one.interval.high),
                ),
            )
            for one in shown
            if one.value == one.value
        ),
        line=0.0,
    )
