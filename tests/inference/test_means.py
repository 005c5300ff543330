"""Tests of mean differences equal scipy's at zero, and are one test at every other gap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, ttest_ind

from comparity.counts.differences import Moments
from comparity.inference.differential_parity import one_sided_p_value
from comparity.inference.gap_tests import GapTest
from comparity.inference.means import (
    ConstantPivot,
    RatioPivot,
    Term,
    compare_means,
    contrast_of_means,
    satterthwaite,
)
from tests.plain import relative as plain

group = st.lists(
    st.floats(-5, 5).map(lambda value: round(value, 3)), min_size=6, max_size=30
).filter(lambda drawn: np.std(drawn) > 0.1 and max(map(drawn.count, drawn)) * 2 <= len(drawn))


def compared(x: np.ndarray | list[float], y: np.ndarray | list[float]) -> GapTest:
    return compare_means(
        Moments.of(np.asarray(x, float)), Moments.of(np.asarray(y, float)), null=""
    )


@given(group, group)
def test_at_zero_it_is_scipys_welch_test(x: list[float], y: list[float]) -> None:
    test = compared(x, y)
    assert test.method == "Welch t"
    assert test.p_value == pytest.approx(ttest_ind(x, y, equal_var=False).pvalue, abs=1e-9)
    assert test.gap == pytest.approx(plain.dpd(x, y), abs=1e-9)


@given(group, group, st.floats(0.5, 0.99))
def test_the_interval_ends_where_the_test_rejects(
    x: list[float], y: list[float], level: float
) -> None:
    test = compared(x, y)
    low, high, _ = test.interval(level)
    if math.isfinite(low):
        assert test.pivot.p_value(low) == pytest.approx(1 - level, abs=1e-6)
        assert test.pivot.p_value(high) == pytest.approx(1 - level, abs=1e-6)
        assert low <= test.gap <= high


@given(group, group, st.floats(-2, 2))
def test_one_sided_p_values_are_halves(x: list[float], y: list[float], size: float) -> None:
    pivot = compared(x, y).pivot
    assert pivot.p_below(size) + pivot.p_above(size) == pytest.approx(1)
    assert 2 * min(pivot.p_below(size), pivot.p_above(size)) == pytest.approx(pivot.p_value(size))


def test_the_error_of_dpd_is_that_of_hedges_and_olkin_for_normal_differences() -> None:
    """Large-sample variance of Cohen's d: (n1 + n2) / (n1 n2) + d^2 / (2 (n1 + n2))."""
    scores = norm.ppf((np.arange(4000) + 0.5) / 4000)
    test = compared(scores[::2] + 0.8, scores[1::2])
    expected = math.sqrt(4000 / 2000**2 + test.gap**2 / 8000)
    assert test.standard_error == pytest.approx(expected, rel=2e-3)


@pytest.mark.long
def test_the_error_of_dpd_is_that_of_a_bootstrap_for_skewed_differences() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.exponential(size=300) ** 1.5, rng.normal(1, 1, 500)
    draws = [
        plain.dpd(rng.choice(x, 300).tolist(), rng.choice(y, 500).tolist()) for _ in range(1500)
    ]
    assert compared(x, y).standard_error == pytest.approx(np.std(draws), rel=0.08)


def test_four_terms_have_the_degrees_of_freedom_of_satterthwaite() -> None:
    """Against the definition: 2 E(V)^2 / Var(V) of a sum of scaled chi-squares."""
    variances, freedoms = np.array([0.5, 1.0, 0.1, 2.0]), np.array([5, 9, 30, 14])
    draws = np.random.default_rng(3).chisquare(freedoms, (400_000, 4)) / freedoms * variances
    total = draws.sum(axis=1)
    expected = 2 * total.mean() ** 2 / total.var()
    assert satterthwaite(variances, freedoms) == pytest.approx(expected, rel=0.01)


def test_a_contrast_of_four_means_adds_variances_and_pools_by_side() -> None:
    rng = np.random.default_rng(9)
    sides = [rng.normal(0, spread, 40) for spread in (1, 2, 1, 3)]
    terms = [
        Term(weight, Moments.of(values), pool)
        for weight, values, pool in zip((1, -1, -1, 1), sides, "1010", strict=True)
    ]
    test = contrast_of_means(terms, null="")
    gap = sides[0].mean() - sides[1].mean() - sides[2].mean() + sides[3].mean()
    variances = [side.var(ddof=1) for side in sides]
    scale = math.sqrt((variances[0] + variances[2]) / 2 + (variances[1] + variances[3]) / 2)
    assert test.gap == pytest.approx(gap / scale)
    assert isinstance(test.pivot, RatioPivot)
    assert test.pivot.variance == pytest.approx(sum(variances) / 40)
    assert test.n == (80, 80)


