"""What whoever runs a study does: set it up, add judges, draw pairs, close, erase."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.database import inserted_id, migrate, owner_engine
from comparity.collect.items import Items
from comparity.collect.judge import Task, new_public_id, new_token
from comparity.collect.pairing import (
    PlannedPair,
    draw_booklets,
    draw_ratings,
    judges_of,
    wave_sizes,
)
from comparity.collect.participation import SURVEYED, add_token, enrol
from comparity.collect.study import HIGH, LOW, KnownPair, StudyDescription
from comparity.errors import NoSuchJudgeError
from comparity.tables.outputs import replace_file

ITEM_ROLE = "item"


def insert_study(
    connection: sa.Connection, study: StudyDescription, items: Items, now: float
) -> None:
    """Keep a new study, its items and the first booklets."""
    study = replace(study, identity=new_public_id())
    values = {"id": 1, "definition": study.to_json(), "created_at": now}
    connection.execute(sa.insert(schema.STUDY), values)
    _insert_items(connection, study, items)
    pictures = [
        {"id": key, "media_type": one.media_type, "data": one.data}
        for key, one in items.pictures.items()
    ]
    if pictures:
        connection.execute(sa.insert(schema.PICTURE), pictures)
    # Practice comes first: pairs of booklets have numbers that no sequence of PostgreSQL knows of.
    for task in study.tasks:
        _insert_practice(connection, study, task)
    for task in study.tasks:
        draw_wave(connection, study, task, now)


def select_study(connection: sa.Connection) -> StudyDescription:
    """Return the study."""
    return StudyDescription.from_json(
        connection.execute(sa.select(schema.STUDY.c.definition)).scalar_one()
    )


def _insert_items(connection: sa.Connection, study: StudyDescription, items: Items) -> None:
    """Keep items under random numbers; known pairs are two items each, the better one first."""
    known = [*(("practice", one) for one in study.practice)]
    known += [("attention", one) for one in study.attention]
    rng = _generator(study, "items")
    ids = (rng.permutation(len(items)) + 1).tolist()
    rows = [
        {
            "id": ids[place],
            "role": ITEM_ROLE,
            "name": name,
            "sensitive": json.dumps({key: one[place] for key, one in items.sensitive.items()}),
            "score": None if items.scores is None else items.scores[place],
            "shown": json.dumps(list(items.shown[place])),
        }
        for place, name in enumerate(items.names)
    ]
    number = len(items)
    for role, pair in known:
        for side in ("better", "worse"):
            number += 1
            shown = [getattr(pair, side)[one.name] for one in study.show]
            facts = {"role": role, "name": f"{role} {side}", "sensitive": "{}", "score": None}
            rows.append({"id": number, **facts, "shown": json.dumps(shown)})
    connection.execute(sa.insert(schema.ITEM), rows)


def _known_items(connection: sa.Connection, role: str) -> list[tuple[int, int]]:
    """Return the numbers of known pairs, better item first."""
    query = sa.select(schema.ITEM.c.id).where(schema.ITEM.c.role == role).order_by(schema.ITEM.c.id)
    ids = connection.execute(query).scalars().all()
    return list(zip(ids[::2], ids[1::2], strict=True))


def _insert_practice(connection: sa.Connection, study: StudyDescription, task: Task) -> None:
    """Keep practice pairs; whoever rates practises with one item of each."""
    rng = _generator(study, "practice")
    answers = ["left", "right"] if task == "compare" else [HIGH, LOW]
    pairs = zip(_known_items(connection, "practice"), study.practice, strict=True)
    rows = [
        _known_row(ids, one, schema.PRACTICE, place, None, str(rng.choice(answers)))
        for place, (ids, one) in enumerate(pairs)
    ]
    if rows:
        connection.execute(sa.insert(schema.PAIR), rows)


def _known_row(
    ids: tuple[int, int], pair: KnownPair, kind: str, place: int, booklet: int | None, answer: str
) -> dict[str, Any]:
    better, worse = ids
    shown = {"left": (better, worse), "right": (worse, better)}
    shown |= {HIGH: (better, better), LOW: (worse, worse)}
    return {
        **_row(kind, booklet, place, *shown[answer]),
        "expected": answer,
        "note": pair.note,
    }


def _row(kind: str, booklet: int | None, place: int, left: int, right: int) -> dict[str, Any]:
    low, high = sorted((left, right))
    facts = dict.fromkeys(("repeats", "probability", "expected", "note"))
    return {
        **{"kind": kind, "booklet": booklet, "place": place, "left_item": left},
        **{"right_item": right, "pair_key": f"{low} {high}", "how": "", "stratum": ""},
        **facts,
    }


def draw_wave(connection: sa.Connection, study: StudyDescription, task: Task, now: float) -> bool:
    """Draw the next booklets of a task, if there are any; return whether there were.

    Later waves take the answers so far into account.
    """
    # Only one request draws; the others wait here and find what it drew.
    lock = sa.select(schema.STUDY.c.id).with_for_update()
    connection.execute(lock)
    booklets = schema.BOOKLET
    fresh = sa.select(sa.func.count()).where(
        booklets.c.holder.is_(None), booklets.c.is_finished.is_(False), booklets.c.task == task
    )
    if connection.execute(fresh).scalar_one():
        return True
    last = sa.select(sa.func.max(booklets.c.wave)).where(booklets.c.task == task)
    wave = connection.execute(last).scalar()
    wave = 0 if wave is None else wave + 1
    sizes = wave_sizes(judges_of(study, task), study.waves)
    if wave >= len(sizes):
        return False
    _insert_booklets(connection, study, task, wave, sizes[wave])
    detail = json.dumps({"wave": wave, "task": task})
    event = {"judge": None, "kind": "drawn", "detail": detail, "at": now}
    connection.execute(sa.insert(schema.EVENT), event)
    return True


def _insert_booklets(
    connection: sa.Connection, study: StudyDescription, task: Task, wave: int, n: int
) -> None:
    query = sa.select(schema.ITEM).where(schema.ITEM.c.role == ITEM_ROLE).order_by(schema.ITEM.c.id)
    items = connection.execute(query).all()
    groups = [json.loads(one.sensitive) for one in items]
    place = {one.id: number for number, one in enumerate(items)}
    if task == "rate":
        drawn = draw_ratings(
            study,
            n,
            groups=[" and ".join(one[name] for name in study.sensitive) for one in groups],
            rated={place[one]: times for one, times in _times_drawn(connection).items()},
            rng=_generator(study, "ratings", wave),
        )
    else:
        drawn = draw_booklets(
            study,
            n,
            n_items=len(items),
            sensitive={name: [one[name] for one in groups] for name in study.sensitive},
            scores=None if study.score is None else [one.score for one in items],
            given=[(place[a], place[b]) for a, b in _decided_pairs(connection)],
            rng=_generator(study, "pairs", wave),
        )
    known = _known_items(connection, "attention")
    ids = [one.id for one in items]
    for booklet in drawn:
        facts = {"wave": wave, "task": task, "holder": None, "active_at": None}
        added = connection.execute(sa.insert(schema.BOOKLET), {**facts, "is_finished": False})
        _insert_pairs(connection, study, inserted_id(added), booklet, ids, known)


def _insert_pairs(
    connection: sa.Connection,
    study: StudyDescription,
    booklet: int,
    pairs: Sequence[PlannedPair],
    ids: Sequence[int],
    known: Sequence[tuple[int, int]],
) -> None:
    first = (connection.execute(sa.select(sa.func.max(schema.PAIR.c.id))).scalar() or 0) + 1
    rows = []
    for place, one in enumerate(pairs):
        if one.expected is not None:
            pair = study.attention[one.left]
            row = _known_row(known[one.left], pair, schema.ATTENTION, place, booklet, one.expected)
        else:
            row = _row(one.kind, booklet, place, ids[one.left], ids[one.right])
            row |= {"how": one.how, "stratum": one.stratum, "probability": one.probability}
            row["repeats"] = None if one.repeats is None else first + one.repeats
        # Attention pairs may come several times, each time as a pair of its own.
        key = row["pair_key"] if one.expected is None else f"{row['pair_key']} at {first + place}"
        rows.append({"id": first + place, **row, "pair_key": key})
    connection.execute(sa.insert(schema.PAIR), rows)


def _times_drawn(connection: sa.Connection) -> dict[int, int]:
    """Return how often each item was drawn to be rated."""
    item = schema.PAIR.c.left_item
    query = sa.select(item, sa.func.count()).where(schema.PAIR.c.kind == schema.RATED)
    return {int(row[0]): int(row[1]) for row in connection.execute(query.group_by(item))}


def _decided_pairs(connection: sa.Connection) -> list[tuple[int, int]]:
    """Return the answers that stand and are no ties, better item first."""
    pair, judgment = schema.PAIR.c, schema.JUDGMENT.c
    query = (
        sa.select(pair.left_item, pair.right_item, judgment.outcome)
        .select_from(schema.ANSWER)
        .join(schema.PAIR, pair.id == schema.ANSWER.c.pair)
        .join(schema.JUDGMENT, judgment.id == schema.ANSWER.c.judgment)
        .where(pair.kind == schema.PAIRED, judgment.outcome.in_(["left", "right"]))
        .order_by(judgment.id)
    )
    return [(a, b) if outcome == "left" else (b, a) for a, b, outcome in connection.execute(query)]


def _generator(study: StudyDescription, *purpose: str | int) -> np.random.Generator:
    """Return random numbers of a purpose, which follow from the study's seed if it has one."""
    if study.seed is None:
        return np.random.default_rng()
    words = [one if isinstance(one, int) else sum(one.encode()) for one in purpose]
    return np.random.default_rng([study.seed, *words])


