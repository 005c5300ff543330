"""By group: Fisher's test of scipy, all ways to draw, and comparative separation are witnesses."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact

from comparity import comparative_separation
from comparity.inference.exact_sums import drawn_p_value
from comparity.judges.answerers import Makers
from comparity.judges.by_group import compare_by_group, find_failing_groups
from comparity.judges.reading import read_logs
from tests.plain import judges as plain


def pairs(failed: set[tuple[int, str]]) -> list[dict[str, object]]:
    """Make a log of three answerers on 12 prompts of two categories."""
    rows = []
    for prompt in range(12):
        for one, two in (("m", "n"), ("m", "o"), ("n", "o")):
            word = "error" if (prompt, one + two) in failed else "A"
            rows.append(
                {"question_id": prompt, "model_a": one, "model_b": two, "judge_id": "j"}
                | {"winner_ab": word, "winner_ba": "B", "winner": one}
                | {"category": "even" if prompt % 2 == 0 else "odd"}
            )
    return rows


def test_failures_are_counted_by_prompt_and_by_pair() -> None:
    failed = {(k, "mn") for k in (0, 2, 4)} | {(k, "mo") for k in (0, 6, 8)}
    log, _ = read_logs(pairs(failed))
    tests = find_failing_groups(log, "j")
    found = {(one.kind, one.group): one for one in tests}
    even = found["category", "even"]
    # Prompt 0 failed twice and counts once.
    assert (even.failed, even.trials, even.others_failed, even.others) == (5, 6, 0, 6)
    assert even.p_value == pytest.approx(fisher_exact([[5, 1], [0, 6]]).pvalue)
    m = found["answerer", "m"]
    assert (m.failed, m.trials, m.others_failed) == (6, 24, 0)
    # Of three pairs of a prompt two have m: 1/3 that both failures of prompt 0 do, 2/3 elsewhere.
    assert m.p_value == pytest.approx(plain.failures_p([(2, 2, 3)] + [(1, 2, 3)] * 4, 6))
    assert m.p_adjusted >= m.p_value


def test_a_bad_answer_that_fails_in_all_its_pairs_accuses_no_answerer() -> None:
    # In a quarter of 40 prompts a random answer of five fails in all of its four pairs.
    rng = np.random.default_rng(8)
    found, pairwise = [], []
    names = "mnopq"
    for _ in range(60):
        bad = [rng.choice([*names]) if rng.random() < 0.25 else "" for _ in range(40)]
        rows = [
            {"question_id": k, "model_a": one, "model_b": two, "judge_id": "j", "winner": one}
            | {"winner_ab": "error" if bad[k] in (one, two) else "A", "winner_ba": "B"}
            for k in range(40)
            for one, two in combinations(names, 2)
        ]
        tests = find_failing_groups(read_logs(rows)[0], "j")
        found += [one.p_value <= 0.05 for one in tests if one.kind == "answerer"]
        strata = [(4, 4, 10)] * sum(map(bool, bad))
        seen = sum({"m": 4, "": 0}.get(one, 1) for one in bad)
        pairwise.append(drawn_p_value(strata, seen) <= 0.05)
    assert np.mean(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(found))
    # Pairs drawn one by one would accuse many.
    assert np.mean(pairwise) > 0.1


def test_prompts_with_more_judgments_fail_more_easily_and_are_not_accused() -> None:
    # Odd prompts have two judgments, even ones twelve; each fails with a chance of 0.05.
    rng = np.random.default_rng(9)
    found, by_prompt = [], []
    for _ in range(150):
        fails = rng.random((60, 12)) < 0.05
        fails[1::2, 2:] = False
        rows = [
            {"question_id": k, "model_a": f"m{place}", "model_b": "n", "judge_id": "j"}
            | {"winner": "n", "category": "odd" if k % 2 else "even"}
            | dict(zip(("winner_ab", "winner_ba"), np.where(pair, "error", "A"), strict=True))
            for k in range(60)
            for place, pair in enumerate(fails[k, : 2 if k % 2 else 12].reshape(-1, 2))
        ]
        tests = find_failing_groups(read_logs(rows)[0], "j")
        found += [one.p_value <= 0.05 for one in tests if one.kind == "category"]
        hits = [int(fails[side::2].any(1).sum()) for side in (0, 1)]
        table = [[hits[0], 30 - hits[0]], [hits[1], 30 - hits[1]]]
        by_prompt.append(fisher_exact(table).pvalue <= 0.05)
    assert np.mean(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(found))
    assert np.mean(by_prompt) > 0.5


def test_a_category_that_fails_more_often_is_found_among_prompts_of_its_size() -> None:
    # 6 of 10 prompts of two judgments fail in one category, none of 10 in the other, and none of
    # the 20 with twelve: by hand 2 * C(10, 6) of C(20, 6).
    rows = [
        {"question_id": k, "model_a": f"m{place}", "model_b": "n", "judge_id": "j", "winner": "n"}
        | {"category": "hard" if k % 2 else "easy"}
        | {"winner_ab": "error" if k % 2 and k < 12 else "A", "winner_ba": "B"}
        for k in range(40)
        for place in range(1 if k < 20 else 6)
    ]
    tests = find_failing_groups(read_logs(rows)[0], "j")
    (hard,) = (one for one in tests if (one.kind, one.group) == ("category", "hard"))
    assert (hard.failed, hard.trials, hard.others_failed, hard.others) == (6, 20, 0, 20)
    assert hard.p_value == pytest.approx(2 * comb(10, 6) / comb(20, 6))


def test_a_judge_that_never_fails_has_no_tests() -> None:
    log, _ = read_logs(pairs(set()))
    assert find_failing_groups(log, "j") == ()


def test_agreement_by_group_is_comparative_separation() -> None:
    rng = np.random.default_rng(4)
    rows, pairs, scores, texts, prompts = [], [], [], [], []
    for prompt in range(60):
        for pair in range(2):
            both = [f"{prompt} {pair} {k} " + "x" * int(rng.integers(1, 90)) for k in "ab"]
            # The reward model likes long answers.
            marks = [len(text) / 40 + rng.normal() for text in both]
            row = {"prompt": f"p{prompt}", "chosen": both[0], "rejected": both[1]}
            rows.append(row | {"score_chosen": marks[0], "score_rejected": marks[1]})
            pairs.append((len(texts), len(texts) + 1))
            texts += both
            scores += marks
            prompts.append(prompt)
    (found,) = compare_by_group(read_logs(rows)[0], Makers({}))
    expected = comparative_separation(
        np.array(pairs),
        scores=scores,
        sensitive_features=np.log2([len(text) for text in texts]),
        cluster=prompts,
        continuous=True,
    )
    (test,) = expected.tests
    assert (found.toward, found.finding) == ("longer answers", "violated")
    assert found.finding == test.finding
    assert found.gap == pytest.approx(test.gap)
    assert found.p_value == pytest.approx(test.p_value)
    assert found.interval[:2] == pytest.approx(test.deciding_interval[:2])


def votes_on(makers: tuple[str, ...], n: int) -> list[dict[str, Any]]:
    """Make a log of a person and a judge who agrees unless the first maker's answer is better."""
    rows = []
    for prompt in range(n):
        for one in range(len(makers)):
            better, other = makers[one], makers[one - 1]
            for judge, winner in (("expert_1", better), ("j", other if one == 0 else better)):
                rows.append(
                    {"question_id": f"{prompt} {one}", "turn": 1, "model_a": better}
                    | {"model_b": other}
                    | {"judge": judge, "winner": "model_a" if winner == better else "model_b"}
                )
    return rows


