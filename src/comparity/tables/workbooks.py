"""Workbooks of Excel and LibreOffice as tables: the only sheet that holds anything, all as text.

A cell is read as CSV would hold it: numbers without a needless ``.0``, dates as 2026-11-17, truth
values, and nothing where it is empty. Of several sheets none is chosen silently.
"""

from __future__ import annotations

from datetime import date, time
from typing import Any

import narwhals as nw
import numpy as np

from comparity.errors import MissingExtraError, UnreadableFileError
from comparity.tables.file_parts import check_names
from comparity.tables.frames import in_memory, text_of

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Endings of workbooks."""


def read_workbook(name: str) -> nw.LazyFrame[Any]:
    """Read a workbook with one sheet, whose first row has the names of the columns.

    Raises
    ------
    MissingExtraError
        The package that reads workbooks is not installed.
    UnreadableFileError
        It cannot be read, or has no sheet with cells, or several.
    DuplicateColumnError, UnnamedColumnError
        A column has no name of its own.
    """
    rows = _rows(name)
    header = [text_of(cell) for cell in rows[0]]
    check_names(header, name)
    columns = {
        column: np.array([_text(row[at]) for row in rows[1:]], dtype=object)
        for at, column in enumerate(header)
    }
    return in_memory(columns)


def _rows(name: str) -> list[list[Any]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtraError(f"workbook {name!r}", "python-calamine", "excel") from error
    try:
        with CalamineWorkbook.from_path(name) as book:
            sheets = {one: book.get_sheet_by_name(one).to_python() for one in book.sheet_names}
    except (CalamineError, OSError) as error:
        raise UnreadableFileError(repr(name), str(error)) from error
    filled = {one: rows for one, rows in sheets.items() if rows}
    if len(filled) != 1:
        found = ", ".join(map(repr, filled)) or "none"
        reason = f"sheets with cells: {found}; save the one to read in a file of its own"
        raise UnreadableFileError(repr(name), reason)
    return next(iter(filled.values()))


def _text(cell: Any) -> str | None:
    if cell == "" or cell is None:
        return None
    return cell.isoformat() if isinstance(cell, date | time) else text_of(cell)
