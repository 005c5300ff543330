"""Two decision makers judged: numbers of the loops and scipy, findings, words, bad input."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from comparity import differential_parity
from comparity.counts.differences import DecisionRange
from comparity.errors import (
    ComparityError,
    IndicatorError,
    LabelSpaceError,
    LengthMismatchError,
    MissingValueError,
    OptionError,
    OutOfRangeError,
    SeveralContrastsError,
    TooManyGroupsError,
    TooNarrowError,
    UnsteadyQueryError,
)
from comparity.relative.audit import audit_frame
from comparity.relative.judge import notes_on_ranges
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN
from tests.conftest import Build
from tests.plain import relative as plain


def world(
    n: int = 400, lean: float = 0.0, seed: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two raters on a scale of nine points; the first adds `lean` for men."""
    rng = np.random.default_rng(seed)
    sex = rng.permutation(np.array(["f", "m"] * (n // 2)))
    merit = rng.normal(5, 1, n)
    first = np.clip(np.round(merit + rng.normal(0, 1, n) + lean * (sex == "m")), 1, 9)
    second = np.clip(np.round(merit + rng.normal(0, 1, n)), 1, 9)
    return first, second, sex


def test_numbers_are_those_of_the_loops_and_scipy() -> None:
    first, second, sex = world(lean=0.5)
    result = differential_parity(first, second, sensitive_features=sex)
    groups = [plain.differences(first, second, sex, group) for group in ("m", "f")]
    assert (result.dpt, result.dof) == pytest.approx(plain.dpt(*groups))
    assert result.dpd == pytest.approx(plain.dpd(*groups))
    assert result.dpd_total == pytest.approx(plain.dpd_total(*groups))
    expected = ttest_ind(*groups, equal_var=False).pvalue
    assert result.p_value == pytest.approx(expected)
    assert result.p_one_sided == pytest.approx(expected / 2)


@pytest.mark.parametrize(
    ("n", "lean", "finding"),
    [(400, 1.0, VIOLATED), (6000, 0.0, WITHIN), (60, 0.0, UNDECIDED)],
)
def test_the_three_findings(n: int, lean: float, finding: str) -> None:
    first, second, sex = world(n, lean)
    result = differential_parity(first, second, sensitive_features=sex, permutations=0)
    assert result.finding == finding
    assert (result.tests[0].needed is not None) == (finding == UNDECIDED)


def test_the_direction_names_who_favours_whom() -> None:
    first, second, sex = world(lean=1.0)
    result = differential_parity(first, second, sensitive_features=sex, names=("A", "B"))
    assert result.dpd > 0
    assert result.direction == "Compared with B, A favours group m over group f"
    turned = differential_parity(second, first, sensitive_features=sex, names=("B", "A"))
    assert turned.direction == "Compared with A, B favours group f over group m"
    by_men = differential_parity(
        first, second, sensitive_features=sex, names=("A", "B"), reference="m"
    )
    assert by_men.direction == "Compared with B, A favours group m over group f"
    assert by_men.dpd == pytest.approx(-result.dpd)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(["f", "m"])),
        min_size=4,
        max_size=40,
    ).filter(lambda rows: len({sex for *_, sex in rows}) == 2)
)
@example([(0, 0, "f")] * 9 + [(1, 0, "f")] + [(1, 0, "m"), (0, 1, "m")] * 3)
def test_exchanging_the_decision_makers_changes_signs_only(
    rows: list[tuple[int, int, str]],
) -> None:
    first, second, sex = (list(column) for column in zip(*rows, strict=True))
    one, other = (
        differential_parity(*pair, sensitive_features=sex, permutations=0)
        for pair in ((first, second), (second, first))
    )
    numbers = [one.dpt, one.dpd, one.p_value, one.dof]
    turned = [-other.dpt, -other.dpd, other.p_value, other.dof]
    assert numbers == pytest.approx(turned, nan_ok=True)
    assert one.finding == other.finding


