"""Lists of pairs keep what they promise: balance, sides, repeats, probabilities, continuation."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from comparity import choose_pairs
from comparity.errors import ComparityError, OptionError
from comparity.pairs import draw
from comparity.pairs.result import ChosenPairs
from comparity.pairs.strata import kinds_of

GROUPS = np.array(["f", "m"] * 30)


def choose(**choices: Any) -> ChosenPairs:
    return choose_pairs(60, **{"sensitive_features": GROUPS, "seed": 5, "judges": 6, **choices})


def answer(pairs: ChosenPairs, scores: np.ndarray, seed: int = 0) -> np.ndarray:
    """Let Bradley-Terry judges answer; the better item first."""
    left, right = pairs.left.astype(int), pairs.right.astype(int)
    chance = 1 / (1 + np.exp(scores[right] - scores[left]))
    wins = np.random.default_rng(seed).random(len(left)) < chance
    return np.where(wins[:, None], np.column_stack([left, right]), np.column_stack([right, left]))


@pytest.mark.parametrize("goal", ["gap", "rank", "lean"])
def test_every_judge_gets_the_same_work(goal: str) -> None:
    pairs = choose(goal=goal, budget=480)
    assert set(Counter(pairs.judge.tolist()).values()) == {80}
    kinds = Counter(zip(pairs.judge.tolist(), pairs.stratum.tolist(), strict=True))
    for kind in set(pairs.stratum.tolist()):
        # Repeats are drawn from all kinds, which moves a count by a few.
        assert np.ptp([kinds[judge, kind] for judge in set(pairs.judge.tolist())]) <= 8


def test_groups_stand_on_the_left_equally_often_for_every_judge() -> None:
    pairs = choose(budget=456, hypotheses="across", swapped_share=0)
    left = GROUPS[pairs.left.astype(int)]
    for judge in set(pairs.judge.tolist()):
        assert abs((left[pairs.judge == judge] == "f").sum() - 38) <= 1


def test_swapped_pairs_come_back_to_the_same_judge_later_the_other_way_round() -> None:
    pairs = choose(budget=480, swapped_share=0.1)
    rows = pairs.rows()
    again = [place for place, row in enumerate(rows) if row["swapped"]]
    assert len(again) == 48
    for place in again:
        row = rows[place]
        first = next(
            k
            for k, one in enumerate(rows)
            if (one["judge"], one["left"], one["right"])
            == (row["judge"], row["right"], row["left"])
        )
        assert first < place


def test_tests_of_gaps_across_groups_ask_for_no_other_pairs() -> None:
    pairs = choose(budget=300, hypotheses="across")
    assert (GROUPS[pairs.left.astype(int)] != GROUPS[pairs.right.astype(int)]).all()


def test_first_pairs_for_a_ranking_connect_all_items_evenly() -> None:
    pairs = choose(goal="rank", budget=60, swapped_share=0)
    left, right = pairs.left.astype(int), pairs.right.astype(int)
    graph = coo_array((np.ones(60), (left, right)), shape=(60, 60))
    assert connected_components(graph, directed=False)[0] == 1
    assert set(np.bincount(np.concatenate([left, right])).tolist()) == {2}


def test_a_study_in_two_parts_is_joined() -> None:
    halves = np.array([[i, i + 1] for i in range(0, 29)] + [[i, i + 1] for i in range(30, 59)])
    pairs = choose(goal="rank", budget=40, swapped_share=0, given=np.vstack([halves, halves]))
    both = np.vstack([halves, np.column_stack([pairs.left, pairs.right]).astype(int)])
    graph = coo_array((np.ones(len(both)), both.T), shape=(60, 60))
    assert connected_components(graph, directed=False)[0] == 1


def test_with_answers_a_fifth_stays_random_and_chosen_pairs_are_closer() -> None:
    scores = np.linspace(-3, 3, 60)
    first = choose(goal="rank", budget=600, swapped_share=0)
    pairs = choose(goal="rank", budget=600, swapped_share=0, given=answer(first, scores))
    distance = np.abs(scores[pairs.left.astype(int)] - scores[pairs.right.astype(int)])
    chosen = pairs.how == "chosen"
    # Three binomial standard errors about a fifth.
    assert abs((~chosen).mean() - 0.2) < 3 * np.sqrt(0.16 / 600)
    # Two items drawn evenly from a line are a third of its length apart.
    assert distance[~chosen].mean() == pytest.approx(2, abs=3 * np.sqrt(2) / np.sqrt(120))
    assert distance[chosen].mean() < 1.2


@pytest.mark.parametrize(("n_answers", "how"), [(59, {"random"}), (60, {"random", "chosen"})])
def test_pairs_are_chosen_once_items_were_judged_twice_on_average(
    n_answers: int, how: set[str]
) -> None:
    """A circle through all items has as many pairs as items; a path has one less."""
    circle = np.column_stack([np.arange(60), (np.arange(60) + 1) % 60])
    pairs = choose(goal="rank", budget=300, swapped_share=0, given=circle[:n_answers])
    assert set(pairs.how.tolist()) == how


def test_inverse_probabilities_undo_the_choice() -> None:
    """Over 200 lists, the weighted share of close pairs is that among all pairs."""
    n = 30
    scores, errors = np.linspace(-2, 2, n), np.full(n, 0.5)
    items = np.arange(n)
    kinds = kinds_of(np.zeros(n, np.int64), ["items"], "all")
    close = np.abs(scores[:, None] - scores) < 0.5
    truth = close[np.triu_indices(n, 1)].mean()
    found, plain = [], []
    for seed in range(200):
        drawn = draw.informative_pairs(
            kinds,
            60,
            scores=scores,
            errors=errors,
            random_share=0.2,
            rng=np.random.default_rng(seed),
        )
        is_close = close[drawn.first, drawn.second]
        found.append((is_close / drawn.probability).mean() / (len(items) * (n - 1) / 2))
        plain.append(is_close.mean())
    error = np.std(found) / np.sqrt(200)
    assert np.mean(found) == pytest.approx(truth, abs=3.3 * error)
    assert np.mean(plain) > truth + 0.2


def test_a_pool_smaller_than_all_pairs_keeps_the_probabilities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(draw, "POOL", 50)
    test_inverse_probabilities_undo_the_choice()


def test_a_continued_gap_study_fills_what_is_missing() -> None:
    """100 pairs of f and f are there, and shares of 1/4, 1/2, 1/4 are wanted of 400 in all."""
    women = np.flatnonzero(GROUPS == "f")
    rng = np.random.default_rng(1)
    given = np.array([rng.choice(women, 2, replace=False) for _ in range(100)])
    pairs = choose(budget=300, swapped_share=0, given=given)
    assert [(kind.given, kind.asked) for kind in pairs.kinds] == [(100, 0), (0, 200), (0, 100)]


def test_more_pairs_are_asked_of_the_kind_whose_agreement_varies_more() -> None:
    first = choose(budget=1200, swapped_share=0)
    scores = np.random.default_rng(2).normal(size=60)
    left, right = first.left.astype(int), first.right.astype(int)
    given = np.where(
        (scores[left] > scores[right])[:, None], np.c_[left, right], np.c_[right, left]
    )
    men = (GROUPS[left] == "m") & (GROUPS[right] == "m")
    coin = np.random.default_rng(3).random(len(given)) < 0.5
    given[men & coin] = given[men & coin][:, ::-1]
    pairs = choose(budget=600, swapped_share=0, given=given, scores=scores)
    asked = {kind.name: kind.asked for kind in pairs.kinds}
    # Elsewhere score and judges agree always, so that nothing is to be learned there.
    assert asked == {"f and f": 0, "f and m": 0, "m and m": 600}


def test_judges_of_earlier_answers_go_on_and_see_no_pair_twice() -> None:
    first = choose(budget=240, judges=4, swapped_share=0)
    given = answer(first, np.zeros(60))
    pairs = choose(
        budget=120, judges=5, swapped_share=0, given=given, evaluators=first.judge.astype(str)
    )
    assert sorted(set(pairs.judge.tolist())) == [f"judge {k}" for k in range(1, 6)]
    keys = [
        Counter(
            (who, *sorted((int(i), int(j))))
            for who, i, j in zip(one.judge, one.left, one.right, strict=True)
        )
        for one in (first, pairs)
    ]
    assert max((keys[0] + keys[1]).values()) == 1


def test_the_same_seed_gives_the_same_list() -> None:
    one, two, three = choose(budget=100), choose(budget=100), choose(budget=100, seed=6)
    assert one.rows() == two.rows() != three.rows()


def test_a_list_survives_json() -> None:
    pairs = choose(budget=50)
    again = ChosenPairs.from_dict(pairs.to_dict())
    assert again.rows() == pairs.rows()
    assert again.kinds == pairs.kinds


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sensitive_features": None}, "is about groups"),
        ({"budget": 10**6}, "at most 10,620"),
        ({"goal": "rank", "hypotheses": "across"}, "only a test of gaps"),
        ({"random_share": 0.1}, "0.2"),
        ({"given": [[0, 1]], "evaluators": ["ann"], "judges": 0}, "judges"),
        ({"given": [[0, 1], [1, 2]], "evaluators": ["ann", "bob"], "judges": 1}, "2 have judged"),
    ],
)
def test_what_cannot_be_had_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        choose(**{"budget": 60, **wrong})


def test_one_item_has_no_pair() -> None:
    with pytest.raises(ComparityError, match="two"):
        choose_pairs(1, goal="rank", budget=1)
