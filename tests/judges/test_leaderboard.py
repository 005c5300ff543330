"""The leaderboard of answerers, against counts by hand and choix."""

from __future__ import annotations

from collections import Counter

import choix
import numpy as np
import pytest

from comparity import audit_judges
from tests.judges.test_corrected import votes


def test_scores_are_those_of_choix_and_wins_those_counted_by_hand() -> None:
    decided = [row for row in votes(np.random.default_rng(2), 80, 0) if row["winner"] != "tie"]
    board = {one.answerer: one for one in audit_judges(decided).leaderboard}
    won: Counter[tuple[str, str]] = Counter()
    for row in decided:
        first, second = row["model_a"], row["model_b"]
        won[(first, second) if row["winner"] == "model_a" else (second, first)] += 1
    names = sorted(board)
    pairs = [
        (names.index(one), names.index(two)) for (one, two), n in won.items() for _ in range(n)
    ]
    # The prior of ours is weak beside 80 prompts.
    expected = choix.ilsr_pairwise(3, pairs)
    assert [board[name].score for name in names] == pytest.approx(expected, abs=0.05)
    for name, one in board.items():
        for rival, share in one.against.items():
            hits = won[name, rival]
            assert (share.hits, share.trials) == (hits, hits + won[rival, name])
        assert one.ranks[0] <= 1 + sum(two.score > one.score for two in board.values())
        assert one.interval.low < one.score < one.interval.high


def test_400_points_of_elo_are_ten_wins_to_one() -> None:
    board = audit_judges(votes(np.random.default_rng(2), 80, 0)).leaderboard
    one, two = board[0], board[-1]
    odds = np.exp(one.score - two.score)
    assert 10 ** ((one.elo - two.elo) / 400) == pytest.approx(odds)


def test_errors_know_that_judgments_of_one_prompt_go_together() -> None:
    """The same votes given five times, under one prompt, tell no more than once."""
    rows = votes(np.random.default_rng(5), 60, 0)
    again = [{**row, "turn": turn} for row in rows for turn in range(1, 6)]
    once, often = (audit_judges(one).leaderboard[0].interval for one in (rows, again))
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.15)
