"""Layouts that tools write in newer versions, or where somebody asked them otherwise.

Records are written by hand from the code and the documentation of the tools, which a comment names.
"""

from __future__ import annotations

import json
import math
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import polars
import pytest

from comparity.errors import LogRowError, NoVerdictError, RepeatedRecordsError, UnreadableFileError
from comparity.judges.answerers import Makers
from comparity.judges.audit import audit_judges
from comparity.judges.log import JudgeLog
from comparity.judges.readers import FEATURES, NO_VERDICT, REASONS
from comparity.judges.reading import read_logs
from comparity.tables.layouts import to_comparisons
from tests.judges.samples import (
    ARENA_HARD,
    DEEPEVAL,
    INSPECT,
    LABEL_STUDIO,
    LM_EVAL,
    MT_BENCH_PAIRS,
    PANDALM,
    PROMPTFOO,
    SAMPLES,
    SHOWN,
)

FIRST, TIE, SECOND = 1, 0, -1
SORRY = "I'm sorry, but I cannot judge this."
Record = dict[str, Any]


def shown(log: JudgeLog) -> list[tuple[str, str, int]]:
    names = log.answerers
    return [
        (names[one], names[two], verdict)
        for one, two, verdict in zip(log.first, log.second, log.verdict.tolist(), strict=True)
    ]


# arena-hard-auto, gen_judgment.py since version 2: uid, baseline, messages, an object per judgment.
def game(score: str | None, said: str = "") -> Record:
    asked = [{"role": "system", "content": "Judge."}, {"role": "user", "content": ASKED}]
    return {"score": score, "judgment": {"answer": said}, "prompt": asked}


ASKED = SHOWN.format("Blue", "Red.")
VERSION_2: Record = {"uid": "u1", "category": "hard", "judge": "j", "model": "m", "baseline": "o3"}


def test_version_2_of_arena_hard_names_its_baseline() -> None:
    sorry = game(None, SORRY)
    log, (reading,) = read_logs([VERSION_2 | {"games": [game("A>>B"), sorry]}])
    assert (reading.form, reading.missing) == ("arena-hard", {"refused": 1})
    assert shown(log) == [("o3", "m", FIRST), ("m", "o3", NO_VERDICT)]
    assert log.lengths[0].tolist() == [4, 4]
    # A game that the judge's provider did not answer is null.
    log, _ = read_logs([VERSION_2 | {"games": [game("B<<A"), None]}])
    assert shown(log)[0] == ("o3", "m", FIRST)
    assert [REASONS[code] for code in log.reason if code >= 0] == ["error"]


def test_labels_the_other_way_round_are_read() -> None:
    # label_to_score of show_result.py: B<A is a win of A, A<<B one of B.
    log, _ = read_logs([VERSION_2 | {"games": [game("B<A"), game("A<<B")]}])
    assert log.verdict.tolist() == [FIRST, SECOND]


def test_conversations_of_two_turns_are_measured_without_the_user() -> None:
    # FastChat, pair-v2-multi-turn.
    said = "### User:\nName a colour.\n\n### Assistant {0}:\n{1}\n\n### User:\nAgain.\n\n"
    said += "### Assistant {0}:\n{2}\n"
    asked = "".join(
        f"<|The Start of Assistant {seat}'s Conversation with User|>\n\n"
        f"{said.format(seat, *answers)}\n"
        f"<|The End of Assistant {seat}'s Conversation with User|>\n\n"
        for seat, answers in (("A", ("Red.", "Rot.")), ("B", ("Blue", "# B")))
    )
    log, _ = read_logs([MT_BENCH_PAIRS[0] | {"g1_user_prompt": asked, "turn": 2}])
    features = [dict(zip(FEATURES, log.features[item[0]], strict=True)) for item in items(log)]
    assert [one["characters"] for one in features] == [8, 7]
    assert [one["headers"] for one in features] == [0, 0]


def items(log: JudgeLog) -> tuple[list[int], list[int]]:
    return log.first_item.tolist(), log.second_item.tolist()


