"""Separation by information: scikit-learn's models, exact tables, and what a test should find."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import mutual_info_score

from comparity.counts.densities import fit_groups
from comparity.counts.overlap import label_blocks
from comparity.errors import ComparityError, OutOfRangeError
from comparity.separation.information import (
    information_independence,
    information_separation,
    information_sufficiency,
    mean_information,
    permute_within,
)
from comparity.separation.information_result import AttributeInformation


def world(n: int = 200, k: int = 2, lean: float = 0.6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n + k)
    group, y = rng.integers(0, k, n), rng.normal(size=n)
    return y, y + 0.5 * rng.normal(size=n) + lean * group, group


@pytest.mark.parametrize("k", [2, 3])
def test_measures_equal_those_of_logistic_regressions_of_scikit_learn(k: int) -> None:
    """The published code: log-ratios of LogisticRegression(), divided by minus the margin's."""
    y, scores, group = world(k=k)
    found = information_separation(y, scores, sensitive_features=group, permutations=1)
    designs = {"margin": y[:, None], "joint": np.column_stack([y, scores])}
    logs, odds = {}, {}
    for name, design in designs.items():
        model = LogisticRegression(solver="newton-cg", tol=1e-10).fit(design, group)
        proba = model.predict_proba(design)
        logs[name] = np.log(proba[np.arange(len(y)), group])
        odds[name] = proba[:, 1] / proba[:, 0]
    gain = logs["joint"] - logs["margin"]
    assert found.information == pytest.approx(gain.mean(), rel=1e-5)
    assert found.relative_information == pytest.approx(gain.sum() / -logs["margin"].sum(), rel=1e-5)
    if k == 2:
        assert found.odds_ratio == pytest.approx((odds["joint"] / odds["margin"]).mean(), rel=1e-5)
    else:
        assert np.isnan(found.odds_ratio)


def test_a_number_is_predicted_by_least_squares_with_normal_errors() -> None:
    rng = np.random.default_rng(1)
    age, y = rng.normal(size=(2, 150))
    scores = y + 0.4 * age + 0.5 * rng.normal(size=150)
    found = information_separation(
        y, scores, sensitive_features=age, continuous=True, permutations=1
    )
    logs = []
    for design in (np.column_stack([y, scores]), y[:, None]):
        predicted = LinearRegression().fit(design, age).predict(design)
        logs.append(norm.logpdf(age, predicted, np.std(age - predicted)))
    assert found.information == pytest.approx((logs[0] - logs[1]).mean())
    assert np.isnan(found.relative_information)


def test_with_binary_scores_and_labels_curves_find_the_information_of_the_table() -> None:
    """Additive models are saturated within a label; the ridge takes away very little."""
    rng = np.random.default_rng(2)
    n = 20_000
    group, y = rng.integers(0, 2, n), np.zeros(n)
    y[::2] = 1.0
    scores = (rng.random(n) < 0.3 + 0.3 * y + 0.2 * group * (1 - y) + 0.2 * group * y) * 1.0
    expected = np.mean([mutual_info_score(group[y == one], scores[y == one]) for one in (0, 1)])
    found = mean_information(fit_groups(y, scores, group, curves="spline"))
    assert found == pytest.approx(expected, abs=2e-4)


def test_a_leaning_score_is_found_and_a_straight_one_is_not() -> None:
    y, scores, group = world(300)
    leaning = information_separation(y, scores, sensitive_features=group, permutations=99, rng=0)
    y, scores, group = world(300, lean=0.0)
    straight = information_separation(y, scores, sensitive_features=group, permutations=99, rng=0)
    assert leaning.p_value == pytest.approx(0.01)
    assert straight.p_value > 0.05
    assert leaning.information > 5 * leaning.by_chance


def test_a_seed_gives_the_same_p_value() -> None:
    y, scores, group = world(80, lean=0.2)
    options = {"sensitive_features": group, "permutations": 19}
    first, second = (information_separation(y, scores, rng=4, **options) for _ in range(2))
    assert first == second


def test_attributes_are_dealt_out_within_labels_only() -> None:
    rng = np.random.default_rng(0)
    y, attribute = rng.integers(0, 5, 100).astype(float), np.arange(100)
    dealt = permute_within(label_blocks(y), attribute, rng)
    assert (y[dealt] == y).all()
    assert sorted(dealt) == list(range(100))
    assert (dealt != attribute).any()


def test_many_labels_are_dealt_out_among_neighbours() -> None:
    y = np.random.default_rng(1).normal(size=203)
    blocks = label_blocks(y)
    assert np.bincount(blocks).tolist() == [10] * 19 + [13]
    for one in range(19):
        assert y[blocks == one].max() < y[blocks == one + 1].min()


def test_scores_in_a_large_unit_are_held_back_by_the_published_ridge_which_is_noted() -> None:
    y, scores, group = world()
    choices = {"sensitive_features": group, "permutations": 1}
    found = information_separation(y, scores / 1000, **choices)
    assert "scores vary by 0.001" in " ".join(str(found).split())
    assert "labels vary by" not in " ".join(str(found).split())
    whole = information_separation(y, scores, **choices)
    assert found.information < whole.information / 100
    assert "vary by" not in str(whole)
    curved = information_separation(y, scores / 1000, curves="spline", **choices)
    assert "vary by" not in str(curved)
    again = information_separation(y, scores, curves="spline", **choices)
    assert curved.information == pytest.approx(again.information)


