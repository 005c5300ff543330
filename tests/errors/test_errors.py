"""Every bad table gets its own error, on every engine, with rows and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from comparity import errors
from comparity.counts.decision_rows import count_decisions
from comparity.counts.judged_rows import count_comparisons, count_wide_comparisons
from comparity.errors import ComparityError, Offenders
from tests.conftest import ENGINES, Build

JUDGED: dict[str, list[Any]] = {
    "better": ["a", "b", "c"],
    "worse": ["b", "c", "d"],
    "judge": ["x", "y", "x"],
    "tie": [False, False, True],
}
ITEMS: dict[str, list[Any]] = {
    "item": ["a", "b", "c", "d"],
    "score": [0.1, 0.2, 0.3, 0.4],
    "sex": ["f", "m", "f", "m"],
}
INFINITE = float("inf")


@pytest.mark.parametrize("design", ["auto", "fresh"])
@pytest.mark.parametrize(
    ("judged", "items", "error", "said"),
    [
        ({"better": ["a", None, "c"]}, {}, errors.MissingValueError, "'better'.*data row 2"),
        ({"tie": [False, None, True]}, {}, errors.MissingValueError, "'tie'.*data row 2"),
        ({"tie": ["no", "yes", "maybe"]}, {}, errors.NonBinaryError, "'tie'.*0 and 1"),
        ({"worse": ["b", "e", "f"]}, {}, errors.UnknownItemError, "rows 2, 3.*'e', 'f'"),
        ({"worse": ["b", "b", "d"]}, {}, errors.SelfComparisonError, "data row 2.*'b'"),
        ({"better": [], "worse": [], "judge": [], "tie": []}, {}, errors.EmptyTableError, "0 rows"),
        ({}, {"item": [], "score": [], "sex": []}, errors.EmptyTableError, "items.*0 rows"),
        ({}, {"item": ["a", "b", None, "d"]}, errors.MissingValueError, "'item'.*data row 3"),
        ({}, {"item": ["a", "b", "b", "d"]}, errors.DuplicateItemError, "2 rows.*2, 3.*'b'"),
        ({}, {"score": [0.1, None, 0.3, None]}, errors.MissingValueError, "rows 2, 4"),
        ({}, {"score": [0.1, INFINITE, 0.3, 0.4]}, errors.NonFiniteScoreError, "row 2.*'inf'"),
        ({}, {"score": ["1", "2", "3,5", "nan"]}, errors.NotNumericError, "3, 4.*'3,5', 'nan'"),
        ({}, {"sex": ["f", None, "f", "m"]}, errors.MissingValueError, "'sex'.*data row 2"),
        ({}, {"sex": ["f", "f", "f", "f"]}, errors.OneGroupError, "'sex'.*'f'"),
    ],
)
def test_bad_comparisons_are_named(
    frame: Build,
    design: str,
    judged: dict[str, list[Any]],
    items: dict[str, list[Any]],
    error: type[ComparityError],
    said: str,
) -> None:
    with pytest.raises(error, match=f"(?s){said}.*hint:"):
        count_comparisons(
            frame({**JUDGED, **judged}),
            frame({**ITEMS, **items}),
            tied="tie",
            score="score",
            sensitive=["sex"],
            design=design,
        )


def test_a_missing_evaluator_is_named(frame: Build) -> None:
    judged = frame({**JUDGED, "judge": ["x", None, "x"]})
    with pytest.raises(errors.MissingValueError, match=r"(?s)'judge'.*data row 2"):
        count_comparisons(judged, frame(ITEMS), evaluator="judge", score="score", sensitive=["sex"])


def test_a_missing_column_suggests_the_nearest_name(frame: Build) -> None:
    with pytest.raises(errors.MissingColumnError, match=r"(?s)'gender'.*'item', 'score', 'sex'"):
        count_comparisons(frame(JUDGED), frame(ITEMS), score="score", sensitive=["gender"])
    with pytest.raises(errors.MissingColumnError, match="did you mean 'score'"):
        count_comparisons(frame(JUDGED), frame(ITEMS), score="scores", sensitive=["sex"])


def test_items_without_the_column_that_is_looked_for_by_default_say_how_to_name_it(
    frame: Build,
) -> None:
    named_otherwise = frame({"key" if name == "item" else name: ITEMS[name] for name in ITEMS})
    with pytest.raises(errors.MissingColumnError, match="by item="):
        count_comparisons(frame(JUDGED), named_otherwise, score="score", sensitive=["sex"])


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"y": [1, None, 0]}, errors.MissingValueError, "'y'.*data row 2"),
        ({"p": [0.5, INFINITE, 0.1]}, errors.NonFiniteScoreError, "'p'.*data row 2"),
        ({"p": ["0.5", "x", "0.1"]}, errors.NotNumericError, "'p'.*data row 2.*'x'"),
        ({"g": ["a", None, "b"]}, errors.MissingValueError, "'g'.*data row 2"),
        ({"g": ["a", "a", "a"]}, errors.OneGroupError, "'g'"),
        ({"y": [1, 2, 0]}, errors.NonBinaryError, "'y'.*3 distinct.*positive="),
        ({"y": [], "p": [], "g": []}, errors.EmptyTableError, "decisions"),
    ],
)
def test_bad_decisions_are_named(
    frame: Build, changes: dict[str, list[Any]], error: type[ComparityError], said: str
) -> None:
    table = frame({"y": [1, 0, 0], "p": [0.9, 0.2, 0.6], "g": ["a", "b", "a"], **changes})
    with pytest.raises(error, match=f"(?s){said}"):
        count_decisions(table, label="y", prediction="p", sensitive=["g"], threshold=0.5)


def test_many_valued_predictions_ask_for_a_threshold(frame: Build) -> None:
    table = frame({"y": [1, 0, 0], "p": [0.9, 0.2, 0.6], "g": ["a", "b", "a"]})
    with pytest.raises(errors.NonBinaryError, match="threshold="):
        count_decisions(table, label="y", prediction="p", sensitive=["g"])


WIDE: dict[str, list[Any]] = {
    "one": ["a", "b"],
    "two": ["b", "c"],
    "better_s": [1.0, 2.0],
    "worse_s": [2.0, 3.0],
    "better_g": ["f", "m"],
    "worse_g": ["m", "f"],
}


@pytest.mark.parametrize("design", ["auto", "shared"])
def test_without_ids_the_design_must_be_stated(design: str) -> None:
    with pytest.raises(errors.DesignUnknownError, match="design='fresh'"):
        count_wide_comparisons(ENGINES["polars"](WIDE), score="s", sensitive=["g"], design=design)


def test_an_item_with_two_scores_is_named(frame: Build) -> None:
    table = frame({**WIDE, "worse_s": [2.5, 3.0]})
    with pytest.raises(errors.InconsistentItemError, match=r"(?s)1 items.*'b'"):
        count_wide_comparisons(table, better="one", worse="two", score="s", sensitive=["g"])


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"better_s": [1.0, INFINITE]}, errors.NonFiniteScoreError, "'better_s'.*data row 2"),
        ({"better_s": ["1", "?"]}, errors.NotNumericError, "'better_s'.*data row 2.*'\\?'"),
        ({"worse_s": [None, 2.0]}, errors.MissingValueError, "'worse_s'.*data row 1"),
        ({"worse_g": [None, "m"]}, errors.MissingValueError, "'worse_g'.*data row 1"),
        ({"better_g": ["f", "f"], "worse_g": ["f", "f"]}, errors.OneGroupError, "'g'"),
        ({"one": ["a", "c"]}, errors.SelfComparisonError, "data row 2.*'c'"),
    ],
)
def test_bad_wide_rows_are_named(
    frame: Build, changes: dict[str, list[Any]], error: type[ComparityError], said: str
) -> None:
    ids = {"better": "one", "worse": "two"}
    with pytest.raises(error, match=f"(?s){said}"):
        count_wide_comparisons(
            frame({**WIDE, **changes}), **ids, score="s", sensitive=["g"], design="fresh"
        )


@pytest.mark.parametrize("thing", [None, 3, {"better": ["a"]}, [1, 2]])
def test_what_is_no_table_is_refused(thing: Any) -> None:
    with pytest.raises(errors.UnsupportedTableError, match=type(thing).__name__):
        count_comparisons(thing, thing, score="score", sensitive=["sex"])


def test_two_columns_of_one_name_are_refused() -> None:
    table = ENGINES["pandas"](ITEMS).set_axis(["item", "score", "score"], axis=1)
    with pytest.raises(errors.DuplicateColumnError):
        count_comparisons(ENGINES["pandas"](JUDGED), table, score="score", sensitive=["sex"])


def test_columns_of_lists_are_refused() -> None:
    table = ENGINES["polars"]({**ITEMS, "sex": [["f"], ["m"], ["f"], ["m"]]})
    with pytest.raises(errors.UnsupportedColumnError, match=r"(?s)'sex'.*List"):
        count_comparisons(ENGINES["polars"](JUDGED), table, score="score", sensitive=["sex"])


def test_offenders_show_the_first_rows_and_say_that_there_are_more() -> None:
    assert str(Offenders(1, (3,))) == "1 row (data row 3)"
    assert str(Offenders(1234, (1, 2), ("x",))) == "1,234 rows (data rows 1, 2, ...), such as 'x'"


def test_every_error_is_a_comparity_error() -> None:
    named = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert len(named) > 20
    assert all(issubclass(error, ComparityError) for error in named)


def test_a_long_value_is_shown_by_its_beginning_on_one_line() -> None:
    error = str(errors.OptionError("scores", list(range(1000)), ["100 numbers"]))
    assert all(len(line) < 130 for line in error.splitlines())
    assert "[0, 1, 2, 3" in error
    assert "(1000 values)" in error
    assert len(error.splitlines()) == 3


def test_a_long_name_is_shown_whole() -> None:
    assert "x" * 200 in str(errors.OptionError("goal", "x" * 200, ["'cross-group'"]))
