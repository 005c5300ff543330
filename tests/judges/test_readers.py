"""Every format is recognised by its content, and its verdicts are those of the seats as shown."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from comparity.errors import LogRowError
from comparity.judges.log import JudgeLog
from comparity.judges.readers import NO_VERDICT, REASONS, known_readers
from comparity.judges.reading import read_logs
from tests.judges.samples import (
    ALPACA_EVAL,
    ARENA,
    ARENA_HARD,
    ARENA_JUDGES,
    DEEPEVAL,
    INSPECT,
    LLMBAR,
    LM_EVAL,
    MT_BENCH_ANSWERS,
    MT_BENCH_ORDERS,
    MT_BENCH_QUESTIONS,
    MT_BENCH_VOTES,
    PROMPTFOO,
    SAMPLES,
    Rows,
)

FIRST, TIE, SECOND = 1, 0, -1

# What is shown first, what second, and the verdict (2: none), by hand.
EXPECTED: dict[str, list[tuple[str, str, int]]] = {
    "arena-hard": [
        ("baseline", "m", FIRST),
        ("m", "baseline", FIRST),
        ("baseline", "m", NO_VERDICT),
        ("m", "baseline", TIE),
    ],
    # Winners are mapped back to the models: model_2 in game 2 stood first.
    "mt-bench pairs": [
        ("m", "n", FIRST),
        ("n", "m", FIRST),
        ("m", "n", TIE),
        ("n", "m", NO_VERDICT),
    ],
    "mt-bench votes": [("m", "n", FIRST), ("n", "m", TIE), ("m", "n", TIE)],
    # Winners are raw seats: A in "ba" is model_b.
    "mt-bench orders": [
        ("m", "n", FIRST),
        ("n", "m", FIRST),
        ("m", "n", FIRST),
        ("n", "m", SECOND),
    ],
    "mt-bench scores": [("m", "n", SECOND), ("m", "n", NO_VERDICT)],
    "position bias": [("m", "n", FIRST), ("n", "m", NO_VERDICT)],
    "arena": [("m", "n", FIRST), ("n", "m", TIE)],
    "arena one-hot": [("m", "n", SECOND)],
    "arena judges": [("m", "n", FIRST), ("n", "m", NO_VERDICT)],
    # Recorded of the first and the last; drawn from the instruction of the two between them, which
    # random.Random("is_switched_outputs" + instruction + "0") leaves and exchanges.
    "alpaca eval": [
        ("m", "base", FIRST),
        ("base", "m", FIRST),
        ("m", "base", SECOND),
        ("base", "m", FIRST),
    ],
    "inspect": [("m", "n", FIRST)],
    "promptfoo": [("m", "n", FIRST)],
    "promptfoo table": [("m", "n", FIRST), ("m", "n", NO_VERDICT)],
    "table": [("m", "n", FIRST), ("n", "m", SECOND), ("m", "n", TIE)],
}
# Answers without an author go by their text; here the start of their names will do.
BY_TEXT: dict[str, list[tuple[str, str, int]]] = {
    "llmbar": [
        ("output_1", "output_2", FIRST),
        ("output_2", "output_1", FIRST),
        ("output_1", "output_2", TIE),
    ],
    "judgebench": [("response_A", "response_B", FIRST), ("response_B", "response_A", FIRST)],
    "rewardbench": [("chosen", "rejected", SECOND)],
    "chosen, rejected": [("chosen", "rejected", FIRST)],
    "pandalm": [
        ("response1", "response2", FIRST),
        ("response1", "response2", SECOND),
        ("response1", "response2", TIE),
    ],
    # Whoever wrote them: the same text in the other place is the same answer.
    "label studio": [("text", "text", SECOND), ("text", "text", NO_VERDICT)],
    "argilla": [("text", "text", SECOND), ("text", "text", NO_VERDICT)],
}


def shown(log: JudgeLog) -> list[tuple[str, str, int]]:
    return [
        (log.answerers[a].split(" ")[0], log.answerers[b].split(" ")[0], int(verdict))
        for a, b, verdict in zip(log.first, log.second, log.verdict, strict=True)
    ]


def write_lines(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_every_reader_has_a_sample() -> None:
    assert set(SAMPLES) == set(known_readers())


@pytest.mark.parametrize("form", SAMPLES)
def test_a_sample_is_recognised_by_its_own_reader_first(form: str) -> None:
    matching = [name for name, one in known_readers().items() if one.matches(SAMPLES[form][0])]
    assert matching[0] == form
    # Plain tables share columns with some logs, and come last.
    assert set(matching) <= {form, "table"}


@pytest.mark.parametrize("form", [*EXPECTED, *BY_TEXT])
def test_verdicts_are_those_of_the_seats_as_shown(form: str) -> None:
    log, (reading,) = read_logs(SAMPLES[form])
    assert shown(log) == {**EXPECTED, **BY_TEXT}[form]
    assert reading.form == form


@pytest.mark.parametrize("form", [*EXPECTED, *BY_TEXT])
def test_a_format_can_be_forced(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(SAMPLES[form]), encoding="utf-8")
    log, _ = read_logs(path, form=form)
    assert shown(log) == {**EXPECTED, **BY_TEXT}[form]


@pytest.mark.parametrize("form", ["arena-hard", "mt-bench pairs", "llmbar", "position bias"])
def test_lengths_are_those_of_the_answers_as_shown(form: str) -> None:
    log, _ = read_logs(SAMPLES[form])
    one, two = log.lengths
    expected = {
        "arena-hard": (4, 4),
        "mt-bench pairs": (4, 4),
        "llmbar": (4, 4),
        "position bias": (8, 5),
    }
    assert (one[0], two[0]) == expected[form]
    assert (one[1], two[1]) == expected[form][::-1]


def test_the_truth_is_turned_with_the_seats() -> None:
    log, _ = read_logs(LLMBAR)
    assert log.gold.tolist() == [FIRST, SECOND, SECOND]
    log, _ = read_logs(SAMPLES["judgebench"])
    assert log.gold.tolist() == [SECOND, FIRST]
    log, _ = read_logs(ARENA_JUDGES)
    assert log.gold.tolist() == [SECOND, SECOND]


def test_reasons_of_missing_verdicts_are_kept() -> None:
    found = {}
    for form in ("arena-hard", "mt-bench pairs", "label studio", "argilla", "mt-bench scores"):
        log, _ = read_logs(SAMPLES[form])
        found[form] = [REASONS[code] for code in log.reason if code >= 0]
    assert found == {
        "arena-hard": ["unparsed"],
        "mt-bench pairs": ["error"],
        "label studio": ["empty"],
        "argilla": ["empty"],
        "mt-bench scores": ["unparsed"],
    }


SORRY = "I'm sorry, but I cannot compare these answers."
REFUSALS: dict[str, dict[str, Any]] = {
    "alpaca eval": {"preference": None, "raw_completion": SORRY},
    "arena-hard": {"games": [{"score": None, "judgment": SORRY}]},
    "judgebench": {"judgments": [{"decision": None, "judgment": {"response": SORRY}}]},
    "llmbar": {"results": [{"swap = False": {"winner": None, "completion": [SORRY, "stop"]}}]},
    "mt-bench orders": {"winner_ab": "error", "judgment_ab": SORRY},
    "mt-bench pairs": {"g1_winner": "error", "g1_judgment": SORRY},
    "position bias": {"some-judge": SORRY},
}


@pytest.mark.parametrize("form", REFUSALS)
def test_a_judge_who_refuses_is_not_misread(form: str) -> None:
    log, (reading,) = read_logs([SAMPLES[form][0] | REFUSALS[form]])
    assert log.verdict[0] == NO_VERDICT
    assert reading.missing == {"refused": 1}


def test_refusals_to_score_are_counted_as_such() -> None:
    said = {"results": [{"score_1": ["5", "stop"], "score_2": [SORRY, "stop"]}]}
    log, _ = read_logs([LLMBAR[1] | said])
    assert [REASONS[code] for code in log.reason] == ["refused"]
    score = SAMPLES["mt-bench scores"][2] | {"judgment": SORRY}
    assert [one.reason for one in read_logs([score])[0].scores] == ["refused"]


@pytest.mark.parametrize(
    ("judge", "orders"), [("gpt4_pair", 1), (["gpt-4", "pair-v2"], 1), ("llm-blender/pairrm", 0)]
)
def test_judges_of_both_orders_in_one_row_are_called_a_pair(judge: Any, orders: int) -> None:
    log, _ = read_logs([MT_BENCH_VOTES[0] | {"judge": judge}])
    assert log.orders.tolist() == [orders]


def test_collapsed_orders_have_no_seats() -> None:
    log, _ = read_logs(MT_BENCH_VOTES)
    assert log.people == ("expert_1", "expert_2")
    assert log.seated.tolist() == [True, True, False]
    assert log.orders.tolist() == [0, 0, 2]


def test_identical_outputs_that_nobody_judged_are_counted_and_left_out() -> None:
    log, _ = read_logs(ALPACA_EVAL)
    assert len(log) == len(ALPACA_EVAL) - 1
    assert list(log.omitted.values()) == [1]
    assert log.seated.all()
    assert log.strength.tolist() == pytest.approx([1.0, 0.6, 1.0, 1.0])


def test_told_lengths_stand_in_for_texts() -> None:
    log, _ = read_logs(ARENA)
    assert [end.tolist() for end in log.lengths] == [[4.0, 10.0], [4.0, 20.0]]


def test_files_beside_a_log_complete_it(tmp_path: Path) -> None:
    logs = [
        write_lines(tmp_path / "judged.jsonl", MT_BENCH_ORDERS),
        write_lines(tmp_path / "answers.jsonl", MT_BENCH_ANSWERS),
        write_lines(tmp_path / "questions.jsonl", MT_BENCH_QUESTIONS),
    ]
    log, readings = read_logs(logs)
    # Both turns were shown: Red. and Rot. against Blue and B.
    assert [end[0] for end in log.lengths] == [8, 5]
    assert [log.categories[code] for code in log.category] == ["writing"] * 2 + [""] * 2
    assert [one.judgments for one in readings] == [4, 0, 0]


def test_scores_of_several_files_become_pairs(tmp_path: Path) -> None:
    logs = [tmp_path / "m" / "run.json", tmp_path / "n" / "run.json"]
    for path, score in zip(logs, (0.9, 0.4), strict=True):
        path.parent.mkdir()
        case = {**DEEPEVAL[0]["testCases"][0], "metricsData": [{"name": "R", "score": score}]}
        path.write_text(json.dumps({"testCases": [case]}), encoding="utf-8")
    log, _ = read_logs(logs)
    assert shown(log) == [("m", "n", FIRST)]
    assert log.strength[0] == pytest.approx(0.5)


def test_lm_eval_samples_of_two_models_are_compared(tmp_path: Path) -> None:
    logs = []
    for model, score in (("m", 0.0), ("n", 1.0)):
        path = tmp_path / model / "samples_colours_2026-01-01.jsonl"
        path.parent.mkdir()
        logs.append(write_lines(path, [LM_EVAL[0] | {"judge_score": score, "model": model}]))
    log, _ = read_logs(logs)
    assert shown(log) == [("m", "n", SECOND)]
    assert log.prompts == ("colours 0",)


def test_filters_of_lm_eval_are_judges_of_their_own(tmp_path: Path) -> None:
    logs = []
    for model, right in (("m", (0.0, 1.0)), ("n", (1.0, 1.0))):
        path = tmp_path / model / "samples_sums_2026-01-01.jsonl"
        path.parent.mkdir()
        row = {name: cell for name, cell in LM_EVAL[0].items() if name != "judge_score"}
        row |= {"metrics": ["exact_match"], "resps": [["It is 72, I think."]]}
        taken = (("strict-match", "[invalid]"), ("flexible-extract", "72"))
        rows = [
            row | {"filter": how, "filtered_resps": [answer], "exact_match": score}
            for (how, answer), score in zip(taken, right, strict=True)
        ]
        logs.append(write_lines(path, rows))
    log, _ = read_logs(logs)
    assert log.judges == ("exact_match, strict-match", "exact_match, flexible-extract")
    assert log.verdict.tolist() == [SECOND, TIE]
    assert (len(log.scores), log.omitted, log.several_texts) == (4, {}, {})


def test_all_tasks_of_a_model_are_of_one_answerer(tmp_path: Path) -> None:
    # lm-eval writes <model>/samples_<task>_<date>.jsonl, one file for each task.
    logs = {}
    for day, (model, score) in enumerate((("org__m", 0.0), ("org__n", 1.0)), start=1):
        for task in ("colours", "sums"):
            path = tmp_path / model / f"samples_{task}_2026-01-0{day}T00-00-00.000.jsonl"
            path.parent.mkdir(exist_ok=True)
            row = LM_EVAL[0] | {"doc": {"question": task}, "judge_score": score}
            logs.setdefault(model, []).append(write_lines(path, [row]))
    log, _ = read_logs([*logs["org__m"], *logs["org__n"]])
    assert shown(log) == [("org__m", "org__n", SECOND)] * 2
    assert log.prompts == ("colours 0", "sums 0")
    alone, _ = read_logs(logs["org__m"])
    assert {one.answerer for one in alone.scores} == {"org__m 2026-01-01T00-00-00.000"}


def promptfoo(*columns: tuple[str, str, int | None, float], raw: str = "Name it") -> Rows:
    """Return results of one test: provider's id and label, number of the column, score."""
    (whole,) = PROMPTFOO
    (row, *_) = whole["results"]["results"]
    (_, part) = row["gradingResult"]["componentResults"]
    rows = [
        row
        | {"provider": {"id": who, "label": label}, "prompt": {"raw": raw, "label": raw}}
        | {"promptIdx": place, "gradingResult": {"componentResults": [part | {"score": score}]}}
        for who, label, place, score in columns
    ]
    return [whole | {"results": {"version": 3, "results": rows}}]


