"""The choices of an audit of comparative separation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from comparity.errors import Option, OptionError
from comparity.results.options import (
    AnytimeOptions,
    ComparisonColumns,
    choice,
    cluster_columns,
    column,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparativeOptions(AnytimeOptions):
    """How to judge comparisons."""

    intersection: bool = choice(False, "Test the combinations of several sensitive columns, too.")
    quality: Literal["graded", "binary"] = choice(
        "graded", "Whether the judged quality may have more than two values."
    )
    hypotheses: Literal["all", "across", "within"] = choice(
        "all", "Which kinds of pairs the verdict is about."
    )
    reference: str | None = column(
        "Column of the items with a label or score to standardise agreement by.", None
    )
    continuous: bool = choice(False, "The sensitive column is a number, not a group.")
    design: Literal["auto", "fresh", "shared"] = choice(
        "auto", "Whether items repeat; 'auto' checks."
    )
    method: Literal["auto", "disjoint", "dyadic"] = choice(
        "auto",
        "'disjoint' tests exactly on pairs that share nothing; 'dyadic' keeps to the printed "
        "formula where counts are small.",
    )
    score_ties: Literal["disagree", "half"] = choice(
        "disagree", "What equal scores of the model count as."
    )
    cluster: tuple[str, ...] = cluster_columns("prompt")

    @property
    def can_be_weighted(self) -> bool:
        """Whether there is a test of weighted judgments that answers what is asked."""
        plain = self.method == "auto" and self.rule == "holm" and self.design != "fresh"
        asks_more = self.anytime or self.reference is not None or self.continuous
        return plain and not asks_more and not self.cluster and self.looks is None

    def _check_together(self) -> None:
        """Refuse what cannot be had with numbers as groups, or with weights on judgments."""
        self.check_clusters(self.cluster)
        if self.cluster and self.design == "fresh":
            why = "judgments of one cluster are not independent"
            raise OptionError("design", self.design, ["'auto'", "'shared'", "no clusters"], why)
        if self.anytime and self.method == "disjoint":
            why = "each look would choose other pairs"
            raise OptionError("method", self.method, ["'auto'", Option("anytime", False)], why)
        if self.continuous and self.hypotheses != "all":
            why = "a number has no groups that pairs could be across or within"
            raise OptionError("hypotheses", self.hypotheses, ["'all'", "continuous=False"], why)
        if self.reference is None:
            return
        without = "no reference"
        if self.anytime:
            why = "weights change as data come in"
            raise OptionError("anytime", True, [Option("anytime", False), without], why)
        if self.continuous:
            why = "agreement can be standardised only between groups"
            raise OptionError("continuous", True, [Option("continuous", False), without], why)
        if self.method == "disjoint":
            why = "an exact test takes no weights"
            raise OptionError("method", self.method, ["'auto'", without], why)
        if self.method == "dyadic":
            why = "weights make judgments few, which is what it does not look at"
            raise OptionError("method", self.method, ["'auto'", without], why)
        if self.rule == "paper":
            why = "the rule of the paper takes no weights"
            raise OptionError("rule", self.rule, ["'holm'", without], why)


@dataclass(frozen=True, kw_only=True)
class ComparativeForm(ComparisonColumns, ComparativeOptions):
    """The same of frames or files: which columns are what."""

    score: str = column("Column of the items with the model's score.")
    item: str = column("Column of the items with their id.", "item")
    sensitive: tuple[str, ...] = column("Column with the group; several separated by commas.")
    state: str | None = choice(None, "File that keeps the judgments; new ones are added to it.")
    judgment: str | None = column(
        "Column of the comparisons with an id, so that none is added twice.", None
    )

    def _check_together(self) -> None:
        ComparativeOptions._check_together(self)
        if self.judgment is not None and self.state is None:
            beside = ("{} beside it", Option("state"))
            raise OptionError("judgment", self.judgment, [beside])
        if self.state is None:
            return
        if not self.anytime:
            why = "a study that is looked at again needs findings that hold at any moment"
            raise OptionError("state", self.state, [("{} beside it", Option("anytime"))], why)
        if self.cluster:
            why = "a state keeps items and evaluators, no further clusters"
            raise OptionError("cluster", self.cluster, [("no {}", Option("state"))], why)
