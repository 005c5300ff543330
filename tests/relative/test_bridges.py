from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm, ttest_ind
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from comparity import biased_bridge, differential_parity, unbiased_bridge
from comparity.errors import (
    ComparityError,
    LengthMismatchError,
    MissingValueError,
    NoBridgeError,
    OptionError,
    OutOfRangeError,
    PairOfSidesError,
    TooFewSubjectsError,
)
from comparity.relative.bridge_checks import _left_by
from comparity.relative.bridges import audit_files, audit_frames
from comparity.relative.diagnosis import _normal_p_value
from comparity.results.result import VIOLATED


def committees(
    lean: float = 0.0, n: int = 500, m: int = 400, seed: int = 1
) -> tuple[Any, Any, dict[str, Any]]:
    """Two committees that see the same grade; the first adds `lean` for women."""
    rng = np.random.default_rng(seed)
    sex = tuple(rng.choice(["f", "m"], size) for size in (n, m))
    grade = tuple(rng.normal(size=(size, 2)) for size in (n, m))
    first, second = (x[:, 0] + 0.5 * x[:, 1] + rng.normal(0, 0.7, len(x)) for x in grade)
    return first + lean * (sex[0] == "f"), second, {"sensitive_features": sex, "features": grade}


def test_a_leaning_is_found_named_and_sized() -> None:
    first, second, known = committees(0.7)
    result = biased_bridge(first, second, names=("old", "new"), reference="m", **known)
    assert result.finding == "violated"
    assert result.exit_status == 1
    assert result.direction == "Compared with new, old favours group f over group m"
    # The truth is 0.7 over sqrt(2) times a little more than the noise of 0.7.
    assert result.gap == pytest.approx(0.7, abs=3 * abs(result.gap / result.dpt))
    assert result.dpd == pytest.approx(0.7 / (0.7 * np.sqrt(2)), abs=0.15)
    assert result.diagnosis.carries


def test_without_a_leaning_many_decisions_show_a_gap_inside_the_margin() -> None:
    first, second, known = committees(n=4000, m=4000)
    result = biased_bridge(first, second, **known)
    assert result.finding == "within the margin"
    low, high, _ = result.interval(0.9)
    assert -0.2 < low < high < 0.2


def test_turning_the_reference_turns_the_sign() -> None:
    first, second, known = committees(0.3)
    one = biased_bridge(first, second, reference="f", **known)
    other = biased_bridge(first, second, reference="m", **known)
    assert one.dpd == pytest.approx(-other.dpd)
    assert one.p_value == pytest.approx(other.p_value)


def test_predictions_already_made_give_what_the_regressor_gives() -> None:
    first, second, known = committees(0.3)
    one, other = known["features"]
    model = LinearRegression().fit(one, first)
    given = biased_bridge(
        first,
        second,
        sensitive_features=known["sensitive_features"],
        predictions=(model.predict(one), model.predict(other)),
    )
    fitted = biased_bridge(first, second, regressor=LinearRegression(), errors="training", **known)
    assert given.dpt == pytest.approx(fitted.dpt)
    assert given.dpd == pytest.approx(fitted.dpd)
    assert any("taken as given" in note for note in given.notes)


def test_the_unbiased_bridge_compares_predictions_as_if_they_were_decisions() -> None:
    first, second, known = committees()
    result = unbiased_bridge(first, second, regressor=LinearRegression(), **known)
    one, other = known["features"]
    difference = LinearRegression().fit(one, first).predict(other) - second
    women = known["sensitive_features"][1] == "f"
    expected = ttest_ind(difference[~women], difference[women], equal_var=False)
    assert result.dpt == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert result.bridge == "unbiased"


def test_all_subjects_shared_are_measured_directly() -> None:
    first, second, known = committees(0.3, 400, 400)
    sex, grade = known["sensitive_features"][0], known["features"][0]
    ids = np.arange(400)
    bridged = biased_bridge(
        first, second, sensitive_features=(sex, sex), features=(grade, grade), subjects=(ids, ids)
    )
    direct = differential_parity(first, second, sensitive_features=sex, permutations=0)
    assert bridged.dpt == pytest.approx(direct.dpt)
    assert bridged.dpd == pytest.approx(direct.dpd)
    assert bridged.finding == direct.finding


