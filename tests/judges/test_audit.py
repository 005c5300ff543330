"""An audit is a result like every other, and shows no text unasked; so is what the command says."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity import audit_judges
from comparity.cli import main
from comparity.errors import OptionError
from comparity.judges.result import JudgesAudit
from tests.judges.samples import ARENA_HARD, LLMBAR, MT_BENCH_PAIRS, SAMPLES, SHOWN, TABLE
from tests.judges.test_right_verdicts import battles


def games(n: int = 40, seed: int = 1) -> list[dict[str, Any]]:
    """Make a log of arena-hard by a judge who mostly prefers the first answer, and fails twice."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        scores: list[str | None] = ["A>B" if rng.random() < 0.8 else "B>A" for _ in range(2)]
        if k < 2:
            scores[k] = None
        row = {"question_id": f"q{k}", "model": f"m{k % 3}", "judge": f"j{k % 2}"}
        rows.append(row | {"games": [{"score": one, "judgment": "x"} for one in scores]})
    return rows


@pytest.mark.parametrize(
    "form",
    [
        name
        for name in SAMPLES
        if name not in {"mt-bench answers", "mt-bench questions", "deepeval", "lm-eval"}
    ],
)
def test_plain_data_come_back_as_the_same_answer(form: str) -> None:
    audit = audit_judges(SAMPLES[form])
    content = json.loads(json.dumps(audit.to_dict()))
    assert JudgesAudit.from_dict(content).to_dict() == audit.to_dict()
    assert str(JudgesAudit.from_dict(content)) == str(audit)


def test_what_is_known_of_answers_is_counted() -> None:
    said = [{"role": "assistant", "content": "Red."}]
    row = {"model_a": "gpt-4", "model_b": "mine", "winner": "model_a", "judge": "j"}
    rows = [
        {**row, "question_id": "q1", "conversation_a": said, "conversation_b": said},
        {**row, "question_id": "q2"},
    ]
    audit = audit_judges(rows)
    assert audit.known == {
        **{"answers": 4, "lengths": 2, "tokens": 0, "marks": 2, "styles": 2},
        **{"answerers": 2, "makers": 1},
    }
    assert "characters and words of 2; headers" in str(audit).replace("\n", " ")


def test_a_frame_has_a_row_for_each_judge() -> None:
    frame = audit_judges(games()).to_frame("pandas")
    assert frame["judge"].tolist() == ["j0", "j1"]
    assert frame["judgments"].sum() == 80
    assert frame["missing"].tolist() == pytest.approx([1 / 40, 1 / 40])


def test_a_page_and_a_picture_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    audit = audit_judges(games())
    assert "picks the first answer" in audit.to_html()
    assert audit.plot().get_xlim()[1] >= 1


@pytest.mark.parametrize("rows", [ARENA_HARD, LLMBAR, MT_BENCH_PAIRS])
def test_texts_appear_on_request_only(rows: list[dict[str, Any]]) -> None:
    quiet, loud = audit_judges(rows), audit_judges(rows, show_text=True)
    assert not quiet.examples
    assert "Name a colour" not in json.dumps(quiet.to_dict())
    assert "Name a colour" not in quiet.to_html()
    assert "Name a colour" in json.dumps([one.question for one in loud.examples])
    assert "Name a colour" in loud.to_html()


def test_beginnings_of_texts_do_not_tell_how_long_the_beginning_is() -> None:
    shown = SHOWN.format("word\n" * 500, "Red.")
    long = [ARENA_HARD[0] | {"games": [{"score": None, "user_prompt": shown}]}]
    audit = audit_judges(long, show_text=True)
    (example,) = audit.examples
    assert (example.first[:10], example.first[-1], example.second) == ("word word ", "…", "Red.")
    assert "characters in all" not in audit.to_html()


def test_a_judge_who_prefers_the_first_seat_is_advised_about() -> None:
    audit = audit_judges(games(200))
    assert all(one.seat_p_adjusted < 0.01 for one in audit.judges)
    assert "the seat decides" in str(audit)
    assert audit_judges(games(4)).judges[0].seat_p_adjusted > 0.1


def test_voters_who_are_not_told_apart_are_people_not_one_person() -> None:
    rows = [one | {"id": k} for k in range(4) for one in SAMPLES["arena one-hot"]]
    told = audit_judges(rows).section()
    assert told.headline == "Audit of people: 4 judgments"
    assert told.sentences[0].startswith("People: ")
    named = [row | {"judge": "arena_user_1"} for row in SAMPLES["arena"]]
    assert audit_judges(named).section().headline == "Audit of 1 person: 2 judgments"


