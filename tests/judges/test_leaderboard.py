"""The leaderboard of answerers, against counts by hand and choix."""

from __future__ import annotations

from collections import Counter

import choix
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t
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


def test_ties_are_those_of_davidson() -> None:
    """Of two answerers his scores differ by the logarithm of their wins, whatever the ties."""
    words = ["m"] * 320 + ["n"] * 80 + ["tie"] * 400
    rows = [
        {"prompt": f"p{k}", "winner": word}
        | ({"left": "m", "right": "n"} if k % 2 else {"left": "n", "right": "m"})
        for k, word in enumerate(words)
    ]
    audit = audit_judges(rows)
    best, last = audit.leaderboard
    # Half a win for a tie would make it log(520 / 280) = 0.62. Ours has a weak prior.
    assert best.score - last.score == pytest.approx(np.log(320 / 80), rel=0.03)
    assert "ties after Davidson" in str(audit)


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


def test_a_judge_with_most_judgments_is_no_sample_of_judges() -> None:
    """A program judges beside 40 people: its judgments go together by prompt only."""
    rng = np.random.default_rng(3)
    lean = np.r_[rng.normal(0, 0.8, 40), 0.5]
    judge = np.r_[np.repeat(np.arange(40), 30), np.full(1200, 40)]
    prompt = rng.integers(0, 60, 2400)
    won = rng.random(2400) < expit(0.4 + lean[judge])
    rows = [
        {"better": "m" if w else "n", "worse": "n" if w else "m", "judge": f"j{j}", "prompt": p}
        | {"row": k}
        for k, (w, j, p) in enumerate(zip(won, judge, prompt.astype(str), strict=True))
    ]
    one = next(one for one in audit_judges(rows).leaderboard if one.answerer == "m")
    groups = np.column_stack([prompt, np.where(judge < 40, judge, 40 + prompt)])
    fitted = GLM(won * 1.0, np.ones(2400), family=Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    half = (one.interval.high - one.interval.low) / 2 / one.score
    assert half == pytest.approx(1.96 * fitted.bse[0] / fitted.params[0], rel=0.08)


def test_answers_that_go_by_their_texts_are_not_ranked() -> None:
    rows = [
        {"prompt": f"p{k}", "chosen": f"good {k}", "rejected": "no" if k < 3 else f"bad {k}"}
        | {"score_chosen": 1.0 - k % 2, "score_rejected": 0.5}
        for k in range(12)
    ]
    assert audit_judges(rows).leaderboard == ()


def duels(prompts: list[int], won: list[int]) -> list[dict[str, object]]:
    """Make a log of two answerers, the first of whom won or lost."""
    return [
        {"question_id": p, "model_a": "m", "model_b": "n", "judge": "j", "turn": 1, "row": k}
        | {"winner": "model_a" if w else "model_b"}
        for k, (p, w) in enumerate(zip(prompts, won, strict=True))
    ]


def test_a_prompt_with_most_judgments_does_not_make_scores_certain() -> None:
    # One prompt of 30 has 600 judgments, the others three; prompts differ, and m is as good as n.
    rng = np.random.default_rng(6)
    prompts = [0] * 600 + [k for k in range(1, 30) for _ in range(3)]
    covered = []
    for _ in range(40):
        chance = expit(rng.normal(0, 1.5, 30))[prompts]
        board = audit_judges(duels(prompts, list(rng.random(len(prompts)) < chance))).leaderboard
        covered += [one.interval.low <= 0 <= one.interval.high for one in board]
        assert all(
            one.ranks == (1, 2) for one in board if one.interval.low <= 0 <= one.interval.high
        )
    assert np.mean(covered) >= 0.9


def test_leaving_out_a_large_prompt_is_part_of_the_error() -> None:
    """Two answerers: the score is half the logit of a rate, and its error that of the jackknife."""
    rng = np.random.default_rng(7)
    prompts = [0] * 60 + [k for k in range(1, 31) for _ in range(8)]
    won = rng.random(len(prompts)) < expit(0.5 + rng.normal(0, 1, 31))[prompts]
    (one, _) = audit_judges(duels(prompts, list(won))).leaderboard
    hits = np.array([won[np.array(prompts) == k].sum() for k in range(31)])
    trials = np.bincount(prompts)
    rate, n = hits.sum() / trials.sum(), trials.sum()
    left = (hits.sum() - hits) / (n - trials)
    error = np.sqrt(30 / 31 * np.sum((left - rate) ** 2)) / (2 * rate * (1 - rate))
    freedom = n**2 / np.sum(trials**2) - 1
    half = (one.interval.high - one.interval.low) / 2
    # The prior of scores draws them, and their errors, a little to zero.
    assert half == pytest.approx(t.isf(0.025, freedom) * error, rel=0.07)


def test_judgments_of_one_prompt_give_no_interval_and_any_rank() -> None:
    audit = audit_judges(duels([1] * 20, [1] * 15 + [0] * 5))
    for one in audit.leaderboard:
        assert np.isnan(one.interval[:2]).all()
        assert one.ranks == (1, 2)
    rows = votes(np.random.default_rng(2), 80, 0)
    late = [row | {"model_b": "late", "winner": "model_a"} for row in rows[:1] for _ in range(9)]
    late = [row | {"turn": k} for k, row in enumerate(late, 1)]
    board = {one.answerer: one for one in audit_judges([*rows, *late]).leaderboard}
    assert np.isnan(board["late"].interval[:2]).all()
    assert board["late"].ranks == (1, 4)
    assert not np.isnan(board["a"].interval[:2]).any()


def test_whoever_never_loses_is_named_and_so_are_parts_that_never_met() -> None:
    rows = votes(np.random.default_rng(2), 40, 0)
    best = [row | {"model_b": "best", "winner": "model_b"} for row in rows[:30]]
    (note,) = (one for one in audit_judges([*rows, *best]).notes if "prior" in one)
    assert "(best)" in note
    other = [row | {"model_a": "x", "model_b": "y"} for row in rows[:30]]
    assert "in 2 parts" in " ".join(audit_judges([*rows, *other]).notes)
    assert "prior" not in " ".join(audit_judges(rows).notes)
