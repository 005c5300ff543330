"""Frozen accounts of training and of weighing: what was asked and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from comparity.showing import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Outcome", "TradeOff", "Training", "Weighing"]

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
class Training(Shown):
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {**asdict(self), "single_misses": self.single_misses}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each term, with its rate before and after."""
        from comparity.reporting.frames import frame_of_rows

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
        from comparity.reporting.rate_charts import plot_training

        return plot_training(self, ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff(Shown):
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {"trainings": [one.to_dict() for one in self.trainings]}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each slack and choice, as a frame of the named engine."""
        from comparity.reporting.frames import frame_of_rows

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
        from comparity.reporting.trainings import plot_trade_off

        return plot_trade_off(self, ax)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing(Shown):
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
    cells : tuple of (str, str, int, float)
        Group, label, rows and weight of a row, where labels are classes.
    notes : tuple of str
        What the reader must know.
    """

    method: str
    column: str
    output: str
    n_rows: int
    effective_rows: float
    largest: float
    cells: tuple[tuple[str, str, int, float], ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {**asdict(self), "cells": self._rows()}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each group and label, as a frame of the named engine."""
        from comparity.reporting.frames import frame_of_rows

        return frame_of_rows(self._rows(), backend)

    def _rows(self) -> list[dict[str, Any]]:
        names = ("group", "label", "rows", "weight")
        return [dict(zip(names, cell, strict=True)) for cell in self.cells]