def test_agreement_is_counted_where_a_makers_answer_is_better_and_where_it_is_worse() -> None:
    rows = votes_on(("gpt-4", "claude-3", "gemini-2"), 25)
    log, _ = read_logs(rows)
    found = {one.toward: one for one in compare_by_group(log, Makers({}))}
    counts = {
        name: (one.with_more.hits, one.with_more.trials, one.with_less.hits, one.with_less.trials)
        for name, one in found.items()
    }
    # gpt-4 is better than gemini-2, claude-3 than gpt-4, and gemini-2 than claude-3, 25 times each.
    assert counts == {
        "answers of OpenAI": (0, 25, 25, 25),
        "answers of Anthropic": (25, 25, 25, 25),
        "answers of Google": (25, 25, 0, 25),
    }
    assert found["answers of OpenAI"].finding == "violated"
    assert found["answers of OpenAI"].gap == -1


def test_of_two_makers_one_is_told_and_of_few_prompts_none() -> None:
    both = compare_by_group(read_logs(votes_on(("gpt-4", "claude-3"), 25))[0], Makers({}))
    assert [one.toward for one in both] == ["answers of OpenAI"]
    assert compare_by_group(read_logs(votes_on(("gpt-4", "claude-3"), 9))[0], Makers({})) == ()
    named = Makers({"j": "OpenAI"})
    own = compare_by_group(read_logs(votes_on(("gpt-4", "claude-3"), 25))[0], named)
    assert [one.kind for one in own] == ["self"]
