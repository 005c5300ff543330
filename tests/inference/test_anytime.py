"""Witnesses: mpmath's integrals, SciPy's minimum, paths of Brownian motion, brute force."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from comparity.counts.differences import Moments
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.inference.anytime import (
    AnytimeGap,
    anytime_p_values,
    boundary,
    level_of_a_look,
    log_e_value,
    log_e_value_of_gaps,
    read_anytime,
    tuned_information,
    tuned_rho,
)
from comparity.inference.dyadic import compare_cells
from comparity.inference.e_values import BettingGap, compare_by_betting
from comparity.inference.evaluators import ClusterGap
from comparity.inference.gap_tests import GapTest
from comparity.inference.item_permutation import NullGap
from comparity.inference.means import compare_means
from comparity.inference.multiplicity import benjamini_hochberg, hochberg
from comparity.inference.pivots import DyadicGap
from tests.inference.test_evaluators import compare, panel

A, B = Cell("a", "b"), Cell("b", "a")


def mixture(z: float, information: float, rho: float, *, low: float = -mpmath.inf) -> float:
    """Average exp(theta S - theta^2 I / 2) over normal gaps with variance rho, from `low` on."""
    score = z * math.sqrt(information)

    def density(theta: float) -> float:
        weight = mpmath.exp(-(theta**2) / (2 * rho)) / mpmath.sqrt(2 * mpmath.pi * rho)
        return mpmath.exp(theta * score - theta**2 * information / 2) * weight

    centre = rho * score / (1 + rho * information)
    width = math.sqrt(rho / (1 + rho * information))
    places = [low, *(centre + k * width for k in (-8, -2, 0, 2, 8)), mpmath.inf]
    return float(mpmath.quad(density, [one for one in places if one >= low]))


@pytest.mark.parametrize("information", [30.0, 3400.0, 90_000.0])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_on_the_boundary_the_integral_over_gaps_is_one_over_alpha(
    information: float, alpha: float
) -> None:
    z = float(boundary(information, 0.0024, alpha))
    assert mixture(z, information, 0.0024) * alpha == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize(("z", "information"), [(3.1, 3400.0), (-1.0, 500.0), (4.0, 60.0)])
def test_one_sided_e_values_are_integrals_over_half_of_the_gaps(
    z: float, information: float
) -> None:
    whole = 2 * mixture(z, information, 0.0024, low=0.0)
    assert math.exp(log_e_value(z, 0.0024 * information)) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.001])
def test_the_boundary_is_narrowest_where_it_is_tuned(alpha: float) -> None:
    found = minimize_scalar(
        lambda x: float(boundary(x, 1.0, alpha)), bounds=(1, 60), method="bounded"
    )
    assert tuned_information(alpha) == pytest.approx(found.x, rel=1e-3)
    least = minimize_scalar(
        lambda x: float(boundary(x, 1.0, 0.8 * alpha)), bounds=(1, 60), method="bounded"
    )
    assert norm.isf(level_of_a_look(alpha) / 2) == pytest.approx(least.fun, rel=1e-9)


def test_rho_is_tuned_to_a_fixed_design_with_a_power_of_four_fifths() -> None:
    information = tuned_information(0.05) / tuned_rho(0.05, 0.05)
    error = information**-0.5
    inside = 0.05 - norm.isf(0.05) * error
    assert 2 * norm.cdf(inside / error) - 1 == pytest.approx(0.8, abs=1e-9)


@pytest.fixture(scope="module")
def paths() -> tuple[np.ndarray, np.ndarray]:
    """4,000 paths at 400 moments, and rho times their information."""
    times = np.geomspace(0.05, 200, 400)
    steps = np.diff(times, prepend=0.0) ** 0.5
    rng = np.random.default_rng(20261117)
    return np.cumsum(rng.normal(size=(4000, 400)) * steps, axis=1) / np.sqrt(times), times


def test_brownian_motion_crosses_the_boundary_with_probability_alpha_at_most(
    paths: tuple[np.ndarray, np.ndarray],
) -> None:
    """Nearly alpha, of paths that go on: 3 binomial standard errors above, a half below."""
    z, times = paths
    crossed = (np.abs(z) >= boundary(times, 1.0, 0.05)).any(axis=1).mean()
    assert 0.025 < crossed < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)


def test_mixtures_over_small_and_large_gaps_cross_with_probability_alpha_at_most(
    paths: tuple[np.ndarray, np.ndarray],
) -> None:
    z, times = paths
    crossed = (log_e_value_of_gaps(np.abs(z), times) >= math.log(40)).any(axis=1).mean()
    assert 0.02 < crossed < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)


def test_one_sided_tests_cross_with_probability_alpha_at_most(
    paths: tuple[np.ndarray, np.ndarray],
) -> None:
    z, times = paths
    crossed = (log_e_value(z, times) >= math.log(20)).any(axis=1).mean()
    assert 0.025 < crossed < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)


def test_the_mean_e_value_is_one_wherever_a_greedy_reader_stops(
    paths: tuple[np.ndarray, np.ndarray],
) -> None:
    """Stops at the first value above 3 or else at the end; 4 standard errors."""
    z, times = paths
    e = np.exp(log_e_value(z, times))
    first = np.where((e > 3).any(axis=1), (e > 3).argmax(axis=1), e.shape[1] - 1)
    stopped = e[np.arange(len(e)), first]
    assert stopped.mean() == pytest.approx(1, abs=4 * stopped.std() / math.sqrt(len(e)))


def score_test(first: Tally, second: Tally) -> GapTest:
    return compare_cells(PairCounts({A: first, B: second}).sharing_moments(), A, B, null="")


tallies = st.tuples(st.integers(30, 500), st.floats(0.1, 0.9)).map(
    lambda both: Tally(round(both[0] * both[1]), both[0])
)


@settings(deadline=None, max_examples=25)
@given(tallies, tallies, st.floats(0.001, 0.3))
def test_intervals_invert_the_tests(first: Tally, second: Tally, alpha: float) -> None:
    now = read_anytime(score_test(first, second), margin=0.05, alpha=0.05)
    if now.pivot is None:
        return
    low, high, _ = now.interval(1 - alpha)
    assert low <= now.gap <= high
    for end in (low, high):
        if abs(end) < 1:
            assert now.pivot.p_value(end) == pytest.approx(alpha, rel=1e-6)
    assert (low <= 0 <= high) == (now.p_value >= alpha)


def test_the_interval_is_the_printed_one_within_three_hundredths_at_the_planned_size() -> None:
    """Pivot with one error at all gaps: gap plus or minus boundary times error."""
    gap = AnytimeGap(
        gap=0.1,
        standard_error=0.017,
        fixed=NullGap(gap=0.1, standard_error=0.017),
        rho=0.0024,
    )
    half = 0.017 * float(boundary(0.017**-2, 0.0024, 0.05))
    low, high, _ = gap.interval(0.95)
    assert (low, high) == pytest.approx((0.1 - half, 0.1 + half), abs=0.03 * half)
    assert (high - low) / 2 >= half


def test_large_gaps_are_found_long_before_the_planned_size() -> None:
    """With an error of 0.13 the printed boundary alone would ask for a gap of 0.9."""
    gap = AnytimeGap(
        gap=0.55, standard_error=0.13, fixed=NullGap(gap=0.55, standard_error=0.13), rho=0.0024
    )
    assert gap.p_value(0.0) < 0.05
    assert 0.13 * float(boundary(0.13**-2, 0.0024, 0.05)) > 0.85


def test_two_sided_e_values_are_the_integral_over_all_gaps() -> None:
    gap = AnytimeGap(
        gap=0.1, standard_error=0.02, fixed=NullGap(gap=0.1, standard_error=0.02), rho=0.0024
    )
    both = 0.8 * mixture(3.5, 2500, 0.0024) + 0.2 * mixture(3.5, 2500, 16 * 0.0024)
    assert gap.e_value(0.03) == pytest.approx(both, rel=1e-9)
    assert gap.p_value(0.03) >= 1 / gap.e_value(0.03)


def test_evidence_too_strong_for_a_number_has_a_large_one() -> None:
    pivot = compare_by_betting(np.ones(3000), np.zeros(3000), null="equal").pivot
    assert isinstance(pivot, BettingGap)
    assert max(pivot.log_e(0.0, side) for side in (-1, 1)) > math.log(np.finfo(float).max)
    assert 1e300 < pivot.e_value(0.0) < np.inf


def test_a_gap_in_few_clusters_is_worth_what_its_t_test_says() -> None:
    """Normal quantiles of tails that the test of one look has without turned signs."""
    fixed = compare(panel(12, 3, n_pairs=2000))
    now = read_anytime(fixed, margin=0.05, alpha=0.05)
    assert isinstance(now.pivot, AnytimeGap)
    assert isinstance(now.pivot.fixed, ClusterGap)
    assert "signs" in fixed.method
    assert "signs" not in now.method
    at = fixed.gap - 0.2
    z = norm.isf(now.pivot.fixed.p_above(at))
    expected = float(log_e_value_of_gaps(z, tuned_rho(0.05, 0.05) * (z / 0.2) ** 2))
    assert now.pivot.p_above(at) == pytest.approx(math.exp(-max(expected, 0.0)))


def test_fewer_than_ten_evaluators_are_refused_with_the_reason() -> None:
    now = read_anytime(compare(panel(9, 3, n_pairs=2000)), margin=0.05, alpha=0.05)
    assert math.isnan(now.p_value)
    assert now.reason.startswith("9 evaluators or other clusters are too few")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (Tally(9, 19), Tally(90, 190), "19 on one side of the gap, 20 are needed to begin"),
        (Tally(199, 200), Tally(200, 200), "5.5 hits or misses are expected in a cell"),
        (Tally(150, 200), Tally(160, 200), ""),
    ],
)
def test_nobody_looks_before_there_is_enough(first: Tally, second: Tally, reason: str) -> None:
    now = read_anytime(score_test(first, second), margin=0.05, alpha=0.05)
    assert now.reason.startswith(reason)
    assert math.isnan(now.p_value) == bool(reason)


def test_gaps_of_means_are_read_at_any_moment() -> None:
    """Welch's t on hundreds of degrees of freedom is the normal mixture with its own error."""
    rng = np.random.default_rng(3)
    groups = [Moments.of(rng.normal(shift, 1, 800)) for shift in (0.0, 0.3)]
    fixed = compare_means(*groups, null="")
    now = read_anytime(fixed, margin=0.2, alpha=0.05)
    z = norm.isf(fixed.p_value / 2)
    x = tuned_rho(0.2, 0.05) * (z / fixed.gap) ** 2
    assert now.p_value == pytest.approx(2 * math.exp(-log_e_value_of_gaps(z, x)), rel=1e-6)
    assert now.p_value > fixed.p_value


