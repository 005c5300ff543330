"""The choices of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from comparity.results.options import REQUIRED, Options, choice

__all__ = ["ComparativePlanOptions", "RankPlanOptions", "SeparationPlanOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(Options):
    """What every plan asks."""

    power: float | None = choice(None, "Power wanted: find the size.", above=0, below=1)
    seed: int | None = choice(None, "Kept in the result; a plan draws nothing at random.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlanOptions(PlanOptions):
    """What plans of tests between groups ask: the groups, and a margin."""

    shares: tuple[float, ...] = choice(REQUIRED, "Share of each group among the items.")
    base_rates: tuple[float, ...] = choice(REQUIRED, "Share of good items in each group.")
    groups: tuple[str, ...] | None = choice(None, "Names of the groups, as the rates are ordered.")
    margin: float | None = choice(
        None, "Plan to show that every gap is smaller than this.", above=0, below=1
    )
    alpha: float = choice(0.05, "Overall false-alarm rate.", above=0, below=1)
    rule: Literal["holm", "paper"] = choice(
        "holm", "Correction for several tests; 'paper' makes none."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationPlanOptions(GroupPlanOptions):
    """A plan of a test of separation."""

    tpr: tuple[float, ...] = choice(REQUIRED, "True positive rate of each group.")
    fpr: tuple[float, ...] = choice(REQUIRED, "False positive rate of each group.")
    n: int | None = choice(None, "Number of decisions: find the power.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparativePlanOptions(GroupPlanOptions):
    """A plan of a test of comparative separation."""

    tpr: tuple[float, ...] = choice(REQUIRED, "True positive rate of each group.")
    tnr: tuple[float, ...] = choice(REQUIRED, "True negative rate of each group.")
    n_pairs: int | None = choice(None, "Judged pairs: find the power.", least=1)
    n_items: int | None = choice(None, "Items the pairs are drawn from; fresh if unsaid.", least=2)
    n_evaluators: int | None = choice(None, "Evaluators who share the pairs.", least=1)
    evaluator_lean: float = choice(0.1, "How strongly evaluators differ.", least=0)
    tie_share: float = choice(
        0.0, "Share of judgments that put neither item first.", least=0, below=1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlanOptions(PlanOptions):
    """A plan to find which evaluators lean."""

    lean: float = choice(REQUIRED, "Lean to be found, in log odds; 0.4 is 60% to 40%.")
    n_items: int = choice(REQUIRED, "Items to compare.", least=2)
    n_evaluators: int = choice(REQUIRED, "Who compare them.", least=1)
    n_per_evaluator: int | None = choice(None, "Comparisons by each: find the power.", least=1)
    share: float = choice(0.5, "Share of the group.", above=0, below=1)
    score_spread: float = choice(
        1.0, "Standard deviation of the items' scores, in log odds.", least=0
    )
    others_leaning: float = choice(
        0.0, "Share of the other evaluators who lean as much.", least=0, most=1
    )
    tie_share: float = choice(
        0.0, "Share of judgments that put neither item first.", least=0, below=1
    )
    alpha: float = choice(
        0.05,
        "False discovery rate; the level of the test for --rule single.",
        above=0,
        below=1,
    )
    rule: Literal["fdr", "single"] = choice(
        "fdr", "Whether all evaluators are looked at, or one named in advance."
    )
    cautious: bool = choice(False, "Allow for groups that differ by chance.")