def test_series_bring_their_names() -> None:
    first, second, sex = world()
    frame = pd.DataFrame({"hr_0": first, "hr_1": second, "sex": sex})
    result = differential_parity(frame["hr_0"], frame["hr_1"], sensitive_features=frame["sex"])
    assert (result.only.first, result.only.second, result.only.attribute) == ("hr_0", "hr_1", "sex")


def test_frames_of_every_engine_give_the_numbers_of_arrays(frame: Build) -> None:
    first, second, sex = world(lean=0.5)
    table = frame({"x": first.tolist(), "y": second.tolist(), "sex": sex.tolist()})
    result = audit_frame(table, first="x", second="y", sensitive=["sex"], permutations=99)
    expected = differential_parity(
        first, second, sensitive_features={"sex": sex}, names=("x", "y"), permutations=99
    )
    assert result.dpt == pytest.approx(expected.dpt)
    assert result.interval() == pytest.approx(expected.interval())
    assert result.finding == expected.finding
    assert [one.p_value for one in result.distribution] == [
        one.p_value for one in expected.distribution
    ]


def test_columns_of_a_query_that_shuffles_are_one_table_or_refused() -> None:
    first, second, sex = world(lean=0.5)
    frame = pd.DataFrame({"x": first, "y": second, "sex": sex})
    rows = duckdb.from_df(frame).order("random()")
    whole = audit_frame(rows, first="x", second="y", sensitive=["sex"], permutations=0)
    theirs = ttest_ind(*((first - second)[sex == one] for one in "mf"), equal_var=False)
    assert whole.dpt == pytest.approx(theirs.statistic)
    parts = [rows.select(name) for name in frame]
    with pytest.raises(UnsteadyQueryError):
        differential_parity(parts[0], parts[1], sensitive_features=parts[2])


def test_identical_decisions_divide_by_nothing() -> None:
    first, _, sex = world()
    result = differential_parity(first, first, sensitive_features=sex)
    assert (result.dpt, result.dpd, result.dpd_total) == (0.0, 0.0, 0.0)
    assert (result.p_one_sided, result.p_value) == (0.5, 1.0)
    assert result.finding == WITHIN
    assert [one.p_value for one in result.distribution] == [1.0, 1.0]


def test_one_constant_set_shows_the_other_alone_and_says_so() -> None:
    first, _, sex = world(lean=1.0)
    result = differential_parity(first, np.full(400, 3), sensitive_features=sex)
    assert result.dpt == pytest.approx(
        ttest_ind(first[sex == "m"], first[sex == "f"], equal_var=False).statistic
    )
    assert any("second decides 3 for everybody" in note for note in result.notes)


def test_a_group_of_one_leaves_the_question_open() -> None:
    first, second, _ = world()
    result = differential_parity(first, second, sensitive_features=["x"] + ["y"] * 399)
    assert result.finding == UNDECIDED
    assert math.isnan(result.dpt)
    assert result.magnitude == "unknown"
    assert "fewer than two rows" in result.tests[0].reason


def test_gaps_without_spread_are_found() -> None:
    first, _, sex = world()
    result = differential_parity(first + (sex == "m"), first, sensitive_features=sex)
    assert result.finding == VIOLATED
    assert (result.dpd, result.magnitude) == (math.inf, "huge")
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        (lambda x: x, False),
        (lambda x: np.clip(x, 4, 6), False),
        (lambda x: 10 * x, True),
        (lambda x: x + 20, True),
        (lambda x: (x > 5).astype(float), True),
    ],
)
def test_different_scales_are_warned_of(change: object, warned: bool) -> None:
    first, second, sex = world()
    result = differential_parity(first, change(second), sensitive_features=sex)
    assert any("different scales" in note for note in result.notes) == warned


def test_every_result_warns_of_a_biased_reference() -> None:
    first, second, sex = world()
    notes = differential_parity(first, second, sensitive_features=sex).notes
    assert any("biased decision maker proves nothing" in note for note in notes)


