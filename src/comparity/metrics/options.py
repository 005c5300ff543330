"""The choices of a scorecard of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from comparity.errors import OptionError
from comparity.results.options import REQUIRED, Options, choice, column

LEARNERS = ("logistic", "forest", "network")
"""Logistic regression, a random forest, a network with one hidden layer."""

KINDS = ("group", "individual", "false negatives", "false positives")
"""Parity between groups, among individuals, and which error is the graver harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions(Options):
    """How to work out metrics."""

    variation: Literal["standard", "doubled root"] = choice(
        "standard", "Definition of the coefficient of variation."
    )
    level: float = choice(0.95, "Level of the intervals.", above=0, below=1)
    replicates: int = choice(
        2000,
        "Resamples of the counts for metrics with a kink.",
        least=100,
        allowed="a whole number, at least 100",
        offered=False,
    )
    n_neighbors: int = choice(
        5,
        "Neighbours for consistency, the item itself included.",
        least=1,
        allowed="a whole number, at least 1",
        offered=False,
    )
    seed: int = choice(0, "Seed of the resamples.", least=0, allowed="a whole number, at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMetricsForm(MetricsOptions):
    """The same of a frame or a file: which columns are what."""

    label: str = column("Column with the right decision.")
    prediction: str = column("Column with the model's decision or score.")
    sensitive: tuple[str, ...] = column("Column with the group; several are combined.")
    privileged: tuple[str, ...] | Any = choice(
        REQUIRED, "The group that has the advantage; several separated by commas."
    )

    def _check_together(self) -> None:
        """Refuse one column in two parts."""
        if self.prediction == self.label:
            raise OptionError("prediction", self.label, ["another column than the label"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions(Options):
    """How to run the published study on one's own data."""

    learners: tuple[Literal["logistic", "forest", "network"], ...] = choice(
        LEARNERS, "What is fitted: logistic, forest, network."
    )
    folds: int = choice(5, "Parts that are left out in turn.", least=2)
    repeats: int = choice(5, "How often the data are divided again.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyForm(StudyOptions):
    """The same of a file: which columns are what."""

    label: str = column("Column with the right decision.")
    sensitive: tuple[str, ...] = column("Column with the group; several are combined.")
    privileged: tuple[str, ...] | Any = choice(
        REQUIRED, "The group that has the advantage; several separated by commas."
    )
    features: tuple[str, ...] = column("Columns that learners are told.")
    seed: int = choice(0, "Seed of folds and learners.", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionOptions(Options):
    """How to compare errors that are numbers."""

    level: float = choice(0.95, "Level of the intervals.", above=0, below=1)
    # Nothing is drawn; other answers record a seed.
    seed: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionForm(RegressionOptions):
    """The same of a frame or a file: which columns are what."""

    label: str = column("Column with the number taken as right.")
    prediction: str = column("Column with the model's prediction, a number.")
    sensitive: tuple[str, ...] = column("Column with the group; several are combined.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsForm(ClassMetricsForm):
    """What yes/no decisions take besides."""

    features: tuple[str, ...] = column("Columns for nearest neighbours (D0).", ())
    kinds: tuple[str, ...] = choice(
        (),
        f"Fairness that matters, with --select: {', '.join(KINDS)}.  [default: group, individual]",
    )
    compare: str | None = column("Column with other decisions for the same rows.", None)
    positive: Any = choice(
        None,
        "The value that means yes, if it is not 1, true or yes; if label and prediction use "
        "different words, both: qualified,hired.",
    )
    threshold: float | None = choice(
        None, "Smallest score that counts as yes.", allowed="a finite number"
    )

    def _check_together(self) -> None:
        """Refuse one column in two parts."""
        ClassMetricsForm._check_together(self)
        if self.compare == self.label:
            raise OptionError("compare", self.label, ["another column than the label"])
        if self.compare == self.prediction:
            raise OptionError("compare", self.compare, ["another column than the prediction"])


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds without repetition; anything else than :data:`KINDS` is an error."""
    if isinstance(kinds, str) or not kinds or not set(kinds) <= set(KINDS):
        raise OptionError("kinds", kinds, [f"some of {', '.join(map(repr, KINDS))}"])
    return tuple(kind for kind in KINDS if kind in kinds)
