"""Tables of a state: judgments in the order of their arrival, and what clusters of them hold.

A new judgment is written down, and added to what its items, its pair and its evaluator hold. Only
the clusters that it belongs to are read and written, so that an update takes time in proportion to
its own judgments (:mod:`comparity.counts.running_moments`).

A row of ``item_sum``, ``evaluator_sum`` or ``evaluator_item_sum`` says how many judgments of one
kind a cluster holds; cluster and kind are one number, which SQLite stores in a few bytes.
``pair`` says how often an evaluator judged a pair one way. That is also how rows without an id are
known again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.comparative.state_rows import ITEM_BITS, LOW_FIRST, LOW_TIED, CodedJudgments
from comparity.counts.ledger import Attribute, attributes_of, compare_values
from comparity.counts.running_moments import (
    MATRICES,
    MOST_KINDS,
    JudgmentKind,
    RunningMoments,
    RunningPairs,
)

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

TABLES = """
CREATE TABLE choice (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE item (code INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, score REAL, profile INTEGER);
CREATE TABLE profile (code INTEGER PRIMARY KEY, groups TEXT NOT NULL UNIQUE);
CREATE TABLE evaluator (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE judgment (place INTEGER PRIMARY KEY, better INTEGER NOT NULL, worse INTEGER NOT NULL,
    evaluator INTEGER NOT NULL, tied INTEGER NOT NULL);
CREATE TABLE mark (mark INTEGER PRIMARY KEY);
CREATE TABLE pair (low INTEGER, high INTEGER, evaluator INTEGER, outcome INTEGER,
    n INTEGER NOT NULL, PRIMARY KEY (low, high, evaluator, outcome)) WITHOUT ROWID;
CREATE TABLE item_sum (key INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE TABLE evaluator_sum (key INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE TABLE evaluator_item_sum (key INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE TABLE total (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE look (place INTEGER PRIMARY KEY, n INTEGER NOT NULL UNIQUE, decided INTEGER NOT NULL,
    content TEXT NOT NULL);
CREATE INDEX first_decided ON look (n) WHERE decided;
"""

MOST_NUMBERS = 2_000_000
"""Judgments times kinds of them that are added together."""

ARRAYS = ("judgments", "cubes", *MATRICES, "triples")


@dataclass(frozen=True)
class CodedItems:
    """Some items of a state: codes in increasing order, scores, and profiles from 0 on."""

    code: Codes
    score: Floats
    profile: Codes

    def places(self, codes: Codes) -> Codes:
        """Return the positions of codes."""
        return np.searchsorted(self.code, codes)


def read_items(state: sqlite3.Connection, codes: Codes) -> CodedItems:
    """Return some items by their codes."""
    query = (
        "SELECT code, score, profile FROM json_each(?) AS wanted CROSS JOIN item "
        "ON code = wanted.value"
    )
    wanted = json.dumps(np.unique(codes).tolist())
    code, score, profile = _columns(state.execute(query, (wanted,)).fetchall(), 3)
    return CodedItems(code.astype(np.int64), score, profile.astype(np.int64) - 1)


def _columns(rows: list[tuple[Any, ...]], width: int) -> list[Floats]:
    """Return rows of numbers as columns."""
    return list(np.array(rows, dtype=np.float64).reshape(-1, width).T)


def read_attributes(
    state: sqlite3.Connection, names: tuple[str, ...], *, intersection: bool
) -> dict[str, Attribute]:
    """Return the group of each profile, by attribute."""
    rows = state.execute("SELECT groups FROM profile ORDER BY code").fetchall()
    return _attributes_of_profiles(tuple(one for (one,) in rows), names, intersection)


@lru_cache(maxsize=16)
def _attributes_of_profiles(
    profiles: tuple[str, ...], names: tuple[str, ...], intersection: bool
) -> dict[str, Attribute]:
    """Return the same; profiles of a study stay as they are from look to look."""
    groups = np.array([json.loads(one) for one in profiles], dtype=object)
    columns = {name: groups[:, place] for place, name in enumerate(names)}
    return attributes_of(columns, continuous=False, intersection=intersection)


def read_moments(state: sqlite3.Connection) -> RunningMoments | None:
    """Return the sums over all judgments; nothing where there are too many kinds of them."""
    stored = dict(state.execute("SELECT name, content FROM total").fetchall())
    if not stored:
        return RunningMoments()
    facts = json.loads(stored["facts"])
    if facts is None:
        return None
    kinds = [JudgmentKind(*one) for one in facts.pop("kinds")]
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        flat = np.frombuffer(stored[name], dtype="<f8")
        dimensions = 3 if name == "triples" else 2 if name in MATRICES else 1
        shape = (len(kinds) if len(flat) else 0,) * dimensions
        arrays[name] = flat.reshape(shape)
    ties = {(one, two): n for one, two, n in facts.pop("ties")}
    seen = {tuple(key): n for key, n in facts.pop("seen")}
    return RunningMoments(kinds=kinds, ties=ties, seen=seen, **facts, **arrays)


def write_moments(state: sqlite3.Connection, moments: RunningMoments | None) -> None:
    """Keep the sums over all judgments."""
    if moments is None:
        state.execute("DELETE FROM total")
        state.execute("INSERT INTO total VALUES ('facts', 'null')")
        return
    facts = {one.name: getattr(moments, one.name) for one in fields(RunningMoments)}
    content: dict[str, Any] = {name: facts.pop(name).astype("<f8").tobytes() for name in ARRAYS}
    facts["ties"] = [[*profiles, n] for profiles, n in moments.ties.items()]
    facts["seen"] = [[key, n] for key, n in moments.seen.items()]
    content["facts"] = json.dumps(facts)
    state.executemany("INSERT OR REPLACE INTO total VALUES (?, ?)", content.items())


def add_rows(
    state: sqlite3.Connection,
    rows: CodedJudgments,
    moments: RunningMoments | None,
    attributes: Mapping[str, Attribute],
) -> RunningMoments | None:
    """Write judgments down that are new, and return the sums over all.

    Parameters
    ----------
    state : Connection
    rows : CodedJudgments
    moments : RunningMoments or None
        The sums so far, which are changed; ``None`` where they are not kept.
    attributes : mapping of str to Attribute
        The group of each profile.
    """
    state.executemany(
        "INSERT INTO judgment (better, worse, evaluator, tied) VALUES (?, ?, ?, ?)",
        zip(*(one.tolist() for one in rows.columns), strict=True),
    )
    return count_rows(state, rows, moments, attributes)


def count_rows(
    state: sqlite3.Connection,
    rows: CodedJudgments,
    moments: RunningMoments | None,
    attributes: Mapping[str, Attribute],
    *,
    times: int = 1,
) -> RunningMoments | None:
    """Count judgments, and return the sums over all; the judgments are not written down.

    Parameters
    ----------
    state, rows, moments, attributes
        As in :func:`add_rows`.
    times : {1, -1}
        -1 takes back judgments that were counted.
    """
    if moments is not None:
        items = read_items(state, np.concatenate([rows.better, rows.worse]))
        _add_ties(moments, rows[rows.tied], items, times)
        moments = _add_ordered(state, rows[~rows.tied], moments, items, attributes, times)
    _write_pairs(state, rows, times)
    return moments


def _add_ties(moments: RunningMoments, rows: CodedJudgments, items: CodedItems, times: int) -> None:
    for pair in zip(
        *(items.profile[items.places(side)].tolist() for side in (rows.better, rows.worse)),
        strict=True,
    ):
        both = (min(pair), max(pair))
        moments.ties[both] = moments.ties.get(both, 0) + times
        if not moments.ties[both]:
            del moments.ties[both]


def _add_ordered(
    state: sqlite3.Connection,
    rows: CodedJudgments,
    moments: RunningMoments,
    items: CodedItems,
    attributes: Mapping[str, Attribute],
    times: int,
) -> RunningMoments | None:
    if not len(rows):
        return moments
    kind = _kinds(moments, items, rows.better, rows.worse)
    n_kinds = len(moments.kinds)
    if n_kinds > MOST_KINDS:
        return None
    moments.judgments = moments.judgments + times * np.bincount(kind, minlength=n_kinds)
    both, kinds = np.concatenate([rows.better, rows.worse]), np.tile(kind, 2)
    before, after = _add_sums(state, "item_sum", (both, kinds), n_kinds, times)
    moments.change("items", before, after)
    moments.see_items(before, after, items.profile[items.places(np.unique(both))], attributes)
    if times < 0:
        moments.most_uses = _most_uses(state)
    _add_pairs(state, rows, kind, moments, items, times)
    if rows.evaluator.any():
        before, after = _add_sums(state, "evaluator_sum", (rows.evaluator, kind), n_kinds, times)
        moments.change("evaluators", before, after)
        moments.n_evaluators += int(after.any(axis=1).sum() - before.any(axis=1).sum())
        clusters = (np.tile(rows.evaluator, 2) << ITEM_BITS) + both
        before, after = _add_sums(state, "evaluator_item_sum", (clusters, kinds), n_kinds, times)
        moments.change("evaluator_items", before, after)
    return moments


def _most_uses(state: sqlite3.Connection) -> int:
    """Return how many judgments there are about the item that occurs in most."""
    uses = f"SELECT sum(n) AS uses FROM item_sum GROUP BY key / {MOST_KINDS}"
    return int(state.execute(f"SELECT coalesce(max(uses), 0) FROM ({uses})").fetchone()[0])


def _kinds(moments: RunningMoments, items: CodedItems, better: Codes, worse: Codes) -> Codes:
    """Return the kinds of judged pairs."""
    first, second = items.places(better), items.places(worse)
    order = compare_values(items.score, first, second) + 1
    return moments.code_kinds(items.profile[first], items.profile[second], order)


def _add_sums(
    state: sqlite3.Connection, table: str, new: tuple[Codes, Codes], n_kinds: int, times: int
) -> tuple[Floats, Floats]:
    """Add judgments to what their clusters hold; return what these held, and what they hold."""
    cluster, kind = new
    query = (
        f"SELECT {table}.key, n FROM json_each(?) AS wanted CROSS JOIN {table} "
        f"WHERE {table}.key >= wanted.value AND {table}.key < wanted.value + {MOST_KINDS}"
    )
    wanted = json.dumps((np.unique(cluster) * MOST_KINDS).tolist())
    found = np.array(state.execute(query, (wanted,)).fetchall(), dtype=np.int64).reshape(-1, 2)
    old, old_kind = np.divmod(found[:, 0], MOST_KINDS)
    keys, n = np.unique(cluster * MOST_KINDS + kind, return_counts=True)
    state.executemany(
        f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET n = n + excluded.n",
        zip(keys.tolist(), (times * n).tolist(), strict=True),
    )
    return _before_and_after(new, (old, old_kind, found[:, 1]), n_kinds, times)


def _before_and_after(
    new: tuple[Codes, Codes], old: tuple[Codes, Codes, Codes], n_kinds: int, times: int
) -> tuple[Floats, Floats]:
    """Return what the clusters of new judgments held of every kind, and what they hold.

    Parameters
    ----------
    new : (ndarray, ndarray)
        Cluster and kind of each new judgment.
    old : (ndarray, ndarray, ndarray)
        Clusters, kinds, and how many judgments of this kind the cluster held; other clusters than
        those of new judgments are passed over.
    n_kinds : int
    times : {1, -1}
        Whether judgments are added or taken back.
    """
    clusters, place = np.unique(new[0], return_inverse=True)
    at = np.searchsorted(clusters, old[0])
    kept = at < len(clusters)
    kept[kept] = clusters[at[kept]] == old[0][kept]
    shape, size = (len(clusters), n_kinds), len(clusters) * n_kinds
    held = old[2][kept].astype(np.float64)
    before = np.bincount(at[kept] * n_kinds + old[1][kept], held, size).astype(np.float64)
    added = np.bincount(place.reshape(-1) * n_kinds + new[1], minlength=size).reshape(shape)
    return before.reshape(shape), before.reshape(shape) + times * added


def _add_pairs(
    state: sqlite3.Connection,
    rows: CodedJudgments,
    kind: Codes,
    moments: RunningMoments,
    items: CodedItems,
    times: int,
) -> None:
    """Add judgments to the sums over pairs, and over pairs within evaluators."""
    pairs, place = np.unique(rows.pair, return_inverse=True)
    query = (
        "SELECT low, high, evaluator, outcome, n FROM json_each(?) AS wanted CROSS JOIN pair "
        f"ON low = wanted.value >> {ITEM_BITS} AND high = wanted.value & {2**ITEM_BITS - 1} "
        f"WHERE outcome < {LOW_TIED}"
    )
    wanted = json.dumps(pairs.tolist())
    found = np.array(state.execute(query, (wanted,)).fetchall(), dtype=np.int64).reshape(-1, 5)
    low, high, evaluator, outcome, n = found.T
    better = np.where(outcome == LOW_FIRST, low, high)
    old_kind = _kinds(moments, items, better, low + high - better)
    size = 1 + max(int(rows.evaluator.max(initial=0)), int(evaluator.max(initial=0)))
    new = place.reshape(-1)
    old = np.searchsorted(pairs, (low << ITEM_BITS) + high)
    n_kinds = len(moments.kinds)
    before, after = _before_and_after((new, kind), (old, old_kind, n), n_kinds, times)
    moments.change("pairs", before, after)
    new, old = new * size + rows.evaluator, old * size + evaluator
    if rows.evaluator.any():
        before, after = _before_and_after((new, kind), (old, old_kind, n), n_kinds, times)
        moments.change("evaluator_pairs", before, after)
    new, old = 2 * new + rows.outcome, 2 * old + outcome
    before, after = _before_and_after((new, kind), (old, old_kind, n), n_kinds, times)
    moments.cubes = moments.cubes + (after**3 - before**3).sum(axis=0)


def _write_pairs(state: sqlite3.Connection, rows: CodedJudgments, times: int) -> None:
    columns = (rows.pair, rows.evaluator, rows.outcome)
    alike, n = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    low, high = alike[:, 0] >> ITEM_BITS, alike[:, 0] & (2**ITEM_BITS - 1)
    state.executemany(
        "INSERT INTO pair VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
        zip(
            *(one.tolist() for one in (low, high, alike[:, 1], alike[:, 2], times * n)), strict=True
        ),
    )


def running_pairs(
    state: sqlite3.Connection, moments: RunningMoments, attributes: Mapping[str, Attribute]
) -> dict[str, RunningPairs]:
    """Return what tests see of each attribute; items and evaluators are read where needed."""

    def by_evaluator() -> Floats:
        return _read_sums(state, "evaluator_sum", "SELECT code FROM evaluator ORDER BY name", n)

    def item_cubes(weights: Floats) -> Floats:
        held = _read_sums(state, "item_sum", "SELECT code FROM item ORDER BY code", n)
        found: Floats = ((held @ weights.T) ** 3).sum(axis=0)
        return found

    n = len(moments.kinds)
    return {
        name: RunningPairs(
            moments=moments,
            name=name,
            attribute=attribute,
            by_evaluator=by_evaluator,
            item_cubes=item_cubes,
        )
        for name, attribute in attributes.items()
    }


def _read_sums(state: sqlite3.Connection, table: str, order: str, n_kinds: int) -> Floats:
    """Return what each cluster holds of every kind, without clusters that hold nothing."""
    codes = np.array(state.execute(order).fetchall(), dtype=np.int64).reshape(-1)
    place = np.zeros(int(codes.max(initial=0)) + 1, dtype=np.int64)
    place[codes] = np.arange(len(codes))
    found = np.array(state.execute(f"SELECT key, n FROM {table}").fetchall(), dtype=np.int64)
    cluster, kind = np.divmod(found.reshape(-1, 2)[:, 0], MOST_KINDS)
    held = np.zeros((len(codes), n_kinds))
    held[place[cluster], kind] = found.reshape(-1, 2)[:, 1]
    return held[held.any(axis=1)]
