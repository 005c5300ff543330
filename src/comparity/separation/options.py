"""The choices of an audit of separation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from comparity.errors import OptionError
from comparity.results.options import AnytimeOptions, choice, cluster_columns, column


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationOptions(AnytimeOptions):
    """How to judge decisions about single items."""

    classes: bool = choice(
        False, "Labels and decisions are classes: every decision is judged given every label."
    )
    continuous: bool = choice(False, "The sensitive columns are numbers, not groups.")
    intersection: bool = choice(False, "Test the combinations of several sensitive columns, too.")
    cluster: tuple[str, ...] = cluster_columns("person")

    def _check_together(self) -> None:
        self.check_clusters(self.cluster)
        if not self.continuous:
            return
        if self.intersection:
            why = "numbers have no combinations"
            raise OptionError("intersection", True, ["one number at a time"], why)
        if self.cluster:
            why = "pairs in the order of a number are counted without clusters"
            raise OptionError("cluster", self.cluster, ["groups", "no clusters"], why)
        if self.rule == "paper":
            why = "the rule of the paper compares groups"
            raise OptionError("rule", self.rule, ["'holm'"], why)


def check_classes(options: SeparationOptions, positive: object, threshold: float | None) -> None:
    """Refuse choices that make two values of classes."""
    for name, value in (("positive", positive), ("threshold", threshold)):
        if options.classes and value is not None:
            why = "every class is judged by itself"
            raise OptionError(name, value, [f"no {name}", "no classes"], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationForm(SeparationOptions):
    """The same of a frame or a file: which columns are what."""

    label: str = column("Column with the right decision.")
    prediction: str = column("Column with the model's decision or score.")
    positive: Any = choice(
        None,
        "The value that means yes, if it is not 1, true or yes; if label and prediction use "
        "different words, both: qualified,hired.",
    )
    threshold: float | None = choice(
        None, "Smallest score that counts as yes.", allowed="a finite number"
    )
    sensitive: tuple[str, ...] = column("Column with the group; several separated by commas.")

    def _check_together(self) -> None:
        SeparationOptions._check_together(self)
        check_classes(self, self.positive, self.threshold)
        if self.label == self.prediction:
            raise OptionError("prediction", self.prediction, ["another column than the label"])
