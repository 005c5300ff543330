from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import OneHotEncoder

from comparity.errors import (
    ComparityError,
    FeatureMismatchError,
    LengthMismatchError,
    MissingValueError,
    NonFiniteScoreError,
    UnsupportedColumnError,
)
from comparity.relative.subjects import match_features


def test_text_becomes_the_columns_of_a_one_hot_encoder(frame: Callable[..., Any]) -> None:
    towns = ["x", "y", "z", "y"], ["y", "new", "x"]
    ages = [30, 40, 50, 60], [35, 45, 55]
    first, second = match_features(
        frame({"town": towns[0], "age": ages[0]}),
        frame({"age": ages[1], "town": towns[1]}),
        sizes=(4, 3),
    )
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    expected = encoder.fit_transform(np.array(towns[0])[:, None])
    assert first.tolist() == np.column_stack([expected, ages[0]]).tolist()
    expected = encoder.transform(np.array(towns[1])[:, None])
    assert second.tolist() == np.column_stack([expected, ages[1]]).tolist()


def test_numbers_written_as_text_are_numbers() -> None:
    table = np.array([["1", "2.5"], ["3", "-4e1"]], dtype=object)
    first, second = match_features(table, table[:1], sizes=(2, 1))
    assert first.tolist() == [[1.0, 2.5], [3.0, -40.0]]
    assert second.tolist() == [[1.0, 2.5]]


def test_one_column_of_numbers_is_a_matrix_and_texts_stay_texts() -> None:
    first, _ = match_features([1, 2], [3], sizes=(2, 1))
    assert first.shape == (2, 1)
    first, second = match_features(["some text", "more"], ["other"], sizes=(2, 1))
    assert first.tolist() == ["some text", "more"]
    assert second.tolist() == ["other"]


def test_a_sparse_matrix_stays_sparse() -> None:
    first, second = match_features(csr_matrix(np.eye(3)), csr_matrix(np.eye(3)), sizes=(3, 3))
    assert first[np.array([True, False, True])].toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert second.shape == (3, 3)


@pytest.mark.parametrize(
    ("first", "second", "error", "words"),
    [
        (np.ones((3, 2)), np.ones((3, 4)), FeatureMismatchError, "2 columns for the first, 4"),
        ([["a", 1]] * 3, [[1, 1]] * 3, FeatureMismatchError, "text in column '0'"),
        (["a", "b", "c"], [1, 2, 3], FeatureMismatchError, "text for the first, numbers"),
        (np.full((3, 1), np.nan), np.ones((3, 1)), MissingValueError, "3 rows"),
        (np.ones((3, 1)), np.full((3, 1), np.inf), NonFiniteScoreError, "finite"),
        (np.ones((2, 1)), np.ones((3, 1)), LengthMismatchError, "first decisions: 3"),
        (np.ones((3, 1, 1)), np.ones((3, 1)), UnsupportedColumnError, "3 and 2 dimensions"),
    ],
)
def test_features_that_do_not_match_are_named(
    first: Any, second: Any, error: type[ComparityError], words: str
) -> None:
    with pytest.raises(error, match=words):
        match_features(np.array(first, object), np.array(second, object), sizes=(3, 3))


@pytest.mark.parametrize(
    "gaps",
    [
        np.ma.array([[1.0, 2.0], [9.0, 2.0], [1.0, 3.0]], mask=[[0, 0], [1, 0], [0, 0]]),
        ["good", float("nan"), "bad"],
        [[1.0, "good"], [2.0, float("nan")], [3.0, "bad"]],
    ],
)
def test_a_gap_among_words_and_a_masked_number_are_missing(gaps: Any) -> None:
    with pytest.raises(MissingValueError, match="row 2"):
        match_features(gaps, gaps, sizes=(3, 3))


def test_rows_of_different_lengths_are_no_words() -> None:
    rows = [[1.0], [1.0, 2.0], [3.0]]
    with pytest.raises(UnsupportedColumnError, match="different lengths"):
        match_features(rows, rows, sizes=(3, 3))


def test_missing_columns_are_named() -> None:
    import polars

    one, two = polars.DataFrame({"a": [1], "b": [2]}), polars.DataFrame({"a": [1]})
    with pytest.raises(FeatureMismatchError, match="b on one side only"):
        match_features(one, two, sizes=(1, 1))
    with pytest.raises(FeatureMismatchError, match="a frame with named columns"):
        match_features(one, np.ones((1, 2)), sizes=(1, 1))
    gap = polars.DataFrame({"a": ["x", None]})
    with pytest.raises(MissingValueError, match="column 'a'"):
        match_features(gap, gap, sizes=(2, 2))