def test_providers_of_one_model_are_told_apart_by_their_labels() -> None:
    log, _ = read_logs(promptfoo(("gpt", "hot", 0, 1.0), ("gpt", "cold", 1, 0.5)))
    assert {one.answerer: one.score for one in log.scores} == {"gpt, hot": 1.0, "gpt, cold": 0.5}
    assert log.omitted == {}


def test_prompts_of_promptfoo_are_numbered_and_not_quoted(tmp_path: Path) -> None:
    columns = (("gpt", "", 2, 0.5), ("gpt", "", 0, 1.0), ("mini", "", 1, 0.0))
    expected = {"gpt (prompt 1)": 1.0, "gpt (prompt 2)": 0.5, "mini": 0.0}
    log, _ = read_logs(promptfoo(*columns, raw="A secret"))
    assert {one.answerer: one.score for one in log.scores} == expected
    rows = promptfoo(*columns)[0]["results"]["results"]
    log, _ = read_logs(write_lines(tmp_path / "results.jsonl", rows))
    assert sorted(one.answerer for one in log.scores) == [
        "gpt",
        "gpt (column 3)",
        "mini (column 2)",
    ]
    cells = {"topic": "rivers", "[m] A secret": "[PASS] (1.00) Elbe", "[m] b": "[FAIL] (0.25) No"}
    log, _ = read_logs([cells])
    assert shown_whole(log) == [("m (prompt 1)", "m (prompt 2)", FIRST)]


