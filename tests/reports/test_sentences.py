from dataclasses import replace

import pytest

from comparity.inference.gap_tests import Needed
from comparity.planning.plan import plan_comparative, plan_separation
from comparity.planning.section import plan_basis, plan_headline, plan_lists
from comparity.reports.audits import audit_lists, basis, explanation, gap_chart, headline
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

ASSUMED = {"shares": [0.5, 0.5], "base_rates": [0.5, 0.5]}


@pytest.mark.parametrize("finding", [VIOLATED, WITHIN, UNDECIDED])
def test_the_headline_names_the_notion_and_the_finding(audit: Audit, finding: str) -> None:
    assert headline(replace(audit, finding=finding)) == f"Comparative separation: {finding}"


def test_the_basis_names_margin_error_rate_design_and_size(audit: Audit) -> None:
    said = basis(replace(audit, looks=(2, 4)))
    for part in ("0.05", "5%", "Holm", "shared items and evaluators", "4,868 judgments"):
        assert part in said
    assert "400 items by 12 evaluators" in said
    assert "look 2 of 4" in said


@pytest.mark.parametrize("unit", ["judgments", "decisions", "pairs", "queries"])
def test_one_is_told_in_the_singular(audit: Audit, unit: str) -> None:
    said = basis(replace(audit, unit=unit, n=1, n_evaluators=0, n_items=0))
    one = {"judgments": "judgment", "decisions": "decision", "pairs": "pair", "queries": "query"}
    assert said.endswith(f"; 1 {one[unit]}.")


def test_the_rule_of_the_paper_is_said_to_correct_nothing(audit: Audit) -> None:
    assert "uncorrected" in basis(replace(audit, rule="paper"))


def test_an_audit_of_nothing_says_so(audit: Audit) -> None:
    nothing = replace(audit, tests=(), finding=UNDECIDED)
    assert explanation(nothing) == "There was nothing to compare."


def test_a_violation_says_what_came_of_the_other_gaps(audit: Audit) -> None:
    found = [test.finding for test in audit.tests]
    assert found == [VIOLATED, UNDECIDED]
    assert explanation(audit).endswith(
        "1 of 2 tested gaps is larger than chance explains; 1 is undecided."
    )
    both = replace(audit, tests=(audit.tests[0], audit.tests[0]))
    assert explanation(both) == "2 of 2 tested gaps are larger than chance explains."


def test_what_would_decide_is_a_range_and_never_where_no_number_would_do(audit: Audit) -> None:
    _, line = audit_lists(audit)["What would change the verdict"]
    assert "needs 9,000 judgments of these items" in line
    assert "28,800 judgments of 2,400 items in all (more judgments of these items and" in line
    assert line.endswith("will not decide it) if it is zero")


def test_decisions_are_not_said_to_be_of_items(audit: Audit) -> None:
    needed = Needed(judgments=(700, 900), items=(700, 900), judgments_with_items=(700, 900))
    tests = (replace(audit.tests[1], needed=needed),)
    pointwise = replace(audit, notion="separation", unit="decisions", tests=tests, n=500)
    (line,) = audit_lists(pointwise)["What would change the verdict"]
    assert line.endswith(
        "needs 700 decisions in all if the true gap is as observed, and 900 decisions in all if it "
        "is zero"
    )
    assert "items" not in basis(replace(pointwise, design="independent decisions", n_evaluators=0))


def test_a_size_there_is_already_is_not_told_as_if_more_were_needed(audit: Audit) -> None:
    needed = Needed(
        judgments=(audit.n, None),
        items=(audit.n_items, 2400),
        judgments_with_items=(audit.n, 28800),
    )
    open_one = replace(audit, tests=(replace(audit.tests[1], needed=needed),))
    (line,) = audit_lists(open_one)["What would change the verdict"]
    assert "needs a study as large as this one if the true gap is as observed, and" in line
    assert "4,868" not in line


def test_all_pairs_need_items_however_many_pairs_these_make(audit: Audit) -> None:
    needed = Needed(judgments=(None, None), items=(946, 250), judgments_with_items=(946, 250))
    tests = (replace(audit.tests[1], needed=needed),)
    pairs = replace(audit, unit="pairs", design="all pairs", tests=tests, n=22_754, n_items=250)
    (line,) = audit_lists(pairs)["What would change the verdict"]
    assert "needs 946 items in all if the true gap is as observed" in line
    assert "and a study as large as this one if it is zero" in line


def test_sizes_that_would_decide_are_told_in_three_digits_and_never_too_small(
    audit: Audit,
) -> None:
    needed = Needed(
        judgments=(273_224, None), items=(179_797, 7), judgments_with_items=(540_110, 5001)
    )
    open_one = replace(audit, tests=(replace(audit.tests[1], needed=needed),))
    (line,) = audit_lists(open_one)["What would change the verdict"]
    assert "needs 274,000 judgments of these items and evaluators" in line
    assert "or 541,000 judgments of 180,000 items in all" in line
    assert "and 5,010 judgments of 7 items in all" in line


@pytest.mark.parametrize(("evaluators", "told"), [(3, True), (9, True), (10, False)])
def test_few_evaluators_are_asked_for_before_more_judgments(
    audit: Audit, evaluators: int, told: bool
) -> None:
    # Planning: three evaluators need 60,751 pairs where thirty need 7,647.
    *_, last = audit_lists(replace(audit, n_evaluators=evaluators))["What would change the verdict"]
    assert last.endswith("ask more evaluators first.") is told
    decided = replace(audit, tests=audit.tests[:1], n_evaluators=evaluators)
    assert len(audit_lists(decided)["What would change the verdict"]) == 1