def zstandard_archive(path: Path, members: dict[str, bytes]) -> Path:
    """Write a zip archive of method 93 by hand: Python writes it from 3.14 on."""
    pyarrow = pytest.importorskip("pyarrow")
    files = central = b""
    for name, content in members.items():
        packed = pyarrow.compress(content, codec="zstd", asbytes=True)
        sizes = (zlib.crc32(content), len(packed), len(content))
        head = struct.pack("<4H3I2H", 0, 93, 0, 0, *sizes, len(name), 0)
        where = struct.pack("<3H2I", 0, 0, 0, 0, len(files))
        central += b"PK\1\2" + struct.pack("<2H", 63, 63) + head + where + name.encode()
        files += b"PK\3\4" + struct.pack("<H", 63) + head + name.encode() + packed
    n = len(members)
    end = struct.pack("<4H2IH", 0, 0, n, n, len(central), len(files), 0)
    path.write_bytes(files + central + b"PK\5\6" + end)
    return path


def test_archives_of_inspect_may_be_compressed_by_zstandard(tmp_path: Path) -> None:
    logs = []
    for number, whole in enumerate(INSPECT):
        header = {name: value for name, value in whole.items() if name != "samples"}
        samples = [whole["samples"][0] | {"id": k} for k in range(3)]
        members = {f"samples/{k}_epoch_1.json": one for k, one in enumerate(samples)}
        packed = {
            name: json.dumps(one, indent=1).encode()
            for name, one in {"header.json": header, **members}.items()
        }
        logs.append(zstandard_archive(tmp_path / f"{number}.eval", packed))
    log, _ = read_logs(logs)
    assert shown(log) == [("m", "n", FIRST)] * 3
    broken = bytearray(logs[0].read_bytes())
    broken[60:80] = b"\0" * 20
    logs[0].write_bytes(broken)
    with pytest.raises(UnreadableFileError):
        read_logs(logs)


def test_values_of_inspect_may_be_words_or_several() -> None:
    # inspect_ai, value_to_float: yes and true are 1, no and false 0; values may be dictionaries.
    scores = {"one": {"value": "Yes"}, "many": {"value": {"wit": 3, "tact": "no"}}}
    sample = INSPECT[0]["samples"][0] | {"scores": scores}
    found = read_logs([INSPECT[0] | {"samples": [sample]}])[0].scores
    assert [(one.judge, one.score) for one in found] == [
        ("one", 1.0),
        ("many, wit", 3.0),
        ("many, tact", 0.0),
    ]


# Chatbot Arena's clean_battle files: no id, voters by number, counts in place of texts.
def battle(moment: float, **changes: Any) -> Record:
    told = {
        **{"sum_assistant_a_tokens": 10, "sum_assistant_b_tokens": 40},
        **{"header_count_a": {"h1": 1, "h2": 2}, "header_count_b": {"h1": 0}},
        **{"list_count_a": {"ordered": 1, "unordered": 4}, "list_count_b": {"ordered": 0}},
        **{"bold_count_a": {"**": 2, "__": 0}, "bold_count_b": {"**": 7, "__": 1}},
    }
    record = {"model_a": "m", "model_b": "n", "winner": "model_a", "judge": "17", "turn": 1}
    return record | {"anony": True, "tstamp": moment, "conv_metadata": told} | changes


def test_battles_without_an_id_are_of_prompts_of_their_own() -> None:
    turned = {"model_a": "n", "model_b": "m"}
    rows = [battle(1.0), battle(2.0), battle(3.0, **turned), battle(4.0, winner="tie", judge=8)]
    log, (reading,) = read_logs(rows)
    assert (reading.form, reading.prompts, log.people) == ("arena", 4, ("17", "8"))
    summary = audit_judges(rows).judges[0]
    assert (summary.persons, summary.twins, summary.repeats) == (2, None, None)


def test_counts_of_the_arena_stand_in_for_texts() -> None:
    log, _ = read_logs([battle(1.0)])
    features = [dict(zip(FEATURES, log.features[item[0]], strict=True)) for item in items(log)]
    told = [
        [one[name] for name in ("characters", "headers", "list items", "bold")] for one in features
    ]
    assert told == [[10, 3, 5, 2], [40, 0, 0, 8]]
    assert all(math.isnan(one["words"]) for one in features)
    text = " ".join(str(audit_judges([battle(float(k)) for k in range(3)])).split())
    assert "characters and words of 0" in text
    assert "told by the log: tokens of 6, headers, list items and bold words of 6" in text


