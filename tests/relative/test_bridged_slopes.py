"""A number across a bridge, beside statsmodels' regressions and drawn decision makers."""

from typing import Any

import numpy as np
import polars
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]

from comparity import biased_bridge
from comparity.errors import ComparityError
from comparity.relative.bridge_families import bridge_frames
from comparity.relative.bridged_slopes import ErrorLine
from comparity.relative.bridges import audit_frames


def decide(lean: float, *, n: int = 500, older: float = 0.0, seed: Any = 0) -> Any:
    """Return decisions, ages and features of both sides; the first favours the old by `lean`."""
    rng, sides = np.random.default_rng(seed), []
    for side in (0, 1):
        age = 40 + 10 * (rng.normal(size=n) + older * side)
        grade = rng.normal(size=(n, 2)) + 0.03 * age[:, None]
        noise = rng.normal(0, 0.7, n)
        sides.append((grade.sum(axis=1) + lean * age * (side == 0) + noise, age, grade))
    return [tuple(one[place] for one in sides) for place in range(3)]


def bridge(lean: float, *, older: float = 0.0, seed: Any = 0, **choices: Any) -> Any:
    decisions, age, grade = decide(lean, older=older, seed=seed)
    known: dict[str, Any] = {"features": grade, **choices}
    return biased_bridge(*decisions, sensitive_features=age, continuous=True, **known)


def test_given_predictions_are_judged_by_two_regressions_of_statsmodels() -> None:
    decisions, age, grade = decide(0.02)
    made = [one.sum(axis=1) + 0.1 for one in grade]
    found = bridge(0.02, features=None, predictions=made)
    slopes, variances, squares = [], [], []
    for own, decided, x in zip(made, decisions, age, strict=True):
        fit = sm.OLS(own - decided, sm.add_constant(x)).fit(cov_type="HC3")
        slopes.append(fit.params[1])
        variances.append(fit.cov_params()[1, 1])
        squares.append(fit.ssr / (len(x) - 2))
    width = 2 * age[1].std(ddof=1)
    gap = width * (slopes[1] - slopes[0])
    assert found.gap == pytest.approx(gap, rel=1e-9)
    assert found.dpd == pytest.approx(gap / np.sqrt(sum(squares)), rel=1e-9)
    assert found.dpt == pytest.approx(gap / (width * np.sqrt(sum(variances))), rel=1e-9)


def test_a_weighted_line_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(3)
    x, y, w = rng.normal(size=80), rng.normal(size=80), rng.uniform(0.2, 3, 80)
    line = ErrorLine.through(x, y, w)
    fit = sm.WLS(y, sm.add_constant(x), weights=w).fit(cov_type="HC3")
    assert line.slope == pytest.approx(fit.params[1], rel=1e-9)
    assert np.sqrt(line.influence @ line.influence) == pytest.approx(fit.bse[1], rel=1e-9)


def test_who_favours_the_old_is_found_and_named() -> None:
    found = bridge(0.03)
    assert found.finding == "violated"
    assert found.direction == (
        "Compared with second, first favours larger group over smaller group"
    )
    assert found.contrasts[0].test.method.endswith("doubly robust")
    # Two standard deviations of age, 20 years, at 0.03 a year.
    assert found.gap == pytest.approx(0.6, abs=0.2)


def test_the_diagnosis_is_that_of_both_halves() -> None:
    diagnosis = bridge(0.0).diagnosis
    assert [name.split()[1] for name in diagnosis.separability] == ["up", "above"]
    assert diagnosis.carries


@pytest.mark.slow
@pytest.mark.parametrize(("lean", "older"), [(0.0, 0.0), (0.0, 0.5), (0.02, 0.0)])
def test_a_slope_across_a_bridge_is_found_as_rarely_as_promised(lean: float, older: float) -> None:
    runs = 400
    found = [bridge(lean, older=older, seed=[17, run]) for run in range(runs)]
    rejected = np.mean([one.p_value < 0.05 for one in found])
    if lean:
        assert rejected > 0.8
    else:
        # Three binomial errors, and 0.015 for what is normal in large samples only.
        assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs) + 0.015


def test_frames_labels_and_several_decision_makers_cross_alike() -> None:
    decisions, age, grade = decide(0.03)
    frames = [
        polars.DataFrame(
            {"age": x, "g": known[:, 0], "h": known[:, 1], "said": own, "passed": own > own.mean()}
        )
        for x, known, own in zip(age, grade, decisions, strict=True)
    ]
    asked: dict[str, Any] = {"sensitive": "age", "features": ["g", "h"], "continuous": True}
    one = audit_frames(*frames, first="said", second="said", **asked)
    family = bridge_frames(*frames, makers=[("said", "said")], **asked)
    assert family.contrasts[0].p_value == one.p_value
    assert one.contrasts[0].group == "larger age"
    labels = bridge_frames(*frames, makers=[("passed", "passed")], labels=True, **asked)
    assert len(labels.contrasts) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"subjects": (range(500), range(500))}, "different subjects"),
        ({"reference": "old"}, "no groups to refer to"),
        ({"intersection": True}, "two groups"),
    ],
)
def test_what_does_not_go_with_a_number_is_refused(change: Any, words: str) -> None:
    with pytest.raises(ComparityError, match=words):
        bridge(0.0, **change)


@pytest.mark.parametrize(
    ("ages", "words"),
    [
        ((np.full(500, 40.0), np.arange(500.0)), "at least two groups"),
        ((np.arange(500.0), np.full(500, "old")), "must hold numbers"),
        ((np.arange(499.0), np.arange(500.0)), "length"),
        ((np.arange(500.0), 1000 + np.arange(500.0)), "up to 749.5"),
    ],
)
def test_numbers_that_cannot_be_compared_are_refused(ages: Any, words: str) -> None:
    decisions, _, grade = decide(0.0)
    with pytest.raises(ComparityError, match=words):
        biased_bridge(*decisions, sensitive_features=ages, features=grade, continuous=True)


def test_few_subjects_leave_the_question_open() -> None:
    decisions, age, grade = (tuple(one[:12] for one in pair) for pair in decide(0.0))
    known: dict[str, Any] = {"features": grade, "errors": "held-out", "held_out": 0.5}
    found = biased_bridge(*decisions, sensitive_features=age, continuous=True, **known)
    assert found.finding == "undecided"
    assert "a slope needs 10 subjects" in found.contrasts[0].test.reason
