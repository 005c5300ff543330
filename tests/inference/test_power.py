"""Power of one and of several tests.

Witnesses: Proposition 3.5 of Xi et al. written out (tests/plain/power.py), statsmodels, the
multivariate normal and studentized range distributions of scipy, and draws from the normal law.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import normal_power_het

from comparity.counts.pairs import Tally
from comparity.inference.power import (
    all_within_power,
    any_detection_power,
    detection_power,
    exact_power,
    smallest_size,
)
from comparity.inference.proportions import ExactPivot
from comparity.inference.rejection import rectangle_probability
from tests.plain.power import type_two_error
from tests.plain.two_proportions import binomial

rates = st.floats(0.01, 0.99)
trials = st.integers(30, 10_000)
alphas = st.floats(0.001, 0.3)


def power_within(gap: float, error: float, **choices: Any) -> float:
    """Return the power of the two one-sided tests of a single gap."""
    return all_within_power(np.array([gap]), np.array([[error**2]]), **choices)


def standard_error(p: float, q: float, n: int, m: int) -> float:
    return float(np.sqrt(p * (1 - p) / n + q * (1 - q) / m))


@given(rates, rates, trials, trials, alphas)
def test_detection_power_is_proposition_3_5(
    p: float, q: float, n: int, m: int, alpha: float
) -> None:
    power = detection_power(p - q, standard_error(p, q, n, m), alpha=alpha)
    assert power == pytest.approx(1 - type_two_error(p, q, n, m, alpha), abs=1e-12)


@given(st.floats(-0.3, 0.3), st.floats(0.05, 1.0), st.integers(10, 5000), alphas)
def test_detection_power_equals_statsmodels(gap: float, sd: float, n: int, alpha: float) -> None:
    expected = normal_power_het(
        gap, n, alpha, std_null=sd, std_alternative=sd, alternative="two-sided"
    )
    assert detection_power(gap, sd / np.sqrt(n), alpha=alpha) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("gap", "error"), [(0.0, 0.02), (0.02, 0.02), (-0.03, 0.01), (0.05, 0.01)])
def test_power_of_equivalence_is_the_share_of_draws_both_tests_reject(
    gap: float, error: float
) -> None:
    drawn = np.random.default_rng(7).normal(gap, error, 200_000)
    below = stats.norm.cdf((drawn - 0.05) / error) < 0.05
    above = stats.norm.sf((drawn + 0.05) / error) < 0.05
    share = np.mean(below & above)
    power = power_within(gap, error, margin=0.05, alpha=0.05)
    assert abs(power - share) <= 3 * np.sqrt(power * (1 - power) / len(drawn))


def test_a_gap_at_the_margin_is_found_within_it_with_probability_alpha() -> None:
    assert power_within(0.05, 0.001, margin=0.05, alpha=0.03) == pytest.approx(0.03, abs=1e-12)


def test_a_margin_narrower_than_the_error_allows_can_never_be_shown() -> None:
    assert power_within(0.0, 0.04, margin=0.05, alpha=0.05) == 0


def test_rates_without_variation_are_detected_only_if_they_differ() -> None:
    assert detection_power(1.0, 0.0, alpha=0.05) == 1
    assert detection_power(0.0, 0.0, alpha=0.05) == 0
    assert power_within(0.0, 0.0, margin=0.05, alpha=0.05) == 1
    assert power_within(0.05, 0.0, margin=0.05, alpha=0.05) == 0


@given(st.lists(st.tuples(st.floats(-0.2, 0.2), st.floats(0.01, 0.1)), min_size=1, max_size=6))
def test_independent_tests_multiply(tests: list[tuple[float, float]]) -> None:
    gaps, errors = np.array(tests).T
    accepted = stats.norm.cdf(1.96, gaps / errors) - stats.norm.cdf(-1.96, gaps / errors)
    alpha = 2 * stats.norm.sf(1.96)
    power = any_detection_power(gaps, np.diag(errors**2), alpha=alpha)
    assert power == pytest.approx(1 - np.prod(accepted), abs=1e-10)


@pytest.mark.parametrize("groups", [3, 4, 5])
@pytest.mark.parametrize("bound", [0.7, 1.5, 2.4])
def test_all_gaps_between_equal_groups_follow_the_studentized_range(
    groups: int, bound: float
) -> None:
    pairs = [(a, b) for a in range(groups) for b in range(a)]
    contrast = np.zeros((len(pairs), groups))
    for row, (a, b) in enumerate(pairs):
        contrast[row, [a, b]] = 1, -1
    limits = np.full(len(pairs), bound)
    probability = rectangle_probability(-limits, limits, contrast @ contrast.T / 2)
    expected = stats.studentized_range.cdf(bound * np.sqrt(2), groups, np.inf)
    assert probability == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [2, 3, 5])
def test_rectangles_of_correlated_normals_equal_scipy(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size + 1))
    covariance = root @ root.T
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    lower, upper = -rng.uniform(0, 2, size), rng.uniform(0, 3, size)
    within = {"maxpts": 10**6, "abseps": 1e-7, "releps": 1e-7}
    expected = stats.multivariate_normal.cdf(
        upper, np.zeros(size), correlation, lower_limit=lower, **within
    )
    assert rectangle_probability(lower, upper, correlation) == pytest.approx(expected, abs=5e-5)


def test_correlated_gaps_are_all_within_the_margin_as_often_as_draws_are() -> None:
    covariance = np.array([[4.0, 2.0, -2.0], [2.0, 4.0, 2.0], [-2.0, 2.0, 4.0]]) * 1e-4
    gaps = np.array([0.01, 0.0, -0.01])
    drawn = (
        gaps
        + np.random.default_rng(3).normal(size=(200_000, 2))
        @ np.array([[2.0, 1.0, -1.0], [0.0, np.sqrt(3), np.sqrt(3)]])
        * 1e-2
    )
    share = np.mean(np.all(np.abs(drawn) < 0.06 - stats.norm.isf(0.05) * 0.02, axis=1))
    power = all_within_power(gaps, covariance, margin=0.06, alpha=0.05)
    assert abs(power - share) <= 3 * np.sqrt(power * (1 - power) / len(drawn))


@given(st.floats(0.01, 0.2), st.floats(0.1, 0.98))
@settings(max_examples=50)
def test_the_size_found_is_the_smallest_that_reaches_the_target(gap: float, target: float) -> None:
    def power_at(n: int) -> float:
        return float(1 - type_two_error(0.5 + gap, 0.5, n, n, 0.05))

    size = smallest_size(power_at, target)
    assert size is not None
    assert power_at(size) >= target
    assert size == 1 or power_at(size - 1) < target


def test_a_target_out_of_reach_has_no_size() -> None:
    assert smallest_size(lambda n: 0.7 - 1 / n, 0.7) is None


@pytest.mark.parametrize("rates", [(0.9, 0.3), (1.0, 0.5), (0.2, 0.2)])
def test_exact_power_is_that_of_all_tables(rates: tuple[float, float]) -> None:
    n, m = 9, 7
    expected = {"differ": 0.0, "within": 0.0}
    for x in range(n + 1):
        for y in range(m + 1):
            likely = binomial(x, n, rates[0]) * binomial(y, m, rates[1])
            pivot = ExactPivot(Tally(x, n), Tally(y, m))
            ends = pivot.p_below(0.6), pivot.p_above(-0.6)
            expected["differ"] += likely * (pivot.p_value(0.0) <= 0.05)
            expected["within"] += likely * (max(ends) <= 0.05)
    assert max(expected.values()) > 0.2
    differ = exact_power(rates, (n, m), alpha=0.05)
    within = exact_power(rates, (n, m), alpha=0.05, margin=0.6)
    assert {"differ": differ, "within": within} == pytest.approx(expected, abs=4e-4)


def test_exact_power_allows_for_trials_left_to_chance() -> None:
    """Two groups of 40 among 160 decisions: the mean over drawn trials, of a step and a slope."""
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(160, [0.25, 0.25, 0.5], size=400)[:, :2].tolist()
    for rates, margin in (((1.0, 1.0), 0.08), ((1.0, 0.85), None)):
        powers = [exact_power(rates, (n, m), alpha=0.05, margin=margin) for n, m in drawn]
        expected, error = float(np.mean(powers)), float(np.std(powers)) / 20
        found = exact_power(rates, (40, 40), alpha=0.05, margin=margin, size=160)
        assert 0.1 < expected < 0.97
        assert found == pytest.approx(expected, abs=0.03 + 3 * error)
        assert abs(found - exact_power(rates, (40, 40), alpha=0.05, margin=margin)) > 0.02
