"""Which hypotheses are judged together, and what each finding rests on."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from comparity import comparative_separation
from comparity.comparative.judge import audit_counts
from comparity.comparative.options import ComparativeOptions
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.errors import OptionError
from comparity.inference.agreement_tests import contrast_factor, family_of_cells
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN


def audit_of(rates: dict[str, float], trials: int, **choices: Any) -> Audit:
    """Audit fresh pairs with the given agreement in each cell, such as ``{"ab": 0.9}``."""
    counts = {Cell(*cell): Tally(round(rate * trials), trials) for cell, rate in rates.items()}
    return audit_counts({"group": PairCounts(counts)}, ComparativeOptions(**choices))


GRADED = {"aa": 1.0, "ab": 0.84, "ba": 0.83, "bb": 1.0}
"""Equal across and equal within: separation of binary quality, not of graded."""


def test_kinds_of_pairs_that_differ_are_found_where_quality_is_graded() -> None:
    audit = audit_of(GRADED, 2000)
    assert audit.finding == VIOLATED
    assert [test.finding for test in audit.tests] == [WITHIN, WITHIN, VIOLATED]
    assert audit.tests[2].gap == pytest.approx((0.84 + 0.83) / 2 - 1)
    assert "graded" in audit.family


def test_binary_quality_is_declared() -> None:
    audit = audit_of(GRADED, 2000, quality="binary")
    assert audit.finding == WITHIN
    assert len(audit.tests) == 2
    assert not audit.further_gaps
    assert "binary" in audit.family


def test_the_paper_tests_across_and_within() -> None:
    assert len(audit_of(GRADED, 2000, rule="paper").tests) == 2


def test_all_pairs_of_cells_have_to_be_within_the_margin() -> None:
    """Each of the three gaps is 0.03, which adds up to 0.06 between two of the cells."""
    rates = {"ab": 0.515, "ba": 0.485, "aa": 0.485, "bb": 0.455}
    audit = audit_of(rates, 200_000)
    assert {test.finding for test in audit.tests} == {WITHIN}
    apart = {gap.null: gap.finding for gap in audit.further_gaps}
    assert apart["agree(a > b) = agree(b > b)"] == UNDECIDED
    assert audit.finding == UNDECIDED
    assert audit_of(rates, 200_000, margin=0.065).finding == WITHIN


def test_of_three_groups_all_pairs_of_cells_are_compared_the_largest_gap_first() -> None:
    rates = {first + second: 0.8 for first in "abc" for second in "abc"}
    audit = audit_of(rates | {"ca": 0.6, "bc": 0.75}, 1500)
    assert len(audit.tests) == 36
    sizes = [abs(test.gap) for test in audit.tests]
    assert sizes == sorted(sizes, reverse=True)
    assert audit.correction == "max-T"
    found = {test.null for test in audit.tests if test.finding == VIOLATED}
    assert {null for null in found if "(c > a)" not in null} < {
        test.null for test in audit.tests if "(b > c)" in test.null
    }
    assert sum("(c > a)" in null for null in found) == 8


def test_too_many_groups_for_all_pairs_of_cells_are_refused_with_what_to_choose() -> None:
    groups = "abcdefghijklm"
    rates = {one + two: 0.8 for one in groups for two in groups}
    with pytest.raises(OptionError, match="at most 12 groups"):
        audit_of(rates, 50)
    assert len(audit_of(rates, 50, hypotheses="across").tests) == 78


def test_three_groups_without_a_judgment_that_counts_leave_the_question_open() -> None:
    contrasts = family_of_cells(["a", "b", "c"], graded=True).tested
    factor = contrast_factor(PairCounts({}).sharing_moments(), contrasts)
    assert factor.shape[0] == len(contrasts)
    assert not factor.any()


def test_an_audit_of_pairs_across_groups_can_pass() -> None:
    rates = {"ab": 0.8, "ba": 0.8}
    undecided = audit_of(rates, 20_000)
    assert undecided.finding == UNDECIDED
    assert any("the hypotheses 'across'" in note for note in undecided.notes)
    assert audit_of(rates, 20_000, hypotheses="across").finding == WITHIN
    with pytest.raises(OptionError, match="hypotheses"):
        ComparativeOptions(hypotheses="across", continuous=True)


def test_a_reference_of_two_values_says_that_quality_is_binary() -> None:
    rng = np.random.default_rng(3)
    label, group = rng.integers(0, 2, 800), rng.choice(["a", "b"], 800)
    pairs = rng.integers(0, 800, (4000, 2))
    pairs = pairs[label[pairs[:, 0]] > label[pairs[:, 1]]]
    audit = comparative_separation(
        pairs,
        scores=label + rng.normal(size=800),
        sensitive_features=group,
        reference=label,
    )
    assert len(audit.tests) == 2


def test_the_interval_shown_is_the_one_that_decided() -> None:
    audit = audit_of({"ab": 0.80, "ba": 0.70, "aa": 0.8, "bb": 0.79}, 3000)
    across, within, _ = audit.tests
    assert (across.finding, within.finding) == (VIOLATED, WITHIN)
    assert across.deciding_interval == across.test_interval
    assert across.test_interval.low > 0
    low, high, level = within.deciding_interval
    assert -0.05 < low < high < 0.05
    assert level == within.equivalence_level
    written = audit.to_dict()["tests"][1]
    assert written["equivalence_interval"]["high"] == pytest.approx(high)
    assert written["test_interval"]["level"] == within.level


@pytest.mark.parametrize("trials", [800, 3000, 12_000])
def test_a_gap_is_within_the_margin_where_its_interval_lies_inside_it(trials: int) -> None:
    audit = audit_of({"ab": 0.80, "ba": 0.79, "aa": 0.81, "bb": 0.78}, trials)
    for gap in (*audit.tests, *audit.further_gaps):
        low, high, _ = gap.equivalence_interval
        assert (gap.finding == WITHIN) == (low > -0.05 and high < 0.05)


def test_a_claim_about_one_gap_of_several_is_corrected() -> None:
    """Alone the gap passes at 0.05; beside another that does not, two claims share the level."""
    alone = audit_of({"ab": 0.8, "ba": 0.775}, 2000, hypotheses="across")
    assert alone.tests[0].finding == WITHIN
    assert 0.025 < alone.tests[0].equivalence_p <= 0.05
    beside = audit_of({"ab": 0.8, "ba": 0.775, "aa": 0.8, "bb": 0.77}, 2000, quality="binary")
    assert beside.finding != WITHIN
    assert alone.tests[0].equivalence_p == beside.tests[0].equivalence_p
    assert beside.tests[0].finding != WITHIN


def test_pairs_of_cells_are_counted() -> None:
    for size in (3, 4):
        groups = "abcd"[:size]
        rates = {one + two: 0.8 for one in groups for two in groups}
        expected = len(list(combinations(range(size**2), 2)))
        assert len(audit_of(rates, 40).tests) == expected
