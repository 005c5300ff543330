"""A state that is kept between updates: judgments counted once, in the order of their arrival.

A state is one file, a database of SQLite: an update is one transaction. Killed at any moment it
leaves the state before or the state after, and of two writers at once one waits for the other.
Judgments are known again by an id, or by what is in their row; who gives a file twice counts it
once. Every update is a look, whose finding and intervals are kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.judge import audit_counts
from comparity.comparative.options import ComparativeForm, ComparativeOptions
from comparity.counts.ledger import count_position_pairs
from comparity.errors import StateChangedError, StateFileError
from comparity.results.audit import Audit, Look
from comparity.results.plain import as_plain, from_plain
from comparity.results.result import UNDECIDED
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns, open_frame, text_of

SCHEMA = 1
"""Version of the tables below; another one is refused."""

MARK = 0x636F6D70
"""What says that a database is a state of ours."""

PATIENCE = 120.0
"""Seconds to wait for another writer."""

MOST_LOOKS, MOST_REPLAYED = 8, 20_000
"""An update of many judgments is looked at so often on the way, in studies of up to so many."""

TABLES = """
CREATE TABLE choice (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE item (code INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, score REAL, groups TEXT);
CREATE TABLE evaluator (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE judgment (place INTEGER PRIMARY KEY, mark INTEGER NOT NULL UNIQUE,
    better INTEGER NOT NULL, worse INTEGER NOT NULL, evaluator INTEGER, tied INTEGER NOT NULL);
CREATE TABLE look (n INTEGER PRIMARY KEY, content TEXT NOT NULL);
"""

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """All judgments of a state, as arrays in the order of their arrival."""

    pairs: NDArray[np.int64]
    evaluator: NDArray[Any] | None
    tied: NDArray[np.bool_]
    scores: NDArray[np.float64]
    groups: dict[str, NDArray[Any]]

    def audit(self, n: int, options: ComparativeOptions, **data: Any) -> Audit:
        """Audit the first `n` judgments."""
        ordered = ~self.tied[:n]
        judges = None if self.evaluator is None else self.evaluator[:n][ordered]
        counts = count_position_pairs(
            self.pairs[:n][ordered],
            scores=self.scores,
            sensitive=self.groups,
            evaluators=judges,
            tied_pairs=self.pairs[:n][~ordered],
            continuous=options.continuous,
            intersection=options.intersection,
            design=options.design,
        )
        return audit_counts(counts, options, evaluators_known=judges is not None, **data)


def audit_with_state(
    path: str | Path, comparisons: Columns, items: str | Path, form: ComparativeForm
) -> Audit:
    """Add comparisons to a state, and audit all that it holds.

    Parameters
    ----------
    path : path
        The state; begun where there is none.
    comparisons : mapping of str to ndarray
        Columns ``better``, ``worse``, ``tied``, and ``evaluator`` and ``mark`` where they are
        known, checked already.
    items : path
        Scores and groups of the items.
    form : ComparativeForm
        The choices, which have to be those that the state was begun with.

    Raises
    ------
    StateFileError
        The file is no state, or one of another version.
    StateChangedError
        A choice, or the score or a group of an item, is not what it was.
    """
    options = form.narrow(ComparativeOptions)
    with _open(Path(path)) as state:
        _keep_choices(state, path, form)
        _keep_items(state, path, items, form)
        before = _number(state)
        new = _add(state, comparisons)
        kept = _read(state, form)
        n = before + new
        data = {"state": Path(path).name, "new": new, "again": len(comparisons["better"]) - new}
        for at in _looks_between(before, n):
            _keep_look(state, at, kept.audit(at, options))
        audit = kept.audit(n, options, score=form.score, sensitive=list(form.sensitive), **data)
        _keep_look(state, n, audit)
        history = tuple(
            from_plain(Look, json.loads(content))
            for (content,) in state.execute("SELECT content FROM look ORDER BY n")
        )
    decided = [look.n for look in history if look.finding != UNDECIDED]
    note = f"{new:,} judgments are new in this update"
    again = f"; {data['again']:,} were known already and count once" if data["again"] else ""
    return replace(
        audit,
        history=history,
        stopped_at=decided[0] if decided else None,
        notes=(*audit.notes, f"{note}{again}."),
    )


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a state for one update, which happens as a whole or not at all."""
    try:
        state = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    except sqlite3.Error as error:
        raise StateFileError(str(path), str(error)) from error
    try:
        state.execute("PRAGMA synchronous = FULL")
        state.execute("BEGIN IMMEDIATE")
        mark, schema = (
            state.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        tables = state.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables:
            for statement in TABLES.split(";"):
                state.execute(statement)
            state.execute(f"PRAGMA application_id = {MARK}")
            state.execute(f"PRAGMA user_version = {SCHEMA}")
        elif mark != MARK:
            raise StateFileError(str(path), "a database of something else")
        elif schema != SCHEMA:
            raise StateFileError(str(path), f"version {schema}; this comparity reads {SCHEMA}")
        yield state
        state.execute("COMMIT")
    except sqlite3.Error as error:
        raise StateFileError(str(path), str(error)) from error
    finally:
        # What is not committed is undone.
        state.close()


def _keep_choices(state: sqlite3.Connection, path: str | Path, form: ComparativeForm) -> None:
    """Remember the choices of a state; refuse others."""
    left_out = ("state", "judgment", "layout", "better", "worse", "left", "right", "winner")
    chosen = {
        name: json.dumps(as_plain(value))
        for name, value in asdict(form).items()
        if name not in (*left_out, "evaluator", "item", "seed")
    }
    known = dict(state.execute("SELECT name, value FROM choice").fetchall())
    for name, value in chosen.items():
        if known and known.get(name) != value:
            raise StateChangedError(str(path), name, str(known.get(name)), value)
    if not known:
        state.executemany("INSERT INTO choice VALUES (?, ?)", chosen.items())


def _keep_items(
    state: sqlite3.Connection, path: str | Path, items: str | Path, form: ComparativeForm
) -> None:
    """Add items that are new; refuse others whose score or groups have changed."""
    columns = collect_columns(open_frame(read_table(items), "items")[0].lazy())
    ids = [text_of(one) for one in columns[form.item].tolist()]
    scores = columns[form.score].astype(np.float64).tolist()
    named = zip(*(columns[name].tolist() for name in form.sensitive), strict=True)
    groups = [json.dumps([text_of(one) for one in row]) for row in named]
    rows = list(zip(ids, scores, groups, strict=True))
    state.execute("CREATE TEMP TABLE given (id TEXT PRIMARY KEY, score REAL, groups TEXT)")
    state.executemany("INSERT INTO given VALUES (?, ?, ?)", rows)
    changed = state.execute(
        "SELECT id, item.score, item.groups, given.score, given.groups FROM item JOIN given "
        "USING (id) WHERE item.score <> given.score OR item.groups <> given.groups LIMIT 1"
    ).fetchone()
    if changed is not None:
        name, *values = changed
        raise StateChangedError(str(path), f"item {name}", str(values[:2]), str(values[2:]))
    state.execute(
        "INSERT INTO item (id, score, groups) SELECT id, score, groups FROM given "
        "WHERE id NOT IN (SELECT id FROM item) ORDER BY given.rowid"
    )


def _add(state: sqlite3.Connection, comparisons: Columns) -> int:
    """Add judgments that are new, in their order, and return how many there are."""
    before = _number(state)
    sides = [[text_of(one) for one in comparisons[side].tolist()] for side in ("better", "worse")]
    tied = comparisons["tied"].astype(bool).tolist()
    judges: list[str | None] = [None] * len(tied)
    if "evaluator" in comparisons:
        judges = [text_of(one) for one in comparisons["evaluator"].tolist()]
        names = [(one,) for one in dict.fromkeys(judges)]
        state.executemany("INSERT OR IGNORE INTO evaluator (name) VALUES (?)", names)
    given = comparisons["mark"].tolist() if "mark" in comparisons else None
    rows = zip(*sides, judges, tied, strict=True)
    marks = _marks(rows) if given is None else (_hash("id", text_of(one)) for one in given)
    state.executemany(
        "INSERT OR IGNORE INTO judgment (mark, better, worse, evaluator, tied) VALUES (?, "
        "(SELECT code FROM item WHERE id = ?), (SELECT code FROM item WHERE id = ?), "
        "(SELECT code FROM evaluator WHERE name = ?), ?)",
        zip(marks, *sides, judges, tied, strict=True),
    )
    return _number(state) - before


def _marks(rows: Iterator[tuple[Any, ...]]) -> Iterator[int]:
    """Return what rows are known by: what is in them, and for the how-manieth time in this file."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        seen[row] += 1
        yield _hash("row", *map(str, row), str(seen[row]))


def _hash(*words: str) -> int:
    """Return 64 bits of a hash: of a million judgments two collide with probability 3e-8."""
    text = json.dumps(words).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)


def _number(state: sqlite3.Connection) -> int:
    return int(state.execute("SELECT coalesce(max(place), 0) FROM judgment").fetchone()[0])


def _read(state: sqlite3.Connection, form: ComparativeForm) -> Kept:
    query = "SELECT better, worse, tied, evaluator FROM judgment ORDER BY place"
    rows = state.execute(query).fetchall()
    better, worse, tied, judge = zip(*rows, strict=True)
    items = state.execute("SELECT score, groups FROM item ORDER BY code").fetchall()
    names = dict(state.execute("SELECT code, name FROM evaluator").fetchall())
    groups = np.array([json.loads(one) for _, one in items], dtype=object)
    known = [names[code] for code in judge] if judge[0] is not None else None
    return Kept(
        pairs=np.column_stack([better, worse]).astype(np.int64) - 1,
        evaluator=None if known is None else np.array(known, dtype=object),
        tied=np.array(tied, dtype=bool),
        scores=np.array([score for score, _ in items], dtype=np.float64),
        groups={name: groups[:, place] for place, name in enumerate(form.sensitive)},
    )


def _looks_between(before: int, n: int) -> list[int]:
    """Return after how many judgments a large update is looked at on the way."""
    if n > MOST_REPLAYED:
        return []
    steps = np.linspace(before, n, MOST_LOOKS + 1)[1:-1].astype(int)
    return sorted({int(at) for at in steps if before < at < n})


def _keep_look(state: sqlite3.Connection, n: int, audit: Audit) -> None:
    look = Look(
        n=n,
        finding=audit.finding,
        nulls=tuple(test.null for test in audit.tests),
        gaps=tuple(test.gap for test in audit.tests),
        intervals=tuple(test.deciding_interval for test in audit.tests),
    )
    state.execute("INSERT OR REPLACE INTO look VALUES (?, ?)", (n, json.dumps(as_plain(look))))