def test_people_can_be_named_by_a_pattern() -> None:
    audit = audit_judges(TABLE, people=["a*"])
    assert [one.persons for one in audit.judges] == [1, 0]
    with pytest.raises(OptionError, match=r"zzz\*.*\n.*\n.*'ann', 'bob'"):
        audit_judges(TABLE, people=["a*", "zzz*"])


def test_a_judge_without_a_name_is_called_so() -> None:
    audit = audit_judges([row | {"judge": ""} for row in games(4)])
    assert [one.name for one in audit.judges] == ["(no name)"]
    assert "(no name): " in str(audit)


def test_few_trials_are_counted_and_not_told_in_numbers_of_100() -> None:
    rows = [row | {"games": [{"score": "A>B"}, {"score": "B>A"}]} for row in games(4)]
    (first, *_) = audit_judges(rows[:1]).section().sentences
    assert "picks the first answer in 1 of 2 decided judgments" in first
    (first, *_) = audit_judges([row | {"judge": "j"} for row in rows]).section().sentences
    assert "picks the first answer in 4 of 8 [" in first
    (first, *_) = audit_judges([row | {"judge": "j"} for row in games(40)]).section().sentences
    assert " of 100 [" in first


def test_notes_are_shown_whole_and_names_in_them_are_cut() -> None:
    rows = battles("J", turned=False)
    (note,) = audit_judges(rows).section().lists["What was left out, and what to check"]
    assert len(note) > 160
    assert note.endswith("answerers.")
    long = [row | {"judge": "J" * 10_000} for row in rows]
    (note,) = audit_judges(long).section().lists["What was left out, and what to check"]
    assert "10,000 characters in all" in note
    assert note.endswith("answerers.")


