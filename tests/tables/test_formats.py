"""Comparison tables of every layout are turned better item first, on every engine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import narwhals as nw
import pytest

from comparity.counts.judged_rows import count_comparisons
from comparity.errors import (
    AmbiguousWinnerError,
    MissingColumnError,
    MissingValueError,
    NonBinaryError,
    OptionError,
    UnknownLayoutError,
    UnknownWinnerError,
    UnreadableFileError,
)
from comparity.tables.files import read_table
from comparity.tables.layouts import read_comparisons, to_comparisons
from tests.conftest import ENGINES, Build

LAYOUTS: dict[str, dict[str, list[Any]]] = {
    "better, worse": {"better": ["a", "b"], "worse": ["b", "c"], "tied": [False, True]},
    "winner, loser": {"winner": ["a", "b"], "loser": ["b", "c"], "tied": ["0", "1"]},
    "chosen, rejected": {"chosen": ["a", "b"], "rejected": ["b", "c"], "tied": [0, 1]},
    "arena": {
        "model_a": ["b", "b"],
        "model_b": ["a", "c"],
        "winner": ["model_b", "tie (bothbad)"],
    },
    "left, right, winner": {"left": ["b", "b"], "right": ["a", "c"], "winner": ["Right ", "tie"]},
    "crowd": {"left": ["b", "b"], "right": ["a", "c"], "label": ["a", "tie"]},
    "label studio": {"text1": ["b", "b"], "text2": ["a", "c"], "pw": ["right", "tie"]},
}


def listed(frame: Any, *, seats: bool = False) -> list[tuple[Any, ...]]:
    lazy = nw.from_native(frame).lazy()
    columns = lazy.collect("polars").to_dict(as_series=False)
    kept = [values for name, values in columns.items() if seats or name != "seat"]
    return sorted(zip(*kept, strict=True))


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_every_layout_is_recognised(frame: Build, layout: str) -> None:
    table = to_comparisons(frame({**LAYOUTS[layout], "judge": ["x", "y"]}))
    assert table.layout == layout
    assert table.has_evaluators
    assert listed(table.frame) == [("a", "b", False, "x"), ("b", "c", True, "y")]


def test_seats_say_on_which_side_the_better_item_stood(frame: Build) -> None:
    sides = {"left": ["a", "a", "a"], "right": ["b", "c", "d"], "winner": ["left", "right", "tie"]}
    table = to_comparisons(frame(sides))
    assert table.has_seats
    assert listed(table.frame, seats=True) == [
        ("a", "b", False, 1),
        ("a", "d", True, 1),
        ("c", "a", False, -1),
    ]
    assert not to_comparisons(frame(LAYOUTS["chosen, rejected"])).has_seats


def test_the_engine_stays_the_same(frame: Build) -> None:
    given = frame(LAYOUTS["arena"])
    assert type(to_comparisons(given).frame) is type(given)


@pytest.mark.parametrize("name", ["evaluator", "judge", "worker", "annotator", "completed_by"])
def test_who_judged_is_found_under_its_usual_names(name: str) -> None:
    table = to_comparisons(ENGINES["polars"]({**LAYOUTS["arena"], name: ["x", "y"]}))
    assert table.columns["evaluator"] == name
    assert not to_comparisons(ENGINES["polars"](LAYOUTS["arena"])).has_evaluators


def test_the_winner_may_be_an_id_written_as_a_number(frame: Build) -> None:
    table = to_comparisons(frame({"left": [2, 7], "right": [1, 3], "winner": [1.0, 7.0]}))
    assert listed(table.frame) == [(1, 2, False), (7, 3, False)]


def test_columns_may_have_other_names(frame: Build) -> None:
    odd = frame({"x": ["b"], "y": ["a"], "who": ["right"], "by": ["j"]})
    table = to_comparisons(odd, left="x", right="y", winner="who", evaluator="by")
    assert listed(table.frame) == [("a", "b", False, "j")]
    found = to_comparisons(odd, better="x", worse="y", evaluator="who").frame
    assert listed(found) == [("b", "a", False, "right")]


def test_the_winner_may_be_named_by_the_column_of_the_item(frame: Build) -> None:
    odd = frame({"Essay 1": ["b"], "Essay 2": ["a"], "pick": ["essay 2"]})
    table = to_comparisons(odd, left="Essay 1", right="Essay 2", winner="pick")
    assert listed(table.frame) == [("a", "b", False)]


def test_a_column_called_as_the_other_side_is_no_word_for_its_own(frame: Build) -> None:
    crossed = frame({"right": ["b"], "left": ["a"], "winner": ["right"]})
    table = to_comparisons(crossed, left="right", right="left", winner="winner")
    assert listed(table.frame) == [("a", "b", False)]


@pytest.mark.parametrize("given", [{"left": "x"}, {"winner": "who"}, {"layout": "arena"}])
def test_better_and_worse_beside_a_winner_are_refused(given: dict[str, str]) -> None:
    table = ENGINES["polars"]({"x": ["b"], "y": ["a"], "who": ["right"]})
    with pytest.raises(OptionError, match="better= and worse="):
        to_comparisons(table, better="x", worse="y", **given)


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({"x": ["a"], "y": ["b"]}, UnknownLayoutError, "'x', 'y'.*model_a, model_b, winner"),
        (
            {"left": ["a", "a"], "right": ["b", "b"], "winner": ["left", "upper"]},
            UnknownWinnerError,
            "'winner'.*data row 2.*'upper'.*model_a",
        ),
        (
            {"left": ["a", "a"], "right": ["b", "b"], "winner": ["left", None]},
            MissingValueError,
            "'winner'.*data row 2",
        ),
        (
            {"left": ["a", "right"], "right": ["b", "left"], "winner": ["b", "left"]},
            AmbiguousWinnerError,
            "'winner'.*data row 2.*'left'",
        ),
        (
            {"left": ["draw"], "right": ["b"], "winner": ["draw"]},
            AmbiguousWinnerError,
            "data row 1.*'draw'",
        ),
        ({"better": ["a"], "worse": ["b"], "tied": ["so-so"]}, NonBinaryError, "'tied'"),
    ],
)
def test_bad_comparison_tables_are_named(
    frame: Build, columns: dict[str, list[Any]], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=f"(?s){said}"):
        to_comparisons(frame(columns))


def test_items_called_as_sides_are_read_where_both_readings_agree(frame: Build) -> None:
    sides = {"left": ["left", "left"], "right": ["right", "b"], "winner": ["right", "b"]}
    rows = to_comparisons(frame(sides)).frame
    found = nw.from_native(rows).lazy().collect().rows()
    assert [row[:2] for row in found] == [("right", "left"), ("b", "left")]


def test_unknown_layouts_and_columns_are_named() -> None:
    table = ENGINES["polars"](LAYOUTS["arena"])
    with pytest.raises(OptionError, match="'arena'"):
        to_comparisons(table, layout="chess")
    with pytest.raises(UnknownLayoutError, match="better, worse"):
        to_comparisons(table, layout="better, worse")
    with pytest.raises(MissingColumnError, match="'model_x'"):
        to_comparisons(table, left="model_x", right="model_b")


def task(left: str, right: str, *choices: tuple[Any, str | None]) -> dict[str, Any]:
    """One task of a nested export, with the fields that Label Studio documents."""
    annotations = [
        {
            "id": 1001,
            "completed_by": who,
            "was_cancelled": chosen is None,
            "result": []
            if chosen is None
            else [
                {
                    "from_name": "pw",
                    "to_name": "text1,text2",
                    "type": "pairwise",
                    "value": {"selected": chosen},
                }
            ],
        }
        for who, chosen in choices
    ]
    return {"id": 1, "data": {"text1": left, "text2": right}, "annotations": annotations}


@pytest.mark.parametrize("lines", [False, True])
def test_nested_exports_of_label_studio_are_read(tmp_path: Path, lines: bool) -> None:
    path = tmp_path / "export.json"
    tasks = [
        task("b", "a", (10, "right"), ({"id": 11, "email": "e@x"}, "left")),
        task("007", "c", (10, "left"), (12, None)),
    ]
    path.write_text("\n".join(map(json.dumps, tasks)) if lines else json.dumps(tasks))
    table = read_comparisons(path)
    assert table.layout == "label studio"
    assert listed(table.frame) == [
        ("007", "c", False, "10"),
        ("a", "b", False, "10"),
        ("b", "a", False, "e@x"),
    ]
    assert table.notes == ("1 annotations were skipped or hold no choice",)


def test_the_broken_line_of_an_export_is_named(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    good = json.dumps(task("a", "b", (1, "left")))
    path.write_text(f"{good}\n\n{good}\n{{broken\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match="line 4 column 2"):
        read_comparisons(path)


def test_an_export_with_a_byte_order_mark_keeps_its_ids(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    text = json.dumps(task("a", "b", (1, "left"))).replace('"a"', "1.10").replace('"b"', "1e400")
    path.write_text(f"\ufeff{text}\n", encoding="utf-8")
    assert listed(read_comparisons(path).frame) == [("1.10", "1e400", False, "1")]


def test_flat_exports_of_label_studio_are_read(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"text1": "b", "text2": "a", "pw": "right", "annotator": 3}]))
    table = read_comparisons(path)
    assert (table.layout, listed(table.frame)) == ("label studio", [("a", "b", False, "3")])


def test_fields_of_label_studio_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    odd = task("b", "a", (10, "right"))
    odd["data"] = {"one": "b", "two": "a"}
    path.write_text(json.dumps([odd]))
    table = read_comparisons(path, left="one", right="two")
    assert listed(table.frame) == [("a", "b", False, "10")]
    with pytest.raises(MissingColumnError, match="'text1'"):
        read_comparisons(path)


@pytest.mark.real
def test_the_crowd_comparisons_of_llmfao_are_read() -> None:
    folder = os.environ.get("COMPARITY_DATA")
    if not folder:
        pytest.skip("COMPARITY_DATA names no folder")
    path = Path(folder) / "llmfao" / "crowd-comparisons.csv"
    table = read_comparisons(path)
    found = listed(table.frame)
    # As `cut -d, -f6 crowd-comparisons.csv | sort | uniq -c` says.
    assert len(found) == 2911 + 2549 + 3471
    assert sum(row[2] for row in found) == 3471


@pytest.mark.long
@pytest.mark.real
def test_the_workers_of_imdb_wiki_are_counted() -> None:
    folder = os.environ.get("COMPARITY_DATA")
    if not folder:
        pytest.skip("COMPARITY_DATA names no folder")
    path = Path(folder) / "imdb_wiki_sbs"
    table = read_comparisons(path / "comparisons_subset.csv")
    items = read_table(path / "items.csv")
    options = {"evaluator": "evaluator", "score": "age", "sensitive": ["gender"]}
    counts = count_comparisons(table.frame, items, **options)["gender"]
    lines = (path / "comparisons_subset.csv").read_text().splitlines()
    assert counts.n == len(lines) - 1


def test_ties_are_not_read_from_two_columns() -> None:
    polars = pytest.importorskip("polars")
    columns = {"left": ["a"], "right": ["b"], "winner": ["left"], "draw": [True]}
    with pytest.raises(OptionError, match="'winner', which says who won"):
        to_comparisons(polars.DataFrame(columns), tied="draw")
