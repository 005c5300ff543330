"""Leans in wins: seats from pairs in both orders, tests against a margin, what would decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy.special import expit
from scipy.stats import norm
from statsmodels.discrete.conditional_models import ConditionalLogit

from comparity import audit_judges, check
from comparity.errors import OptionError, PolicyAuditError
from comparity.judges.audit import audit_files
from comparity.judges.leans import find_leans
from comparity.judges.wins import (
    FlipsPivot,
    LeanEstimate,
    LogitPivot,
    WinsPivot,
    estimate_lean,
    seat_leans,
    tell_leans,
)
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from tests.judges.panels import Panel, draw

WORDS = ("length", "longer answers", "that is twice as long")


def lean(logit: float, error: float, prompts: int = 4000) -> LeanEstimate:
    return estimate_lean("j", WORDS, "people", (logit, error), np.arange(prompts, dtype=np.int32))


def test_what_a_seat_is_worth_is_that_of_a_conditional_logit_of_each_pair() -> None:
    panel = Panel(
        **{"prompts": 80, "answers": 3, "pairs": 3, "both_orders": True, "people": 0},
        **{"sharpness": (1.0,), "lean": (0.3,), "seat": (0.7,)},
    )
    log = draw(panel, np.random.default_rng(3))
    (found,) = seat_leans(log)
    # Who of the two was first is all that differs within a pair.
    low = log.first < log.second
    won = np.where(low, log.verdict == 1, log.verdict == -1)
    changed = np.bincount(log.pair, won)[log.pair] == 1
    seat = np.where(low, 1.0, -1.0)[changed]
    fitted = ConditionalLogit(won[changed], seat, groups=log.pair[changed]).fit(disp=False)
    assert found.wins == pytest.approx(float(expit(fitted.params[0])), abs=1e-4)
    # One pair of each prompt would have nearly the same error; three of one depend on each other.
    low_end, high_end = (0.5 + end for end in found.pivot.interval(0.95)[:2])
    ends = expit(fitted.conf_int()[0])
    assert (low_end, high_end) == pytest.approx(tuple(ends), abs=0.03)


@pytest.mark.parametrize(
    "pivot", [LogitPivot(0.3, 0.2, 17.0), FlipsPivot(0.8, 15.0, 12.0), FlipsPivot(1.0, 9.0, 9.0)]
)
def test_an_interval_holds_what_its_test_does_not_reject(pivot: WinsPivot) -> None:
    low, high, _ = pivot.interval(0.9)
    if low > -0.5:
        assert pivot.p_value(low) == pytest.approx(0.1)
        assert pivot.p_above(low) == pytest.approx(0.05)
    if high < 0.5:
        assert pivot.p_value(high) == pytest.approx(0.1)
        assert pivot.p_below(high) == pytest.approx(0.05)
    assert (pivot.p_value(0.0) < 0.1) == (low > 0 or high < 0)


def test_a_lean_is_found_within_the_margin_or_undecided() -> None:
    told = tell_leans([lean(0.02, 0.05), lean(0.8, 0.1), lean(0.1, 0.3)], 0.95, 0.05)
    assert [one.finding for one in told] == [WITHIN, VIOLATED, UNDECIDED]
    assert [one.needed is None for one in told] == [True, True, False]


@pytest.mark.parametrize(("true", "place"), [(0.3, 0), (0.0, 1)])
def test_as_many_prompts_as_are_said_to_decide_do_in_four_of_five_studies(
    true: float, place: int
) -> None:
    now, error = 400, 0.25
    (told,) = tell_leans([lean(0.3, error, now)], 0.95, 0.05)
    assert told.needed is not None
    smaller = error * (now / told.needed[place]) ** 0.5
    drawn = np.random.default_rng(5).normal(true, smaller, 2000)
    differs = np.abs(drawn) > 1.96 * smaller
    # 5 of 100 wins are logit(0.55) = 0.2007.
    inside = np.abs(drawn) < 0.2007 - 1.645 * smaller
    share = float(np.mean(inside | differs if true else inside))
    # The wins are not quite linear in the logits: a lean of 0.3 is 0.0744 and not 0.075.
    assert share == pytest.approx(0.8, abs=0.04)


def test_what_would_decide_knows_that_q_values_are_of_many_leans() -> None:
    now, error, others = 400, 0.25, [lean(0.0, 0.3)] * 29
    told = tell_leans([lean(0.6, error, now), *others], 0.95, 0.05)[0]
    assert told.finding == UNDECIDED
    assert told.needed is not None
    smaller = error * (now / told.needed[0]) ** 0.5
    drawn = np.random.default_rng(5).normal(0.6, smaller, 2000)
    # Beside 29 others that are none, its p value has to be below 0.05 / 30.
    share = float(np.mean(2 * norm.sf(np.abs(drawn) / smaller) < 0.05 / 30))
    assert share == pytest.approx(0.8, abs=0.04)
    again = tell_leans([lean(float(drawn[0]), smaller, told.needed[0]), *others], 0.95, 0.05)[0]
    assert (again.finding == VIOLATED) == (2 * norm.sf(abs(drawn[0]) / smaller) < 0.05 / 30)


def test_a_judge_can_be_trusted_by_name() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 4, "pairs": 4, "both_orders": True, "people": 0},
        **{"sharpness": (1.0, 2.5), "lean": (0.9, 0.0), "seat": (0.0, 0.0)},
    )
    log = draw(panel, np.random.default_rng(2))
    others = [one for one in find_leans(log, trusted="j0").estimates if one.kind == "length"]
    assert [(one.judge, one.against) for one in others] == [("j1", "j0")]
    assert others[0].wins < 0.3
    with pytest.raises(OptionError, match="'j0', 'j1'"):
        find_leans(log, trusted="nobody")


def test_sharpness_says_how_often_the_better_answer_is_picked() -> None:
    panel = Panel(
        **{"prompts": 60, "answers": 4, "pairs": 4, "both_orders": True},
        **{"sharpness": (2.0, 0.7), "lean": (0.0, 0.0), "seat": (0.0, 0.0), "difficulty": 0.0},
        worth=0.0,
    )
    told = find_leans(draw(panel, np.random.default_rng(9))).sharpness
    found = {one.judge: one for one in told}
    # 40 such panels have SD 0.13 and 0.24 logits: three of them, in wins.
    assert found["j1"].picks == pytest.approx(expit(0.7), abs=0.09)
    assert found["j0"].picks == pytest.approx(expit(2.0), abs=0.08)
    assert found["j1"].interval.low < expit(0.7) < found["j1"].interval.high


def test_sharpness_beside_a_right_verdict_is_how_often_it_is_said() -> None:
    panel = Panel(
        **{"prompts": 200, "answers": 3, "pairs": 3, "people": 0, "truth": True},
        **{"sharpness": (1.2,), "lean": (0.0,), "seat": (0.0,)},
    )
    log = draw(panel, np.random.default_rng(4))
    (one,) = find_leans(log).sharpness
    # Without leans it is the share of right verdicts, but for leans found by chance.
    assert one.picks == pytest.approx(float(np.mean(log.verdict == log.gold)), abs=0.02)
    assert one.interval.low < one.picks < one.interval.high


def games(judge: str, for_first: float, seed: int, questions: int = 150) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(questions):
        lead = rng.normal()
        won = [rng.random() < expit(way * lead + for_first) for way in (-1, 1)]
        scores = [{"score": "A>B" if one else "B>A"} for one in won]
        rows.append({"question_id": f"q{question}", "model": "m", "judge": judge, "games": scores})
    return rows


def policy(*logs: str, **choices: Any) -> dict[str, Any]:
    return {"audit": [{"name": "bias", "notion": "judges", "logs": [*logs], **choices}]}


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_gate_judges_leans_by_wins_of_100(tmp_path: Path) -> None:
    steady = write(tmp_path, "steady.jsonl", games("steady", 0.0, 1, questions=2500))
    hasty = write(tmp_path, "hasty.jsonl", games("hasty", 1.0, 2))
    passed = check(policy(steady, margin=8))
    assert (passed.passed, passed["bias"].audit.margin) == (True, 0.08)
    failed = check(policy(steady, hasty))
    assert failed.exit_status == 1
    found = {test.null.split()[2]: test.finding for test in failed["bias"].audit.tests}
    assert found["hasty"] == VIOLATED
    # Nothing is known of lengths, and what could not be tested never passes.
    assert not check(policy(hasty, kinds="length", undecided="allow")).passed
    with pytest.raises(PolicyAuditError, match="margin"):
        check(policy(steady, margin=60))


def test_a_kind_of_lean_that_is_listed_and_not_told_does_not_pass(tmp_path: Path) -> None:
    steady = write(tmp_path, "steady.jsonl", games("steady", 0.0, 1, questions=2500))
    alone = audit_files(steady, margin=8, kinds=("seat",))
    assert (alone.finding, len(alone.tests)) == (WITHIN, 1)
    # Nothing is known of lengths: what holds for seats is not enough.
    both = audit_files(steady, margin=8, kinds=("seat", "length"))
    assert (both.finding, both.exit_status) == (UNDECIDED, 3)
    assert [test.finding for test in both.tests] == [WITHIN, UNDECIDED]
    assert "does not tell" in both.tests[1].reason
    # By default all count that can be told, and the others are named.
    told = audit_files(steady, margin=8)
    assert told.finding == WITHIN
    assert any("length or style or refusal or self or family" in note for note in told.notes)


def test_a_judge_of_whom_too_little_is_known_does_not_pass_with_others(tmp_path: Path) -> None:
    steady = write(tmp_path, "steady.jsonl", games("steady", 0.0, 1, questions=2500))
    brief = write(tmp_path, "brief.jsonl", games("brief", 3.0, 2, questions=4))
    assert audit_files(steady, margin=8).finding == WITHIN
    both = audit_files(steady, brief, margin=8)
    assert [(test.null.split()[2], test.finding) for test in both.tests] == [
        *(("steady", WITHIN), ("brief", UNDECIDED))
    ]
    assert both.finding == UNDECIDED


def test_names_of_judges_in_notes_are_theirs(tmp_path: Path) -> None:
    logs = [
        write(tmp_path, f"{name}.jsonl", games(name, 0.0, seed, questions=60))
        for seed, name in enumerate(("aa", "bb", "cc"))
    ]
    notes = audit_files(*logs).notes
    assert not any(note.startswith(("Aa", "Bb", "Cc")) for note in notes)


def test_frames_stand_in_for_logs_of_a_gate() -> None:
    rows = [
        {"prompt": row["question_id"], "left": left, "right": right, "winner": winner, "judge": "j"}
        for row in games("j", 1.0, 4)
        for left, right, score in (
            ("n", "m", row["games"][0]["score"]),
            ("m", "n", row["games"][1]["score"]),
        )
        for winner in ("left" if score == "A>B" else "right",)
    ]
    frame = polars.DataFrame(rows)
    result = check(policy("votes.csv", kinds="seat"), data={"votes.csv": frame})
    assert result["bias"].finding == VIOLATED


def test_a_gate_leaves_out_rows_without_a_result_and_counts_them(tmp_path: Path) -> None:
    rows = [{"prompt": f"p{k}", "left": "m", "right": "n", "winner": "left"} for k in range(9)]
    log = write(tmp_path, "votes.jsonl", [*rows, rows[0] | {"prompt": "p9", "winner": ""}])
    with pytest.raises(PolicyAuditError, match="is empty"):
        check(policy(log))
    audit = check(policy(log, drop_missing=True))["bias"].audit
    assert audit.n == 9
    assert "1 left out: no result." in audit.notes


def test_leans_are_told_with_what_would_decide() -> None:
    rows = games("hasty", 0.9, 3, questions=60) + games("steady", 0.0, 4, questions=60)
    text = " ".join(str(audit_judges(rows)).split())
    assert (
        "hasty: prefers the first answer (of 100 pairs of equally good answers it picks the first"
        in text
    )
    assert "steady: whether it prefers a seat is undecided" in text
    assert "it would be found either to lean or to be within 5 of 50, with 80% power" in text
