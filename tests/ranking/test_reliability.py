"""Reliability of rankings against their definitions and against the truth of simulated panels."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from comparity import bradley_terry, ranking_reliability
from comparity.ranking.reliability import RankingReliability


def panel(
    seed: int, *, items: int = 30, judges: int = 10, each: int = 60, spread: float = 1.5
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return judgments of a Bradley-Terry panel, who judged, and the true scores."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, spread, items)
    first = rng.integers(items, size=judges * each)
    second = (first + rng.integers(1, items, size=len(first))) % items
    wins = rng.random(len(first)) < 1 / (1 + np.exp(truth[second] - truth[first]))
    pairs = np.where(wins[:, None], np.c_[first, second], np.c_[second, first])
    return pairs, np.repeat(np.arange(judges), each), truth


def agreement_by_hand(pairs: NDArray[np.int64], judge: NDArray[np.int64], *, same: bool) -> float:
    """Go through every two judgments of one pair."""
    rates: dict[frozenset[int], list[bool]] = {}
    rows = list(zip(pairs.tolist(), judge.tolist(), strict=True))
    for (one, by), (two, other) in combinations(rows, 2):
        if set(one) == set(two) and (by == other) == same:
            rates.setdefault(frozenset(one), []).append(one == two)
    return float(np.mean([np.mean(found) for found in rates.values()]))


@pytest.mark.parametrize("same", [False, True])
def test_agreement_is_that_of_all_pairs_of_judgments(same: bool) -> None:
    pairs, judge, _ = panel(1, items=6, judges=5, each=12)
    found = ranking_reliability(pairs, evaluators=judge, splits=1)
    told = found.consistency if same else found.agreement
    assert told.value == pytest.approx(agreement_by_hand(pairs, judge, same=same), abs=1e-12)


@pytest.mark.long
def test_separation_is_the_squared_correlation_with_the_truth() -> None:
    """Over 60 panels; the mean of both within three standard errors of their difference."""
    told, true = [], []
    for seed in range(60):
        pairs, _, truth = panel(seed)
        found = ranking_reliability(pairs, splits=1)
        told.append(found.separation.value)
        true.append(np.corrcoef(bradley_terry(pairs, n_items=30).scores, truth)[0, 1] ** 2)
    difference = np.array(told) - true
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(60) + 0.01


@pytest.mark.long
def test_split_half_is_the_correlation_of_two_whole_panels() -> None:
    """Two panels of the same items, beside the reliability that either of them tells."""
    told, true = [], []
    for seed in range(25):
        pairs, judge, _ = panel(seed, judges=20)
        first = judge < 10
        scores = [bradley_terry(pairs[half], n_items=30).scores for half in (first, ~first)]
        true.append(np.corrcoef(*scores)[0, 1])
        told.append(ranking_reliability(pairs[first], splits=5).split_half.value)
    difference = np.array(told) - true
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(25) + 0.01


def test_random_answers_have_no_reliability() -> None:
    pairs, judge, _ = panel(2, spread=0.0)
    found = ranking_reliability(pairs, evaluators=judge, splits=2)
    assert abs(found.split_half.value) < 0.5 or np.isnan(found.split_half.value)
    # Of two coins half are alike; 600 judgments of 435 pairs leave some 200 comparisons.
    assert found.agreement.value == pytest.approx(0.5, abs=3.3 * 0.5 / np.sqrt(150))


def test_few_judges_leave_no_interval_and_none_no_agreement() -> None:
    pairs, judge, _ = panel(3, judges=4)
    assert np.isnan(ranking_reliability(pairs, evaluators=judge).split_half.interval.low)
    unnamed = ranking_reliability(pairs)
    assert np.isnan(unnamed.agreement.value)
    assert unnamed.split_half.value > 0.5


def test_it_survives_json() -> None:
    pairs, judge, _ = panel(4)
    found = ranking_reliability(pairs, evaluators=judge, splits=2)
    again = RankingReliability.from_dict(found.to_dict())
    assert again.rows() == found.rows()


def test_its_picture_has_ticks_from_zero_to_one() -> None:
    pairs, judge, _ = panel(4)
    axis = ranking_reliability(pairs, evaluators=judge, splits=2).section().charts[0].axis
    assert [tick.at for tick in axis.ticks] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert (axis.low, axis.high) == (0, 1)


def test_camps_that_contradict_each_other_have_an_interval_all_the_same() -> None:
    """Any half has a majority of one camp, so that halves correlate by minus one."""
    order = np.array(list(combinations(range(6), 2)))
    pairs = np.concatenate([order if judge % 2 else order[:, ::-1] for judge in range(10)])
    found = ranking_reliability(pairs, evaluators=np.repeat(np.arange(10), len(order)), splits=3)
    assert found.split_half.value == -1
    assert found.split_half.interval[:2] == pytest.approx((-1, -1), abs=1e-8)


@pytest.mark.parametrize(("judges", "halved"), [(1, "the judgments"), (2, "judges")])
def test_one_judge_has_no_half_and_judgments_are_halved(judges: int, halved: str) -> None:
    pairs, judge, _ = panel(4, items=6, judges=judges, each=60)
    found = ranking_reliability(pairs, evaluators=judge, splits=1)
    assert found.split_half.about.endswith(f"from halves of {halved}")
