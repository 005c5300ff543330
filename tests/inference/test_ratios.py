"""Limits of ratios of two rates, against statsmodels and all tables listed."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    score_test_proportions_2indep,
)

from comparity.counts.pairs import Tally
from comparity.inference.ratios import impact_ratio, ratio_limits, ratio_score

TABLES = [
    (30, 100, 50, 100),
    (3, 20, 12, 40),
    (1, 30, 29, 300),
    (19, 20, 10, 12),
    (7, 9, 900, 1100),
]


@pytest.mark.parametrize("table", TABLES)
def test_limits_without_a_correction_are_those_of_statsmodels(table: tuple[int, ...]) -> None:
    first, second = Tally(*table[:2]), Tally(*table[2:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = confint_proportions_2indep(*table, compare="ratio", method="score", alpha=0.05)
        score = score_test_proportions_2indep(*table, value=0.8, compare="ratio").statistic
    assert_allclose(ratio_limits(first, second, 0.025, continuity=False), theirs, rtol=1e-6)
    assert_allclose(ratio_score(first, second, 0.8, continuity=False), score, rtol=1e-9)
    low, high = ratio_limits(first, second, 0.025)
    assert low < theirs[0]
    assert high > theirs[1]


def test_nobody_or_everybody_selected() -> None:
    assert ratio_limits(Tally(0, 20), Tally(5, 20), 0.025)[0] == 0
    assert ratio_limits(Tally(5, 20), Tally(0, 20), 0.025)[1] == math.inf
    assert ratio_limits(Tally(0, 20), Tally(0, 20), 0.025) == (0, math.inf)
    low, high = ratio_limits(Tally(20, 20), Tally(20, 20), 0.025)
    assert_allclose(low * high, 1)
    assert low < 0.84


def misses(n: int, m: int, *, continuity: bool) -> float:
    """Return the largest probability, over rates, that one of the limits misses the ratio."""
    limits = np.array(
        [
            [
                ratio_limits(Tally(x, n), Tally(y, m), 0.025, continuity=continuity)
                for y in range(m + 1)
            ]
            for x in range(n + 1)
        ]
    )
    worst = 0.0
    for p in np.linspace(0.02, 0.98, 9):
        for q in np.linspace(0.02, 0.98, 9):
            chance = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
            beyond = limits[..., 0] > p / q * (1 + 1e-9), limits[..., 1] < p / q * (1 - 1e-9)
            worst = max(worst, *(float(chance[side].sum()) for side in beyond))
    return worst


@pytest.mark.parametrize(("n", "m"), [(10, 10), (10, 40), (20, 20), (30, 50)])
def test_limits_of_few_counts_seldom_miss(n: int, m: int) -> None:
    # What the docstring says of all sizes listed; without the correction it is not kept.
    assert misses(n, m, continuity=True) < 0.037
    assert misses(n, m, continuity=False) > 0.045


def test_an_impact_ratio_is_the_smallest_ratio_with_its_limits() -> None:
    own, others = Tally(27, 100), [Tally(40, 120), Tally(30, 60), Tally(10, 80)]
    value, interval = impact_ratio(own, others, 0.95)
    assert value == pytest.approx(0.27 / 0.5)
    low = min(ratio_limits(own, one, 0.025)[0] for one in others)
    high = min(ratio_limits(own, one, 0.025 / 3)[1] for one in others)
    assert_allclose(interval[:2], (low, high))
    best, ends = impact_ratio(Tally(50, 60), others, 0.95)
    assert (best, ends.high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("rates", "sizes"),
    [
        ((0.3, 0.3, 0.3, 0.3), (40, 40, 40, 40)),
        ((0.24, 0.3, 0.3), (30, 200, 60)),
        ((0.5, 0.9, 0.85, 0.2), (20, 25, 400, 15)),
        ((0.02, 0.03), (150, 300)),
    ],
)
def test_intervals_hold_the_ratio_in_their_level(
    rates: tuple[float, ...], sizes: tuple[int, ...]
) -> None:
    rng, runs = np.random.default_rng(20260131), 400
    held = 0
    for _ in range(runs):
        tallies = [Tally(int(rng.binomial(n, p)), n) for n, p in zip(sizes, rates, strict=True)]
        _, interval = impact_ratio(tallies[0], tallies[1:], 0.95)
        held += interval.low <= rates[0] / max(rates) <= interval.high
    assert held >= 0.95 * runs - 3 * (runs * 0.05 * 0.95) ** 0.5