@pytest.mark.parametrize(
    "choices",
    [
        {"format": "no such"},
        {"left": "one"},
        {"left": "one", "right": "two"},
        {"coding": "1=left"},
        {"prompt": "q"},
        {"left": "a", "right": "b", "result": "c", "coding": "1=up"},
        {"left": "a", "right": "b", "result": "c", "coding": "1=left,1.0=right"},
        {"level": 1.0},
    ],
)
def test_choices_that_do_not_go_together_are_refused(choices: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        audit_judges(TABLE, **choices)


def vote(prompt: Any, judge: str = "j", **change: Any) -> dict[str, Any]:
    row = {"question_id": prompt, "model_a": "m", "model_b": "n", "winner": "model_a", "turn": 1}
    return row | {"judge": judge} | change


def test_names_that_differ_hardly_are_pointed_out() -> None:
    rows = [vote("1"), vote("01"), vote("x", judge="J"), vote("X", model_a="M")]
    alike = "that differ only in case, spaces or leading zeros are taken for different ones"
    found = [one for one in audit_judges(rows).notes if alike in one]
    assert found == [
        f"Judges {alike}: 'j', 'J'.",
        f"Answerers {alike}: 'm', 'M'.",
        # Other names of prompts may be their texts, which are shown on request only.
        f"Prompts {alike}: '1', '01'.",
    ]


def test_names_that_were_given_for_nothing_are_told() -> None:
    rows = [vote(k) for k in range(3)]
    notes = " ".join(audit_judges(rows, judge="zz", baseline="b").notes)
    assert "zz was named as the judge (--judge), but the logs say who judged." in notes
    assert "b was named as the baseline (--baseline), but no log of arena-hard" in notes
    assert "was named" not in " ".join(audit_judges(games(), baseline="b").notes)


def test_the_reading_counts_pairs_in_both_orders() -> None:
    rows = [vote(k, model_a="n", model_b="m", judge="human") for k in range(2)]
    rows += [vote(k, judge="human") for k in range(1, 8)]
    (reading,) = audit_judges(rows).readings
    assert reading.seats == "both orders of 1 of 8 pairs"
    mixed = [vote(1, judge="human"), vote(1, judge="gpt4_pair"), vote(2, judge="gpt4_pair")]
    (reading,) = audit_judges(mixed).readings
    assert reading.seats == "both orders in one row of 2 judgments"


def test_records_of_two_files_are_counted_in_the_reading(tmp_path: Path) -> None:
    logs = []
    for place, prompts in enumerate((range(10), range(6, 16))):
        logs.append(tmp_path / f"{place}.jsonl")
        rows = [vote(k, judge="human") for k in prompts]
        logs[-1].write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    audit = audit_judges(logs)
    (reading,) = audit.readings
    assert (reading.judgments, reading.prompts, reading.in_several_files) == (20, 16, 4)
    assert "4 records of another file, too, counted as judged again" in " ".join(str(audit).split())
    # Records that do not name their judge may be alike by chance.
    battles = [dict(row) for row in SAMPLES["arena judges"]]
    for path, more in zip(logs, ("x3", "x4"), strict=True):
        rows = [*battles, battles[0] | {"id": more}]
        path.write_text(json.dumps(rows), encoding="utf-8")
    json_logs = [path.rename(path.with_suffix(".json")) for path in logs]
    (reading,) = audit_judges(json_logs).readings
    assert (reading.judges, reading.in_several_files) == (2, 0)


def test_scores_that_compare_nothing_are_said_to_be_of_other_prompts() -> None:
    # Two answerers, and no prompt that both got.
    rows = [
        {"question_id": k, "model": f"m{k}", "judge": "j", "score": 7 + k, "turn": 1}
        for k in range(2)
    ]
    assert "No judge scored two answers to one prompt" in str(audit_judges(rows))


def test_a_panel_of_which_no_answer_is_known_says_why_no_leans_are_told() -> None:
    rows = [
        vote(k, judge=judge, winner="model_a" if (k + place) % 3 else "model_b")
        for k in range(60)
        for place, judge in enumerate(("x", "y", "z"))
    ]
    assert any("known of all of them" in one for one in audit_judges(rows).notes)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a log."""
    monkeypatch.chdir(tmp_path)
    path = Path("games.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in games()), encoding="utf-8")
    return path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["judges", *words])
    assert isinstance(left.value.code, int)
    return left.value.code


def test_the_command_says_how_it_read_the_log(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(log)) == 0
    out = capsys.readouterr().out
    line = (
        "Read arena-hard games: 1 file, 80 judgments, 40 prompts, 2 judges, both orders; 2 unparsed"
    )
    assert line in out
    assert "picks the first answer in" in out


def test_the_command_writes_json_and_csv(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(log), "--json", "--csv", "judges.csv", "--baseline", "base") == 0
    audit = JudgesAudit.from_dict(json.loads(capsys.readouterr().out))
    assert {one.answerer for one in audit.leaderboard} == {"base", "m0", "m1", "m2"}
    with Path("judges.csv").open(encoding="utf-8") as file:
        assert [row["judge"] for row in csv.DictReader(file)] == ["j0", "j1"]


def test_half_a_letter_in_a_name_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [vote(k, judge="j\ud800") for k in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert run(str(path), "--csv", str(tmp_path / "judges.csv")) == 0
    assert "j\\ud800,0,3,3," in (tmp_path / "judges.csv").read_text(encoding="utf-8")


def test_huge_scores_are_drawn() -> None:
    row = {"question_id": 1, "model": "m", "judge": "j", "score": 1e30, "turn": 1}
    assert "1e+30" in audit_judges([row]).to_html()


def test_the_command_refuses_what_it_does_not_understand(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = log.with_name("other.jsonl")
    other.write_text('{"text": "x"}\n', encoding="utf-8")
    assert run(str(log), str(other)) == 2
    assert "--format" in capsys.readouterr().err
    assert run(str(log), "--format", "llmbar") == 2


def test_the_command_leaves_out_rows_without_a_result_and_counts_them(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = log.with_name("votes.csv")
    table.write_text("left,right,winner,prompt\nm,n,left,p1\nn,m,,p1\n", encoding="utf-8")
    assert run(str(table)) == 2
    assert "--drop-missing" in capsys.readouterr().err
    assert run(str(table), "--drop-missing") == 0
    out = capsys.readouterr().out
    assert "1 left out: no result." in out
    assert "1 file, 1 judgment" in out


def test_of_many_judges_the_busiest_are_shown_and_people_are_asked_for() -> None:
    rows = [
        {"question_id": f"q{prompt}", "model_a": "m", "model_b": "n", "judge": f"w{judge}"}
        | {"winner": "model_a" if (prompt + judge) % 3 else "model_b", "turn": 1}
        for judge in range(25)
        for prompt in range(3 + judge)
    ]
    audit = audit_judges(rows)
    assert [one.name for one in audit.busiest[:2]] == ["w24", "w23"]
    told = str(audit)
    assert "and 5 more rows" in told
    assert "if these are people" in told
    assert "if these are people" not in str(audit_judges(rows, people=["w*"]))
