"""The desk for plans: how much data a study needs, and what it would be able to show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from comparity import __version__
from comparity.counts.pairs import Cell
from comparity.inference.agreement import FEWEST_EVALUATORS
from comparity.inference.power import LARGEST_SIZE
from comparity.planning.assumptions import (
    check_choices,
    check_design,
    checked_groups,
    checked_rates,
    with_plain_numbers,
)
from comparity.planning.result import ComparativePlan, PlannedTest, SeparationPlan
from comparity.planning.scenarios import (
    ComparativeScenario,
    ExpectedGaps,
    PowerQuestion,
    SeparationScenario,
)
from comparity.results.options import AuditOptions

__all__ = ["plan_comparative", "plan_separation"]

#: Below this many trials behind a rate the normal approximation is rough (Xi et al., Prop. 3.5).
FEW_TRIALS = 30


@with_plain_numbers
def plan_separation(
    *,
    tpr: Sequence[float],
    fpr: Sequence[float],
    shares: Sequence[float],
    base_rates: Sequence[float],
    n: int | None = None,
    power: float | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    rule: str = "holm",
    groups: Sequence[str] | None = None,
) -> SeparationPlan:
    """Plan a test of separation: the power of `n` decisions, or the decisions for a power.

    Exactly one of `n` and `power` is given; the other is found.

    Parameters
    ----------
    tpr, fpr : sequence of float
        True and false positive rate assumed for each group.
    shares : sequence of float
        Share of each group among the items; they sum to 1.
    base_rates : sequence of float
        Share of positive items within each group.
    n : int, optional
        Number of decisions.
    power : float, optional
        Power wanted.
    alpha : float, default 0.05
        Overall false-alarm rate.
    margin : float, optional
        Plan to show that all gaps are smaller than this, by two one-sided tests at `alpha` each;
        by default the plan is to find that at least one gap differs from zero. An audit decides
        first whether a gap is within *its* margin, so a note says when all assumed gaps are
        smaller than the margin audits have by default.
    rule : {"holm", "paper"}, default "holm"
        Whether the overall false-alarm rate is kept, or each test is judged at `alpha`.
    groups : sequence of str, optional
        Names of the groups; their numbers by default.

    Returns
    -------
    SeparationPlan
        With ``n``, ``power``, ``tests`` and ``curve()``. ``n`` is ``None`` where no number of
        decisions has the power wanted, and a note says why.

    Raises
    ------
    PlanError
        If a rate, share or choice is impossible.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Proposition 3.5 and Section 3.4.

    Examples
    --------
    The second classifier of Table 1, whose published power is 0.4743 (Table 3):

    >>> rates = dict(tpr=[0.8, 0.8], fpr=[0.36, 0.44], shares=[0.5, 0.5], base_rates=[0.55, 0.45])
    >>> plan = plan_separation(**rates, n=1000, rule="paper")
    >>> round(plan.power, 4)
    0.4744
    >>> plan_separation(**rates, power=0.8).n
    2818
    """
    names = checked_groups(groups, tpr)
    rates = checked_rates(len(names), tpr=tpr, fpr=fpr, shares=shares, base_rates=base_rates)
    options = {"n": n, "power": power, "alpha": alpha, "margin": margin, "rule": rule}
    check_choices(options, "n")
    scenario = SeparationScenario(**rates)
    question = PowerQuestion(scenario=scenario, alpha=alpha, margin=margin, rule=rule)
    size = n if power is None else question.smallest_size(power)
    pairs = list(combinations(names, 2))
    nulls = [f"{rate}({a}) = {rate}({b})" for rate in ("TPR", "FPR") for a, b in pairs]
    fields = _answers(question, size, nulls)
    return SeparationPlan(
        **fields,
        n=size,
        target=power,
        groups=names,
        design="independent decisions",
        notes=tuple(_notes(question, size, power, fields, "decisions")),
        **_record(asdict(scenario) | options, names),
    )


@with_plain_numbers
def plan_comparative(
    *,
    tpr: Sequence[float],
    tnr: Sequence[float],
    shares: Sequence[float],
    base_rates: Sequence[float],
    n_pairs: int | None = None,
    n_items: int | None = None,
    n_evaluators: int | None = None,
    evaluator_lean: float = 0.1,
    tie_share: float = 0.0,
    power: float | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    rule: str = "holm",
    groups: Sequence[str] | None = None,
) -> ComparativePlan:
    """Plan a test of comparative separation: the power of judged pairs, or the pairs for a power.

    Exactly one of `n_pairs` and `power` is given; the other is found. Items are of binary quality,
    and pairs are made at random: those of equal quality have no order and are lost.

    Parameters
    ----------
    tpr, tnr : sequence of float
        True positive and true negative rate assumed for each group. The model puts the better item
        of a pair first when it is right about both.
    shares : sequence of float
        Share of each group among the items; they sum to 1.
    base_rates : sequence of float
        Share of positive items within each group.
    n_pairs : int, optional
        Number of judged pairs, ties included.
    n_items : int, optional
        Number of items the pairs are drawn from; by default every pair is made of fresh items.
    n_evaluators : int, optional
        Number of evaluators who judge equal shares of the pairs; by default none judges twice.
        The audit estimates its errors from them, so few evaluators have little power even where
        none leans. One or two are taken as given: the plan is about them alone.
    evaluator_lean : float, default 0.1
        Standard deviation, over evaluators, of what one adds to the across gap. Used only where
        `n_evaluators` is given.
    tie_share : float, default 0
        Share of the judgments that should have an order and are given as ties.
    power : float, optional
        Power wanted.
    alpha, margin, rule, groups
        As in :func:`plan_separation`.

    Returns
    -------
    ComparativePlan
        With ``n_pairs``, ``power``, ``reuse``, ``ceiling``, ``tests``, ``curve()`` and
        ``reuse_curve()``. ``n_pairs`` is ``None`` where no number of judgments has the power
        wanted, and a note says why.

    Raises
    ------
    PlanError
        If a rate, share or choice is impossible.

    See Also
    --------
    comparity.planning.scenarios.ComparativeScenario : The formulas.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Proposition 3.5 and Section 3.4.

    Examples
    --------
    The second classifier of Table 1, whose published power is 0.5032 (Table 3):

    >>> rates = dict(tpr=[0.8, 0.8], tnr=[0.64, 0.56], shares=[0.5, 0.5], base_rates=[0.55, 0.45])
    >>> plan = plan_comparative(**rates, n_pairs=2000, rule="paper")
    >>> round(plan.power, 4)
    0.5032

    The same number of pairs shows less when they are drawn from a thousand items:

    >>> plan_comparative(**rates, n_pairs=2000, n_items=1000).power < plan.power
    True
    """
    names = checked_groups(groups, tpr)
    rates = checked_rates(len(names), tpr=tpr, tnr=tnr, shares=shares, base_rates=base_rates)
    options = {"n_pairs": n_pairs, "power": power, "alpha": alpha, "margin": margin, "rule": rule}
    check_choices(options, "n_pairs")
    scenario = ComparativeScenario(
        tpr=rates["tpr"],
        tnr=rates["tnr"],
        shares=rates["shares"],
        base_rates=rates["base_rates"],
        n_items=n_items,
        n_evaluators=n_evaluators,
        evaluator_lean=evaluator_lean,
        tie_share=tie_share,
    )
    check_design(scenario)
    question = PowerQuestion(scenario=scenario, alpha=alpha, margin=margin, rule=rule)
    size = n_pairs if power is None else question.smallest_size(power)
    fields = _answers(question, size, _comparative_nulls(names))
    return ComparativePlan(
        **fields,
        n_pairs=size,
        n_items=n_items,
        n_evaluators=n_evaluators,
        ceiling=None if n_items is None and n_evaluators is None else question.limit(),
        target=power,
        groups=names,
        design=_design_words(scenario),
        notes=tuple(_notes(question, size, power, fields, "judgments")),
        **_record(asdict(scenario) | options, names),
    )


def _answers(question: PowerQuestion, size: int | None, nulls: Sequence[str]) -> dict[str, Any]:
    """Return what is computed; without a size, what endless data would give."""
    expected = question.scenario.expect(LARGEST_SIZE if size is None else size)
    return {
        "power": question.limit() if size is None else question.power(size),
        "tests": _planned_tests(question, expected, nulls, endless=size is None),
        "alpha": question.alpha,
        "margin": question.margin,
        "rule": question.rule,
        "question": question,
    }


def _planned_tests(
    question: PowerQuestion, expected: ExpectedGaps, nulls: Sequence[str], *, endless: bool
) -> tuple[PlannedTest, ...]:
    first_trials, second_trials = expected.first_trials, expected.second_trials
    powers = question.test_powers(expected)
    return tuple(
        PlannedTest(
            null=null,
            first_rate=float(expected.first_rates[i]),
            second_rate=float(expected.second_rates[i]),
            gap=float(expected.gaps[i]),
            standard_error=float(expected.standard_errors[i]),
            power=powers[i],
            n=(math.inf, math.inf)
            if endless
            else (float(first_trials[i]), float(second_trials[i])),
        )
        for i, null in enumerate(nulls)
    )


def _comparative_nulls(names: Sequence[str]) -> list[str]:
    pairs = list(combinations(names, 2))
    across = [f"agree({Cell(a, b)}) = agree({Cell(b, a)})" for a, b in pairs]
    within = [f"agree({Cell(a, a)}) = agree({Cell(b, b)})" for a, b in pairs]
    return [*across, *within]


def _design_words(scenario: ComparativeScenario) -> str:
    if scenario.n_items is None:
        return "fresh" if scenario.n_evaluators is None else "fresh items, shared evaluators"
    return "shared items" if scenario.n_evaluators is None else "shared items and evaluators"


def _record(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    assumptions = {"groups": list(names)} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in options.items()
    }
    provenance = {"version": __version__, "options": assumptions}
    return {"assumptions": assumptions, "provenance": provenance}


def _notes(
    question: PowerQuestion,
    size: int | None,
    target: float | None,
    answers: Mapping[str, Any],
    unit: str,
) -> Iterator[str]:
    """Say what the reader of a plan must know."""
    tests: tuple[PlannedTest, ...] = answers["tests"]
    if size is None:
        yield _unreachable(question, target, answers["power"], unit)
    few = [test.null for test in tests if min(test.n) < FEW_TRIALS]
    if few:
        yield (
            f"fewer than {FEW_TRIALS} trials are expected behind a rate in {'; '.join(few)}: "
            "the normal approximation is rough there"
        )
    certain = [test.null for test in tests if test.standard_error == 0]
    if certain:
        yield _nothing_left_to_chance(question, certain)
    if question.rule == "paper" and question.margin is None:
        yield f"each test is judged at {question.alpha:g}, so a false alarm in any is more likely"
    yield from _small_gaps(question, tests)
    if isinstance(question.scenario, ComparativeScenario):
        yield from _about_evaluators(question.scenario.n_evaluators)


def _nothing_left_to_chance(question: PowerQuestion, certain: Sequence[str]) -> str:
    shared = getattr(question.scenario, "n_items", None) is not None
    said = f"both rates are 0 or 1 in {'; '.join(certain)}, so that nothing there is left to chance"
    return f"{said}; with shared items an audit leaves open what does not vary" if shared else said


def _small_gaps(question: PowerQuestion, tests: Sequence[PlannedTest]) -> Iterator[str]:
    """Say when an audit would not report what the plan is to find."""
    usual = AuditOptions().margin
    # By the rule of the paper a gap that differs from zero is reported whatever the margin.
    if question.margin is not None or question.rule == "paper":
        return
    largest = max(abs(test.gap) for test in tests)
    # Rates such as 0.8 and 0.85 differ by 0.05 in print only.
    if 0 < largest < usual - 1e-9:
        yield (
            f"every assumed gap is smaller than {usual:g}, the margin of an audit by default: a "
            "large study would find such gaps to be within that margin, even where they differ "
            "from zero; plan with margin= (--margin) to show that, or audit with a margin smaller "
            f"than {largest:.3g}"
        )


def _about_evaluators(n_evaluators: int | None) -> Iterator[str]:
    if n_evaluators is None:
        yield (
            "no evaluator is taken to judge twice; give n_evaluators (--n-evaluators) if some will"
        )
    elif n_evaluators < FEWEST_EVALUATORS:
        yield (
            f"with fewer than {FEWEST_EVALUATORS} evaluators the audit, and so this plan, is about "
            "these evaluators, not about others like them: the assumed rates are those seen "
            "through their judgments"
        )


def _unreachable(question: PowerQuestion, target: float | None, limit: float, unit: str) -> str:
    scenario = question.scenario
    fixed = []
    if isinstance(scenario, ComparativeScenario):
        fixed += ["items"] if scenario.n_items is not None else []
        fixed += ["evaluators"] if scenario.n_evaluators is not None else []
    gaps = scenario.expect(LARGEST_SIZE).gaps
    asked = f"a power of {target:g} is not reachable"
    if question.margin is None and not gaps.any():
        return f"{asked}: the assumed rates have no gap to find, only false alarms ({limit:.4g})"
    if question.margin is not None and abs(gaps).max() >= question.margin:
        return f"{asked}: an assumed gap is not smaller than the margin of {question.margin:g}"
    if not fixed:
        return f"{asked}: the power stays at {limit:.4g} however many {unit} are made"
    these = " and ".join(fixed)
    return (
        f"{asked} with these {these}: however many {unit} are made, the power stays below "
        f"{limit:.4g}; plan for more {these}"
    )
