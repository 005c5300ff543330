"""Findings in numbers that people repeat: the words, the names, and digits that do not mislead.

Shares and gaps are worked out from the counts that the tests make up: 69 of 100 and 80 of 100.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars
import pytest

from comparity import comparative_separation, pairwise_accuracy, separation
from comparity.inference.gap_tests import Interval, Recorded
from comparity.reports.statements import (
    POINTS,
    foremost_test,
    further_statement,
    gap_in_words,
    statement,
)
from comparity.results.audit import Audit, JudgedGap
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from comparity.separation.audit import audit_frame


def decisions(hired: dict[str, int], n: int = 1000) -> polars.DataFrame:
    """Return rows of which `n` of each sex are good, and of these so many are hired."""
    rows = [(sex, 1, int(k < hits)) for sex, hits in hired.items() for k in range(n)]
    rows += [(sex, 0, k % 2) for sex in hired for k in range(n)]
    return polars.DataFrame(rows, schema=["sex", "good", "hired"], orient="row")


def audit_of(hired: dict[str, int], **choices: float) -> Audit:
    columns = {"label": "good", "prediction": "hired", "sensitive": ("sex",)}
    return audit_frame(decisions(hired), **columns, **choices)


def test_a_violation_is_told_with_columns_groups_and_points() -> None:
    said = statement(audit_of({"f": 690, "m": 800}))
    assert said.startswith(
        "Where good is yes, hired is yes for 69 of 100 with sex = f and for 80 of 100 with "
        "sex = m. The gap is 11 points (97.5% interval 7 to 15): "
    )
    assert said.endswith("larger than chance explains.")


def test_within_the_margin_and_undecided_name_the_margin() -> None:
    inside = statement(audit_of({"f": 700, "m": 700}, margin=0.1))
    assert inside.endswith("shown to be smaller than the margin of 10 points.")
    assert "neither shown to differ" in statement(audit_of({"f": 690, "m": 720}, margin=0.02))


def test_arrays_have_no_names_of_columns() -> None:
    frame = decisions({"f": 690, "m": 800})
    said = statement(
        separation(frame["good"], frame["hired"], sensitive_features=frame["sex"].to_list())
    )
    assert said.startswith("Where the label is yes, the model's decision is yes for 69 of 100 in")
    assert "in group f and for 80 of 100 in group m." in said


def test_answers_are_told_in_the_words_of_the_data() -> None:
    words = polars.col("good", "hired").replace_strict({0: "deny", 1: "approve"})
    frame = decisions({"f": 690, "m": 800}).with_columns(words)
    columns = {"label": "good", "prediction": "hired", "sensitive": ("sex",)}
    said = statement(audit_frame(frame, **columns, positive="approve"))
    assert said.startswith("Where good is approve, hired is approve for 69 of 100 with sex = f")
    # Of those who should be turned down, all women are and half of the men.
    women = (polars.col("sex") == "f") & (polars.col("good") == "deny")
    hired = polars.when(women).then(polars.lit("deny")).otherwise("hired").alias("hired")
    said = statement(audit_frame(frame.with_columns(hired), **columns, positive="approve"))
    assert said.startswith("Where good is not approve, hired is approve for 0 of 100")


def test_several_attributes_are_told_apart() -> None:
    frame = decisions({"f": 690, "m": 800})
    features = {
        "sex": frame["sex"].to_list(),
        "age: class": ["old", "old", "young", "young"] * 1000,
    }
    said = statement(separation(frame["good"], frame["hired"], sensitive_features=features))
    assert "69 of 100 with sex = f and for 80 of 100 with sex = m" in said


def test_names_with_signs_of_the_hypothesis_are_found() -> None:
    frame = decisions({"a = b": 690, "c) = TPR(d": 800})
    said = statement(
        separation(frame["good"], frame["hired"], sensitive_features=frame["sex"].to_list())
    )
    assert "69 of 100 in group a = b and for 80 of 100 in group c) = TPR(d." in said


def test_pairs_say_who_was_put_above_whom() -> None:
    rng = np.random.default_rng(1)
    quality, sex = rng.normal(size=600), rng.choice(["f", "m"], 600)
    scores = quality + rng.normal(size=600) - 1.0 * (sex == "f")
    pairs = np.array([rng.choice(600, 2, replace=False) for _ in range(2000)])
    order = np.where((quality[pairs[:, 0]] > quality[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    judged = comparative_separation(order, scores=scores, sensitive_features=sex)
    rates = {one.of: one.rate for one in judged.rates}
    assert statement(judged).startswith(
        f"Where judges put f above m, the model agrees in {100 * rates['f > m']:.0f} of 100 "
        f"judgments; where they put m above f, in {100 * rates['m > f']:.0f}. The gap is "
    )
    labelled = pairwise_accuracy(quality > 0, scores, sensitive_features=sex)
    assert statement(labelled.audit).startswith("Where the label puts f above m, the model agrees")


@pytest.mark.parametrize(
    ("gap", "low", "high", "finding", "said"),
    [
        (-0.106, -0.183, -0.027, VIOLATED, "11 points (95% interval 3 to 18): larger"),
        (0.0204, 0.0004, 0.0404, VIOLATED, "2.04 points (95% interval 0.04 to 4.04): larger"),
        (-0.0098, -0.0283, 0.0091, WITHIN, "1 point (95% interval -1 to 3): shown to be smaller"),
        (0.0201, -0.0096, 0.0498, WITHIN, "2.01 points (95% interval -0.96 to 4.98): shown"),
    ],
)
def test_digits_show_on_which_side_of_zero_and_margin_numbers_are(
    gap: float, low: float, high: float, finding: str, said: str
) -> None:
    ends = Interval(low, high, 0.95)
    test = replace(_any_test(), gap=gap, finding=finding, level=0.95, equivalence_level=0.95)
    test = replace(test, pivot=Recorded((ends,), 0.01))
    assert gap_in_words(test, 0.05, POINTS).startswith(said)


def _any_test() -> JudgedGap:
    return audit_of({"f": 690, "m": 800}).tests[0]


def test_the_test_that_decided_comes_first() -> None:
    audit = audit_of({"f": 690, "m": 800, "x": 700})
    foremost = foremost_test(audit)
    assert foremost is not None
    assert foremost.null == "TPR(f) = TPR(m)"
    assert audit.finding == VIOLATED != UNDECIDED


def test_the_largest_gap_is_told_whichever_error_it_is_of() -> None:
    frame = decisions({"f": 690, "m": 800})
    # Of those who are not good all women are turned down, and half of the men are not.
    hired = np.where((frame["sex"] == "f") & (frame["good"] == 0), 0, frame["hired"])
    said = statement(separation(frame["good"], hired, sensitive_features=frame["sex"].to_list()))
    assert said.startswith("Where the label is no, the model's decision is yes for 0 of 100")
    assert "The gap is 50 points" in said


def test_a_violation_of_the_other_error_rate_is_told_second() -> None:
    frame = decisions({"f": 690, "m": 800})
    sex = frame["sex"].to_list()
    assert further_statement(separation(frame["good"], frame["hired"], sensitive_features=sex)) == (
        ""
    )
    hired = np.where((frame["sex"] == "f") & (frame["good"] == 0), 0, frame["hired"])
    both = separation(frame["good"], hired, sensitive_features=sex)
    assert "is yes for 69 of 100 in group f" in further_statement(both)
    assert str(both).index("for 0 of 100") < str(both).index("for 69 of 100")


def test_nothing_is_said_where_nothing_was_tested() -> None:
    audit = audit_of({"f": 690, "m": 800})
    assert statement(replace(audit, tests=())) == ""


def test_a_large_gap_of_few_people_is_not_told_before_a_sure_one() -> None:
    # All ten good people of group x are hired; the others are a thousand of each group.
    frame = decisions({"f": 600, "m": 800})
    few = polars.DataFrame(
        [("x", 1, int(k < 10)) for k in range(10)], schema=frame.schema, orient="row"
    )
    none = polars.DataFrame([("x", 0, k % 2) for k in range(10)], schema=frame.schema, orient="row")
    rows = polars.concat([frame, few, none])
    audit = audit_frame(rows, label="good", prediction="hired", sensitive=("sex",))
    gaps = {test.null: test.gap for test in audit.tests}
    assert abs(gaps["TPR(f) = TPR(x)"]) > abs(gaps["TPR(f) = TPR(m)"])
    assert "with sex = f and for 80 of 100 with sex = m" in statement(audit)
