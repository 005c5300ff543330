"""Properties of resampled counts and of the folded bootstrap, and the normal law where it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm

from comparity.counts.decisions import GroupedDecisions
from comparity.inference.metric_intervals import (
    Slopes,
    absolute_slopes,
    folded_interval,
    maximum_slopes,
    norm_slopes,
    resample_table,
)

TABLE = GroupedDecisions(
    np.array([[[40.0, 10.0], [15.0, 35.0]], [[30.0, 20.0], [5.0, 45.0]]]), np.array([False, True])
)


def test_resamples_have_the_moments_of_a_multinomial() -> None:
    n, replicates = TABLE.n, 20_000
    drawn = resample_table(TABLE, replicates=replicates, rng=np.random.default_rng(1)).cells
    p = TABLE.cells / n
    error = np.sqrt(n * p * (1 - p) / replicates)
    assert np.all(np.abs(drawn.mean(axis=0) - TABLE.cells) < 4.5 * error)
    covariance = np.cov(drawn[:, 0, 0, 0], drawn[:, 1, 1, 1])[0, 1]
    assert covariance == pytest.approx(-n * p[0, 0, 0] * p[1, 1, 1], rel=0.15)


def test_an_empty_cell_stays_empty_unless_it_is_smoothed() -> None:
    cells = TABLE.cells.copy()
    cells[0, 0, 1] = 0
    table, rng = TABLE.with_cells(cells), np.random.default_rng(2)
    assert not resample_table(table, replicates=200, rng=rng).cells[:, 0, 0, 1].any()
    assert resample_table(table, replicates=200, rng=rng, smoothing=0.5).cells[:, 0, 0, 1].any()


def test_far_from_a_kink_the_interval_is_the_normal_one() -> None:
    errors = np.random.default_rng(3).normal(0, 0.1, 100_000)
    low, high, _ = folded_interval(2.0, absolute_slopes(-2.0, errors), level=0.9)
    reach = 0.1 * norm.isf(0.05)
    assert (2 - low, high - 2) == pytest.approx((reach, reach), rel=0.02)


def test_at_a_kink_the_interval_starts_at_the_bound() -> None:
    errors = np.random.default_rng(4).normal(0, 0.1, 100_000)
    slopes = absolute_slopes(0.05, errors)
    low, high, _ = folded_interval(0.05, slopes, level=0.95, least=0.0)
    assert low == 0
    assert high == pytest.approx(0.05 + 0.1 * norm.isf(0.025), rel=0.02)


def test_terms_that_cannot_be_largest_do_not_widen_the_interval() -> None:
    errors = np.random.default_rng(5).normal(0, [0.1, 1.0], size=(50_000, 2))
    near = maximum_slopes(np.array([5.0, 4.9]), errors).size
    far = maximum_slopes(np.array([50.0, 4.9]), errors).size
    assert np.quantile(far, 0.95) == pytest.approx(0.1 * norm.isf(0.025), rel=0.05)
    assert np.quantile(near, 0.95) > 1


floats = st.floats(-5, 5)


@given(hnp.arrays(float, 4, elements=floats), hnp.arrays(float, 4, elements=floats))
def test_the_bound_of_a_maximum_holds(observed: np.ndarray, error: np.ndarray) -> None:
    """If all terms are near the kink, the size of a maximum moves by no more than its slopes."""
    errors = np.stack([error, 100 - error, error - 100])
    slopes = maximum_slopes(observed, errors)
    moved = np.max(np.abs(observed + error)) - np.max(np.abs(observed))
    assert abs(moved) <= slopes.size[0] + 1e-9


@given(hnp.arrays(float, 3, elements=floats), hnp.arrays(float, 3, elements=floats))
def test_the_bound_of_a_length_holds(observed: np.ndarray, error: np.ndarray) -> None:
    errors = np.stack([error, np.full(3, 100.0)])
    slopes = norm_slopes(observed, errors, np.zeros(2))
    moved = np.linalg.norm(observed + error) - np.linalg.norm(observed)
    assert abs(moved) <= slopes.size[0] + 1e-9


def test_differences_of_kinks_add_their_doubts() -> None:
    sure, unsure = Slopes(np.ones(1), np.ones(1)), Slopes(-np.ones(1), np.ones(1))
    assert (sure - unsure).size == 2
    assert (2.0 * sure + sure).low == 3


def test_a_value_that_does_not_exist_has_no_interval() -> None:
    slopes = Slopes(np.array([np.nan]), np.array([np.nan]))
    assert math.isnan(folded_interval(1.0, slopes, level=0.9).low)
    assert math.isnan(folded_interval(math.nan, Slopes(np.ones(1), np.ones(1)), level=0.9).high)


@pytest.mark.parametrize(("errors_away", "is_folded"), [(2.9, True), (3.0, True), (3.1, False)])
def test_a_kink_matters_up_to_three_standard_errors(errors_away: float, is_folded: bool) -> None:
    errors = np.tile([1.0, -1.0], 50)
    folded = absolute_slopes(errors_away, errors)
    assert (folded.low < folded.high).all() == is_folded
    # A second term in reach of the largest may become it; its errors are ten times as large.
    wide = np.stack([np.zeros(100), 10 * errors], axis=1)
    beside = maximum_slopes(np.array([200.0, 200 - 10 * errors_away]), wide)
    assert (beside.high.max() > 0) == is_folded
    length = norm_slopes(np.array([errors_away, 0.0]), np.stack([errors, 0 * errors], 1), errors)
    assert (length.low < length.high).all() == is_folded
