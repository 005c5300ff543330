"""Facts about judged gaps at their limits; witnesses: intervals, and hand arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from comparity.counts.pairs import Tally
from comparity.inference.gap_tests import items_to_see
from comparity.inference.proportions import compare_rates
from comparity.results.audit import JudgedGap
from comparity.results.judging import judge
from comparity.results.result import WITHIN

ALPHA, MARGIN = 0.05, 0.05


def judged(first: Tally, second: Tally, **choices: object) -> JudgedGap:
    options = {"alpha": ALPHA, "margin": MARGIN, "n": 1000, "n_items": 1000} | choices
    (test,) = judge([compare_rates(first, second, null="")], **options)  # type: ignore[arg-type]
    return test


@given(st.integers(480, 620), st.integers(1_000, 100_000))
def test_a_gap_is_within_the_margin_exactly_where_its_interval_of_90_percent_is(
    per_mille: int, n: int
) -> None:
    test = judged(Tally(n * per_mille // 1000, n), Tally(n // 2, n))
    low, high, level = test.interval(test.equivalence_level)
    assert level == pytest.approx(1 - 2 * ALPHA)
    nearest = min(abs(low + MARGIN), abs(high - MARGIN))
    if nearest > 1e-6:
        assert (test.finding == WITHIN) == (low > -MARGIN and high < MARGIN)


def test_two_one_sided_tests_are_those_of_the_textbook() -> None:
    """Schuirmann (1987): a normal quantile of alpha, one-sided, times the standard error."""
    n = 20_000
    test = judged(Tally(10_000, n), Tally(10_000, n))
    half_width = norm.isf(ALPHA) * math.sqrt(2 * 0.25 / n)
    low, high, _ = test.interval(test.equivalence_level)
    assert (low, high) == pytest.approx((-half_width, half_width), rel=2e-3)
    assert np.isclose(test.equivalence_p, norm.sf(MARGIN / math.sqrt(2 * 0.25 / n)), rtol=0.05)


def test_an_interval_has_a_level_of_95_percent_unless_another_is_asked_for() -> None:
    test = judged(Tally(400, 1000), Tally(350, 1000))
    assert test.interval() == test.interval(0.95)


@pytest.mark.parametrize("planned", [1, 2])
def test_what_would_decide_is_what_two_one_sided_tests_need(planned: int) -> None:
    """At no gap: the margin is as far as the quantiles of alpha and of a tenth together.

    At the last of two looks Pocock's or O'Brien's level is below alpha, so that more is needed.
    """
    looks = {} if planned == 1 else {"looks": (1, 2)}
    test = judged(Tally(200, 400), Tally(200, 400), n=800, **looks)
    assert test.needed is not None
    _, at_zero = test.needed.judgments
    error = MARGIN / (norm.isf(ALPHA) + norm.isf(0.1))
    expected = 2 * 2 * 0.25 / error**2
    assert at_zero is not None
    assert 0.97 * expected < at_zero < (1.03 if planned == 1 else 1.15) * expected


def test_items_are_asked_for_in_both_roles() -> None:
    """Where groups have enough items but few of them were better, half of them in each role."""
    margin, alpha = 0.05, 0.05
    needed = items_to_see(margin, alpha)
    alone = compare_rates(Tally(50_000, 100_000), Tally(50_000, 100_000), null="")
    few = replace(alone, smallest_group=needed, smallest_role=math.ceil(needed / 2) - 1)
    (test,) = judge([few], alpha=alpha, margin=margin, n=10**5, n_items=1000)
    assert test.finding != WITHIN
    assert f"unless {math.ceil(needed / 2):,} better and as many worse ones are seen" in test.reason
    enough = replace(few, smallest_role=math.ceil(needed / 2))
    assert judge([enough], alpha=alpha, margin=margin, n=10**5, n_items=1000)[0].finding == WITHIN


@pytest.mark.parametrize("planned", [2, 3])
def test_every_look_before_the_last_leaves_some_of_the_level_to_later_ones(planned: int) -> None:
    tallies = Tally(400, 1000), Tally(350, 1000)
    levels = [judged(*tallies, looks=(look, planned)).level for look in range(1, planned + 1)]
    assert judged(*tallies).level == pytest.approx(1 - ALPHA)
    assert all(level > 1 - ALPHA + 1e-4 for level in levels)