def test_shared_subjects_make_the_estimate_more_precise() -> None:
    rng = np.random.default_rng(4)
    grade, merit = rng.normal(size=(700, 2)), rng.normal(size=700)
    sex = rng.choice(["f", "m"], 700)
    one, other = np.arange(500), np.arange(300, 700)
    marks = grade[:, 0] + merit
    first, second = (marks[rows] + rng.normal(0, 0.3, len(rows)) for rows in (one, other))
    known = {"sensitive_features": (sex[one], sex[other]), "features": (grade[one], grade[other])}
    apart = biased_bridge(first, second, **known)
    joined = biased_bridge(first, second, subjects=(one, other), **known)
    assert joined.diagnosis.n_shared == 200
    assert abs(joined.gap / joined.dpt) < 0.7 * abs(apart.gap / apart.dpt)


@pytest.mark.parametrize(("written", "shared"), [("{}", True), ("{:04}", False)])
def test_ids_that_never_meet_are_warned_of(written: str, shared: bool) -> None:
    first, second, known = committees()
    ids = [np.arange(len(side)) for side in (first, second)]
    found = biased_bridge(
        first,
        second,
        sensitive_features=[np.resize(["f", "m"], len(one)) for one in ids],
        features=known["features"],
        subjects=(ids[0] + 10, [written.format(one) for one in ids[1] + 10]),
    )
    assert any("no id occurs on both sides" in note for note in found.notes) is not shared


def test_a_model_that_learns_by_heart_is_refused_in_sample_and_not_cross_fitted() -> None:
    first, second, known = committees(0.0)
    model = KNeighborsRegressor(1)
    in_sample = biased_bridge(first, second, regressor=model, errors="training", **known)
    assert in_sample.diagnosis.optimism == 0.0
    assert in_sample.finding == "undecided"
    assert "memorised" in in_sample.tests[0].reason
    assert biased_bridge(first, second, regressor=model, **known).diagnosis.carries


def test_errors_on_the_training_data_are_told_of_where_others_were_to_be_had() -> None:
    first, second, known = committees(0.0)
    told = {
        errors: any("the model was fitted to" in note for note in found.notes)
        for errors in ("training", "cross-fitted")
        for found in [biased_bridge(first, second, errors=errors, **known)]
    }
    assert told == {"training": True, "cross-fitted": False}
    by_model = unbiased_bridge(first, second, **known)
    assert by_model.errors_from == "training"
    assert not any("the model was fitted to" in note for note in by_model.notes)


def test_a_useless_bridge_keeps_its_numbers_and_finds_nothing() -> None:
    first, second, known = committees(3.0)
    rng = np.random.default_rng(0)
    known["features"] = tuple(rng.normal(size=(len(one), 50)) for one in (first, second))
    result = biased_bridge(first, second, regressor=Ridge(1e-6), **known)
    assert result.p_value < 0.001
    assert result.finding == "undecided"
    assert "there is no bridge" in result.tests[0].reason
    assert "does not carry a finding" in str(result)


def test_a_rule_that_is_predicted_exactly_has_no_gap_and_no_rounding_for_one() -> None:
    _, _, known = committees()
    first, second = (x[:, 0] / 3 + 0.1 for x in known["features"])
    for errors in ("cross-fitted", "training"):
        result = biased_bridge(first, second, regressor=LinearRegression(), errors=errors, **known)
        assert (result.dpt, result.dpd, result.p_value) == (0.0, 0.0, 1.0)
        assert result.p_one_sided == 0.5


