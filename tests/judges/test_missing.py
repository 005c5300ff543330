"""Failures by group: scipy's Fisher test, and all ways to draw, are the witnesses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from comparity.judges.missing import find_failing_groups, two_sided
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
