"""Power of tests that estimate their errors from evaluators.

Witnesses: the noncentral t distribution of scipy, the t-test power of statsmodels, t-tests of drawn
sums, the test of an audit on drawn sums, and all patterns of their signs.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from comparity.inference.power import all_within_power, any_detection_power, detection_power
from comparity.inference.rejection import Clusters, critical_distances, half_width
from tests.plain import two_proportions

DRAWS = 100_000
NUMBERS = [3, 5, 13, 30, 300]


def power_within(gap: float, error: float, **choices: Any) -> float:
    """Return the power of the two one-sided tests of a single gap."""
    return all_within_power(np.array([gap]), np.array([[error**2]]), **choices)


def clusters(number: int, judgments: float, items: float, evaluators: float) -> Clusters:
    parts = {"judgments": judgments, "items": items, "evaluators": evaluators}
    return Clusters(number=number, **{name: np.array([part]) for name, part in parts.items()})


def close_to_share(power: float, share: float) -> bool:
    return abs(power - share) <= 4 * np.sqrt(max(power * (1 - power), 1e-4) / DRAWS)


def signs_reject(sums: np.ndarray, hypothesised: float, alpha: float) -> np.ndarray:
    """Whether the mid-p value over all patterns of signs is at most `alpha`."""
    about = sums - hypothesised / sums.shape[1]
    totals = about @ np.array(list(product((-1.0, 1.0), repeat=sums.shape[1]))).T
    observed = np.abs(about.sum(axis=1, keepdims=True))
    same = np.isclose(totals, observed, rtol=1e-9, atol=0)
    one_sided = np.where(same, 0.5, totals > observed).mean(axis=1)
    rejected: np.ndarray = 2 * one_sided <= alpha
    return rejected


@pytest.mark.parametrize("alpha", [0.05, 0.025])
@pytest.mark.parametrize(("number", "ratio"), [(6, 3.0), (6, 5.0), (7, 3.0), (8, 3.0), (9, 2.5)])
def test_where_signs_are_turned_the_power_is_that_of_both_tests(
    number: int, ratio: float, alpha: float
) -> None:
    draws = 20_000
    rng = np.random.default_rng(6)
    sums = rng.normal(ratio / number, number**-0.5, (draws, number))
    by_t = stats.ttest_1samp(sums, 0, axis=1).pvalue <= alpha
    share = np.mean(by_t & signs_reject(sums, 0.0, alpha))
    power = detection_power(ratio, 1.0, alpha=alpha, clusters=clusters(number, 0, 0, 1))
    # Eight quantiles of drawn directions stand for all directions.
    assert power == pytest.approx(share, abs=4 * np.sqrt(0.25 / draws) + 0.005)


def test_six_evaluators_show_nothing_below_the_smallest_p_value_of_their_signs() -> None:
    own = clusters(6, 0, 0, 1)
    assert detection_power(50.0, 1.0, alpha=0.015, clusters=own) < 1e-6
    assert detection_power(50.0, 1.0, alpha=0.016, clusters=own) > 0.99


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("ratio", [0.0, 0.7, 2.0, 3.5, 5.0])
def test_without_a_known_part_the_power_is_that_of_the_t_test(number: int, ratio: float) -> None:
    power = detection_power(ratio, 1.0, alpha=0.025, clusters=clusters(number, 0, 0, 1))
    t = stats.t.isf(0.0125, number - 1)
    noncentral = stats.nct.sf(t, number - 1, ratio) + stats.nct.cdf(-t, number - 1, ratio)
    assert power == pytest.approx(noncentral, abs=1e-5)
    if ratio:
        expected = TTestPower().power(ratio / np.sqrt(number), number, 0.025)
        assert power == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("number", [3, 5, 13])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_a_margin_is_shown_as_often_as_two_t_tests_of_drawn_sums_show_it(
    number: int, gap: float
) -> None:
    # Sums of evaluators with mean gap / G and variance 1 / G: their total is the estimate.
    rng = np.random.default_rng(8)
    sums = rng.normal(gap / number, number**-0.5, (DRAWS, number))
    below = stats.ttest_1samp(sums, 4 / number, axis=1, alternative="less").pvalue < 0.05
    above = stats.ttest_1samp(sums, -4 / number, axis=1, alternative="greater").pvalue < 0.05
    own = clusters(number, 0, 0, 1)
    power = power_within(gap, 1.0, margin=4.0, alpha=0.05, clusters=own)
    assert close_to_share(power, float(np.mean(below & above)))


@pytest.mark.parametrize("number", [3, 5, 30])
@pytest.mark.parametrize("parts", [(1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.3, 0.3, 0.4)])
def test_the_distances_solve_the_test_of_an_audit(
    number: int, parts: tuple[float, float, float]
) -> None:
    judgments, items, evaluators = parts
    rng = np.random.default_rng(9)
    spread = np.sqrt((judgments + evaluators) / number)
    # What items share moves the sums of all evaluators alike.
    moved = rng.normal(3.0, np.sqrt(items), (DRAWS, 1)) / number
    sums = moved + rng.normal(0, spread, (DRAWS, number))
    z, t = stats.norm.isf(0.0125), stats.t.isf(0.0125, number - 1)
    distance = sums.sum(axis=1)
    beyond = distance**2 > z**2 * items + t**2 * number * sums.var(axis=1, ddof=1)
    least = t**2 * number / (number - 1 + t**2) * judgments
    share = np.mean(beyond & (distance**2 > least))
    power = detection_power(3.0, 1.0, alpha=0.025, clusters=clusters(number, *parts))
    assert close_to_share(power, float(share))


def test_very_many_evaluators_are_as_good_as_a_known_error() -> None:
    own = clusters(10**6, 0.5, 0.3, 0.2)
    known = detection_power(2.5, 1.0, alpha=0.05)
    assert detection_power(2.5, 1.0, alpha=0.05, clusters=own) == pytest.approx(known, abs=1e-4)
    within = power_within(0.1, 1.0, margin=3.0, alpha=0.05)
    found = power_within(0.1, 1.0, margin=3.0, alpha=0.05, clusters=own)
    assert found == pytest.approx(within, abs=1e-4)


def test_independent_tests_that_estimate_their_errors_multiply() -> None:
    both = Clusters(number=5, judgments=np.zeros(2), items=np.zeros(2), evaluators=np.ones(2))
    power = any_detection_power(np.array([2.0, -3.0]), np.eye(2), alpha=0.025, clusters=both)
    alone = [TTestPower().power(gap / np.sqrt(5), 5, 0.025) for gap in (2.0, 3.0)]
    assert power == pytest.approx(1 - (1 - alone[0]) * (1 - alone[1]), abs=1e-5)


@given(st.floats(0.0, 6.0), st.floats(-5.0, 5.0))
def test_half_width_is_where_the_normal_law_has_the_probability(
    width: float, centre: float
) -> None:
    law = stats.norm(centre, 1)
    probability = law.cdf(width) - law.cdf(-width)
    found = half_width(np.array([probability]), np.array([centre]))[0]
    assert law.cdf(found) - law.cdf(-found) == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize("margin", [None, 8.0])
def test_no_number_of_evaluators_makes_an_endless_gap_ratio_fail(margin: float | None) -> None:
    own = clusters(3, 1e-18, 0, 0)
    if margin is None:
        assert detection_power(0.5, 1e-9, alpha=0.05, clusters=own) == pytest.approx(1)
    else:
        power = power_within(0.5, 1e-9, margin=margin, alpha=0.05, clusters=own)
        assert power == pytest.approx(1)


def distance(p: float, q: float, n: int, m: int, hypothesised: float, shared: float = 0.0) -> float:
    single = p * (1 - p) / n + q * (1 - q) / m
    rates, trials = ((np.array([one]), np.array([two])) for one, two in ((p, q), (n, m)))
    variances = np.array([single + shared])
    return float(
        critical_distances(rates, trials, variances, hypothesised=hypothesised, alpha=0.05)[0]
    )


@pytest.mark.parametrize("hypothesised", [-0.06, 0.0, 0.08])
@pytest.mark.parametrize(("p", "q"), [(0.985, 0.97), (1.0, 0.94), (0.03, 0.06)])
def test_with_few_misses_the_score_test_is_about_to_reject_at_the_distance(
    p: float, q: float, hypothesised: float
) -> None:
    """The likelihood of the likeliest tables with that gap is maximised by bisection."""
    n, m = 400, 300
    own, other = p * (1 - p) / n, q * (1 - q) / m
    side = 1 if p - q >= hypothesised else -1
    edge = hypothesised + side * distance(p, q, n, m, hypothesised)
    moved = (edge - p + q) / (own + other)
    hits = (p + moved * own) * n, (q - moved * other) * m
    statistic = two_proportions.score_statistic(hits[0], n, hits[1], m, hypothesised)
    assert statistic == pytest.approx(side * stats.norm.isf(0.05), rel=5e-3)


@pytest.mark.parametrize("hypothesised", [-0.06, 0.0, 0.08])
def test_of_shared_items_the_distance_is_never_less_than_that_of_the_score_test(
    hypothesised: float,
) -> None:
    """The likelihood of 394 of 400 and 296 of 300 is maximised over rates with this gap."""
    statistic = two_proportions.score_statistic(394, 400, 296, 300, hypothesised)
    error = (394 / 400 - 296 / 300 - hypothesised) / statistic
    wald = np.sqrt(0.985 * 0.015 / 400 + 296 * 4 / 300**3)
    expected = stats.norm.isf(0.05) * np.sqrt(max(error, wald) ** 2 + 0.001)
    found = distance(0.985, 296 / 300, 400, 300, hypothesised, shared=0.001)
    assert found == pytest.approx(expected, rel=1e-6)


def test_with_ample_counts_the_distance_is_that_of_the_wald_test() -> None:
    expected = stats.norm.isf(0.05) * np.sqrt(0.24 / 400 + 0.21 / 200)
    assert distance(0.6, 0.7, 400, 200, 0.05) == pytest.approx(expected)


def test_shared_items_add_to_the_variance_and_have_no_continuity_correction() -> None:
    """Of 98 in 100 against 98 in 100 the score variance of no gap is the binomial one."""
    binomial = 2 * 0.98 * 0.02 / 100
    alone, shared = (distance(0.98, 0.98, 100, 100, 0.0, shared=more) for more in (0.0, 0.001))
    assert alone == pytest.approx(stats.norm.isf(0.05) * np.sqrt(binomial) + 0.005)
    assert shared == pytest.approx(stats.norm.isf(0.05) * np.sqrt(binomial + 0.001))
