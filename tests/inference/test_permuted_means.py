"""Welch's test checked by permutation: against all dealings, scipy, and its own interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import hypergeom, norm, permutation_test, skew, ttest_ind

from comparity.counts.differences import Moments
from comparity.counts.kernels.sorting import sums_of_dealings
from comparity.inference.gap_tests import GapTest
from comparity.inference.means import WELCH, RatioPivot, compare_means
from comparity.inference.permuted_means import (
    ANCHOR,
    DRAWS,
    PERMUTED,
    TOLERATED,
    Dealings,
    PermutedPivot,
    compare_samples,
    welch_error,
)
from tests.plain.permuted_means import dealt_statistics

Floats = NDArray[np.float64]


def compared(group: Floats, reference: Floats) -> GapTest:
    own = Moments.of(group), Moments.of(reference)
    return compare_samples(*own, lambda: (group, reference), null="")


def skewed(few: int, many: int, seed: int = 3) -> tuple[Floats, Floats]:
    drawn = np.random.default_rng(seed).lognormal(0, 1, few + many)
    return drawn[:few], drawn[few:]


@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=4),
    st.lists(st.integers(-40, 40), min_size=5, max_size=8),
    st.floats(-3, 3),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_all_dealings_have_welchs_t_of_their_parts(
    few: list[int], many: list[int], shift: float, turned: bool
) -> None:
    group, reference = (many, few) if turned else (few, many)
    moved = [one - shift for one in group] + reference
    assume(len(set(moved)) == len(moved))
    found = Dealings.of(np.array(group, float), np.array(reference, float)).statistics(shift)
    assert np.sort(found) == pytest.approx(
        sorted(dealt_statistics(group, reference, shift)), rel=1e-6, abs=1e-9
    )


def test_few_dealings_are_listed_and_their_p_values_are_scipys() -> None:
    few, many = np.array([0.1, 9.0, 0.4]), skewed(3, 17)[1]
    test = compared(few, many)
    assert test.method == PERMUTED
    scipys = {
        side: permutation_test(
            (few, many),
            lambda x, y, axis: ttest_ind(x, y, equal_var=False, axis=axis).statistic,
            vectorized=True,
            n_resamples=math.inf,
            alternative=side,
        ).pvalue
        for side in ("less", "greater")
    }
    welch = [ttest_ind(few, many, equal_var=False, alternative=side).pvalue for side in scipys]
    below, above = (max(pair) for pair in zip(scipys.values(), welch, strict=True))
    assert test.pivot.p_below(0.0) == pytest.approx(below)
    assert test.pivot.p_above(0.0) == pytest.approx(above)
    assert test.p_value == pytest.approx(2 * min(below, above))


def test_rows_are_drawn_without_replacement_each_as_often_as_others() -> None:
    marks = np.repeat([1.0, 0.0], [7, 23])
    values = np.arange(30.0)
    found = sums_of_dealings(values, marks, 10, 20_000, np.random.default_rng(0))
    expected = hypergeom(30, 7, 10).pmf(np.arange(8)) * 20_000
    seen = np.bincount(found[2].astype(int), minlength=8)
    assert np.sum((seen - expected) ** 2 / expected) < 24.3  # chi2(7).isf(0.001)
    # Mean and variance of the mean of 10 of 30 numbers, the finite population correction included.
    assert found[0].mean() / 10 == pytest.approx(14.5, abs=4 * math.sqrt(5.167 / 20_000))
    assert np.var(found[0] / 10) == pytest.approx(77.5 / 10 * 20 / 30, rel=0.05)
    assert np.all(found[3] <= 21)


def test_the_error_of_welchs_test_is_halls_edgeworth_term() -> None:
    few, many = skewed(20, 300)
    z = norm.isf(0.05)
    centred = np.concatenate([few - few.mean(), many - many.mean()])
    cumulant = skew(centred) * (1 / 20**2 - 1 / 300**2) / (1 / 20 + 1 / 300) ** 1.5
    expected = (2 * z**2 + 1) / 6 * norm.pdf(z) * cumulant
    assert welch_error(Moments.of(few), Moments.of(many)) == pytest.approx(expected)


def test_welchs_one_sided_level_is_off_by_about_that_error() -> None:
    """40,000 draws of 40 against 4,000 exponential differences, whose skewness is 2."""
    rng = np.random.default_rng(1)
    few = rng.exponential(size=(40_000, 40))
    many = rng.normal(1, 1 / math.sqrt(4000), 40_000)
    z = (few.mean(axis=1) - many) / np.sqrt(few.var(axis=1, ddof=1) / 40 + 1 / 4000)
    off = np.mean(z <= -1.6849) - 0.05
    kappa = 2 * (4000 - 40) / math.sqrt(40 * 4000 * 4040)
    expected = (2 * 1.6449**2 + 1) / 6 * norm.pdf(1.6449) * kappa
    assert off == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize(("few", "many"), [(10, 200), (200, 10), (60, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_ends_where_the_test_rejects(few: int, many: int, level: float) -> None:
    test = compared(*skewed(few, many))
    low, high, _ = test.interval(level)
    assert low < test.gap < high
    for end, outward in ((low, -1e-6), (high, 1e-6)):
        assert test.pivot.p_value(end - outward) >= 1 - level - 1e-9
        assert test.pivot.p_value(end + outward) <= 1 - level + 2 / DRAWS


@pytest.mark.parametrize("hypothesised", [-1.5, -0.2, 0.0, 0.1, 0.2, 2.0])
def test_no_p_value_is_smaller_than_welchs(hypothesised: float) -> None:
    few, many = skewed(10, 200)
    pivot, welch = compared(few, many).pivot, compare_means(*map(Moments.of, (few, many)), null="")
    for side in ("p_value", "p_below", "p_above"):
        assert getattr(pivot, side)(hypothesised) >= getattr(welch.pivot, side)(hypothesised)


def test_p_values_fall_with_the_distance_and_far_beyond_all_draws() -> None:
    few, many = skewed(12, 150)
    p_values = [compared(few + shift, many).p_value for shift in (2.0, 4.0, 8.0, 16.0, 32.0)]
    assert p_values == sorted(p_values, reverse=True)
    assert p_values[-1] < 1e-6 < 2 * ANCHOR / DRAWS


def test_differences_that_few_subjects_may_not_show_are_not_called_absent() -> None:
    """A share q of differences of L deviations moves DPD by q L; 40 see none with (1 - q)^40."""
    rng = np.random.default_rng(4)
    few, many = rng.normal(0, 0.01, 40), rng.normal(0, 0.01, 4000)
    many[:40] = 1.0
    pivot = compared(few + many.mean(), many).pivot
    assert isinstance(pivot, PermutedPivot)
    reach = (1 - many.mean()) / pivot.scale
    assert pivot.p_below(0.2) == pytest.approx((1 - 0.2 / reach) ** 40)
    assert pivot.p_above(-0.2) == pytest.approx((1 - 0.2 / reach) ** 40)


def test_what_was_not_seen_never_contradicts_a_finding() -> None:
    few, many = skewed(30, 400, seed=5)
    test = compared(few - 3.0, many)
    assert test.p_value < 0.01
    for level in (0.9, 0.95, 0.98):
        assert test.interval(level).high < 0
    p_values = [test.pivot.p_below(size) for size in (0.0, 0.01, 0.1, 0.5, 1.0)]
    assert p_values == sorted(p_values, reverse=True)


def test_the_same_rows_give_the_same_numbers_in_any_order_of_groups() -> None:
    few, many = skewed(10, 200)
    test, again, turned = compared(few, many), compared(few, many), compared(many, few)
    assert test.p_value == again.p_value == pytest.approx(turned.p_value, abs=0.01)
    low, high, _ = turned.interval(0.95)
    assert test.interval(0.95)[:2] == pytest.approx((-high, -low), abs=0.05)


def test_a_common_shift_and_unit_change_nothing() -> None:
    few, many = skewed(10, 200)
    test, other = compared(few, many), compared(1e3 * few + 1e6, 1e3 * many + 1e6)
    assert other.p_value == pytest.approx(test.p_value, abs=1e-6)
    assert other.interval(0.9)[:2] == pytest.approx(test.interval(0.9)[:2], abs=1e-6)


@pytest.mark.parametrize(("few", "many"), [(200, 200), (5000, 90_000)])
def test_groups_of_one_size_and_large_ones_keep_welchs_test(few: int, many: int) -> None:
    first, second = (np.random.default_rng(n).exponential(size=n) for n in (few, many))
    assert welch_error(Moments.of(first), Moments.of(second)) <= TOLERATED

    def refuse() -> tuple[Floats, Floats]:
        raise AssertionError

    test = compare_samples(Moments.of(first), Moments.of(second), refuse, null="")
    assert test.method == WELCH
    assert type(test.pivot) is RatioPivot


def test_no_variation_has_no_error_of_welchs_test() -> None:
    same = Moments.of(np.zeros(5))
    assert welch_error(same, same) == 0.0
    assert compared(np.zeros(5), np.zeros(50)).p_value == 1.0
