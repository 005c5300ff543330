"""Witnesses: published boundaries, gsdesign, a recursion, SciPy's normal integral, a simulation."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from comparity.errors import LookError, TooManyLooksError
from comparity.inference.looks import nominal_level, overall_p_value
from tests.plain.looks import crossing_chances

# O'Brien-Fleming type spending, two-sided 0.05, equally spaced looks: the boundaries the program of
# Reboussin, DeMets, Kim and Lan (2000) prints. Its integration is right to about 1e-4.
PUBLISHED = {
    2: [2.9626, 1.9686],
    3: [3.7103, 2.5114, 1.9930],
    4: [4.3326, 2.9631, 2.3590, 2.0141],
    5: [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
}


def rectangle(bounds: np.ndarray, correlation: np.ndarray) -> float:
    """Return the probability that normals all lie within bounds on either side, by SciPy."""
    law = np.zeros(len(bounds)), correlation
    options = {"abseps": 1e-6, "maxpts": 10**6}
    return float(multivariate_normal.cdf(bounds, *law, lower_limit=-bounds, **options))


def boundary(alpha: float, look: int, planned: int) -> float:
    return float(norm.isf(nominal_level(alpha, look, planned) / 2))


@pytest.mark.parametrize("planned", PUBLISHED)
def test_boundaries_equal_the_published_ones(planned: int) -> None:
    found = [boundary(0.05, look, planned) for look in range(1, planned + 1)]
    assert found == pytest.approx(PUBLISHED[planned], abs=1.5e-4)


def spent_by_gsdesign(bounds: list[float]) -> list[float]:
    """Return the chance to have left two-sided bounds by each look, as gsdesign integrates it."""
    # It needs a younger numpy than the package does.
    gsdesign = pytest.importorskip("gsdesign")
    found, grid = [], None
    for look, bound in enumerate(bounds, 1):
        limits = {"r": 40, "theta": 0.0, "info": float(look), "a": -bound, "b": bound}
        if grid is None:
            grid = gsdesign.h1(**limits)
        else:
            grid = gsdesign.hupdate(**limits, theta_prev=0.0, info_prev=look - 1.0, gm1=grid)
        # What is still inside: weights of Simpson's rule times the density.
        found.append(1 - float(np.sum(grid[2])))
    return found


@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize("planned", [2, 5, 8])
def test_looks_spend_what_gsdesign_says(planned: int, alpha: float) -> None:
    bounds = [boundary(alpha, look, planned) for look in range(1, planned + 1)]
    # Lan and DeMets' spending of O'Brien and Fleming's type, half of alpha on either side.
    share = np.arange(1, planned + 1) / planned
    expected = 4 * norm.sf(norm.isf(alpha / 4) / np.sqrt(share))
    assert spent_by_gsdesign(bounds) == pytest.approx(expected, abs=1e-6)


# Jennison and Turnbull (2000), "Group sequential methods", Tables 2.1 to 2.4: constants of the
# tests of O'Brien and Fleming and of Pocock at a two-sided 0.05, and how many times the fixed size
# each takes at most for a power of 0.8.
TEXTBOOK = {
    2: {"falling": (1.977, 1.008), "level": (2.178, 1.110)},
    3: {"falling": (2.004, 1.017), "level": (2.289, 1.166)},
    4: {"falling": (2.024, 1.024), "level": (2.361, 1.202)},
    5: {"falling": (2.040, 1.028), "level": (2.413, 1.229)},
}


@pytest.mark.parametrize("shape", ["falling", "level"])
@pytest.mark.parametrize("planned", TEXTBOOK)
def test_the_recursion_gives_the_error_rates_and_powers_of_the_textbook(
    planned: int, shape: str
) -> None:
    constant, size = TEXTBOOK[planned][shape]
    looks = np.arange(1, planned + 1)
    bounds = constant * np.sqrt(planned / looks) if shape == "falling" else [constant] * planned
    drift = (norm.isf(0.025) + norm.isf(0.2)) * math.sqrt(size)
    assert sum(crossing_chances(bounds)) == pytest.approx(0.05, abs=1e-4)
    assert sum(crossing_chances(bounds, drift)) == pytest.approx(0.8, abs=5e-4)


@pytest.mark.parametrize(("alpha", "planned"), [(0.05, 2), (0.05, 5), (0.01, 10)])
def test_each_look_spends_what_lan_and_demets_say(alpha: float, planned: int) -> None:
    """Twice 2 - 2 Phi(z / sqrt(t)), z at alpha / 4, has been spent at the share t."""
    bounds = [boundary(alpha, look, planned) for look in range(1, planned + 1)]
    shares = np.arange(1, planned + 1) / planned
    spent = 4 * norm.sf(norm.isf(alpha / 4) / np.sqrt(shares))
    np.testing.assert_allclose(np.cumsum(crossing_chances(bounds)), spent, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("planned", [2, 3, 4])
def test_the_error_over_all_looks_is_alpha(alpha: float, planned: int) -> None:
    looks = np.arange(1, planned + 1)
    correlation = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    bounds = np.array([boundary(alpha, look, planned) for look in looks])
    inside = rectangle(bounds, correlation)
    assert 1 - inside == pytest.approx(alpha, abs=2e-5)


@pytest.mark.parametrize("look", [1, 2, 3])
def test_either_side_spends_half_of_alpha_as_planned(look: int) -> None:
    """Equation of Lan and DeMets for each side: 2 - 2 Phi(z / sqrt(t)) with z at alpha / 4."""
    looks = np.arange(1, look + 1)
    correlation = np.sqrt(np.minimum.outer(looks, looks) / np.maximum.outer(looks, looks))
    bounds = np.array([boundary(0.2, k, 4) for k in looks])
    spent = 1 - rectangle(bounds, correlation)
    assert spent / 2 == pytest.approx(2 * norm.sf(norm.isf(0.05) / math.sqrt(look / 4)), abs=1e-5)


def test_four_looks_at_brownian_motion_raise_alpha_false_alarms() -> None:
    """40,000 paths: 4 binomial standard errors around 0.05."""
    steps = np.random.default_rng(20240701).normal(size=(40_000, 4))
    z = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, 5))
    bounds = [boundary(0.05, look, 4) for look in range(1, 5)]
    rate = (np.abs(z) >= bounds).any(axis=1).mean()
    assert rate == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 40_000))


@settings(deadline=None)
@given(st.floats(1e-12, 1), st.integers(1, 6), st.integers(0, 4))
def test_overall_p_values_invert_nominal_levels(alpha: float, look: int, later: int) -> None:
    planned = look + later
    p = nominal_level(alpha, look, planned)
    # An underflowing level of an early look has no inverse.
    if p > 1e-250:
        assert overall_p_value(p, look, planned) == pytest.approx(alpha, rel=1e-6)


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 5), st.integers(0, 3))
def test_overall_p_values_rise_with_p_and_never_fall_below_it(
    one: float, other: float, look: int, later: int
) -> None:
    smaller, larger = sorted([one, other])
    low, high = (overall_p_value(p, look, look + later) for p in (smaller, larger))
    assert low <= high * (1 + 1e-8)
    assert smaller <= low * (1 + 1e-8) <= 1 + 1e-8


@given(st.floats(0, 1))
def test_a_single_look_changes_nothing(p: float) -> None:
    assert nominal_level(p, 1, 1) == p
    assert overall_p_value(p, 1, 1) == p


def test_no_p_value_stays_no_p_value() -> None:
    assert math.isnan(overall_p_value(math.nan, 2, 4))
    assert overall_p_value(0.0, 2, 4) == 0
    assert overall_p_value(1.0, 2, 4) == 1


@pytest.mark.parametrize(("look", "planned"), [(0, 4), (5, 4), (-1, 3), (1, 0)])
def test_looks_that_were_not_planned_are_refused(look: int, planned: int) -> None:
    with pytest.raises(LookError, match=f"look {look} of {planned}"):
        nominal_level(0.05, look, planned)
    with pytest.raises(LookError, match="hint"):
        overall_p_value(0.05, look, planned)


@pytest.mark.parametrize("planned", [101, 10**6])
def test_more_than_a_hundred_planned_looks_are_refused(planned: int) -> None:
    with pytest.raises(
        TooManyLooksError, match=f"{planned} planned looks are too many; at most 100"
    ):
        nominal_level(0.05, 1, planned)
    with pytest.raises(TooManyLooksError, match="hint"):
        overall_p_value(0.05, planned, planned)


@pytest.mark.long
def test_a_hundred_planned_looks_hold_the_error_rate() -> None:
    """Simulated random walks, of which alpha cross any boundary; within four standard errors."""
    levels = [nominal_level(0.05, look, 100) for look in range(1, 101)]
    edges = norm.isf(np.array(levels) / 2) * np.sqrt(np.arange(1, 101))
    walks = np.cumsum(np.random.default_rng(3).normal(size=(20_000, 100)), axis=1)
    crossed = (np.abs(walks) > edges).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 20_000))


def test_twenty_overall_p_values_take_less_than_half_a_second() -> None:
    overall_p_value(0.03, 5, 5)
    started = time.process_time()
    for k in range(20):
        overall_p_value(0.001 + k / 50, 5, 5)
    assert time.process_time() - started < 0.5
