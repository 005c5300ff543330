"""Workbooks, written by openpyxl, another package than the one that reads them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import comparity
from comparity.errors import DuplicateColumnError, MissingExtraError, UnreadableFileError
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns

Rows = list[list[Any]]


def workbook(path: Path, *sheets: Rows) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for place, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {place}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_cells_are_read_as_csv_would_hold_them(tmp_path: Path) -> None:
    day = datetime.date(2026, 11, 17)
    rows: Rows = [
        ["id", " sex ", "n", "x", "day"],
        ["007", "f", 1, 2.5, day],
        ["NA", None, 2.0, 1, day],
    ]
    found = collect_columns(read_table(workbook(tmp_path / "a.xlsx", rows, [])))
    assert {name: column.tolist() for name, column in found.items()} == {
        "id": ["007", "NA"],
        "sex": ["f", None],
        "n": ["1", "2"],
        "x": ["2.5", "1"],
        "day": ["2026-11-17", "2026-11-17"],
    }


def test_a_workbook_and_a_csv_of_the_same_rows_give_the_same_audit(tmp_path: Path) -> None:
    rows: Rows = [[g, y, (y + (i % 4 == 0)) % 2] for g in "fm" for y in (0, 1) for i in range(40)]
    book = workbook(tmp_path / "a.xlsx", [["sex", "good", "hired"], *rows])
    text = tmp_path / "a.csv"
    text.write_text("\n".join(["sex,good,hired", *(",".join(map(str, row)) for row in rows)]))
    choices = {"label": "good", "prediction": "hired", "sensitive": "sex"}
    first, second = (comparity.read(one).separation(**choices) for one in (book, text))
    assert first.tests == second.tests
    assert first.provenance["data"]["files"][0]["name"] == "a.xlsx"


def test_no_sheet_is_chosen_silently(tmp_path: Path) -> None:
    rows: Rows = [["a"], ["1"]]
    with pytest.raises(UnreadableFileError, match="'sheet 0', 'sheet 1'"):
        read_table(workbook(tmp_path / "two.xlsx", rows, rows))
    with pytest.raises(UnreadableFileError, match="none"):
        read_table(workbook(tmp_path / "none.xlsx", []))
    with pytest.raises(DuplicateColumnError):
        read_table(workbook(tmp_path / "twice.xlsx", [["a", "A"], [1, 2]]))


def test_what_is_no_workbook_or_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.xlsx"
    bad.write_text("sex,good\nf,1")
    with pytest.raises(UnreadableFileError):
        read_table(bad)
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"comparity\[excel\]"):
        read_table(bad)
