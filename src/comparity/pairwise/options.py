"""The choices of an audit of all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from comparity.errors import OptionError
from comparity.results.options import AuditOptions, choice, cluster_columns, column

TOLERANCE = "Largest doubt about a rate where an engine counts pairs by bins; 0 is exact."

PairNotion = Literal["cross-group", "within-group", "marginal", "symmetric"]
"""Equalities in the matrix of pairwise accuracies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseOptions(AuditOptions):
    """How to judge all pairs that labels imply."""

    average: Literal["pairs", "queries"] = choice(
        "pairs", "Whether every pair counts equally, or every query."
    )
    pair_weight: Literal["equal", "difference"] = choice(
        "equal", "Whether pairs count equally, or by the difference of their labels."
    )
    continuous: bool = choice(False, "The sensitive column is a number, not a group.")
    notions: tuple[PairNotion, ...] = choice(
        ("cross-group", "within-group"),
        "Equalities to test: cross-group, within-group, marginal, symmetric.",
    )
    score_ties: Literal["disagree", "half"] = choice(
        "disagree", "What equal scores of the model count as."
    )
    cluster: tuple[str, ...] = cluster_columns("person")
    # One attribute at a time has no combinations; other audits record the choice by this name.
    intersection: bool = False

    def _check_together(self) -> None:
        """Refuse what cannot be averaged over queries, rather than average something else."""
        self.check_clusters(self.cluster)
        further = [name for name in self.notions if name in ("marginal", "symmetric")]
        if self.cluster and (further or self.continuous):
            why = "with clusters only cells of groups are compared"
            name, found = ("notions", further) if further else ("continuous", [True])
            raise OptionError(name, found[0], ["other notions", "groups", "no clusters"], why)
        if self.average == "queries" and self.continuous:
            why = "pairs by the order of a number are pooled"
            raise OptionError("average", self.average, ["'pairs'"], why)
        if self.average == "queries" and "symmetric" in self.notions:
            why = "better and worse items of a group are summed over pairs"
            raise OptionError("average", self.average, ["'pairs'", "other notions"], why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityOptions(AuditOptions):
    """How to judge who has the higher score, whatever the labels."""

    continuous: bool = choice(False, "The sensitive column is a number, not a group.")
    # One attribute at a time has no combinations; other audits record the choice by this name.
    intersection: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityForm(ParityOptions):
    """The same of a frame or a file: which columns are what."""

    score: str = column("Column with the model's score.")
    sensitive: str = column("Column with the group.")
    query: str | None = column(
        "Column with the query; only items of the same one are compared.", None
    )
    tolerance: float = choice(1e-4, TOLERANCE, least=0, below=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseForm(PairwiseOptions):
    """The same of a frame or a file: which columns are what."""

    label: str = column("Column with the label, a number.")
    score: str = column("Column with the model's score.")
    sensitive: str = column("Column with the group.")
    query: str | None = column(
        "Column with the query; only items of the same one are compared.", None
    )
    weight: str | None = column("Column with positive weights of items.", None)
    tolerance: float = choice(1e-4, TOLERANCE, least=0, below=1)
    no_group: Any = choice(None, "The value that marks items without a group.")
