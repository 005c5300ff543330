"""Whoever runs a study: their password, their sessions, and when judges may go on.

A password is kept as a hash by argon2id, a session as the SHA-256 of its token. To check a password
takes as long where none is set as where a wrong one is given.
"""

from __future__ import annotations

import threading
from functools import cache

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from comparity.collect import schema
from comparity.collect.judge import new_token, token_sha256
from comparity.collect.upkeep import log_event
from comparity.errors import OptionError

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
    """Say whether there is a password, and so a dashboard."""
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
    """Say whether a token is that of a session that has not ended."""
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
