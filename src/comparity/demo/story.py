"""The story of an audit on simulated data: at every step, what was found beside what is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from comparity.errors.spelling import visible
from comparity.reports.charts import KINDS, Mark, Row, RowChart, axis_around
from comparity.reports.sections import Grid, Section, interval, percent, signed
from comparity.results.audit import JudgedGap
from comparity.results.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGap:
    """A gap as it was found and as it is.

    Attributes
    ----------
    model, null : str
        Whose gap, and the hypothesis that it is zero.
    true, found : float
        The gap as it is, and its estimate.
    low, high, level : float
        The interval it was judged by.
    finding : str
        What the audit found.
    """

    model: str
    null: str
    true: float
    found: float
    low: float
    high: float
    level: float
    finding: str

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.true <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Anything else that was found, beside what is true, both as they are printed."""

    about: str
    true: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the story.

    Attributes
    ----------
    title : str
        What was done.
    sentences : tuple of str
        What came out.
    gaps : tuple of FoundGap
        Gaps that were tested.
    facts : tuple of Fact
        What else can be compared with the truth.
    """

    title: str
    sentences: tuple[str, ...]
    gaps: tuple[FoundGap, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Result):
    """All steps, and what they rest on.

    Attributes
    ----------
    headline : str
        The story in one line.
    steps : tuple of Step
        What was done, in order.
    margin, alpha : float
        Largest harmless gap and overall false-alarm rate of every audit.
    notes : tuple of str
        What the reader must know.
    provenance : mapping
        Version, seed and sizes.
    """

    headline: str
    steps: tuple[Step, ...]
    margin: float
    alpha: float
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        return section(self)


def found_gaps(
    model: str, tests: Sequence[JudgedGap], truth: Mapping[str, float]
) -> tuple[FoundGap, ...]:
    """Put the tests of an audit beside the true gaps, which are known by hypothesis."""
    found = []
    for test in tests:
        low, high, level = test.deciding_interval
        found.append(
            FoundGap(
                model=model,
                null=test.null,
                true=truth[test.null],
                found=test.gap,
                low=low,
                high=high,
                level=level,
                finding=test.finding,
            )
        )
    return tuple(found)


def step_grids(step: Step) -> tuple[Grid, ...]:
    """Return the tables of a step: gaps, and other facts."""
    grids = []
    if step.gaps:
        grids.append(
            Grid(
                title=step.title,
                header=("model and hypothesis", "true gap", "found", "interval judged", "finding"),
                rows=tuple(map(_row, step.gaps)),
                findings=tuple(gap.finding for gap in step.gaps),
            )
        )
    if step.facts:
        rows = tuple((visible(one.about), one.true, one.found) for one in step.facts)
        title = f"{step.title}: what else is known" if step.gaps else step.title
        grids.append(Grid(title=title, header=("", "true", "found"), rows=rows))
    return tuple(grids)


def _row(gap: FoundGap) -> tuple[str, ...]:
    return (
        visible(f"{gap.model}: {gap.null}"),
        signed(gap.true),
        signed(gap.found),
        f"{interval(gap.low, gap.high)}\nat {percent(gap.level)}",
        gap.finding,
    )


def section(story: Story) -> Section:
    """Return what is shown of a story: the gaps of all steps in one picture, then every step."""
    gaps = [(step, gap) for step in story.steps for gap in step.gaps]
    return Section(
        headline=visible(story.headline),
        sentences=tuple(
            visible(f"{step.title}. {' '.join(step.sentences)}") for step in story.steps
        ),
        charts=(_chart(gaps, story.margin),) if gaps else (),
        grids=tuple(grid for step in story.steps for grid in step_grids(step)),
        lists={"Notes": [visible(note) for note in story.notes]},
    )


def _chart(gaps: Sequence[tuple[Step, FoundGap]], margin: float) -> RowChart:
    """Describe every gap that crosses groups with its interval, and the truth underneath."""
    across = [(step, gap) for step, gap in gaps if _crosses(gap.null)]
    ends = [end for _, gap in across for end in (gap.low, gap.high, gap.true)]
    return RowChart(
        title="Gap between women and men in mixed pairs, as found with its interval, and as it is "
        "(grey diamond below)",
        about="; ".join(
            f"{gap.model}: found {signed(gap.found)}, true {signed(gap.true)}" for _, gap in across
        ),
        axis=axis_around("gap; below zero women are put too low", [margin, *ends]),
        rows=tuple(
            Row(
                # The number of the step is all that fits beside the picture.
                label=f"{visible(gap.model)}, step {step.title.partition(' ')[0].rstrip('.')}",
                note=f"found {signed(gap.found)}, true {signed(gap.true)}",
                marks=(
                    Mark(kind=KINDS[gap.finding], x=gap.found, low=gap.low, high=gap.high),
                    Mark(kind="plain", x=gap.true, low=gap.true, high=gap.true, below=0.3),
                ),
            )
            for step, gap in across
        ),
        band=(-margin, margin),
        line=0.0,
    )


def _crosses(null: str) -> bool:
    """Return whether a hypothesis such as ``agree(f > m) = agree(m > f)`` is about mixed pairs."""
    cell = null.partition(" = ")[0].removeprefix("agree(").removesuffix(")")
    better, ordered, worse = cell.partition(" > ")
    return bool(ordered) and better != worse
