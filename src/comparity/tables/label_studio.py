"""Pairwise exports of Label Studio: tasks with annotations, as nested JSON.

A task holds its two texts under ``data`` and one entry in ``annotations`` for each annotator
(``completed_by``); the choice is ``result[].value.selected``, ``"left"`` or ``"right"``. The flat
exports (CSV, JSON-MIN) are ordinary tables and read by :mod:`comparity.tables.layouts`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from comparity.errors import EmptyTableError, MissingColumnError, UnreadableFileError
from comparity.tables.files import local_file
from comparity.tables.frames import in_memory, text_of
from comparity.tables.json_records import first_record, parse_records

__all__ = ["is_label_studio", "read_label_studio"]

Row = tuple[str | None, str | None, str | None, str | None]


def is_label_studio(path: str | os.PathLike[str]) -> bool:
    """Say whether a JSON file begins like an export of annotated tasks."""
    name = os.fspath(path)
    if not Path(name).is_file():
        return False
    local_file(name)
    task = first_record(name)
    return isinstance(task, dict) and "annotations" in task


def read_label_studio(
    path: str | os.PathLike[str], *, left: str | None = None, right: str | None = None
) -> tuple[nw.LazyFrame[Any], tuple[str, ...]]:
    """Read a nested export.

    Parameters
    ----------
    path : path
        A JSON list, or JSON lines, of tasks.
    left, right : str, optional
        Fields of ``data`` that hold the two items; by default those that the choice refers to
        (``to_name``), or ``text1`` and ``text2``.

    Returns
    -------
    frame : narwhals.LazyFrame
        Columns left, right, winner, worker.
    notes : tuple of str
        How many annotations were skipped by their annotators or hold no choice.
    """
    name = os.fspath(path)
    local_file(name)
    rows: list[Row] = []
    silent = 0
    for task, annotation in _annotations(parse_records(name), name):
        found = [r for r in annotation.get("result") or [] if _selected(r) is not None]
        if annotation.get("was_cancelled") or not found:
            silent += 1
            continue
        rows += [_row(task, annotation, result, left, right) for result in found]
    if not rows:
        raise EmptyTableError("comparisons")
    notes = (f"{silent:,} annotations were skipped or hold no choice",) if silent else ()
    return _as_frame(rows), notes


def _as_frame(rows: list[Row]) -> nw.LazyFrame[Any]:
    cells = np.array(rows, dtype=object)
    names = ("left", "right", "winner", "worker")
    return in_memory({name: cells[:, place] for place, name in enumerate(names)})


def _annotations(
    tasks: Iterable[Any], name: str
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for number, task in enumerate(tasks, start=1):
        parts = task.get("annotations") if isinstance(task, dict) else None
        if not isinstance(parts, list) or not isinstance(task.get("data"), dict):
            raise UnreadableFileError(repr(name), f"task {number} has no data or no annotations")
        for annotation in parts:
            if not isinstance(annotation, dict):
                raise UnreadableFileError(repr(name), f"task {number} has an odd annotation")
            yield task, annotation


def _selected(result: Any) -> str | None:
    value = result.get("value") if isinstance(result, dict) else None
    chosen = value.get("selected") if isinstance(value, dict) else None
    return chosen if isinstance(chosen, str) else None


def _row(
    task: dict[str, Any],
    annotation: dict[str, Any],
    result: dict[str, Any],
    left: str | None,
    right: str | None,
) -> Row:
    data = task["data"]
    pointed = [name.strip() for name in str(result.get("to_name", "")).split(",")]
    usual = pointed if len(pointed) == 2 and set(pointed) <= set(data) else ["text1", "text2"]
    sides = (left or usual[0], right or usual[1])
    for side in sides:
        if side not in data:
            raise MissingColumnError(side, "Label Studio data", list(data))
    judge = annotation.get("completed_by")
    if isinstance(judge, dict):
        judge = judge.get("email") or judge.get("id")
    named = (data[sides[0]], data[sides[1]], _selected(result), judge)
    first, second, chosen, worker = (None if v is None else text_of(v) for v in named)
    return first, second, chosen, worker
