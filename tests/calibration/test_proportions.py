"""True false-alarm rates of the tests of two proportions, by enumerating every table.

Nothing is drawn at random: each rate below is exact. The bounds for the z-tests are what the
approximation costs at these sizes, rounded up; they are not a promise made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, norm

from comparity.counts.decisions import Tally
from comparity.inference.exact import ExactPivot
from comparity.inference.proportions import ScorePivot, compare_rates, compare_rates_wald

RATES = np.concatenate([[0.001, 0.002, 0.005], np.linspace(0.01, 0.99, 99)])


def false_alarms(
    p_value: Callable[[Tally, Tally], float], n1: int, n2: int, alpha: float, gap: float = 0.0
) -> np.ndarray:
    """Return the probability of a p value of at most alpha at each second rate that is possible."""
    second = RATES[(RATES + gap >= 0) & (RATES + gap <= 1)][:, None]
    rejected = np.array(
        [
            [p_value(Tally(i, n1), Tally(j, n2)) <= alpha for j in range(n2 + 1)]
            for i in range(n1 + 1)
        ],
        dtype=float,
    )
    one, two = np.arange(n1 + 1), np.arange(n2 + 1)
    return ((binom.pmf(one, n1, second + gap) @ rejected) * binom.pmf(two, n2, second)).sum(axis=1)


def chosen(first: Tally, second: Tally) -> float:
    return compare_rates(first, second, null="p = q").p_value


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (3, 3), (5, 9), (12, 20), (28, 4), (21, 21)])
@pytest.mark.parametrize("alpha", [0.05, 0.025])
def test_the_exact_test_never_exceeds_its_level(n1: int, n2: int, alpha: float) -> None:
    assert false_alarms(chosen, n1, n2, alpha).max() <= alpha


@pytest.mark.parametrize("gap", [-0.3, 0.05, 0.5])
@pytest.mark.parametrize("side", ["p_value", "p_below", "p_above"])
def test_the_exact_test_of_any_gap_never_exceeds_its_level(gap: float, side: str) -> None:
    def p_value(first: Tally, second: Tally) -> float:
        return float(getattr(ExactPivot(first, second), side)(gap))

    assert false_alarms(p_value, 7, 11, 0.05, gap).max() <= 0.05


@pytest.mark.parametrize(("true_gap", "margin"), [(0.3, 0.3), (0.45, 0.3), (-0.3, 0.3)])
def test_exact_equivalence_is_claimed_wrongly_at_most_at_its_level(
    true_gap: float, margin: float
) -> None:
    def p_value(first: Tally, second: Tally) -> float:
        return compare_rates(first, second, null="p = q").equivalence_p_value(margin)

    assert false_alarms(p_value, 19, 24, 0.05, true_gap).max() <= 0.05


SIZES = [(1, 100), (1, 1000), (5, 200), (10, 500), (19, 100), (29, 400), (30, 30), (30, 60)]
LARGER = [(30, 1000), (50, 50), (50, 200), (100, 100), (100, 1000), (200, 2000)]


def fast_p_values(n1: int, n2: int) -> np.ndarray:
    """The chosen p value of every table, from the method it names and textbook formulas."""
    i, j = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)[None, :]
    gap, pooled = i / n1 - j / n2, (i + j) / (n1 + n2)
    with np.errstate(all="ignore"):
        wald = gap / np.sqrt(i / n1 * (1 - i / n1) / n1 + j / n2 * (1 - j / n2) / n2)
        error = np.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
        score = gap / error
        corrected = np.maximum(np.abs(gap) - (1 / n1 + 1 / n2) / 2, 0) / error
    rarest = np.minimum(np.minimum(i, n1 - i), np.minimum(j, n2 - j))
    expected = min(n1, n2) * np.minimum(pooled, 1 - pooled)
    z = np.where(expected >= 5, score, corrected)
    if min(n1, n2) >= 30:
        z = np.where(rarest >= 15, wald, z)
    return 2 * norm.sf(np.abs(np.nan_to_num(z)))


@pytest.mark.parametrize(("n1", "n2"), [*SIZES[1:], *LARGER])
def test_the_chosen_test_stays_within_a_seventh_of_its_level(n1: int, n2: int) -> None:
    rejected = (fast_p_values(n1, n2) <= 0.05).astype(float)
    one, two = np.arange(n1 + 1), np.arange(n2 + 1)
    rates = np.concatenate([np.linspace(2e-4, 0.05, 80), np.linspace(0.05, 0.5, 46)])[:, None]
    alarms = ((binom.pmf(one, n1, rates) @ rejected) * binom.pmf(two, n2, rates)).sum(axis=1)
    assert alarms.max() <= 0.05 * (1 + 1 / 7)


@pytest.mark.parametrize(("n1", "n2"), [(1, 1000), (10, 500), (30, 60), (50, 50)])
def test_the_formulas_above_are_those_of_the_library(n1: int, n2: int) -> None:
    p_values = fast_p_values(n1, n2)
    rng = np.random.default_rng(n1)
    for i, j in zip(rng.integers(0, n1 + 1, 60), rng.integers(0, n2 + 1, 60), strict=True):
        ours = chosen(Tally(int(i), n1), Tally(int(j), n2))
        assert ours == pytest.approx(p_values[i, j], abs=1e-9)


def test_one_trial_against_a_hundred_is_tested_exactly() -> None:
    assert false_alarms(chosen, 1, 100, 0.05).max() <= 0.05


def test_without_conditions_both_z_tests_are_too_eager() -> None:
    """What the conditions are for: rare hits and unequal groups."""
    score = false_alarms(lambda i, j: ScorePivot(i, j).p_value(0.0), 10, 100, 0.05)
    wald = false_alarms(lambda i, j: compare_rates_wald(i, j, null="").p_value, 30, 200, 0.05)
    assert min(score.max(), wald.max()) > 0.075


@pytest.mark.slow
def test_exact_intervals_cover_the_gap_at_least_as_often_as_they_say() -> None:
    low, high = np.array(
        [
            [ExactPivot(Tally(i, 9), Tally(j, 13)).interval(0.9)[:2] for j in range(14)]
            for i in range(10)
        ]
    ).transpose(2, 0, 1)
    for gap in (-0.61, -0.1, 0.0, 0.07, 0.33, 0.8):
        second = RATES[(RATES + gap >= 0) & (RATES + gap <= 1)][:, None]
        covered = ((low <= gap) & (gap <= high)).astype(float)
        one, two = np.arange(10), np.arange(14)
        mass = (binom.pmf(one, 9, second + gap) @ covered) * binom.pmf(two, 13, second)
        assert mass.sum(axis=1).min() >= 0.9
