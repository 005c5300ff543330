"""Connections to a study's database, with all rights or those of judges' requests, and who writes.

SQLite lets one connection write at a time, and a commit waits for the disk. So one thread writes a
study kept in SQLite: requests that arrive while a commit is under way are run one after the other,
each in a savepoint of its own, and share the next commit. Nobody is answered before the commit that
holds their rows has returned.
"""

from __future__ import annotations

import queue
import re
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool, QueuePool

from comparity.collect.schema import ADDS, KEYS, LOGS, REMOVES, VERSION, VIEWS, WRITES, view_sql
from comparity.errors import JudgeAccessError, StudyVersionError
from comparity.errors.requirements import check_requirements

BUSY_SECONDS = 30
"""How long a connection waits for another process that writes."""
READERS = 8
"""Connections of judges' requests that only read."""
POOL = 20
"""Connections to PostgreSQL."""
ROLE = "comparity_judge"
SCHEMES = re.compile(r"postgres(ql)?(\+psycopg)?://")


def is_postgresql(address: str) -> bool:
    """Return whether an address is of PostgreSQL; all others are files.

    Examples
    --------
    >>> is_postgresql("postgresql://localhost/study"), is_postgresql("study.db")
    (True, False)
    """
    return SCHEMES.match(address) is not None


def hide_password(address: str) -> str:
    """Return an address as it may be shown.

    Examples
    --------
    >>> hide_password("postgresql://ann:secret@localhost/study")
    'postgresql://ann:***@localhost/study'
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)


def owner_engine(address: str, *, writes: bool = True) -> sa.Engine:
    """Return an engine with all rights; one that only reads keeps no writer waiting."""
    if is_postgresql(address):
        return _postgresql(address, judges=False)
    return _sqlite(address, authorize=None, writes=writes, poolclass=NullPool)


def judge_engine(address: str, *, writes: bool = True) -> sa.Engine:
    """Return an engine with the rights of judges' requests."""
    if is_postgresql(address):
        return _postgresql(address, judges=True)
    return _sqlite(
        address,
        authorize=authorize_judges if writes else authorize_readers,
        writes=writes,
        poolclass=QueuePool,
        pool_size=READERS,
        max_overflow=READERS,
    )


def _sqlite(
    path: str, *, authorize: Callable[..., int] | None, writes: bool, **pool: Any
) -> sa.Engine:
    url = sa.URL.create("sqlite+pysqlite", database=path)
    engine = sa.create_engine(
        url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, **pool
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        # We begin and commit ourselves; the driver would begin too late.
        connection.isolation_level = None
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if authorize is not None:
            connection.set_authorizer(authorize)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # Whoever reads first and writes later would fail where another process wrote between.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


PRAGMAS = (
    "journal_mode=WAL",
    # A commit is on the disk when it returns, also where the machine loses power.
    "synchronous=FULL",
    "foreign_keys=ON",
    # What is erased is overwritten.
    "secure_delete=ON",
)

_READ = {*((name, one.name) for name, query in VIEWS.items() for one in query.selected_columns)}
_KEYS = {(table, column) for table, columns in KEYS.items() for column in columns}
_WRITE = {(table, column) for table, columns in WRITES.items() for column in columns}
_FREE = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION, 32, 33}
"""Actions that read nothing: 32 is a savepoint, 33 a query that calls itself."""
_FUNCTIONS = {"count", "coalesce", "max", "min", "abs", "sum"}


def authorize_readers(
    action: int, first: str | None, second: str | None, _: str | None, through: str | None
) -> int:
    """Let SQLite run a statement that only reads if it is one of judges' requests.

    SQLite asks for every table, column and function of a statement when it is prepared, and names
    the view through which a column is reached.
    """
    if action == sqlite3.SQLITE_READ:
        allowed = through in VIEWS or (first, second) in _READ or (first, second) in _KEYS
        # A statement that only counts rows reads no column.
        allowed = allowed or (second == "" and first in VIEWS)
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = second in _FUNCTIONS
    else:
        allowed = action in _FREE
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def authorize_judges(
    action: int, first: str | None, second: str | None, where: str | None, through: str | None
) -> int:
    """Let SQLite run a statement if judges' requests may make it."""
    if action == sqlite3.SQLITE_INSERT and first in ADDS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and (first, second) in _WRITE:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_DELETE and first in REMOVES:
        return sqlite3.SQLITE_OK
    return authorize_readers(action, first, second, where, through)


def _postgresql(address: str, *, judges: bool) -> sa.Engine:
    check_requirements("postgres")
    url = sa.make_url(SCHEMES.sub("postgresql+psycopg://", address, count=1))
    engine = sa.create_engine(url, pool_size=POOL, max_overflow=POOL, pool_pre_ping=True)
    if judges:

        @sa.event.listens_for(engine, "connect")
        def take_role(connection: Any, _: object) -> None:
            connection.execute(f"SET ROLE {ROLE}")
            connection.commit()

    return engine


def grant_statements() -> list[str]:
    """Return what gives the role of judges' requests its rights in PostgreSQL, and no others."""
    return [
        *(f"GRANT SELECT ON {name} TO {ROLE}" for name in VIEWS),
        *(f"GRANT INSERT ON {name} TO {ROLE}" for name in ADDS),
        *(f"GRANT DELETE ON {name} TO {ROLE}" for name in REMOVES),
        *(
            f"GRANT UPDATE ({', '.join(names)}) ON {table} TO {ROLE}"
            for table, names in WRITES.items()
        ),
        *(
            f"GRANT SELECT ({', '.join(names)}) ON {table} TO {ROLE}"
            for table, names in KEYS.items()
        ),
        *(
            f"GRANT USAGE ON SEQUENCE {table}_id_seq TO {ROLE}"
            for table in ("judge", "assignment", "judgment", "event")
        ),
    ]