def test_the_rule_of_the_paper_rejects_on_one_side_and_says_its_size() -> None:
    first, second, sex = world(200, 0.3, seed=0)
    choices = {"sensitive_features": sex, "permutations": 0}
    two_sided = differential_parity(first, second, **choices)
    assert 0.05 < two_sided.p_value < 0.1
    paper = differential_parity(first, second, rule="paper", **choices)
    assert (two_sided.tests[0].differs_from_zero, paper.finding) == (False, VIOLATED)
    assert paper.p_value == two_sided.p_value
    low, _, level = paper.tests[0].interval(paper.tests[0].level)
    assert level == pytest.approx(0.9)
    assert low > 0
    assert any("0.1, not 0.05" in note for note in paper.notes)


def test_three_groups_have_all_pairs_an_anova_and_games_howell() -> None:
    first, second, _ = world()
    group = np.array(["a", "b", "c", "c"] * 100)
    result = differential_parity(first + (group == "b"), second, sensitive_features=group)
    pairs = [(one.group, one.reference) for one in result.contrasts]
    assert pairs == [("b", "a"), ("c", "a"), ("c", "b")]
    assert result.anova[0].p_value < 1e-6
    found = dict(zip(pairs, result.contrasts, strict=True))
    assert found["b", "a"].finding == VIOLATED
    assert found["b", "a"].games_howell_p > found["b", "a"].p_value
    with pytest.raises(SeveralContrastsError, match="3 contrasts"):
        _ = result.dpt


def test_several_attributes_form_one_family() -> None:
    first, second, sex = world()
    both = {"sex": sex, "race": np.array(["x", "y"] * 200)}
    result = differential_parity(first, second, sensitive_features=both, intersection=True)
    assert {one.attribute for one in result.contrasts} == {"sex", "race", "sex & race"}
    assert len(result.tests) == 1 + 1 + 6
    assert result.tests[0].p_adjusted >= result.tests[0].p_value


def test_a_number_is_tested_by_slope_and_by_distance_correlation() -> None:
    rng = np.random.default_rng(3)
    age = rng.normal(40, 10, 500)
    first = rng.normal(size=500) + 0.05 * age
    result = differential_parity(
        first, rng.normal(size=500), sensitive_features={"age": age}, continuous=True
    )
    assert result.finding == VIOLATED
    # A third of the subjects, as the fourth moment of a normal number is three times its second's
    # square, with the error of that moment.
    assert result.dof == pytest.approx(500 / 3, rel=0.15)
    assert "favours larger age over smaller age" in result.direction
    assert result.distribution[0].name == "distance correlation"
    assert result.distribution[0].p_value == 0.001


@pytest.mark.parametrize(("furthest", "warned"), [(4.0, False), (40.0, True)])
def test_a_line_that_rests_on_one_subject_is_warned_of(furthest: float, warned: bool) -> None:
    rng = np.random.default_rng(5)
    age = np.append(rng.uniform(0, 3, 99), furthest)
    first, second = rng.normal(size=(2, 100))
    result = differential_parity(
        first, second, sensitive_features={"age": age}, continuous=True, permutations=0
    )
    design = np.column_stack([np.ones(100), age])
    leverage = np.diag(design @ np.linalg.pinv(design)).max()
    said = [note for note in result.notes if "rests on one subject" in note]
    assert (bool(said), leverage > 0.2) == (warned, warned)
    assert all(f"{leverage:.2f}" in note for note in said)


def test_dependence_without_a_slope_is_told() -> None:
    rng = np.random.default_rng(5)
    age = rng.uniform(-1, 1, 600)
    first = 3 * np.abs(age) + rng.normal(0, 0.3, 600)
    second = rng.normal(0, 0.3, 600)
    result = differential_parity(first, second, sensitive_features=age, continuous=True)
    assert not result.tests[0].differs_from_zero
    assert any("whole distribution differs" in note for note in result.notes)


