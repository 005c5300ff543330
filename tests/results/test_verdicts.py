"""Properties: the order of findings, their words, and what the judged interval says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.inference.dyadic import compare_cells
from comparity.inference.gap_tests import GapTest, items_to_see
from comparity.inference.proportions import compare_rates
from comparity.results.audit import JudgedGap
from comparity.results.judging import judge, overall_finding
from comparity.results.result import EXIT_STATUS, UNDECIDED, VIOLATED, WITHIN
from tests.reference.corrections import multipletests

tallies = st.tuples(st.integers(0, 400), st.integers(1, 400)).map(
    lambda both: Tally(min(both), max(both))
)
families = st.lists(st.tuples(tallies, tallies), min_size=1, max_size=5)


def judged(pairs: list[tuple[Tally, Tally]], **choices: object) -> tuple[JudgedGap, ...]:
    tests = [compare_rates(one, two, null="") for one, two in pairs]
    options = {"alpha": 0.05, "margin": 0.05, "n": 100, "n_items": 100} | choices
    return judge(tests, **options)


LARGE_GAP = (Tally(600, 1000), Tally(400, 1000))
NO_GAP = (Tally(50_000, 100_000), Tally(50_000, 100_000))
SMALL_REAL_GAP = (Tally(51_000, 100_000), Tally(50_000, 100_000))
FEW = (Tally(20, 40), Tally(18, 40))
EMPTY = (Tally(0, 0), Tally(1, 2))


def test_a_large_gap_is_violated_and_no_gap_in_much_data_is_within_the_margin() -> None:
    findings = [test.finding for test in judged([LARGE_GAP, NO_GAP, FEW, EMPTY])]
    assert findings == [VIOLATED, WITHIN, UNDECIDED, UNDECIDED]


def test_a_small_real_gap_is_within_the_margin_and_differs_from_zero() -> None:
    (test,) = judged([SMALL_REAL_GAP])
    assert (test.finding, test.differs_from_zero) == (WITHIN, True)


def test_under_the_rule_of_the_paper_any_rejection_is_a_violation() -> None:
    (test,) = judged([SMALL_REAL_GAP], rule="paper")
    assert test.finding == VIOLATED


def test_only_open_tests_say_what_would_decide() -> None:
    needed = [test.needed is not None for test in judged([LARGE_GAP, NO_GAP, FEW, EMPTY])]
    assert needed == [False, False, True, False]


@pytest.mark.parametrize(
    ("pairs", "finding", "status"),
    [
        ([LARGE_GAP, NO_GAP], VIOLATED, 1),
        ([NO_GAP, NO_GAP], WITHIN, 0),
        ([NO_GAP, FEW], UNDECIDED, 3),
        ([NO_GAP, EMPTY], UNDECIDED, 3),
        ([EMPTY], UNDECIDED, 3),
    ],
)
def test_an_audit_follows_from_its_tests(
    pairs: list[tuple[Tally, Tally]], finding: str, status: int
) -> None:
    assert overall_finding(judged(pairs)) == finding
    assert EXIT_STATUS[finding] == status


@settings(max_examples=10)  # multipletests collects garbage every time
@given(families)
def test_adjusted_p_values_are_those_of_statsmodels(pairs: list[tuple[Tally, Tally]]) -> None:
    tests = judged(pairs)
    expected = multipletests([test.p_value for test in tests], method="holm")[1]
    assert [test.p_adjusted for test in tests] == pytest.approx(expected)


@given(families)
def test_the_judged_interval_excludes_zero_exactly_when_equality_was_rejected(
    pairs: list[tuple[Tally, Tally]],
) -> None:
    for test in judged(pairs):
        low, high, level = test.interval(test.level)
        assert level == test.level
        if abs(test.p_value - (1 - level)) > 1e-6:
            assert (not low <= 0 <= high) == test.differs_from_zero


def test_a_planned_look_is_stricter_than_a_single_one() -> None:
    (early,) = judged([(Tally(600, 1000), Tally(540, 1000))], looks=(1, 4))
    (only,) = judged([(Tally(600, 1000), Tally(540, 1000))])
    assert (early.finding, only.finding) == (UNDECIDED, VIOLATED)
    assert early.p_adjusted > only.p_adjusted
    assert early.level > only.level


def test_a_gap_test_keeps_its_numbers_when_it_is_judged() -> None:
    test = compare_rates(*LARGE_GAP, null="a = b")
    (same,) = judge([test], alpha=0.05, margin=0.05, n=1, n_items=1)
    assert isinstance(same, GapTest)
    assert (same.null, same.gap, same.p_value, same.n) == ("a = b", test.gap, test.p_value, test.n)


@given(st.floats(0.01, 0.3), st.floats(0.01, 0.2))
def test_with_enough_items_an_unseen_share_cannot_fill_the_margin(
    margin: float, alpha: float
) -> None:
    """By definition: a share q of bad items is missed by n items with probability (1 - q)^n."""
    n, share = items_to_see(margin, alpha), margin / 2
    assert (1 - share) ** n <= alpha
    # The bound (1 - q)^n <= exp(-q n) asks for a few items more than there must be.
    assert (1 - share) ** (n * (1 - share) - 2) >= alpha


@pytest.mark.parametrize(("items", "finding"), [(119, UNDECIDED), (120, WITHIN), (None, WITHIN)])
def test_no_gap_is_within_the_margin_while_bad_items_can_have_been_missed(
    items: int | None, finding: str
) -> None:
    """The rule of three: 3 / 120 of the items lower agreement in their pairs by 0.05."""
    test = replace(compare_rates(*NO_GAP, null="a = b"), smallest_group=items)
    (one,) = judge([test], alpha=0.05, margin=0.05, n=200_000, n_items=300)
    assert one.finding == finding
    assert ("119 items only" in one.reason) == (finding == UNDECIDED)


@pytest.mark.parametrize(("items", "finding"), [(59, UNDECIDED), (60, WITHIN)])
def test_items_are_counted_in_their_role(items: int, finding: str) -> None:
    """By definition: 59 items hold none of a share of 0.05 with probability 0.95^58.4 = 0.05."""
    test = replace(compare_rates(*NO_GAP, null="a = b"), smallest_group=10_000, smallest_role=items)
    (one,) = judge([test], alpha=0.05, margin=0.05, n=200_000, n_items=20_000)
    assert one.finding == finding
    assert ("59 better or worse items only" in one.reason) == (finding == UNDECIDED)
    assert one.needed is None or one.needed.items == (20_339, 20_339)


def test_few_items_leave_a_violation_a_violation() -> None:
    test = replace(compare_rates(*LARGE_GAP, null="a = b"), smallest_group=15)
    (one,) = judge([test], alpha=0.05, margin=0.05, n=2000, n_items=30)
    assert (one.finding, one.reason) == (VIOLATED, "")


def test_more_judgments_of_too_few_items_decide_nothing() -> None:
    test = replace(compare_rates(*NO_GAP, null="a = b"), smallest_group=60)
    (one,) = judge([test], alpha=0.05, margin=0.05, n=200_000, n_items=200)
    assert one.needed is not None
    assert one.needed.judgments == (None, None)
    assert one.needed.items == (400, 400)
    assert one.needed.judgments_with_items == (400_000, 400_000)


def test_at_any_moment_a_large_gap_is_still_found_and_no_gap_in_much_data_within_the_margin() -> (
    None
):
    tests = judged([LARGE_GAP, NO_GAP, FEW, EMPTY], anytime=True)
    assert [test.finding for test in tests] == [VIOLATED, WITHIN, UNDECIDED, UNDECIDED]
    assert [test.needed is not None for test in tests] == [False, False, True, False]
    fixed = judged([LARGE_GAP, NO_GAP, FEW, EMPTY])
    assert tests[0].p_value > fixed[0].p_value
    for now, single in zip(tests[:3], fixed[:3], strict=True):
        low, high, level = now.interval(0.9)
        once = single.interval(level)
        assert low < once.low < once.high < high


@settings(deadline=None, max_examples=20)
@given(families)
def test_at_any_moment_intervals_say_what_was_judged(pairs: list[tuple[Tally, Tally]]) -> None:
    one, two = Cell("a", "b"), Cell("b", "a")
    counted = [PairCounts({one: first, two: second}).sharing_moments() for first, second in pairs]
    tests = [compare_cells(sharing, one, two, null="") for sharing in counted]
    for test in judge(tests, alpha=0.05, margin=0.05, anytime=True, n=100, n_items=100):
        if test.pivot is None:
            continue
        low, high, _ = test.test_interval
        assert test.differs_from_zero == (not low <= 0 <= high)
        low, high, _ = test.equivalence_interval
        assert (test.finding == WITHIN) == (-0.05 < low <= high < 0.05)
