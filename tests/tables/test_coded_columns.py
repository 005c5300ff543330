"""Columns that are brought in batches hold what the table holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pytest

from comparity.errors import (
    MissingValueError,
    OutOfMemoryError,
    SpillFullError,
    UnknownItemError,
    UnreadableFileError,
)
from comparity.ranking.judgments import judgments_from_frames
from comparity.tables import coded_columns
from comparity.tables.coded_columns import CodedText, batches_of_duckdb, bring_columns
from comparity.tables.values import factorise
from tests.conftest import ENGINES, Build

ROWS: dict[str, list[Any]] = {
    "better": ["a", "b", "c", "a", "d"],
    "worse": ["b", "c", "a", "d", "b"],
    "judge": ["x", "y", "x", "x", "z"],
    "number": [3, 1, 2, 2, 3],
    "tied": [False, False, True, False, False],
    "weight": [0.5, 1.5, 2.0, 0.25, 1.0],
}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded_columns, "BATCH_ROWS", 2)


def test_values_and_codes_are_those_of_the_table(frame: Build) -> None:
    found = bring_columns(nw.from_native(frame(ROWS)).lazy())
    assert {name: column.tolist() for name, column in found.items()} == ROWS
    codes, names = factorise(found["judge"])
    assert [names[code] for code in codes] == ROWS["judge"]


class Broken:
    """Rows of which some come before DuckDB fails."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def to_arrow_reader(self, _: int) -> Iterator[Any]:
        yield "the first rows"
        raise OSError(self.reason)


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ('Invalid Input Error: Failed to read file "a.parquet": Snappy', UnreadableFileError),
        ("Out of Memory Error: could not allocate block (9 MiB/9 MiB used)", OutOfMemoryError),
        ("Out of Memory Error: ... max_temp_directory_size", SpillFullError),
        ("INTERRUPT Error: Interrupted!", KeyboardInterrupt),
    ],
)
def test_what_fails_while_rows_come_is_told_as_everywhere(
    reason: str, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        list(batches_of_duckdb(Broken(reason)))


def test_a_row_that_cannot_be_read_is_told_by_name() -> None:
    rows = duckdb.sql(
        "select if(i = 2900, error('a page is broken'), i) as n from range(3000) t(i)"
    )
    with pytest.raises(UnreadableFileError, match="a page is broken"):
        bring_columns(nw.from_native(rows))


def test_text_of_duckdb_is_coded_while_it_is_read() -> None:
    found = bring_columns(
        nw.from_native(ENGINES["duckdb"]({**ROWS, "judge": ["x", None] * 2 + ["z"]}))
    )
    judge, tied = found["judge"], found["tied"]
    assert isinstance(judge, CodedText)
    assert judge.tolist() == ["x", None, "x", None, "z"]
    assert judge.codes.dtype == np.int32
    assert isinstance(tied, np.ndarray)
    assert tied.dtype == bool


@pytest.mark.parametrize("judge", ["judge", "number"])
def test_judgments_are_the_same_on_every_engine(frame: Build, judge: str) -> None:
    columns = {"evaluator": judge, "tied": "tied"}
    found = judgments_from_frames(frame(ROWS), **columns)
    expected = judgments_from_frames(ENGINES["pandas"](ROWS), **columns)
    for name in ("better", "worse", "items", "evaluator", "evaluators", "tied"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_unknown_items_and_gaps_are_named_by_their_rows() -> None:
    items = ENGINES["duckdb"]({"item": ["a", "b", "c"]})
    with pytest.raises(UnknownItemError, match=r"row 5\), such as 'd'"):
        judgments_from_frames(ENGINES["duckdb"](ROWS), items)
    broken = {**ROWS, "judge": ["x", "y", None, "x", "x"]}
    with pytest.raises(MissingValueError, match="row 3"):
        judgments_from_frames(ENGINES["duckdb"](broken), evaluator="judge")
