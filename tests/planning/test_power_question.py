"""Power to find a lean against quadrature, Fisher information in full, and drawn panels.

Witnesses: a loop over single paths judged by the audit's own test, and rules of thumb.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.special import expit, ndtr
from scipy.stats import false_discovery_control, norm

from comparity.errors import PlanError
from comparity.inference.anytime import AnytimeGap, tuned_rho
from comparity.inference.item_permutation import NullGap
from comparity.planning.plan import plan_comparative, plan_separation
from comparity.planning.plan_ranking import LeanQuestion
from comparity.planning.result import SeparationPlan

PANEL = LeanQuestion(
    lean=0.8,
    share=0.3,
    score_spread=1.0,
    n_items=60,
    n_evaluators=12,
    others_leaning=0.0,
    tie_share=0.0,
    alpha=0.05,
    rule="single",
    cautious=False,
)


@pytest.mark.parametrize("spread", [0.2, 1.0, 5.0, 20.0])
def test_with_known_scores_a_comparison_across_groups_tells_its_mean_variance(
    spread: float,
) -> None:
    def told(difference: float) -> float:
        p = expit(0.8 + difference)
        return float(p * (1 - p) * norm.pdf(difference, 0, np.sqrt(2) * spread))

    ends = 12 * spread + 30
    mean = quad(told, -ends, ends, points=[-0.8], limit=500)[0]
    # With so many others the scores cost nothing.
    panel = replace(PANEL, score_spread=spread, n_evaluators=10**9)
    across = 500 * 2 * 0.3 * 0.7 * 60 / 59
    assert panel.standard_error(500) == pytest.approx((across * mean) ** -0.5, rel=1e-5)


@pytest.mark.parametrize("lean", [-3.0, 0.5, 6.0])
def test_comparisons_against_a_lean_are_those_of_quadrature(lean: float) -> None:
    spread = np.sqrt(2)
    rare = quad(lambda d: expit(-abs(lean) - d) * norm.pdf(d, 0, spread), -15, 15, limit=500)[0]
    across = 200 * 2 * 0.3 * 0.7 * 60 / 59
    assert replace(PANEL, lean=lean).against(200) == pytest.approx(across * rare, rel=1e-5)


def errors_by_inversion(panel: LeanQuestion, size: int, rng: np.random.Generator) -> float:
    """Draw pairs, and invert the information on all scores and leans, group means being equal."""
    n, evaluators = panel.n_items, panel.n_evaluators
    group = np.arange(n) < round(panel.share * n)
    scores = rng.normal(0, panel.score_spread, n)
    total = size * evaluators
    first = rng.integers(0, n, total)
    second = (first + rng.integers(1, n, total)) % n
    who = np.repeat(np.arange(evaluators), size)
    side = group[first].astype(float) - group[second]
    lean = np.where(who == 0, panel.lean, 0.0)
    design = np.zeros((total, n + evaluators))
    rows = np.arange(total)
    design[rows, first], design[rows, second], design[rows, n + who] = 1.0, -1.0, side
    p = expit(scores[first] - scores[second] + lean * side)
    information = design.T @ (design * (p * (1 - p))[:, None])
    held = np.zeros((2, n + evaluators))
    held[0, :n], held[1, :n] = 1.0, np.where(group, 1 / group.sum(), -1 / (~group).sum())
    free = null_space(held)
    covariance = free @ np.linalg.inv(free.T @ information @ free) @ free.T
    return float(np.sqrt(covariance[n, n]))


@pytest.mark.parametrize(
    ("spread", "n_evaluators", "size"),
    [(1.0, 12, 100), (1.0, 2, 300), (2.0, 12, 80), (4.0, 30, 100)],
)
def test_errors_are_near_those_of_the_whole_information(
    spread: float, n_evaluators: int, size: int
) -> None:
    panel = replace(PANEL, score_spread=spread, n_evaluators=n_evaluators)
    rng = np.random.default_rng(5)
    found = [errors_by_inversion(panel, size, rng) for _ in range(30)]
    assert panel.standard_error(size) == pytest.approx(np.median(found), rel=0.05)


def test_the_chance_between_groups_is_that_of_two_means_and_stays() -> None:
    cautious = replace(PANEL, cautious=True)
    by_chance = np.sqrt(1 / 18 + 1 / 42)
    assert cautious.standard_error(10**12) == pytest.approx(by_chance, rel=1e-4)
    assert cautious.limit() == pytest.approx(ndtr(0.8 / by_chance + norm.ppf(0.025)), abs=1e-4)
    assert PANEL.limit() == 1.0


@pytest.mark.parametrize("others_leaning", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("distance", [2.5, 3.5])
def test_among_many_an_evaluator_is_found_as_often_as_by_benjamini_and_hochberg(
    distance: float, others_leaning: float
) -> None:
    panel = replace(
        PANEL, rule="fdr", n_evaluators=21, others_leaning=others_leaning, lean=distance
    )
    rng = np.random.default_rng(3)
    z = rng.normal(size=(4000, 21))
    z[:, : 1 + round(20 * others_leaning)] += distance
    p = 2 * ndtr(-np.abs(z))
    share = np.mean(false_discovery_control(p, axis=1)[:, 0] <= panel.alpha)
    assert panel._power(1.0) == pytest.approx(share, abs=0.02 + 3 * np.sqrt(0.25 / 4000))


@given(st.integers(20, 2000), st.floats(0.1, 3), st.sampled_from(["fdr", "single"]))
def test_more_comparisons_evaluators_or_lean_show_more(size: int, lean: float, rule: str) -> None:
    panel = replace(PANEL, lean=lean, rule=rule)
    power = panel.power(size)
    assert 0 <= power <= panel.power(size + 1)
    assert replace(panel, tie_share=0.2).power(size) <= power
    assert replace(panel, lean=-lean).power(size) == pytest.approx(power)
    assert replace(panel, rule="single").power(size) >= power


def test_too_few_comparisons_for_the_scores_find_nobody() -> None:
    assert PANEL.standard_error(1) == np.inf
    assert PANEL.power(1) == 0.0


def test_one_evaluator_alone_is_judged_at_the_level_itself() -> None:
    assert replace(PANEL, rule="fdr", n_evaluators=1).level(500) == pytest.approx(0.05)


RATES = {"shares": [0.5, 0.5], "base_rates": [0.5, 0.5]}
# One gap of 0.1 in true positive rates; false positive rates are equal.
ONE_GAP = {"tpr": [0.8, 0.7], "fpr": [0.2, 0.2], **RATES}


@pytest.fixture(scope="module")
def plan() -> SeparationPlan:
    return plan_separation(**ONE_GAP, power=0.8, anytime=True)


def loop_of_paths(paths: int) -> list[float]:
    """Draw decisions batch by batch, and look after each batch with the audit's own pivot."""
    rng, rho = np.random.default_rng(9), tuned_rho(0.05, 0.05)
    stops = []
    for _ in range(paths):
        totals, size = np.zeros(4), 0
        stop = math.inf
        while size < 12_000 and not math.isfinite(stop):
            size += 100
            # A hundred decisions are 25 of each group and label; gaps of means of 25.
            totals += rng.normal([20, 17.5, 5, 5], np.sqrt([4, 5.25, 4, 4]))
            rates, each = totals / (size / 4), size / 4
            for one, two, variance in ((0, 1, 0.16 + 0.21), (2, 3, 0.32)):
                error, gap = math.sqrt(variance / each), float(rates[one] - rates[two])
                fixed = NullGap(gap=gap, standard_error=error)
                test = AnytimeGap(gap=gap, standard_error=error, fixed=fixed, rho=rho)
                if test.p_value(0.0) <= 0.025:
                    stop = size
        stops.append(stop)
    return stops


