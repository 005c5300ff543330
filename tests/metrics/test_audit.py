"""The desk of metrics: what goes in, what is refused, what comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from comparity import fairness_metrics, select_metrics
from comparity.errors import (
    ComparityError,
    FeatureError,
    LengthMismatchError,
    MissingValueError,
    NonBinaryError,
    NoSuchEntryError,
    NotNumericError,
    NoUnprivilegedError,
    OneGroupError,
    OptionError,
    TooManyGroupsError,
    UnknownPrivilegedError,
    UnsteadyQueryError,
)
from comparity.metrics.audit import metrics_frame
from comparity.metrics.comparison import contrast_of
from comparity.metrics.distortion import distortion_metrics
from comparity.metrics.result import Scorecard

MISSING = (MissingValueError, "600 rows")

Build = Callable[[Mapping[str, Sequence[Any]]], Any]


def people(n: int = 600, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < 0.4, "f", "m")
    skill = rng.normal(size=n)
    hired = (skill + 0.4 * (sex == "m") + rng.normal(size=n) > 0).astype(int)
    model = (skill + 0.4 * (sex == "m") > 0).astype(int)
    return {"sex": sex, "skill": skill, "hired": hired, "model": model, "other": hired}


def card(**choices: Any) -> Scorecard:
    rows = people()
    given = {"sensitive_features": rows["sex"], "privileged": "m"} | choices
    return fairness_metrics(rows["hired"], rows["model"], **given)


def test_without_features_there_are_29_metrics_and_with_them_30() -> None:
    rows = people()
    assert len(card().metrics) == 29
    whole = card(X=rows["skill"][:, None])
    assert [one.id for one in whole.metrics][-4:] == ["D0", "D1", "D2", "D3"]
    assert "D0" in " ".join(card().notes)


def test_every_finite_metric_lies_in_its_interval() -> None:
    for one in card():
        assert one.interval.low - 1e-9 <= one.value <= one.interval.high + 1e-9


def test_groups_may_be_codes_text_or_true_and_false() -> None:
    rows = people()
    reference = card()["C9"].value
    for groups, privileged in (
        ((rows["sex"] == "m").astype(int), 1),
        (rows["sex"] == "m", True),
        ((rows["sex"] == "m").astype(float), "1"),
    ):
        found = card(sensitive_features=groups, privileged=privileged)
        assert found["C9"].value == pytest.approx(reference)


def test_many_rows_of_codes_are_counted_as_few_are() -> None:
    rng = np.random.default_rng(3)
    label, said, group = rng.integers(0, 2, size=(3, 120_000))
    fast = fairness_metrics(label, said, sensitive_features=group, privileged=1, replicates=100)
    words = np.array(["no", "yes"], dtype=object)
    slow = fairness_metrics(
        words[label],
        words[said],
        sensitive_features=group,
        privileged=1,
        positive="yes",
        replicates=100,
    )
    assert [one.value for one in fast] == [one.value for one in slow]


@pytest.mark.parametrize("n", [2_000, 200_000])
def test_sixty_groups_are_too_many_for_few_rows_and_for_many(n: int) -> None:
    label, group = np.arange(n) % 2, np.arange(n) // 2 % 60
    with pytest.raises(TooManyGroupsError, match="60 groups"):
        fairness_metrics(label, label, sensitive_features=group, privileged=1)


def test_all_engines_give_the_same(frame: Build) -> None:
    rows = {name: column.tolist() for name, column in people(200).items()}
    found = metrics_frame(
        frame(rows),
        label="hired",
        prediction="model",
        sensitive=["sex"],
        privileged="m",
        features=["skill"],
        compare="other",
        replicates=100,
    )
    plain = people(200)
    expected = fairness_metrics(
        plain["hired"],
        plain["model"],
        sensitive_features=plain["sex"],
        privileged="m",
        X=plain["skill"][:, None],
        compare=plain["other"],
        replicates=100,
    )
    assert [one.value for one in found] == pytest.approx([one.value for one in expected])
    assert found.comparison is not None
    assert found.comparison.counts == expected.comparison.counts  # type: ignore[union-attr]


def test_other_predictions_need_no_rows_in_memory(
    frame: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {name: column.tolist() for name, column in people(200).items()}
    columns = {"label": "hired", "prediction": "model", "sensitive": ["sex"], "privileged": "m"}
    asked = {"compare": "other", "replicates": 100, "kinds": ["group"]}
    beside = metrics_frame(frame(rows), **columns, **asked, features=["skill"])
    monkeypatch.setattr("comparity.metrics.audit.collect_columns", None)
    alone = metrics_frame(frame(rows), **columns, **asked)
    assert alone.comparison is not None
    assert alone.comparison.counts == beside.comparison.counts  # type: ignore[union-attr]
    counted = [one.id for one in alone.metrics if one.id != "D0"]
    assert len(counted) == 29
    assert [alone[name].value for name in counted] == [beside[name].value for name in counted]


def test_features_of_a_query_that_shuffles_are_refused() -> None:
    skill = pd.DataFrame({"skill": people()["skill"]})
    with pytest.raises(UnsteadyQueryError):
        card(X=duckdb.from_df(skill).order("random()"))
    steady = card(X=duckdb.from_df(skill))
    assert steady["D0"].value == card(X=skill.to_numpy())["D0"].value


def test_a_masked_feature_is_missing() -> None:
    skill = np.ma.array(people()["skill"][:, None], mask=False)
    skill[3] = np.ma.masked
    with pytest.raises(FeatureError, match=r"rows \[4\]"):
        card(X=skill)


def test_several_attributes_are_combined() -> None:
    rows = people()
    old = np.where(rows["skill"] > 0, "old", "young")
    found = card(sensitive_features={"sex": rows["sex"], "age": old}, privileged="m & old")
    assert found.groups == ("f & old", "f & young", "m & old", "m & young")
    # Between all four groups is more than between two camps of them.
    assert found["C17"].value >= found["C18"].value
    assert len(found.spreads[0].rates) == 4


def test_rates_of_all_groups_need_no_privileged_one() -> None:
    rows = people()
    yes = [rows["model"][rows["sex"] == group].mean() for group in "fm"]
    spread = next(one for one in card().spreads if one.name == "selection rate")
    assert spread.gap == pytest.approx(max(yes) - min(yes))
    assert spread.ratio == pytest.approx(min(yes) / max(yes))
    assert spread.gap_interval.low <= spread.gap <= spread.gap_interval.high


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"y_true": np.arange(600) % 3}, NonBinaryError, "3 distinct values"),
        ({"y_pred": np.linspace(0, 1, 600)}, NonBinaryError, "threshold="),
        ({"privileged": "male"}, UnknownPrivilegedError, "'f', 'm'"),
        ({"privileged": ["f", "m"]}, NoUnprivilegedError, "privileged"),
        ({"sensitive_features": ["f"] * 600}, OneGroupError, "two groups"),
        ({"sensitive_features": [None] * 600}, MissingValueError, "600 rows"),
        ({"y_pred": np.zeros(9, int)}, LengthMismatchError, "9"),
        ({"variation": "old"}, OptionError, "doubled root"),
        ({"level": 1.5}, OptionError, "level"),
        ({"kinds": ["both"]}, OptionError, "false negatives"),
        ({"seed": -1}, OptionError, "seed"),
        ({"sensitive_features": {"a": [None] * 600, "b": ["f", "m"] * 300}}, *MISSING),
        ({"sensitive_features": {"a": ["x"] * 9, "b": ["f", "m"]}}, LengthMismatchError, "a: 9"),
        ({"compare": [np.nan] * 600, "threshold": 0.5}, *MISSING),
        ({"compare": ["yes"] * 600, "threshold": 0.5}, NotNumericError, "'yes'"),
    ],
)
def test_bad_input_is_refused_with_what_was_found(
    changed: dict[str, Any], error: type[ComparityError], said: str
) -> None:
    rows = people()
    given = {"y_true": rows["hired"], "y_pred": rows["model"], "sensitive_features": rows["sex"]}
    given = {"privileged": "m"} | given | changed
    with pytest.raises(error) as caught:
        fairness_metrics(given.pop("y_true"), given.pop("y_pred"), **given)
    assert said in str(caught.value)
    assert "hint:" in str(caught.value)


def test_an_entry_that_is_not_there_is_told_its_neighbour() -> None:
    with pytest.raises(NoSuchEntryError, match="did you mean 'disparate impact'"):
        card()["disparat impact"]
    with pytest.raises(NoSuchEntryError, match="no metric 'D0'"):
        card()["D0"]


@pytest.mark.parametrize("rows", [([1, 0], [1, 0], "mf"), ([1, 0, 1], [1, 0, 0], "mff")])
def test_very_few_rows_have_metrics_and_no_clusters(rows: tuple[list[int], list[int], str]) -> None:
    y_true, y_pred, sex = rows
    found = fairness_metrics(
        y_true, y_pred, sensitive_features=list(sex), privileged="m", kinds=["group"]
    )
    assert found["C13"].value == pytest.approx(np.mean(y_pred))
    assert found.selection is not None
    assert not any(one.promised for one in found)


def test_a_score_is_cut_at_a_threshold() -> None:
    rows = people()
    score = rows["skill"] + 0.4 * (rows["sex"] == "m")
    cut = fairness_metrics(
        rows["hired"], score, sensitive_features=rows["sex"], privileged="m", threshold=1e-300
    )
    assert cut["C15"].value == card()["C15"].value


def test_small_counts_are_flagged_as_not_promised() -> None:
    label = [1, 1, 0, 0] * 10
    found = fairness_metrics(label, label, sensitive_features=["f", "m"] * 20, privileged="m")
    assert not found["C0"].promised
    assert found["D2"].promised
    assert found["C6"].value != found["C6"].value
    assert any("not promised" in note for note in found.notes)
    assert any("no C5-C8" in note for note in found.notes)


def test_results_are_plain_data_frames_and_text() -> None:
    found = card(kinds=["group"], compare=people()["other"])
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["metrics"][0]["value"] == found["C0"].value
    assert list(found.to_frame("polars")["id"])[:2] == ["C0", "C1"]
    assert str(found).startswith("Metrics: ")
    assert "C9 average odds difference" in found._repr_html_()
    assert "the shaded band is the published range" in found._repr_html_()
    assert found.selection is not None
    assert len(found.selection.to_frame("polars")) == len(found.selection.chosen)
    assert found.comparison is not None
    assert len(found.comparison.to_frame("polars")) == 26


def test_of_many_groups_the_least_and_the_largest_rate_are_shown() -> None:
    rows = people()
    few = str(card(sensitive_features=np.arange(600) % 3, privileged="0"))
    assert all(f"{group} 0." in few for group in range(3))
    groups = np.where(np.arange(600) < 30, "low", np.arange(600) % 8)
    said = np.where(groups == "low", 0, rows["model"])
    many = str(fairness_metrics(rows["hired"], said, sensitive_features=groups, privileged="low"))
    assert "low 0.000, " in many
    assert "7 more groups" in many


def test_pictures_show_every_metric() -> None:
    found = card(compare=people()["other"], kinds=["group"])
    assert found.comparison is not None
    assert found.selection is not None
    assert found.selection.clusters is not None
    for result in (found, found.comparison, found.selection.clusters):
        axes = result.plot()
        labels = [*axes.get_yticklabels(), *axes.get_xticklabels()]
        assert any(label.get_text().startswith("C25") for label in labels)


@pytest.mark.parametrize(("share", "ends"), [(0.3, False), (0.7, True)])
def test_a_picture_says_that_it_ends_before_a_metric_does(share: float, ends: bool) -> None:
    """Of the range from -0.1 to 0.1, five half-widths are 0.5: only 0.7 selected is further out."""
    rng = np.random.default_rng(4)
    label = (rng.random(20_000) < share).astype(int)
    prediction = np.where(rng.random(20_000) < 0.05, 1 - label, label)
    sex = rng.choice(["f", "m"], 20_000)
    found = fairness_metrics(label, prediction, sensitive_features=sex, privileged="m")
    assert ("drawn there" in " ".join(found.plot().get_xlabel().split())) == ends


def test_perfect_predictions_move_error_rates_to_their_ideal_values() -> None:
    found = card(compare=people()["other"]).comparison
    assert found is not None
    moved = {change.id: change for change in found.changes}
    for number in ("C0", "C1", "C9", "C10", "C11", "C16", "C25"):
        assert moved[number].moved == "towards"
        assert moved[number].after == 0


def test_each_kind_of_fairness_asks_for_its_clusters() -> None:
    rows = people()

    def chosen(*kinds: str) -> dict[str, str]:
        found = select_metrics(
            rows["hired"],
            rows["model"],
            sensitive_features=rows["sex"],
            privileged="m",
            kinds=kinds,
        )
        return {one.cluster: one.id for one in reversed(found.chosen)}

    assert set(chosen("individual")) == {
        "individual fairness",
        "between-group individual fairness",
    }
    assert chosen("false negatives")["group fairness"] in ("C0", "C2", "C6")
    assert chosen("false positives")["false discovery"] in ("C4", "C8")
    assert "intermediate" not in chosen("group", "individual")


def test_where_a_cluster_disagrees_one_of_either_side_is_chosen() -> None:
    label = np.repeat([1, 0, 1, 0], [100, 1000, 100, 1000])
    said = np.concatenate(
        [
            np.repeat(v, n)
            for v, n in [(1, 80), (0, 20), (1, 30), (0, 970), (1, 80), (0, 20), (1, 60), (0, 940)]
        ]
    )
    groups = np.repeat(["f", "m"], 1100)
    found = select_metrics(
        label, said, sensitive_features=groups, privileged="m", kinds=["false positives"]
    )
    ids = [one.id for one in found.chosen if one.cluster == "group fairness"]
    # 0.03 - 0.06 is inside -0.1 to 0.1, and 0.03 / 0.06 is outside 0.8 to 1.2.
    assert ids == ["C1", "C5"]
    assert "disagrees" in found.chosen[-1].reason


def test_what_would_serve_as_well_says_the_same() -> None:
    """Equal error rates at unlike base rates: C9 is 0, C15 is 0.5 - 0.32, in one cluster."""
    label = np.repeat([1, 1, 0, 0, 1, 1, 0, 0], [400, 100, 100, 400, 160, 40, 160, 640])
    said = np.repeat([1, 0, 1, 0, 1, 0, 1, 0], [400, 100, 100, 400, 160, 40, 160, 640])
    data = {"sensitive_features": np.repeat(["f", "m"], 1000), "privileged": "m"}
    reasons = {one.id: one.reason for one in select_metrics(label, said, **data).chosen}
    assert "C15 says otherwise" in reasons["C9"]
    assert "C15 would serve" not in reasons["C9"]
    assert "disagrees" in reasons["C15"]


def test_every_metric_chosen_has_its_reason() -> None:
    """With six people in one of three groups the interval of C25, which looks at all, is unsure."""
    label = np.tile([1, 1, 0, 0], 151)[:602]
    said = np.where(np.arange(602) % 5, label, 1 - label)
    data = {"sensitive_features": np.repeat(["a", "b", "c"], [298, 298, 6]), "privileged": "a"}
    reasons = {one.id: one.reason for one in select_metrics(label, said, **data).chosen}
    assert all(reasons.values())
    assert "has counts large enough for its interval, unlike C25" in reasons["C10"]


def test_a_seed_makes_intervals_reproducible() -> None:
    assert card(seed=5).to_dict() == card(seed=5).to_dict()
    assert card(seed=5)["C10"].interval != card(seed=6)["C10"].interval


@pytest.mark.parametrize("role", ["label", "prediction"])
def test_counting_takes_no_scores_and_no_other_codes(role: str) -> None:
    columns = {"label": np.array([0.0, 1.0, 1.0]), "prediction": np.array([0.0, 1.0, 0.0])}
    columns[role] = columns[role] + 0.5
    with pytest.raises(NonBinaryError, match=role):
        contrast_of(columns["label"], columns["prediction"], np.array([True, False, True]))


def test_distances_equal_those_of_aif360() -> None:
    """AIF360's sample distortion metrics, by their definitions in scipy."""
    from scipy.spatial.distance import cityblock, euclidean, mahalanobis

    rng = np.random.default_rng(4)
    before, shift = rng.normal(size=(2, 50, 3))
    groups = np.where(np.arange(50) < 20, "f", "m")
    inverse = np.linalg.inv(np.cov(np.vstack([before, before + shift]).T))
    found = distortion_metrics(before, before + shift, sensitive_features=groups, privileged="m")
    for one, distance in zip(
        found, (euclidean, cityblock, lambda a, b: mahalanobis(a, b, inverse)), strict=True
    ):
        expected = np.array([distance(a, a + s) for a, s in zip(before, shift, strict=True)])
        assert one.everybody.total == pytest.approx(expected.sum())
        assert one.unprivileged.average == pytest.approx(expected[:20].mean())
        assert one.privileged.maximum == pytest.approx(expected[20:].max())
        assert one.ratio == pytest.approx(expected[:20].mean() / expected[20:].mean())