def insert_judges(
    connection: sa.Connection,
    study: StudyDescription,
    n: int,
    expires_at: float | None,
    program: str,
    now: float,
) -> list[tuple[str, str]]:
    """Add judges; return their names and tokens, of which only hashes are kept.

    A judge that is a `program` of that name need not agree to anything, nor show that it
    understood.
    """
    word, external = ("program", {"program": program}) if program else ("judge", {})
    before = connection.execute(sa.select(sa.func.count()).select_from(schema.JUDGE)).scalar_one()
    added = []
    for number in range(before + 1, before + n + 1):
        name, token = f"{word} {number}", new_token()
        values = {"name": name, "external": json.dumps(external), "created_at": now}
        row = connection.execute(sa.insert(schema.JUDGE), {**values, "external_sha256": None})
        judge = inserted_id(row)
        add_token(connection, judge, token, expires_at=expires_at, now=now)
        enrol(connection, study, judge, now)
        if program:
            mine = sa.update(schema.PROGRESS).where(schema.PROGRESS.c.judge == judge)
            connection.execute(mine.values(consented_at=now, passed_at=now))
        added.append((name, token))
    return added


def _judge_id(connection: sa.Connection, name: str) -> int:
    found = connection.execute(sa.select(schema.JUDGE.c.id).where(schema.JUDGE.c.name == name))
    judge = found.scalar()
    if judge is None:
        count = sa.select(sa.func.count()).select_from(schema.JUDGE)
        raise NoSuchJudgeError(name, connection.execute(count).scalar_one())
    return int(judge)