def shown_whole(log: JudgeLog) -> list[tuple[str, str, int]]:
    return [
        (log.answerers[a], log.answerers[b], int(verdict))
        for a, b, verdict in zip(log.first, log.second, log.verdict, strict=True)
    ]


def test_the_same_texts_in_the_other_order_are_twins() -> None:
    rows = [
        {"prompt": "p", "text1": "Red.", "text2": "Blue", "pw": "left"},
        {"prompt": "p", "text1": "Blue", "text2": "Red.", "pw": "left"},
    ]
    log, (reading,) = read_logs(rows)
    assert len({*log.pair.tolist()}) == 1
    assert reading.seats == "both orders"


def test_answers_in_a_table_are_no_names_of_answerers() -> None:
    long, short = "Blue. " * 20, "Red."
    row = {"prompt": "Name a colour. " * 10, "left": long, "right": short, "winner": "left"}
    log, _ = read_logs([row], keep_texts=True)
    assert shown(log) == [("text", "text", FIRST)]
    assert [end[0] for end in log.lengths] == [120, 4]
    assert "Blue" not in "".join(log.answerers)
    assert [*log.questions.values()] == [row["prompt"]]
    names, _ = read_logs([row | {"left": "m", "right": "n"}])
    assert names.answerers == ("m", "n")


