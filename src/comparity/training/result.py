"""Frozen accounts of training, of weights and of rankings, with audits before and after."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.results.result import Result, frame_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

SLACK_TOLERANCE = 1e-6
"""A difference that is larger than the slack by less is within it."""


class TrainingAnswer(Result):
    """An answer about training; its report follows from its kind."""

    __slots__ = ()

    def section(self) -> Section:
        """Return the answer as a section of a report."""
        from comparity.training.section import section

        return section(self)

    @abstractmethod
    def table(self) -> list[dict[str, Any]]:
        """Return the rows of this answer, by column."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows of :meth:`table` as a frame of the named engine."""
        return frame_of_rows(self.table(), backend)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a model, or a mixture of models on average, achieves on some rows.

    Attributes
    ----------
    accuracy : float
        Over all pairs that labels imply.
    squared_error : float or None
        Mean squared error, where labels are predicted.
    terms : mapping of str to float
        The rates that the goals compare.
    largest_difference : float
        Between two terms of one goal; 0 without a goal.
    """

    accuracy: float
    squared_error: float | None
    terms: Mapping[str, float]
    largest_difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(TrainingAnswer):
    """What training was asked, and what it came to.

    Attributes
    ----------
    goals : tuple of str
        What should be alike.
    form : {"constrained", "robust"}
        Whether differences were limited, or the least rate raised.
    slack : float
        Largest difference allowed.
    feasible : bool
        Whether the mixture keeps every difference within the slack, on the rows chosen by.
    best, mixture : Outcome
        Of the best single model and of the mixture, on the rows chosen by. The rates that goals
        compare are weighted with those on the rows trained on; accuracies over all pairs and
        squared errors are not.
    start : Outcome
        Of a linear score by least squares without a goal, on the same rows; a linear score starts
        from it.
    probabilities : tuple of float
        How often each member of the mixture is drawn.
    cell_weights : mapping of str to float
        What the accuracy of each kind of pair weighed in the end. A model trained for this weighted
        accuracy alone is about the one found. They sum to 1; where labels are predicted, to 0,
        beside a squared error, in variances of the label, that weighs 1.
    multipliers : mapping of str to float
        The referee's mean weights behind them: of the objective and of each difference, or of
        each term.
    rows : mapping of str to int
        Rows trained on and chosen by.
    scorer : {"linear", "neural", "boosted"}
        What kind of score was trained.
    training_share : float
        How much the rows trained on weigh in the rates that goals compare.
    judged : bool
        Whether pairs were judged, and not implied by labels; rows are judgments then.
    """

    goals: tuple[str, ...]
    form: str
    slack: float
    feasible: bool
    best: Outcome
    mixture: Outcome
    start: Outcome
    probabilities: tuple[float, ...]
    cell_weights: Mapping[str, float]
    multipliers: Mapping[str, float]
    rows: Mapping[str, int]
    scorer: str = "linear"
    training_share: float = 0.0
    judged: bool = False

    DERIVED: ClassVar[Mapping[str, str]] = {
        "single_misses": "single_misses",
        "judged_rows": "judged_rows",
    }

    @property
    def limited(self) -> bool:
        """Whether there was a goal that limits differences to the slack."""
        return self.form == "constrained" and len(self.multipliers) > 1

    @property
    def single_misses(self) -> bool:
        """Whether the mixture alone keeps every difference within the slack."""
        beyond = self.best.largest_difference - self.slack
        return self.limited and self.feasible and beyond > SLACK_TOLERANCE

    @property
    def judged_rows(self) -> int:
        """Number of rows behind the rates that goals compare."""
        return self.rows["chosen by"] + (self.rows["trained on"] if self.training_share else 0)

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each term, with its rate before and after."""
        outcomes = {"start": self.start, "best": self.best, "mixture": self.mixture}
        return [
            {"term": name, **{which: one.terms[name] for which, one in outcomes.items()}}
            for name in self.best.terms
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates that the goals compare, before and after."""
        from comparity.reports.plots import draw
        from comparity.training.section import training_chart

        return draw(training_chart(self, most=None), ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff(TrainingAnswer):
    """What a goal costs, by slack.

    Attributes
    ----------
    trainings : tuple of Training
        One for each slack, in the order of slacks.
    """

    trainings: tuple[Training, ...]

    @property
    def slacks(self) -> tuple[float, ...]:
        """The slacks tried."""
        return tuple(one.slack for one in self.trainings)

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each slack and choice."""
        return [
            {
                "slack": training.slack,
                "model": name,
                "accuracy": outcome.accuracy,
                "squared_error": outcome.squared_error,
                "largest_difference": outcome.largest_difference,
                "feasible": training.feasible,
            }
            for training in self.trainings
            for name, outcome in (("best", training.best), ("mixture", training.mixture))
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw accuracy, or squared error, against the largest difference."""
        from comparity.reports.plots import draw
        from comparity.training.section import trade_off_chart

        return draw(trade_off_chart(self), ax)


class WeighedCell(NamedTuple):
    """How many rows have this group and label, and what each of them weighs."""

    group: str
    label: str
    rows: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing(TrainingAnswer):
    """Weights that were written to a file.

    Attributes
    ----------
    method : str
        What they are.
    column, output : str
        Their column, and the file.
    n_rows : int
        Number of rows, and the sum of the weights.
    effective_rows : float
        How many equally weighted rows they are worth.
    largest : float
        The largest weight.
    cells : tuple of WeighedCell
        By group and label, where labels are classes.
    notes : tuple of str
        What the reader must know.
    provenance : mapping
        What was dropped before, where that was asked for.
    """

    method: str
    column: str
    output: str
    n_rows: int
    effective_rows: float
    largest: float
    cells: tuple[WeighedCell, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each group and label."""
        return [one._asdict() for one in self.cells]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankingPolicy(TrainingAnswer):
    """Rankings of the same items, each shown with a probability.

    Attributes
    ----------
    criterion : str
        What was to be alike in all groups.
    slack : float
        Largest difference that was allowed.
    terms : mapping of str to float
        What is compared, by group.
    exposure : mapping of str to float
        Mean exposure of the items of each group.
    utility, best_utility : float
        Expected utility of what is seen, of the policy and of the plain order by relevance.
    rankings : ndarray of int, (m, n)
        Positions of items, best place first, one ranking in each row.
    probabilities : ndarray, (m,)
        How often each is shown.
    matrix : ndarray, (n, n)
        How often item i is at place j.
    """

    criterion: str
    slack: float
    terms: Mapping[str, float]
    exposure: Mapping[str, float]
    utility: float
    best_utility: float
    rankings: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    matrix: NDArray[np.float64]

    DERIVED: ClassVar[Mapping[str, str]] = {"difference": "difference"}

    @property
    def difference(self) -> float:
        """Largest difference of two groups' terms."""
        return max(self.terms.values()) - min(self.terms.values())

    def draw(self, rng: np.random.Generator | int | None = None) -> NDArray[np.int64]:
        """Draw a ranking: positions of items, best place first."""
        member = np.random.default_rng(rng).choice(len(self.probabilities), p=self.probabilities)
        return np.asarray(self.rankings[member])

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each group."""
        return [
            {"group": group, "exposure": self.exposure[group], "term": term}
            for group, term in self.terms.items()
        ]