def off_by_constants(first: float, second: float, lean: float, shared: int) -> Any:
    """Predictions of 300 subjects on each side that miss every decision by so much."""
    rng, sex = np.random.default_rng(0), np.resize(["f", "m"], 300)
    one, two = rng.normal(size=(2, 300)).round(2)
    return biased_bridge(
        one,
        two,
        sensitive_features=(sex, sex),
        predictions=(one + first, two + second + lean * (sex == "m")),
        subjects=(np.arange(300), np.r_[:shared, 300 : 600 - shared]),
    )


@pytest.mark.parametrize("shared", [0, 5, 20, 300])
@pytest.mark.parametrize("off", [(0.0, 0.0), (0.1, 0.1), (0.0, 0.1)])
def test_predictions_off_by_a_constant_have_no_gap(off: tuple[float, float], shared: int) -> None:
    found = off_by_constants(*off, lean=0.0, shared=shared)
    assert (found.gap, found.dpt, found.dpd, found.p_value) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("n", [60, 2000])
def test_one_rule_and_the_same_with_more_for_everybody_do_not_lean_apart(n: int) -> None:
    rng = np.random.default_rng(1)
    grade = tuple(rng.normal(size=(n, 3)) for _ in range(2))
    sex = tuple(rng.choice(["f", "m"], n) for _ in range(2))
    first, second = (one @ [0.3, 0.7, -0.2] for one in grade)
    known = {"sensitive_features": sex, "features": grade, "regressor": LinearRegression()}
    found = biased_bridge(first, second + 3.3, **known)
    assert (found.dpt, found.dpd, found.p_value) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("shared", [0, 5, 20, 300])
def test_a_gap_without_variation_is_without_bound(shared: int) -> None:
    found = off_by_constants(0.1, 0.1, lean=0.1, shared=shared)
    assert found.gap == pytest.approx(0.1)
    assert (found.dpt, found.dpd, found.finding) == (np.inf, np.inf, VIOLATED)


def test_decisions_on_different_scales_are_warned_of() -> None:
    first, second, known = committees()
    result = biased_bridge(first, 10 * second + 500, names=("marks", "points"), **known)
    assert any("different scales: marks uses" in note for note in result.notes)
    assert not any("scales" in note for note in biased_bridge(first, second, **known).notes)


def test_texts_can_be_features() -> None:
    first, second, known = committees(0.5)
    words = ["poor", "fair", "good", "great"]
    levels = [np.digitize(x[:, 0], [-1, 0, 1]) for x in known["features"]]
    texts = [[f"a {words[level]} essay" for level in side] for side in levels]
    model = make_pipeline(CountVectorizer(), Ridge())
    known["features"] = tuple(texts)
    result = biased_bridge(first, second, regressor=model, **known)
    assert result.diagnosis.explained > 0.3
    assert result.finding == "violated"


def test_the_rule_of_the_paper_reads_one_sided_p_values_both_ways() -> None:
    first, second, known = committees(0.1)
    result = biased_bridge(first, second, rule="paper", **known)
    assert result.p_one_sided == pytest.approx(result.p_value / 2)
    assert (result.finding == "violated") == (result.p_one_sided <= 0.05)


def test_the_same_seed_gives_the_same_answer_and_another_other_parts() -> None:
    first, second, known = committees(0.1)
    one, again, other = (
        biased_bridge(first, second, regressor=RandomForestRegressor(3), seed=seed, **known).dpt
        for seed in (1, 1, 2)
    )
    assert one == again != other


def test_frames_of_every_engine_give_the_same_answer(frame: Callable[..., Any]) -> None:
    first, second, known = committees(0.4)
    tables = [
        {"mark": mark.tolist(), "sex": sex.tolist(), "a": x[:, 0].tolist(), "b": x[:, 1].tolist()}
        for mark, sex, x in zip(
            (first, second), known["sensitive_features"], known["features"], strict=True
        )
    ]
    found = audit_frames(
        *map(frame, tables), first="mark", second="mark", sensitive="sex", features=["a", "b"]
    )
    assert found.dpt == pytest.approx(biased_bridge(first, second, **known).dpt)
    assert found.only.attribute == "sex"


