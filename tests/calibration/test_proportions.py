"""True false-alarm rates of the tests of two proportions, by enumerating every table.

Nothing is drawn at random: each rate below is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, norm

from comparity.counts.pairs import Tally
from comparity.inference.proportions import ExactPivot, compare_rates, compare_rates_wald

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


def corrected_score(first: Tally, second: Tally) -> float:
    """The continuity-corrected chi-square test, which is timid where hits are rare."""
    pooled = (first + second).rate
    spread = pooled * (1 - pooled) * (1 / first.trials + 1 / second.trials)
    distance = abs(first.rate - second.rate) - (1 / first.trials + 1 / second.trials) / 2
    return float(2 * norm.sf(max(distance, 0) / np.sqrt(spread))) if spread else 1.0


def rejections(
    p_value: Callable[[Tally, Tally], float], n1: int, n2: int, p: float, q: float
) -> float:
    """Return the probability of a p value of at most 0.05, tables of less than 1e-9 left out."""
    ends = [binom.ppf([1e-9, 1 - 1e-9], *one).astype(int) for one in ((n1, p), (n2, q))]
    one, two = (np.arange(low, high + 1) for low, high in ends)
    rejected = [[p_value(Tally(int(i), n1), Tally(int(j), n2)) <= 0.05 for j in two] for i in one]
    return float(binom.pmf(one, n1, p) @ np.array(rejected, float) @ binom.pmf(two, n2, q))


# Two sizes, the rate of both groups or of the second, another one of the first, and what the exact
# test wins at least. Of 30 against 3,000 at 0.005 no test can win much: 1 hit of 30 is no rarity,
# and two are found by either.
EDGES = [
    (200, 200, 0.02, 0.08, 0.06),
    (200, 200, 0.98, 0.92, 0.06),
    (30, 3000, 0.005, 0.06, 0.0),
    (30, 3000, 0.95, 0.8, 0.06),
    (30, 300, 0.1, 0.01, 0.1),
]


@pytest.mark.parametrize(("n1", "n2", "rate", "other", "won"), EDGES)
def test_at_the_edge_equal_rates_keep_the_level_and_unequal_ones_are_found_more_often(
    n1: int, n2: int, rate: float, other: float, won: float
) -> None:
    alarms, found = (rejections(chosen, n1, n2, first, rate) for first in (rate, other))
    timid = [rejections(corrected_score, n1, n2, first, rate) for first in (rate, other)]
    assert timid[0] < alarms <= 0.05
    assert found > timid[1] + won


# The worst sizes of a z-test from 30 trials, 15 hits and 15 misses on: 0.060 to 0.067.
@pytest.mark.parametrize(("n1", "n2"), [(31, 33), (40, 44), (48, 49)])
def test_groups_of_nearly_one_size_keep_the_level(n1: int, n2: int) -> None:
    assert 0.04 < false_alarms(chosen, n1, n2, 0.05).max() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n1", "n2"), [(5, 300), (10, 500), (29, 400), (30, 160), (70, 71), (50, 200), (120, 120)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.0025])
def test_the_exact_test_of_larger_groups_never_exceeds_its_level(
    n1: int, n2: int, alpha: float
) -> None:
    assert false_alarms(chosen, n1, n2, alpha).max() <= alpha


@pytest.mark.parametrize(("n1", "n2"), [(200, 200), (210, 210), (229, 231), (203, 2030)])
def test_the_z_test_stays_within_a_seventh_of_its_level_where_it_is_used(n1: int, n2: int) -> None:
    i, j = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)
    with np.errstate(all="ignore"):
        variance = i / n1 * (1 - i / n1) / n1 + j / n2 * (1 - j / n2) / n2
        z = np.nan_to_num((i / n1 - j / n2) / np.sqrt(variance))
    # At these rates counts are ample but for less than one table in ten thousand.
    rates = np.linspace(0.4, 0.5, 21)[:, None]
    one, two = binom.pmf(i.ravel(), n1, rates), binom.pmf(j, n2, rates)
    alarms = ((one @ (np.abs(z) >= norm.isf(0.025))) * two).sum(axis=1)
    assert 0.05 < alarms.max() <= 0.05 * (1 + 1 / 7)
    for hits in (100, 90):
        test = compare_rates(Tally(hits, n1), Tally(n2 // 2, n2), null="p = q")
        assert test.p_value == pytest.approx(2 * norm.sf(abs(z[hits, n2 // 2])))


def test_one_trial_against_a_hundred_is_tested_exactly() -> None:
    assert false_alarms(chosen, 1, 100, 0.05).max() <= 0.05


def test_without_conditions_the_z_test_is_too_eager() -> None:
    """What the conditions are for: rare hits and unequal groups."""
    wald = false_alarms(lambda i, j: compare_rates_wald(i, j, null="").p_value, 30, 200, 0.05)
    assert wald.max() > 0.075


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