def test_thousands_of_voters_are_told_of_together() -> None:
    rows = [battle(float(k), judge=str(k)) for k in range(2000)]
    log, _ = read_logs(rows)
    assert (len(log.people), log.beside_people()) == (2000, [])
    assert [one.persons for one in audit_judges(rows).judges] == [2000]
    named = [row | {"judge": "j", "question_id": 9} for row in ({**rows[0]},)]
    del named[0]["anony"], named[0]["conv_metadata"]
    assert read_logs(named)[0].beside_people() == [(0, "j")]


def test_a_named_judge_of_battles_is_no_person() -> None:
    rows = [
        {"question_id": k, "model_a": "m", "model_b": "n", "winner": "model_a"} for k in range(3)
    ]
    crowd = audit_judges(rows)
    assert crowd.judges[0].is_crowd
    assert any("--judge" in note for note in crowd.notes)
    named = audit_judges(rows, judge="gpt-4")
    assert [(one.name, one.persons) for one in named.judges] == [("gpt-4", 0)]
    assert not any("--judge" in note for note in named.notes)


# RewardBench 2, run_v2.py: columns, a list of scores for each prompt, the right answers first.
def best_of(**changes: Any) -> Record:
    texts = [[{"role": "assistant", "content": word}] for word in ("a", "b", "c", "d")]
    columns = {
        **{"text": [texts, texts], "scores": [[3.0, 1.0, 2.0, 3.0], [0.5, 0.1, 0.9, 0.2]]},
        **{"results": [0.5, 0], "subset": ["Math", "Ties"], "id": ["1", "2"]},
    }
    return columns | {"num_correct": [1, 2], "model": "rm"} | changes


def test_right_answers_are_compared_with_wrong_ones_each_with_each() -> None:
    log, (reading,) = read_logs([best_of()])
    assert (reading.form, log.judges, log.prompts) == ("rewardbench", ("rm",), ("1", "2"))
    # 3 against 1, 2 and 3; then 0.5 and 0.1 against 0.9 and 0.2.
    assert log.verdict.tolist() == [FIRST, FIRST, TIE, SECOND, FIRST, SECOND, SECOND]
    assert set(log.gold.tolist()) == {FIRST}
    lists = {"chosen": ["a"], "rejected": ["b", "c", "d"], "scores": [1, 2, 0, 1]}
    row = {"id": "1", "subset": "Math", "results": 0, "num_correct": 1, "model": "rm"} | lists
    assert read_logs([row])[0].verdict.tolist() == [SECOND, FIRST, TIE]


def test_results_of_several_answers_without_scores_are_refused() -> None:
    with pytest.raises(LogRowError, match="no 'scores'"):
        read_logs([{name: cell for name, cell in best_of().items() if name != "scores"}])
    row = {"chosen": "a", "rejected": "b", "subset": "x", "results": 0.25}
    with pytest.raises(LogRowError, match=r"0\.25"):
        read_logs([row])


def test_pandalm_names_models_by_its_key() -> None:
    # README of PandaLM: response 1 is from opt-7b, response 2 from pythia-6.9b.
    keyed = PANDALM[0] | {"cmp_key": "opt-7b_pythia-6.9b"}
    other = keyed | {"idx": 2, "cmp_key": "opt-7b_llama-7b", "response2": "Green"}
    log, _ = read_logs([keyed, other])
    assert log.answerers == ("opt-7b", "pythia-6.9b", "llama-7b")
    assert len(log.prompts) == 1


def test_an_empty_answer_of_pandalm_is_an_answer(tmp_path: Path) -> None:
    # The last record of testset-v1.json has "response1": NaN.
    path = tmp_path / "testset.json"
    path.write_text(json.dumps([PANDALM[0] | {"response1": math.nan}]), encoding="utf-8")
    log, _ = read_logs(path)
    assert log.verdict.tolist() == [FIRST, SECOND, TIE]
    assert log.lengths[0].tolist() == [0, 0, 0]


# Argilla: FeedbackDataset.for_preference_modeling, RankingQuestion, and records of version 2.
def asked(value: Any, **more: Any) -> Record:
    values = {"preference": {"value": value}} | more
    fields = {"prompt": "Name a colour.", "response1": "Red.", "response2": "Blue"}
    return {
        "fields": fields,
        "responses": [{"user_id": "u", "status": "submitted", "values": values}],
    }