def test_columns_of_two_frames_are_matched_by_name(frame: Build) -> None:
    rng = np.random.default_rng(4)
    before, after = ({name: rng.normal(size=30).tolist() for name in "ab"} for _ in range(2))
    moved = np.abs(np.subtract([*after.values()], [*before.values()])).sum()
    turned = frame({name: after[name] for name in "ba"})
    camps = {"sensitive_features": ["f", "m"] * 15, "privileged": "m"}
    found = distortion_metrics(frame(before), turned, **camps)
    assert found["manhattan"].everybody.total == pytest.approx(moved)
    with pytest.raises(FeatureError, match="the same columns"):
        distortion_metrics(frame(before), frame({"a": after["a"], "c": after["b"]}), **camps)


def test_distances_print_and_become_frames() -> None:
    before, after = np.zeros((4, 2)), np.array([[3.0, 4], [0, 0], [0, 1], [0, 0]])
    found = distortion_metrics(
        before, after, sensitive_features=["f", "m", "f", "m"], privileged="m"
    )
    assert found["manhattan"].everybody.total == 8
    assert "euclidean" in str(found)
    assert list(found.to_frame("polars")["unprivileged_average"])[:2] == [3, 4]
    # Nobody privileged was moved, so that there is no ratio.
    assert (
        json.loads(json.dumps(found.to_dict(), allow_nan=False))["distances"][0]["ratio"] == "inf"
    )


def test_ratios_that_are_infinite_before_and_after_have_no_shift() -> None:
    """Nobody of b is chosen by either model: their ratios are infinite in every resample."""
    group, y_true = ["a"] * 10 + ["b"] * 10, [1, 0] * 10
    before, after = [1, 0] * 5 + [0] * 10, [1, 1] * 5 + [0] * 10
    found = fairness_metrics(
        y_true, before, sensitive_features=group, privileged="b", compare=after
    )
    assert found.comparison is not None
    changes = {one.id: one for one in found.comparison.changes}
    infinite = [one for one in changes.values() if np.isinf([one.before, one.after]).all()]
    assert infinite
    assert {one.moved for one in infinite} == {"unchanged"}
    assert all(one.interval is None for one in infinite)
