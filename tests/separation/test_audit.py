"""The separation audit: what it tests, what it reports, and who else gets the same numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import equalized_odds_difference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from comparity import ComparityError, separation
from comparity.errors import (
    LookError,
    OneGroupError,
    OptionError,
    TooManyGroupsError,
    TooManyLooksError,
)
from comparity.results.audit import Audit
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from comparity.separation.audit import audit_file, audit_frame
from tests.calibration import worlds

OF_AN_AUDIT = ("finding", "design", "alpha", "margin", "groups", "tests", "ties", "provenance")
OF_A_TEST = (
    *("null", "gap", "standard_error", "test_interval", "equivalence_interval", "level"),
    *("p_value", "p_adjusted", "n", "finding"),
)


def decisions(classifier: str, n: int, seed: int = 0) -> worlds.People:
    return worlds.People(classifier, n, np.random.default_rng(seed))


def audited(people: worlds.People, **choices: Any) -> Audit:
    return separation(people.label, people.decision, sensitive_features=people.group, **choices)


def test_a_biased_classifier_is_found_out_and_a_neutral_one_is_within_a_margin() -> None:
    assert audited(decisions("f2", 4000)).finding == VIOLATED
    assert audited(decisions("f0", 40_000)).finding == WITHIN
    assert audited(decisions("f0", 200)).finding == UNDECIDED


def test_both_gaps_and_p_values_are_those_of_the_z_test_of_the_paper() -> None:
    people = decisions("f2", 1000)
    audit = audited(people, rule="paper")
    for label, test in zip((1, 0), audit.tests, strict=True):
        rates, errors = [], []
        for group in (0, 1):
            chosen = people.decision[(people.label == label) & (people.group == group)]
            rates.append(chosen.mean())
            errors.append(chosen.var() / len(chosen))
        z = (rates[0] - rates[1]) / np.sqrt(sum(errors))
        assert test.gap == pytest.approx(rates[0] - rates[1])
        assert test.p_value == pytest.approx(2 * norm.sf(abs(z)))
        assert test.p_adjusted == test.p_value


def test_equalized_odds_difference_is_that_of_fairlearn() -> None:
    people = decisions("f3", 3000)
    expected = equalized_odds_difference(
        people.label, people.decision, sensitive_features=people.group
    )
    assert audited(people).summary["equalized odds difference"] == pytest.approx(expected)


def test_three_groups_give_three_pairs_for_each_rate_and_a_joint_test() -> None:
    people = decisions("f0", 3000)
    group = np.where(np.arange(3000) % 3 == 0, "c", np.array(["a", "b"])[people.group])
    audit = separation(people.label, people.decision, sensitive_features=group)
    assert len(audit.tests) == 6
    assert [joint.dof for joint in audit.joint_tests] == [2, 2]
    assert audit.groups == ("a", "b", "c")


def test_several_attributes_and_their_intersection_form_one_family() -> None:
    people = decisions("f0", 4000)
    other = np.array(["x", "y"])[np.arange(4000) % 2]
    audit = separation(
        people.label,
        people.decision,
        sensitive_features={"sex": people.group, "site": other},
        intersection=True,
    )
    assert len(audit.tests) == 2 + 2 + 12
    assert {"sex=0", "site=x", "sex & site=0 & x"} <= set(audit.groups)
    smallest = min(audit.tests, key=lambda test: test.p_value)
    assert smallest.p_adjusted == pytest.approx(min(1, 16 * smallest.p_value))


def test_a_result_says_what_counted_as_yes(tmp_path: Path) -> None:
    people = decisions("f2", 1000)
    by_score = separation(
        people.label, people.decision / 2, sensitive_features=people.group, threshold=0.5
    )
    assert "is at least 0.5 for" in str(by_score)
    rows = zip(people.label, people.decision, people.group, strict=True)
    lines = ["y,p,g", *(f"{'fit' if y else 'not'},{'in' if p else 'out'},{g}" for y, p, g in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    found = audit_file(
        tmp_path / "people.csv", label="y", prediction="p", sensitive=["g"], positive="fit,in"
    )
    assert [one.gap for one in found.tests] == [one.gap for one in by_score.tests]
    found.to_html(tmp_path / "page.html")
    page = re.sub(r"<[^>]*>|\s+", " ", (tmp_path / "page.html").read_text())
    assert re.search(r"counts as yes: *fit, in", page)


def test_scores_become_decisions_at_a_threshold() -> None:
    people = decisions("f2", 1000)
    scores = people.decision + 0.1 * np.random.default_rng(1).random(1000)
    by_score = separation(people.label, scores, sensitive_features=people.group, threshold=0.5)
    assert by_score.tests == audited(people).tests


def test_every_engine_gives_the_same_audit(frame: Callable[..., Any]) -> None:
    people = decisions("f3", 500)
    names = np.array(["f", "m"])[people.group]
    columns = {"hired": people.label, "model": people.decision, "sex": names}
    audit = audit_frame(frame(columns), label="hired", prediction="model", sensitive=["sex"])
    arrays = separation(people.label, people.decision, sensitive_features={"sex": names})
    assert audit.to_dict()["tests"] == arrays.to_dict()["tests"]


def test_the_json_of_a_file_holds_what_an_auditor_needs(tmp_path: Path) -> None:
    people = decisions("f3", 500)
    rows = zip(people.label, people.decision, people.group, strict=True)
    path = tmp_path / "decisions.csv"
    path.write_text("hired,model,sex\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    audit = audit_file(path, label="hired", prediction="model", sensitive=("sex",))
    content = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    assert set(OF_AN_AUDIT) <= set(content)
    assert all(set(OF_A_TEST) <= set(test) for test in content["tests"])
    assert len(content["provenance"]["data"]["files"][0]["sha256"]) == 64


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"alpha": 0.0}, OptionError),
        ({"alpha": float("nan")}, OptionError),
        ({"margin": -0.1}, OptionError),
        ({"margin": "wide"}, OptionError),
        ({"rule": "bonferroni"}, OptionError),
        ({"looks": (5, 4)}, LookError),
        ({"looks": (1, 10**6)}, TooManyLooksError),
    ],
)
def test_choices_outside_their_range_are_refused(
    choices: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        audited(decisions("f0", 100), **choices)


def test_one_group_cannot_be_compared() -> None:
    with pytest.raises(OneGroupError):
        separation([0, 1, 1], [0, 1, 0], sensitive_features=["a", "a", "a"])


def test_an_id_is_no_group() -> None:
    people = decisions("f0", 200)
    with pytest.raises(TooManyGroupsError, match="200 groups"):
        separation(people.label, people.decision, sensitive_features=np.arange(200))


def test_an_audit_prints_and_becomes_a_frame() -> None:
    audit = audited(decisions("f3", 500))
    assert "TPR(0) = TPR(1)" in str(audit)
    assert audit.to_frame("polars").shape[0] == 2
    assert "<" in audit._repr_html_()


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["0", "1", "true", "a", "b", "NA", ""]),
)


@pytest.mark.long
@settings(max_examples=200)
@given(st.lists(st.tuples(odd, odd, odd), max_size=12))
def test_nothing_odd_gives_anything_but_an_audit_or_our_error(rows: list[tuple[Any, ...]]) -> None:
    label, prediction, group = ([row[place] for row in rows] for place in range(3))
    try:
        outcome = separation(label, prediction, sensitive_features=group).finding
    except ComparityError as error:
        outcome = str(error)
    assert outcome in (VIOLATED, WITHIN, UNDECIDED) or "hint:" in outcome
