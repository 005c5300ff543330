"""Rates by prompt: intervals, twins, exchanged signs, repetitions, beside scipy and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from comparity.judges.audit import audit_judges
from comparity.judges.rates import (
    compare_orders,
    count_repeats,
    first_seat,
    flip_signs,
    gap_between,
    rate_of,
)
from comparity.judges.reading import read_logs
from tests.judges.samples import ARENA_HARD, MT_BENCH_ORDERS, MT_BENCH_VOTES
from tests.plain import judges as plain

nets = st.lists(st.integers(-4, 4), min_size=1, max_size=10)


@given(nets)
def test_exchanged_signs_equal_their_enumeration(net: list[int]) -> None:
    assert flip_signs(np.array(net)) == pytest.approx(plain.flip_signs(net))


@pytest.mark.parametrize(("first", "second"), [(16, 2), (5, 5), (48, 0), (0, 3), (1, 0)])
def test_one_twin_for_each_prompt_is_the_exact_test_of_mcnemar(first: int, second: int) -> None:
    net = np.array([1] * first + [-1] * second + [0] * 9)
    assert flip_signs(net) == pytest.approx(binomtest(first, first + second, 0.5).pvalue)


def test_many_flips_have_the_normal_distribution() -> None:
    net = np.array([1] * 10_300 + [-1] * 10_000)
    exact = binomtest(10_300, 20_300, 0.5).pvalue
    assert flip_signs(net) == pytest.approx(exact, rel=1e-3)


def test_the_interval_of_independent_trials_is_wilsons_with_students_quantile() -> None:
    hits = np.array([1] * 30 + [0] * 70)
    found = rate_of(hits, np.ones(100, dtype=np.int64))
    # The variance between prompts has n - 1 below, so 99 trials stand for 100.
    n, z, p = 99, t.isf(0.025, 99), 0.3
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert found.interval[:2] == pytest.approx((middle - half, middle + half))
    wilson = binomtest(30, 100).proportion_ci(method="wilson")
    assert found.interval[:2] == pytest.approx((wilson.low, wilson.high), abs=0.003)


def test_trials_of_one_prompt_that_go_together_count_once() -> None:
    one = rate_of(np.array([1, 0, 1, 1, 0, 0]), np.full(6, 1))
    ten = rate_of(np.array([10, 0, 10, 10, 0, 0]), np.full(6, 10))
    assert ten.interval == pytest.approx(one.interval)


def test_rates_that_never_vary_keep_an_interval() -> None:
    always = rate_of(np.full(20, 2), np.full(20, 2))
    half = rate_of(np.full(20, 1), np.full(20, 2))
    assert always.rate == 1
    assert always.interval.low < 0.9
    assert half.interval.low < 0.49 < 0.51 < half.interval.high


def test_one_prompt_has_no_interval() -> None:
    found = rate_of(np.array([3, 0]), np.array([4, 0]))
    assert (found.rate, found.prompts) == (0.75, 1)
    assert math.isnan(found.interval.low)


def test_the_gap_of_two_rates_of_apart_prompts_has_the_usual_error() -> None:
    n = 400
    first = np.r_[np.ones(n // 2), np.zeros(n // 2), np.zeros(n)].astype(int)
    second = np.r_[np.zeros(n), np.ones(n // 4), np.zeros(3 * n // 4)].astype(int)
    here, there = np.r_[np.ones(n), np.zeros(n)].astype(int), np.r_[np.zeros(n), np.ones(n)]
    gap, interval = gap_between((first, here), (second, there.astype(int)))
    error = math.sqrt((0.25 + 0.1875) / n)
    assert gap == pytest.approx(0.25)
    # The quantile is that of one side's prompts; two are added to the 300 with any hit.
    half = t.isf(0.025, n - 1) * error * math.sqrt(1 + 2 / 300)
    assert interval.high - gap == pytest.approx(half, rel=0.005)


def test_twins_are_counted_by_hand() -> None:
    log, _ = read_logs(MT_BENCH_ORDERS)
    twins = compare_orders(log, np.ones(len(log), dtype=bool))
    assert twins is not None
    # Question 81: A both times. Question 82: model_a both times.
    assert (twins.consistent.hits, twins.consistent.trials) == (1, 2)
    assert (twins.decided, twins.decided_flips) == (2, 1)
    assert (twins.first_both, twins.second_both) == (1, 0)


def test_a_twin_without_a_verdict_is_no_twin() -> None:
    log, _ = read_logs(ARENA_HARD)
    twins = compare_orders(log, np.ones(len(log), dtype=bool))
    assert twins is not None
    assert twins.consistent.trials == 1


def test_repetitions_are_told_from_orders() -> None:
    again = [
        {**row, "winner_ab": "B", "tstamp": 2.0} if row["question_id"] == 82 else {**row, "x": 1}
        for row in MT_BENCH_ORDERS
    ]
    log, _ = read_logs([*MT_BENCH_ORDERS, *again])
    same, trials = count_repeats(log, np.ones(len(log), dtype=bool))
    # Of four presentations one has another verdict when it is judged again.
    assert (same.sum(), trials.sum()) == (3, 4)
    audit = audit_judges([*MT_BENCH_ORDERS, *again])
    assert audit.judges[0].twins is not None
    assert audit.judges[0].twins.consistent.trials == 4
    assert audit.judges[0].swap_gap == pytest.approx(1 / 4 - 3 / 4)


def test_seats_that_no_answerer_changes_say_nothing() -> None:
    fixed = [
        {"question_id": k, "turn": 1, "model_a": "m", "model_b": "n", "judge": "expert_1"}
        | {"winner": "model_a"}
        for k in range(5)
    ]
    log, _ = read_logs(fixed)
    found, why = first_seat(log, np.ones(len(log), dtype=bool))
    assert found is None
    assert "both seats" in why


def test_collapsed_orders_say_nothing_of_seats_and_something_of_consistency() -> None:
    audit = audit_judges(MT_BENCH_VOTES)
    judge = audit.judges[0]
    assert judge.first is None
    assert judge.twins is not None
    assert (judge.twins.collapsed, judge.twins.consistent.rate) == (1, 0.0)
    assert math.isnan(judge.twins.p_value)


TIE, FIRST, SECOND = "A=B", "A>B", "B>A"


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ([(TIE, TIE), (TIE, TIE)], "no verdict names a winner"),
        ([(None, None), (None, None)], "all verdicts are missing"),
        ([(TIE, None), (None, TIE)], "no verdict names a winner"),
        ([(FIRST, TIE)], "no answerer won or lost in both seats"),
        ([(FIRST, None), (SECOND, TIE)], "no answerer won or lost in both seats"),
        ([(FIRST, SECOND)], ""),
    ],
)
def test_why_a_seat_is_not_known_is_the_true_reason(
    scores: list[tuple[str | None, str | None]], why: str
) -> None:
    rows = [
        {"question_id": k, "model": "m", "judge": "j", "games": [{"score": one} for one in pair]}
        for k, pair in enumerate(scores)
    ]
    (judge,) = audit_judges(rows).judges
    assert judge.first_unknown == why
    assert (judge.first is None) == bool(why)


def test_an_answerer_in_one_seat_only_is_the_reason_where_it_is() -> None:
    rows = [{"prompt": k, "left": "m", "right": "n", "winner": "left"} for k in range(3)]
    (judge,) = audit_judges(rows).judges
    assert judge.first_unknown == "no answerer was ever shown in both seats"


def test_answerers_who_are_always_listed_in_one_order_tell_nothing_of_seats() -> None:
    """The stronger one is always named first, and wins as often as it would anywhere."""
    rng = np.random.default_rng(7)
    rows = [
        {"prompt": f"q{k}", "left": one, "right": two, "judge": "j"}
        | {"winner": one if rng.random() < 0.8 else two}
        for k in range(60)
        for one, two in ("ab", "bc", "ac")
    ]
    (listed,) = audit_judges(rows).judges
    assert listed.first is None
    assert listed.first_unknown == "any two answerers were always shown in the same order"
    turned = [
        row | {"left": row["right"], "right": row["left"]} if rng.random() < 0.5 else row
        for row in rows
    ]
    (drawn,) = audit_judges(turned).judges
    assert drawn.first is not None
    assert drawn.first.interval.low < 0.5 < drawn.first.interval.high
    # Of battles that never come again nobody can say how seats were assigned.
    once = [row | {"left": f"{row['left']}{k}"} for k, row in enumerate(rows)]
    assert (
        audit_judges([*once, once[0] | {"left": "b", "right": "c", "prompt": "r"}]).judges[0].first
    )
