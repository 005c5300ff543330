"""Column contracts: what is missing, what is a number, what is true, and in which row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comparity.errors import MissingValueError, NotNumericError, UnsteadyQueryError
from comparity.errors.spelling import BLANKS
from comparity.tables.columns import Table, check_columns, open_table
from comparity.tables.frames import collect_columns, is_missing, placed_columns, text_of
from tests.conftest import ENGINES, Build


def opened(native: Any) -> Table:
    return open_table(native, "items", {"value": "v"})


def values(table: Table, expression: Any) -> list[Any]:
    return collect_columns(table.frame.select(expression.alias("value")))["value"].tolist()


def test_nan_and_null_are_missing_alike(frame: Build) -> None:
    table = opened(frame({"v": [1.0, float("nan"), None]}))
    assert values(table, table.missing("value")) == [False, True, True]
    with pytest.raises(MissingValueError, match="rows 2, 3"):
        check_columns(table, complete=["value"])


SEEN = ["a", " a ", "\na\n", "\u200ba", "-", "]", "^", "\u0300", "\U0001f600"]


def test_a_name_is_blank_where_python_strips_all_of_it(frame: Build) -> None:
    names = [*BLANKS, BLANKS, "", " \u200b\n", *SEEN]
    table = opened(frame({"v": names}))
    assert values(table, table.blank("value")) == [not name.strip(BLANKS) for name in names]


def test_a_missing_name_is_not_blank(frame: Build) -> None:
    table = opened(frame({"v": ["x", None, " "]}))
    assert values(table, table.blank("value")) == [False, False, True]


@given(numbers=st.lists(st.floats(-1e90, 1e90), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None)
def test_numbers_written_by_python_are_read_back(frame: Build, numbers: list[float]) -> None:
    wanted = [number for number in numbers if number == 0 or abs(number) > 1e-200] or [1.5]
    table = opened(frame({"v": [f" {number!r}" for number in wanted]}))
    assert values(table, table.number("value")) == wanted


@pytest.mark.parametrize(
    "word", ["", "x", "1,5", "1.5.", "0x1", "nan", "inf", "1e", "--1", "1e999"]
)
def test_words_are_no_numbers(frame: Build, word: str) -> None:
    with pytest.raises(NotNumericError, match="data row 2"):
        check_columns(opened(frame({"v": ["1", word]})), numeric=["value"])


@pytest.mark.parametrize(
    "number", ["1", "-1.5", "+2", ".5", "5.", "1e-5", "2E+03", " 7 ", "1e-200"]
)
def test_plain_decimals_are_numbers(frame: Build, number: str) -> None:
    table = opened(frame({"v": [number]}))
    check_columns(table, numeric=["value"])
    assert values(table, table.number("value")) == [float(number)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([True, False], [1, 0]),
        ([1, 0], [1, 0]),
        ([1.0, 0.0], [1, 0]),
        (["TRUE", " false"], [1, 0]),
        (["1.0", "0"], [1, 0]),
        (["Yes", "no "], [1, 0]),
        (["maybe", "2"], [-1, -1]),
        ([2, -1], [-1, -1]),
    ],
)
def test_true_and_false_are_understood(frame: Build, given: list[Any], said: list[int]) -> None:
    table = opened(frame({"v": given}))
    assert values(table, table.truth("value")) == said


@pytest.mark.parametrize(
    ("given", "written"),
    [([1, -2], ["1", "-2"]), ([1.0, 2.0], ["1", "2"]), ([True, False], ["True", "False"])],
)
def test_ids_are_written_alike_on_every_engine(
    frame: Build, given: list[Any], written: list[str]
) -> None:
    table = opened(frame({"v": given}))
    assert values(table, table.text("value")) == written
    assert [text_of(value) for value in given] == written


def test_categories_are_text() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (
        pandas.DataFrame({"v": pandas.Categorical(["a", None, "b"])}),
        polars.DataFrame({"v": polars.Series(["a", None, "b"], dtype=polars.Categorical)}),
        polars.DataFrame({"v": polars.Series(["a", None, "b"], dtype=polars.Enum(["b", "a"]))}),
    ):
        table = opened(column)
        assert values(table, table.text("value")) == ["a", None, "b"]


def test_python_objects_become_text_and_gaps_stay_gaps() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([1, "b", None, float("nan"), pandas.NA, pandas.NaT, 2.0], dtype=object)
    table = opened(pandas.DataFrame({"v": column}))
    assert values(table, table.text("value")) == ["1", "b", None, None, None, None, "2"]


def test_what_counts_as_missing() -> None:
    assert all(map(is_missing, [None, float("nan"), np.float32("nan")]))
    assert not any(map(is_missing, ["", "nan", 0, False, np.inf]))


def test_opening_a_table_twice_gives_the_same_rows() -> None:
    native = ENGINES["duckdb"]({"v": ["a", "b"]})
    first, second = (values(t, t.text("value")) for t in (opened(native), opened(native)))
    assert first == second == ["a", "b"]


def test_frames_give_their_columns_row_by_row(frame: Build) -> None:
    rows = {"v": ["b", None, "a"], "x": [0.5, float("nan"), -1.0]}
    found = placed_columns(nw.from_native(frame(rows)))
    assert found["v"].tolist() == rows["v"]
    assert [None if is_missing(x) else x for x in found["x"].tolist()] == [0.5, None, -1.0]


@pytest.mark.parametrize("column", ["i", "i / 2", "case when i = 3 then null else i::text end"])
def test_a_query_in_another_order_each_time_is_not_matched_by_place(column: str) -> None:
    query = f"select {column} as v from range(50) as t(i) order by random()"
    with pytest.raises(UnsteadyQueryError, match="'v'"):
        placed_columns(nw.from_native(duckdb.sql(query)))


WIDE = [10**17, 10**17 + 1, 10**17 + 1, -5]


@pytest.mark.parametrize("kind", ["decimal(20, 0)", "decimal(22, 2)", "hugeint"])
def test_wide_numbers_that_floats_would_take_for_one_stay_apart(kind: str) -> None:
    given = duckdb.sql(f"select unnest({WIDE})::{kind} as name")
    table = open_table(given, "items", {"name": "name"})
    found = collect_columns(table.frame.select(table.text("name"), number=table.number("name")))
    assert found["name"].tolist() == [str(number) for number in WIDE]
    assert found["number"].tolist() == [float(number) for number in WIDE]


@pytest.mark.parametrize("engine", ["polars", "pyarrow", "pandas"])
def test_wide_decimals_of_other_engines_stay_apart(engine: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    native = pyarrow.table(
        {"name": pyarrow.array(list(map(Decimal, WIDE)), pyarrow.decimal128(20))}
    )
    if engine == "polars":
        native = pytest.importorskip("polars").from_arrow(native)
    elif engine == "pandas":
        pandas = pytest.importorskip("pandas")
        native = native.to_pandas(types_mapper=pandas.ArrowDtype)
    table = open_table(native, "items", {"name": "name"})
    found = collect_columns(table.frame.select(table.text("name")))["name"]
    assert found.tolist() == [str(number) for number in WIDE]


def test_small_decimals_and_integers_of_128_bits_are_numbers() -> None:
    given = duckdb.sql("select 0.50::decimal(9, 2) as one, 7::hugeint as two, null::hugeint as no")
    table = open_table(given, "items", {"one": "one", "two": "two", "no": "no"})
    found = collect_columns(table.frame)
    assert (found["one"].tolist(), found["two"].tolist()) == ([0.5], [7.0])
