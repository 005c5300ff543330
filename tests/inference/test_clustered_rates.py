"""Rates of unequal clusters: leaving out by hand, and coverage where one cluster dominates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t

from comparity.inference.clustered_rates import (
    degrees_of_freedom,
    effective_clusters,
    effective_trials,
    gap_interval,
    wilson,
)

HITS, TRIALS = np.array([3, 1, 0, 9]), np.array([4, 2, 2, 10])


def test_clusters_of_unequal_sizes_are_worth_fewer_equal_ones() -> None:
    # By hand: 18 squared over 16 + 4 + 4 + 100.
    assert effective_clusters(TRIALS) == pytest.approx(324 / 124)
    assert degrees_of_freedom(TRIALS) == pytest.approx(324 / 124 - 1)
    assert degrees_of_freedom(np.array([1000, 1, 1])) == 1


def test_trials_are_worth_what_leaving_out_clusters_says() -> None:
    left = [np.delete(HITS, k).sum() / np.delete(TRIALS, k).sum() for k in range(4)]
    rate = 13 / 18
    variance = 3 / 4 * sum((one - rate) ** 2 for one in left)
    assert effective_trials(HITS, TRIALS) == pytest.approx(rate * (1 - rate) / variance)


def test_the_interval_of_a_gap_leaves_out_clusters_and_adds_two_that_differ() -> None:
    other, others = np.array([1, 2, 1, 2]), np.array([2, 4, 2, 10])
    found = gap_interval((HITS, TRIALS), (other, others), 0.95)
    gap = 13 / 18 - 6 / 18
    left = [
        np.delete(HITS, k).sum() / np.delete(TRIALS, k).sum()
        - np.delete(other, k).sum() / np.delete(others, k).sum()
        for k in range(4)
    ]
    # Of four clusters three have two rates that differ: 3/4 and 1/2, 0 and 1/2, 9/10 and 1/5.
    error = math.sqrt(3 / 4 * sum((one - gap) ** 2 for one in left) * (1 + 2 / 3))
    half = t.isf(0.025, 324 / 124 - 1) * error
    assert found is not None
    assert found[:2] == pytest.approx((max(gap - half, -1), min(gap + half, 1)))


@pytest.mark.parametrize("hits", [np.zeros(12, dtype=int), np.ones(12, dtype=int)])
def test_where_nothing_changed_a_gap_is_still_uncertain(hits: np.ndarray) -> None:
    trials = np.ones(12, dtype=int)
    same = gap_interval((hits, trials), (hits, trials), 0.95)
    assert same is not None
    # Three changes in twelve happen to nobody in 0.03 of samples of twelve: 0.75 ** 12.
    assert same.low < -0.2 < 0.2 < same.high
    turned = gap_interval((hits, trials), (1 - hits, trials), 0.95)
    assert turned is not None
    assert turned.high - turned.low > 0.2


def test_a_rate_of_one_cluster_has_no_gap() -> None:
    trials = np.array([5, 0, 0])
    assert gap_interval((trials, trials), (np.array([1, 1, 1]), np.array([2, 2, 2])), 0.95) is None


def test_a_cluster_with_most_trials_does_not_make_a_rate_certain() -> None:
    rng = np.random.default_rng(4)
    # One prompt of forty has 800 judgments, the others two; half of all such prompts are won.
    trials = np.full(40, 2)
    trials[0] = 800
    covered, before = [], []
    for _ in range(300):
        hits = rng.binomial(trials, expit(rng.standard_t(2, 40)))
        rate, worth = hits.sum() / trials.sum(), effective_trials(hits, trials)
        found = wilson(rate, worth, degrees_of_freedom(trials), 0.95)
        covered.append(found.low <= 0.5 <= found.high)
        # As residuals and their number alone would have it.
        squares = float(np.sum((hits - rate * trials) ** 2)) * 40 / 39
        naive = wilson(rate, rate * (1 - rate) * trials.sum() ** 2 / squares, 39.0, 0.95)
        before.append(naive.low <= 0.5 <= naive.high)
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 300)
    assert np.mean(before) < 0.5
