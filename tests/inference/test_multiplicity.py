"""Witnesses: statsmodels' ``multipletests``, scipy's ``false_discovery_control`` and Tukey."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm, studentized_range

from comparity.inference.multiplicity import (
    benjamini_hochberg,
    hochberg,
    holm,
    max_t,
    no_correction,
)
from tests.reference.corrections import multipletests

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)
alphas = st.sampled_from([0.01, 0.05, 0.2])


@settings(max_examples=20)  # multipletests collects garbage every time
@given(p_values, alphas)
def test_holm_equals_statsmodels(p: list[float], alpha: float) -> None:
    rejected, adjusted, _, _ = multipletests(p, alpha, method="holm")
    outcome = holm(p, alpha)
    assert outcome.adjusted == pytest.approx(adjusted, rel=1e-12)
    assert outcome.rejected == tuple(rejected)


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=8), alphas)
def test_a_test_is_rejected_exactly_at_its_local_alpha(p: list[float], alpha: float) -> None:
    outcome = holm(p, alpha)
    assert outcome.rejected == tuple(
        value <= level for value, level in zip(p, outcome.local_alpha, strict=True)
    )


def test_local_levels_follow_the_rank_until_the_first_failure() -> None:
    """Ranks 1 to 4 have levels 0.05 / 4, / 3, / 2, / 1; the third p value fails."""
    outcome = holm([0.04, 0.001, 0.03, 0.01], 0.05)
    assert outcome.local_alpha == pytest.approx([0.05 / 2, 0.05 / 4, 0.05 / 2, 0.05 / 3])
    assert outcome.rejected == (False, True, False, True)


def test_tests_that_were_not_made_are_not_part_of_the_family() -> None:
    outcome = holm([math.nan, 0.02, 0.9], 0.05)
    assert outcome.adjusted == pytest.approx([math.nan, 0.04, 0.9], nan_ok=True)
    assert outcome.rejected == (False, True, False)
    assert outcome.local_alpha == pytest.approx([0.025, 0.025, 0.05])


def test_an_empty_family_is_judged_at_alpha() -> None:
    outcome = holm([math.nan], 0.05)
    assert (outcome.rejected, outcome.local_alpha) == ((False,), (0.05,))
    assert holm([], 0.05).rejected == ()


def test_the_papers_rule_rejects_strictly_below_alpha() -> None:
    outcome = no_correction([0.049, 0.05, math.nan], 0.05)
    assert outcome.rejected == (True, False, False)
    assert outcome.local_alpha == (0.05, 0.05, 0.05)
    assert outcome.adjusted == pytest.approx((0.049, 0.05, math.nan), nan_ok=True)


def test_under_the_null_holm_keeps_alpha_and_the_papers_rule_does_not() -> None:
    """Two independent tests at 0.05: 0.05 against 1 - 0.95**2 = 0.0975; 4 binomial errors."""
    p = np.random.default_rng(20240701).random((4000, 2))
    holm_rate = np.mean([any(holm(row, 0.05).rejected) for row in p])
    paper_rate = np.mean([any(no_correction(row, 0.05).rejected) for row in p])
    # Holm's false alarms are those of Bonferroni: 1 - 0.975**2.
    assert holm_rate == pytest.approx(1 - 0.975**2, abs=4 * math.sqrt(0.05 * 0.95 / 4000))
    assert paper_rate == pytest.approx(0.0975, abs=4 * math.sqrt(0.0975 * 0.9025 / 4000))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_false_discovery_adjustment_equals_scipys(p_values: list[float]) -> None:
    expected = false_discovery_control(p_values)
    assert benjamini_hochberg(p_values) == pytest.approx(expected, abs=1e-12)


def test_false_discovery_adjustment_leaves_out_tests_not_made_and_keeps_the_shape() -> None:
    found = benjamini_hochberg([[0.01, np.nan], [0.04, 0.03]])
    assert found.shape == (2, 2)
    assert np.isnan(found[0, 1])
    assert found[~np.isnan(found)] == pytest.approx(false_discovery_control([0.01, 0.04, 0.03]))


@pytest.mark.parametrize("cells", [3, 6, 9])
def test_all_pairs_of_independent_cells_have_tukeys_distribution(cells: int) -> None:
    """Of equally exact independent rates the largest gap is a studentised range."""
    pairs = list(combinations(range(cells), 2))
    factor = np.zeros((len(pairs), cells))
    for row, (one, two) in enumerate(pairs):
        factor[row, [one, two]] = 1.0, -1.0
    for z in (1.5, 2.5, 3.2):
        p = [2 * norm.sf(z), *np.linspace(0.9, 1, len(pairs) - 1)]
        adjusted = max_t(p, [factor], 0.05).adjusted[0]
        expected = studentized_range.sf(z * np.sqrt(2), cells, np.inf)
        assert adjusted == pytest.approx(expected, abs=4 * np.sqrt(expected / 2**15))


def test_a_step_down_leaves_out_what_was_rejected() -> None:
    """Once the first test is rejected, the second has only itself and the third to reckon with."""
    p = [1e-9, 0.024, 0.9]
    adjusted = max_t(p, [np.eye(3)], 0.05).adjusted
    assert adjusted[1] == pytest.approx(1 - (1 - 0.024) ** 2, abs=0.003)
    assert adjusted[0] == pytest.approx(3e-9)


@given(st.lists(st.floats(1e-6, 1) | st.just(math.nan), min_size=1, max_size=6), alphas)
@settings(max_examples=15)
def test_what_is_known_of_dependence_never_costs_anything(p: list[float], alpha: float) -> None:
    alone, known = holm(p, alpha), max_t(p, [np.ones((len(p), 1))], alpha)
    assert all(one or not two for one, two in zip(known.rejected, alone.rejected, strict=True))
    for ours, theirs in zip(known.adjusted, alone.adjusted, strict=True):
        assert math.isnan(theirs) or ours <= theirs + 1e-12


def test_tests_of_two_families_are_taken_to_be_independent() -> None:
    p = [0.02, 0.5, 0.6]
    together = max_t(p, [np.ones((2, 1)), np.ones((1, 1))], 0.05).adjusted[0]
    assert together == pytest.approx(1 - (1 - 0.02) ** 2, abs=0.003)


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), alphas)
def test_claims_about_some_gaps_are_a_part_of_hochbergs(p: list[float], alpha: float) -> None:
    rejected = hochberg(p, alpha).rejected
    wider = multipletests(p, alpha, method="simes-hochberg")[0]
    assert all(more or not ours for ours, more in zip(rejected, wider, strict=True))
    if max(p) <= alpha:
        assert all(rejected)
    else:
        assert rejected == tuple(multipletests(p, alpha, method="holm")[0])