def ranking(*ranks: int) -> list[Record]:
    return [{"value": f"response-{k}", "rank": rank} for k, rank in enumerate(ranks, start=1)]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("Response 2", SECOND),
        ("response_1", FIRST),
        (ranking(2, 1), SECOND),
        (ranking(1, 2), FIRST),
        (ranking(1, 1), TIE),
        (["response-2", "response-1"], SECOND),
    ],
)
def test_answers_to_argilla_are_read_by_their_kind(value: Any, verdict: int) -> None:
    assert read_logs([asked(value)])[0].verdict.tolist() == [verdict]


def test_ratings_of_argilla_are_compared_and_one_alone_is_refused() -> None:
    record = asked(None)
    rated = {"rating-1": {"value": 2}, "rating-2": {"value": 1}}
    record["responses"][0]["values"] = rated
    assert read_logs([record])[0].verdict.tolist() == [FIRST]
    with pytest.raises(LogRowError, match="rating"):
        read_logs([asked(2)])


def test_records_of_argilla_2_are_read() -> None:
    answers = [{"user_id": "u", "value": "response2"}, {"user_id": "v", "value": "response1"}]
    record = asked(None) | {"responses": {"preference": answers}}
    log, _ = read_logs([record])
    assert (log.judges, log.verdict.tolist()) == (("annotator u", "annotator v"), [SECOND, FIRST])


def test_label_studio_may_ask_for_a_choice() -> None:
    chosen = [{"type": "choices", "value": {"choices": ["Response 2"]}}]
    beside = [{"value": {"choices": ["clear"]}}, {"value": {"selected": "left"}}]
    rows = [
        LABEL_STUDIO[0] | {"id": k, "annotations": [{"completed_by": 3, "result": result}]}
        for k, result in enumerate((chosen, beside))
    ]
    assert read_logs(rows)[0].verdict.tolist() == [SECOND, FIRST]


def rows_of_promptfoo(**changes: Any) -> list[Record]:
    return [row | changes for row in PROMPTFOO[0]["results"]["results"]]


def test_promptfoo_writes_lines_and_single_assertions() -> None:
    # The rows of `promptfoo eval -o results.jsonl`, of old versions without components.
    assert shown(read_logs(rows_of_promptfoo())[0]) == [("m", "n", FIRST)]
    alone = {"assertion": {"type": "llm-rubric", "value": "x"}, "pass": True, "score": 1}
    log, _ = read_logs(rows_of_promptfoo(gradingResult=alone))
    assert shown(log) == [("m", "n", TIE)]


def test_negated_assertions_are_a_models_too() -> None:
    # promptfoo, requiresLlm: "not-" before a type changes nothing about who decides.
    part = {"assertion": {"type": "not-llm-rubric", "value": "x"}, "score": 0}
    (log, _) = read_logs(rows_of_promptfoo(gradingResult={"componentResults": [part]}))
    assert log.judges == ("not-llm-rubric",)
    failed = rows_of_promptfoo(gradingResult=None, error="timed out")
    with pytest.raises(NoVerdictError, match="2 left out, answers that failed"):
        read_logs(failed)


def test_conversations_of_deepeval_are_test_cases() -> None:
    case = {"name": "talk", "metricsData": [{"name": "Retention", "score": 0.4}]}
    log, _ = read_logs([DEEPEVAL[0] | {"conversationalTestCases": [case]}])
    assert [(one.prompt, one.score) for one in log.scores][1:] == [("talk", 0.4)]


def test_metrics_of_lm_eval_that_are_no_score_are_counted() -> None:
    row = LM_EVAL[0] | {"metrics": ["acc", "perplexity"], "acc": None, "perplexity": [-3.2, 5]}
    log, _ = read_logs([row])
    assert [(one.judge, one.reason) for one in log.scores] == [("acc", "unparsed")]
    assert list(log.omitted.values()) == [1]
    # Hashes of old files, which have no list of metrics, may look like numbers.
    old = {name: cell for name, cell in LM_EVAL[0].items() if name != "metrics"}
    assert [one.judge for one in read_logs([old | {"doc_hash": "123"}])[0].scores] == [
        "judge_score"
    ]


