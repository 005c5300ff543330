"""Frozen plans: what a study of a given size would be able to show.

A plan knows its assumptions, its size and its power. What depends on a further choice (other
sizes, other numbers of items) is a method.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.planning.power_question import PowerFunction, RecordedPower, Stopping
from comparity.results.plain import UNWRITTEN, as_plain, from_plain
from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section


RATES = {
    *("tpr", "fpr", "tnr", "shares", "base_rates"),
    *("quality_spread", "quality_mean", "model_error", "model_shift"),
}
"""Assumptions that are one number for each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """One hypothesis as it would be tested.

    Attributes
    ----------
    null : str
        The hypothesis in words.
    first_rate, second_rate, gap : float
        The two assumed rates, and the first minus the second.
    standard_error : float
        Standard error the estimated gap would have.
    power : float
        Probability that this test alone rejects at its level; when a margin is planned for, that
        it puts its gap within the margin.
    n : tuple of float
        Trials expected behind the first and the second rate.
    """

    null: str
    first_rate: float
    second_rate: float
    gap: float
    standard_error: float
    power: float
    n: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What judging the pairs of so many items takes, or gives.

    Attributes
    ----------
    n_items : int or None
        Items the pairs are drawn from; ``None`` for fresh items.
    n_pairs : int or None
        Judged pairs; ``None`` where no number of judgments gives the power wanted.
    reuse : float
        Mean number of judgments an item takes part in; infinite where `n_pairs` is ``None``.
    power : float
        Power with these pairs.
    ceiling : float
        Power as judgments of these items grow without end.
    """

    n_items: int | None
    n_pairs: int | None
    reuse: float
    power: float
    ceiling: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Result):
    """What every plan has.

    Attributes
    ----------
    power : float
        P(at least one gap is found to differ from zero) by the rule, whatever margin the audit
        will have; P(all gaps shown within the margin) where a margin is planned for; the largest
        power there is where the power wanted is out of reach.
    target : float or None
        The power asked for; ``None`` where a size was.
    tests : tuple of PlannedTest
        One for each hypothesis.
    groups : tuple of str
        The groups, in the order their rates were given.
    alpha : float
        Overall false-alarm rate; with rule ``"paper"``, and for a margin, that of each test.
    margin : float or None
        Largest harmless gap, where the plan is to show that all gaps are within it.
    rule : str
        ``"holm"`` or ``"paper"``.
    design : str
        Which sampling design the plan is for.
    notes : tuple of str
        What the reader must know.
    assumptions : mapping
        All rates, shares and choices the plan rests on.
    provenance : mapping
        Version and options.
    stopping : Stopping or None
        When the study would stop if it may at any moment, where that was asked for.
    question : PowerFunction
        The power as a function of the size.
    """

    power: float
    target: float | None
    tests: tuple[PlannedTest, ...]
    groups: tuple[str, ...]
    alpha: float
    margin: float | None
    rule: str
    design: str
    notes: tuple[str, ...]
    assumptions: Mapping[str, Any]
    provenance: Mapping[str, Any]
    stopping: Stopping | None = None
    question: PowerFunction = field(repr=False, compare=False, metadata=UNWRITTEN)

    DERIVED: ClassVar[Mapping[str, str]] = {"notion": "notion", "curve": "curve"}

    notion: ClassVar[str]
    """What is to be tested."""
    unit: ClassVar[str]
    """What the size is a number of."""
    ROWS: ClassVar[str] = "tests"
    """The field whose entries are the rows of a frame."""

    @staticmethod
    def completed_from(content: Mapping[str, Any]) -> dict[str, Any]:
        """Return a power function that knows what was written down."""
        for name in RATES & content["assumptions"].keys():
            from_plain(tuple[float, ...] | None, content["assumptions"][name])
        curve = from_plain(tuple[tuple[int, float], ...], content["curve"])
        rows = from_plain(tuple[Reuse, ...], content.get("reuse_curve", []))
        return {"question": RecordedPower(dict(curve), by_items={row.n_items: row for row in rows})}

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Number of decisions, pairs or comparisons; ``None`` where no number would do."""

    def curve(self, sizes: Iterable[int] | None = None) -> tuple[tuple[int, float], ...]:
        """Return the power at several sizes.

        Parameters
        ----------
        sizes : iterable of int, optional
            Numbers of decisions or judged pairs; by default about forty around the planned size,
            evenly spaced on a logarithmic scale.

        Returns
        -------
        tuple of (int, float)
            Size and power, in the order of `sizes`.
        """
        chosen = _sizes_around(self.size) if sizes is None else sizes
        return tuple((size, self.question.power(size)) for size in chosen)

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.planning.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each test, or each lean, as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        rows = as_plain(getattr(self, self.ROWS))
        for row in rows:
            if "n" in row:
                row["n_first"], row["n_second"] = row.pop("n")
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the power against the number of decisions or judgments."""
        from comparity.planning.section import power_chart
        from comparity.reports.plots import draw

        return draw(power_chart(self, other_items=True), ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationPlan(Plan):
    """A plan to test separation on independent decisions.

    Attributes
    ----------
    n : int or None
        Decisions; ``None`` where no number gives the power wanted.
    """

    n: int | None

    notion: ClassVar[str] = "separation"
    unit: ClassVar[str] = "decisions"

    @property
    def size(self) -> int | None:
        """The size of the plan, in the unit that `unit` names."""
        return self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparativePlan(Plan):
    """A plan to test comparative separation on judged pairs.

    Attributes
    ----------
    n_pairs : int or None
        Judged pairs, those lost to ties included; ``None`` where no number gives the power wanted.
    n_items : int or None
        Items the pairs are drawn from; ``None`` for fresh items.
    n_evaluators : int or None
        Evaluators who share the judgments; ``None`` where no evaluator judges twice.
    ceiling : float or None
        Power as judgments of these items by these evaluators grow without end; ``None`` where both
        are fresh.
    """

    n_pairs: int | None
    n_items: int | None
    n_evaluators: int | None
    ceiling: float | None

    DERIVED: ClassVar[Mapping[str, str]] = {
        **Plan.DERIVED,
        "reuse": "reuse",
        "reuse_curve": "reuse_curve",
    }

    notion: ClassVar[str] = "comparative separation"
    unit: ClassVar[str] = "judged pairs"

    @property
    def size(self) -> int | None:
        """The size of the plan, in the unit that `unit` names."""
        return self.n_pairs

    @property
    def reuse(self) -> float:
        """Mean number of judgments an item takes part in: 1 for fresh items."""
        return _reuse(self.n_items, self.n_pairs)

    def reuse_curve(self, n_items: Sequence[int] | None = None) -> tuple[Reuse, ...]:
        """Return how often items may be reused.

        Parameters
        ----------
        n_items : sequence of int, optional
            Numbers of items; by default as many as fresh pairs would take, and that number halved
            again and again.

        Returns
        -------
        tuple of Reuse
            The first row is for fresh items, then one for each number of items. A plan made for a
            target power says how many judgments reach it; a plan made for a number of judgments
            says which power they have.
        """
        fresh = self._reuse_row(None)
        if n_items is None:
            most = 2 * (fresh.n_pairs or self.n_pairs or 500)
            n_items = [max(2, math.ceil(most / 2**halving)) for halving in range(7)]
        return (fresh, *(self._reuse_row(number) for number in n_items))

    def _reuse_row(self, n_items: int | None) -> Reuse:
        question = self.question.on_items(n_items)
        n_pairs = self.n_pairs if self.target is None else question.smallest_size(self.target)
        ceiling = question.limit()
        return Reuse(
            n_items=n_items,
            n_pairs=n_pairs,
            reuse=_reuse(n_items, n_pairs),
            power=ceiling if n_pairs is None else question.power(n_pairs),
            ceiling=ceiling,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLean:
    """One lean as it would be looked for.

    Attributes
    ----------
    lean : float
        What the evaluator adds to the log odds of items of the group.
    n_per_evaluator : int or None
        Comparisons by each evaluator; ``None`` where no number gives the power wanted.
    standard_error : float
        Standard error the estimated lean would have.
    power : float
        Probability that the evaluator is found to lean; with comparisons without end where
        `n_per_evaluator` is ``None``.
    """

    lean: float
    n_per_evaluator: int | None
    standard_error: float
    power: float

    DERIVED: ClassVar[Mapping[str, str]] = {"preferred": "preferred"}

    @property
    def preferred(self) -> float:
        """How often the evaluator prefers an item of the group to an equal one of another."""
        return 1 / (1 + math.exp(-self.lean))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPlan(Plan):
    """A plan to find out which evaluators of a panel lean.

    Power is the probability that an evaluator with the planned lean is found; `alpha` is the false
    discovery rate among all evaluators, or the level of the one test by the rule ``"single"``.

    Attributes
    ----------
    n_per_evaluator : int or None
        Comparisons by each evaluator, ties included; ``None`` where no number gives the power
        wanted.
    n_items, n_evaluators : int
        Items that pairs are drawn from, and evaluators.
    leans : tuple of PlannedLean
        Smaller and larger leans, the planned one among them: the comparisons they take for the
        power wanted, or the power that they have with these comparisons.
    lean : float
        The planned one.
    ceiling : float
        Power as comparisons of these items grow without end.
    """

    n_per_evaluator: int | None
    n_items: int
    n_evaluators: int
    leans: tuple[PlannedLean, ...]
    lean: float
    ceiling: float

    DERIVED: ClassVar[Mapping[str, str]] = {**Plan.DERIVED, "n_comparisons": "n_comparisons"}

    notion: ClassVar[str] = "leaning evaluators"
    unit: ClassVar[str] = "comparisons by each evaluator"
    ROWS: ClassVar[str] = "leans"

    @property
    def size(self) -> int | None:
        """The size of the plan, in the unit that `unit` names."""
        return self.n_per_evaluator

    @property
    def n_comparisons(self) -> int | None:
        """Comparisons by all evaluators together."""
        return None if self.n_per_evaluator is None else self.n_per_evaluator * self.n_evaluators


def _reuse(n_items: int | None, n_pairs: int | None) -> float:
    if n_items is None:
        return 1.0
    return math.inf if n_pairs is None else 2 * n_pairs / n_items


def _sizes_around(size: int | None) -> list[int]:
    """Return sizes from a sixteenth of the planned one to four times it."""
    low, high = (100, 100_000) if size is None else (max(2, size // 16), max(8, 4 * size))
    step = (high / low) ** (1 / 40)
    return sorted({round(low * step**power) for power in range(41)} | ({size} if size else set()))
