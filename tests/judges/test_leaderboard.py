"""The leaderboard of answerers, against counts by hand and choix."""

from __future__ import annotations

from collections import Counter

import choix
import numpy as np
import pytest
from scipy.special import expit
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

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


def test_from_thirty_judges_on_errors_know_of_judges_too() -> None:
    rng = np.random.default_rng(3)
    lean = rng.normal(0, 1.5, 40)
    judge, prompt = np.repeat(np.arange(40), 30), rng.integers(0, 60, 1200)
    won = rng.random(1200) < expit(0.4 + lean[judge])
    rows = [
        {"better": "m" if w else "n", "worse": "n" if w else "m", "judge": f"j{j}", "prompt": p}
        for w, j, p in zip(won, judge, prompt.astype(str), strict=True)
    ]
    one = next(one for one in audit_judges(rows).leaderboard if one.answerer == "m")
    groups = np.column_stack([prompt, judge])
    fitted = GLM(won * 1.0, np.ones(1200), family=Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    alone = GLM(won * 1.0, np.ones(1200), family=Binomial()).fit()
    # Two answerers: the prior of scores draws both the score and its error to zero.
    half = (one.interval.high - one.interval.low) / 2 / one.score
    assert half == pytest.approx(1.96 * fitted.bse[0] / fitted.params[0], rel=0.05)
    assert half > 1.5 * 1.96 * alone.bse[0] / alone.params[0]


def test_answers_that_go_by_their_texts_are_not_ranked() -> None:
    rows = [
        {"prompt": f"p{k}", "chosen": f"good {k}", "rejected": "no" if k < 3 else f"bad {k}"}
        | {"score_chosen": 1.0 - k % 2, "score_rejected": 0.5}
        for k in range(12)
    ]
    assert audit_judges(rows).leaderboard == ()
