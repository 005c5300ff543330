"""How much data a study needs, and what it would be able to show: by formula and by drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri

from comparity.errors import Option, PlanError
from comparity.inference.agreement_tests import family_of_cells
from comparity.inference.power import LARGEST_SIZE, first_step_alpha
from comparity.planning.graded import SMALLEST, GradedScenario
from comparity.planning.options import (
    ComparativePlanOptions,
    GroupPlanOptions,
    PlanRecord,
    SeparationPlanOptions,
)
from comparity.planning.power_question import PowerQuestion, Stopping, stopping_of
from comparity.planning.remarks import remarks, say_unreachable
from comparity.planning.result import ComparativePlan, PlannedTest, SeparationPlan
from comparity.planning.scenarios import (
    ComparativeScenario,
    ExpectedGaps,
    PairScenario,
    Scenario,
    SeparationScenario,
)
from comparity.results.options import shows


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
    anytime : bool
        Whether to say when a study would stop that may do so at any moment.

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
    size, answer = _answer(options, SeparationScenario(**options.rates), nulls, "decisions")
    return SeparationPlan(n=size, **answer, design="independent decisions")


@shows(ComparativePlanOptions)
def plan_comparative(**choices: Any) -> ComparativePlan:
    """Plan a test of comparative separation: the power of judged pairs, or the pairs for a power.

    Exactly one of `n_pairs` and `power` is given; the other is found. Pairs are made at random.
    Items are good or bad, where rates are given: pairs of equal quality have no order and are lost.
    Or they are better and worse, where a distribution of quality is given.

    Parameters
    ----------
    tpr, tnr : sequence of float, optional
        True positive and true negative rate assumed for each group. The model puts the better item
        of a pair first when it is right about both.
    shares : sequence of float
        Share of each group among the items; they sum to 1.
    base_rates : sequence of float, optional
        Share of positive items within each group.
    quality_spread, quality_mean : sequence of float, optional
        For graded quality, in place of rates: standard deviation and mean (0 by default) of quality
        in each group. Only their proportions to each other and to the errors matter.
    model_error, model_shift : sequence of float, optional
        For graded quality: standard deviation of the model's error in each group, and what the
        model adds to all scores of the group (0 by default), in units of quality.
    judge_error : float, default 0
        For graded quality: standard deviation of the error with which a judge sees one item.
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
        It may be ``"graded"`` where rates are given, too.
    evaluator_lean : float, default 0.1
        Standard deviation, over evaluators, of what one adds to the across gap. Used only where
        `n_evaluators` is given.
    tie_share : float, default 0
        Share of the judgments that should have an order and are given as ties.
    power : float, optional
        Power wanted.
    alpha, margin, rule, groups, anytime
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
    comparity.planning.scenarios.ComparativeScenario : The formulas of good and bad items.
    comparity.planning.graded.GradedScenario : The formulas of graded quality.

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

    Graded quality, with a model that errs half as much again in the second group:

    >>> quality = dict(shares=[0.5, 0.5], quality_spread=[1, 1], model_error=[0.6, 0.9])
    >>> plan_comparative(**quality, power=0.8).n_pairs
    3512
    """
    options = ComparativePlanOptions(**choices)
    # The paper's rule is made for binary quality, as an audit by it is.
    graded = options.quality == "graded" and options.rule != "paper"
    scenario = _pair_scenario(options, graded=graded)
    family = family_of_cells(options.group_names, graded=graded)
    nulls = [one.null for one in family.judged_contrasts(margin=options.margin is not None)]
    size, answer = _answer(options, scenario, nulls, "judgments")
    is_fresh = scenario.n_items is None and scenario.n_evaluators is None
    return ComparativePlan(
        n_pairs=size,
        **answer,
        n_items=scenario.n_items,
        n_evaluators=scenario.n_evaluators,
        ceiling=None if is_fresh else answer["question"].limit(),
        design=_design_words(scenario),
    )


def _pair_scenario(options: ComparativePlanOptions, *, graded: bool) -> PairScenario:
    """Return what is believed of pairs: of good and bad items, or of graded quality."""
    names = ("n_items", "n_evaluators", "evaluator_lean", "tie_share")
    assumed: dict[str, Any] = {name: getattr(options, name) for name in names} | options.rates
    if options.has_graded_quality:
        scenario = GradedScenario(**assumed, judge_error=options.judge_error, graded=graded)
        share, better, worse = scenario.rarest_order
        if share < SMALLEST:
            first, second = options.group_names[better], options.group_names[worse]
            raise PlanError(
                "every kind of pair must occur",
                f"an item of {first!r} is hardly ever better than one of {second!r}",
                "give means that are closer to each other, or wider spreads: {}",
                Option("quality_mean"),
            )
        return scenario
    return ComparativeScenario(**assumed, graded=graded)


class PlanAnswer(PlanRecord):
    """What all plans between groups have but for their size, by the names of their fields."""

    power: float
    target: float | None
    tests: tuple[PlannedTest, ...]
    groups: tuple[str, ...]
    alpha: float
    margin: float | None
    rule: str
    notes: tuple[str, ...]
    stopping: Stopping | None
    question: PowerQuestion


def _answer(
    options: GroupPlanOptions, scenario: Scenario, nulls: Sequence[str], unit: str
) -> tuple[int | None, PlanAnswer]:
    """Return the size and the rest; without a size, what endless data would give."""
    question = PowerQuestion(
        scenario=scenario, alpha=options.alpha, margin=options.margin, rule=options.rule
    )
    target = options.power
    size = options.size if target is None else question.smallest_size(target)
    expected = question.expect(LARGEST_SIZE if size is None else size)
    tests = _planned_tests(question, expected, nulls, endless=size is None)
    power = question.limit() if size is None else question.power(size)
    unreachable = [say_unreachable(question, target, power, unit)] if size is None else []
    return size, {
        "power": power,
        "target": target,
        "tests": tests,
        "groups": options.group_names,
        "alpha": options.alpha,
        "margin": options.margin,
        "rule": options.rule,
        "notes": (*unreachable, *remarks(question, tests)),
        "stopping": stopping_of(options, question, size),
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


def _design_words(scenario: PairScenario) -> str:
    if scenario.n_items is None:
        return "fresh" if scenario.n_evaluators is None else "fresh items, shared evaluators"
    return "shared items" if scenario.n_evaluators is None else "shared items and evaluators"


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