e_values = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=8)


@given(e_values, st.floats(0.001, 0.5))
def test_what_is_rejected_over_e_values_has_a_mean_e_value_of_one_over_alpha(
    values: list[float], alpha: float
) -> None:
    """The mean of e-values is one whatever their dependence: Simes' test of 1 / e needs no more."""
    p = [min(1.0, 1 / one) for one in values]
    if min(benjamini_hochberg(p)) <= alpha:
        assert np.mean(values) >= (1 - 1e-9) / alpha
    rejected = [one for one, out in zip(values, hochberg(p, alpha).rejected, strict=True) if out]
    if rejected:
        assert np.mean(values) >= (1 - 1e-9) * len(rejected) / (len(values) * alpha)


def test_estimates_without_an_error_have_no_p_value() -> None:
    found = anytime_p_values([np.nan, 0.0, 5.0], [0.2, 0.2, 0.2], 0.25)
    assert np.isnan(found[0])
    assert found[1] == 1
    assert found[2] < 0.01


def test_bets_keep_their_promise_for_every_short_sequence() -> None:
    """Brute force: the mean capital over all sequences of six outcomes at the tested gap."""
    one, two = 0.7, 0.5
    mean = 0.0
    for outcomes in product((0, 1), repeat=6):
        first, second = np.array(outcomes[:3]), np.array(outcomes[3:])
        chance = math.prod(one if y else 1 - one for y in first.tolist())
        chance *= math.prod(two if y else 1 - two for y in second.tolist())
        pivot = compare_by_betting(first, second, null="").pivot
        assert isinstance(pivot, BettingGap)
        mean += chance * math.exp(pivot.log_e(0.2, 1))
    assert mean == pytest.approx(1, abs=1e-12)


