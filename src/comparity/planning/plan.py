"""How much data a study needs, and what it would be able to show: by formula and by drawing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri

from comparity.inference.agreement import FEWEST_EVALUATORS, family_of_cells
from comparity.inference.gap_tests import items_to_see
from comparity.inference.power import LARGEST_SIZE, first_step_alpha
from comparity.planning.options import (
    ComparativePlanOptions,
    GroupPlanOptions,
    SeparationPlanOptions,
)
from comparity.planning.power import PowerQuestion
from comparity.planning.result import ComparativePlan, PlannedTest, SeparationPlan
from comparity.planning.scenarios import (
    ComparativeScenario,
    ExpectedGaps,
    Scenario,
    SeparationScenario,
)
from comparity.results.options import AuditOptions, shows

#: Below this many trials behind a rate the normal approximation is rough (Xi et al., Prop. 3.5).
FEW_TRIALS = 30


@shows(SeparationPlanOptions)
def plan_separation(**choices: Any) -> SeparationPlan:
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
    OptionError, PlanError
        If a rate, share or choice is impossible, or does not go with the others.

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
    options = SeparationPlanOptions(**choices)
    pairs = list(combinations(options.group_names, 2))
    nulls = [f"{rate}({a}) = {rate}({b})" for rate in ("TPR", "FPR") for a, b in pairs]
    answers = _answer(options, SeparationScenario(**options.rates), nulls, "decisions")
    return SeparationPlan(**answers, design="independent decisions")


@shows(ComparativePlanOptions)
def plan_comparative(**choices: Any) -> ComparativePlan:
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
    quality : {"graded", "binary"}
        Which hypotheses the audit will test: of all kinds of pairs, or of binary quality only.
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
    OptionError, PlanError
        If a rate, share or choice is impossible, or does not go with the others.

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
    options = ComparativePlanOptions(**choices)
    names = {one.name for one in fields(ComparativeScenario)} - {"graded"}
    # The paper's rule is made for binary quality, as an audit by it is.
    graded = options.quality == "graded" and options.rule != "paper"
    assumed = {name: getattr(options, name) for name in names}
    scenario = ComparativeScenario(**assumed, graded=graded)
    family = family_of_cells(options.group_names, graded=graded)
    nulls = [one.null for one in family.judged_contrasts(margin=options.margin is not None)]
    answers = _answer(options, scenario, nulls, "judgments")
    is_fresh = scenario.n_items is None and scenario.n_evaluators is None
    return ComparativePlan(
        **answers,
        n_items=scenario.n_items,
        n_evaluators=scenario.n_evaluators,
        ceiling=None if is_fresh else answers["question"].limit(),
        design=_design_words(scenario),
    )


def _answer(
    options: GroupPlanOptions, scenario: Scenario, nulls: Sequence[str], unit: str
) -> dict[str, Any]:
    """Return what all plans between groups have; without a size, what endless data would give."""
    question = PowerQuestion(
        scenario=scenario, alpha=options.alpha, margin=options.margin, rule=options.rule
    )
    target = options.power
    size = options.size if target is None else question.smallest_size(target)
    expected = question.expect(LARGEST_SIZE if size is None else size)
    tests = _planned_tests(question, expected, nulls, endless=size is None)
    power = question.limit() if size is None else question.power(size)
    unreachable = [_unreachable(question, target, power, unit)] if size is None else []
    return {
        options.SIZE: size,
        "power": power,
        "target": target,
        "tests": tests,
        "groups": options.group_names,
        "alpha": options.alpha,
        "margin": options.margin,
        "rule": options.rule,
        "notes": (*unreachable, *_notes(question, tests)),
        "question": question,
        **options.record(groups=options.group_names),
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


def _design_words(scenario: ComparativeScenario) -> str:
    if scenario.n_items is None:
        return "fresh" if scenario.n_evaluators is None else "fresh items, shared evaluators"
    return "shared items" if scenario.n_evaluators is None else "shared items and evaluators"


def _notes(question: PowerQuestion, tests: Sequence[PlannedTest]) -> Iterator[str]:
    """Say what the reader of a plan must know."""
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
        yield from _few_items(question, question.scenario)
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


def _few_items(question: PowerQuestion, scenario: ComparativeScenario) -> Iterator[str]:
    """Say when an audit of so few items finds nothing to be within the margin."""
    if question.margin is None or scenario.n_items is None:
        return
    least = items_to_see(question.margin, question.alpha)
    smallest = min(scenario.shares) * scenario.n_items
    if smallest < least:
        yield (
            f"an audit finds a gap within {question.margin:g} only where {least:,} items of each "
            f"group were judged, and {smallest:.0f} of the smallest group are expected: plan with "
            f"n_items={math.ceil(least / min(scenario.shares)):,} or more"
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
    gaps = question.expect(LARGEST_SIZE).gaps
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


def simulate_power(
    scenario: Scenario,
    size: int,
    *,
    alpha: float = 0.05,
    rule: str = "holm",
    repetitions: int = 10_000,
    rng: np.random.Generator | int | None = None,
) -> float:
    """Return how often at least one Wald test rejects in random studies of independent rows.

    Tests see counts only, so counts are drawn, not rows: decisions by group, label and prediction,
    or fresh pairs by cell and agreement, are multinomial. The distribution is that of drawing row
    by row; the cost does not depend on the number of rows (``benchmarks/bench_power.py``).

    Parameters
    ----------
    scenario : SeparationScenario or ComparativeScenario
        The true rates, group shares and base rates; items and evaluators of pairs must be fresh.
    size : int
        Decisions or pairs in each repetition; how many fall in a cell, and how many pairs are lost
        as of equal quality or tied, is left to chance.
    alpha : float, default 0.05
        Overall false-alarm rate, or that of each test with rule ``"paper"``.
    rule : {"holm", "paper"}, default "holm"
        Whether the smallest p value is judged at `alpha` over the number of tests, or at `alpha`.
    repetitions : int, default 10,000
        Number of simulated studies.
    rng : numpy.random.Generator, int or None
        Source of randomness, or its seed.

    Returns
    -------
    float
        Share of repetitions with a rejection. A test without trials, or without a gap and without
        variation, does not reject.

    References
    ----------
    .. [1] Xi, Capak, Stockwell and Yu, "Comparative Separation", Section 4.1.

    Examples
    --------
    >>> f1 = SeparationScenario(
    ...     tpr=(0.8, 0.8), fpr=(0.36, 0.44), shares=(0.5, 0.5), base_rates=(0.55, 0.45)
    ... )
    >>> abs(simulate_power(f1, 1000, rule="paper", rng=1) - 0.4743) < 0.02
    True
    """
    for shared in ("n_items", "n_evaluators"):
        assert getattr(scenario, shared, None) is None, "judgments that share are not multinomial"
    rates, shares = scenario.cell_rates, scenario.cell_shares
    lost = max(0.0, 1 - shares.sum())
    chances = np.concatenate([shares * rates, shares * (1 - rates), [lost]])
    # numpy wants the probabilities to sum to 1 within rounding.
    counts = np.random.default_rng(rng).multinomial(size, chances / chances.sum(), repetitions)
    hits, misses = counts[:, : len(rates)], counts[:, len(rates) : 2 * len(rates)]
    first, second = np.array(scenario.pairs).T
    critical = ndtri(first_step_alpha(alpha, rule, len(first)) / 2) ** 2
    # Without trials the rate is nan, and no comparison with nan holds: the test does not reject.
    with np.errstate(invalid="ignore", divide="ignore"):
        found = hits / (hits + misses)
        variances = found * (1 - found) / (hits + misses)
        gaps = found[:, first] - found[:, second]
        rejected = gaps**2 > critical * (variances[:, first] + variances[:, second])
    return float(rejected.any(axis=1).mean())
