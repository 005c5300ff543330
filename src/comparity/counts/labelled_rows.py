"""Checked items on their engine, and how many there are by label and group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.engine_rows import recode
from comparity.errors import (
    ConstantLabelError,
    OneGroupError,
    OutOfRangeError,
    WeightError,
)
from comparity.tables.columns import Table, offenders, open_table
from comparity.tables.frames import collect_columns, text_of
from comparity.tables.memory import current_limits
from comparity.tables.stored_frames import StoredFrame, parse_rows
from comparity.tables.values import LARGEST, MOST_GROUPS, check_groups

Floats = NDArray[np.float64]

MOST_LEVELS = 256
"""Labels with more values than these are not tabulated value by value."""

PEEK = 5000
"""Rows that are looked at first: most columns with many values show them there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledRows:
    """Checked rows on their engine, and how many items there are by label and group.

    Attributes
    ----------
    frame : narwhals.LazyFrame
        Columns ``label``, ``score``, ``group`` (as text) and perhaps ``weight`` and ``query``.
    n : int
    low, high : float
        The smallest and the largest score.
    label_ends : tuple of float
        The smallest and the largest label.
    groups : tuple of str
        The groups, sorted; what marks items in no group comes last, if there are any.
    n_named : int
        Groups without that mark.
    levels : ndarray of float
        The different labels; empty where there are too many.
    counts, weights, squares : ndarray, (labels, groups)
        Items, sums of their weights and of these squared.
    is_weighted : bool
    stored : StoredFrame or None
        What holds the rows, where they were parsed once.
    """

    frame: nw.LazyFrame[Any]
    n: int
    low: float
    high: float
    label_ends: tuple[float, float]
    groups: tuple[str, ...]
    n_named: int
    levels: Floats
    counts: Floats
    weights: Floats
    squares: Floats
    is_weighted: bool
    stored: StoredFrame | None = None

    def code_rows(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Replace labels and groups of rows of a table by their codes."""
        place = {group: code for code, group in enumerate(self.groups)}
        level = np.searchsorted(self.levels, columns.pop("label").astype(np.float64))
        names, which = np.unique(columns.pop("group").astype(str), return_inverse=True)
        codes = np.array([place[name] for name in names.tolist()], dtype=np.int64)
        return {**columns, "level": level, "group": codes[which.reshape(-1)]}


def read_labelled_rows(
    frame: Any, roles: dict[str, str], *, no_group: object = None
) -> LabelledRows:
    """Check the rows of a frame, and count them by label and group.

    Parameters
    ----------
    frame : frame of any engine
    roles : mapping of str to str
        The columns that are ``label``, ``score``, ``group`` and perhaps ``weight``, ``query``.
    no_group : optional
        The value that marks items in no group.
    """
    table = open_table(frame, "items", roles)
    numeric: list[str] = [name for name in ("label", "score", "weight") if name in roles]
    names: list[str] = [name for name in ("group", "query") if name in roles]
    begin_pass(0)
    rows, stored, spans = parse_rows(table, numeric=numeric, names=names)
    low, high = spans.ends["label"]
    if low == high:
        raise ConstantLabelError(roles["label"], text_of(low))
    if "weight" in roles:
        _check_weights(table, *spans.ends["weight"])
    seen = collect_columns(rows.select("label", "group").head(PEEK))
    check_groups({roles["group"]: sorted(set(seen["group"].tolist()))})
    begin_pass(spans.rows)
    found = {}
    if len(np.unique(seen["label"])) <= MOST_LEVELS:
        counted = rows.group_by("group", "label").agg(*sums_of_items(roles))
        # So many rows cannot be those of few labels: the others are left where they are.
        found = collect_columns(counted.head(MOST_LEVELS * MOST_GROUPS + 1))
    if not 0 < len(found.get("n", ())) <= MOST_LEVELS * MOST_GROUPS:
        found = collect_columns(rows.group_by("group").agg(*sums_of_items(roles)))
        found["label"] = np.zeros(len(found["n"]))
    groups, n_named = _name_groups(found["group"].tolist(), roles["group"], no_group)
    levels = np.unique(found["label"].astype(np.float64))
    known = LabelledRows(
        frame=rows,
        n=spans.rows,
        low=spans.ends["score"][0],
        high=spans.ends["score"][1],
        label_ends=(low, high),
        groups=groups,
        n_named=n_named,
        levels=levels,
        counts=np.zeros((len(levels), len(groups))),
        weights=np.zeros((len(levels), len(groups))),
        squares=np.zeros((len(levels), len(groups))),
        is_weighted="weight" in roles,
        stored=stored,
    )
    _fill_counts(known, known.code_rows(found))
    few = 1 < len(levels) <= MOST_LEVELS
    return known if few else replace(known, levels=levels[:0])


def read_grouped_rows(frame: Any, roles: dict[str, str]) -> LabelledRows:
    """Check the rows of a frame without labels, and count them by group.

    Groups take the place of labels, the first one that of the highest: so every two items of
    different groups are a pair, and the one in the earlier group is called better.

    Parameters
    ----------
    frame : frame of any engine
    roles : mapping of str to str
        The columns that are ``score`` and ``group``.
    """
    table = open_table(frame, "items", roles)
    begin_pass(0)
    rows, stored, spans = parse_rows(table, numeric=["score"], names=["group"])
    begin_pass(spans.rows)
    counted = rows.group_by("group").agg(*sums_of_items(roles))
    found = collect_columns(counted.head(MOST_GROUPS + 1))
    groups, n_named = _name_groups(found["group"].tolist(), roles["group"], None)
    levels = np.arange(len(groups), dtype=np.float64)
    label = dict(zip(groups, levels[::-1].tolist(), strict=True))
    found["label"] = np.array([label[group] for group in found["group"].tolist()])
    empty = np.zeros((len(levels), len(groups)))
    known = LabelledRows(
        frame=rows.with_columns(recode(nw.col("group"), label).alias("label")),
        n=spans.rows,
        low=spans.ends["score"][0],
        high=spans.ends["score"][1],
        label_ends=(0.0, levels[-1]),
        groups=groups,
        n_named=n_named,
        levels=levels,
        counts=empty,
        weights=empty.copy(),
        squares=empty.copy(),
        is_weighted=False,
        stored=stored,
    )
    _fill_counts(known, known.code_rows(found))
    return known


def _fill_counts(known: LabelledRows, found: dict[str, NDArray[Any]]) -> None:
    place = found["level"], found["group"]
    np.add.at(known.counts, place, found["n"].astype(np.float64))
    for name, matrix in (("weight", known.weights), ("square", known.squares)):
        np.add.at(matrix, place, found.get(name, found["n"]).astype(np.float64))


def _check_weights(table: Table, low: float, high: float) -> None:
    value = table.number("weight")
    if low <= 0:
        raise WeightError(table.columns["weight"], offenders(table, value <= 0, "weight"))
    if high > LARGEST:
        found = offenders(table, value > LARGEST, "weight")
        raise OutOfRangeError(table.columns["weight"], found, LARGEST)


def _name_groups(found: list[str], column: str, no_group: object) -> tuple[tuple[str, ...], int]:
    """Return the groups in order, what marks items in no group last."""
    names = sorted(set(found))
    check_groups({column: names})
    marked = [] if no_group is None else [name for name in names if name == text_of(no_group)]
    named = [name for name in names if name not in marked]
    if len(named) < 2:
        raise OneGroupError(column, named)
    return (*named, *marked), len(named)


def sums_of_items(columns: Any) -> list[nw.Expr]:
    """Return what is counted of the items of a row of a table."""
    found = [nw.len().alias("n")]
    if "weight" in columns:
        weight = nw.col("weight")
        found += [weight.sum().alias("weight"), (weight * weight).sum().alias("square")]
    return found


def begin_pass(rows: int) -> None:
    """Tell whoever shows progress that a pass over rows begins."""
    current_limits().work.begin(rows)
