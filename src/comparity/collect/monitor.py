"""What the dashboard of a study knows: the counts as of now, and what is found out meanwhile.

Counts are brought up to date at most once a second, whoever asks. Leans, sharpness and misfit need
a fit of all judgments. A process of its own makes it from the exported tables, at most once a
minute and only while somebody looks, so that no judge waits for it; the dashboard says as of when
it is.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.export import as_time
from comparity.collect.kept_counts import CountedStudy, KeptCounts
from comparity.collect.result import StudyStatus
from comparity.collect.status import Assessment, assess_study, status_of
from comparity.collect.store import Store
from comparity.results.audit import Audit
from comparity.results.plain import as_plain
from comparity.results.result import UNDECIDED

BUDGET = 0.4
"""Seconds that are counted for in one go where a study is counted for the first time."""
LEAST_SECONDS = 1.0
"""Between two looks at the store."""
ASSESS_SECONDS, ASSESS_FACTOR, LOOKING_SECONDS = 60.0, 10.0, 600.0
"""Between two fits, also in multiples of how long one takes; and how long somebody is taken to look
after the last request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that the dashboard shows.

    Attributes
    ----------
    number : int
        Grows with every change.
    as_of : float
    status : StudyStatus
    counted : CountedStudy
    assessment : Assessment
    stopped_by_rule : bool
    """

    number: int
    as_of: float
    status: StudyStatus
    counted: CountedStudy
    assessment: Assessment
    stopped_by_rule: bool

    @property
    def audit(self) -> Audit | None:
        """The verdict."""
        return self.counted.audit or self.assessment.audit

    @property
    def state(self) -> str:
        """Whether the study is ``"open"``, ``"paused"`` or ``"closed"``."""
        if self.status.closed:
            return "closed"
        return "paused" if self.status.paused else "open"

    def flags(self, name: str, own: tuple[str, ...]) -> list[str]:
        """Return all reasons to look at a judge."""
        return [*own, *self.assessment.flags(name)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        status = self.status.to_dict()
        for row in status["judges"]:
            known = self.assessment.judges.get(row["name"])
            row["assessment"] = None if known is None else as_plain(known)
            row["flags"] = self.flags(row["name"], tuple(row["flags"]))
        told = {"n": self.assessment.n, "as_of": self.assessment.as_of}
        return {
            "as_of": as_time(self.as_of),
            "state": self.state,
            "stopped_by_rule": self.stopped_by_rule,
            "is_complete": self.counted.is_complete,
            "counted": self.counted.counted,
            "status": status,
            "uses": dict(self.counted.uses),
            "verdict": None if self.audit is None else self.audit.to_dict(),
            "why_no_verdict": "" if self.audit else self.counted.why_not,
            "assessment": {**told, "why_not": self.assessment.why_not},
        }


class Monitor:
    """Keeps an eye on a study; safe to use from several threads.

    Parameters
    ----------
    store : Store
        Must outlive the monitor.
    clock : callable
        Returns the time in seconds since 1970.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self._clock = clock
        self._counts = KeptCounts(store)
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._key: tuple[Any, ...] = ()
        self._checked = -math.inf
        self._assessment = Assessment()
        self._process: Any = None
        self._answer: Any = None
        self._began = self._ended = -math.inf
        self._took = 0.0
        self._looked = -math.inf
        self._rule_is_used = False

    def look(self) -> Snapshot:
        """Return what is known as of now; the store is asked at most once a second."""
        with self._lock:
            self._looked = time.monotonic()
            return self._refresh()

    def look_again(self) -> Snapshot:
        """Return what is known after something was changed."""
        with self._lock:
            self._checked = -math.inf
            return self._refresh()

    def tick(self) -> None:
        """Count what is new, close a study that is decided, and begin or end a fit."""
        with self._lock:
            is_watched = time.monotonic() - self._looked < LOOKING_SECONDS
            if is_watched or self.store.study.stop_when == "decided":
                self._refresh()
            if is_watched or self._process is not None:
                self._assess()

    def _refresh(self) -> Snapshot:
        if self._snapshot is not None and time.monotonic() - self._checked < LEAST_SECONDS:
            return self._snapshot
        key = (*self.store.look(_changes), self._assessment.as_of)
        is_complete = self._snapshot is not None and self._snapshot.counted.is_complete
        if self._snapshot is None or key != self._key or not is_complete:
            self._key = key
            self._snapshot = self._new_snapshot()
            if self._is_decided(self._snapshot):
                self.store.close(now=self._clock(), kind=STOPPED)
                self._key = (*self.store.look(_changes), self._assessment.as_of)
                self._snapshot = self._new_snapshot()
        self._checked = time.monotonic()
        return self._snapshot

    def _new_snapshot(self) -> Snapshot:
        counted = self._counts.update(budget=BUDGET)
        status = status_of(self.store, counted)
        return Snapshot(
            number=1 if self._snapshot is None else self._snapshot.number + 1,
            as_of=self._clock(),
            status=status,
            counted=counted,
            assessment=self._assessment,
            stopped_by_rule=bool(status.closed) and self.store.look(_is_stopped),
        )

    def _is_decided(self, snapshot: Snapshot) -> bool:
        """Return whether a study that is to stop once it is decided is to stop now."""
        has_rule = self.store.study.stop_when == "decided" and not self._rule_is_used
        audit = snapshot.audit
        if not has_rule or snapshot.state == "closed" or audit is None:
            return False
        if audit.finding == UNDECIDED or not snapshot.counted.is_complete:
            return False
        # Whoever opens the study again wants it open: a rule is used once.
        self._rule_is_used = self.store.look(_was_stopped)
        return not self._rule_is_used

    def _assess(self) -> None:
        """Begin a fit where it is due, or take over what one has found."""
        if self._process is not None:
            if self._answer.poll():
                self._assessment = self._answer.recv()
            elif self._process.is_alive():
                return
            else:
                self._assessment = replace(self._assessment, why_not="broken")
            self._process.join()
            self._process, self._ended = None, time.monotonic()
            self._took = self._ended - self._began
            return
        wait = max(ASSESS_SECONDS, ASSESS_FACTOR * self._took)
        known = self._snapshot is not None and self._snapshot.counted.counted
        if time.monotonic() - self._ended > wait and known and known != self._assessment.n:
            self._begin_process()

    def _begin_process(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._answer, theirs = context.Pipe(duplex=False)
        words = (self.store.address, theirs)
        self._process = context.Process(target=_assess_into, args=words, daemon=True)
        self._process.start()
        theirs.close()
        self._began = time.monotonic()

    def dispose(self) -> None:
        """End what is under way, and remove counts that are temporary."""
        with self._lock:
            if self._process is not None:
                self._process.terminate()
                self._process.join()
                self._process = None
            self._counts.dispose()


STOPPED = "stopped by rule"
"""What the log calls the end of a study that was decided."""


def _assess_into(address: str, answer: Any) -> None:
    os.nice(10)
    answer.send(assess_study(address))
    answer.close()


def _changes(connection: sa.Connection) -> tuple[Any, ...]:
    """Return what changes with everything that the dashboard shows."""
    study = connection.execute(sa.select(schema.STUDY.c.closed_at, schema.STUDY.c.paused_at)).one()
    found: list[Any] = [
        sa.func.max(one.c.id) for one in (schema.JUDGMENT, schema.JUDGE, schema.PAIR)
    ]
    found += [sa.func.count(one) for one in (schema.JUDGE.c.erased_at, schema.TOKEN.c.revoked_at)]
    return (*study, *(connection.execute(sa.select(one)).scalar() for one in found))


def _was_stopped(connection: sa.Connection) -> bool:
    """Return whether the study was closed by its rule before."""
    event = schema.EVENT.c
    return connection.execute(sa.select(event.id).where(event.kind == STOPPED)).first() is not None


def _is_stopped(connection: sa.Connection) -> bool:
    """Return whether the study was closed by its rule."""
    event = schema.EVENT.c
    ends = sa.select(event.kind).where(event.kind.in_(["closed", STOPPED]))
    return connection.execute(ends.order_by(event.id.desc()).limit(1)).scalar() == STOPPED
