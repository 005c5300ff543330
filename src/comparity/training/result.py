"""Frozen accounts of training and weighing, with audits of rows never seen, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.pairwise.result import PairwiseAccuracy
from comparity.results.audit import Audit
from comparity.results.plain import INLINE, as_plain
from comparity.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from comparity.reports.sections import Section

__all__ = [
    "Outcome",
    "ScorerAudit",
    "TradeOff",
    "TrainedScorer",
    "Training",
    "Weighing",
]


ROUNDING = 1e-6
"""A difference that is larger than the slack by less is within it."""


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
class Training(Result):
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
        return self.limited and self.feasible and beyond > ROUNDING

    @property
    def judged_rows(self) -> int:
        """Number of rows behind the rates that goals compare."""
        return self.rows["chosen by"] + (self.rows["trained on"] if self.training_share else 0)

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.training.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each term, with its rate before and after."""
        from comparity.reports.frames import frame_of_rows

        rows = [
            {
                "term": name,
                "start": self.start.terms[name],
                "best": self.best.terms[name],
                "mixture": self.mixture.terms[name],
            }
            for name in self.best.terms
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates that the goals compare, before and after."""
        from comparity.reports.plots import draw
        from comparity.training.section import training_chart

        return draw(training_chart(self, most=None), ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff(Result):
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

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.training.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each slack and choice, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        rows = [
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
        return frame_of_rows(rows, backend)

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
class Weighing(Result):
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
    """

    method: str
    column: str
    output: str
    n_rows: int
    effective_rows: float
    largest: float
    cells: tuple[WeighedCell, ...] = ()
    notes: tuple[str, ...] = ()

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.training.section import section

        return section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group and label, as a frame of the named engine."""
        from comparity.reports.frames import frame_of_rows

        return frame_of_rows(as_plain(self.cells), backend)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerAudit:
    """What audits say of a score, of what its training was asked for.

    Attributes
    ----------
    finding : str
        Of all tests that decide.
    exit_status : int
        What a command returns to the shell.
    accuracy : PairwiseAccuracy
        Over pairs that labels imply; it decides unless statistical parity alone was asked for.
    parity : Audit or None
        Over pairs of groups, whatever their labels, where that was asked for.
    """

    finding: str
    exit_status: int
    accuracy: PairwiseAccuracy = field(metadata=INLINE)
    parity: Audit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedScorer(Result):
    """What the command that trains did.

    Attributes
    ----------
    output : str
        The model file.
    coefficients : mapping of str to float
        Of the features, in their units; empty where the score is not linear.
    training : Training
        What was asked, and what came out on the rows chosen by.
    before, after : ScorerAudit
        Audits of a model without a goal and of the trained one, on rows that neither saw.
    rows : mapping of str to int
        Rows given to training, and rows audited.
    seed : int
        Of whatever was drawn at random.
    """

    output: str
    coefficients: Mapping[str, float]
    training: Training
    before: ScorerAudit
    after: ScorerAudit
    rows: Mapping[str, int]
    seed: int

    DERIVED: ClassVar[Mapping[str, str]] = {"finding": "finding", "change": "change"}

    @property
    def finding(self) -> str:
        """The finding of the audit after training."""
        return self.after.finding

    @property
    def exit_status(self) -> int:
        """What a command returns to the shell: that of the audit after training."""
        return self.after.exit_status

    @property
    def overall_change(self) -> float:
        """Accuracy over all pairs after training less that before."""
        return self.after.accuracy.overall - self.before.accuracy.overall

    @property
    def changes(self) -> NDArray[np.float64]:
        """Accuracy of every kind of pair after training less that before."""
        return self.after.accuracy.matrix - self.before.accuracy.matrix

    @property
    def change(self) -> dict[str, Any]:
        """What training changed in accuracy, overall and for every kind of pair."""
        return {"overall": self.overall_change, "matrix": self.changes}

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.training.section import trained_section

        return trained_section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each kind of pair, with its accuracy before and after."""
        from comparity.reports.frames import frame_of_rows

        before, after = self.before.accuracy, self.after.accuracy
        rows = [
            {
                "better": better,
                "worse": worse,
                "before": float(before.matrix[i, j]),
                "after": float(after.matrix[i, j]),
            }
            for i, better in enumerate(after.groups)
            for j, worse in enumerate(after.groups)
        ]
        return frame_of_rows(rows, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix after training as a heat map."""
        return self.after.accuracy.plot(ax)