@pytest.mark.parametrize("form", ["label studio", "argilla"])
def test_records_without_ids_are_prompts_of_their_own(form: str) -> None:
    (row,) = SAMPLES[form]
    row = {name: cell for name, cell in row.items() if name != "id"}
    where = "data" if form == "label studio" else "fields"
    texts = ("text1", "text2") if form == "label studio" else ("response-1", "response-2")
    rows = [row | {where: {texts[0]: f"Red {k}", texts[1]: "Blue"}} for k in range(3)]
    assert len(read_logs(rows)[0].prompts) == 3


def test_annotators_without_ids_are_numbered() -> None:
    (row,) = SAMPLES["argilla"]
    answers = [one | {"user_id": None} for one in row["responses"]]
    assert read_logs([row | {"responses": answers}])[0].judges == ("annotator 1", "annotator 2")


@pytest.mark.parametrize("is_text", [True, False])
def test_a_prompt_may_stand_in_the_conversations_alone(is_text: bool) -> None:
    def said(answer: str) -> Any:
        if is_text:
            return f"\n\nHuman: Name a colour.\n\nAssistant: {answer}"
        asked = {"role": "user", "content": "Name a colour."}
        return [asked, {"role": "assistant", "content": answer}]

    rows = [{"chosen": said("Red."), "rejected": said(other)} for other in ("Blue", "Lilac!")]
    log, _ = read_logs(rows)
    assert len(log.prompts) == 1
    assert [end.tolist() for end in log.lengths] == [[4, 4], [4, 6]]


