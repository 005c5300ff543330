"""Reference: statsmodels for two proportions, finite differences for influences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from statsmodels.stats.proportion import confint_proportions_2indep

from comparity.counts.pairs import Tally
from comparity.inference.gap_tests import Interval
from comparity.inference.metric_intervals import (
    _index,
    _influence,
    entropy_interval,
    log_ratio_interval,
    rate_contrast_interval,
    transform_interval,
)

COUNTS = [(30, 50, 60, 75), (3, 40, 11, 90), (1, 9, 5, 200)]


@pytest.mark.parametrize(("x", "n", "y", "m"), COUNTS)
def test_two_proportions_get_the_interval_of_agresti_and_caffo(
    x: int, n: int, y: int, m: int
) -> None:
    expected = confint_proportions_2indep(x, n, y, m, method="agresti-caffo", compare="diff")
    found = rate_contrast_interval([Tally(x, n), Tally(y, m)], [1.0, -1.0], level=0.95)
    assert found[:2] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("x", "n", "y", "m"), COUNTS)
def test_ratios_get_the_interval_of_the_adjusted_logarithm(x: int, n: int, y: int, m: int) -> None:
    expected = confint_proportions_2indep(x, n, y, m, method="log-adjusted", compare="ratio")
    assert log_ratio_interval(Tally(x, n), Tally(y, m), level=0.95)[:2] == pytest.approx(expected)


def test_a_ratio_without_hits_is_open_on_the_side_that_nothing_bounds() -> None:
    assert log_ratio_interval(Tally(0, 9), Tally(4, 9), level=0.9).low == 0
    assert log_ratio_interval(Tally(4, 9), Tally(0, 9), level=0.9).high == math.inf
    assert log_ratio_interval(Tally(0, 9), Tally(0, 9), level=0.9)[:2] == (0, math.inf)
    assert math.isnan(log_ratio_interval(Tally(0, 0), Tally(1, 9), level=0.9).low)
    assert math.isnan(rate_contrast_interval([Tally(0, 0), Tally(1, 9)], [1, -1], level=0.9).low)


tallies = st.tuples(st.integers(0, 60), st.integers(1, 60)).map(lambda t: Tally(t[0], sum(t)))


@given(st.lists(tallies, min_size=2, max_size=4), st.floats(0.5, 0.99))
def test_contrasts_hold_their_value_and_stay_possible(found: list[Tally], level: float) -> None:
    weights = [(-1.0) ** place / len(found) for place in range(len(found))]
    low, high, _ = rate_contrast_interval(found, weights, level=level)
    value = sum(w * tally.rate for w, tally in zip(weights, found, strict=True))
    assert -1 <= low <= value + 1e-12
    assert value - 1e-12 <= high <= 1


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("counts", [(20, 100, 30), (5, 300, 1), (40, 10, 90)])
def test_influences_are_derivatives(order: int, counts: tuple[int, ...]) -> None:
    share = np.array(counts) / sum(counts)

    def index(p: np.ndarray) -> float:
        return _index(p / p.sum(), order)

    # The influence is the derivative towards one value, less its mean.
    gradient = approx_fprime(share, index, 1e-7)
    assert _influence(share, order) == pytest.approx(gradient, abs=1e-5)


def generalised_entropy(share: np.ndarray, order: int) -> float:
    """Return the index of benefits 0, 1 and 2, by its definition."""
    ratio = np.array([0.0, 1.0, 2.0]) / (share @ np.array([0.0, 1.0, 2.0]))
    if order == 2:
        return float(share @ (ratio**2 - 1)) / 2
    return float(share @ (ratio * np.log(np.where(ratio > 0, ratio, 1.0))))


@pytest.mark.parametrize("order", [1, 2])
def test_the_interval_of_an_index_is_symmetric_in_its_logarithm(order: int) -> None:
    counts = np.array([30.0, 50.0, 20.0])
    share, step = counts / 100, 1e-6
    index = generalised_entropy(share, order)
    # The slope of the logarithm in each share, by finite differences; shares are multinomial.
    slopes = [np.log(generalised_entropy(share + step * one, order)) for one in np.eye(3)]
    slope = (np.array(slopes) - np.log(index)) / step
    error = np.sqrt((share @ slope**2 - (share @ slope) ** 2) / 100)
    low, high, _ = entropy_interval(counts, order, level=0.95)
    assert np.log([low, high]) == pytest.approx(
        np.log(index) + 1.959964 * error * np.array([-1, 1])
    )


@pytest.mark.parametrize("order", [1, 2])
def test_no_errors_leave_an_interval_that_starts_at_zero(order: int) -> None:
    low, high, _ = entropy_interval(np.array([0.0, 100.0, 0.0]), order, level=0.95)
    # 1 - 0.05 ** (1 / 100) of all decisions may be errors: those of benefit 0 are the worst here.
    most = 1 - 0.05**0.01
    worst = {2: most / (1 - most) / 2, 1: -math.log(1 - most)}[order]
    assert low == 0
    assert high == pytest.approx(worst)


def test_nobody_served_has_no_index() -> None:
    assert math.isnan(entropy_interval(np.array([9.0, 0.0, 0.0]), 2, level=0.95).low)


def test_a_root_and_a_square_carry_an_interval_over() -> None:
    assert transform_interval(Interval(0.04, 0.09, 0.9), 2.0, 0.5) == pytest.approx((0.4, 0.6, 0.9))
