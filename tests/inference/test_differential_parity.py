"""DPT and DPD equal the paper's formulas written as loops, and scipy's Welch test.

Reference: Yu and Xi, "Differential Parity", equations (2), (3) and Table 1.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from comparity.counts.differences import Moments
from comparity.inference.differential_parity import (
    magnitude,
    standardised_gap,
    standardised_gap_total,
    total_variance,
    welch_statistic,
)
from tests.plain import relative as plain

group = st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=20).filter(
    lambda drawn: len(set(drawn)) > 1
)


def of(values: list[float]) -> Moments:
    return Moments.of(np.array(values, dtype=float))


@given(group, group)
def test_measures_equal_the_loops(x: list[float], y: list[float]) -> None:
    assert welch_statistic(of(x), of(y)) == pytest.approx(plain.dpt(x, y)[0], abs=1e-9)
    assert standardised_gap(of(x), of(y)) == pytest.approx(plain.dpd(x, y), abs=1e-9)
    assert standardised_gap_total(of(x), of(y)) == pytest.approx(plain.dpd_total(x, y), abs=1e-9)


@given(group, group)
def test_dpt_is_scipys_welch_statistic(x: list[float], y: list[float]) -> None:
    expected = ttest_ind(x, y, equal_var=False).statistic
    assert welch_statistic(of(x), of(y)) == pytest.approx(expected, abs=1e-9)


@given(group, group)
def test_changing_places_changes_the_sign_only(x: list[float], y: list[float]) -> None:
    for measure in (welch_statistic, standardised_gap, standardised_gap_total):
        assert measure(of(x), of(y)) == pytest.approx(-measure(of(y), of(x)))


@given(group, group)
def test_the_total_deviation_never_makes_the_gap_larger_than_its_bound(
    x: list[float], y: list[float]
) -> None:
    n = len(x) + len(y)
    bound = math.sqrt(n * (n - 1) / (len(x) * len(y)))
    assert abs(standardised_gap_total(of(x), of(y))) <= bound + 1e-9
    assert total_variance(of(x), of(y)) == pytest.approx(np.var(x + y, ddof=1))


def test_equal_constants_have_no_gap_and_different_ones_an_infinite_one() -> None:
    zero, one = of([0.0, 0.0]), of([1.0, 1.0])
    assert (welch_statistic(zero, zero), standardised_gap(zero, zero)) == (0.0, 0.0)
    assert (welch_statistic(one, zero), standardised_gap(zero, one)) == (math.inf, -math.inf)


def test_a_group_of_one_has_no_measure() -> None:
    assert math.isnan(welch_statistic(of([1.0]), of([0.0, 1.0])))
    assert math.isnan(standardised_gap(of([1.0]), of([0.0, 1.0])))
    assert math.isnan(standardised_gap_total(of([1.0]), of([0.0, 1.0])))


@pytest.mark.parametrize(
    ("size", "word"),
    [
        (0.01, "very small"),
        (0.2, "small"),
        (-0.5, "medium"),
        (0.8, "large"),
        (1.2, "very large"),
        (-2.0, "huge"),
        (math.inf, "huge"),
    ],
)
def test_words_begin_where_table_1_says(size: float, word: str) -> None:
    assert magnitude(size) == word
    assert magnitude(0.99 * size if math.isfinite(size) else 1.9) != word
