"""Simulation: the data said to decide a test decide it about four times in five."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from comparity import comparative_separation
from comparity.counts.pairs import Tally
from comparity.inference.gap_tests import GapTest
from comparity.inference.proportions import compare_rates
from comparity.inference.requirement import _undecided_by_t, needed_by_tests, needed_data

CHOICES = {"margin": 0.05, "alpha": 0.05, "local_alpha": 0.05}
REPETITIONS = 1500


def open_test(first: float, second: float, n: int) -> GapTest:
    return compare_rates(Tally(round(first * n), n), Tally(round(second * n), n), null="")


def drawn(first: float, second: float, n: int, rng: np.random.Generator) -> GapTest:
    one, two = (Tally(int(rng.binomial(n, rate)), n) for rate in (first, second))
    return compare_rates(one, two, null="")


def within(first: float, second: float, n: int, rng: np.random.Generator) -> bool:
    return drawn(first, second, n, rng).equivalence_p_value(0.05) <= 0.05


def decided(first: float, second: float, n: int, rng: np.random.Generator) -> bool:
    test = drawn(first, second, n, rng)
    return test.p_value <= 0.05 or test.equivalence_p_value(0.05) <= 0.05


@pytest.mark.parametrize(
    ("first", "second", "observed_first"),
    [(0.60, 0.50, True), (0.57, 0.56, True), (0.58, 0.54, False)],
)
def test_four_fifths_of_audits_of_the_needed_size_decide(
    first: float, second: float, observed_first: bool
) -> None:
    rng = np.random.default_rng(8)
    needed = needed_data(open_test(first, second, 100), n=200, n_items=200, **CHOICES)
    assert needed is not None
    for_observed, for_zero = needed.items
    assert (for_observed < for_zero) == observed_first
    binomial_error = np.sqrt(0.8 * 0.2 / REPETITIONS)
    outcomes = [decided(first, second, for_observed // 2, rng) for _ in range(REPETITIONS)]
    assert np.mean(outcomes) == pytest.approx(0.8, abs=3 * binomial_error)
    inside = [within(0.55, 0.55, for_zero // 2, rng) for _ in range(REPETITIONS)]
    assert np.mean(inside) == pytest.approx(0.8, abs=3 * binomial_error)


@pytest.mark.parametrize("rate", [0.97, 0.98, 0.99])
def test_rates_near_1_are_shown_to_be_alike_by_what_is_said_to_be_needed_and_not_by_half(
    rate: float,
) -> None:
    """With errors at the observed rates a fifth of the audits at 0.98 kept what was promised."""
    rng = np.random.default_rng(8)
    needed = needed_data(open_test(rate, rate, 100), n=200, n_items=200, **CHOICES)
    assert needed is not None
    enough, half = (
        np.mean([within(rate, rate, -(-needed.items[1] // 2 // part), rng) for _ in range(500)])
        for part in (1, 2)
    )
    assert enough > 0.8 - 3 * np.sqrt(0.8 * 0.2 / 500)
    assert half < 0.6


def test_no_miss_at_all_still_says_what_would_decide() -> None:
    needed = needed_data(open_test(1.0, 1.0, 40), n=80, n_items=80, **CHOICES)
    assert needed is not None
    rng = np.random.default_rng(1)
    assert within(1.0, 1.0, -(-needed.items[1] // 2), rng)
    assert not within(1.0, 1.0, needed.items[1] // 3, rng)


def test_with_shared_variance_above_the_target_no_number_of_judgments_is_enough() -> None:
    test = open_test(0.57, 0.5, 200)
    stuck = replace(test, shared_variance=0.9 * test.standard_error**2)
    needed = needed_data(stuck, n=200, n_items=50, **CHOICES)
    assert needed is not None
    assert needed.judgments == (None, None)
    assert needed.items[0] > 50


def test_judgments_on_the_same_items_cost_more_than_judgments_on_new_ones() -> None:
    test = open_test(0.57, 0.5, 200)
    half = replace(test, shared_variance=0.1 * test.standard_error**2)
    needed = needed_data(half, n=200, n_items=50, **CHOICES)
    assert needed is not None
    assert needed.judgments[0] is not None
    assert needed.judgments[0] > needed.judgments_with_items[0]


def test_an_untested_gap_needs_nothing_said() -> None:
    test = compare_rates(Tally(0, 0), Tally(3, 40), null="")
    assert needed_data(test, n=40, n_items=40, **CHOICES) is None


def judged_by_few(n_evaluators: int, rng: np.random.Generator, gap: float = 0.0) -> Any:
    """Audit 100 fresh pairs of each evaluator, whose own gaps vary with an SD of 0.05."""
    k = np.repeat(np.arange(n_evaluators), 100)
    cell, own = np.arange(len(k)) % 2, gap + rng.normal(0, 0.05, n_evaluators)
    agree = rng.random(len(k)) < 0.7 + cell * own[k]
    scores = np.column_stack([agree, ~agree]).ravel()
    group = np.column_stack([cell, 1 - cell]).ravel()
    pairs = np.arange(2 * len(k)).reshape(-1, 2)
    options = {"scores": scores, "sensitive_features": group, "evaluators": k, "margin": 0.1}
    return comparative_separation(pairs, **options)


@pytest.mark.long
def test_few_evaluators_need_as_many_more_as_their_estimated_error_asks_for() -> None:
    """By the normal law eight evaluators would be said to decide, and would in 0.58 of studies."""
    rng, few = np.random.default_rng(3), 4
    open_audit = judged_by_few(few, rng)
    variance = 2 * 0.7 * 0.3 / (50 * few) + 0.05**2 / few
    # Clusters about their sum have one part of their number less than the truth.
    error = np.sqrt(variance * (few - 1) / few)
    test = replace(open_audit.tests[0], gap=0.0, standard_error=error)
    choices = {"margin": 0.1, "alpha": 0.05, "local_alpha": 0.05}
    needed = needed_data(test, n=open_audit.n, n_items=open_audit.n_items, **choices)
    assert needed is not None
    enough = math.ceil(few * needed.items[1] / open_audit.n_items)
    found = [judged_by_few(enough, rng).tests[0].equivalence_p <= 0.05 for _ in range(250)]
    assert np.mean(found) == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / 250) + 0.05)


def test_judgments_by_the_same_few_evaluators_never_tell_their_spread() -> None:
    audit = judged_by_few(3, np.random.default_rng(5))
    test = replace(audit.tests[0], gap=0.0, standard_error=0.08, shared_variance=0.05**2)
    needed = needed_data(test, n=audit.n, n_items=audit.n_items, **CHOICES)
    assert needed is not None
    assert needed.judgments[1] is None
    assert needed.judgments_with_items[1] > audit.n


@pytest.mark.parametrize(("gap", "dof"), [(0.0, 3.0), (0.5, 3.0), (0.5, 12.0)])
def test_the_probability_of_a_decision_is_that_of_simulated_t_tests(gap: float, dof: float) -> None:
    rng, margin = np.random.default_rng(2), 1.2
    found = rng.normal(gap, 0.3, 20_000)
    estimated = 0.3 * np.sqrt(rng.chisquare(dof, 20_000) / dof)
    away = np.abs(found) > scipy.stats.t.isf(0.025, dof) * estimated
    inside = np.abs(found) < margin - scipy.stats.t.isf(0.05, dof) * estimated
    levels = {"margin": margin, "alpha": 0.05, "away_alpha": 0.05}
    open_share = _undecided_by_t(gap, np.array([0.3]), np.array([dof]), **levels)
    assert open_share[0] == pytest.approx(np.mean(~(away | inside)), abs=0.012)


def test_of_several_tests_each_needs_what_it_needs_alone() -> None:
    tests = [
        compare_rates(Tally(x, 12), Tally(y, m), null="")
        for x, y, m in [(3, 9, 14), (0, 0, 5), (12, 40, 40), (6, 200, 400), (7, 7, 12)]
    ]
    tests.insert(2, open_test(0.5, 0.55, 300))
    local_alphas = [0.05, 0.01, 0.025, 0.005, 0.05, 0.001]
    choices = {"margin": 0.05, "alpha": 0.05, "n": 100, "n_items": 100}
    alone = [
        needed_data(test, local_alpha=level, **choices)
        for test, level in zip(tests, local_alphas, strict=True)
    ]
    assert needed_by_tests(tests, local_alphas=local_alphas, **choices) == alone
    assert len(set(alone)) == len(tests)
