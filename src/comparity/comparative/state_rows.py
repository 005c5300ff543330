"""Judgments that are added to a state, by codes of its items and evaluators, each once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.options import ComparativeForm
from comparity.errors import (
    EmptyTableError,
    MissingValueError,
    SelfComparisonError,
    StateChangedError,
    StateFileError,
    UnknownItemError,
)
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns, is_missing, open_frame, text_of
from comparity.tables.values import rows_of

Codes = NDArray[np.int64]
Columns = Mapping[str, NDArray[Any]]

ITEMS_READ = "items"
"""Where the digest of the table of items is kept, beside the choices."""

ITEM_BITS = 24
"""A state holds 16 million items."""

LOW_FIRST, HIGH_FIRST, LOW_TIED, HIGH_TIED = range(4)
"""Outcomes of a pair: which item is better, or which of two tied ones was named first."""


@dataclass(frozen=True)
class CodedJudgments:
    """Judgments by codes of items and evaluators; evaluator 0 where nobody knows."""

    better: Codes
    worse: Codes
    evaluator: Codes
    tied: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.better)

    def __getitem__(self, rows: slice | NDArray[np.bool_]) -> CodedJudgments:
        return CodedJudgments(
            self.better[rows], self.worse[rows], self.evaluator[rows], self.tied[rows]
        )

    @property
    def columns(self) -> tuple[Codes, ...]:
        """All of it."""
        return self.better, self.worse, self.evaluator, self.tied.astype(np.int64)

    @property
    def outcome(self) -> Codes:
        """Which item is better, or named first."""
        return (self.better > self.worse) + 2 * self.tied.astype(np.int64)

    @property
    def pair(self) -> Codes:
        """Both items as one number, the smaller code first."""
        low = np.minimum(self.better, self.worse)
        return (low << ITEM_BITS) + np.maximum(self.better, self.worse)


def keep_items(
    state: sqlite3.Connection,
    path: str | Path,
    items: Path,
    form: ComparativeForm,
    check: Callable[[Any], object],
) -> None:
    """Add items that are new; refuse others whose score or groups have changed."""
    digest = blake2b(items.read_bytes(), digest_size=16).hexdigest()
    read = state.execute("SELECT value FROM choice WHERE name = ?", (ITEMS_READ,)).fetchone()
    if read is not None and read[0] == digest:
        return
    table = read_table(items)
    check(table)
    columns = collect_columns(open_frame(table, "items")[0].lazy())
    ids = [text_of(one) for one in columns[form.item].tolist()]
    scores = columns[form.score].astype(np.float64).tolist()
    named = zip(*(columns[name].tolist() for name in form.sensitive), strict=True)
    groups = [json.dumps([text_of(one) for one in row]) for row in named]
    state.execute("CREATE TEMP TABLE given (id TEXT PRIMARY KEY, score REAL, groups TEXT)")
    state.executemany("INSERT INTO given VALUES (?, ?, ?)", zip(ids, scores, groups, strict=True))
    changed = state.execute(
        "SELECT id, item.score, profile.groups, given.score, given.groups FROM item "
        "JOIN profile ON item.profile = profile.code JOIN given USING (id) "
        "WHERE item.score <> given.score OR profile.groups <> given.groups LIMIT 1"
    ).fetchone()
    if changed is not None:
        name, *values = changed
        raise StateChangedError(str(path), f"item {name}", str(values[:2]), str(values[2:]))
    state.execute("INSERT OR IGNORE INTO profile (groups) SELECT DISTINCT groups FROM given")
    state.execute(
        "INSERT INTO item (id, score, profile) SELECT id, score, profile.code FROM given "
        "JOIN profile USING (groups) WHERE id NOT IN (SELECT id FROM item) ORDER BY given.rowid"
    )
    state.execute("INSERT OR REPLACE INTO choice VALUES (?, ?)", (ITEMS_READ, digest))
    if state.execute("SELECT max(code) FROM item").fetchone()[0] >= 2**ITEM_BITS:
        raise StateFileError(str(path), f"more than {2**ITEM_BITS - 1:,} items")


def new_rows(state: sqlite3.Connection, comparisons: Columns) -> CodedJudgments:
    """Return the judgments that are new, by codes of items and evaluators.

    Parameters
    ----------
    state : Connection
    comparisons : mapping of str to ndarray
        Columns ``better``, ``worse`` and ``tied``; ``evaluator``, and ``mark`` with ids of the
        judgments where these are known. Rows without an id are known by what they hold: the third
        of three equal rows of one update is new where the state holds two.
    """
    if not len(comparisons["better"]):
        raise EmptyTableError("comparison")
    for name, column in comparisons.items():
        missing = np.array([is_missing(one) for one in column.tolist()], dtype=bool)
        if missing.any():
            raise MissingValueError(name, "comparisons", rows_of(missing))
    sides = [_item_codes(state, comparisons[side], side) for side in ("better", "worse")]
    equal = sides[0] == sides[1]
    if equal.any():
        raise SelfComparisonError(rows_of(equal, comparisons["better"]))
    evaluator = np.zeros(len(equal), dtype=np.int64)
    if "evaluator" in comparisons:
        evaluator = _evaluator_codes(state, comparisons["evaluator"])
    rows = CodedJudgments(sides[0], sides[1], evaluator, comparisons["tied"].astype(bool))
    if "mark" in comparisons:
        return rows[_mark_new_ids(state, comparisons["mark"])]
    columns = np.column_stack([rows.pair, rows.evaluator, rows.outcome])
    return rows[_times_before(columns) >= _known_times(state, rows)]


def _item_codes(state: sqlite3.Connection, names: NDArray[Any], side: str) -> Codes:
    texts = [text_of(one) for one in names.tolist()]
    query = "SELECT item.id, code FROM json_each(?) AS wanted CROSS JOIN item ON item.id = value"
    known = dict(state.execute(query, (json.dumps([*dict.fromkeys(texts)]),)).fetchall())
    codes = np.array([known.get(one, 0) for one in texts], dtype=np.int64)
    if not codes.all():
        raise UnknownItemError(side, rows_of(codes == 0, names))
    return codes


def _evaluator_codes(state: sqlite3.Connection, names: NDArray[Any]) -> Codes:
    texts = [text_of(one) for one in names.tolist()]
    new = [(one,) for one in dict.fromkeys(texts)]
    state.executemany("INSERT OR IGNORE INTO evaluator (name) VALUES (?)", new)
    query = "SELECT name, code FROM json_each(?) AS wanted CROSS JOIN evaluator ON name = value"
    known = dict(state.execute(query, (json.dumps([one for (one,) in new]),)).fetchall())
    return np.array([known[one] for one in texts], dtype=np.int64)


def _mark_new_ids(state: sqlite3.Connection, ids: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which ids are new to the state, each the first time it occurs, and add them to it.

    Of a million ids two have the same 64 bits of a hash with probability 3e-8.
    """
    hashes = [
        int.from_bytes(blake2b(text_of(one).encode(), digest_size=8).digest(), "big", signed=True)
        for one in ids.tolist()
    ]
    query = "SELECT mark FROM json_each(?) AS wanted CROSS JOIN mark ON mark = wanted.value"
    known = {one for (one,) in state.execute(query, (json.dumps(hashes),))}
    new = []
    for one in hashes:
        new.append(one not in known)
        known.add(one)
    found = np.array(new, dtype=bool)
    marks = [(one,) for one, is_new in zip(hashes, new, strict=True) if is_new]
    state.executemany("INSERT INTO mark VALUES (?)", marks)
    return found


