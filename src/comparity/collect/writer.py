"""One thread that writes a study kept in SQLite, and commits many requests at once.

SQLite lets one connection write at a time, and a commit waits for the disk. Requests that arrive
while a commit is under way are run one after the other, each in a savepoint of its own, and share
the next commit. Nobody is answered before the commit that holds their rows has returned.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

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
