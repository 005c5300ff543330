"""Requests share commits; one that fails takes no other with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from comparity.collect.database import GroupWriter, owner_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = owner_engine(str(tmp_path / "one.db"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE number (n INTEGER PRIMARY KEY)")
    yield engine
    engine.dispose()


def insert(number: int) -> sa.TextClause:
    return sa.text(f"INSERT INTO number VALUES ({number})")


def numbers(engine: sa.Engine) -> list[int]:
    with engine.begin() as connection:
        return list(connection.exec_driver_sql("SELECT n FROM number ORDER BY n").scalars())


def test_what_is_answered_is_committed(engine: sa.Engine) -> None:
    writer = GroupWriter(engine)
    for number in range(3):
        assert writer.run(lambda c, n=number: c.execute(insert(n)).rowcount) == 1
        assert numbers(engine) == list(range(number + 1))
    writer.stop()


def test_requests_that_wait_share_a_commit(engine: sa.Engine) -> None:
    commits: list[int] = []
    sa.event.listen(engine, "commit", lambda _: commits.append(1))
    writer = GroupWriter(engine)
    begun, gate = threading.Event(), threading.Event()
    first = threading.Thread(target=writer.run, args=(lambda _: (begun.set(), gate.wait(10)),))
    first.start()
    assert begun.wait(10)
    threads = [
        threading.Thread(target=writer.run, args=(lambda c, n=n: c.execute(insert(n)),))
        for n in range(20)
    ]
    for one in threads:
        one.start()
    while writer._waiting.qsize() < 20:
        pass
    gate.set()
    for one in (first, *threads):
        one.join()
    writer.stop()
    assert len(commits) == 2
    assert numbers(engine) == list(range(20))


def test_a_request_that_fails_is_undone_alone(engine: sa.Engine) -> None:
    writer = GroupWriter(engine)

    def write_and_fail(connection: sa.Connection) -> None:
        connection.execute(insert(7))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        writer.run(write_and_fail)
    writer.run(lambda c: c.execute(insert(8)))
    with pytest.raises(sa.exc.IntegrityError):
        writer.run(lambda c: c.execute(insert(8)))
    writer.run(lambda c: c.execute(insert(9)))
    writer.stop()
    assert numbers(engine) == [8, 9]


def test_nobody_is_told_of_a_commit_that_failed(engine: sa.Engine) -> None:
    broken = [True]

    def refuse(connection: sa.Connection) -> None:
        if broken.pop() if broken else False:
            raise sa.exc.OperationalError("commit", {}, Exception("disk full"))
        del connection

    sa.event.listen(engine, "commit", refuse)
    writer = GroupWriter(engine)
    with pytest.raises(sa.exc.OperationalError, match="disk full"):
        writer.run(lambda c: c.execute(insert(1)))
    writer.run(lambda c: c.execute(insert(2)))
    writer.stop()
    assert numbers(engine) == [2]