def test_a_dialogue_may_be_the_prompt() -> None:
    row = {"prompt": "\n\nHuman: Name a colour.\n\nAssistant:", "chosen": " Red."}
    log, _ = read_logs([row | {"rejected": other} for other in ("Blue", "Lilac!")])
    assert len(log.prompts) == 1
    assert [end.tolist() for end in log.lengths] == [[5, 5], [4, 6]]


def test_scores_of_rewardbench_2_may_stand_in_lists_of_their_own() -> None:
    row = {"id": "1", "subset": "Math", "results": 1.0, "num_correct": 1}
    log, _ = read_logs([row | {"text": ["a", "b", "c"], "scores": [[0.5], [0.7], [0.1]]}])
    assert log.verdict.tolist() == [SECOND, FIRST]


def test_ratings_of_preference_data_are_scores() -> None:
    row = {"prompt": "Name a colour.", "chosen": "Red.", "rejected": "Blue"}
    rows = [row | {"chosen_rating": 3.0, "rejected_rating": 4.5, "chosen_model": "m"}]
    log, _ = read_logs(rows)
    assert (shown(log), log.gold.tolist()) == ([("m", "rejected", SECOND)], [FIRST])


def test_an_inspect_archive_is_read_as_its_json(tmp_path: Path) -> None:
    logs = []
    for number, whole in enumerate(INSPECT):
        path = tmp_path / f"{number}.eval"
        header = {name: value for name, value in whole.items() if name != "samples"}
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", json.dumps(header))
            archive.writestr("samples/1_epoch_1.json", json.dumps(whole["samples"][0]))
        logs.append(path)
    log, _ = read_logs(logs)
    assert shown(log) == [("m", "n", FIRST)]


def test_a_judge_whom_the_log_does_not_name_is_found_in_the_path(tmp_path: Path) -> None:
    logs = []
    for judge in ("GPT-4/CoT", "Falcon/CoT"):
        path = tmp_path / judge / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([LLMBAR[0] | {"about": judge}]), encoding="utf-8")
        logs.append(path)
    assert read_logs(logs)[0].judges == ("GPT-4", "Falcon")
    assert read_logs(logs[:1])[0].judges == ("GPT-4/CoT",)
    assert read_logs(logs[:1], judge="mine")[0].judges == ("mine",)


def test_files_of_one_name_are_two_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One below the other: the part in which their paths differ is empty for the first.
    monkeypatch.chdir(tmp_path)
    logs = [Path("run.json"), Path("old/run.json")]
    for path in logs:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([LLMBAR[0] | {"about": str(path)}]), encoding="utf-8")
    assert read_logs(logs)[0].judges == ("run.json", "old/run.json")


