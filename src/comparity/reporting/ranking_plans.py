"""What is shown of a plan to find leaning evaluators."""

from __future__ import annotations

from comparity.ranking_plans import PlannedLean, RankingPlan
from comparity.reporting.charts import power_chart
from comparity.reporting.formats import count, percent, rate, several, signed, visible
from comparity.reporting.grids import Grid
from comparity.reporting.sections import Section
from comparity.reporting.sentences import plan_headline

__all__ = ["section"]

ASSUMED = {
    "share": "Share of the group among the items",
    "score_spread": "Standard deviation of the items' scores, in log odds",
    "others_leaning": "Share of the other evaluators who lean as much",
    "tie_share": "Share of the judgments that are ties",
}
"""What a plan assumes, in words."""


def section(plan: RankingPlan) -> Section:
    """Return the headline, what power means, the curve, and other leans."""
    return Section(
        headline=plan_headline(plan),
        sentences=(_meaning(plan), _basis(plan)),
        charts=(power_chart(plan),),
        grids=(_leans(plan),),
        lists={
            "What was assumed": [
                f"{words}: {plan.assumptions[name]:g}."
                for name, words in ASSUMED.items()
                if name in plan.assumptions
            ],
            "Notes": [visible(note) for note in plan.notes],
        },
    )


def _meaning(plan: RankingPlan) -> str:
    own = next(lean for lean in plan.leans if lean.lean == plan.lean)
    return (
        f"Power is the probability that an evaluator with a lean of {signed(plan.lean)} is found: "
        f"one who prefers an item of the group to an equal one {_share(own)} of the time."
    )


def _share(lean: PlannedLean) -> str:
    return percent(round(lean.preferred, 3))


def _basis(plan: RankingPlan) -> str:
    kept = f"one evaluator, named in advance, is tested at {percent(plan.alpha)}"
    if plan.rule == "fdr":
        kept = f"false discoveries among all evaluators at {percent(plan.alpha)}"
    parts = [kept, f"{several(plan.n_items, 'item')}, {several(plan.n_evaluators, 'evaluator')}"]
    if plan.n_comparisons is not None:
        each = 2 * plan.n_comparisons / plan.n_items
        parts.append(
            f"{count(plan.n_comparisons)} comparisons in all, {each:.1f} of each item on average"
        )
    if plan.ceiling < 0.9995:
        parts.append(f"more comparisons could raise the power to {plan.ceiling:.3f} at most")
    words = "; ".join(parts)
    return f"{words[0].upper()}{words[1:]}."


def _leans(plan: RankingPlan) -> Grid:
    return Grid(
        title="Smaller and larger leans",
        header=("lean", "preferred to an equal", "comparisons each", "std. error", "power"),
        rows=tuple(
            (
                signed(lean.lean),
                _share(lean),
                "never enough" if lean.n_per_evaluator is None else count(lean.n_per_evaluator),
                f"{lean.standard_error:.3f}",
                rate(lean.power)
                if lean.n_per_evaluator is not None
                else f"at most {rate(lean.power)}",
            )
            for lean in plan.leans
        ),
    )
