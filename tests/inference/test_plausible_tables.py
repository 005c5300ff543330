"""Binomial sums behind exact tests, against scipy; bounds of probabilities, against fine grids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from comparity.inference import plausible_tables as kernels
from comparity.inference.extreme_tables import EQUAL, _staircase, exact_p_value, restricted_rate
from comparity.inference.plausible_tables import NEGLIGIBLE, plausible_tables


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.6, 0.93])
@pytest.mark.parametrize("m", [2000, 20_000])
def test_many_hits_are_summed_by_edgeworths_series(m: int, rate: float) -> None:
    """What the series leaves out falls with the cube of the standard deviation."""
    sd = math.sqrt(m * rate * (1 - rate))
    hits = (m * rate + sd * np.linspace(-4, 4, 33)).astype(int)
    found = [kernels._below(m, rate, one) for one in hits]
    assert found == pytest.approx(binom.cdf(hits - 1, m, rate), abs=1e-2 / sd**3)


@pytest.mark.parametrize("n", [1, 40, 5000])
@pytest.mark.parametrize("rate", [0.02, 0.37, 0.9])
def test_hits_are_as_likely_as_the_binomial_says(n: int, rate: float) -> None:
    tables = plausible_tables(n, 3, ((0.01, 0.95), (0.2, 0.9)))
    start, stop = kernels._fill_binomial(tables.first, n, tables.i, rate, tables.more_n)
    found, hits = tables.first[start:stop].copy(), tables.i + np.arange(start, stop)
    expected = binom.pmf(hits, n, rate)
    assert expected.sum() == pytest.approx(1, abs=1e-10)
    assert found / found.sum() == pytest.approx(expected / expected.sum(), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("n", [1, 40, 400, 5000])
@pytest.mark.parametrize("rates", [(0.02, 0.4), (0.3, 0.97), (0.5, 0.7), (0.0, 1.0)])
def test_hits_are_left_out_once_they_are_negligible(n: int, rates: tuple[float, float]) -> None:
    hits = np.arange(n + 1)
    fewest, most = (
        np.flatnonzero(logs >= logs.max() + math.log(NEGLIGIBLE))[[0, -1]]
        for logs in (binom.logpmf(hits, n, rate) for rate in rates)
    )
    expected = max(fewest[0] - 1, 0), min(most[1] + 1, n)
    assert kernels._possible_hits(n, rates) == expected


@given(
    st.integers(1, 60),
    st.floats(0, 1),
    st.floats(0, math.pi / 2),
    st.floats(0.001, 0.3),
    st.booleans(),
)
def test_no_probability_between_two_angles_is_above_its_bound(
    n: int, share: float, angle: float, width: float, is_peak: bool
) -> None:
    angles = np.linspace(angle, min(angle + width, math.pi / 2), 50)
    hits = round(share * n)
    chances = (binom.pmf if is_peak else binom.sf)(hits, n, np.sin(angles) ** 2)
    distance = math.sqrt(n) * (angles[-1] - angles[0])
    bound = kernels._highest_between(chances[0], chances[-1], distance)
    by_slope = math.sin(
        min(np.mean(np.arcsin(np.sqrt(chances[[0, -1]]))) + distance / 2, math.pi / 2)
    )
    assert chances.max() <= by_slope**2 + 1e-12
    assert bound == pytest.approx(
        min(by_slope**2, chances[[0, -1]].max() * math.exp(2 * distance**2))
    )


@pytest.mark.parametrize("hits", [((3, 11), (7, 9)), ((1, 20), (4, 8)), ((9, 10), (2, 12))])
@pytest.mark.parametrize("gap", [0.0, 0.2, -0.35])
def test_the_p_value_is_the_largest_over_the_rates_there_may_be(
    hits: tuple[tuple[int, int], tuple[int, int]], gap: float
) -> None:
    first, second = hits
    rates = ((0.0, 1.0), (0.0, 1.0))
    tables = plausible_tables(first[1], second[1], rates)
    upper, lower = _staircase(tables, first[0], second[0], gap, EQUAL)
    columns = np.arange(second[1] + 1)
    extreme = (columns < upper[:, None]) | (columns >= lower[:, None])

    def chance(rate: float) -> float:
        one = binom.pmf(np.arange(first[1] + 1), first[1], np.clip(rate + gap, 0, 1))
        return float(one @ extreme @ binom.pmf(columns, second[1], rate))

    grid = np.linspace(max(0, -gap), min(1, 1 - gap), 401)
    best = grid[np.argmax([chance(rate) for rate in grid])]
    step = grid[1] - grid[0]
    ends = max(best - step, grid[0]), min(best + step, grid[-1])
    peak = minimize_scalar(
        lambda rate: -chance(rate), bounds=ends, method="bounded", options={"xatol": 1e-10}
    )
    expected = max(-peak.fun, chance(best))
    found = exact_p_value(first, second, rates, gap, EQUAL)
    assert found == pytest.approx(min(expected, 1.0), rel=1e-7)


@pytest.mark.parametrize("gap", [0.0, 0.03])
def test_so_many_second_hits_that_none_is_listed_are_summed_as_well(gap: float) -> None:
    first, second, rates = (12, 30), (9_700, 20_000), ((0.3, 0.6), (0.45, 0.55))
    tables = plausible_tables(first[1], second[1], rates)
    assert len(tables.second) == 0
    stairs = _staircase(tables, first[0], second[0], gap, EQUAL)
    ones, others = tables.i + np.arange(len(stairs[0])), tables.j + np.arange(tables.columns)
    upper, lower = (stair[:, None] + tables.j for stair in stairs)
    extreme = (others < upper) | (others >= lower)
    chances = [
        binom.pmf(ones, first[1], rate + gap) @ extreme @ binom.pmf(others, second[1], rate)
        for rate in np.linspace(0.45, 0.55, 401)
    ]
    # Off by 2e-7, as Edgeworth's series is, and by what lies between the rates of the grid.
    found = exact_p_value(first, second, rates, gap, EQUAL)
    assert found == pytest.approx(max(chances), abs=1e-6)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.05, 20), st.floats(-0.95, 0.95))
def test_the_restricted_rate_is_a_root_of_the_likelihoods_slope(
    p: float, q: float, ratio: float, gap: float
) -> None:
    found = restricted_rate(p, q, ratio, gap)

    def loss(rate: float) -> float:
        own, other = min(max(rate, 1e-300), 1.0), min(max(rate - gap, 1e-300), 1.0)
        against, beside = max(1 - rate, 1e-300), max(1 - rate + gap, 1e-300)
        value = p * math.log(own) + (1 - p) * math.log(against)
        return -value - ratio * (q * math.log(other) + (1 - q) * math.log(beside))

    low, high = max(0.0, gap), min(1.0, 1 + gap)
    near = np.clip(found + np.array([-1e-3, 1e-3]), low, high)
    assert loss(found) <= min(map(loss, near)) + 1e-9