@pytest.mark.long
def test_the_median_is_that_of_studies_drawn_one_by_one(plan: SeparationPlan) -> None:
    """200 studies: the median is known to within a tenth (3 standard errors of a quantile)."""
    stops = loop_of_paths(200)
    assert plan.stopping is not None
    assert plan.stopping.median == pytest.approx(np.median(stops), rel=0.12)
    late = np.quantile(stops, 0.9)
    assert plan.stopping.late == pytest.approx(late, rel=0.15)
    by = np.mean(np.array(stops) <= plan.stopping.budget)
    assert plan.stopping.decided == pytest.approx(by, abs=0.12)


def test_looking_at_any_moment_costs_a_third_and_not_the_double(plan: SeparationPlan) -> None:
    told = plan.stopping
    assert told is not None
    assert told.budget == plan.n
    assert told.price == pytest.approx(told.median / plan.n)
    assert 1.05 < told.price < 1.5
    assert told.rho == tuned_rho(0.05, 0.05)
    assert "half of such studies stop by" in str(plan)


def test_a_gap_of_zero_is_shown_to_be_within_the_margin_at_the_boundary() -> None:
    """One pair of groups and both rates: the later of two crossings of a line."""
    told = plan_separation(
        tpr=[0.8, 0.8], fpr=[0.2, 0.2], **RATES, power=0.8, margin=0.05, anytime=True
    ).stopping
    assert told is not None
    assert 1.1 < told.price < 1.7
    # The error at the median leaves room for half the gaps: margin over error above the quantile.
    error = math.sqrt(0.32 / (told.median / 4))
    assert 0.05 / error > norm.isf(0.0024)


def test_plans_come_back_from_their_json(plan: SeparationPlan) -> None:
    assert SeparationPlan.from_dict(plan.to_dict()).to_dict() == plan.to_dict()


def test_few_evaluators_and_the_rule_of_the_paper_have_no_stopping_time() -> None:
    few = plan_comparative(
        tpr=[0.8, 0.7], tnr=[0.8, 0.8], **RATES, n_pairs=2000, n_evaluators=5, anytime=True
    )
    assert few.stopping is None
    assert "ten evaluators" in " ".join(few.section().sentences)
    with pytest.raises(PlanError, match="at any moment"):
        plan_separation(**ONE_GAP, power=0.8, rule="paper", anytime=True)
    assert plan_separation(**ONE_GAP, power=0.8).stopping is None
