"""What whoever runs a study does: pause and close it, add and erase judges, copy it, log in.

A password is kept as a hash by argon2id, a session as the SHA-256 of its token. To check a password
takes as long where none is set as where a wrong one is given.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from comparity.collect import schema
from comparity.collect.database import inserted_id, migrate, owner_engine
from comparity.collect.joined_judge import new_token, token_sha256
from comparity.collect.participation import SURVEYED, add_token, enrol
from comparity.collect.study import StudyDescription
from comparity.errors import NoSuchJudgeError, OptionError
from comparity.tables.outputs import replace_file

SESSION_SECONDS = 12 * 3600.0
"""How long somebody stays logged in."""
SHORTEST, LONGEST = 10, 1000
"""Characters of a password."""
_HASHER = PasswordHasher()
# A check takes 64 MiB, so that one is made at a time.
_ONE_AT_A_TIME = threading.Lock()


def close_study(connection: sa.Connection, now: float, kind: str = "closed") -> None:
    """Take no more judgments; a study that is closed stays closed as of then."""
    open_ = schema.STUDY.c.closed_at.is_(None)
    changed = connection.execute(sa.update(schema.STUDY).where(open_).values(closed_at=now))
    if changed.rowcount:
        log_event(connection, None, kind, now)


def reopen_study(connection: sa.Connection, now: float) -> None:
    """Take judgments again."""
    shut = schema.STUDY.c.closed_at.is_not(None)
    changed = connection.execute(sa.update(schema.STUDY).where(shut).values(closed_at=None))
    if changed.rowcount:
        log_event(connection, None, "reopened", now)


def pause_study(connection: sa.Connection, now: float) -> None:
    """Show no more pairs for a while; answers to pairs that are shown are still kept."""
    runs = schema.STUDY.c.paused_at.is_(None)
    changed = connection.execute(sa.update(schema.STUDY).where(runs).values(paused_at=now))
    if changed.rowcount:
        log_event(connection, None, "paused", now)


def resume_study(connection: sa.Connection, now: float) -> None:
    """Go on after a pause."""
    rests = schema.STUDY.c.paused_at.is_not(None)
    changed = connection.execute(sa.update(schema.STUDY).where(rests).values(paused_at=None))
    if changed.rowcount:
        log_event(connection, None, "resumed", now)


def set_password(connection: sa.Connection, password: str | None, now: float) -> None:
    """Keep the hash of a password, or none; whoever is logged in has to log in again.

    Raises
    ------
    OptionError
        It is too short or too long.
    """
    if password is not None and not SHORTEST <= len(password) <= LONGEST:
        allowed = [f"{SHORTEST} to {LONGEST:,} characters"]
        raise OptionError("password", f"{len(password)} characters", allowed)
    kept = None if password is None else _HASHER.hash(password)
    connection.execute(sa.update(schema.STUDY).values(password=kept))
    connection.execute(sa.delete(schema.SESSION))
    log_event(connection, None, "password", now)


def select_password(connection: sa.Connection) -> str | None:
    """Return the hash of the password; None where there is none."""
    found: str | None = connection.execute(sa.select(schema.STUDY.c.password)).scalar_one()
    return found


def has_password(connection: sa.Connection) -> bool:
    """Return whether there is a password, and so a dashboard."""
    return select_password(connection) is not None


@cache
def _nobodys_hash() -> str:
    """Return the hash of a password that nobody knows."""
    return _HASHER.hash(new_token())


def is_password(kept: str | None, given: str) -> bool:
    """Compare a password with what is kept; where nothing is, as much work is done."""
    with _ONE_AT_A_TIME:
        try:
            _HASHER.verify(kept or _nobodys_hash(), given[:LONGEST])
        except (VerificationError, InvalidHashError):
            return False
    return kept is not None


def begin_session(connection: sa.Connection, now: float) -> str:
    """Let somebody in; return the token of a new session, of which only a hash is kept."""
    over = schema.SESSION.c.expires_at <= now
    connection.execute(sa.delete(schema.SESSION).where(over))
    token = new_token()
    times = {"created_at": now, "expires_at": now + SESSION_SECONDS}
    connection.execute(sa.insert(schema.SESSION), {"sha256": token_sha256(token), **times})
    log_event(connection, None, "logged in", now)
    return token


def is_session(connection: sa.Connection, token: str, now: float) -> bool:
    """Return whether a token is that of a session that has not ended."""
    known = sa.select(schema.SESSION.c.sha256).where(
        schema.SESSION.c.sha256 == token_sha256(token),
        schema.SESSION.c.created_at <= now,
        schema.SESSION.c.expires_at > now,
    )
    return connection.execute(known).first() is not None


def end_session(connection: sa.Connection, token: str) -> None:
    """Log somebody out."""
    mine = schema.SESSION.c.sha256 == token_sha256(token)
    connection.execute(sa.delete(schema.SESSION).where(mine))


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
