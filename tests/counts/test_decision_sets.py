"""Differences of decisions equal the loops, on every engine and for every way to write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.counts.decision_sets import (
    Decisions,
    decision_arrays,
    decision_table,
    label_columns,
    labelled_decisions,
)
from comparity.errors import (
    EmptyTableError,
    LengthMismatchError,
    MissingColumnError,
    MissingValueError,
    NonFiniteScoreError,
    OneGroupError,
    ReferenceGroupError,
    TooFewRatersError,
    UnorderedDecisionError,
    WordDecisionError,
)
from tests.conftest import Build
from tests.plain.relative import differences

rows = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from("fm")), min_size=2, max_size=25
).filter(lambda drawn: len({row[2] for row in drawn}) > 1)

Rows = list[tuple[int, int, str]]


def columns(drawn: Rows) -> dict[str, list[Any]]:
    first, second, sex = (list(column) for column in zip(*drawn, strict=True))
    return {"a": first, "b": second, "sex": sex}


def spread(found: Decisions, group: str) -> list[float]:
    counts = found.differences(0, 1, "sex")
    place = counts.groups.index(group)
    return np.repeat(counts.values, counts.counts[:, place]).tolist()


@given(drawn=rows, text=st.booleans())
@settings(max_examples=10, deadline=None)
def test_tables_of_every_engine_equal_the_loops(frame: Build, drawn: Rows, text: bool) -> None:
    table = columns(drawn)
    given_as = {**table, "a": [*map(str, table["a"])]} if text else table
    found = decision_table(frame(given_as), raters=["a", "b"], sensitive=["sex"])
    assert found.n == len(drawn)
    for group in "fm":
        assert spread(found, group) == sorted(
            differences(table["a"], table["b"], table["sex"], group)
        )


@given(drawn=rows)
def test_arrays_equal_the_loops(drawn: Rows) -> None:
    table = columns(drawn)
    found = decision_arrays({"a": table["a"], "b": table["b"]}, {"sex": table["sex"]})
    for group in "fm":
        expected = sorted(differences(table["a"], table["b"], table["sex"], group))
        assert spread(found, group) == expected


def test_equal_rows_are_counted_once(frame: Build) -> None:
    table = {"a": [1, 1, 2] * 50, "b": [0, 0, 0] * 50, "sex": ["f", "f", "m"] * 50}
    found = decision_table(frame(table), raters=["a", "b"], sensitive=["sex"])
    assert sorted(found.weights.tolist()) == [50, 100]


def test_a_number_as_attribute_keeps_its_rows(frame: Build) -> None:
    table = {"a": [3, 2, 2], "b": [1, 1, 1], "age": [30.5, 20.0, 20.0]}
    found = decision_table(frame(table), raters=["a", "b"], sensitive=["age"], continuous=True)
    pairs = sorted(zip(*(one.tolist() for one in found.rows(0, 1, "age")), strict=True))
    assert pairs == [(1.0, 20.0), (1.0, 20.0), (2.0, 30.5)]


def test_ordered_words_count_as_ranks(frame: Build) -> None:
    table = {"a": ["good", "bad"], "b": ["bad", "fair"], "sex": ["f", "m"]}
    order = ["bad", "fair", "good"]
    found = decision_table(frame(table), raters=["a", "b"], sensitive=["sex"], order=order)
    assert (spread(found, "f"), spread(found, "m")) == ([2.0], [-1.0])


def test_each_label_is_one_decision(frame: Build) -> None:
    table = {"a": ["x", "y", "z"], "b": ["x", "x", "z"], "sex": ["f", "m", "m"]}
    found = labelled_decisions(*label_columns(frame(table), raters=["a", "b"], sensitive=["sex"]))
    assert list(found) == ["x", "y", "z"]
    assert spread(found["x"], "m") == [-1.0, 0.0]
    assert spread(found["y"], "m") == [0.0, 1.0]


def test_of_two_labels_one_is_enough() -> None:
    found = labelled_decisions({"a": ["no", "yes"], "b": ["no", "no"]}, {"sex": ["f", "m"]})
    assert list(found) == ["yes"]


def test_several_labels_and_none_of_them() -> None:
    sets = {"a": ["x;y", ""], "b": ["y", "x"]}
    found = labelled_decisions(sets, {"sex": ["f", "m"]}, separator=";")
    assert found["x"].values.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_the_reference_group_comes_first() -> None:
    given_as = {"a": [1, 2, 3], "b": [1, 1, 1]}
    found = decision_arrays(given_as, {"sex": ["f", "m", "x"]}, reference="m")
    assert found.differences(0, 1, "sex").groups == ("m", "f", "x")
    assert spread(found, "m") == [1.0]


def test_rounding_errors_are_no_differences() -> None:
    tenths = np.arange(1, 40) / 10
    given_as = {"a": tenths + 0.1, "b": tenths}
    assert len(np.unique(given_as["a"] - given_as["b"])) > 1
    found = decision_arrays(given_as, {"sex": ["f", "m", "m"] * 13})
    assert found.differences(0, 1, "sex").values.tolist() == [0.1]


@pytest.mark.parametrize("kinds", [("f4", "f4"), ("f4", "f8"), ("f8", "f4")])
def test_rounding_to_single_precision_makes_no_differences(kinds: tuple[str, str]) -> None:
    sex = np.array(["f", "m"] * 3)
    one, two = np.array([0.3, 0.2] * 3, kinds[0]), np.array([0.2, 0.1] * 3, kinds[1])
    found = decision_arrays({"a": one, "b": two}, sensitive={"sex": sex})
    assert found.differences(0, 1, "sex").values == pytest.approx([0.1])


def test_fractions_of_two_are_differences_to_the_last_bit() -> None:
    one, two = np.array([1000.0, 1000.0 + 2.0**-10]), np.array([1000.0, 1000.0])
    found = decision_arrays({"a": one, "b": two}, sensitive={"sex": ["f", "m"]})
    assert found.differences(0, 1, "sex").values.tolist() == [0.0, 2.0**-10]


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_small_differences_survive_at_every_size(size: float) -> None:
    first = size * np.array([1.5, 1.5, 1.5, 1.5 + 1e-9])
    found = decision_arrays({"a": first, "b": np.full(4, 1.5 * size)}, {"sex": list("ffmm")})
    high = found.differences(0, 1, "sex").values[-1]
    assert high == pytest.approx(size * 1e-9, rel=1e-3)


def test_ranges_say_what_of_the_scale_was_used() -> None:
    found = decision_arrays({"a": [1, 5], "b": [2, 2]}, {"sex": ["f", "m"]})
    wide, constant = found.range_of(0), found.range_of(1)
    assert (wide.low, wide.high, wide.mean, wide.deviation) == (1, 5, 3, 2)
    assert (constant.low, constant.high, constant.deviation) == (2, 2, 0)


GOOD = {"a": [1.0, 2.0], "b": [1.0, 3.0], "sex": ["f", "m"]}


@pytest.mark.parametrize(
    ("broken", "error", "said"),
    [
        ({"a": [1.0, None]}, MissingValueError, "data row 2"),
        ({"a": [1.0, float("nan")]}, MissingValueError, "'a'"),
        ({"a": [1.0, float("inf")]}, NonFiniteScoreError, "'a'"),
        ({"a": ["yes", "no"]}, WordDecisionError, "order="),
        ({"sex": ["f", None]}, MissingValueError, "'sex'"),
        ({"sex": ["f", "f"]}, OneGroupError, "'sex'"),
    ],
)
def test_broken_columns_are_named_on_every_engine_and_in_arrays(
    frame: Build, broken: dict[str, Any], error: type[Exception], said: str
) -> None:
    table = {**GOOD, **broken}
    with pytest.raises(error, match=said):
        decision_table(frame(table), raters=["a", "b"], sensitive=["sex"])
    with pytest.raises(error, match=said):
        decision_arrays({"a": table["a"], "b": table["b"]}, {"sex": table["sex"]})


def test_other_broken_input_is_named(frame: Build) -> None:
    with pytest.raises(MissingColumnError, match="'c'"):
        decision_table(frame(GOOD), raters=["a", "c"], sensitive=["sex"])
    with pytest.raises(LengthMismatchError, match="sex: 1"):
        decision_arrays({"a": [1, 2], "b": [1, 2]}, {"sex": ["f"]})
    with pytest.raises(EmptyTableError):
        decision_arrays({"a": [], "b": []}, {"sex": []})
    with pytest.raises(TooFewRatersError, match="'a'"):
        decision_arrays({"a": [1, 2]}, {"sex": ["f", "m"]})
    with pytest.raises(ReferenceGroupError, match="'x'"):
        decision_arrays({"a": [1, 2], "b": [1, 2]}, {"sex": ["f", "m"]}, reference="x")
    with pytest.raises(UnorderedDecisionError, match="'good'"):
        decision_arrays({"a": ["bad", "good"], "b": ["bad", "bad"]}, {"s": [1, 2]}, order=["bad"])
    with pytest.raises(OneGroupError):
        decision_arrays({"a": [1, 2], "b": [1, 2]}, {"age": [3, 3]}, continuous=True)
    with pytest.raises(MissingValueError, match="data row 1"):
        labelled_decisions({"a": [None, "x"], "b": ["x", "x"]}, {"sex": ["f", "m"]})