def test_equal_means_with_another_spread_are_told() -> None:
    rng = np.random.default_rng(6)
    group = np.array(["a", "b"] * 1000)
    first = np.where(group == "a", rng.normal(0, 1, 2000), rng.normal(0, 3, 2000))
    result = differential_parity(first, np.zeros(2000), sensitive_features=group)
    assert not result.tests[0].differs_from_zero
    assert max(one.p_value for one in result.distribution) <= 0.01
    assert any("whole distribution differs" in note for note in result.notes)


def test_labels_are_decisions_one_by_one() -> None:
    rng = np.random.default_rng(7)
    sex = np.array(["f", "m"] * 300)
    second = rng.choice(["rude", "spam", "fine"], 600)
    first = np.where((sex == "m") & (rng.random(600) < 0.4), "rude", second)
    result = differential_parity(first, second, sensitive_features=sex, labels=True)
    assert [one.label for one in result.contrasts] == ["fine", "rude", "spam"]
    rude = result.contrasts[1]
    marks = [(one == "rude").astype(int) for one in (first, second)]
    assert rude.means[0] == pytest.approx(np.mean(plain.differences(*marks, sex, "m")))
    assert rude.finding == VIOLATED


def test_indicator_columns_and_separated_text_say_the_same() -> None:
    rng = np.random.default_rng(8)
    sex = np.array(["f", "m"] * 100)
    marks = [pd.DataFrame(rng.integers(0, 2, (200, 2)), columns=["x", "y"]) for _ in range(2)]
    texts = [
        [";".join(name for name in "xy" if row[name]) for _, row in one.iterrows()] for one in marks
    ]
    by_columns = differential_parity(*marks, sensitive_features=sex, permutations=0)
    by_text = differential_parity(*texts, sensitive_features=sex, separator=";", permutations=0)
    assert [one.dpd for one in by_columns.contrasts] == [one.dpd for one in by_text.contrasts]


def test_ordered_words_are_numbers_with_equal_steps() -> None:
    first, second, sex = world()
    words = {1 + k: word for k, word in enumerate("abcdefghi")}
    result = differential_parity(
        [words[value] for value in first],
        [words[value] for value in second],
        sensitive_features=sex,
        order=list("abcdefghi"),
    )
    assert result.dpd == pytest.approx(
        differential_parity(first, second, sensitive_features=sex).dpd
    )
    assert any("every step is taken to be equal" in note for note in result.notes)


def test_a_seed_gives_the_same_p_values_again() -> None:
    first, second, sex = world(lean=0.1)

    def p_values(seed: int) -> list[float]:
        result = differential_parity(first, second, sensitive_features=sex, seed=seed)
        return [one.p_value for one in result.distribution]

    assert p_values(1) == p_values(1)
    assert p_values(1) != p_values(2)


def test_bad_input_is_named() -> None:
    first, second, sex = world()
    with pytest.raises(MissingValueError, match="data row 1"):
        differential_parity([np.nan, *first[1:]], second, sensitive_features=sex)
    with pytest.raises(LengthMismatchError, match="second: 399"):
        differential_parity(first, second[1:], sensitive_features=sex)
    with pytest.raises(TooManyGroupsError, match="400 groups"):
        differential_parity(first, second, sensitive_features=range(400))
    with pytest.raises(LabelSpaceError, match="one column"):
        differential_parity(np.zeros((400, 2)), second, sensitive_features=sex)
    for choice in ({"alpha": 1}, {"margin": 0}, {"rule": "none"}, {"permutations": -1}):
        with pytest.raises(OptionError):
            differential_parity(first, second, sensitive_features=sex, **choice)
    with pytest.raises(OptionError, match="no groups to cross"):
        differential_parity(
            first, second, sensitive_features=first, continuous=True, intersection=True
        )
    with pytest.raises(OptionError, match="another column"):
        audit_frame(pd.DataFrame({"a": [1]}), first="a", second="a", sensitive=["a"])


