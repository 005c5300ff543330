"""Statistics equal their definitions, scipy and statsmodels; p values equal full enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import energy_distance, ks_2samp
from statsmodels.stats.dist_dependence_measures import distance_statistics

from comparity.counts.differences import DifferenceCounts
from comparity.inference.permutation import (
    LEVELS,
    STEPS,
    distance_correlation,
    independence_test,
    same_distribution,
)
from tests.plain import relative as plain

sample = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=12)


def counts(*samples: list[float]) -> DifferenceCounts:
    group = np.repeat(np.arange(len(samples)), [len(one) for one in samples])
    return DifferenceCounts.of(np.concatenate(samples), group, tuple("abcd"[: len(samples)]))


def outcome(*samples: list[float], permutations: int = 0) -> tuple[float, ...]:
    rng = np.random.default_rng(1)
    found = same_distribution(counts(*samples), null="", permutations=permutations, rng=rng)
    return tuple(one.statistic if not permutations else one.p_value for one in found)


@given(sample, sample)
def test_statistics_of_two_groups_equal_the_loops(x: list[float], y: list[float]) -> None:
    energy, largest = outcome(x, y)
    assert energy == pytest.approx(plain.energy_distance(x, y), abs=1e-9)
    assert largest == pytest.approx(plain.largest_distance(x, y), abs=1e-9)


def test_statistics_of_two_groups_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=80), rng.exponential(size=50)
    energy, largest = outcome(x.tolist(), y.tolist())
    assert energy == pytest.approx(energy_distance(x, y) ** 2)
    assert largest == pytest.approx(ks_2samp(x, y).statistic)


@given(sample, sample, sample)
def test_the_energy_of_three_groups_is_the_mean_over_pairs_of_subjects(
    x: list[float], y: list[float], z: list[float]
) -> None:
    pairs = list(combinations([x, y, z], 2))
    weights = [len(a) * len(b) for a, b in pairs]
    expected = np.average([plain.energy_distance(a, b) for a, b in pairs], weights=weights)
    assert outcome(x, y, z)[0] == pytest.approx(expected, abs=1e-9)


def test_p_values_are_shares_of_all_ways_to_deal_out_groups() -> None:
    x, y = [0.0, 1.0, 1.0, 3.0], [1.0, 2.0, 3.0, 3.0, 3.0]
    both = x + y
    ways = list(combinations(range(9), 4))
    drawn = []
    for chosen in ways:
        inside = [both[k] for k in chosen]
        outside = [both[k] for k in range(9) if k not in chosen]
        drawn.append(
            (plain.energy_distance(inside, outside), plain.largest_distance(inside, outside))
        )
    exact = [
        np.mean([one[k] >= observed - 1e-9 for one in drawn])
        for k, observed in enumerate((plain.energy_distance(x, y), plain.largest_distance(x, y)))
    ]
    found = outcome(x, y, permutations=20_000)
    for p_value, expected in zip(found, exact, strict=True):
        error = np.sqrt(expected * (1 - expected) / 20_000)
        assert p_value == pytest.approx(expected, abs=4 * error)


def test_many_values_in_groups_change_the_distances_little() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=4000), rng.normal(0.2, 1.2, 3000)
    assert STEPS < 7000
    energy, largest = outcome(x.tolist(), y.tolist())
    assert energy == pytest.approx(energy_distance(x, y) ** 2, rel=0.01)
    assert largest == pytest.approx(ks_2samp(x, y).statistic, abs=2 / STEPS)


def test_equal_differences_are_never_told_apart() -> None:
    assert outcome([1.0] * 5, [1.0] * 9, permutations=99) == (1.0, 1.0)


@pytest.mark.parametrize("kind", ["few values", "many values"])
def test_distance_correlation_is_that_of_statsmodels(kind: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 9, 300).astype(float) if kind == "few values" else rng.normal(size=120)
    y = np.abs(x - x.mean()) + rng.normal(size=len(x)).round(1)
    columns = [np.unique(one, return_inverse=True) for one in (x, y)]
    ours = distance_correlation(columns[0][1], columns[0][0], columns[1][1], columns[1][0])
    assert ours == pytest.approx(distance_statistics(x, y).distance_correlation)


def test_many_values_in_groups_change_the_correlation_little() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=1500)
    y = x**2 + rng.normal(size=1500)
    assert len(np.unique(x)) > LEVELS
    test = independence_test(y, x, null="", permutations=9, rng=rng)
    expected = distance_statistics(x, y).distance_correlation
    assert test.statistic == pytest.approx(expected, abs=0.01)
    assert test.p_value == 0.1


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_seed_gives_the_same_p_value_again(seed: int) -> None:
    x, y = np.arange(30.0) % 7, np.arange(30.0) % 4
    first, second = (
        independence_test(x, y, null="", permutations=19, rng=np.random.default_rng(seed))
        for _ in range(2)
    )
    assert first.p_value == second.p_value


def test_a_column_that_does_not_vary_has_no_correlation() -> None:
    rng = np.random.default_rng(0)
    test = independence_test(np.zeros(20), np.arange(20.0), null="", permutations=9, rng=rng)
    assert (test.statistic, test.p_value) == (0.0, 1.0)


def test_columns_that_go_together_in_no_way_have_a_p_value_of_one() -> None:
    x, y = np.repeat([0.0, 1.0], 8), np.tile([0.0, 1.0], 8)
    rng = np.random.default_rng(0)
    test = independence_test(x, y, null="", permutations=200, rng=rng)
    assert (test.statistic, test.p_value) == (0.0, 1.0)
