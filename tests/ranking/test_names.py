"""Items named by text give the ranking that their positions give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest

from comparity import barp, bradley_terry, elo, win_rate
from comparity.errors import MissingValueError, PositionError, SelfComparisonError

NAMES = np.array(["zoe", "ann", "bob"])
POSITIONS = np.array([[0, 1], [1, 2], [2, 0], [0, 1], [1, 2]])


@pytest.mark.parametrize("rank", [bradley_terry, elo, win_rate])
@pytest.mark.parametrize("kind", [np.asarray, lambda x: x.tolist(), lambda x: x.astype(object)])
def test_names_give_what_positions_give(
    rank: Callable[..., Any], kind: Callable[[Any], Any]
) -> None:
    by_name, by_position = rank(kind(NAMES[POSITIONS])), rank(POSITIONS)
    assert by_name.items.tolist() == ["ann", "bob", "zoe"]
    order = [1, 2, 0]
    assert by_name.scores == pytest.approx(by_position.scores[order])


def test_columns_of_a_frame_may_hold_names() -> None:
    better, worse = NAMES[POSITIONS].T
    frame = polars.DataFrame({"better": better.tolist(), "worse": worse.tolist()})
    assert bradley_terry(frame).items.tolist() == ["ann", "bob", "zoe"]


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        ([["a", ""]], MissingValueError),
        ([["a", "a"]], SelfComparisonError),
        (np.array([["a", None]], dtype=object), PositionError),
        (np.array([["a", 1.5]], dtype=object), PositionError),
    ],
)
def test_what_is_no_pair_of_names_is_refused(pairs: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        bradley_terry(pairs)


def test_groups_by_position_do_not_go_with_names() -> None:
    with pytest.raises(PositionError):
        barp(NAMES[POSITIONS], evaluators=list("vwvwv"), sensitive_features=["x", "y", "x"])