def test_arrays_in_a_frame_are_lists() -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    talk = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Red."}]
    vote = {"question_id": 1, "model_a": "m", "model_b": "n", "winner": "model_a", "turn": 1}
    cells = {"conversation_a": numpy.array(talk), "conversation_b": numpy.array(talk)}
    log, _ = read_logs(pandas.DataFrame([vote | {"judge": "expert_1"} | cells]))
    assert [end.tolist() for end in log.lengths] == [[4], [4]]


def test_codes_are_numbers_however_they_are_written() -> None:
    rows = [
        {"one": "m", "two": "n", "pref": pref, "q": k}
        for k, pref in enumerate(("1.0", "-1", "+1", 0))
    ]
    named = {"left": "one", "right": "two", "result": "pref", "prompt": "q"}
    audit = audit_judges(rows, coding="1=left,-1.0=right,0=tie", **named)
    best = audit.leaderboard[0]
    assert (best.answerer, best.wins.hits, best.wins.trials) == ("m", 2, 3)
    assert audit.judges[0].ties.hits == 1


def test_a_log_that_is_mostly_copies_is_refused() -> None:
    rows = [{"left": "m", "right": "n", "winner": "m"}, {"left": "m", "right": "n", "winner": "n"}]
    with pytest.raises(RepeatedRecordsError, match=r"6 records in 'records', of which 2"):
        read_logs(rows * 3)
    assert list(read_logs(rows * 2)[0].omitted.values()) == [2]
    with pytest.raises(RepeatedRecordsError):
        read_logs(ARENA_HARD * 3)


def test_a_table_without_prompts_is_pointed_out() -> None:
    rows = [{"left": "m", "right": "n", "winner": "mn"[k % 2], "vote": k} for k in range(6)]
    assert any("without prompts" in note for note in audit_judges(rows).notes)
    asked = [row | {"prompt": row["vote"]} for row in rows]
    assert not any("without prompts" in note for note in audit_judges(asked).notes)
    # Answers that each met one other are prompts enough.
    once = [{"left": f"a{k}", "right": f"b{k}", "winner": "left"} for k in range(6)]
    assert not any("without prompts" in note for note in audit_judges(once).notes)


def test_scores_by_which_answers_were_chosen_are_pointed_out() -> None:
    # UltraFeedback keeps the scores by which the chosen answer was chosen.
    rows = [
        {"prompt": f"p{k}", "chosen": f"a{k}", "rejected": f"b{k}"}
        | {"score_chosen": 8.0, "score_rejected": 5.0}
        for k in range(30)
    ]
    assert any("in all of 30" in note for note in audit_judges(rows).notes)
    wrong = rows[0] | {"prompt": "p30", "score_chosen": 1.0}
    assert not any("in all of" in note for note in audit_judges([*rows, wrong]).notes)


def test_models_named_after_others_have_their_own_makers() -> None:
    # Who published them, by their model cards.
    makers = {
        **{"cerebras-gpt-6.7B": "Cerebras", "gpt-neox-20b": "EleutherAI", "gpt4all-j": "Nomic"},
        **{"llama-3.1-nemotron-70b-instruct": "NVIDIA", "palmyra-x4": "Writer"},
        **{"deepseek-r1-distill-llama-70b": "DeepSeek", "TinyLlama-1.1B": "", "open_llama_3b": ""},
        **{"Phi-3.5-mini-Instruct": "Microsoft", "qwq-32b": "Alibaba", "gpt-oss-20b": "OpenAI"},
        **{"openai/o3-mini": "OpenAI", "llama-13b": "Meta", "o1-mini": "OpenAI"},
    }
    assert dict(zip(makers, Makers({}).of(makers), strict=True)) == makers


def test_answers_of_arena_hard_are_objects(tmp_path: Path) -> None:
    # gen_answer.py of arena-hard-auto 0.1: turns are objects with content and token_len.
    turn = {"content": "Red.", "token_len": 2}
    answer = {"question_id": "q1", "model_id": "m", "choices": [{"index": 0, "turns": [turn]}]}
    games = [{"score": "A>B"}, {"score": "B>A"}]
    paths = []
    for name, row in (("games", ARENA_HARD[0] | {"games": games}), ("answers", answer)):
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text(json.dumps(row) + "\n", encoding="utf-8")
    log, _ = read_logs(paths)
    assert [end.tolist()[1 - k] for k, end in enumerate(log.lengths)] == [4, 4]