def test_capital_is_that_of_staking_step_by_step() -> None:
    """A loop over outcomes and stakes, mirrored for the other side."""
    rng = np.random.default_rng(5)
    first, second = (rng.random(40) < 0.7) * 1.0, (rng.random(40) < 0.5) * 1.0
    pivot = compare_by_betting(first, second, null="").pivot
    assert isinstance(pivot, BettingGap)
    capitals = []
    for node in range(32):
        stake, capital = (node + 0.5) / 32 / 2 / (1 - 0.1), 1.0
        for one, two in zip(first.tolist(), second.tolist(), strict=True):
            capital *= 1 - stake * (one - two - 0.1)
        capitals.append(capital)
    assert math.exp(pivot.log_e(0.1, -1)) == pytest.approx(np.mean(capitals))


def test_bets_find_a_gap_and_their_interval_inverts_them() -> None:
    rng = np.random.default_rng(8)
    test = compare_by_betting(rng.random(900) < 0.8, rng.random(900) < 0.65, null="")
    assert test.p_value < 0.05
    low, high, _ = test.interval(0.95)
    assert low > 0
    assert test.pivot is not None
    assert test.pivot.p_value(high) == pytest.approx(0.05, rel=1e-6)
    assert compare_by_betting([], [1], null="").reason


def test_the_error_is_never_below_that_of_judgments_that_share_nothing() -> None:
    """The score test of two proportions, 60 of 100 and 45 of 100, by hand."""
    trials, hits = np.array([100.0, 100.0]), np.array([60.0, 45.0])
    own = np.block([[np.diag(trials), np.diag(hits)], [np.diag(hits), np.diag(hits)]])
    facts = {"rates": hits / trials, "trials": trials, "own": own, "contrast": np.array([1, -1])}
    by_hand = 0.15 / math.sqrt(2 * 0.525 * 0.475 / 100)
    x = tuned_rho(0.05, 0.05) * (by_hand / 0.15) ** 2
    expected = 2 * math.exp(-log_e_value_of_gaps(by_hand, x))
    for taken_off, alike in ((0.9, True), (0.0, True), (-0.9, False)):
        pivot = DyadicGap(**facts, dependent=(1 - taken_off) * own)
        now = AnytimeGap(gap=0.15, standard_error=0.07, fixed=pivot, rho=tuned_rho(0.05, 0.05))
        assert (now.p_value(0.0) == pytest.approx(min(1.0, expected))) == alike
