"""What the command that trains on judgments did, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.errors.spelling import visible
from comparity.reports.sections import Grid, Section, count, rate, several, signed
from comparity.results.audit import Audit
from comparity.results.result import EXIT_STATUS
from comparity.training.result import Training, TrainingAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LISTED = 20
"""So many coefficients and kinds of pairs are listed; all are in to_dict()."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOnJudgments(TrainingAnswer):
    """A score learned from judgments, with audits on judgments of items that training did not see.

    Attributes
    ----------
    output : str
        The model file.
    coefficients : mapping of str to float
        Of the features, in their units; empty where the score is not linear.
    training : Training
        What was asked, and what came out on the judgments chosen by.
    before, after : Audit
        Comparative separation of a score without a goal and of the trained one.
    judgments : mapping of str to int
        Judgments trained on and audited, ties among them, and those between the items of both,
        which were used for neither.
    adjusted : bool
        Whether evaluators' leans and sharpness were taken out of training.
    seed : int
        Of whatever was drawn at random.
    """

    output: str
    coefficients: Mapping[str, float]
    training: Training
    before: Audit
    after: Audit
    judgments: Mapping[str, int]
    adjusted: bool
    seed: int

    DERIVED: ClassVar[Mapping[str, str]] = {"finding": "finding"}

    @property
    def finding(self) -> str:
        """The finding of the audit after training."""
        return self.after.finding

    @property
    def exit_status(self) -> int:
        """What a command returns to the shell: that of the audit after training."""
        return EXIT_STATUS[self.after.finding]

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each kind of pair, with its agreement before and after."""
        before = {one.of: one.rate for one in self.before.rates}
        return [
            {"pairs": one.of, "judgments": one.trials, "before": before[one.of], "after": one.rate}
            for one in self.after.rates
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the audit after training."""
        return self.after.plot(ax)

    def section(self) -> Section:
        """Return what is told: the audit after training, and how it compares."""
        after, training = self.after.section(), self.training.section()
        before = f"Before, without a goal: {self.before.finding}; after: {self.after.finding}."
        lists = {f"{name} on training": told for name, told in training.lists.items()}
        return replace(
            after,
            sentences=(*after.sentences[:1], before, *after.sentences[1:], visible(self._told())),
            grids=(_agreement(self), *after.grids, *_coefficients(self), *training.grids),
            charts=(*after.charts, *training.charts),
            lists={**after.lists, **lists},
        )

    def _told(self) -> str:
        many, training = self.judgments, self.training
        goals = " and ".join(training.goals)
        limit = f"with a slack of {training.slack:g}"
        told = (
            f"Model written to {self.output}. Trained for {goals} "
            f"{limit if training.form == 'constrained' else 'in the robust form'} on "
            f"{several(many['trained'], 'judgment')}, audited on {count(many['audited'])} of other "
            f"items; seed {self.seed}."
        )
        if many["between"]:
            told += f" {count(many['between'])} between these items were used for neither."
        if many["ties"]:
            told += f" {several(many['ties'], 'tie')} carried no order and were left out."
        if self.adjusted:
            told += " Training took out evaluators' leans; the audit takes judgments at face value."
        return told


def _agreement(result: TrainedOnJudgments) -> Grid:
    rows = tuple(
        (
            visible(row["pairs"]),
            count(row["judgments"]),
            rate(row["before"]),
            rate(row["after"]),
            signed(row["after"] - row["before"]),
        )
        for row in result.table()[:LISTED]
    )
    header = ("better > worse", "judgments", "without a goal", "trained", "change")
    return Grid(title="Agreement on items that training did not see", header=header, rows=rows)


def _coefficients(result: TrainedOnJudgments) -> tuple[Grid, ...]:
    rows = [(visible(name), f"{slope:+.4g}") for name, slope in result.coefficients.items()]
    header, shown = ("feature", "coefficient"), tuple(rows[:LISTED])
    return (Grid(title="Coefficients", header=header, rows=shown),) if rows else ()