def test_files_are_bridged_with_their_hashes(tmp_path: Path) -> None:
    first, second, known = committees(0.4)
    for name, mark, sex, x in zip(
        ("old", "new"), (first, second), known["sensitive_features"], known["features"], strict=True
    ):
        lines = [f"{m},{s},{a},{b}" for m, s, (a, b) in zip(mark, sex, x.tolist(), strict=True)]
        tmp_path.joinpath(f"{name}.csv").write_text("\n".join([f"{name},sex,a,b", *lines]))
    result = audit_files(
        tmp_path / "old.csv",
        tmp_path / "new.csv",
        first="old",
        second="new",
        sensitive="sex",
        features=["a", "b"],
    )
    assert result.dpt == pytest.approx(biased_bridge(first, second, **known).dpt)
    assert [file["name"] for file in result.audit.provenance["data"]["files"]] == [
        "old.csv",
        "new.csv",
    ]


def test_a_result_is_plain_data_a_frame_a_page_and_text() -> None:
    first, second, known = committees(0.7)
    result = biased_bridge(first, second, **known)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["diagnosis"]["carries"] is True
    assert plain["contrasts"][0]["dpd"] == pytest.approx(result.dpd)
    assert result.to_frame("polars")["dpd"][0] == pytest.approx(result.dpd)
    assert "How good the bridge is" in str(result)
    assert "How good the bridge is" in result._repr_html_()
    assert result.plot() is not None


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"features": None}, NoBridgeError, "neither of them"),
        ({"predictions": ([0.0] * 60, [0.0] * 50)}, NoBridgeError, "features and predictions"),
        ({"features": np.ones((60, 2))}, PairOfSidesError, "features must be a pair"),
        ({"sensitive_features": ["f", "m", "f"]}, PairOfSidesError, "list of length 3"),
        ({"features": None, "predictions": ([0.0], [0.0])}, LengthMismatchError, "predictions: 1"),
        (
            {"features": None, "predictions": ([np.nan] * 60, [0.0] * 50)},
            MissingValueError,
            "'predictions'",
        ),
        ({"errors": "none"}, OptionError, "'cross-fitted' or 'held-out' or 'training'"),
        ({"folds": 1}, OptionError, "from 2 on"),
        ({"folds": 40}, TooFewSubjectsError, "for 40 folds"),
        ({"held_out": 1.0}, OptionError, "between 0 and 1"),
        ({"regressor": "magic"}, OptionError, "ridge"),
        ({"margin": 0}, OptionError, "margin"),
        ({"cluster": np.arange(500)}, OptionError, "independent of each other"),
        ({"cluster": "person"}, OptionError, "one row for each cluster"),
    ],
)
def test_bad_choices_are_named(
    changed: dict[str, Any], error: type[ComparityError], words: str
) -> None:
    first, second, known = committees(n=60, m=50)
    with pytest.raises(error, match=words):
        biased_bridge(first, second, **{**known, **changed})


def test_errors_in_sample_cannot_be_had_with_shared_subjects() -> None:
    first, second, known = committees(n=60, m=60)
    sex = np.array(["f", "m"] * 30)
    known["sensitive_features"] = (sex, sex)
    with pytest.raises(OptionError, match="has seen subjects"):
        biased_bridge(first, second, subjects=(range(60), range(60)), errors="training", **known)


@pytest.mark.parametrize("told", [{"features": ["grade", "mark"]}, {"prediction": "mark"}])
def test_a_decision_cannot_predict_itself(told: dict[str, Any]) -> None:
    """Such a model errs nowhere, and no leaning, however large, would be found."""
    first, second, known = committees(lean=2.0)
    frames = [
        pd.DataFrame({"mark": mark, "sex": sex, "grade": grade[:, 0]})
        for mark, sex, grade in zip(
            (first, second), known["sensitive_features"], known["features"], strict=True
        )
    ]
    with pytest.raises(OptionError, match="cannot predict itself"):
        audit_frames(*frames, first="mark", second="mark", sensitive="sex", **told)
    with pytest.raises(OptionError, match="decisions are no groups"):
        audit_frames(*frames, first="mark", second="mark", sensitive="mark", features=["grade"])