def test_judges_of_judgebench_are_told_apart_by_their_files(tmp_path: Path) -> None:
    # run_judge.py writes the prompt's name into records, and the model into the file's name.
    named = "dataset=judgebench,response_model={},judge_name=arena_hard,judge_model={}.jsonl"
    (row,) = SAMPLES["judgebench"]
    logs = [
        write_lines(tmp_path / named.format(answerer, judge), [row | {"pair_id": answerer + judge}])
        for answerer, judge in (("m", "llama-3.1-8B"), ("m", "o1-mini"), ("n", "o1-mini"))
    ]
    assert read_logs(logs)[0].judges == ("llama-3.1-8B (arena_hard)", "o1-mini (arena_hard)")
    assert read_logs(logs[:1])[0].judges == ("llama-3.1-8B (arena_hard)",)
    assert read_logs(logs[:2], judge="mine")[0].judges == ("mine",)
    renamed = [
        write_lines(tmp_path / f"{one}.jsonl", [row | {"pair_id": one}]) for one in ("a", "b")
    ]
    assert read_logs(renamed)[0].judges == ("a (arena_hard)", "b (arena_hard)")
    # Judgments of chat models name the model, too.
    game = {"judgment": {"judge_model": "o1"}, "decision": "A>B"}
    told = write_lines(tmp_path / "c.jsonl", [row | {"judgments": [game, None]}])
    log, _ = read_logs(told)
    assert log.judges == ("o1 (arena_hard)",)
    assert [REASONS[code] for code in log.reason if code >= 0] == ["error"]


@pytest.mark.parametrize("ending", ["jsonl", "json", "jsonl.gz", "csv", "tsv", "parquet"])
def test_the_form_of_the_file_does_not_matter(ending: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    path = tmp_path / f"log.{ending}"
    text = "".join(json.dumps(row) + "\n" for row in SAMPLES["table"])
    frame = polars.DataFrame(SAMPLES["table"])
    if ending == "jsonl.gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif ending == "parquet":
        frame.write_parquet(path)
    elif ending in ("csv", "tsv"):
        frame.write_csv(path, separator="," if ending == "csv" else "\t")
    else:
        path.write_text(text, encoding="utf-8")
    assert shown(read_logs(path)[0]) == EXPECTED["table"]


def test_a_frame_is_read_as_its_rows() -> None:
    pandas = pytest.importorskip("pandas")
    assert shown(read_logs(pandas.DataFrame(SAMPLES["table"]))[0]) == EXPECTED["table"]


def test_columns_and_codes_can_be_named() -> None:
    rows: list[dict[str, Any]] = [
        {"one": "m", "two": "n", "pref": 1, "q": "p1"},
        {"one": "n", "two": "m", "pref": -1, "q": "p1"},
        {"one": "m", "two": "n", "pref": 0, "q": "p2"},
    ]
    facts = {
        "columns": {"left": "one", "right": "two", "result": "pref", "prompt": "q"},
        "coding": {"1": FIRST, "-1": SECOND, "0": TIE},
    }
    log, _ = read_logs(rows, form="table", **facts)
    assert shown(log) == EXPECTED["table"]
    assert log.prompts == ("p1", "p2")


def test_winners_by_name_are_read_as_tables_or_votes() -> None:
    rows = [
        {"id": 1, "model_a": "x", "model_b": "y", "winner": "y"},
        {"id": 2, "model_a": "y", "model_b": "x", "winner": "y"},
        {"id": 3, "model_a": "x", "model_b": "y", "winner": "tie"},
    ]
    expected = [("x", "y", SECOND), ("y", "x", FIRST), ("x", "y", TIE)]
    log, (reading,) = read_logs(rows)
    assert (reading.form, shown(log), log.people) == ("table", expected, ())
    # Here the first record does not tell.
    with pytest.raises(LogRowError, match="a model's name, which the format 'table' reads"):
        read_logs(rows[::-1])
    assert len(read_logs(rows[::-1], form="table")[0]) == 3
    votes = [row | {"question_id": row["id"], "judge": "expert_1", "turn": 1} for row in rows]
    for each in (votes, votes[::-1]):
        log, (reading,) = read_logs(each)
        assert (reading.form, log.people) == ("mt-bench votes", ("expert_1",))
        assert sorted(shown(log)) == sorted(expected)


def test_the_baseline_can_be_named() -> None:
    log, _ = read_logs(ARENA_HARD, baseline="gpt-4-0314")
    assert log.answerers == ("gpt-4-0314", "m")
