"""Plans as sections of a report.

A cell may have a second line, which a medium shows smaller or dimmer. Strings that come from data
are made safe here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from comparity.errors.spelling import visible
from comparity.inference.agreement_tests import FEWEST_EVALUATORS
from comparity.planning.power_question import RecordedPower
from comparity.planning.result import (
    ComparativePlan,
    Plan,
    PlannedLean,
    RankingPlan,
)
from comparity.reports.charts import Axis, Curve, CurveChart, Tick
from comparity.reports.sections import (
    Deferred,
    Grid,
    Section,
    count,
    expected_count,
    percent,
    rate,
    several,
    signed,
)

ASSUMED = {
    "tpr": "True positive rate",
    "fpr": "False positive rate",
    "tnr": "True negative rate",
    "shares": "Share of the items",
    "base_rates": "Share of good items in the group",
    "quality_spread": "Standard deviation of quality",
    "quality_mean": "Mean quality",
    "model_error": "Standard deviation of the model's error, in units of quality",
    "model_shift": "What the model adds to scores of the group",
}
"""What a plan assumes of each group, in words."""


ASSUMED_OF_PANELS = {
    "share": "Share of the group among the items",
    "score_spread": "Standard deviation of the items' scores, in log odds",
    "others_leaning": "Share of the other evaluators who lean as much",
    "tie_share": "Share of the judgments that are ties",
}
"""What a plan assumes of a panel, in words."""


def section(plan: Plan) -> Section:
    """Return the headline, what power means, the curve, and each test or lean alone."""
    panel = (_meaning(plan), _basis(plan)) if isinstance(plan, RankingPlan) else ()
    return Section(
        headline=plan_headline(plan),
        sentences=(*(panel or (plan_basis(plan),)), *_stopping_words(plan)),
        charts=Deferred(1, lambda _: power_chart(plan)),
        grids=tuple(_grids(plan)),
        lists=plan_lists(plan),
    )


def plan_headline(plan: Plan) -> str:
    """Say what size gives what power."""
    what, notion = plan.unit, plan.notion.capitalize()
    if plan.size is None:
        most = "it stays below 0.001" if plan.power < 0.001 else f"{plan.power:.3f} is the most"
        return f"{notion}: no number of {what} gives a power of {plan.target:g}; {most}"
    return f"{notion}: {count(plan.size)} {what} give a power of {plan.power:.3f}"


def _stopping_words(plan: Plan) -> Iterator[str]:
    """Say when a study would stop that may be looked at at any moment, and what that costs."""
    told = plan.stopping
    if told is None:
        if plan.assumptions.get("anytime"):
            yield (
                "Nothing can be said about stopping at any moment: that takes a size that is "
                "reached, and ten evaluators where three or more share the judgments."
            )
        return
    half, most = (
        "not by sixteen times the fixed size" if size is None else f"by {count(size)}"
        for size in (told.median, told.late)
    )
    price = (
        ""
        if math.isnan(told.price)
        else (f" (that is {told.price:.2f} times the fixed study with a power of 80%)")
    )
    yield (
        f"Looked at at any moment and stopped as soon as it is decided, half of such studies stop "
        f"{half} {plan.unit}{price}, nine in ten {most}; by {count(told.budget)}, "
        f"{percent(told.decided)} are decided. The boundary is tuned to gaps of "
        f"{math.sqrt(told.rho):.3f} (rho {told.rho:.2g})."
    )


def plan_basis(plan: Plan) -> str:
    """Say what power means here, and what the plan is for."""
    if plan.margin is None:
        meaning = "Power is the probability that at least one gap is found to differ from zero"
    else:
        meaning = f"Power is the probability of showing every gap smaller than {plan.margin:g}"
    parts = [meaning, _planned_error_rate(plan), f"design: {visible(plan.design)}"]
    if isinstance(plan, ComparativePlan):
        parts += _reuse_words(plan)
    return "; ".join(parts) + "."


def plan_lists(plan: Plan) -> dict[str, list[str]]:
    """Return by title what is told in lines: what was assumed, and remarks."""
    told = plan.assumptions
    if isinstance(plan, RankingPlan):
        words = ASSUMED_OF_PANELS.items()
        assumed = [f"{about}: {told[name]:g}." for name, about in words if name in told]
    else:
        assumed = [
            f"{about}: {', '.join(f'{value:g} ({visible(group)})' for group, value in values)}."
            for name, about in ASSUMED.items()
            if told.get(name) is not None
            and (values := list(zip(plan.groups, told[name], strict=False)))
        ]
    if isinstance(plan, ComparativePlan):
        assumed += _assumed_of_judgments(plan)
    return {"What was assumed": assumed, "Notes": [visible(note) for note in plan.notes]}


def _assumed_of_judgments(plan: ComparativePlan) -> Iterator[str]:
    """Say what moves the power besides rates and shares."""
    of_judges = ("evaluator_lean", "tie_share", "judge_error")
    lean, ties, error = (plan.assumptions.get(name) for name in of_judges)
    if error:
        yield f"Standard deviation of a judge's error about one item: {error:g}."
    if (plan.n_evaluators or 0) >= FEWEST_EVALUATORS and lean is not None:
        spread = f"standard deviation {lean:g} over evaluators"
        yield f"What an evaluator adds to a gap across groups: {spread}."
    if ties:
        yield f"Share of ties among judgments that should have an order: {ties:g}."


def _reuse_words(plan: ComparativePlan) -> Iterator[str]:
    if plan.n_items is not None:
        times = f", each in {plan.reuse:.1f} judgments on average" if plan.n_pairs else ""
        yield f"{several(plan.n_items, 'item')}{times}"
    if plan.n_evaluators is not None:
        yield several(plan.n_evaluators, "evaluator")
    if plan.ceiling is not None:
        yield f"more judgments of the same could raise the power to {plan.ceiling:.3f} at most"


def _planned_error_rate(plan: Plan) -> str:
    if plan.margin is not None or plan.rule == "paper":
        return f"each test at {percent(plan.alpha)}"
    return f"overall false-alarm rate {percent(plan.alpha)} ({plan.rule.capitalize()})"


def power_chart(plan: Plan, *, other_items: bool = False) -> CurveChart:
    """Describe the power against the size, on a logarithmic axis.

    Parameters
    ----------
    plan : Plan
        The plan.
    other_items : bool
        Whether a plan for judged pairs drawn from a number of items gets a curve for fresh items
        and for half and twice as many items, too. JSON does not hold these, so that a plan read
        from it has its own curve only.
    """
    curves = _curves(plan) if other_items else {"this plan": plan.curve()}
    points = plan.curve()
    low, high = points[0][0], points[-1][0]
    return CurveChart(
        title="Power against size",
        about="; ".join(f"{count(n)}: {power:.2f}" for n, power in points[::8]),
        heading=plan_headline(plan),
        axis=Axis(
            label=plan.unit,
            low=low,
            high=high,
            ticks=tuple(Tick(at, count(at)) for at in _decades(low, high)),
            is_log=True,
        ),
        up=Axis(
            label="power",
            low=0.0,
            high=1.0,
            ticks=tuple(Tick(level / 5, f"{level / 5:g}") for level in range(6)),
        ),
        curves=tuple(Curve(label=label, points=of) for label, of in curves.items()),
        target=plan.target,
        target_is="the power wanted",
        point=None if plan.size is None else (plan.size, plan.power),
        point_is="" if plan.size is None else count(plan.size),
    )


def _decades(low: int, high: int) -> Iterator[int]:
    """Yield 1, 2 and 5 times the powers of ten from `low` to `high`."""
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        yield from (size for factor in (1, 2, 5) if low <= (size := factor * 10**exponent) <= high)


def _grids(plan: Plan) -> Iterator[Grid]:
    """Yield the tables: each test or lean on its own, and how often items may be reused."""
    yield _leans(plan) if isinstance(plan, RankingPlan) else _tests_grid(plan)
    if isinstance(plan, ComparativePlan):
        yield _reuse(plan)


def _tests_grid(plan: Plan) -> Grid:
    return Grid(
        title="Tests",
        header=("hypothesis", "rates", "gap", "std. error", "expected n", "power alone"),
        rows=tuple(
            (
                visible(test.null),
                f"{rate(test.first_rate)} vs {rate(test.second_rate)}",
                signed(test.gap),
                f"{test.standard_error:.4f}",
                " vs ".join(map(expected_count, test.n)),
                rate(test.power),
            )
            for test in plan.tests
        ),
    )


def _reuse(plan: ComparativePlan) -> Grid:
    return Grid(
        title="How often may an item be reused?",
        header=("items", "judged pairs", "judgments per item", "power"),
        rows=tuple(
            (
                "fresh" if row.n_items is None else count(row.n_items),
                "never enough" if row.n_pairs is None else count(row.n_pairs),
                "" if row.n_pairs is None else f"{row.reuse:.1f}",
                f"at most {rate(row.ceiling)}" if row.n_pairs is None else rate(row.power),
            )
            for row in plan.reuse_curve()
        ),
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


def _curves(plan: Plan) -> dict[str, tuple[tuple[int, float], ...]]:
    """Return curves by their label, that of the plan itself first."""
    own = plan.curve()
    is_recorded = isinstance(plan.question, RecordedPower)
    if not isinstance(plan, ComparativePlan) or plan.n_items is None or is_recorded:
        return {"this plan": own}
    sizes = [size for size, _ in own]
    others = {
        "fresh items": None,
        "half the items": max(2, plan.n_items // 2),
        "twice the items": 2 * plan.n_items,
    }
    curves = {f"{count(plan.n_items)} items": own}
    for label, n_items in others.items():
        question = plan.question.on_items(n_items)
        curves[label] = tuple((size, question.power(size)) for size in sizes)
    return curves