@pytest.mark.parametrize("what", ["first", "second", "features", "predictions"])
def test_numbers_whose_variances_overflow_are_named(what: str) -> None:
    first, second, known = committees()
    given = {"first": first, "second": second, "features": known["features"]}
    if what == "predictions":
        del given["features"]
        given[what] = (np.where(np.arange(len(first)) == 3, 1e200, 0.0), np.zeros(len(second)))
    elif what == "features":
        given[what] = (known["features"][0] * 1e200, known["features"][1])
    else:
        given[what] = np.where(np.arange(len(given[what])) == 3, 1e100, given[what])
    with pytest.raises(OutOfRangeError, match="at most 1e"):
        biased_bridge(**given, sensitive_features=known["sensitive_features"])


@pytest.mark.parametrize(
    "choices",
    [
        {"regressor": 3},
        {"regressor": None},
        {"regressor": dict},
        {"errors": "held-out", "held_out": "a third"},
        {"errors": "held-out", "held_out": None},
        {"names": ("a",)},
        {"names": ("a", "b", "c")},
        {"names": "ab"},
        {"names": 5},
        {"names": ("a", "a")},
    ],
)
def test_choices_of_another_type_are_named(choices: dict[str, object]) -> None:
    first, second, known = committees()
    with pytest.raises(OptionError, match=f"{list(choices)[-1]} cannot be"):
        biased_bridge(first, second, **known, **choices)


def test_what_weights_leave_is_that_of_a_weighted_regression_with_robust_errors() -> None:
    """Against statsmodels' WLS with HC0 errors, at the means of the second's subjects."""
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(400, 2)), 0.3 + 1.4 * rng.normal(size=(300, 2))
    errors = 0.5 * first[:, 0] ** 2 + rng.normal(size=400)
    weights = rng.uniform(0.5, 1.5, 400)
    found = _left_by(first, second, weights, errors)
    powers = [np.hstack([one, one**2, one**3]) for one in (first, second)]
    fit = sm.WLS(errors, sm.add_constant(powers[0]), weights=weights).fit(cov_type="HC0")
    apart = powers[1].mean(axis=0) - np.average(powers[0], axis=0, weights=weights)
    slopes = fit.params[1:]
    assert found.gap == pytest.approx(float(slopes @ apart))
    own, others = powers[0] @ slopes, powers[1] @ slopes
    share = weights / weights.sum()
    expected = apart @ fit.cov_params()[1:, 1:] @ apart
    expected += float((share**2) @ (own - share @ own) ** 2) + others.var() / len(others)
    assert found.variance == pytest.approx(expected)


@pytest.mark.parametrize(("gap", "variance"), [(-0.3, 0.04), (0.5, 2.0)])
def test_the_p_value_of_what_weights_leave_is_two_sided_and_normal(
    gap: float, variance: float
) -> None:
    assert _normal_p_value(gap, variance) == pytest.approx(
        2 * norm.sf(abs(gap), scale=variance**0.5)
    )
    assert _normal_p_value(gap, 0.0) == 1.0


def test_errors_that_bend_where_spreads_differ_are_refused_in_words() -> None:
    rng = np.random.default_rng(2)
    sex = tuple(rng.choice(["f", "m"], 800) for _ in range(2))
    grade = [rng.normal(size=(800, 1)) for _ in range(2)]
    grade[1][sex[1] == "f"] = 0.8 + 1.3 * grade[1][sex[1] == "f"]
    first, second = (x[:, 0] + 0.5 * x[:, 0] ** 2 + rng.normal(0, 0.7, 800) for x in grade)
    result = biased_bridge(first, second, sensitive_features=sex, features=tuple(grade))
    assert result.finding == "undecided"
    assert any("bend with features" in reason for reason in result.diagnosis.refusals)
    assert result.diagnosis.left_p < 0.01