def test_ties_that_would_change_the_finding_are_announced(audit: Audit) -> None:
    matter = replace(audit, ties=replace(audit.ties, change_finding=True))
    told, before = (audit_lists(one)["What was assumed"] for one in (matter, audit))
    assert len(told) == len(before) + 1


def test_of_ties_in_many_kinds_of_pairs_the_most_frequent_are_told(audit: Audit) -> None:
    by_cell = {f"a > {k}": 10 + k for k in range(9)} | {"b > a": 0}
    ties = replace(audit.ties, scores=126, scores_by_cell=by_cell)
    line = audit_lists(replace(audit, ties=ties))["What was assumed"][-1]
    told = "a > 8: 18, a > 7: 17, a > 6: 16, a > 5: 15, and 5 more kinds"
    assert line == f"The model ties in 126 judged pairs ({told}); these count as disagreement."


def test_ties_in_few_kinds_of_pairs_are_told_in_the_order_of_the_kinds(audit: Audit) -> None:
    ties = replace(audit.ties, scores=6, scores_by_cell={"a > a": 1, "a > b": 2, "b > b": 3})
    line = audit_lists(replace(audit, ties=ties))["What was assumed"][-1]
    assert "6 judged pairs (a > a: 1, a > b: 2, b > b: 3);" in line


def test_a_margin_as_wide_as_the_interval_would_change_what_was_found(audit: Audit) -> None:
    line, _ = audit_lists(audit)["What would change the verdict"]
    # The far end of the interval of two one-sided tests at 0.05: -0.11 - 1.6449 * 0.02.
    assert "would be within a margin of 0.143 or more, whatever the other gaps are" in line


def test_a_harmless_gap_stays_so_down_to_the_end_of_its_interval(harmless_audit: Audit) -> None:
    # 0.001 + 1.6449 * 0.02 is 0.0339, the end of the interval of two one-sided tests at 0.05.
    for line in audit_lists(harmless_audit)["What would change the verdict"]:
        assert line.endswith("every margin down to 0.034")


def test_a_plan_says_its_size_and_its_power() -> None:
    plan = plan_separation(tpr=[0.8, 0.8], fpr=[0.4, 0.32], n=1000, **ASSUMED)
    assert plan_headline(plan).startswith("Separation: 1,000 decisions give a power of 0.")
    assert "at least one gap is found to differ from zero" in plan_basis(plan)


def test_a_plan_out_of_reach_says_how_much_there_is() -> None:
    plan = plan_comparative(
        tpr=[0.8, 0.81], tnr=[0.6, 0.6], power=0.9, n_items=40, groups=["a", "b"], **ASSUMED
    )
    assert "no number of judged pairs gives a power of 0.9" in plan_headline(plan)
    assert "40 items" in plan_basis(plan)


def test_of_very_many_remarks_the_first_are_told_and_the_others_counted(audit: Audit) -> None:
    told = audit_lists(replace(audit, tests=audit.tests * 100))
    assert len(told["What would change the verdict"]) == 41
    reasons = [replace(audit.tests[1], reason=f"reason {k}") for k in range(100)]
    told = audit_lists(replace(audit, tests=tuple(reasons)))
    assert len(told["Notes"]) == 41
    assert told["Notes"][-1].startswith("And 60 more")


def test_a_remark_on_several_tests_is_told_once(audit: Audit) -> None:
    tests = tuple(replace(audit.tests[1], reason="few items") for _ in range(7))
    assert audit_lists(replace(audit, tests=tests))["Notes"] == ["7 tests: few items"]


def test_where_most_tests_could_not_be_made_the_others_are_drawn_alone(audit: Audit) -> None:
    open_ones = tuple(replace(audit.tests[1], pivot=None) for _ in range(3))
    chart = gap_chart(replace(audit, tests=(audit.tests[0], *open_ones)))
    assert len(chart.rows) == 1
    assert "the 1 of 4 tests" in chart.title


def test_a_plan_says_what_it_assumes_of_every_group() -> None:
    plan = plan_separation(
        tpr=[0.8, 0.7], fpr=[0.4, 0.3], shares=[0.2, 0.8], base_rates=[0.5, 0.6], n=400
    )
    assert plan_lists(plan)["What was assumed"] == [
        "True positive rate: 0.8 (0), 0.7 (1).",
        "False positive rate: 0.4 (0), 0.3 (1).",
        "Share of the items: 0.2 (0), 0.8 (1).",
        "Share of good items in the group: 0.5 (0), 0.6 (1).",
    ]


def test_a_plan_says_how_much_evaluators_are_taken_to_lean_and_how_many_judgments_tie() -> None:
    rates = {"tpr": [0.8, 0.84], "tnr": [0.6, 0.56], **ASSUMED}
    panel = plan_comparative(**rates, n_pairs=4000, n_evaluators=10, tie_share=0.2)
    assert plan_lists(panel)["What was assumed"][4:] == [
        "What an evaluator adds to a gap across groups: standard deviation 0.1 over evaluators.",
        "Share of ties among judgments that should have an order: 0.2.",
    ]
    two = plan_comparative(**rates, n_pairs=4000, n_evaluators=2)
    assert len(plan_lists(two)["What was assumed"]) == 4
