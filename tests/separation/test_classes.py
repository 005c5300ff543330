"""Labels and decisions of several classes: tables by pandas, tests by SciPy, gaps by Fairlearn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import equalized_odds_difference
from scipy.stats import chi2_contingency

from comparity import separation
from comparity.errors import OptionError, TooManyClassesError
from comparity.results.result import UNDECIDED, VIOLATED
from comparity.separation.audit import audit_frame


def people(n: int = 3000, lean: float = 0.2, seed: int = 0) -> pd.DataFrame:
    """Draw labels whose mix differs by group, and decisions that take women labelled b for a."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    is_a = np.where(sex == "f", 0.6, 0.2)
    label = np.where(rng.random(n) < is_a, "a", rng.choice(["b", "c"], n))
    decided = np.where(rng.random(n) < 0.7, label, np.where(label == "a", "b", "a"))
    taken = (sex == "f") & (label == "b") & (rng.random(n) < lean)
    return pd.DataFrame({"sex": sex, "label": label, "decided": np.where(taken, "a", decided)})


def audited(frame: pd.DataFrame, **choices: Any) -> Any:
    return separation(
        frame["label"], frame["decided"], sensitive_features=frame["sex"], classes=True, **choices
    )


def test_every_decision_is_compared_given_every_label() -> None:
    frame = people()
    audit = audited(frame)
    shares = frame.groupby(["label", "sex"])["decided"].value_counts(normalize=True)
    expected = {
        f"P({decision} | {label}, f) = P({decision} | {label}, m)": shares.get(
            (label, "f", decision), 0.0
        )
        - shares.get((label, "m", decision), 0.0)
        for label in "abc"
        for decision in "abc"
    }
    assert {test.null: test.gap for test in audit.tests} == pytest.approx(expected)
    violated = {test.null for test in audit.tests if test.finding == VIOLATED}
    assert violated == {f"P({one} | b, f) = P({one} | b, m)" for one in "ab"}


def test_given_each_label_the_whole_distribution_is_that_of_scipy() -> None:
    frame = people()
    for label, joint in zip("abc", audited(frame).joint_tests, strict=True):
        rows = frame[frame["label"] == label]
        found = chi2_contingency(pd.crosstab(rows["sex"], rows["decided"]), correction=False)
        assert (joint.statistic, joint.dof) == pytest.approx((found.statistic, found.dof))
        assert joint.p_value == pytest.approx(found.pvalue)


def test_a_class_against_the_rest_is_that_of_fairlearn_and_misleads() -> None:
    """Separation holds here; the rest of a holds other labels among men than among women."""
    frame = people(20_000, lean=0.0)
    audit = audited(frame)
    assert audit.finding != VIOLATED
    for one in "abc":
        expected = equalized_odds_difference(
            frame["label"] == one, frame["decided"] == one, sensitive_features=frame["sex"]
        )
        told = audit.summary[f"equalized odds difference, {one} against the rest"]
        assert told == pytest.approx(expected)
    assert audit.summary["equalized odds difference, b against the rest"] > 0.1
    assert audit.summary["largest difference of a rate"] < 0.05


def test_two_classes_are_judged_as_yes_and_no() -> None:
    frame = people()
    frame = frame[(frame["label"] != "c") & (frame["decided"] != "c")]
    by_class = audited(frame).tests
    yes_no = separation(
        frame["label"], frame["decided"], sensitive_features=frame["sex"], positive="b"
    ).tests
    gaps = [(test.gap, test.p_value, test.p_adjusted) for test in by_class]
    assert gaps == [(test.gap, test.p_value, test.p_adjusted) for test in yes_no[::-1]]


def test_every_engine_gives_the_same_and_clusters_are_taken_into_account(
    frame: Callable[..., Any],
) -> None:
    rows = people(900)
    columns = {name: rows[name].to_numpy() for name in rows} | {"person": np.arange(900) // 10}
    named = {"label": "label", "prediction": "decided", "sensitive": ["sex"], "classes": True}
    found = audit_frame(frame(columns), **named)
    assert [test.gap for test in found.tests] == pytest.approx(
        [test.gap for test in audited(rows).tests]
    )
    clustered = audit_frame(frame(columns), **named, cluster=["person"])
    assert clustered.n_clusters == {"person": 90}
    assert all(test.method.startswith(("clustered", "none")) for test in clustered.tests)


def test_a_label_that_a_group_lacks_is_left_open() -> None:
    frame = people(600)
    frame = frame[(frame["sex"] == "m") | (frame["label"] != "c")]
    audit = audited(frame, margin=0.9)
    lacking = [test for test in audit.tests if " | c," in test.null]
    assert {test.finding for test in lacking} == {UNDECIDED}
    assert all("no trials" in test.reason for test in lacking)
    assert np.isfinite(audit.summary["largest difference of a rate"])


@pytest.mark.long
def test_the_family_keeps_its_level() -> None:
    alarms = sum(
        audited(people(400, lean=0.0, seed=seed)).finding == VIOLATED for seed in range(60)
    )
    assert alarms / 60 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


def test_what_does_not_go_with_classes_is_refused() -> None:
    frame = people(100)
    with pytest.raises(OptionError, match="positive"):
        audited(frame, positive="a")
    with pytest.raises(OptionError, match="threshold"):
        audited(frame, threshold=0.5)
    with pytest.raises(TooManyClassesError, match="at most 20"):
        separation(range(100), range(100), sensitive_features=frame["sex"], classes=True)
