"""By group: Fisher's test of scipy, all ways to draw, and comparative separation are witnesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from comparity import comparative_separation
from comparity.judges.answerers import Makers
from comparity.judges.by_group import compare_by_group, find_failing_groups, two_sided
from comparity.judges.reading import read_logs
from tests.plain import judges as plain

strata = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(5, 6)), min_size=1, max_size=3
)


@given(strata, st.data())
def test_the_p_value_equals_all_ways_to_draw(
    found: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    least = sum(max(0, f + m - n) for f, m, n in found)
    most = sum(min(f, m) for f, m, _ in found)
    seen = data.draw(st.integers(least, most))
    assert two_sided(found, seen) == pytest.approx(plain.failures_p(found, seen))


@pytest.mark.parametrize(("a", "b", "c", "d"), [(6, 10, 1, 70), (2, 25, 0, 50), (1, 40, 6, 40)])
def test_one_stratum_is_the_exact_test_of_fisher(a: int, b: int, c: int, d: int) -> None:
    expected = fisher_exact([[a, b - a], [c, d - c]]).pvalue
    assert two_sided([(a + c, b, b + d)], a) == pytest.approx(expected)


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
