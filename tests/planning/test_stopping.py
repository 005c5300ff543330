"""Witnesses: a loop over single paths judged by the audit's own test, and rules of thumb."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from comparity.errors import PlanError
from comparity.inference.anytime import AnytimeGap, tuned_rho
from comparity.inference.pivots import NullGap
from comparity.planning.plan import plan_comparative, plan_separation
from comparity.planning.result import SeparationPlan

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
