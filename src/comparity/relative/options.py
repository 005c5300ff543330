"""The choices of an audit of two decision makers, of many, and of two across a bridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from comparity.errors import Option, OptionError
from comparity.results.options import AnytimeOptions, choice, cluster_columns, column


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeOptions(AnytimeOptions):
    """How to judge differences of decisions."""

    intersection: bool = choice(False, "Test the combinations of several sensitive columns, too.")
    continuous: bool = choice(False, "The sensitive column is a number, not a group.")
    margin: float = choice(
        0.2,
        "Largest harmless gap, in standard deviations of the difference.",
        above=0,
        below=1,
    )
    permutations: int = choice(
        999,
        "Number of permutations in tests of whole distributions; 0 for no tests.",
        least=0,
        most=10**6,
        allowed="a whole number, such as 999",
    )
    seed: int | None = choice(0, "Random seed.", least=0)
    cluster: tuple[str, ...] = cluster_columns("person")

    def _check_together(self) -> None:
        self.check_clusters(self.cluster)
        if self.cluster and self.continuous:
            why = "a line over a number takes rows to be independent"
            raise OptionError("continuous", True, ["groups", "no clusters"], why)
        if self.continuous and self.intersection:
            why = "continuous attributes have no groups to cross"
            raise OptionError("intersection", True, [Option("intersection", False)], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeForm(RelativeOptions):
    """The same of a frame or a file with a column for each of two decision makers."""

    first: str = column("Column with one decision maker's decisions.")
    second: str = column("Column with the other one's decisions.")
    sensitive: tuple[str, ...] = column("Column with the group; several separated by commas.")
    reference: Any = choice(None, "Group that others are compared with; the first by default.")
    order: tuple[Any, ...] | None = choice(None, "Values of ordinal decisions, from the lowest up.")
    labels: bool = choice(False, "Decisions are labels without an order.")
    separator: str | None = choice(None, "Separator between labels, if a subject may have several.")

    def _check_together(self) -> None:
        RelativeOptions._check_together(self)
        if self.first == self.second:
            raise OptionError("second", self.second, ["another column than the first"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RatersOptions(RelativeOptions):
    """How to judge every two of many decision makers: by groups, and by means alone."""

    continuous: bool = False
    permutations: int = 999

    def _check_together(self) -> None:
        self.check_clusters(self.cluster)
        if self.continuous:
            why = "many raters are compared by groups"
            raise OptionError("continuous", True, ["two raters at a time"], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatersForm(RatersOptions):
    """The same of a frame or a file with a column for each of many decision makers."""

    raters: tuple[str, ...] = column(
        "Columns of several decision makers; P* means all that begin with P."
    )
    sensitive: tuple[str, ...] = column("Column with the group; several separated by commas.")
    reference: Any = choice(None, "Group that others are compared with; the first by default.")
    order: tuple[Any, ...] | None = choice(None, "Values of ordinal decisions, from the lowest up.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeOptions(RelativeOptions):
    """How to build and judge a bridge, between two groups or over a number."""

    intersection: bool = False
    anytime: bool = False
    permutations: int = 0
    cluster: tuple[str, ...] = ()
    errors: Literal["cross-fitted", "held-out", "training"] = choice(
        "cross-fitted", "Rows on which its errors are computed.  [default: cross-fitted]"
    )
    folds: int = choice(5, "Folds of cross-fitting (5).", least=2)
    held_out: float = choice(
        1 / 3,
        "Share that is held out (a third).",
        above=0,
        below=1,
        allowed="a share between 0 and 1",
    )

    def _check_together(self) -> None:
        if self.cluster is not None and len(self.cluster):
            why = "a bridge takes subjects to be independent of each other"
            raise OptionError("cluster", self.cluster, ["one row for each cluster"], why)
        if self.intersection:
            why = "a bridge compares two groups"
            raise OptionError("intersection", True, ["intersection=False"], why)
        if self.anytime:
            why = "a bridge is fitted to all subjects, and fitted again as more come in"
            raise OptionError("anytime", True, [Option("anytime", False)], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeForm(BridgeOptions):
    """The same of two frames or files with different subjects."""

    first: str = column("Column with one decision maker's decisions.")
    second: str = column("Column with the other one's decisions.")
    sensitive: str = column("Column with the group.")
    features: tuple[str, ...] = column("Columns of both files the first is predicted from.", ())
    prediction: str | None = column("Column of both files with predictions already made.", None)
    subject: str | None = column("Column of both files with ids, if some are in both.", None)
    reference: Any = choice(None, "Group that others are compared with; the first by default.")
    bridge: Literal["biased", "unbiased"] = choice(
        "biased", "Which bridge; 'unbiased' is kept for comparison.  [default: biased]"
    )
    regressor: Literal["ridge", "forest"] | Any = choice(
        "ridge", "What predicts the first's decisions.  [default: ridge]"
    )

    def _check_together(self) -> None:
        """Refuse a model that is told what it has to predict: it errs nowhere and finds nothing."""
        BridgeOptions._check_together(self)
        if self.continuous and self.subject:
            why = "a number is compared across different subjects alone"
            raise OptionError("subject", self.subject, ["files without shared subjects"], why)
        if self.continuous and self.bridge == "unbiased":
            why = "a number is carried by the biased bridge alone"
            raise OptionError("bridge", self.bridge, ["'biased'"], why)
        twice = [name for name in dict.fromkeys(self.features) if self.features.count(name) > 1]
        if twice:
            raise OptionError("features", twice[0], ["each column once"], "it is named twice")
        for option, columns in (("features", self.features), ("prediction", (self.prediction,))):
            for name in columns:
                if name in (self.first, self.second):
                    why = "a decision cannot predict itself"
                    raise OptionError(option, name, ["columns without decisions"], why)