def padded(values: list[float], reach: float) -> list[float]:
    mode = max(sorted(set(values)), key=values.count)
    return [*values, mode - reach, mode + reach]


@pytest.mark.parametrize(("yes", "no"), [(3, 0), (2, 5), (0, 1)])
def test_rare_differences_get_two_more_in_each_group(yes: int, no: int) -> None:
    x, y = [1.0] * yes + [-1.0] * no + [0.0] * 90, [1.0] * 4 + [0.0] * 200
    test = compared(x, y)
    expected = ttest_ind(padded(x, 1.0), padded(y, 1.0), equal_var=False).pvalue
    assert test.p_value == pytest.approx(expected)
    assert "pseudo" in test.method
    assert "fewer than 20" in test.reason


def test_third_and_fourth_moments_are_padded_too() -> None:
    x, y = [1.0] * 3 + [-2.0] + [0.0] * 90, [1.0] * 4 + [0.0] * 60
    pivot = compared(x, y).pivot
    usual = math.sqrt(np.mean(np.square([1, 1, 1, -2, 1, 1, 1, 1])))
    full = [np.array(padded(one, usual)) for one in (x, y)]
    assert isinstance(pivot, RatioPivot)
    shares = [(len(one) - 1) / (sum(map(len, full)) - 2) for one in full]
    of_square = [
        share**2 * np.var((one - one.mean()) ** 2) / len(one)
        for share, one in zip(shares, full, strict=True)
    ]
    assert pivot.scale_variance == pytest.approx(sum(of_square) / (4 * pivot.scale**2))
    with_square = [
        sign * share * np.mean((one - one.mean()) ** 3) / len(one)
        for sign, share, one in zip((1, -1), shares, full, strict=True)
    ]
    assert pivot.covariance == pytest.approx(sum(with_square) / (2 * pivot.scale))


def test_identical_decisions_are_never_told_apart_and_close_if_there_are_many() -> None:
    few, many = compared(np.zeros(20), np.zeros(20)), compared(np.zeros(400), np.zeros(400))
    for test in (few, many):
        assert (test.gap, test.p_value) == (0.0, 1.0)
    assert few.equivalence_p_value(0.2) > 0.5
    assert many.equivalence_p_value(0.2) < 0.001


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_bound_for_identical_decisions_is_the_least_favourable_of_all(share: float) -> None:
    """Try all pairs of rates at which one of two raters says yes more often, in two groups."""
    n, margin = 400, 0.3
    smaller = round(share * n)
    rates = np.linspace(0, 0.5, 401)
    p, q = rates[:, None], rates[None, :]
    pooled = share * p * (1 - p) + (1 - share) * q * (1 - q)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(p - q) / np.sqrt(pooled)
    none_seen = (1 - p) ** smaller * (1 - q) ** (n - smaller)
    worst = none_seen[gap >= margin].max()
    bound = ConstantPivot(smaller, n).p_below(margin)
    assert worst <= bound <= 1.2 * worst


def test_the_interval_for_identical_decisions_inverts_its_test() -> None:
    pivot = ConstantPivot(50, 120)
    low, high, _ = pivot.interval(0.9)
    assert low == -high
    assert pivot.p_value(high) == pytest.approx(0.1)
    assert pivot.p_value(0.0) == 1.0
    assert (pivot.p_below(-0.1), pivot.p_above(0.1)) == (1.0, 1.0)


def test_groups_apart_without_spread_are_tested_all_the_same() -> None:
    test = compared(np.ones(50), np.zeros(50))
    assert test.gap == math.inf
    assert test.p_value < 1e-6
    assert test.interval(0.95).low > 1
    assert compared(np.ones(2), np.zeros(2)).p_value > 0.05


def test_a_group_of_one_cannot_be_tested() -> None:
    test = compared([1.0], [0.0, 1.0, 2.0])
    assert test.pivot is None
    assert math.isnan(test.p_value)
    assert "fewer than two rows" in test.reason


def test_the_papers_p_value_is_the_smaller_tail() -> None:
    x, y = np.arange(9.0), np.arange(12.0) ** 1.2
    found = ttest_ind(x, y, equal_var=False)
    assert one_sided_p_value(found.statistic, found.df) == pytest.approx(found.pvalue / 2)
    assert one_sided_p_value(math.inf, math.nan) == 0.0
    assert math.isnan(one_sided_p_value(math.nan, 3))