def revoke_judge(connection: sa.Connection, name: str, now: float) -> None:
    """Let the links of a judge lead nowhere."""
    judge = _judge_id(connection, name)
    tokens = schema.TOKEN
    connection.execute(sa.update(tokens).where(tokens.c.judge == judge).values(revoked_at=now))
    log_event(connection, judge, "revoked", now)


def log_event(connection: sa.Connection, judge: int | None, kind: str, now: float) -> None:
    """Log what happened to the study, or to a judge."""
    values = {"judge": judge, "kind": kind, "detail": "{}", "at": now}
    connection.execute(sa.insert(schema.EVENT), values)


def erase_judge(connection: sa.Connection, name: str, keep_judgments: bool, now: float) -> None:
    """Erase what is known of a judge; what was asked of them may be asked of others.

    Without their judgments, only a row that says that somebody was erased stays.
    """
    judge = _judge_id(connection, name)
    tables: tuple[sa.Table, ...] = (schema.EVENT, schema.TOKEN)
    if not keep_judgments:
        tables = (*tables, schema.ANSWER, schema.JUDGMENT, schema.ASSIGNMENT)
        held = schema.BOOKLET.c
        pairs = sa.select(schema.PAIR.c.booklet).join(
            schema.ANSWER, schema.ANSWER.c.pair == schema.PAIR.c.id
        )
        theirs = held.id.in_(pairs.where(schema.ANSWER.c.judge == judge))
        again = sa.update(schema.BOOKLET).where(theirs).values(is_finished=False)
        connection.execute(again)
        zero: dict[str, int | None] = {"booklet": None, "surveyed_at": None}
        zero |= dict.fromkeys(("answered", "practised", "rested", "wanted"), 0)
        progress = schema.PROGRESS
        connection.execute(sa.update(progress).where(progress.c.judge == judge).values(**zero))
    for table in tables:
        gone = sa.delete(table).where(table.c.judge == judge)
        if keep_judgments and table is schema.EVENT:
            gone = gone.where(schema.EVENT.c.kind != SURVEYED)
        connection.execute(gone)
    mine = sa.update(schema.BOOKLET).where(schema.BOOKLET.c.holder == judge)
    connection.execute(mine.values(holder=None, active_at=None))
    nobody = {"external": "{}", "external_sha256": None, "erased_at": now}
    connection.execute(sa.update(schema.JUDGE).where(schema.JUDGE.c.id == judge).values(**nobody))
    log_event(connection, judge, "erased", now)


