"""An attribute that is a number: Somers' D of SciPy, two values as groups, level and power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import somersd

from comparity import separation
from comparity.errors import ComparityError, OneGroupError, OptionError
from comparity.results.result import VIOLATED
from comparity.separation.audit import audit_frame


def people(n: int, lean: float, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age, label = rng.integers(20, 60, n), rng.integers(0, 2, n)
    decided = rng.random(n) < 0.3 + 0.4 * label + lean * (age - 40) / 40
    return {"age": age, "label": label, "decided": decided.astype(int)}


def audited(one: dict[str, Any], **choices: Any) -> Any:
    choices = {"sensitive_features": one["age"], "continuous": True} | choices
    return separation(one["label"], one["decided"], **choices)


def test_gaps_are_somers_d_of_the_decision_given_the_number() -> None:
    one = people(800, lean=0.3)
    audit = audited(one)
    for label, test in zip((1, 0), audit.tests, strict=True):
        kept = one["label"] == label
        expected = somersd(one["age"][kept], one["decided"][kept]).statistic
        assert test.gap == pytest.approx(expected)
        assert test.n == (kept.sum(), kept.sum())
        assert test.finding == VIOLATED
    assert [test.null for test in audit.tests] == [
        "TPR(larger) = TPR(smaller)",
        "FPR(larger) = FPR(smaller)",
    ]


def test_a_number_of_two_values_has_the_gaps_of_two_groups() -> None:
    one = people(500, lean=0.2)
    old = (one["age"] > 40).astype(int)
    as_number = audited(one, sensitive_features=old).tests
    as_groups = audited(one, sensitive_features=old, continuous=False).tests
    for number, groups in zip(as_number, as_groups, strict=True):
        assert number.gap == pytest.approx(-groups.gap)
        assert number.p_value == pytest.approx(groups.p_value, abs=0.02)


def test_classes_and_several_numbers_are_one_family() -> None:
    rng = np.random.default_rng(3)
    label, decided = rng.choice(list("abc"), (2, 300))
    numbers = {"age": rng.normal(size=300), "income": rng.normal(size=300)}
    audit = separation(label, decided, sensitive_features=numbers, continuous=True, classes=True)
    assert len(audit.tests) == 18
    nulls = {test.null: test.gap for test in audit.tests}
    kept = label == "b"
    expected = somersd(numbers["income"][kept], decided[kept] == "c").statistic
    assert nulls["income: P(c | b, larger) = P(c | b, smaller)"] == pytest.approx(expected)


def test_every_engine_gives_the_same(frame: Callable[..., Any]) -> None:
    one = people(300, lean=0.1)
    named = {"label": "label", "prediction": "decided", "sensitive": ["age"], "continuous": True}
    found = audit_frame(frame(one), **named)
    assert [test.p_value for test in found.tests] == pytest.approx(
        [test.p_value for test in audited(one).tests]
    )


def test_the_level_is_kept() -> None:
    alarms = sum(audited(people(120, 0.0, seed)).finding == VIOLATED for seed in range(150))
    assert alarms / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_decisions_that_are_all_alike_leave_the_question_open() -> None:
    one = people(200, 0.0) | {"decided": np.ones(200, dtype=int)}
    assert {test.reason for test in audited(one).tests} == {
        "all outcomes are equal, nothing varies"
    }


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"intersection": True}, OptionError),
        ({"cluster": np.arange(60) // 2}, OptionError),
        ({"rule": "paper"}, OptionError),
        ({"sensitive_features": np.ones(60)}, OneGroupError),
        ({"sensitive_features": ["old"] * 60}, ComparityError),
        ({"sensitive_features": [np.nan] * 60}, ComparityError),
    ],
)
def test_what_does_not_go_with_a_number_is_refused(
    choices: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        audited(people(60, 0.0), **choices)
