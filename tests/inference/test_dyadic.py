"""Reference and properties: the score test of gaps when judged pairs share items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats import proportion

from comparity.counting.sharing import independent_judgments, shared_judgments
from comparity.counts import Cell, JudgedPairs, PairCounts, SharedPairCounts, Tally
from comparity.inference.dyadic import (
    ScoreGap,
    compare_cells,
    rate_covariance,
    rate_interval,
)
from tests.calibration import worlds

FIRST, SECOND = Cell("1", "0"), Cell("0", "1")


def judged(n_items: int, n_pairs: int, seed: int) -> SharedPairCounts:
    rng = np.random.default_rng(seed)
    return worlds.People("f2", n_items, rng).judge(*worlds.random_pairs(n_items, n_pairs, rng))


def fresh(first: Tally, second: Tally) -> PairCounts:
    return PairCounts({FIRST: first, SECOND: second})


def test_without_sharing_the_test_is_the_pooled_score_test_of_statsmodels() -> None:
    counts = fresh(Tally(60, 100), Tally(45, 110))
    ours = compare_cells(independent_judgments(counts), FIRST, SECOND, null="")
    theirs = proportion.test_proportions_2indep(60, 100, 45, 110, method="score", correction=False)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.shared_variance == 0


def test_without_sharing_the_interval_of_a_rate_has_a_closed_form() -> None:
    """(r - p)^2 <= q^2 (r (1 - r) + (r - p)^2) / n gives r +- q sqrt(r (1 - r) / (n - q^2))."""
    sharing = independent_judgments(fresh(Tally(60, 100), Tally(45, 110)))
    low, high, _ = rate_interval(sharing, FIRST, 0.9)
    half = 1.6448536 * np.sqrt(0.6 * 0.4 / (100 - 1.6448536**2))
    assert (low, high) == pytest.approx((0.6 - half, 0.6 + half))


def test_the_interval_holds_the_gaps_that_are_not_rejected() -> None:
    test = compare_cells(shared_judgments(judged(150, 600, 3)), FIRST, SECOND, null="")
    low, high, _ = test.interval(0.9)
    assert test.pivot is not None
    for end in (low, high):
        assert test.pivot.p_value(end) == pytest.approx(0.1, abs=1e-9)
    assert test.pivot.p_value(low - 0.01) < 0.1 < test.pivot.p_value(low + 0.01)


def test_equivalence_is_the_interval_of_twice_the_level_inside_the_margin() -> None:
    test = compare_cells(shared_judgments(judged(150, 600, 3)), FIRST, SECOND, null="")
    low, high, _ = test.interval(0.9)
    edge = max(-low, high)
    assert test.equivalence_p_value(edge + 0.001) < 0.05 < test.equivalence_p_value(edge - 0.001)


@given(st.integers(2, 50), st.floats(0.001, 0.3))
def test_reference_law_of_few_evaluators_is_that_of_normal_parts(g: int, alpha: float) -> None:
    """z = sum / root of squares of g normal parts: z^2 / g has the law Beta(1/2, (g - 1)/2)."""
    pivot = ScoreGap(gap=0.3, variance=(1.0, 0.0, 0.0), n_clusters=g)
    z = pivot._quantile(alpha)
    assert stats.beta.sf(z * z / g, 0.5, (g - 1) / 2) == pytest.approx(alpha, rel=1e-6)
    assert 2 * pivot._tail(z) == pytest.approx(alpha, rel=1e-6)


def test_a_statistic_beyond_what_the_evaluators_allow_has_no_tail() -> None:
    pivot = ScoreGap(gap=0.9, variance=(0.01, 0.0, 0.0), n_clusters=4)
    assert pivot.p_value(0.0) == 0.0
    assert pivot.p_below(0.0) == 1.0


def test_an_interval_that_no_judgment_bounds_is_the_whole_range() -> None:
    pivot = ScoreGap(gap=0.1, variance=(0.1, 0.0, 1.0))
    assert pivot.interval(0.95)[:2] == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (Tally(0, 0), Tally(5, 50), "no judged pair of the kind 1 > 0"),
        (Tally(50, 50), Tally(40, 40), "agrees with every judgment"),
        (Tally(0, 50), Tally(0, 40), "agrees with no judgment"),
        (Tally(2, 4), Tally(20, 40), "only 8 distinct items in pairs 1 > 0"),
    ],
)
def test_what_cannot_be_tested_says_why(first: Tally, second: Tally, reason: str) -> None:
    test = compare_cells(independent_judgments(fresh(first, second)), FIRST, SECOND, null="")
    assert np.isnan(test.p_value)
    assert np.isnan(test.interval(0.95).low)
    assert np.isnan(test.equivalence_p_value(0.05))
    assert reason in test.reason


def test_a_negative_variance_is_replaced_by_a_larger_one() -> None:
    """A chain of pairs whose residuals alternate in sign has negative covariance."""
    n = 40
    pairs = JudgedPairs(
        better=np.arange(n),
        worse=np.arange(1, n + 1),
        evaluator=None,
        cell=np.arange(n) % 2,
        order=np.where(np.arange(n) < 20, -1, 1).astype(np.int8),
        trials=np.ones(n, dtype=np.int64),
        cells=(FIRST, SECOND),
        n_items=n + 1,
    )
    test = compare_cells(shared_judgments(SharedPairCounts(pairs)), FIRST, SECOND, null="")
    assert "negative" in test.reason
    assert test.standard_error > 0


def test_covariance_of_rates_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(5)
    rates, estimates = [], []
    for _ in range(1500):
        people = worlds.People("f3", 300, rng)
        sharing = shared_judgments(people.judge(*worlds.random_pairs(300, 900, rng)))
        rates.append(sharing.hits / sharing.trials)
        estimates.append(np.diag(rate_covariance(sharing)))
    # The relative standard error of a variance over r samples is sqrt(2 / r).
    expected = np.var(rates, axis=0)
    assert np.mean(estimates, axis=0) == pytest.approx(expected, rel=4 * np.sqrt(2 / 1500))


def test_interval_of_a_rate_solves_its_equation() -> None:
    sharing = shared_judgments(judged(150, 600, 3))
    low, high, _ = rate_interval(sharing, FIRST, 0.95)
    code = sharing.cells.index(FIRST)
    n, hits = sharing.trials[code], sharing.hits[code]

    def excess(p: float) -> float:
        weights = np.zeros(8)
        weights[[code, 4 + code]] = -p / n, 1 / n
        return float((hits / n - p) ** 2 - 3.841459 * (weights @ sharing.dependent @ weights))

    assert optimize.brentq(excess, 0.0, hits / n) == pytest.approx(low, abs=1e-6)
    assert optimize.brentq(excess, hits / n, 1.0) == pytest.approx(high, abs=1e-6)
