"""A column that says who won is read, or the table is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import comparity
from comparity.comparative.audit import audit_frames
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.errors import UnknownLayoutError, UnreadOutcomeError
from comparity.ranking.rank import rank_frames
from comparity.tables.layouts import check_outcome_read, to_comparisons
from tests.conftest import ENGINES, Build

PAIRS = {"item_1": ["x", "y", "x"], "item_2": ["y", "z", "z"]}
JUDGED = {"better": ["x", "y", "x"], "worse": ["y", "z", "z"]}
ITEMS = {"item": ["x", "y", "z"], "score": [3.0, 2.0, 1.0], "sex": ["f", "m", "f"]}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("preference", ["A", "B", "tie"]),
        ("preference", [4, 1, 5]),
        ("human_label", ["easy", "hard", "easy"]),
        ("result", [None, None, "x"]),
        ("winner_model_a", [1, 0, 0]),
        ("who", ["x", "z", "z"]),
        ("who", ["left", "right", "tie"]),
        ("who", ["left", "left", "draw"]),
        ("who", ["Item_1", "Item_2", "Item_2"]),
        ("q1", [1, 2, 0]),
        ("q1", [1.0, -1.0, 1.0]),
        ("q1", ["a", "B ", "a"]),
    ],
)
def test_a_column_that_says_who_won_is_named(frame: Build, column: str, values: list[Any]) -> None:
    table = frame({**PAIRS, column: values})
    told = rf"(?s)'{column}'.*left='item_1', right='item_2' and winner='{column}'.*drop it"
    with pytest.raises(UnreadOutcomeError, match=told):
        to_comparisons(table, better="item_1", worse="item_2")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("winner", ["x", "y", "x"]),
        ("preference", ["left", "left", "left"]),
        ("score", [0.5, 0.25, 1.0]),
        ("flag", [0, 1, 1]),
        ("round", [2, 2, 2]),
        ("round", [1, 2, 3]),
        ("note", ["left", "right", "unsure"]),
        ("note", ["left", None, "right"]),
        ("item_1_label", [0, 1, 1]),
        ("label_time", ["9:00", "9:01", "9:02"]),
    ],
)
def test_other_columns_are_let_pass(frame: Build, column: str, values: list[Any]) -> None:
    table = to_comparisons(
        frame({**PAIRS, column: values}), better="item_1", worse="item_2", evaluator=None
    )
    assert table.layout == "better, worse"


@pytest.mark.parametrize("names", [("better", "worse"), ("winner_id", "loserId")])
@pytest.mark.parametrize(
    ("column", "values", "refused"),
    [
        ("label", [0, 1, 1], False),
        ("label", [1, 2, 2], False),
        ("result", ["3:1", "2:0", "1:0"], False),
        ("shown_first", ["x", "z", "x"], False),
        ("side", ["left", "right", "left"], False),
        ("preference", ["x", "y", "x"], False),
        ("preference", ["x", "z", "x"], True),
        ("outcome", ["win", "win", "draw"], True),
    ],
)
def test_names_that_say_who_won_are_believed_unless_an_outcome_contradicts(
    frame: Build, names: tuple[str, str], column: str, values: list[Any], refused: bool
) -> None:
    first, second = names
    table = frame({first: PAIRS["item_1"], second: PAIRS["item_2"], column: values})
    if not refused:
        assert to_comparisons(table, better=first, worse=second).layout == "better, worse"
        return
    with pytest.raises(UnreadOutcomeError, match=column):
        to_comparisons(table, better=first, worse=second)


def test_columns_that_are_read_are_no_suspects() -> None:
    table = ENGINES["polars"]({**PAIRS, "who": ["a", "b", "a"], "draw": [1, 0, 0]})
    found = to_comparisons(table, better="item_1", worse="item_2", evaluator="who", tied="draw")
    assert found.has_evaluators


def test_columns_of_lists_say_nothing_unless_they_are_called_so() -> None:
    table = ENGINES["polars"]({**PAIRS, "notes": [["a"], ["b"], ["a"]]})
    check_outcome_read(table, first="item_1", second="item_2")
    with pytest.raises(UnreadOutcomeError, match="votes_label"):
        check_outcome_read(table.rename({"notes": "votes_label"}), first="item_1", second="item_2")


CALLS: dict[str, Callable[..., Any]] = {
    "rank_frames": lambda judged, **names: rank_frames(judged, model="bt", **names),
    "count_comparisons": lambda judged, **names: count_comparisons(
        judged, ENGINES["polars"](ITEMS), score="score", sensitive=["sex"], **names
    ),
    "audit_frames": lambda judged, **names: audit_frames(
        judged, ENGINES["polars"](ITEMS), score="score", sensitive=["sex"], **names
    ),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_every_function_that_takes_frames_of_comparisons_refuses(call: str) -> None:
    table = ENGINES["polars"]({**PAIRS, "preference": [1, 2, 0]})
    with pytest.raises(UnreadOutcomeError, match="preference"):
        CALLS[call](table, better="item_1", worse="item_2")


def test_frames_of_positions_are_refused_where_an_outcome_contradicts() -> None:
    table = ENGINES["polars"]({"better": [0, 1], "worse": [1, 2], "winner": [1, 2]})
    with pytest.raises(UnreadOutcomeError, match="winner"):
        comparity.bradley_terry(table)
    with pytest.raises(UnreadOutcomeError, match="winner"):
        comparity.comparative_separation(
            table, scores=[3.0, 2.0, 1.0], sensitive_features=["f", "m", "f"]
        )


def test_wide_tables_are_refused_but_not_for_columns_of_one_item() -> None:
    sides = {"better_s": [3.0, 2.0, 1.0], "worse_s": [2.0, 1.0, 0.0]}
    sides |= {"better_g": ["f", "m", "f"], "worse_g": ["m", "f", "m"], "better_code": [1, 2, 1]}
    asked: dict[str, Any] = {"better": "item_1", "worse": "item_2", "score": "s"}
    table = ENGINES["polars"]({**PAIRS, **sides})
    assert count_wide_comparisons(table, **asked, sensitive=["g"], design="fresh")
    table = ENGINES["polars"]({**PAIRS, **sides, "vote": ["A", "B", "A"]})
    with pytest.raises(UnreadOutcomeError, match="vote"):
        count_wide_comparisons(table, **asked, sensitive=["g"], design="fresh")


def test_the_hint_for_unknown_layouts_leads_to_the_winner_first() -> None:
    with pytest.raises(UnknownLayoutError) as raised:
        to_comparisons(ENGINES["polars"]({**PAIRS, "preference": ["left", "right", "tie"]}))
    hint = str(raised.value)
    assert "if a column says who won, by left=, right= and winner=" in hint
    assert hint.index("winner=") < hint.index("better=")
