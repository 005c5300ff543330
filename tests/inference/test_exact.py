"""Witnesses: scipy's Barnard test and plain enumeration (``tests/plain/two_proportions.py``)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import barnard_exact, binom

from comparity.counts.pairs import Tally
from comparity.inference.gap_tests import find_root
from comparity.inference.proportions import ExactPivot
from tests.plain import exact_intervals
from tests.plain import two_proportions as plain


def tallies(largest: int) -> st.SearchStrategy[Tally]:
    sizes = st.integers(1, largest)
    return sizes.flatmap(lambda n: st.integers(0, n).map(lambda hits: Tally(hits, n)))


def barnard(first: Tally, second: Tally) -> float:
    misses = [first.trials - first.hits, second.trials - second.hits]
    return float(barnard_exact([[first.hits, second.hits], misses], pooled=True, n=64).pvalue)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Tally(3, 15), Tally(12, 14)),
        (Tally(0, 9), Tally(3, 20)),
        (Tally(18, 29), Tally(9, 29)),
        (Tally(1, 5), Tally(27, 28)),
        (Tally(4, 11), Tally(9, 13)),
    ],
)
def test_at_zero_it_is_barnards_test(first: Tally, second: Tally) -> None:
    assert ExactPivot(first, second).p_value(0.0) == pytest.approx(barnard(first, second), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(tallies(29), tallies(29))
def test_tables_that_tie_with_the_observed_one_count(first: Tally, second: Tally) -> None:
    """SciPy compares statistics without a tolerance: it can only lose tables that tie."""
    n1, n2 = first.trials, second.trials
    found = ExactPivot(first, second).p_value(0.0)
    ends = exact_intervals.plausible_rates(first.hits, n1, second.hits, n2)
    rates = np.linspace(max(low for low, _ in ends), min(high for _, high in ends), 4001)[:, None]
    i, j = np.array(plain.tables_as_extreme_at_zero(first.hits, n1, second.hits, n2)).T
    one, two = (binom.pmf(np.arange(n + 1), n, rates) for n in (n1, n2))
    expected = (one[:, i] * two[:, j]).sum(axis=1).max()
    assert expected - 1e-9 <= found <= expected + 1e-5
    assert 0 < (first + second).hits < n1 + n2 or found == pytest.approx(1)


@settings(max_examples=15, deadline=None)
@given(
    tallies(9),
    tallies(9),
    st.sampled_from([-0.6, -0.05, 0.0, 0.05, 0.2, 0.75]),
    st.sampled_from(["equal", "below", "above"]),
)
def test_p_values_equal_the_plain_enumeration(
    first: Tally, second: Tally, gap: float, side: str
) -> None:
    pivot = ExactPivot(first, second)
    found = {"equal": pivot.p_value, "below": pivot.p_below, "above": pivot.p_above}[side](gap)
    expected = plain.exact_p_value(first.hits, first.trials, second.hits, second.trials, gap, side)
    # The plain search has 4,001 steps: its largest value lacks at most this much.
    assert expected - 1e-9 <= found <= expected + 1e-5


@settings(max_examples=25, deadline=None)
@given(tallies(20), tallies(20), st.sampled_from([0.8, 0.95, 0.975]))
def test_the_interval_is_the_hull_of_the_gaps_not_rejected(
    first: Tally, second: Tally, level: float
) -> None:
    pivot = ExactPivot(first, second)
    low, high, _ = pivot.interval(level)
    alpha = 1 - level
    gaps = np.linspace(-1, 1, 81)
    kept = np.array([pivot.p_value(gap) > alpha for gap in gaps])
    # The last steps are of 1.25e-6, and 0.1 * 3 is not 0.3.
    assert (gaps[kept] >= low - 2e-6).all()
    assert (gaps[kept] <= high + 2e-6).all()
    assert low == -1 or pivot.p_value(low - 2e-6) <= alpha
    assert high == 1 or pivot.p_value(high + 2e-6) <= alpha
    assert pivot.p_value(low) > alpha < pivot.p_value(high)


def test_the_interval_reaches_over_gaps_that_are_rejected() -> None:
    """3/9 against 23/27: gaps near -0.12 are rejected, gaps near -0.098 are not."""
    pivot = ExactPivot(Tally(3, 9), Tally(23, 27))
    found = [plain.exact_p_value(3, 9, 23, 27, gap) > 0.05 for gap in (-0.12, -0.098)]
    assert found == [False, True]
    assert pivot.interval(0.95).high > -0.098


@settings(deadline=None)
@given(tallies(12), tallies(12), st.floats(-1, 1))
def test_exchanging_the_groups_mirrors_the_test(first: Tally, second: Tally, gap: float) -> None:
    one, other = ExactPivot(first, second), ExactPivot(second, first)
    assert one.p_value(gap) == pytest.approx(other.p_value(-gap), abs=1e-8)
    assert one.p_below(gap) == pytest.approx(other.p_above(-gap), abs=1e-8)


def test_gaps_beyond_one_are_impossible() -> None:
    pivot = ExactPivot(Tally(5, 9), Tally(4, 9))
    assert pivot.p_value(1.5) == 0
    assert (pivot.p_below(1.5), pivot.p_above(1.5)) == (0, 1)
    assert (pivot.p_below(-1.5), pivot.p_above(-1.5)) == (1, 0)


def test_without_hits_the_p_value_is_one_and_the_interval_is_informative() -> None:
    pivot = ExactPivot(Tally(0, 20), Tally(0, 20))
    low, high, _ = pivot.interval(0.95)
    assert pivot.p_value(0.0) == pytest.approx(1)
    assert -0.5 < low < 0 < high < 0.5
    assert low == pytest.approx(-high, abs=2e-6)


@pytest.mark.long
@settings(max_examples=4, deadline=None)
@given(tallies(8), tallies(8), st.sampled_from([0.9, 0.95, 1 - 0.05 / 380]))
def test_limits_equal_those_of_a_search_over_all_gaps_and_tables(
    first: Tally, second: Tally, level: float
) -> None:
    low, high, _ = ExactPivot(first, second).interval(level)
    expected = exact_intervals.interval(
        first.hits, first.trials, second.hits, second.trials, 1 - level
    )
    # Either search stops within 1.25e-6 of the limit.
    assert (low, high) == pytest.approx(expected, abs=1.3e-6)


@settings(max_examples=60, deadline=None)
@given(tallies(45), tallies(29), st.floats(-1, 1), st.sampled_from(["equal", "below", "above"]))
def test_p_values_equal_a_search_over_all_tables_and_rates(
    first: Tally, second: Tally, gap: float, side: str
) -> None:
    pivot = ExactPivot(first, second)
    found = {"equal": pivot.p_value, "below": pivot.p_below, "above": pivot.p_above}[side](gap)
    counts = first.hits, first.trials, second.hits, second.trials
    assert found == pytest.approx(exact_intervals.p_value(*counts, gap, side), rel=1e-8, abs=1e-14)


def test_a_small_group_against_many_trials_has_sharp_peaks_that_are_found() -> None:
    """The peaks of 191 trials are about as sharp as any that are listed."""
    for hits in range(0, 191, 10):
        found = ExactPivot(Tally(1, 1), Tally(hits, 190)).p_value(0.0)
        assert found == pytest.approx(exact_intervals.p_value(1, 1, hits, 190, 0.0), rel=1e-8)


@given(st.floats(-5, 5), st.floats(0.01, 9), st.floats(0.01, 9), st.integers(0, 2))
def test_a_root_is_where_brents_method_of_scipy_finds_it(
    root: float, left: float, right: float, kind: int
) -> None:
    shapes = (math.atan, math.sinh, lambda x: math.expm1(min(x, 5.0)))

    def function(x: float) -> float:
        return shapes[kind](x - root)

    found = find_root(function, root - left, root + right)
    expected = brentq(function, root - left, root + right, xtol=1e-12)
    assert found == pytest.approx(expected, abs=1e-11)
