"""The comparison of ratings with comparisons, and its report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from comparity.inference.gap_tests import Interval
from comparity.reports.charts import Axis, Mark, Row, RowChart, Tick
from comparity.reports.plots import draw
from comparity.reports.sections import Grid, Section, clip, count, p_value, percent, several
from comparity.results.result import UNDECIDED, Result, frame_of_rows

RATIO, DIFFERENCE = "ratio", "difference"
MINUTES, TIME, MEDIAN = "minutes", "time", "median time"
CONSISTENCY, AGREEMENT, LOAD = "consistency", "agreement", "effort"
SAME_GAP = "minutes, the same gap in both"
SECONDS = (TIME, MEDIAN)
SHARES = (CONSISTENCY, AGREEMENT)
RATIO_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEstimate:
    """One number of one task.

    Attributes
    ----------
    value : float
        ``nan`` where it cannot be had.
    interval : Interval
    n_judges : int
        Judges behind it.
    """

    value: float
    interval: Interval
    n_judges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContrast:
    """One number for ratings and for comparisons, and how they differ.

    Attributes
    ----------
    outcome : str
    scale : {"ratio", "difference"}
        What `value` is: ratings over comparisons, or ratings less comparisons.
    ratings, comparisons : TaskEstimate
    value : float
    interval : Interval
    p_value : float
        Of no difference; ``nan`` where there is no test.
    about : str
        What it is, or why it cannot be had.
    """

    outcome: str
    scale: str
    ratings: TaskEstimate
    comparisons: TaskEstimate
    value: float
    interval: Interval
    p_value: float
    about: str

    @property
    def is_known(self) -> bool:
        """Whether there is a contrast with an interval."""
        return math.isfinite(self.value) and math.isfinite(self.interval.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison(Result):
    """Ratings beside comparisons: time, consistency, agreement, effort and minutes for a verdict.

    Attributes
    ----------
    contrasts : tuple of TaskContrast
        Minutes first, which is the primary outcome.
    n_ratings, n_comparisons : int
        Answers, repeats included.
    n_raters, n_comparers : int
        Judges of either task.
    n_pauses, n_untimed : int
        Answers whose time was taken for a pause, or was not measured.
    n_chosen, n_dropped : int
        Comparisons left out because earlier answers chose their pair, and answers left out with
        flagged judges.
    gap, power, alpha : float
        The verdict that minutes are counted for.
    longest : float
        Seconds from which on a time counted as a pause.
    level : float
        Of the intervals.
    """

    DERIVED: ClassVar[Mapping[str, str]] = {"fewer_minutes": "fewer_minutes"}

    contrasts: tuple[TaskContrast, ...]
    n_ratings: int
    n_comparisons: int
    n_raters: int
    n_comparers: int
    n_pauses: int
    n_untimed: int
    n_chosen: int
    n_dropped: int
    gap: float
    power: float
    alpha: float
    longest: float
    level: float

    def __getitem__(self, outcome: str) -> TaskContrast:
        """Return the contrast of an outcome, such as ``"time"``."""
        return {one.outcome: one for one in self.contrasts}[outcome]

    @property
    def fewer_minutes(self) -> str:
        """Which task needs fewer minutes: ``"ratings"``, ``"comparisons"`` or ``"undecided"``."""
        found = self.contrasts[0]
        if not found.is_known or found.interval.low <= 1 <= found.interval.high:
            return UNDECIDED
        return "ratings" if found.value < 1 else "comparisons"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each outcome."""
        return [
            {
                **{"outcome": one.outcome, "scale": one.scale},
                **{"ratings": one.ratings.value, "ratings_low": one.ratings.interval.low},
                "ratings_high": one.ratings.interval.high,
                **{"comparisons": one.comparisons.value},
                **{"comparisons_low": one.comparisons.interval.low},
                "comparisons_high": one.comparisons.interval.high,
                **{"value": one.value, "low": one.interval.low, "high": one.interval.high},
                **{"p_value": one.p_value, "about": one.about},
            }
            for one in self.contrasts
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each outcome, as a frame of the named engine."""
        return frame_of_rows(self.rows(), backend)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        headlines = {
            "ratings": "Rating needs fewer minutes than comparing",
            "comparisons": "Comparing needs fewer minutes than rating",
            UNDECIDED: "Undecided which task needs fewer minutes",
        }
        return Section(
            headline=headlines[self.fewer_minutes],
            sentences=tuple(self._sentences()),
            charts=self._charts(),
            grids=(self._grid(),),
            lists={"What was assumed": self._notes()},
        )

    def _sentences(self) -> Iterator[str]:
        minutes, time = self.contrasts[0], self[TIME]
        if time.is_known:
            yield (
                f"Rating an item took {time.ratings.value:.1f} s, comparing a pair "
                f"{time.comparisons.value:.1f} s {_between(time)}."
            )
        verdict = (
            f"a gap of {100 * self.gap:g} points between two kinds of pairs, found with "
            f"{percent(self.power)} power"
        )
        if minutes.is_known:
            yield (
                f"For the same verdict ({verdict}) ratings need {_minutes(minutes.ratings.value)} "
                f"of judging, comparisons {_minutes(minutes.comparisons.value)} "
                f"{_between(minutes)}."
            )
            if self.fewer_minutes == UNDECIDED:
                yield f"Which task needs fewer minutes is {UNDECIDED}: the interval contains 1."
        else:
            yield f"How many minutes a verdict needs is not known: {minutes.about}."
        for outcome, words in (
            (CONSISTENCY, "A judge who orders two items twice gives the same order"),
            (AGREEMENT, "Two judges order two items in the same way"),
        ):
            one = self[outcome]
            if one.is_known:
                yield (
                    f"{words} in {_share(one.ratings.value)} by ratings, in "
                    f"{_share(one.comparisons.value)} by comparisons {_between(one)}."
                )
        effort = self._find(LOAD)
        if effort is not None and effort.is_known:
            yield (
                f"Mean effort, from 1 to 7: {effort.ratings.value:.1f} for rating, "
                f"{effort.comparisons.value:.1f} for comparing {_between(effort)}."
            )

    def _find(self, outcome: str) -> TaskContrast | None:
        return next((one for one in self.contrasts if one.outcome == outcome), None)

    def _notes(self) -> list[str]:
        notes = [
            f"{several(self.n_ratings, 'rating')} by {several(self.n_raters, 'judge')}, "
            f"{several(self.n_comparisons, 'comparison')} by {several(self.n_comparers, 'judge')}. "
            "Each judge did one task, so tasks are compared between judges: the sample size is the "
            "number of judges, not of answers. The comparison is fair if judges were assigned to "
            "tasks at random.",
            "Minutes are the primary outcome. Each other test is at "
            f"{percent(self.alpha)}, without a correction for multiple tests.",
            "A judge's ratings order all pairs of items that this judge rated; equal ratings are a "
            "tie, which counts half in consistency and agreement and is left out of verdicts.",
            "Minutes are for the items of this study and more judges like these. Noisier answers "
            "hide gaps, so the gap that ratings have to find is scaled: by how often the model "
            "agrees with raters, relative to how often it agrees with those who compared.",
        ]
        if self.n_pauses:
            notes.append(
                f"{several(self.n_pauses, 'answer')} took more than {self.longest:g} s: their "
                "times count as pauses and are left out; the answers are kept."
            )
        if self.n_untimed:
            notes.append(f"{several(self.n_untimed, 'answer')} without a time.")
        if self.n_chosen:
            notes.append(
                f"{several(self.n_chosen, 'comparison')} left out: their pairs were chosen because "
                "of earlier answers and are closer than others."
            )
        if self.n_dropped:
            notes.append(f"{several(self.n_dropped, 'answer')} of flagged judges left out.")
        return notes

    def _grid(self) -> Grid:
        header = ("", "ratings", "comparisons", "ratings against comparisons", "p", "what it is")
        return Grid(
            title=f"Ratings and comparisons, with {percent(self.level)} intervals",
            header=header,
            rows=tuple(
                (
                    one.outcome,
                    _cell(one.outcome, one.ratings.value, one.ratings.interval),
                    _cell(one.outcome, one.comparisons.value, one.comparisons.interval),
                    _contrast_cell(one),
                    p_value(one.p_value),
                    clip(one.about),
                )
                for one in self.contrasts
            ),
        )

    def _charts(self) -> tuple[RowChart, ...]:
        known = [one for one in self.contrasts if one.scale == RATIO and one.is_known]
        if not known:
            return ()
        ends = [end for one in known for end in (*one.interval[:2], one.value)]
        low, high = min(0.5, *ends) / 1.1, max(2.0, *ends) * 1.1
        ticks = tuple(Tick(at, f"{at:g}") for at in RATIO_TICKS if low <= at <= high)
        label = "ratings over comparisons; below 1, ratings need less"
        return (
            RowChart(
                title=f"Ratings over comparisons, with {percent(self.level)} intervals",
                about="; ".join(f"{one.outcome}: {one.value:.2f}" for one in known),
                axis=Axis(label=label, low=low, high=high, ticks=ticks, is_log=True),
                rows=tuple(
                    Row(
                        label=one.outcome,
                        marks=(
                            Mark(
                                kind="plain",
                                x=one.value,
                                low=one.interval.low,
                                high=one.interval.high,
                            ),
                        ),
                    )
                    for one in known
                ),
                line=1.0,
            ),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the ratios of minutes and times with their intervals."""
        return draw(self._charts()[0], ax)


def _between(one: TaskContrast) -> str:
    low, high = one.interval[:2]
    form = ".2f" if one.scale == RATIO else "+.2f"
    return (
        f"({one.scale} {one.value:{form}}, {percent(one.interval.level)} interval "
        f"{low:{form}} to {high:{form}})"
    )


def _minutes(value: float) -> str:
    return f"{count(math.ceil(value))} minutes" if math.isfinite(value) else "no number of minutes"


def _share(value: float) -> str:
    return f"{100 * value:.0f} of 100 cases"


def _number(outcome: str, value: float) -> str:
    if not math.isfinite(value):
        return "n/a"
    if outcome.startswith(MINUTES):
        return count(math.ceil(value))
    return f"{value:.3f}" if outcome in SHARES else f"{value:.1f}"


def _cell(outcome: str, value: float, ends: Interval) -> str:
    told = _number(outcome, value) + (" s" if outcome in SECONDS and math.isfinite(value) else "")
    if not math.isfinite(ends.low) or not math.isfinite(ends.high):
        return told
    return f"{told}\n[{_number(outcome, ends.low)}, {_number(outcome, ends.high)}]"


def _contrast_cell(one: TaskContrast) -> str:
    if not math.isfinite(one.value):
        return "n/a"
    sign = "" if one.scale == RATIO else "+"
    told = f"{one.scale} {one.value:{sign}.2f}"
    if not one.is_known:
        return told
    return f"{told}\n[{one.interval.low:{sign}.2f}, {one.interval.high:{sign}.2f}]"
