"""Ranks that items can have, and ratios: loops over all pairs, and the equation of Fieller."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from comparity.ranking import intervals
from comparity.ranking.intervals import rank_intervals, ratio_intervals

LEVEL = 0.9
RNG = np.random.default_rng(4)
SCORES, ERRORS = RNG.normal(0, 2, 12), RNG.uniform(0.1, 0.6, 12)
CUT = norm.isf((1 - LEVEL ** (1 / 11)) / 2)


def counted(is_above: np.ndarray) -> np.ndarray:
    """Return the ranks from who is certainly above whom."""
    return np.column_stack([is_above.sum(axis=0) + 1, 12 - is_above.sum(axis=1)])


@pytest.mark.parametrize("shared", [None, RNG.normal(0, 0.05, (12, 2))], ids=["own", "shared"])
def test_an_item_is_below_those_that_lead_by_more_than_the_error_of_the_gap(
    shared: np.ndarray | None,
) -> None:
    above = np.zeros((12, 12), dtype=bool)
    for i in range(12):
        for j in range(12):
            in_common = np.zeros((12, 1)) if shared is None else shared
            own = ERRORS**2 - np.sum(in_common**2, axis=1)
            # About the mean of twelve scores; what is shared is no chance of single items.
            square = 12 / 11 * (own[i] + own[j]) + np.sum((in_common[i] - in_common[j]) ** 2)
            above[i, j] = SCORES[i] - SCORES[j] > CUT * np.sqrt(square)
    assert above.sum() > 20
    assert (rank_intervals(SCORES, ERRORS, LEVEL, shared) == counted(above)).all()


def test_of_many_items_one_is_above_another_where_their_intervals_do_not_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intervals, "EXACT_RANKS", 11)
    low, high = SCORES - CUT * ERRORS, SCORES + CUT * ERRORS
    above = low[:, None] > high
    assert above.sum() > 15
    assert (rank_intervals(SCORES, ERRORS, LEVEL) == counted(above)).all()
    monkeypatch.setattr(intervals, "EXACT_RANKS", 12)
    assert (rank_intervals(SCORES, ERRORS, LEVEL) != counted(above)).any()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_scores_about_their_mean_are_rarely_ranked_by_chance(n: int) -> None:
    rng = np.random.default_rng(n)
    false, runs = 0, 4000
    for _ in range(runs):
        drawn = rng.normal(size=n)
        # The error of each about the mean of all.
        ranks = rank_intervals(drawn - drawn.mean(), np.full(n, np.sqrt(1 - 1 / n)), 0.95)
        false += ranks[0].tolist() != [1, n]
    assert false / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_an_item_without_an_error_may_have_any_rank() -> None:
    found = rank_intervals(np.array([9.0, 0.0, -9.0]), np.array([0.1, np.nan, 0.1]), LEVEL)
    assert found.tolist() == [[1, 2], [1, 3], [2, 3]]
    assert rank_intervals(np.zeros(2), np.full(2, np.nan), LEVEL).tolist() == [[1, 2], [1, 2]]


def test_the_ends_of_a_ratio_solve_fiellers_equation() -> None:
    values, errors = np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.3, 0.4])
    covariances, variances = np.array([0.01, -0.02, 0.0]), np.array([0.02, 0.1, 9.0])
    found = ratio_intervals(values, errors, covariances, variances, 0.95)
    assert found[2].tolist() == [-np.inf, np.inf]
    for side in (0, 1):
        d = values[:2] - found[:2, side]
        spread = errors[:2] ** 2 + 2 * d * covariances[:2] + d**2 * variances[:2]
        assert d**2 == pytest.approx(norm.isf(0.025) ** 2 * spread)
    assert (found[:2, 0] < values[:2]).all()
    assert (found[:2, 1] > values[:2]).all()
