from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity.errors import LengthMismatchError, MissingValueError, NotNumericError, OptionError
from comparity.relative.rehearsal import Rehearsal, RehearsedCase, rehearse_bridges


def raters(seed: int = 0, n: int = 400) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sex, merit = rng.choice(["f", "m"], n), rng.normal(size=n)
    leaning = {"even": 0.0, "leaning": 1.0}
    decisions = {
        name: merit + lean * (sex == "m") + rng.normal(0, 0.3, n) for name, lean in leaning.items()
    }
    return decisions, sex, merit[:, None]


@pytest.fixture(scope="module")
def found() -> Rehearsal:
    decisions, sex, merit = raters()
    return rehearse_bridges(decisions, sensitive_features={"sex": sex}, features=merit, splits=2)


def test_every_two_are_compared_in_both_directions_and_with_themselves(found: Rehearsal) -> None:
    assert found.n_cases == 4
    assert len(found.cases) == 8
    own = [case for case in found.cases if case.first == case.second]
    assert all(case.direct == (0, 0) for case in own)
    assert all(case.direct_dpd == (0.0, 0.0) for case in own)


def test_the_biased_bridge_sees_a_large_leaning_and_its_direction(found: Rehearsal) -> None:
    for case in found.cases:
        if (case.first, case.second) == ("leaning", "even"):
            assert case.direct == (1, 1)
            assert case.said["biased"] == 1
    assert found.right("biased") >= 3
    assert found.to_dict()["opposite"]["biased"] == 0


def test_a_bridge_is_right_if_one_of_two_measurements_says_so() -> None:
    facts = {"split": 0, "attribute": "sex", "first": "a", "second": "b", "direct_dpd": (0.2, 0.1)}
    case = RehearsedCase(**facts, direct=(1, 0), said={"x": 0, "y": 1, "z": -1}, dpd={})
    assert [case.is_right(name) for name in "xyz"] == [True, True, False]
    assert [case.is_opposite(name) for name in "xyz"] == [False, False, True]


def test_a_rehearsal_is_a_frame_and_text(found: Rehearsal) -> None:
    assert found.to_frame("polars").shape == (24, 13)
    assert "direct measurement" in str(found)
    assert "leaning over even" in found._repr_html_()


@pytest.mark.parametrize("wrong", [{"share": 1.0}, {"share": "half"}, {"splits": 0}, {"seed": -1}])
def test_bad_choices_are_refused(wrong: dict[str, Any]) -> None:
    decisions, sex, merit = raters(n=50)
    with pytest.raises(OptionError):
        rehearse_bridges(decisions, sensitive_features=sex, features=merit, **wrong)


@pytest.mark.parametrize(
    ("decisions", "error", "words"),
    [
        ({}, OptionError, "one maker or more"),
        ({"a": range(50), "b": range(5)}, LengthMismatchError, "b: 5"),
        ({"a": ["good"] * 50}, NotNumericError, "'good'"),
        ({"a": [None, *range(49)]}, MissingValueError, "column 'a'.*data row 1"),
    ],
)
def test_broken_decisions_are_refused(
    decisions: dict[str, Any], error: type[Exception], words: str
) -> None:
    _, sex, merit = raters(n=50)
    with pytest.raises(error, match=f"(?s){words}"):
        rehearse_bridges(decisions, sensitive_features=sex, features=merit)


def test_more_groups_than_subjects_are_refused() -> None:
    decisions, sex, merit = raters()
    with pytest.raises(LengthMismatchError, match="sensitive group"):
        rehearse_bridges(decisions, sensitive_features=[*sex, "f"], features=merit, splits=1)
