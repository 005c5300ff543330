"""The choices of an audit of separation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from comparity.errors import OptionError
from comparity.results.options import AuditOptions, choice, cluster_columns, column


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationOptions(AuditOptions):
    """How to judge decisions about single items."""

    intersection: bool = choice(False, "Judge the combinations of several sensitive columns, too.")
    cluster: tuple[str, ...] = cluster_columns("person")

    def _check_together(self) -> None:
        self.check_clusters(self.cluster)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationForm(SeparationOptions):
    """The same of a frame or a file: which columns are what."""

    label: str = column("Column with the decision taken as right.")
    prediction: str = column("Column with the model's decision or score.")
    positive: Any = choice(None, "The value that means yes, where the columns are not 0 and 1.")
    threshold: float | None = choice(
        None, "Score from which on the model says yes.", allowed="a finite number"
    )
    sensitive: tuple[str, ...] = column("Column with the group; several separated by commas.")

    def _check_together(self) -> None:
        self.check_clusters(self.cluster)
        if self.label == self.prediction:
            raise OptionError("prediction", self.prediction, ["another column than the label"])
