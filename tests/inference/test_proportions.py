"""Witnesses: Newcombe's table of intervals, statsmodels, Poisson tables, plain enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma, norm, poisson
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    tost_proportions_2indep,
)
from statsmodels.stats.proportion import (
    test_proportions_2indep as proportions_2indep,
)

from comparity.counts.pairs import Tally
from comparity.inference.extreme_tables import score_statistic
from comparity.inference.proportions import (
    ExactPivot,
    WaldPivot,
    compare_rates,
    compare_rates_wald,
    wilson_interval,
)

TABLES = [
    (Tally(80, 100), Tally(45, 60)),
    (Tally(31, 40), Tally(210, 700)),
    (Tally(1, 30), Tally(5, 45)),
    (Tally(12, 20), Tally(37, 90)),
]

tallies = st.integers(1, 300).flatmap(lambda n: st.integers(0, n).map(lambda hits: Tally(hits, n)))


def flat(first: Tally, second: Tally) -> tuple[int, int, int, int]:
    return first.hits, first.trials, second.hits, second.trials


# Newcombe (1998), "Interval estimation for the difference between independent proportions",
# Table II: 95 % intervals of Mee, without a correction, and of Miettinen and Nurminen, with the
# factor n / (n - 1) in the variance.
NEWCOMBE = [
    ((56, 70), (48, 80), (0.0533, 0.3377), (0.0528, 0.3382)),
    ((9, 10), (3, 10), (0.1821, 0.8370), (0.1700, 0.8406)),
    ((6, 7), (2, 7), (0.0544, 0.8478), (0.0342, 0.8534)),
    ((5, 56), (0, 29), (-0.0313, 0.1926), (-0.0326, 0.1933)),
    ((0, 10), (0, 20), (-0.1611, 0.2775), (-0.1658, 0.2844)),
    ((0, 10), (0, 10), (-0.2775, 0.2775), (-0.2879, 0.2879)),
    ((10, 10), (0, 20), (0.7225, 1.0), (0.7156, 1.0)),
    ((10, 10), (0, 10), (0.6777, 1.0), (0.6636, 1.0)),
]


@pytest.mark.parametrize(("first", "second", "mee", "miettinen"), NEWCOMBE)
def test_the_score_statistic_at_newcombes_limits_is_the_normal_quantile(
    first: tuple[int, int],
    second: tuple[int, int],
    mee: tuple[float, float],
    miettinen: tuple[float, float],
) -> None:
    """Published limits have four decimals, of which the statistic makes up to 0.003."""
    n, quantile = first[1] + second[1], norm.isf(0.025)
    for limits, expected in ((mee, quantile), (miettinen, quantile * math.sqrt(n / (n - 1)))):
        for limit, sign in zip(limits, (1, -1), strict=True):
            if abs(limit) < 1:
                found = score_statistic(*first, *second, limit)
                assert found == pytest.approx(sign * expected, abs=0.003)


@pytest.mark.parametrize(("first", "second"), TABLES)
def test_the_score_statistic_of_equality_equals_statsmodels(first: Tally, second: Tally) -> None:
    expected = proportions_2indep(*flat(first, second), method="score", correction=False)
    assert score_statistic(*flat(first, second), 0.0) == pytest.approx(expected.statistic, rel=1e-9)


@pytest.mark.parametrize(("first", "second"), TABLES)
def test_the_wald_test_equals_statsmodels(first: Tally, second: Tally) -> None:
    test = compare_rates_wald(first, second, null="p = q")
    expected = proportions_2indep(*flat(first, second), method="wald")
    low, high = confint_proportions_2indep(*flat(first, second), method="wald", alpha=0.1)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert test.gap / test.standard_error == pytest.approx(expected.statistic, rel=1e-9)
    assert test.interval(0.9)[:2] == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [table for table in TABLES if table[0].trials >= 30])
@pytest.mark.parametrize("margin", [0.05, 0.2])
def test_equivalence_equals_the_two_one_sided_tests_of_statsmodels(
    first: Tally, second: Tally, margin: float
) -> None:
    test = compare_rates_wald(first, second, null="p = q")
    expected = tost_proportions_2indep(*flat(first, second), -margin, margin, method="wald")
    assert test.equivalence_p_value(margin) == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "method"),
    [
        (Tally(50, 200), Tally(250, 300), "Wald z"),
        (Tally(50, 200), Tally(251, 300), "exact unconditional"),
        (Tally(49, 200), Tally(150, 300), "exact unconditional"),
        (Tally(100, 199), Tally(5000, 10000), "exact unconditional"),
        (Tally(0, 1), Tally(0, 1), "exact unconditional"),
        (Tally(3, 10**6), Tally(400_000, 10**6), "exact unconditional"),
    ],
)
def test_the_test_suits_the_counts(first: Tally, second: Tally, method: str) -> None:
    test = compare_rates(first, second, null="p = q")
    assert (test.method, test.n) == (method, (first.trials, second.trials))


@pytest.mark.parametrize("n", [10, 50])
@pytest.mark.parametrize("share", [0, 1])
def test_equal_rates_at_the_edge_give_p_one_and_an_interval(n: int, share: int) -> None:
    test = compare_rates(Tally(share * n, n), Tally(share * n, n), null="p = q")
    low, high, _ = test.interval(0.95)
    assert test.p_value == pytest.approx(1)
    assert test.standard_error == 0
    assert -1 < low < 0 < high < 1


def test_exact_tests_report_the_pooled_standard_error() -> None:
    """17 of 60 hits: sqrt(17/60 * 43/60 * (1/20 + 1/40))."""
    test = compare_rates(Tally(7, 20), Tally(10, 40), null="p = q")
    assert test.standard_error == pytest.approx(math.sqrt(17 * 43 / 3600 * 3 / 40))


@pytest.mark.parametrize(
    ("first", "second", "which"),
    [
        (Tally(0, 0), Tally(3, 9), "first"),
        (Tally(3, 9), Tally(0, 0), "second"),
        (Tally(0, 0), Tally(0, 0), "first"),
    ],
)
def test_without_trials_there_is_no_test_but_a_reason(
    first: Tally, second: Tally, which: str
) -> None:
    test = compare_rates(first, second, null="p = q", what="judged pairs")
    assert math.isnan(test.p_value)
    assert math.isnan(test.gap)
    assert test.pivot is None
    assert test.reason == f"there are no judged pairs behind the {which} rate"


def test_without_variance_the_wald_test_gives_a_reason() -> None:
    test = compare_rates_wald(Tally(5, 5), Tally(0, 7), null="p = q")
    assert math.isnan(test.p_value)
    assert test.gap == 1
    assert "variance" in test.reason
    assert math.isnan(compare_rates_wald(Tally(0, 0), Tally(3, 9), null="p = q").p_value)


def test_one_rate_at_the_edge_is_enough_variance_for_the_wald_test() -> None:
    test = compare_rates_wald(Tally(5, 5), Tally(3, 7), null="p = q")
    assert test.standard_error == pytest.approx(math.sqrt(12 / 343))


def test_wald_intervals_hold_possible_gaps_only() -> None:
    assert compare_rates_wald(Tally(59, 60), Tally(1, 60), null="p = q").interval(0.999).high == 1


@given(tallies, st.sampled_from([0.5, 0.95, 0.999]))
def test_wilson_intervals_equal_statsmodels(tally: Tally, level: float) -> None:
    expected = proportion_confint(tally.hits, tally.trials, alpha=1 - level, method="wilson")
    assert wilson_interval(tally, level)[:2] == pytest.approx(expected, abs=1e-12)


def test_the_wilson_interval_of_nothing_is_nan() -> None:
    low, high, level = wilson_interval(Tally(0, 0), 0.9)
    assert math.isnan(low)
    assert math.isnan(high)
    assert level == 0.9


@pytest.mark.parametrize("pivot", [ExactPivot(Tally(3, 40), Tally(9, 50)), WaldPivot(0.1, 0.02)])
def test_a_level_that_rounds_to_one_still_has_an_interval(pivot: ExactPivot | WaldPivot) -> None:
    """Early looks ask for levels such as 1 - 1e-58."""
    low, high, _ = pivot.interval(1 - 1e-58)
    assert -1 <= low < pivot.interval(0.999999).low
    assert pivot.interval(0.999999).high < high <= 1


@pytest.mark.parametrize("n", [10**6, 10**9])
@pytest.mark.parametrize("hits", [(0, 6), (2, 11)])
def test_rare_hits_among_very_many_trials_are_tested_as_poisson_numbers(
    n: int, hits: tuple[int, int]
) -> None:
    """Of equal sizes the pooled z is the difference of the hits over the root of their sum."""
    # Means that are plausible for both numbers, at 1e-8 together.
    lowest, highest = gamma.ppf(1e-8 / 4, max(hits)), gamma.isf(1e-8 / 4, min(hits) + 1)
    means, counts = np.linspace(lowest, highest, 2000)[:, None], np.arange(120)
    squared = np.subtract.outer(counts, counts) ** 2 / np.add.outer(counts, counts).clip(1)
    extreme = squared >= (hits[0] - hits[1]) ** 2 / sum(hits) - 1e-9
    law = poisson.pmf(counts, means)
    expected = ((law @ extreme) * law).sum(axis=1).max()
    first, second = (Tally(one, n) for one in hits)
    assert ExactPivot(first, second).p_value(0.0) == pytest.approx(expected, abs=2e-5)
    mirrored = ExactPivot(*(Tally(n - one, n) for one in hits))
    assert mirrored.p_value(0.0) == pytest.approx(expected, abs=2e-5)
