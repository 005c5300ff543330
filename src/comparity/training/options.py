"""The choices of weights of rows, and of training a score."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from comparity.errors import Option, OptionError
from comparity.results.options import AuditOptions, ComparisonColumns, Options, choice, column

Goal = Literal[
    "cross-group", "within-group", "marginal", "symmetric", "all cells", "statistical parity"
]


SAID_OF_JUDGMENTS = ("evaluator", "better", "worse", "left", "right", "winner", "adjust_judges")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsForm(Options):
    """Which weights, and which columns of a file they are made from."""

    label: str = column("Column with the label.")
    sensitive: tuple[str, ...] = column(
        "Column with the group; of several, separated by commas, the combinations are groups."
    )
    method: Literal[
        "reweighing", "fair-balance", "fair-balance-equal-groups", "fair-reweighing"
    ] = choice("reweighing", "Which weights; fair-reweighing is for labels that are numbers.")
    column: str = choice("weight", "Name of the column.", option="name")
    numeric: tuple[str, ...] | None = choice(
        None,
        "Columns among the sensitive ones that hold numbers, for fair-reweighing.",
        column=True,
    )
    density: Literal["neighbours", "kernel"] | None = choice(
        None, "How fair-reweighing estimates densities.", shown="neighbours"
    )
    radius: float | None = choice(
        None,
        "Neighbours are nearer than this, in standard deviations; for fair-reweighing.",
        shown="0.5",
        above=0,
        allowed="a positive number of standard deviations",
    )
    bandwidth: float | None = choice(
        None,
        "Width of the kernel, in standard deviations; for fair-reweighing.",
        shown="0.2",
        above=0,
        allowed="a positive number of standard deviations",
    )

    def _check_together(self) -> None:
        """Refuse what a method would not look at."""
        for name in ("numeric", "density", "radius", "bandwidth"):
            found = getattr(self, name)
            if found and self.method != "fair-reweighing":
                why = f"{self.method} knows groups and no densities"
                raise OptionError(name, found, ["method 'fair-reweighing'", f"no {name}"], why)
        for name in self.numeric or ():
            if name not in self.sensitive:
                raise OptionError("numeric", name, [repr(known) for known in self.sensitive])


@dataclass(frozen=True, kw_only=True)
class TrainForm(ComparisonColumns, AuditOptions):
    """What is trained on a file, under which goal, and how the audit judges."""

    features: tuple[str, ...] = column("Columns of numbers to score by.")
    label: str | None = column(
        "Column with the label, a number; larger is better. Not needed with --items.", None
    )
    items: Path | None = choice(
        None, "One row for each item: id, features, group. FILE then has judgments of pairs."
    )
    item: str = column("Column of --items with the id.", "item")
    adjust_judges: bool = choice(
        False,
        "Adjust the judgments for evaluators' leans and sharpness, as rank estimates them.",
    )
    sensitive: str = column("Column with the group.")
    query: str | None = column(
        "Column with the query; only items of the same one are compared.", None
    )
    weight: str | None = column("Column with positive weights of items.", None)
    scorer: Literal["linear", "neural", "boosted"] = choice(
        "linear",
        "What is trained; a network needs the extra torch, boosted trees the extra boosting.",
    )
    hidden: tuple[int, ...] | None = choice(
        None, "Units of a network's hidden layers, such as 32,32."
    )
    leaves: int | None = choice(None, "Largest number of leaves of a boosted tree.", least=2)
    task: Literal["ranking", "regression"] = choice(
        "ranking", "Whether to order the labels or to predict them."
    )
    goal: tuple[Goal, ...] = choice(
        ("cross-group",),
        "Rates to make equal: cross-group, within-group, marginal, symmetric, all cells, "
        "statistical parity; several separated by commas.",
    )
    slack: float = choice(0.01, "Largest difference allowed in training.", least=0)
    form: Literal["constrained", "robust"] = choice(
        "constrained", "Limit differences, or maximise the smallest rate."
    )
    adjust: Literal["shift", "monotone"] | None = choice(
        None, "Meet the goal by moving the scores of two groups instead of training for it."
    )
    average: Literal["pairs", "queries"] = choice(
        "pairs", "Whether every pair counts equally, or every query."
    )
    pair_weight: Literal["equal", "difference"] = choice(
        "equal", "Whether pairs count equally, or by the difference of their labels."
    )
    continuous: bool = choice(False, "The sensitive column is a number, not a group.")
    no_group: str | None = choice(None, "The value that marks items without a group.")
    steps: int = choice(500, "Steps of training.", least=1)
    held_out: float = choice(
        0.25, "Share of rows, or of queries, that is kept for the audit.", above=0, below=1
    )
    audit_on: Path | None = choice(
        None, "Audit on the rows of this file instead, and train on all of FILE."
    )

    def _check_together(self) -> None:
        """Refuse what the scorer has not."""
        for name, owner in (("hidden", "neural"), ("leaves", "boosted")):
            found = getattr(self, name)
            if found is not None and self.scorer != owner:
                why = f"a {self.scorer} score has none"
                raise OptionError(name, found, [f"scorer {owner!r}"], why)
        if self.items is None:
            self._check_labels()
        else:
            self._check_judgments()

    def _check_labels(self) -> None:
        """Refuse what is said of judgments where rows are items."""
        if self.label is None:
            known = ["the column with the label", ("{} beside judgments of pairs", Option("items"))]
            raise OptionError("label", None, known)
        if self.average == "queries" and self.query is None:
            why = "there are no queries to average over"
            known = ["'pairs'", ("{} beside it", Option("query"))]
            raise OptionError("average", self.average, known, why)
        asked = {name: getattr(self, name) for name in SAID_OF_JUDGMENTS}
        asked["layout"] = None if self.layout == "auto" else self.layout
        for name, found in asked.items():
            if found:
                why = "rows are items with labels, not judgments of pairs"
                raise OptionError(name, found, [("{} beside it", Option("items")), "none"], why)

    def _check_judgments(self) -> None:
        """Refuse what judgments of pairs do not have."""
        for name in ("label", "query", "weight", "adjust"):
            found = getattr(self, name)
            if found is not None:
                why = "judgments of pairs take the place of labels"
                raise OptionError(name, found, [f"no {name}", ("no {}", Option("items"))], why)
        for name, only in (("average", "pairs"), ("pair_weight", "equal")):
            found = getattr(self, name)
            if found != only:
                why = "judgments of pairs have neither labels nor queries"
                raise OptionError(name, found, [repr(only)], why)
        if self.task != "ranking":
            why = "judgments say an order, and no number to predict"
            raise OptionError("task", self.task, ["'ranking'"], why)
        if "statistical parity" in self.goal:
            why = "judgments are audited for comparative separation"
            raise OptionError("goal", self.goal, ["another goal"], why)

    @property
    def roles(self) -> dict[str, str]:
        """Names of the columns that are not features, by the role that error messages give them."""
        parts = {"sensitive": self.sensitive}
        parts = {"label": self.label, **parts} if self.label else parts
        parts |= {"queries": self.query} if self.query else {}
        return parts | ({"weights": self.weight} if self.weight else {})
