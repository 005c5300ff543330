"""Witnesses: Newcombe's table of intervals, statsmodels, the likelihood maximised by bisection."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, norm
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    tost_proportions_2indep,
)
from statsmodels.stats.proportion import (
    test_proportions_2indep as proportions_2indep,
)

from comparity.counts.decisions import Tally
from comparity.inference.proportions import (
    ScorePivot,
    WaldPivot,
    compare_rates,
    compare_rates_wald,
    wilson_interval,
)
from tests.plain import two_proportions as plain

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
def test_score_intervals_equal_newcombes_table(
    first: tuple[int, int],
    second: tuple[int, int],
    mee: tuple[float, float],
    miettinen: tuple[float, float],
) -> None:
    pivot = ScorePivot(Tally(*first), Tally(*second))
    n = first[1] + second[1]
    corrected = 1 - 2 * norm.sf(norm.isf(0.025) * math.sqrt(n / (n - 1)))
    assert pivot.interval(0.95)[:2] == pytest.approx(mee, abs=5.1e-5)
    assert pivot.interval(corrected)[:2] == pytest.approx(miettinen, abs=5.1e-5)


@pytest.mark.parametrize(("first", "second"), TABLES)
@pytest.mark.parametrize("side", ["two-sided", "smaller", "larger"])
def test_score_p_values_of_equality_equal_statsmodels(
    first: Tally, second: Tally, side: str
) -> None:
    pivot = ScorePivot(first, second)
    p = {"two-sided": pivot.p_value, "smaller": pivot.p_below, "larger": pivot.p_above}[side]
    expected = proportions_2indep(
        *flat(first, second), method="score", correction=False, alternative=side
    )
    assert p(0.0) == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(Tally(160, 400), Tally(450, 900)), TABLES[1]])
def test_score_intervals_are_near_newcombes_hybrid_of_statsmodels(
    first: Tally, second: Tally
) -> None:
    """Another method, equal to second order: both correct the Wald interval for its skew."""
    theirs = confint_proportions_2indep(*flat(first, second), method="newcomb", compare="diff")
    low, high, _ = ScorePivot(first, second).interval(0.95)
    assert (low, high) == pytest.approx(theirs, abs=5 / min(first.trials, second.trials) ** 1.5)


# statsmodels 0.15 takes a wrong coefficient of the cubic for gaps other than zero (its own issue
# 10269), so there the likelihood is maximised by bisection instead.
@pytest.mark.parametrize(("first", "second"), TABLES)
@pytest.mark.parametrize("gap", [-0.3, -0.05, 0.05, 0.4])
def test_score_p_values_of_other_gaps_follow_from_the_restricted_likelihood(
    first: Tally, second: Tally, gap: float
) -> None:
    pivot = ScorePivot(first, second)
    z = plain.score_statistic(*flat(first, second), gap)
    assert pivot.p_value(gap) == pytest.approx(2 * norm.sf(abs(z)), rel=1e-8)
    assert pivot.p_below(gap) == pytest.approx(norm.cdf(z), rel=1e-8)
    assert pivot.p_above(gap) == pytest.approx(norm.sf(z), rel=1e-8)


@settings(deadline=None)
@given(tallies, tallies, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_ends_of_a_score_interval_are_just_not_rejected(
    first: Tally, second: Tally, level: float
) -> None:
    pivot = ScorePivot(first, second)
    low, high, _ = pivot.interval(level)
    assert -1 <= low <= first.rate - second.rate <= high <= 1
    assert low == -1 or pivot.p_value(low) == pytest.approx(1 - level, rel=1e-4)
    assert high == 1 or pivot.p_value(high) == pytest.approx(1 - level, rel=1e-4)


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


@settings(deadline=None)
# Nearer to zero, rates of one leave a variance that is mostly rounding.
@given(tallies, tallies, st.integers(-(10**6), 10**6).map(lambda millionths: millionths / 10**6))
def test_exchanging_the_groups_mirrors_the_score_test(
    first: Tally, second: Tally, gap: float
) -> None:
    one, other = ScorePivot(first, second), ScorePivot(second, first)
    assert one.p_below(gap) == pytest.approx(other.p_above(-gap), rel=1e-5, abs=1e-9)
    low, high, _ = one.interval(0.95)
    assert other.interval(0.95)[:2] == pytest.approx((-high, -low), abs=1e-7)


@pytest.mark.parametrize(
    ("first", "second", "method"),
    [
        (Tally(15, 30), Tally(20, 35), "Wald z"),
        (Tally(15, 30), Tally(21, 35), "score z"),
        (Tally(0, 30), Tally(29, 30), "score z"),
        (Tally(15, 30), Tally(30, 30), "score z"),
        (Tally(1, 30), Tally(2, 30), "corrected score z"),
        (Tally(0, 1), Tally(0, 200), "corrected score z"),
        (Tally(15, 29), Tally(15, 30), "exact unconditional"),
        (Tally(0, 1), Tally(3, 199), "exact unconditional"),
        (Tally(15, 29), Tally(15, 29), "exact unconditional"),
        (Tally(0, 1), Tally(0, 1), "exact unconditional"),
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


def test_score_and_exact_tests_report_the_pooled_standard_error() -> None:
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


def test_gaps_beyond_one_are_impossible() -> None:
    pivot = ScorePivot(Tally(5, 9), Tally(40, 90))
    assert pivot.p_value(1.5) == 0
    assert (pivot.p_below(1.5), pivot.p_above(1.5)) == (0, 1)
    assert (pivot.p_below(-1.5), pivot.p_above(-1.5)) == (1, 0)


@given(tallies, st.sampled_from([0.5, 0.95, 0.999]))
def test_wilson_intervals_equal_statsmodels(tally: Tally, level: float) -> None:
    expected = proportion_confint(tally.hits, tally.trials, alpha=1 - level, method="wilson")
    assert wilson_interval(tally, level)[:2] == pytest.approx(expected, abs=1e-12)


def test_the_wilson_interval_of_nothing_is_nan() -> None:
    low, high, level = wilson_interval(Tally(0, 0), 0.9)
    assert math.isnan(low)
    assert math.isnan(high)
    assert level == 0.9


@pytest.mark.parametrize("pivot", [ScorePivot(Tally(3, 40), Tally(9, 50)), WaldPivot(0.1, 0.02)])
def test_a_level_that_rounds_to_one_still_has_an_interval(pivot: ScorePivot | WaldPivot) -> None:
    """Early looks ask for levels such as 1 - 1e-58."""
    low, high, _ = pivot.interval(1 - 1e-58)
    assert -1 <= low < pivot.interval(0.999999).low
    assert pivot.interval(0.999999).high < high <= 1


def test_rare_hits_among_very_many_trials_keep_their_digits() -> None:
    """Equal sizes and no first hit: the pooled z is minus the root of the second hits."""
    for n in (10**6, 10**9):
        pivot = ScorePivot(Tally(0, n), Tally(5, n))
        mirrored = ScorePivot(Tally(n, n), Tally(n - 5, n))
        assert pivot.p_value(0.0) == pytest.approx(2 * norm.sf(math.sqrt(5)), rel=1e-4)
        assert mirrored.p_value(0.0) == pytest.approx(2 * norm.sf(math.sqrt(5)), rel=1e-4)


def test_the_corrected_score_test_equals_the_corrected_chi_square_test_of_scipy() -> None:
    for first, second in ((Tally(1, 40), Tally(9, 60)), (Tally(3, 12), Tally(20, 300))):
        table = [[tally.hits, tally.trials - tally.hits] for tally in (first, second)]
        expected = chi2_contingency(table, correction=True).pvalue
        assert ScorePivot(first, second, corrected=True).p_value(0.0) == pytest.approx(expected)


def test_the_ends_of_a_corrected_interval_are_just_not_rejected() -> None:
    pivot = ScorePivot(Tally(1, 40), Tally(9, 60), corrected=True)
    low, high, _ = pivot.interval(0.9)
    assert pivot.p_value(low) == pytest.approx(0.1, rel=1e-4)
    assert pivot.p_value(high) == pytest.approx(0.1, rel=1e-4)
    plain = ScorePivot(Tally(1, 40), Tally(9, 60)).interval(0.9)
    assert low < plain.low < plain.high < high