@pytest.mark.parametrize("unit", [1e-29, 1e29])
@pytest.mark.parametrize("curves", ["linear", "spline"])
def test_units_of_a_number_do_not_matter(unit: float, curves: str) -> None:
    y, scores, group = world()
    age = group + np.random.default_rng(0).normal(size=len(y))
    choices = {"continuous": True, "permutations": 1, "curves": curves}
    expected = information_separation(y, scores, sensitive_features=age, **choices).information
    found = information_separation(
        y / unit, scores * unit, sensitive_features=age * unit, **choices
    )
    assert found.information == pytest.approx(expected, rel=1e-6)


def test_results_print_and_turn_into_plain_data() -> None:
    y, scores, group = world(60, k=3)
    found = information_separation(y, scores, sensitive_features=group, permutations=3)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["odds_ratio"] is None
    assert "linear in the label" in str(found)
    assert "<" in found._repr_html_()
    assert len(found.to_frame("pandas")) == 5


@pytest.mark.parametrize(
    "choice",
    [{"curves": "forest"}, {"permutations": 0}, {"sensitive_features": ["a"] * 60}],
)
def test_bad_choices_are_refused(choice) -> None:
    y, scores, group = world(60)
    with pytest.raises(ComparityError):
        information_separation(y, scores, **{"sensitive_features": group, **choice})
    with pytest.raises(OutOfRangeError, match="y_true"):
        information_separation(y * 1e200, scores, sensitive_features=group)


@pytest.mark.parametrize("k", [2, 3])
def test_independence_and_sufficiency_are_those_of_logistic_regressions(k: int) -> None:
    """Steinberg, Reid and O'Callaghan (2020), from LogisticRegression() and class shares."""
    y, scores, group = world(k=k)
    choices = {"sensitive_features": group, "permutations": 1}
    logs = {}
    designs = {"y": y[:, None], "score": scores[:, None], "both": np.column_stack([y, scores])}
    for name, design in designs.items():
        model = LogisticRegression(solver="newton-cg", tol=1e-10).fit(design, group)
        logs[name] = np.log(model.predict_proba(design)[np.arange(len(y)), group])
    alone = np.log((np.bincount(group) / len(group))[group])
    independence = information_independence(scores, **choices)
    assert independence.information == pytest.approx((logs["score"] - alone).mean(), rel=1e-5)
    share = (logs["score"] - alone).sum() / -alone.sum()
    assert independence.relative_information == pytest.approx(share, rel=1e-5)
    sufficiency = information_sufficiency(y, scores, **choices)
    assert sufficiency.information == pytest.approx((logs["both"] - logs["score"]).mean(), rel=1e-5)


def test_of_two_values_all_three_are_the_information_of_tables() -> None:
    rng = np.random.default_rng(3)
    n = 20_000
    group, y = rng.integers(0, 2, n), rng.integers(0, 2, n) * 1.0
    scores = (rng.random(n) < 0.3 + 0.3 * y + 0.2 * group) * 1.0
    choices = {"sensitive_features": group, "curves": "spline", "permutations": 1}
    independence = information_independence(scores, **choices)
    assert independence.information == pytest.approx(mutual_info_score(group, scores), abs=2e-4)
    told = information_sufficiency(y, scores, **choices).information
    expected = sum(
        (scores == one).mean() * mutual_info_score(group[scores == one], y[scores == one])
        for one in (0, 1)
    )
    # Effects of label and score on the log-odds of the group are taken to add up.
    assert told == pytest.approx(expected, abs=1e-3)


def test_each_notion_finds_its_own_violation_and_no_other() -> None:
    rng = np.random.default_rng(4)
    group, noise = rng.integers(0, 2, 400), rng.normal(size=(2, 400))
    talent = rng.normal(size=400) + 0.7 * group
    choices = {"sensitive_features": group, "permutations": 99, "rng": 0}
    # Labels tell scores, groups tell labels: separation holds, the other two do not.
    y, scores = talent, talent + 0.7 * noise[0]
    assert information_independence(scores, **choices).p_value == pytest.approx(0.01)
    assert information_separation(y, scores, **choices).p_value > 0.05
    # Scores tell labels, groups tell scores: sufficiency holds.
    y = scores + 0.7 * noise[1]
    assert information_sufficiency(y, scores, **choices).p_value > 0.05
    assert information_separation(y, scores, **choices).p_value <= 0.03
    assert information_sufficiency(y + group, scores, **choices).p_value == pytest.approx(0.01)


def test_a_number_may_be_told_by_scores_alone() -> None:
    rng = np.random.default_rng(5)
    age = rng.normal(size=200)
    scores = 0.5 * age + rng.normal(size=200)
    found = information_independence(
        scores, sensitive_features=age, continuous=True, permutations=19, rng=0
    )
    correlation = np.corrcoef(age, scores)[0, 1]
    assert found.information == pytest.approx(-0.5 * np.log1p(-(correlation**2)))
    assert found.p_value == pytest.approx(0.05)


def test_answers_say_which_notion_they_are_about_and_are_read_back() -> None:
    y, scores, group = world(60)
    choices = {"sensitive_features": group, "permutations": 3}
    independence = information_independence(scores, **choices)
    sufficiency = information_sufficiency(y, scores, **choices)
    assert "Scores tell" in str(independence)
    assert "beyond" not in str(independence).split("\n")[0]
    assert "Labels tell" in str(sufficiency)
    assert "beyond scores" in str(sufficiency)
    assert "under sufficiency" in str(sufficiency)
    assert AttributeInformation.from_dict(sufficiency.to_dict()) == sufficiency
