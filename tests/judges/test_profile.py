"""Every number that PROFILE.md has of the real logs comes out; plain Python computed it there.

Tables are read from the page itself: a row is a fact, a column a judge or a file.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from comparity.judges.agreement import compare_judges
from comparity.judges.answerers import Makers
from comparity.judges.by_group import compare_own_makers
from comparity.judges.log import JudgeLog
from comparity.judges.rates import (
    Rows,
    compare_orders,
    count_repeats,
    find_twins,
    first_seat,
    longer_answer,
    ties,
)
from comparity.judges.readers import NO_VERDICT
from comparity.judges.reading import read_logs

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set"),
]
FOLDER = Path(os.environ.get("COMPARITY_DATA", "")) / "judge_logs"
Pair = tuple[int, int]


def page() -> str:
    if not (FOLDER / "PROFILE.md").is_file():
        pytest.skip("no judge logs in the data folder")
    return (FOLDER / "PROFILE.md").read_text(encoding="utf-8")


def table(heading: str) -> dict[str, dict[str, str]]:
    """Return the first table below a heading: cells by column and fact."""
    lines = page().partition(heading)[2].splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    header, body = rows[0], rows[2:]
    return {
        name: {row[0]: row[place] for row in body} for place, name in enumerate(header) if place
    }


@cache
def logs(*patterns: str) -> JudgeLog:
    paths = [path for one in patterns for path in sorted(FOLDER.glob(one))]
    assert paths, patterns
    return read_logs(paths)[0]


def twins(log: JudgeLog, rows: Rows) -> Pair:
    found = compare_orders(log, rows)
    assert found is not None
    return found.flips, found.consistent.trials


def decided_flips(log: JudgeLog, rows: Rows) -> Pair:
    found = compare_orders(log, rows)
    assert found is not None
    return found.decided_flips, found.decided


def first_both(log: JudgeLog, rows: Rows) -> Pair:
    found = compare_orders(log, rows)
    assert found is not None
    return found.first_both, found.decided_flips


def seat(log: JudgeLog, rows: Rows) -> Pair:
    found, _ = first_seat(log, rows)
    assert found is not None
    return found.hits, found.trials


def longer(log: JudgeLog, rows: Rows) -> Pair:
    found = longer_answer(log, rows)
    assert found is not None
    return found.hits, found.trials


def tied(log: JudgeLog, rows: Rows) -> Pair:
    found = ties(log, rows)
    return found.hits, found.trials


def agreed(log: JudgeLog, rows: Rows, *, decided: bool) -> Pair:
    kept = rows & (log.verdict != NO_VERDICT) & (log.gold != NO_VERDICT)
    if decided:
        kept = kept & (log.verdict != 0) & (log.gold != 0)
    return int(np.sum(kept & (log.verdict == log.gold))), int(kept.sum())


def model_wins(log: JudgeLog, rows: Rows) -> Pair:
    decided = rows & np.isin(log.verdict, (1, -1))
    base = log.answerers.index("baseline")
    won = decided & ((log.verdict == 1) == (log.second == base))
    return int(won.sum()), int(decided.sum())


SHARES: dict[str, Callable[[JudgeLog, Rows], Pair]] = {
    "ties": tied,
    "first-seat share of decisive": seat,
    "flip rate (verdict identity differs, tie counts)": twins,
    "decisive flips (both decisive, winner differs)": decided_flips,
    "of decisive flips: first seat both times": first_both,
    "longer answer wins (decisive, chars, equal excluded)": longer,
    "model beats baseline (decisive)": model_wins,
}
NUMBERS: dict[str, Callable[[JudgeLog, Rows], int]] = {
    "presentations": lambda log, rows: int(rows.sum()),
    "pairs (item x unordered models)": lambda log, rows: len(np.unique(log.pair[rows])),
    "no verdict": lambda log, rows: int(np.sum(log.verdict[rows] == NO_VERDICT)),
    "pairs with both seats valid": lambda log, rows: twins(log, rows)[1],
}
# About the answerers of one study, and about people: not what is asked here of a judge.
OTHER = ("claude-opus-4 wins", "human:")


def pair_in(cell: str) -> Pair:
    found = re.search(r"\((\d+)/(\d+)\)", cell)
    assert found, cell
    return int(found[1]), int(found[2])


def check(facts: dict[str, str], log: JudgeLog, rows: Rows) -> None:
    """Compare all facts of a column; those that do not exist are dashes."""
    assert facts
    for fact, cell in facts.items():
        if cell == "\u2013" or fact.startswith(OTHER):
            continue
        if fact in NUMBERS:
            assert NUMBERS[fact](log, rows) == int(cell), fact
        elif fact.startswith("agreement with"):
            assert agreed(log, rows, decided=fact.endswith("both decisive")) == pair_in(cell), fact
        else:
            assert SHARES[fact](log, rows) == pair_in(cell), fact


def of_judge(log: JudgeLog, name: str) -> Rows:
    return np.asarray(log.judge == log.judges.index(name))


@pytest.mark.parametrize("variant", ["all", "pair-v2", "pair-math-v1"])
def test_fastchat_pairs(variant: str) -> None:
    log = logs("fastchat_pair/gpt-4_pair.jsonl")
    rows = np.ones(len(log), dtype=bool)
    if variant != "all":
        rows = log.category == log.categories.index(variant)
    check(table("### gpt-4_pair.jsonl")[variant], log, rows)


@pytest.mark.parametrize("judge", ["gpt-3.5-turbo-0125", "claude-3.5-sonnet-v2", "gpt-4o"])
def test_arena_hard_with_texts(judge: str) -> None:
    log = logs("arena_hard/[gc]*/*.jsonl")
    check(table("### with texts")[judge], log, of_judge(log, judge))


def test_arena_hard_answers_of_other_questions_are_pointed_out() -> None:
    assert logs("arena_hard/[gc]*/*.jsonl").mismatched == ("Nexusflow__Athene-V2-Chat",)


def test_arena_hard_ensemble_by_model() -> None:
    log = logs("arena_hard/ko_ensemble/*.jsonl")
    facts = table("### ko_ensemble")
    assert len(facts) == 6
    for model, column in facts.items():
        code = log.answerers.index(model)
        check(column, log, (log.first == code) | (log.second == code))


@pytest.mark.parametrize("judge", ["ChatGPT-0301/Vanilla", "ChatGPT/CoT", "ChatGPT/Vanilla"])
def test_llmbar_chatgpt(judge: str) -> None:
    log = logs("llmbar/Natural/*/*/result.json")
    check(table("### Natural, 100 pairs")[judge], log, of_judge(log, judge))


def test_llmbar_other_judges() -> None:
    log = logs("llmbar/Natural/*/*/result.json")
    for judge, facts in table("### Natural, 100 pairs").items():
        check(facts, log, of_judge(log, judge))
    rating = of_judge(log, "GPT-4/Rating")
    # 100 pairs, 10 with equal scores; no seats.
    assert tied(log, rating) == (10, 100)
    assert first_seat(log, rating)[0] is None


def test_llmbar_mt_bench() -> None:
    log = logs("llmbar/MT-Bench/*/*/result.json")
    for judge, facts in table("### MT-Bench subset").items():
        check(facts, log, of_judge(log, judge))


PANELS = {
    "**LLMBar Natural, Vanilla**": ("llmbar/Natural/*/Vanilla/result.json",),
    "**MT-Bench subset**": ("llmbar/MT-Bench/*/*/result.json",),
    "**mtbench_repro_en**": ("mtbench_repro_en/judgments/*/*/pairwise/*.jsonl",),
}


@pytest.mark.parametrize("heading", PANELS)
def test_agreement_of_judges_in_the_same_seats(heading: str) -> None:
    found = {
        frozenset((one.first, one.second)): one.raw
        for one in compare_judges(logs(*PANELS[heading]))
        if one.ties and one.matched == "same seats"
    }
    compared = 0
    for one, row in table(heading).items():
        for two, cell in row.items():
            if not cell:
                continue
            share, n = re.findall(r"[\d.]+", cell)
            names = frozenset(name.removesuffix("/Vanilla") for name in (one, two))
            assert found[names].trials == int(n)
            assert 100 * found[names].rate == pytest.approx(float(share), abs=0.0501)
            compared += 1
    assert compared >= 12


def test_mtbench_repro() -> None:
    log = logs(
        "mtbench_repro_en/judgments/*/*/pairwise/*.jsonl",
        "mtbench_repro_en/answers/*.jsonl",
        "mtbench_repro_en/questions.jsonl",
    )
    for judge, facts in table("### per judge").items():
        check(facts, log, of_judge(log, judge))


def test_position_bias() -> None:
    for column, facts in table("### verdict = last").items():
        run, judge = column.split(" ")
        log = logs(f"position_bias/{run}/record_{judge}_3.tsv")
        check(facts, log, of_judge(log, judge))


def test_position_bias_is_repeated_in_two_runs() -> None:
    log = logs("position_bias/rep*/record_gpt-4-0613_3.tsv")
    same, again = count_repeats(log, np.ones(len(log), dtype=bool))
    # "Repetition stability of gpt-4-0613 (same seats, two runs): 93.8% (180/192)"
    assert (same.sum(), again.sum()) == (180, 192)
    assert len(find_twins(log, np.ones(len(log), dtype=bool))[0]) == 192


def test_arena_judges() -> None:
    facts = table("### claude-opus-4 against")
    assert len(facts) == 6
    for name, column in facts.items():
        pair, judge = name.rsplit("_", 1)
        paths = [f"arena_judges/claude-opus-4-20250514_vs_{pair}_{judge}.json"]
        if pair.startswith("qwen"):
            paths.append(f"arena_judges/claude-opus-4-20250514_vs_{pair}.parquet")
        log = logs(*paths)
        rows = of_judge(log, judge)
        check(column, log, rows)
        first = int(np.sum(log.gold[rows] == 1))
        assert (first, int(rows.sum())) == pair_in(column["human: first-seat share"])
        if pair.startswith("qwen"):
            people = of_judge(log, "people")
            assert longer(log, people) == pair_in(column["human: longer answer wins"])


def ties_of_one_person() -> int:
    """Count pairs that one person called a tie twice: the page takes her for two people."""
    text = (FOLDER / "mtbench_human" / "human.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    names = ("judge", "question_id", "turn", "winner")
    said = Counter(
        (*(row[name] for name in names), frozenset((row["model_a"], row["model_b"])))
        for row in rows
    )
    again = {key: n for key, n in said.items() if n > 1}
    assert all((key[3], n) == ("tie", 2) for key, n in again.items())
    return len(again)


def test_people_and_gpt_4_on_mt_bench() -> None:
    log = logs("mtbench_human/*.jsonl")
    text = page()
    found = {(one.first, one.second, one.ties): one.raw for one in compare_judges(log)}
    for words, first, second in (
        ("GPT-4 vs each human vote", "gpt4_pair", "people's votes"),
        ("GPT-4 vs human majority", "gpt4_pair", "people's majority"),
        ("human vs human", "people's votes", "other people's votes"),
    ):
        line = text.partition(words)[2].partition("\n")[0]
        pairs = [(int(a), int(b)) for a, b in re.findall(r"\((\d+)/(\d+)\)", line)]
        for ties_count, expected in zip((True, False), pairs, strict=True):
            raw = found[first, second, ties_count]
            more = ties_of_one_person() if ties_count and words == "human vs human" else 0
            assert (raw.hits + more, raw.trials + more) == expected, words
    # "flip rate (tie (inconsistent)) 15.8% (380/2400)"; "3355 by 65 judges".
    assert twins(log, of_judge(log, "gpt4_pair")) == (380, 2400)
    people = np.isin(log.judges, log.people)[log.judge]
    assert (len(log.people), int(people.sum())) == (65, 3355)
    assert seat(log, people) == (1293, 2575)
    assert tied(log, people) == (780, 3355)


def test_scores_of_single_answers_are_those_of_the_page() -> None:
    line = next(one for one in page().splitlines() if one.startswith("gpt-4_single.jsonl:"))
    counted = {int(a): int(b) for a, b in re.findall(r"(\d+): (\d+)[,}]", line.split("models")[0])}
    found = [one.score for one in logs("fastchat_pair/gpt-4_single.jsonl").scores]
    assert {value: found.count(value) for value in {*found}} == counted


def test_wins_of_a_judge_s_own_maker_are_those_of_the_page() -> None:
    line = next(one for one in page().splitlines() if one.startswith("- own family OpenAI"))
    expected = [tuple(map(int, pair)) for pair in re.findall(r"\((\d+)/(\d+)\)", line)]
    log = logs("mtbench_human/*.jsonl")
    # The page counts pairs that people judged, too.
    judged = np.unique(log.pair[np.isin(log.judges, log.people)[log.judge]])
    (own,) = compare_own_makers(log.take(np.isin(log.pair, judged)), Makers({}), 0.95)
    assert own.by_people is not None
    assert [(one.hits, one.trials) for one in (own.wins, own.by_people)] == expected
    assert (own.maker, own.by_others) == ("OpenAI", None)


def test_wins_of_makers_with_several_judges_are_those_of_the_page() -> None:
    log = logs("mtbench_repro_en/**/*.jsonl")
    facts = table("**own family:**")
    for own in compare_own_makers(log, Makers({}), 0.95):
        (row,) = (
            {name: cells[fact] for name, cells in facts.items()}
            for fact in facts["own judge"]
            if fact.startswith(own.judge)
        )
        for name, found in (("own judge", own.wins), ("other judges pooled", own.by_others)):
            assert found is not None
            assert f"({found.hits}/{found.trials})" in row[name]
