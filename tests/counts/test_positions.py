"""Arrays in: what positions and lengths may be, and what is said when they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity.counts.decision_rows import count_decision_arrays
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.ledger import count_position_pairs
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.errors import (
    ComparityError,
    EmptyTableError,
    LengthMismatchError,
    MissingValueError,
    NonFiniteScoreError,
    NotNumericError,
    OneGroupError,
    OptionError,
    PositionError,
    SelfComparisonError,
    UnsupportedColumnError,
)

ITEMS: dict[str, Any] = {"scores": [1.0, 2.0, 3.0], "sensitive": {"sex": ["f", "m", "f"]}}


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"pairs": [[0, 3]]}, PositionError, "positions from 0 to 2"),
        ({"pairs": [[0, -1]]}, PositionError, "data row 1"),
        ({"pairs": [[0.0, 1.0]]}, PositionError, "float64"),
        ({"pairs": [0, 1]}, PositionError, r"shape \(2,\)"),
        ({"pairs": [[0, 1, 2]]}, PositionError, r"shape \(1, 3\)"),
        ({"pairs": [[0, 1], [2]]}, PositionError, "different lengths"),
        ({"pairs": [["0", "1"]]}, PositionError, "integers"),
        ({"pairs": [[0, 1], [2, 2]]}, SelfComparisonError, "data row 2"),
        ({"tied_pairs": [[1, 1]]}, SelfComparisonError, "1 row"),
        ({"scores": 3}, UnsupportedColumnError, "int, no array"),
        ({"pairs": []}, EmptyTableError, "comparison"),
        ({"scores": [], "sensitive": {"sex": []}}, EmptyTableError, "item"),
        ({"scores": [1.0, 2.0]}, LengthMismatchError, "scores: 2, sex: 3"),
        ({"evaluators": ["x"]}, LengthMismatchError, "pairs: 2, evaluators: 1"),
        ({"evaluators": ["x", None]}, MissingValueError, "data row 2"),
        ({"scores": [1.0, np.nan, 2.0]}, MissingValueError, "data row 2"),
        ({"scores": [1.0, np.inf, 2.0]}, NonFiniteScoreError, "'inf'"),
        ({"scores": [1.0, "high", 2.0]}, NotNumericError, "'high'"),
        ({"scores": [[1.0], [2.0], [3.0]]}, UnsupportedColumnError, "lists within a list"),
        ({"scores": np.ones((3, 1))}, UnsupportedColumnError, "2 dimensions"),
        ({"sensitive": {"sex": ["f", None, "m"]}}, MissingValueError, "'sex'"),
        ({"sensitive": {"sex": ["f", "f", "f"]}}, OneGroupError, "'f'"),
        ({"sensitive": {}}, OptionError, "one or more"),
        ({"sensitive": {"age": [1, 1, 1]}, "continuous": True}, OneGroupError, "'age'"),
        ({"design": "reused"}, OptionError, "'auto' or 'fresh' or 'shared'"),
        ({"continuous": True, "intersection": True}, OptionError, "no groups to cross"),
    ],
)
def test_bad_arrays_are_named(
    changes: dict[str, Any], error: type[ComparityError], said: str
) -> None:
    arguments = {"pairs": [[0, 1], [2, 1]], **ITEMS, **changes}
    with pytest.raises(error, match=said):
        count_position_pairs(arguments.pop("pairs"), **arguments)


def test_decisions_of_different_lengths_are_refused() -> None:
    with pytest.raises(LengthMismatchError, match="y_true: 2, y_pred: 1, g: 2"):
        count_decision_arrays([1, 0], [1], sensitive={"g": ["a", "b"]})


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_any_sequence_will_do(kind: Any) -> None:
    counts = count_position_pairs(
        kind([(0, 1), (2, 1)]), scores=kind([3, 2, 1]), sensitive={"sex": kind(["f", "m", "f"])}
    )
    assert isinstance(counts["sex"], JudgedPairs)
    assert counts["sex"].tallies() == {Cell("f", "m"): Tally(1, 2)}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_series_of_a_frame_are_arrays(library: str) -> None:
    series = pytest.importorskip(library).Series
    counts = count_position_pairs(
        [(0, 1)], scores=series([3, 2]), sensitive={"sex": series(["f", "m"])}
    )
    assert counts["sex"] == PairCounts({Cell("f", "m"): Tally(1, 1)})


def test_the_same_judgment_made_twice_is_one_row_of_the_ledger() -> None:
    counts = count_position_pairs([(0, 1), (0, 1), (0, 1)], evaluators=["b", "a", "b"], **ITEMS)[
        "sex"
    ]
    assert isinstance(counts, JudgedPairs)
    assert counts.evaluator is not None
    judged = dict(zip(counts.evaluator.tolist(), counts.trials.tolist(), strict=True))
    assert {counts.evaluators[code]: n for code, n in judged.items()} == {"a": 1, "b": 2}


def test_a_pair_with_a_gap_names_its_row() -> None:
    with pytest.raises(MissingValueError, match="data row 2"):
        count_position_pairs(
            [[0, 1], [2, None]], scores=[1, 2, 3], sensitive={"g": ["a", "b", "a"]}
        )


def test_names_in_the_place_of_positions_are_shown() -> None:
    with pytest.raises(PositionError, match="such as 'ann'"):
        count_position_pairs([["ann", "bob"]], scores=[1, 2], sensitive={"g": ["a", "b"]})


@pytest.mark.parametrize("name", ["pairs", "tied_pairs"])
def test_a_masked_pair_is_missing_and_a_mask_of_nothing_masks_nothing(name: str) -> None:
    given: dict[str, Any] = {"pairs": [[0, 1]], **ITEMS}
    masked = np.ma.masked_array([[0, 1], [2, 1]], mask=[[False, False], [True, False]])
    with pytest.raises(MissingValueError, match="data row 2"):
        count_position_pairs(**given | {name: masked})
    seen = count_position_pairs(**given | {name: np.ma.masked_array(masked.data)})
    assert seen == count_position_pairs(**given | {name: masked.data})