def test_turns_without_an_answer_have_no_length() -> None:
    # Kaggle's train.csv has null for a turn that failed.
    row = SAMPLES["arena one-hot"][0] | {"response_a": '["Red.", null]'}
    assert read_logs([row])[0].lengths[0].tolist() == [4]


def test_tables_of_ours_keep_ties_and_seats() -> None:
    battles = [
        {"model_a": "x", "model_b": "y", "winner": word, "judge": "j"}
        for word in ("model_a", "model_b", "tie")
    ]
    frame = to_comparisons(polars.DataFrame(battles)).frame
    assert frame.columns == ["better", "worse", "tied", "seat", "evaluator"]
    asked = frame.with_columns(prompt=polars.Series(["1", "2", "3"]))
    log, _ = read_logs(asked)
    assert shown(log) == [("x", "y", FIRST), ("x", "y", SECOND), ("x", "y", TIE)]
    assert (log.seated.all(), log.judges) == (True, ("j",))
    unseated, _ = read_logs(asked.drop("seat"))
    assert (unseated.seated.any(), unseated.verdict.tolist()) == (False, [FIRST, FIRST, TIE])


def test_the_web_apps_chosen_answers_are_no_texts() -> None:
    # docs/collect.md: chosen, rejected, tied, side (of the chosen one), evaluator.
    row = {"chosen": "x", "rejected": "y", "tied": "false", "side": "right", "evaluator": "ann"}
    rows = [row, row | {"chosen": "y", "rejected": "x", "tied": "true", "side": "left"}]
    log, (reading,) = read_logs(rows)
    assert (reading.form, log.judges) == ("table", ("ann",))
    assert shown(log) == [("y", "x", SECOND), ("y", "x", TIE)]


@pytest.mark.parametrize("change", [{"is_tie": 1}, {"tied": "maybe"}, {"seat": "A"}])
def test_marks_that_would_not_be_read_are_errors(change: Record) -> None:
    with pytest.raises(LogRowError, match=next(iter(change))):
        read_logs([{"better": "x", "worse": "y"} | change])


def test_tables_of_label_studio_hold_texts() -> None:
    rows = [{"text1": "Red.", "text2": "Blue", "pairwise": "right", "annotator": 3, "id": 1}]
    log, (reading,) = read_logs(rows)
    assert (reading.form, log.judges, log.verdict.tolist()) == ("table", ("3",), [SECOND])
    assert [end.tolist() for end in log.lengths] == [[4], [4]]


def test_judges_who_fail_give_no_score() -> None:
    # inspect_ai, model_graded_qa: a judge whose words hold no grade is written as I.
    words = {"": "empty", SORRY: "refused", "Well, it depends.": "unparsed"}
    for said, reason in words.items():
        score = {"value": "I", "explanation": f"Grade not found in model output: {said}"}
        sample = INSPECT[0]["samples"][0] | {"scores": {"qa": score}}
        (found,) = read_logs([INSPECT[0] | {"samples": [sample]}])[0].scores
        assert (math.isnan(found.score), found.reason) == (True, reason)
    # promptfoo, graderFail: a score of 0, and graderError among the metadata.
    part = {"assertion": {"type": "llm-rubric"}, "score": 0, "metadata": {"graderError": True}}
    log, (reading,) = read_logs(rows_of_promptfoo(gradingResult={"componentResults": [part]}))
    assert (log.verdict.tolist(), reading.missing) == ([NO_VERDICT], {"error": 1})


def test_an_answer_full_of_marks_is_read_in_no_time() -> None:
    # Looking for the end of each mark took two minutes.
    mark = "<|The Start of Assistant A's Answer|>\n"
    games = [{"score": "A>B", "user_prompt": mark * 20_000 + SHOWN.format("Blue", "Red.")}]
    began = time.process_time()
    log, _ = read_logs([ARENA_HARD[0] | {"games": games}])
    assert time.process_time() - began < 10
    assert log.lengths[1].tolist() == [4]
