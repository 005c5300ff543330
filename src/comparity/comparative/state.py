"""A state that is kept between updates: judgments counted once, in the order of their arrival.

A state is one file, a database of SQLite: an update is one transaction. Killed at any moment it
leaves the state before or the state after, and of two writers at once one waits for the other.
Judgments are known again by an id, or by what is in their row; who gives a file twice counts it
once. Every update is a look, whose finding and intervals are kept. A look takes the sums that are
kept beside the judgments (:mod:`comparity.comparative.state_tables`), and recounts nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from comparity.comparative.judge import Counted, audit_counts, judge_counts
from comparity.comparative.options import ComparativeForm, ComparativeOptions
from comparity.comparative.state_rows import CodedJudgments, Columns, keep_items, new_rows
from comparity.comparative.state_tables import (
    MOST_NUMBERS,
    TABLES,
    add_rows,
    read_attributes,
    read_moments,
    running_pairs,
    write_moments,
)
from comparity.counts.ledger import Attribute, count_position_pairs
from comparity.counts.running_moments import RunningMoments
from comparity.errors import OneGroupError, StateChangedError, StateFileError
from comparity.results.audit import Audit, JudgedGap, Look
from comparity.results.plain import as_plain, from_plain
from comparity.results.result import UNDECIDED

SCHEMA = 2
"""Version of the tables; another one is refused."""

MARK = 0x636F6D70
"""What says that a database is a state of ours."""

PAGE = 1024
"""Bytes of a page: new judgments are all over the file, and each rewrites whole pages."""

SECONDS_TO_WAIT_FOR_WRITER = 120.0
"""Seconds to wait for another writer."""

MOST_LOOKS, MOST_REPLAYED, MOST_SHOWN = 8, 20_000, 400
"""An update of a file is looked at so often on the way, in studies of up to so many judgments where
all are recounted; so many looks are shown."""

KNOWN_BY, WITH_EVALUATORS = "what judgments are known by", "whether evaluators are given"
"""What is kept beside the choices."""


@dataclass
class OpenState:
    """A state during an update.

    Attributes
    ----------
    file : Connection
    path : str
    options : ComparativeOptions
    sensitive : tuple of str
    moments : RunningMoments or None
        The sums over all judgments; ``None`` where they are not kept.
    attributes : dict of str to Attribute
        The group of each profile of items.
    n : int
        Judgments, tied ones too.
    """

    file: sqlite3.Connection
    path: str
    options: ComparativeOptions
    sensitive: tuple[str, ...]
    moments: RunningMoments | None
    attributes: dict[str, Attribute]
    n: int

    @classmethod
    def of(cls, file: sqlite3.Connection, path: str) -> OpenState:
        """Read what an update needs to know."""
        choices = dict(file.execute("SELECT name, value FROM choice").fetchall())
        if not choices:
            raise StateFileError(path, "nothing yet")
        names = [one.name for one in fields(ComparativeOptions)]
        options = _read_options(tuple((name, choices[name]) for name in names))
        sensitive = tuple(json.loads(choices["sensitive"]))
        attributes, moments = {}, None
        if not options.continuous:
            crossed = options.intersection
            attributes = read_attributes(file, sensitive, intersection=crossed)
            moments = read_moments(file)
        n = file.execute("SELECT coalesce(max(place), 0) FROM judgment").fetchone()[0]
        return cls(file, path, options, sensitive, moments, attributes, n)

    @property
    def evaluators_known(self) -> bool:
        """Whether the judgments say who made them."""
        return self._stored_choice(WITH_EVALUATORS) == "true"

    def _stored_choice(self, name: str) -> str | None:
        found = self.file.execute("SELECT value FROM choice WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def keep(self, name: str, value: str) -> None:
        """Remember a fact about the study; refuse another than the first one."""
        known = self._stored_choice(name)
        if known is not None and known != value:
            raise StateChangedError(self.path, name, known, value)
        if known is None:
            self.file.execute("INSERT INTO choice VALUES (?, ?)", (name, value))

    def only_new(self, comparisons: Columns) -> CodedJudgments:
        """Return the judgments that the state does not hold yet."""
        self.keep(WITH_EVALUATORS, json.dumps("evaluator" in comparisons))
        self.keep(KNOWN_BY, "an id" if "mark" in comparisons else "their rows")
        return new_rows(self.file, comparisons)

    def add(self, rows: CodedJudgments) -> None:
        """Add judgments that are new."""
        step = MOST_NUMBERS // max(100, 0 if self.moments is None else len(self.moments.kinds))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            self.moments = add_rows(self.file, part, self.moments, self.attributes)
        self.n += len(rows)

    def counts(self) -> Mapping[str, Counted]:
        """Return what tests see of the judgments."""
        if self.moments is None:
            return self._recount()
        pairs = running_pairs(self.file, self.moments, self.attributes)
        design = self.options.design
        shared = design == "shared" or (design == "auto" and self.moments.repeats)
        return {name: one if shared else one.fresh_counts() for name, one in pairs.items()}

    def _recount(self) -> Mapping[str, Counted]:
        """Go over all judgments."""
        query = "SELECT better, worse, evaluator, tied FROM judgment ORDER BY place"
        stored = np.array(self.file.execute(query).fetchall(), dtype=np.int64).reshape(-1, 4)
        items = self.file.execute(
            "SELECT score, groups FROM item JOIN profile ON item.profile = profile.code "
            "ORDER BY item.code"
        ).fetchall()
        groups = np.array([json.loads(one) for _, one in items], dtype=object)
        ordered = stored[:, 3] == 0
        names = dict(self.file.execute("SELECT code, name FROM evaluator").fetchall())
        judges = [names[code] for code in stored[ordered, 2].tolist()] if names else None
        return count_position_pairs(
            stored[ordered, :2] - 1,
            scores=np.array([score for score, _ in items], dtype=np.float64),
            sensitive={name: groups[:, place] for place, name in enumerate(self.sensitive)},
            evaluators=None if judges is None else np.array(judges, dtype=object),
            tied_pairs=stored[~ordered, :2] - 1,
            continuous=self.options.continuous,
            intersection=self.options.intersection,
            design=self.options.design,
        )

    def look(self) -> Look:
        """Judge all judgments, and keep what was found."""
        judged, _, finding = judge_counts(self.counts(), self.options)
        return self.keep_look(finding, judged)

    def keep_look(self, finding: str, judged: Sequence[JudgedGap]) -> Look:
        """Keep what was found."""
        look = Look(
            n=self.n,
            finding=finding,
            nulls=tuple(test.null for test in judged),
            gaps=tuple(test.gap for test in judged),
            intervals=tuple(test.deciding_interval for test in judged),
        )
        self.file.execute(
            "INSERT INTO look (n, decided, content) VALUES (?, ?, ?) "
            "ON CONFLICT (n) DO UPDATE SET decided = excluded.decided, content = excluded.content",
            (self.n, finding != UNDECIDED, json.dumps(as_plain(look))),
        )
        return look

    def history(self) -> tuple[tuple[Look, ...], int | None]:
        """Return looks in their order, some of many, and after how many the first one decided."""
        first = self.file.execute("SELECT min(n) FROM look WHERE decided").fetchone()
        number, last = self.file.execute("SELECT count(*), max(n) FROM look").fetchone()
        query = "SELECT content FROM look WHERE place % ? = 0 OR n = ? OR n = ? ORDER BY n"
        asked = (1 + number // MOST_SHOWN, last, first[0])
        looks = (from_plain(Look, json.loads(one)) for (one,) in self.file.execute(query, asked))
        return tuple(looks), first[0]


def audit_with_state(
    path: str | Path,
    comparisons: Columns,
    items: str | Path | None,
    form: ComparativeForm,
    *,
    check: Callable[[Any], object],
) -> Audit:
    """Add comparisons to a state, and audit all that it holds.

    Parameters
    ----------
    path : path
        The state; begun where there is none.
    comparisons : mapping of str to ndarray
        Columns ``better``, ``worse``, ``tied``, and ``evaluator`` and ``mark`` where they are
        known.
    items : path or None
        Scores and groups of the items; ``None`` where the state knows them all.
    form : ComparativeForm
        The choices, which have to be those that the state was begun with.
    check : callable
        Raises an error unless comparisons and a table of items, which it is given, are sound.

    Raises
    ------
    StateFileError
        The file is no state, or one of another version.
    StateChangedError
        A choice, or the score or a group of an item, is not what it was.
    """
    with _open(Path(path)) as file:
        _keep_choices(file, path, form)
        if items is not None:
            keep_items(file, path, Path(items), form, check)
        state = OpenState.of(file, str(path))
        rows = state.only_new(comparisons)
        before, new = state.n, len(rows)
        ends = _looks_between(before, before + new, replayed=state.moments is None)
        for end in ends:
            state.add(rows[state.n - before : end - before])
            # The first rows of a file may all be of one group.
            with suppress(OneGroupError):
                state.look()
        state.add(rows[state.n - before :])
        again = len(comparisons["better"]) - new
        data = {"state": Path(path).name, "new": new, "again": again}
        audit = audit_counts(
            state.counts(),
            state.options,
            evaluators_known=state.evaluators_known,
            score=form.score,
            sensitive=list(form.sensitive),
            **data,
        )
        state.keep_look(audit.finding, audit.tests)
        if not form.continuous:
            write_moments(file, state.moments)
        history, stopped_at = state.history()
    note = f"{new:,} judgments are new in this update"
    known = f"; {again:,} were known already and count once" if again else ""
    notes = (*audit.notes, f"{note}{known}.")
    return replace(audit, history=history, stopped_at=stopped_at, notes=notes)


def add_judgments(
    path: str | Path,
    better: ArrayLike,
    worse: ArrayLike,
    *,
    tied: ArrayLike | None = None,
    evaluators: ArrayLike | None = None,
    ids: ArrayLike | None = None,
) -> Look:
    """Add judgments to a state that was begun, and look at it once.

    The quick way for a program that looks after every few judgments. The whole audit with its
    history is there at the next :func:`comparity.comparative.audit.audit_files`.

    Parameters
    ----------
    path : path
        The state.
    better, worse : array_like of shape (n,)
        Ids of items that the state knows, the better one first.
    tied : array_like of bool, optional
        Whether neither item was put first.
    evaluators, ids : array_like, optional
        Who judged, and ids of the judgments: always or never in one study.

    Returns
    -------
    Look
        The finding over all judgments, with gaps and intervals.
    """
    given = {"better": better, "worse": worse, "tied": tied, "evaluator": evaluators, "mark": ids}
    columns = {name: np.asarray(one) for name, one in given.items() if one is not None}
    columns.setdefault("tied", np.zeros(len(columns["better"]), dtype=bool))
    with _open(Path(path)) as file:
        state = OpenState.of(file, str(path))
        state.add(state.only_new(columns))
        look = state.look()
        if not state.options.continuous:
            write_moments(file, state.moments)
    return look


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a state for one update, which happens as a whole or not at all."""
    try:
        state = sqlite3.connect(path, timeout=SECONDS_TO_WAIT_FOR_WRITER, isolation_level=None)
    except sqlite3.Error as error:
        raise StateFileError(str(path), str(error)) from error
    try:
        state.execute("PRAGMA synchronous = FULL")
        state.execute(f"PRAGMA page_size = {PAGE}")
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


