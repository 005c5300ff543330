"""A malformed log gives an error that says where, or a counted omission; never a wrong verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.cli import main
from comparity.errors import (
    ComparityError,
    LogRowError,
    NoLogError,
    NoVerdictError,
    OneAnswererError,
    SameLogError,
    UnknownLogError,
    UnreadableFileError,
)
from comparity.judges.audit import audit_files, audit_judges
from comparity.judges.log import SAME_ANSWERER, SAME_RECORD
from comparity.judges.readers import NO_VERDICT
from comparity.judges.reading import read_logs
from tests.judges.samples import (
    ARENA,
    ARENA_HARD,
    LLMBAR,
    MT_BENCH_ANSWERS,
    MT_BENCH_ORDERS,
    MT_BENCH_PAIRS,
    MT_BENCH_SCORES,
    MT_BENCH_VOTES,
    SAMPLES,
    TABLE,
)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_half_written_line_is_named(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ARENA_HARD)
    with pytest.raises(UnreadableFileError, match="line 2"):
        read_logs(write(tmp_path / "log.jsonl", lines[:-40]))


def test_a_half_written_list_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read_logs(write(tmp_path / "log.json", json.dumps(LLMBAR)[:-30]))


@pytest.mark.parametrize("depth", [700, 100_000])
def test_a_record_nested_too_deeply_is_an_error(depth: int, tmp_path: Path) -> None:
    text = json.dumps(ARENA_HARD[0] | {"more": 0}).replace("0}", f"{'[' * depth}{']' * depth}}}")
    with pytest.raises(UnreadableFileError):
        read_logs(write(tmp_path / "log.jsonl", text))


def test_a_line_cut_within_a_letter_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    whole = json.dumps({"question_id": 1, "about": "x" * 20_000}).encode()
    path.write_bytes(whole + b"\n" + '{"question_id": "\u00e9'.encode()[:-1])
    with pytest.raises(UnreadableFileError, match=r"line 2: .* in position 17: unexpected end"):
        read_logs(path, form="arena")


def test_a_log_of_inspect_that_is_no_archive_is_not_asked_for_a_header_row(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_text("half", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match="complete and was written by Inspect"):
        read_logs(path)


def test_another_encoding_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(json.dumps({"x": "ä"}, ensure_ascii=False).encode("latin-1"))
    with pytest.raises(UnreadableFileError):
        read_logs(path)


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ("arena-hard", "games"),
        ("arena-hard", "question_id"),
        ("mt-bench pairs", "g2_winner"),
        ("mt-bench votes", "winner"),
        ("mt-bench scores", "score"),
        ("mt-bench orders", "winner_ba"),
        ("llmbar", "results"),
        ("position bias", "A"),
        ("arena", "model_b"),
        ("arena", "winner"),
        ("arena one-hot", "winner_tie"),
        ("arena judges", "judge_pick"),
        ("arena judges", "human_winner"),
        ("judgebench", "label"),
        ("alpaca eval", "generator_2"),
        ("chosen, rejected", "chosen"),
        ("chosen, rejected", "rejected"),
        ("pandalm", "response2"),
    ],
)
def test_a_missing_field_is_named_with_its_record(form: str, field: str) -> None:
    rows = [dict(row) for row in SAMPLES[form]]
    broken = {name: value for name, value in rows[0].items() if name != field}
    with pytest.raises(LogRowError, match=field) as caught:
        read_logs([*rows, broken])
    assert caught.value.row == len(rows) + 1


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("arena-hard", {"games": [{"score": "A?B"}]}),
        ("mt-bench pairs", {"g1_winner": "m"}),
        ("mt-bench votes", {"winner": "left"}),
        ("mt-bench orders", {"winner_ab": "model_a"}),
        ("arena", {"winner": "m"}),
        ("arena one-hot", {"winner_model_a": 1, "winner_tie": 1}),
        ("arena one-hot", {"winner_model_a": 0.3, "winner_model_b": 0.7}),
        ("alpaca eval", {"preference": 3}),
        ("judgebench", {"label": "A"}),
        ("pandalm", {"annotator1": 7}),
        ("table", {"winner": "somebody"}),
    ],
)
def test_an_unknown_word_for_the_winner_is_an_error(form: str, change: dict[str, Any]) -> None:
    with pytest.raises(LogRowError, match="record 1"):
        read_logs([SAMPLES[form][0] | change], form=form)


def test_an_empty_answer_is_an_answer() -> None:
    log, _ = read_logs([{"prompt": "Name a colour.", "chosen": "Red.", "rejected": ""}])
    assert [end.tolist() for end in log.lengths] == [[4], [0]]


def test_a_score_that_is_not_there_is_missing() -> None:
    # Who had only one of two scores was taken for a choice without scores, won by the chosen.
    row = dict(SAMPLES["chosen, rejected"][0])
    del row["score_rejected"]
    log, _ = read_logs([row])
    assert (log.verdict.tolist(), log.gold.tolist()) == ([NO_VERDICT], [1])


def test_a_format_that_is_forced_on_another_log_invents_no_choices() -> None:
    for form in ("mt-bench pairs", "arena-hard", "table"):
        with pytest.raises(LogRowError, match="'chosen' holds no text"):
            read_logs(SAMPLES[form], form="chosen, rejected")


def test_samples_of_inspect_need_their_ids() -> None:
    (sample,) = SAMPLES["inspect"][0]["samples"]
    log = SAMPLES["inspect"][0] | {"samples": [sample | {"id": None}]}
    with pytest.raises(LogRowError, match="no 'id'"):
        read_logs([log])


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    columns = {"left": "one", "right": "two", "result": "pref", "prompt": "place"}
    with pytest.raises(LogRowError, match="no column 'place', named for the prompt") as caught:
        read_logs([{"one": "m", "two": "n", "pref": "left"}], form="table", columns=columns)
    assert "'one', 'two', 'pref'" in str(caught.value)
    assert "check case" in str(caught.value)


def test_both_seats_under_one_name_are_counted_and_left_out() -> None:
    same = MT_BENCH_PAIRS[0] | {"model_2": "m", "question_id": 90}
    log, _ = read_logs([*MT_BENCH_PAIRS, same])
    assert log.omitted == {SAME_ANSWERER: 2}
    assert len(log) == 4


def test_a_record_that_stands_twice_counts_once() -> None:
    log, _ = read_logs([*ARENA_HARD, ARENA_HARD[0]])
    assert log.omitted == {SAME_RECORD: 1}
    assert len(log) == 4


def test_the_same_log_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(ARENA_HARD)
    logs = [write(tmp_path / "a.json", text), write(tmp_path / "b.json", text)]
    with pytest.raises(SameLogError):
        read_logs(logs)


def test_a_copy_of_a_log_is_refused_whatever_its_lines(tmp_path: Path) -> None:
    lines = [json.dumps(row) + "\n" for row in MT_BENCH_VOTES]
    log = write(tmp_path / "log.jsonl", "".join(lines))
    copies = {"newline": [*lines, "\n"], "order": lines[::-1], "part": lines[1:]}
    for name, copy in copies.items():
        path = write(tmp_path / f"{name}.jsonl", "".join(copy))
        for logs in ([log, path], [path, log]):
            with pytest.raises(SameLogError, match="leave out"):
                read_logs(logs)
    # The first vote is another one: the same person changed her mind, say.
    other = json.dumps(MT_BENCH_VOTES[0] | {"winner": "model_b"}) + "\n"
    run = write(tmp_path / "run.jsonl", "".join([other, *lines[1:]]))
    assert len(read_logs([log, run])[0]) == 6


def test_a_judge_who_agrees_in_the_little_she_judged_is_no_copy(tmp_path: Path) -> None:
    # Only the names of the files say who judged.
    lines = ["left,right,winner,prompt\n", "m,n,m,p1\n", "m,n,n,p2\n", "m,n,m,p3\n"]
    logs = [
        write(tmp_path / "ann.csv", "".join(lines)),
        write(tmp_path / "bob.csv", "".join(lines[:3])),
    ]
    assert read_logs(logs)[0].judges == ("ann", "bob")


def test_seats_exchanged_in_half_of_a_file_change_no_verdict() -> None:
    turned = {
        **MT_BENCH_ORDERS[1],
        **{"model_a": "n", "model_b": "m", "winner_ab": "B", "winner_ba": "A"},
    }
    plain, exchanged = (
        audit_judges([MT_BENCH_ORDERS[0], row]) for row in (MT_BENCH_ORDERS[1], turned)
    )
    # As plain data, where numbers that do not exist are equal.
    for part in ("judges", "leaderboard"):
        assert plain.to_dict()[part] == exchanged.to_dict()[part]


def test_a_million_characters_are_measured(tmp_path: Path) -> None:
    rows = [LLMBAR[0] | {"output_1": "x" * 10**6}]
    log, _ = read_logs(write(tmp_path / "log.json", json.dumps(rows)))
    assert log.lengths[0][0] == 10**6


def test_answers_of_other_prompts_are_pointed_out() -> None:
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdefghij"), 8)) for _ in range(400)]
    rows = []
    for k in range(40):
        prompt, other = (" ".join(words[10 * j : 10 * j + 10]) for j in (k, (k + 7) % 40))
        shown = (
            f"<|User Prompt|>\n{prompt}\n\n<|The Start of Assistant A's Answer|>\nyes, {prompt}\n"
            "<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's Answer|>\n"
            f"yes, {other}\n<|The End of Assistant B's Answer|>"
        )
        games = [{"user_prompt": shown, "score": "A>B"}]
        rows.append({"question_id": f"q{k}", "model": "lost", "judge": "j", "games": games})
    assert read_logs(rows)[0].mismatched == ("lost",)


def test_two_texts_under_one_name_are_two_answers_and_pointed_out() -> None:
    other = {**MT_BENCH_PAIRS[0], "judge": ["other", "pair-v2"]}
    other["g1_user_prompt"] = other["g1_user_prompt"].replace("Red.", "Red and green.")
    log, _ = read_logs([MT_BENCH_PAIRS[0], other])
    assert log.several_texts == {"m": 1}
    assert sorted(log.lengths[0].tolist()) == [4, 4, 4, 14]


def test_an_unknown_log_is_an_error_that_names_the_formats() -> None:
    with pytest.raises(UnknownLogError, match="arena-hard"):
        read_logs([{"text": "x", "label": 1}])


def test_scores_of_one_answerer_compare_nothing() -> None:
    for asked in ({"drift": ("a", "b")}, {"by": "age", "judges": {"j": "old"}}):
        with pytest.raises(OneAnswererError, match="two or more answerers"):
            audit_judges(MT_BENCH_SCORES[:1], **asked)
    with pytest.raises(OneAnswererError, match="1 scores of"):
        audit_files(MT_BENCH_SCORES[:1])


@pytest.mark.parametrize(
    ("logs", "found"),
    [
        (None, "None"),
        (3, "something of type int"),
        ([1, 2], "a list of 2 that holds something of type int"),
        ([*ARENA_HARD, None], "a list of 3 that holds"),
        ([], "an empty list"),
        (ARENA_HARD[0], "one record alone, with 'question_id'"),
    ],
)
def test_what_is_neither_files_nor_records_is_an_error_of_ours(logs: Any, found: str) -> None:
    with pytest.raises(NoLogError, match=found) as caught:
        audit_judges(logs)
    assert "a list of records" in str(caught.value)
    assert "give paths" in str(caught.value)


def test_files_beside_no_log_are_not_enough() -> None:
    with pytest.raises(NoVerdictError):
        read_logs(MT_BENCH_ANSWERS)


def test_a_result_that_is_not_read_is_an_error_not_a_guess() -> None:
    rows = [{"better": "m", "worse": "n", "preference": "n"}]
    with pytest.raises(LogRowError, match="preference"):
        read_logs(rows)


def test_codes_that_are_not_known_are_to_be_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "log.csv", "left,right,label\nm,n,1\n")
    with pytest.raises(SystemExit):
        main(["judges", str(path)])
    told = "name the columns by --left, --right and --result, and what the values mean by --coding."
    assert told in capsys.readouterr().err


def test_an_empty_result_is_an_error_unless_it_may_be_left_out() -> None:
    rows = [*TABLE, TABLE[0] | {"winner": ""}]
    with pytest.raises(LogRowError, match="empty"):
        audit_judges(rows)
    assert audit_judges(rows, drop_missing=True).omitted == {"no result": 1}


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("alpaca eval", {"preference": None}),
        ("arena", {"winner": None}),
        ("arena judges", {"judge_pick": None, "human_winner": None}),
        ("arena-hard", {"games": [{"score": None}, {"score": "A>B"}]}),
        ("chosen, rejected", {"score_chosen": None}),
        ("judgebench", {"judgments": [{"decision": None}, None]}),
        ("llmbar", {"label": None}),
        ("mt-bench orders", {"winner_ab": None}),
        ("mt-bench pairs", {"g2_winner": None}),
        ("mt-bench scores", {"score": None}),
        ("mt-bench votes", {"winner": None}),
        ("pandalm", {"annotator1": None}),
        ("table", {"winner": None}),
    ],
)
def test_nan_is_as_missing_as_none(form: str, change: dict[str, Any], tmp_path: Path) -> None:
    logs = []
    for missing in ("null", "NaN"):
        last = SAMPLES[form][0] | json.loads(json.dumps(change).replace("null", missing))
        path = write(tmp_path / "log.json", json.dumps([*SAMPLES[form], last]))
        logs.append(read_logs(path, drop_missing=True)[0])
    assert "NaN" in path.read_text(encoding="utf-8")
    for column in ("verdict", "gold", "reason", "judge"):
        assert getattr(logs[0], column).tolist() == getattr(logs[1], column).tolist()
    assert (logs[0].judges, logs[0].omitted) == (logs[1].judges, logs[1].omitted)


@pytest.mark.parametrize("score", [float("inf"), 10**400])
def test_a_score_without_end_is_missing(score: float) -> None:
    # Of two of them neither is larger, which is no tie.
    rows = [row | {"score": score} for row in SAMPLES["mt-bench scores"]]
    log, _ = read_logs(rows)
    assert log.verdict.tolist() == [NO_VERDICT, NO_VERDICT]
    assert "n/a" in str(audit_judges(rows))


def test_what_a_frame_does_not_hold_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [*ARENA, ARENA[1] | {"question_id": "x3", "winner": float("nan"), "judge": None}]
    log, _ = read_logs(pandas.DataFrame(rows).drop(columns=["conversation_a", "conversation_b"]))
    assert log.verdict.tolist() == [1, 0, NO_VERDICT]
    assert log.judges == ("arena_user_1", "arena_user_2", "people")


@pytest.mark.parametrize("content", ["", "[]", "3", '["a"]', '{"a": ', "[[1]]", "null"])
def test_what_is_no_log_is_an_error_of_ours(content: str, tmp_path: Path) -> None:
    with pytest.raises(ComparityError):
        read_logs(write(tmp_path / "log.json", content))