def _times_before(columns: Codes) -> Codes:
    """Return of each row how many like it stand above it.

    Examples
    --------
    >>> _times_before(np.array([[1], [2], [1], [1]])).tolist()
    [0, 0, 1, 2]
    """
    place = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    times = np.empty(len(place), dtype=np.int64)
    sizes = np.diff(starts, append=len(place))
    times[order] = np.arange(len(place)) - np.repeat(starts, sizes)
    return times


def _known_times(state: sqlite3.Connection, rows: CodedJudgments) -> Codes:
    """Return how often the state holds a judgment like each row."""
    query = (
        "SELECT wanted.key, n FROM json_each(?) AS wanted CROSS JOIN pair "
        "ON low = json_extract(wanted.value, '$[0]') AND high = json_extract(wanted.value, '$[1]') "
        "AND evaluator = json_extract(wanted.value, '$[2]') "
        "AND outcome = json_extract(wanted.value, '$[3]')"
    )
    low, high = rows.pair >> ITEM_BITS, rows.pair & (2**ITEM_BITS - 1)
    wanted = np.column_stack([low, high, rows.evaluator, rows.outcome])
    found = np.zeros(len(rows), dtype=np.int64)
    for place, n in state.execute(query, (json.dumps(wanted.tolist()),)):
        found[place] = n
    return found
