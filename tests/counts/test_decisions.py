"""Decisions from tables and arrays equal the plain loops, on every engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.counts.decision_rows import count_decision_arrays, count_decisions
from comparity.counts.decisions import Confusion, DecisionCounts
from comparity.errors import NonBinaryError, OptionError, UnknownPositiveError
from tests.conftest import ENGINES, Build
from tests.plain.counting import count_confusion

rows = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from("fm"), st.sampled_from("xyz")),
    min_size=2,
    max_size=30,
).filter(lambda drawn: all(len({row[k] for row in drawn}) > 1 for k in (2, 3)))

Rows = list[tuple[bool, bool, str, str]]

SPELLINGS: dict[str, tuple[Any, Any]] = {
    "integers": (1, 0),
    "floats": (1.0, 0.0),
    "booleans": (True, False),
    "text": ("1", "0"),
    "text of floats": ("1.0", "0.0"),
    "words": ("TRUE", "False"),
}


def plain(counts: DecisionCounts) -> dict[str, tuple[int, int, int, int]]:
    return {
        group: (c.true_positives, c.false_negatives, c.false_positives, c.true_negatives)
        for group, c in counts.items()
    }


def columns(drawn: Rows, yes: Any = 1, no: Any = 0) -> dict[str, list[Any]]:
    return {
        "label": [yes if row[0] else no for row in drawn],
        "prediction": [yes if row[1] else no for row in drawn],
        "sex": [row[2] for row in drawn],
        "race": [row[3] for row in drawn],
    }


def expected(drawn: Rows) -> dict[str, dict[str, tuple[int, int, int, int]]]:
    labels, predictions, sex, race = (list(column) for column in zip(*drawn, strict=True))
    both = [f"{s} & {r}" for s, r in zip(sex, race, strict=True)]
    groups = {"sex": sex, "race": race, "sex & race": both}
    return {name: count_confusion(labels, predictions, group) for name, group in groups.items()}


@given(drawn=rows, spelling=st.sampled_from(list(SPELLINGS)))
@settings(max_examples=15, deadline=None)
def test_decisions_equal_the_loops(frame: Build, drawn: Rows, spelling: str) -> None:
    table = frame(columns(drawn, *SPELLINGS[spelling]))
    counts = count_decisions(
        table,
        label="label",
        prediction="prediction",
        sensitive=["sex", "race"],
        intersection=True,
    )
    assert {name: plain(found) for name, found in counts.items()} == expected(drawn)


@given(drawn=rows, spelling=st.sampled_from(list(SPELLINGS)))
@settings(deadline=None)
def test_arrays_equal_the_loops(drawn: Rows, spelling: str) -> None:
    table = columns(drawn, *SPELLINGS[spelling])
    counts = count_decision_arrays(
        table["label"],
        table["prediction"],
        sensitive={"sex": table["sex"], "race": table["race"]},
        intersection=True,
    )
    assert {name: plain(found) for name, found in counts.items()} == expected(drawn)


@given(drawn=rows, cut=st.integers(0, 30))
@settings(deadline=None)
def test_decisions_counted_in_parts_add_up(drawn: Rows, cut: int) -> None:
    parts = [drawn[:cut], drawn[cut:]]
    if any(len({row[2] for row in part}) < 2 for part in parts):
        return
    options = {"label": "label", "prediction": "prediction", "sensitive": ["sex"]}
    counted = [count_decisions(ENGINES["polars"](columns(p)), **options)["sex"] for p in parts]
    whole = count_decisions(ENGINES["polars"](columns(drawn)), **options)["sex"]
    assert counted[0] + counted[1] == whole


@pytest.mark.parametrize("scores", [[0.2, 0.5, 0.9], ["0.2", " 0.50", "9e-1"]])
def test_a_prediction_at_the_threshold_is_positive(frame: Build, scores: list[Any]) -> None:
    table = frame({"y": [1, 1, 0], "p": scores, "g": ["a", "a", "b"]})
    counts = count_decisions(table, label="y", prediction="p", sensitive=["g"], threshold=0.5)
    assert counts["g"]["a"] == Confusion(true_positives=1, false_negatives=1)
    assert counts["g"]["b"] == Confusion(false_positives=1)


def test_other_words_need_to_be_told_which_is_positive(frame: Build) -> None:
    table = frame({"y": ["good", "bad", "bad"], "p": ["bad", "bad", "bad"], "g": ["a", "b", "b"]})
    options: dict[str, Any] = {"label": "y", "prediction": "p", "sensitive": ["g"]}
    with pytest.raises(NonBinaryError, match="2 distinct values"):
        count_decisions(table, **options)
    counts = count_decisions(table, positive="good", **options)
    assert counts["g"]["a"] == Confusion(false_negatives=1)
    assert counts["g"]["b"] == Confusion(true_negatives=2)
    with pytest.raises(UnknownPositiveError, match="'Good' does not occur"):
        count_decisions(table, positive="Good", **options)


@pytest.mark.parametrize("positive", ["fit,hired", "fit, hired", ("fit", "hired")])
def test_labels_and_predictions_may_use_different_words(frame: Build, positive: Any) -> None:
    table = frame(
        {"y": ["fit", "not", "fit"], "p": ["hired", "hired", "sent off"], "g": list("abb")}
    )
    options: dict[str, Any] = {"label": "y", "prediction": "p", "sensitive": ["g"]}
    counts = count_decisions(table, positive=positive, **options)
    assert counts["g"]["a"] == Confusion(true_positives=1)
    assert counts["g"]["b"] == Confusion(false_positives=1, false_negatives=1)
    with pytest.raises(UnknownPositiveError, match="'fit' does not occur in 'p'"):
        count_decisions(table, positive="fit,fit", **options)


def test_a_word_with_a_comma_is_one_word_where_it_occurs(frame: Build) -> None:
    table = frame({"y": ["yes, sir", "no"], "p": ["no", "yes, sir"], "g": ["a", "b"]})
    options: dict[str, Any] = {"label": "y", "prediction": "p", "sensitive": ["g"]}
    counts = count_decisions(table, positive="yes, sir", **options)
    assert counts["g"]["a"] == Confusion(false_negatives=1)


def test_yes_and_no_are_understood(frame: Build) -> None:
    table = frame({"y": ["yes", "No"], "p": ["YES", "yes"], "g": ["a", "b"]})
    counts = count_decisions(table, label="y", prediction="p", sensitive=["g"])
    assert counts["g"]["a"] == Confusion(true_positives=1)
    assert counts["g"]["b"] == Confusion(false_positives=1)


def test_labels_in_words_go_with_predictions_in_digits(frame: Build) -> None:
    table = frame({"y": ["good", "bad"], "p": [1, 0], "g": ["a", "b"]})
    counts = count_decisions(table, label="y", prediction="p", sensitive=["g"], positive="good")
    assert counts["g"]["a"] == Confusion(true_positives=1)
    assert counts["g"]["b"] == Confusion(true_negatives=1)


@pytest.mark.parametrize(("values", "names"), [([1.0, 2.0], "12"), ([True, False], None)])
def test_groups_are_text(frame: Build, values: list[Any], names: str | None) -> None:
    table = frame({"y": [1, 0], "p": [1, 0], "g": values})
    counts = count_decisions(table, label="y", prediction="p", sensitive=["g"])
    assert counts["g"].groups == (tuple(names) if names else ("False", "True"))


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "0.5"])
def test_a_threshold_is_a_finite_number(threshold: Any) -> None:
    with pytest.raises(OptionError, match="threshold"):
        count_decision_arrays([1, 0], [0.9, 0.1], sensitive={"g": "ab"}, threshold=threshold)
