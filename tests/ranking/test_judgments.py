"""Comparisons at the door: what is kept, and what is refused with rows and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity.errors import (
    DuplicateItemError,
    EmptyTableError,
    LengthMismatchError,
    MissingColumnError,
    MissingValueError,
    NonBinaryError,
    OptionError,
    PositionError,
    SeatError,
    SelfComparisonError,
    TiesOnlyError,
    UnknownItemError,
)
from comparity.ranking.judgments import judgments_from_frames, judgments_of
from tests.conftest import Build

PAIRS = [[0, 1], [2, 1], [0, 2]]


def test_positions_become_small_integers() -> None:
    found = judgments_of(PAIRS, evaluators=["b", "a", "b"], ties=[0, 1, 0], seats=[1, -1, 0])
    assert found.better.dtype == found.worse.dtype == np.int32
    assert found.better.tolist() == [0, 2, 0]
    assert found.evaluators.tolist() == ["a", "b"]
    assert found.evaluator is not None
    assert found.evaluator.tolist() == [1, 0, 1]
    assert found.n_ties == 1
    assert found.seat is not None
    assert found.seat.tolist() == [1, -1, 0]


@pytest.mark.parametrize("seats", [[True, False, True], ["first", "second", "First"], [1, -1, 1]])
def test_seats_are_read_as_people_write_them(seats: list[Any]) -> None:
    found = judgments_of(PAIRS, seats=seats)
    assert found.seat is not None
    assert found.seat.tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("evaluators", "names", "codes"),
    [
        ([7, 3, 7], [3, 7], [1, 0, 1]),
        ([10**12, 5, 5], [5, 10**12], [1, 0, 0]),
        ([-1, 4, 4], [-1, 4], [0, 1, 1]),
        ([0, 1, 2], [0, 1, 2], [0, 1, 2]),
    ],
)
def test_numbers_name_evaluators_in_their_order(
    evaluators: list[int], names: list[int], codes: list[int]
) -> None:
    found = judgments_of(PAIRS, evaluators=evaluators)
    assert found.evaluators.tolist() == names
    assert found.evaluator is not None
    assert found.evaluator.tolist() == codes


@pytest.mark.parametrize(
    ("pairs", "options", "error", "words"),
    [
        ([[0, 0], [0, 1]], {}, SelfComparisonError, "data row 1"),
        ([[0, 5]], {"n_items": 3}, PositionError, "positions from 0 to 2"),
        (PAIRS, {"n_items": 7.5}, OptionError, "n_items cannot be 7.5"),
        (PAIRS, {"n_items": "all"}, OptionError, "a whole number from 1 on"),
        ([[-1, 1]], {}, PositionError, "-1 in 1 row"),
        ([[0.0, 1.0]], {}, PositionError, "float64"),
        ([[0, 1, 2]], {}, PositionError, "shape"),
        ([[0, 1], [0]], {}, PositionError, "different lengths"),
        ([], {}, EmptyTableError, "0 rows"),
        (PAIRS, {"evaluators": ["a"]}, LengthMismatchError, "evaluators: 1"),
        (PAIRS, {"evaluators": ["a", None, "b"]}, MissingValueError, "data row 2"),
        (PAIRS, {"ties": [1, 1, 1]}, TiesOnlyError, "all of them ties"),
        (PAIRS, {"ties": [0, 2, 0]}, NonBinaryError, "hint:  write 1 or true"),
        (PAIRS, {"seats": ["left", "right", "left"]}, SeatError, "left"),
    ],
)
def test_broken_comparisons_are_refused(
    pairs: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        judgments_of(pairs, **options)


def test_frames_of_positions_name_their_columns(frame: Any) -> None:
    table = frame({"better": [0, 2], "worse": [1, 0], "judge": ["x", "y"], "same": [0, 1]})
    found = judgments_of(table, evaluators="judge", ties="same")
    assert found.better.tolist() == [0, 2]
    assert found.evaluators.tolist() == ["x", "y"]
    assert found.n_ties == 1
    with pytest.raises(MissingColumnError, match="rater"):
        judgments_of(table, evaluators="rater")


def test_ids_follow_the_rows_of_the_items(frame: Any) -> None:
    table = frame({"better": ["007", "x"], "worse": ["NA", "007"]})
    items = frame({"item": ["x", "NA", "007", "unused"]})
    found = judgments_from_frames(table, items)
    assert found.items.tolist() == ["x", "NA", "007", "unused"]
    assert found.better.tolist() == [2, 0]
    assert found.worse.tolist() == [1, 2]


@pytest.mark.parametrize("kind", [int, float, str])
def test_ids_that_are_numbers_follow_the_rows_of_the_items_too(frame: Any, kind: type) -> None:
    table = frame({"better": [kind(7), kind(30)], "worse": [kind(2), kind(7)]})
    items = frame({"item": [kind(30), kind(2), kind(100), kind(7)]})
    found = judgments_from_frames(table, items)
    if kind is not str:
        assert found.items.tolist() == ["30", "2", "100", "7"]
    assert found.better.tolist() == [3, 0]
    assert found.worse.tolist() == [1, 3]


def test_an_item_compared_with_itself_is_called_by_its_name(frame: Any) -> None:
    table = frame({"better": ["x", "late"], "worse": ["y", "late"]})
    with pytest.raises(SelfComparisonError, match=r"data row 2\), such as 'late'"):
        judgments_from_frames(table)


@pytest.mark.parametrize(
    ("items", "error", "words"),
    [
        (["a", "b"], UnknownItemError, "'c'"),
        (["a", "b", "c", "a"], DuplicateItemError, "data row 4"),
        (["a", "b", None], MissingValueError, "data row 3"),
    ],
)
def test_items_that_do_not_fit_are_named(
    items: list[str | None], error: type[Exception], words: str
) -> None:
    import polars

    table = polars.DataFrame({"better": ["a", "b"], "worse": ["b", "c"]})
    with pytest.raises(error, match=words):
        judgments_from_frames(table, polars.DataFrame({"item": items}))


def test_masked_comparisons_are_missing() -> None:
    pairs = np.ma.array([[0, 1], [1, 2], [2, 0]], mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(MissingValueError, match="row 2"):
        judgments_of(pairs)
    assert len(judgments_of(np.ma.array([[0, 1], [1, 2]]))) == 2


def test_the_column_of_ties_of_a_frame_is_read(frame: Build) -> None:
    columns = {"better": [0, 1, 2], "worse": [1, 2, 0], "tied": [False, True, False]}
    found = judgments_of(frame(columns))
    assert found.tied is not None
    assert found.tied.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "numbers",
    [
        np.tile(np.arange(-128, 128, 5), 6).astype(np.int8),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1, 0]),
    ],
    ids=["small", "large", "far apart"],
)
def test_evaluators_named_by_numbers_keep_them(numbers: np.ndarray) -> None:
    found = judgments_of(np.tile([[0, 1]], (len(numbers), 1)), evaluators=numbers)
    assert found.evaluator is not None
    assert found.evaluators.tolist() == sorted(set(numbers.tolist()))
    assert (found.evaluators[found.evaluator] == numbers).all()


def test_two_kinds_of_clusters_are_refused_since_errors_would_know_of_one() -> None:
    shared = {"prompt": ["p", "q", "p"], "page": ["x", "x", "y"]}
    with pytest.raises(OptionError, match="one kind of clusters"):
        judgments_of([[0, 1], [1, 2], [2, 0]], cluster=shared)