def erase_expired(connection: sa.Connection, study: StudyDescription, now: float) -> list[str]:
    """Erase what identifies judges who joined longer ago than data are kept; return their names.

    Their judgments stay.
    """
    oldest = now - 86_400.0 * study.retention_days
    query = sa.select(schema.JUDGE.c.name).where(
        schema.JUDGE.c.created_at < oldest, schema.JUDGE.c.erased_at.is_(None)
    )
    names = list(connection.execute(query).scalars())
    for name in names:
        erase_judge(connection, name, keep_judgments=True, now=now)
    return names


def empty_journal(engine: sa.Engine) -> None:
    """Write SQLite's journal into its file and empty it, so that it holds nothing erased."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def copy_study(engine: sa.Engine, target: Path) -> None:
    """Copy a running study into a file that is a study itself.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        With all rights. What is committed while this copies is in the copy wholly or not at all.
    target : Path
        Replaced once the copy is complete.
    """
    with replace_file(target) as part:
        if engine.dialect.name == "sqlite":
            with engine.connect() as source, closing(sqlite3.connect(part)) as copy:
                driver: Any = source.connection.driver_connection
                driver.backup(copy)
        else:
            _copy_rows(engine, part)


def _copy_rows(engine: sa.Engine, part: Path) -> None:
    """Copy all rows, as they were at one moment, into tables of SQLite."""
    copy = owner_engine(str(part))
    migrate(copy)
    steady = engine.connect().execution_options(isolation_level="REPEATABLE READ")
    with steady as source, copy.begin() as target:
        for table in schema.METADATA.sorted_tables:
            key = table.primary_key.columns.values()[0]
            found = source.execute(sa.select(table).order_by(key)).mappings()
            while rows := found.fetchmany(1000):
                target.execute(sa.insert(table), [dict(one) for one in rows])
    empty_journal(copy)
    with copy.connect() as connection:
        connection.connection.execute("PRAGMA journal_mode=DELETE")
    copy.dispose()
