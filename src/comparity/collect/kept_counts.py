"""Counts that are kept beside a study, and brought up to date by new answers alone.

They are a file of SQLite next to the study's (``study.db.counts``), or a temporary one where the
study is in PostgreSQL. Everything in it follows from the study: a file that is missing, or of
another study, is made again. Sums for tests are those of :mod:`comparity.comparative.state_tables`,
by the study's numbers of items and judges; there are no names.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.database import counts_file, is_postgresql
from comparity.collect.new_judgments import JUDGED, Counted, code_judgments, select_new
from comparity.collect.store import Store
from comparity.comparative.judge import audit_counts
from comparity.comparative.options import ComparativeOptions
from comparity.comparative.state import OpenState
from comparity.comparative.state_tables import (
    MOST_NUMBERS,
    TABLES,
    count_rows,
    read_attributes,
    read_moments,
    write_moments,
)
from comparity.errors import OneGroupError
from comparity.results.audit import Audit

MARK, VERSION = 0x636F756E, 1
"""What says that a file holds counts of ours, and of which kind."""
OWN_TABLES = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE gap (id INTEGER PRIMARY KEY, since REAL NOT NULL);
CREATE TABLE judge_sum (judge INTEGER, what TEXT, n INTEGER NOT NULL,
    PRIMARY KEY (judge, what)) WITHOUT ROWID;
CREATE TABLE judge_time (judge INTEGER, milliseconds INTEGER, n INTEGER NOT NULL,
    PRIMARY KEY (judge, milliseconds)) WITHOUT ROWID;
CREATE TABLE judge_median (judge INTEGER PRIMARY KEY, milliseconds REAL);
CREATE TABLE stratum_sum (kind TEXT, stratum TEXT, n INTEGER NOT NULL,
    PRIMARY KEY (kind, stratum)) WITHOUT ROWID;
CREATE TABLE planned_sum (kind TEXT, stratum TEXT, n INTEGER NOT NULL,
    PRIMARY KEY (kind, stratum)) WITHOUT ROWID;
CREATE TABLE item_use (item INTEGER PRIMARY KEY, n INTEGER NOT NULL);
"""
SECONDS_TO_WAIT_FOR_COUNTS = 30.0
"""Seconds to wait for another process that counts."""
FEWEST_AT_ONCE, MOST_AT_ONCE, LOOKS = 25, 2_000, 60
"""Judgments that are counted at once, few enough for a page to wait for; and so many looks where a
study is counted at first."""
CACHED = 64
"""Megabytes of the file that are held in memory: new judgments are all over it."""
GAP_SECONDS = 120.0
"""How long a number that is missing may still belong to a judgment that is being written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedStudy:
    """What is kept of a study.

    Attributes
    ----------
    counted : int
        Number of the last judgment that was counted.
    is_complete : bool
        Whether all were.
    judges : mapping of int to Counter
        By the number of a judge, how often they answered what: ``left``, ``right``, ``tie``,
        ``skip``, ``rated``, ``undo``; ``passed`` and ``failed`` of attention pairs; and of pairs
        that came back how many there are (``twice``) and were judged alike (``same``).
    milliseconds : mapping of int to float
        Median time of a judge.
    strata, planned : mapping of (str, str) to int
        Judgments by kind and stratum, and pairs that were drawn.
    n_items : int
    uses : mapping of str to int
        How many ``items`` were judged, and how often: the ``least`` and the ``most``.
    audit : Audit or None
        The finding that holds at any moment; None where there is none yet.
    why_not : str
        Why: ``"no score"``, ``"no judgments"``, ``"one group"``, ``"too many kinds"``.
    """

    counted: int
    is_complete: bool
    judges: Mapping[int, Counter[str]]
    milliseconds: Mapping[int, float]
    strata: Mapping[tuple[str, str], int]
    planned: Mapping[tuple[str, str], int]
    n_items: int
    uses: Mapping[str, int]
    audit: Audit | None
    why_not: str = ""


@dataclass
class KeptCounts:
    """The counts of a study, wherever they are kept."""

    store: Store
    _remove: Callable[[], Any] = field(default=lambda: None, repr=False)

    def __post_init__(self) -> None:
        file = counts_file(self.store.address)
        if file is None:
            folder = tempfile.mkdtemp(prefix="comparity-counts-")
            self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            file = Path(folder) / "study.counts"
        self.path = file

    @property
    def options(self) -> ComparativeOptions | None:
        """How the verdict is made; None where nothing is tested."""
        study = self.store.study
        if study.score is None or not study.sensitive or "compare" not in study.tasks:
            return None
        chosen = {name: getattr(study, name) for name in ("alpha", "margin", "hypotheses")}
        return ComparativeOptions(anytime=True, **chosen)

    def update(self, *, budget: float = math.inf) -> CountedStudy:
        """Count what is new, for about `budget` seconds, and return what is known."""
        try:
            return self._update(budget)
        except sqlite3.DatabaseError as error:
            # Another class says that somebody else writes, or that the disk is full.
            if type(error) is not sqlite3.DatabaseError:
                raise
        # What cannot be read is made again.
        self.path.unlink(missing_ok=True)
        return self._update(budget)

    def _update(self, budget: float) -> CountedStudy:
        with self._open() as file, self.store.looking.begin() as study:
            self._make_again_if_needed(file, study)
            _count_pairs(file, study)
            state = _state_of(file, self.options, self.store.study.sensitive)
            end = time.monotonic() + budget
            is_complete, timed = False, set[int]()
            while not is_complete:
                is_complete = self._count_step(file, study, state, timed)
                if time.monotonic() > end:
                    break
            # All times of a judge are read for it, so that it is done once.
            _set_medians(file, timed)
            return _study_counts(file, state, is_complete=is_complete)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one update, which happens as a whole or not at all."""
        with closing(
            sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT_FOR_COUNTS, isolation_level=None)
        ) as file:
            file.execute(f"PRAGMA cache_size = {-1000 * CACHED}")
            file.execute("BEGIN IMMEDIATE")
            yield file
            file.execute("COMMIT")

    def _make_again_if_needed(self, file: sqlite3.Connection, study: sa.Connection) -> None:
        erased = study.execute(
            sa.select(
                sa.func.count(schema.JUDGE.c.erased_at), sa.func.max(schema.JUDGE.c.erased_at)
            )
        ).one()
        of = json.dumps([self.store.study.identity, *erased])
        known = [
            file.execute(f"PRAGMA {one}").fetchone()[0]
            for one in ("application_id", "user_version")
        ]
        if known == [MARK, VERSION]:
            facts = dict(file.execute("SELECT name, value FROM fact").fetchall())
            if facts["of"] == of and int(facts["counted"]) <= _last(study):
                return
        tables = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            file.execute(f'DROP TABLE "{name}"')
        for statement in (TABLES + OWN_TABLES).split(";"):
            file.execute(statement)
        file.execute(f"PRAGMA application_id = {MARK}")
        file.execute(f"PRAGMA user_version = {VERSION}")
        items = sa.select(sa.func.count(schema.ITEM.c.id)).where(schema.ITEM.c.role == "item")
        known = [("of", of), *((name, "0") for name in ("counted", "pairs", "n"))]
        known.append(("items", str(study.execute(items).scalar_one())))
        file.executemany("INSERT INTO fact VALUES (?, ?)", known)
        if self.options is not None:
            _insert_items(file, study, self.store.study.sensitive)

    def _count_step(
        self,
        file: sqlite3.Connection,
        study: sa.Connection,
        state: OpenState | None,
        timed: set[int],
    ) -> bool:
        """Count some judgments, and look; return whether these were the last."""
        counted = _fact(file, "counted")
        gaps = [one for (one,) in file.execute("SELECT id FROM gap")]
        last = _last(study)
        if last <= counted and not gaps:
            return True
        stride = max(last // LOOKS, FEWEST_AT_ONCE)
        end = min(counted + min(stride, MOST_AT_ONCE), last)
        new = select_new(study, self.store.definition, after=counted, end=end, gaps=gaps)
        if is_postgresql(self.store.address):
            _note_gaps(file, {*range(counted + 1, end + 1), *gaps} - new.ids, gaps)
        timed |= _add_sums(file, new.rows)
        if state is not None:
            _add_comparisons(file, state, new.rows)
            if end == last or end // stride > counted // stride:
                _look(state)
        file.execute("UPDATE fact SET value = ? WHERE name = 'counted'", (str(end),))
        return end >= last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Remove the file, if it is a temporary one."""
        self._remove()


def _fact(file: sqlite3.Connection, name: str) -> int:
    return int(file.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()[0])


def _last(study: sa.Connection) -> int:
    return int(study.execute(sa.select(sa.func.max(schema.JUDGMENT.c.id))).scalar() or 0)


def _insert_items(file: sqlite3.Connection, study: sa.Connection, sensitive: Iterable[str]) -> None:
    """Keep scores and groups of the items under their numbers."""
    item = schema.ITEM.c
    query = sa.select(item.id, item.score, item.sensitive).where(item.role == "item")
    names, rows = list(sensitive), []
    profiles: dict[str, int] = {}
    for one in study.execute(query.order_by(item.id)):
        groups = json.loads(one.sensitive)
        profile = json.dumps([groups[name] for name in names])
        rows.append(
            (one.id, str(one.id), one.score, profiles.setdefault(profile, len(profiles) + 1))
        )
    file.executemany("INSERT INTO profile (groups) VALUES (?)", [(one,) for one in profiles])
    file.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)


def _count_pairs(file: sqlite3.Connection, study: sa.Connection) -> None:
    """Count pairs that were drawn since the last time; they are drawn in one transaction."""
    pair, before = schema.PAIR.c, _fact(file, "pairs")
    last = int(study.execute(sa.select(sa.func.max(pair.id))).scalar() or 0)
    if last > before:
        drawn = sa.select(pair.kind, pair.stratum, sa.func.count()).where(
            pair.id > before, pair.id <= last, pair.kind.in_(JUDGED)
        )
        rows = study.execute(drawn.group_by(pair.kind, pair.stratum)).all()
        _upsert(file, "planned_sum", 2, [tuple(one) for one in rows])
        file.execute("UPDATE fact SET value = ? WHERE name = 'pairs'", (str(last),))


def _state_of(
    file: sqlite3.Connection, options: ComparativeOptions | None, sensitive: tuple[str, ...]
) -> OpenState | None:
    if options is None:
        return None
    attributes = read_attributes(file, sensitive, intersection=False)
    n = _fact(file, "n")
    return OpenState(file, "", options, sensitive, read_moments(file), attributes, n)


def _note_gaps(file: sqlite3.Connection, missing: set[int], known: Iterable[int]) -> None:
    """Remember numbers that a judgment may still get whose transaction began before others."""
    now = time.time()
    file.executemany("DELETE FROM gap WHERE id = ?", [(one,) for one in {*known} - missing])
    file.executemany("INSERT OR IGNORE INTO gap VALUES (?, ?)", [(one, now) for one in missing])
    file.execute("DELETE FROM gap WHERE abs(? - since) > ?", (now, GAP_SECONDS))


def _add_sums(file: sqlite3.Connection, rows: Iterable[Counted]) -> set[int]:
    """Add answers to the sums of judges, strata, items and times; return who has new times."""
    judges, times, strata, uses = (Counter[Any]() for _ in range(4))
    for one in rows:
        for what in one.whats:
            judges[one.judge, what] += one.times
        if one.is_judged and one.milliseconds is not None:
            times[one.judge, one.milliseconds] += one.times
        if one.is_judged and one.outcome != "skip":
            strata[one.kind, one.stratum] += one.times
            for item in {one.left, one.right}:
                uses[item] += one.times
    for table, sums in (("judge_sum", judges), ("judge_time", times), ("stratum_sum", strata)):
        _upsert(file, table, 2, [(*key, n) for key, n in sums.items() if n])
    _upsert(file, "item_use", 1, [(item, n) for item, n in uses.items() if n])
    return {judge for judge, _ in times}


def _upsert(file: sqlite3.Connection, table: str, keys: int, rows: list[tuple[Any, ...]]) -> None:
    places = ", ".join("?" * (keys + 1))
    file.executemany(
        f"INSERT INTO {table} VALUES ({places}) ON CONFLICT DO UPDATE SET n = n + excluded.n", rows
    )


def _set_medians(file: sqlite3.Connection, judges: Iterable[int]) -> None:
    query = "SELECT milliseconds, n FROM judge_time WHERE judge = ? AND n > 0 ORDER BY milliseconds"
    for judge in judges:
        found = np.array(file.execute(query, (judge,)).fetchall(), dtype=np.int64).reshape(-1, 2)
        middle = None
        if len(found):
            ends = np.cumsum(found[:, 1])
            places = np.array([(ends[-1] - 1) // 2, ends[-1] // 2])
            middle = float(found[np.searchsorted(ends, places, side="right"), 0].mean())
        file.execute("INSERT OR REPLACE INTO judge_median VALUES (?, ?)", (judge, middle))


def _add_comparisons(file: sqlite3.Connection, state: OpenState, rows: Iterable[Counted]) -> None:
    """Add judgments of pairs that were drawn without regard to answers."""
    tested = [one for one in rows if one.is_tested]
    known = [(one, str(one)) for one in {one.judge for one in tested}]
    file.executemany("INSERT OR IGNORE INTO evaluator VALUES (?, ?)", known)
    for times in (1, -1):
        coded = code_judgments([one for one in tested if one.times == times])
        step = MOST_NUMBERS // max(100, len(state.moments.kinds) if state.moments else 0)
        for start in range(0, len(coded), step):
            part = coded[start : start + step]
            state.moments = count_rows(file, part, state.moments, state.attributes, times=times)
        state.n += times * len(coded)
    if tested:
        write_moments(file, state.moments)
        file.execute("UPDATE fact SET value = ? WHERE name = 'n'", (str(state.n),))


def _look(state: OpenState) -> None:
    if state.moments is not None and state.moments.n:
        # The first judgments may all be of one group.
        with suppress(OneGroupError):
            state.look()


def _study_counts(
    file: sqlite3.Connection, state: OpenState | None, *, is_complete: bool
) -> CountedStudy:
    judges: dict[int, Counter[str]] = defaultdict(Counter)
    for judge, what, n in file.execute("SELECT judge, what, n FROM judge_sum WHERE n > 0"):
        judges[judge][what] = n
    times = file.execute("SELECT * FROM judge_median WHERE milliseconds IS NOT NULL").fetchall()
    strata, planned = (
        {(kind, stratum): n for kind, stratum, n in file.execute(f"SELECT * FROM {table}")}
        for table in ("stratum_sum", "planned_sum")
    )
    uses = file.execute(
        "SELECT count(*), coalesce(min(n), 0), coalesce(max(n), 0) FROM item_use WHERE n > 0"
    ).fetchone()
    audit, why_not = _audit(state)
    return CountedStudy(
        counted=_fact(file, "counted"),
        is_complete=is_complete,
        judges=dict(judges),
        milliseconds=dict(times),
        strata=strata,
        planned=planned,
        n_items=_fact(file, "items"),
        uses=dict(zip(("items", "least", "most"), uses, strict=True)),
        audit=audit,
        why_not=why_not,
    )


def _audit(state: OpenState | None) -> tuple[Audit | None, str]:
    """Return the audit of all that was counted with its history, or why there is none."""
    if state is None:
        return None, "no score"
    if state.moments is None:
        return None, "too many kinds"
    if not state.moments.n:
        return None, "no judgments"
    try:
        audit = audit_counts(state.counts(), state.options, evaluators_known=True)
    except OneGroupError:
        return None, "one group"
    history, stopped_at = state.history()
    return replace(audit, history=history, stopped_at=stopped_at), ""
