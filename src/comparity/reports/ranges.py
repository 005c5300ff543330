"""Numbers that must lie in a range, such as impact ratios and published metrics.

A number is shown to lie in its range where both ends of an interval do, each one-sided at alpha;
all numbers have to, so no correction is needed (an intersection-union test). It is shown to lie
outside where a whole interval does, at alpha over the number of numbers (Bonferroni). Otherwise
the data decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.inference.gap_tests import Interval
from comparity.reports.charts import KINDS
from comparity.reports.sections import Grid, Section, clip, count, interval, percent, several
from comparity.results.options import Options
from comparity.results.result import EXIT_STATUS, UNDECIDED, VIOLATED, WITHIN, Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRange:
    """A number, the range it must lie in, and whether it is shown to.

    Attributes
    ----------
    name : str
    value : float
    low, high : float
        The range, both ends included.
    inside, outside : Interval
        What has to lie in the range, and what has to lie outside, for a finding.
    reason : str
        Why nothing can be decided, where that is so whatever the intervals.
    """

    name: str
    value: float
    low: float
    high: float
    inside: Interval
    outside: Interval
    reason: str = ""

    DERIVED: ClassVar[Mapping[str, str]] = {"finding": "finding"}

    @property
    def is_tested(self) -> bool:
        """Whether there is a number to judge."""
        return self.value == self.value and not self.reason

    @property
    def finding(self) -> str:
        """One of the three words."""
        if not self.is_tested:
            return UNDECIDED
        if self.low <= self.inside.low and self.inside.high <= self.high:
            return WITHIN
        beyond = self.outside.high < self.low or self.outside.low > self.high
        return VIOLATED if beyond else UNDECIDED

    @property
    def null(self) -> str:
        """What is asked, in words."""
        return f"{self.name} from {self.low:g} to {self.high:g}"

    @property
    def deciding_interval(self) -> Interval:
        """The interval that stands behind the finding."""
        return self.inside if self.finding == WITHIN else self.outside


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeAudit(Result):
    """Numbers with the ranges they must lie in, and the answer that they are from.

    Attributes
    ----------
    notion : str
    tests : tuple of JudgedRange
    alpha : float
        False-alarm rate over all numbers.
    answer : Result
        Impact ratios, or a scorecard of metrics.
    provenance : mapping
    """

    notion: str
    tests: tuple[JudgedRange, ...]
    alpha: float
    answer: Result
    provenance: Mapping[str, Any] = field(default_factory=dict)

    DERIVED: ClassVar[Mapping[str, str]] = {"finding": "finding", "exit_status": "exit_status"}

    @property
    def finding(self) -> str:
        """Violated if any number is, within the margin only if all are."""
        found = {test.finding for test in self.tests}
        if VIOLATED in found:
            return VIOLATED
        return WITHIN if found == {WITHIN} else UNDECIDED

    @property
    def exit_status(self) -> int:
        """What a command that made this audit returns to the shell."""
        return EXIT_STATUS[self.finding]

    def section(self) -> Section:
        """Return what is told: whether all numbers lie in their ranges, then the numbers."""
        inner = self.answer.section()
        return Section(
            headline=f"{self.notion[:1].upper()}{self.notion[1:]}: {self.finding}",
            sentences=(*inner.sentences[:1], _count_findings(self.tests), *inner.sentences[1:]),
            kind=KINDS[self.finding],
            charts=inner.charts,
            grids=(
                Grid(
                    title="Ranges",
                    header=("number", "value", "range", "interval judged", "finding"),
                    rows=tuple(map(_row, self.tests)),
                    findings=tuple(test.finding for test in self.tests),
                ),
                *inner.grids,
            ),
            lists=inner.lists,
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each number, as a frame of the named engine."""
        names = ("name", "value", "low", "high", "finding")
        rows = [{name: getattr(test, name) for name in names} for test in self.tests]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the answer that the numbers are from."""
        answer: Any = self.answer
        drawn: Axes = answer.plot(ax)
        return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeGate:
    """How a gate judges a question whose answer is numbers with intervals.

    Attributes
    ----------
    form : class
        What a policy says: the choices of the question, and the false-alarm rate.
    question : class
        The choices of the question alone, one of which is the level of intervals.
    of_frame, of_file : callable
        Answer the question from a frame, or from a file.
    judge : callable
        Takes the form and a function from a level to the answer, and returns what is judged.
    """

    form: type[Options]
    question: type[Options]
    of_frame: Callable[..., Result]
    of_file: Callable[..., Result]
    judge: Callable[[Any, Callable[[float], Any]], RangeAudit]

    def judge_frame(self, frame: Any, **choices: Any) -> RangeAudit:
        """Judge the numbers of a frame of any engine; `choices` are those of the form."""
        return self._judge(self.of_frame, frame, choices)

    def judge_file(self, path: str | Path, **choices: Any) -> RangeAudit:
        """Judge the numbers of a file; `choices` are those of the form."""
        return self._judge(self.of_file, path, choices)

    def _judge(
        self, answer: Callable[..., Result], table: Any, choices: Mapping[str, Any]
    ) -> RangeAudit:
        form = self.form(**choices)
        own = {one.name: getattr(form, one.name) for one in fields(self.question)}
        return self.judge(form, lambda level: answer(table, **{**own, "level": level}))


def _count_findings(tests: Sequence[JudgedRange]) -> str:
    counts = [(sum(t.finding == word for t in tests), word) for word in EXIT_STATUS]
    words = {WITHIN: "shown to lie in their range", VIOLATED: "shown to lie outside"}
    told = [f"{count(n)} {words.get(word, 'not decided')}" for n, word in counts if n]
    return f"Of {several(len(tests), 'number')}: {', '.join(told)}."


def _row(test: JudgedRange) -> tuple[str, ...]:
    low, high, level = test.deciding_interval
    shown = f"{interval(low, high, sign=False)}\nat {percent(level)}"
    return (
        clip(test.name),
        f"{test.value:.3f}" if test.is_tested else "n/a",
        f"{test.low:g} to {test.high:g}",
        shown if test.is_tested else clip(test.reason or "no number"),
        test.finding,
    )