@lru_cache(maxsize=16)
def _read_options(choices: tuple[tuple[str, str], ...]) -> ComparativeOptions:
    """Return choices as they were written down; those of a study stay from look to look."""
    known = {name: json.loads(value) for name, value in choices}
    lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
    return ComparativeOptions(**{**known, **lists})


def _keep_choices(state: sqlite3.Connection, path: str | Path, form: ComparativeForm) -> None:
    """Remember the choices of a state; refuse others."""
    left_out = ("state", "judgment", "layout", "better", "worse", "left", "right", "winner")
    chosen = {
        name: json.dumps(as_plain(value))
        for name, value in asdict(form).items()
        if name not in (*left_out, "evaluator", "item")
    }
    known = dict(state.execute("SELECT name, value FROM choice").fetchall())
    for name, value in chosen.items():
        if known and name != "seed" and known.get(name) != value:
            raise StateChangedError(str(path), name, str(known.get(name)), value)
    if not known:
        state.executemany("INSERT INTO choice VALUES (?, ?)", chosen.items())


def _looks_between(before: int, n: int, *, replayed: bool) -> list[int]:
    """Return after how many judgments a large update is looked at on the way."""
    if replayed and n > MOST_REPLAYED:
        return []
    steps = np.linspace(before, n, MOST_LOOKS + 1)[1:-1].astype(int)
    return sorted({int(at) for at in steps if before < at < n})