@pytest.mark.parametrize(
    ("choices", "error", "said"),
    [
        ({"order": "low"}, OptionError, "a list of values"),
        ({"sensitive_features": {}}, OptionError, "one or more"),
        ({"continuous": True, "reference": 3}, OptionError, "no groups to refer to"),
        ({"second": np.full((400, 2), 3), "first": np.zeros((400, 2))}, IndicatorError, "'3'"),
    ],
)
def test_choices_without_a_meaning_are_refused(
    choices: dict[str, Any], error: type[ComparityError], said: str
) -> None:
    first, second, sex = world()
    given = {"first": first, "second": second, "sensitive_features": sex} | choices
    with pytest.raises(error, match=said):
        differential_parity(given.pop("first"), given.pop("second"), **given)


def test_a_unit_changes_nothing_until_variances_underflow() -> None:
    first, second, sex = world(lean=0.5)
    given = {"sensitive_features": sex, "permutations": 0}
    expected = differential_parity(first, second, **given).dpd
    assert differential_parity(first * 1e-25, second * 1e-25, **given).dpd == pytest.approx(
        expected
    )
    with pytest.raises(TooNarrowError, match="smaller unit"):
        differential_parity(first * 1e-200, second * 1e-200, **given)


def test_the_result_as_data_has_the_promised_names() -> None:
    first, second, sex = world(lean=0.5)
    result = differential_parity(first, second, sensitive_features=sex)
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    (one,) = content["contrasts"]
    for name in ("dpt", "dof", "p_value", "p_one_sided", "dpd", "dpd_total"):
        assert one[name] == pytest.approx(getattr(result, name))
    assert (one["magnitude"], one["direction"]) == (result.magnitude, result.direction)
    assert content["provenance"]["seed"] == 0
    frame = result.to_frame("pandas")
    assert frame.loc[0, "dpd_low"] < frame.loc[0, "dpd"] < frame.loc[0, "dpd_high"]


@pytest.mark.parametrize("seed", [-1, 0.5, "x", True])
def test_a_seed_is_a_whole_number_from_zero_on(seed: object) -> None:
    first, second, sex = world()
    with pytest.raises(OptionError, match="seed cannot be"):
        differential_parity(first, second, sensitive_features=sex, seed=seed)


@pytest.mark.parametrize(
    "words",
    [
        {"order": ["1", "2", "2", "3"]},
        {"order": ["1", "2", "3"], "labels": True},
        {"order": ["1", "2", "3"], "separator": ";"},
        {"separator": ""},
    ],
)
def test_words_are_ordered_in_one_way_or_are_labels(words: dict[str, object]) -> None:
    decisions = np.array(["1", "2", "3"] * 20)
    sex = np.array(["f", "m"] * 30)
    with pytest.raises(OptionError, match="cannot be"):
        differential_parity(decisions, decisions[::-1], sensitive_features=sex, **words)
    frame = pd.DataFrame({"a": decisions, "b": decisions[::-1], "sex": sex})
    with pytest.raises(OptionError, match="cannot be"):
        audit_frame(frame, first="a", second="b", sensitive=["sex"], **words)


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c"), "ab", 5, ("a", "a")])
def test_names_are_two_and_differ(names: object) -> None:
    decisions = np.arange(60.0)
    with pytest.raises(OptionError, match="names cannot be"):
        differential_parity(
            decisions, decisions[::-1], sensitive_features=["f", "m"] * 30, names=names
        )


def test_attributes_whose_squares_overflow_are_named() -> None:
    decisions, age = np.arange(60.0), np.where(np.arange(60) == 7, 1e200, 1.0)
    with pytest.raises(OutOfRangeError, match="at most 1e"):
        differential_parity(decisions, decisions[::-1], sensitive_features=age, continuous=True)


@pytest.mark.parametrize(("times", "warned"), [(2.9, False), (3.0, True)])
def test_three_times_as_wide_is_another_scale(times: float, warned: bool) -> None:
    narrow = DecisionRange(low=-1.0, high=1.0, mean=0.0, deviation=0.5)
    wide = DecisionRange(low=-times, high=times, mean=0.0, deviation=times / 2)
    assert bool(notes_on_ranges({"one": narrow, "two": wide})) == warned
    only_range = replace(wide, deviation=1.4)
    assert not notes_on_ranges({"one": narrow, "two": only_range})