def migrate(engine: sa.Engine) -> None:
    """Bring the tables of a study to this version; views and rights are made again.

    A study that is there keeps its rows.
    """
    from comparity.collect.migrations import upgrade_tables

    with engine.begin() as connection:
        for name in reversed(VIEWS):
            connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
        upgrade_tables(connection)
        for name in VIEWS:
            connection.exec_driver_sql(view_sql(name, connection.dialect))
        guards = _postgresql_guards() if is_server(engine) else _sqlite_guards()
        for statement in guards:
            connection.exec_driver_sql(statement)
        if is_server(engine):
            _make_role(connection)


def select_version(engine: sa.Engine, address: str) -> str:
    """Return the version of a study's tables.

    Raises
    ------
    StudyVersionError
        It is later than any that is known.
    """
    with engine.connect() as connection:
        found = str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar())
    if found > VERSION:
        raise StudyVersionError(hide_password(address), found, [VERSION])
    return found


def is_server(engine: sa.Engine) -> bool:
    """Return whether this is PostgreSQL."""
    return engine.dialect.name == "postgresql"


def _sqlite_guards() -> list[str]:
    return [
        f"CREATE TRIGGER IF NOT EXISTS {table.name}_is_a_log BEFORE UPDATE ON {table.name} "
        f"BEGIN SELECT RAISE(ABORT, '{table.name} is a log'); END"
        for table in LOGS
    ]


def _postgresql_guards() -> list[str]:
    refuse = (
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '%% is a log', TG_TABLE_NAME; END $$"
    )
    return [
        refuse,
        *(
            f"CREATE OR REPLACE TRIGGER {table.name}_is_a_log BEFORE UPDATE ON {table.name} "
            "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
            for table in LOGS
        ),
    ]


def _make_role(connection: sa.Connection) -> None:
    known = connection.execute(
        sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": ROLE}
    )
    try:
        if known.first() is None:
            connection.exec_driver_sql(f"CREATE ROLE {ROLE} NOLOGIN")
        connection.exec_driver_sql(f"GRANT {ROLE} TO CURRENT_USER")
        for statement in grant_statements():
            connection.exec_driver_sql(statement)
    except sa.exc.ProgrammingError as error:
        raise JudgeAccessError(ROLE, str(error.orig)) from error


def inserted_id(result: sa.CursorResult[Any]) -> int:
    """Return the number of the row that was added."""
    assert result.inserted_primary_key is not None
    return int(result.inserted_primary_key[0])


def study_file(address: str) -> Path | None:
    """Return the file of a study, or None where it is in PostgreSQL."""
    return None if is_postgresql(address) else Path(address)


def counts_file(address: str) -> Path | None:
    """Return where the counts of a study in a file are kept; None for one in PostgreSQL.

    Examples
    --------
    >>> counts_file("study.db").name
    'study.db.counts'
    """
    file = study_file(address)
    return None if file is None else file.with_name(f"{file.name}.counts")


MOST_AT_ONCE = 256
"""Requests that share a commit, so that the first of them does not wait for long."""

Job = Callable[[sa.Connection], Any]


@dataclass(frozen=True, slots=True)
class _WriteRequest:
    job: Job
    future: Future[Any]


class GroupWriter:
    """A thread that runs what is submitted to it in transactions, several in each.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Of SQLite.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[_WriteRequest | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="comparity writer", daemon=True)
        self._thread.start()

    def run(self, job: Job) -> Any:
        """Run a job in a transaction and return what it returns, after the commit."""
        future: Future[Any] = Future()
        self._waiting.put(_WriteRequest(job, future))
        return future.result()

    def stop(self) -> None:
        """Write what was submitted, and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        batch = self._next_batch()
        while batch:
            with self._engine.connect() as connection:
                while batch and _run_batch(connection, batch):
                    batch = self._next_batch()
                if batch:
                    # What a failed commit has left behind goes with its connection.
                    connection.invalidate()
                    batch = self._next_batch()

    def _next_batch(self) -> list[_WriteRequest]:
        """Wait for a request, and return it with all that wait already; nothing at the end."""
        first = self._waiting.get()
        batch = [] if first is None else [first]
        while first is not None and len(batch) < MOST_AT_ONCE:
            try:
                following = self._waiting.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._waiting.put(None)
                break
            batch.append(following)
        return batch


def _run_batch(connection: sa.Connection, batch: list[_WriteRequest]) -> bool:
    """Run requests in one transaction; tell each its answer once all are on the disk.

    Return whether they are.
    """
    done: list[tuple[Future[Any], Any]] = []
    try:
        with connection.begin():
            for request in batch:
                _run_one(connection, request, done)
    # The disk is full, say: nobody's rows were kept.
    except Exception as error:
        for request in batch:
            if not request.future.done():
                request.future.set_exception(error)
        return False
    for future, answer in done:
        future.set_result(answer)
    return True


def _run_one(
    connection: sa.Connection, request: _WriteRequest, done: list[tuple[Future[Any], Any]]
) -> None:
    connection.exec_driver_sql("SAVEPOINT request")
    try:
        answer = request.job(connection)
    except Exception as error:
        connection.exec_driver_sql("ROLLBACK TO request")
        request.future.set_exception(error)
    else:
        done.append((request.future, answer))
    finally:
        connection.exec_driver_sql("RELEASE request")
