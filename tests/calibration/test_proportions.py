"""True false-alarm rates of the tests of two proportions, by enumerating every table.

Nothing is drawn at random: each rate below is exact. The bounds for the z-tests are what the
approximation costs at these sizes, rounded up; they are not a promise made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from comparity.counts import Tally
from comparity.inference.exact import ExactPivot
from comparity.inference.proportions import ScorePivot, compare_rates

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


@pytest.mark.parametrize(
    ("n1", "n2", "worst"),
    [(29, 30, 0.06), (20, 60, 0.052), (29, 400, 0.065), (10, 100, 0.085), (5, 200, 0.09)],
)
def test_the_score_test_with_one_small_group_stays_near_its_level(
    n1: int, n2: int, worst: float
) -> None:
    rates = false_alarms(chosen, n1, n2, 0.05)
    middle = rates[(RATES > 0.2) & (RATES < 0.8)]
    assert rates.max() <= worst
    assert 0.03 <= middle.mean() <= 0.055


def test_the_score_test_of_one_trial_against_many_is_too_eager() -> None:
    """A known weakness of any large-sample test: documented, not hidden."""
    assert 0.1 < false_alarms(chosen, 1, 100, 0.05).max() < 0.15


@pytest.mark.parametrize(
    ("n1", "n2", "worst"), [(30, 30, 0.061), (50, 50, 0.062), (100, 100, 0.056)]
)
def test_the_wald_test_of_equal_large_groups_stays_near_its_level(
    n1: int, n2: int, worst: float
) -> None:
    rates = false_alarms(chosen, n1, n2, 0.05)
    middle = rates[(RATES > 0.2) & (RATES < 0.8)]
    assert rates.max() <= worst
    assert 0.045 <= middle.mean() <= 0.06


def test_the_wald_test_of_unequal_groups_is_too_eager_where_the_score_test_is_not() -> None:
    """A known weakness of the large-sample test at 30 against 200: documented, not hidden."""
    wald = false_alarms(chosen, 30, 200, 0.05)
    score = false_alarms(lambda i, j: ScorePivot(i, j).p_value(0.0), 30, 200, 0.05)
    assert 0.07 < wald.max() < 0.09
    assert score.max() < 0.06


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
