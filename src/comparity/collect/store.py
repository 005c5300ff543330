"""A study's store: what judges' pages ask of it, answered after the commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import sqlalchemy as sa

from comparity.collect import owner, participation, schema, setup
from comparity.collect.database import (
    GroupWriter,
    counts_file,
    hide_password,
    is_postgresql,
    judge_engine,
    migrate,
    owner_engine,
    select_version,
)
from comparity.collect.joined_judge import Assignment, Judge, Outcome, Picture, Receipt
from comparity.collect.schema import VERSION
from comparity.collect.setup import Items
from comparity.collect.study import StudyDescription
from comparity.errors import NoStudyError, OptionError, StudyExistsError

Answer = TypeVar("Answer")

LONGEST_CLIENT_ID = 64
LONGEST_KIND = 40
LONGEST_DETAIL = 2000
MOST_MILLISECONDS = 2**31 - 1
RETRIES = 5
"""How often a transaction is tried again where PostgreSQL lets another one go first."""


def open_store(address: str | Path) -> Store:
    """Open the store of a study.

    Parameters
    ----------
    address : str or Path
        A file, or an address such as ``postgresql://user@host/database``.

    Returns
    -------
    Store
        To be closed, or used in a ``with`` block.

    Raises
    ------
    NoStudyError
        There is no study.
    """
    where = str(address)
    if not is_postgresql(where) and not Path(where).is_file():
        raise NoStudyError(where, "no such file")
    return Store(where)


def create_store(address: str | Path, study: StudyDescription, items: Items, *, now: float) -> None:
    """Make the tables of a new study and draw the first booklets.

    Raises
    ------
    StudyExistsError
        There is a study already.
    """
    where = str(address)
    if not is_postgresql(where) and Path(where).exists():
        raise StudyExistsError(where)
    with _open_as_owner(where) as engine:
        if _has_study(engine):
            raise StudyExistsError(hide_password(where))
        try:
            migrate(engine)
            with engine.begin() as connection:
                setup.insert_study(connection, study, items, now)
        except BaseException:
            # What holds no study is not left behind.
            if not is_postgresql(where):
                engine.dispose()
                Path(where).unlink(missing_ok=True)
            raise


@contextmanager
def _open_as_owner(address: str) -> Iterator[sa.Engine]:
    """Yield an engine with all rights; say where there is no database that it could be of."""
    try:
        engine = owner_engine(address)
    except sa.exc.ArgumentError as error:
        raise NoStudyError(hide_password(address), "an address that cannot be read") from error
    try:
        yield engine
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        reason = str(error.orig).partition("\n")[0]
        raise NoStudyError(hide_password(address), reason) from error
    finally:
        engine.dispose()


def _has_study(engine: sa.Engine) -> bool:
    if not sa.inspect(engine).has_table("study"):
        return False
    with engine.connect() as connection:
        return connection.execute(sa.select(schema.STUDY.c.id)).first() is not None


class Store:
    """The store of one study; safe to use from several threads.

    Everything that writes returns after the commit.

    Parameters
    ----------
    address : str
        See :func:`open_store`.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        with _open_as_owner(address) as engine:
            if not _has_study(engine):
                raise NoStudyError(hide_password(address), "a database without one")
            if select_version(engine, address) != VERSION:
                migrate(engine)
            with engine.begin() as connection:
                self.definition = setup.select_study(connection)
        self.owner = owner_engine(address)
        self.looking = owner_engine(address, writes=False)
        self.study = self.definition.without_attention()
        self._judges = judge_engine(address)
        self._readers = self._judges
        self._writer: GroupWriter | None = None
        if not is_postgresql(address):
            self._readers = judge_engine(address, writes=False)
            self._writer = GroupWriter(self._judges)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Write what was submitted, and close all connections."""
        if self._writer is not None:
            self._writer.stop()
        for engine in (self._judges, self._readers, self.owner, self.looking):
            engine.dispose()

    def _write(self, job: Callable[[sa.Connection], Answer]) -> Answer:
        """Run a job of judges' requests in a transaction."""
        if self._writer is not None:
            return self._writer.run(job)  # type: ignore[no-any-return]
        for left in reversed(range(RETRIES)):
            try:
                with self._judges.begin() as connection:
                    return job(connection)
            except (sa.exc.IntegrityError, sa.exc.OperationalError):
                if not left:
                    raise
        raise AssertionError

    def _read(self, job: Callable[[sa.Connection], Answer]) -> Answer:
        with self._readers.begin() as connection:
            return job(connection)

    def _own(self, job: Callable[[sa.Connection], Answer]) -> Answer:
        """Run a job of whoever runs the study."""
        with self.owner.begin() as connection:
            return job(connection)

    def look(self, job: Callable[[sa.Connection], Answer]) -> Answer:
        """Run a job that reads anything and writes nothing."""
        with self.looking.begin() as connection:
            return job(connection)

    # What judges ask for.

    def judge_of(self, token: str, *, now: float) -> Judge | None:
        """Return the judge of a token; None where it is unknown, revoked or expired."""
        return self._read(
            partial(participation.select_judge, study=self.study, token=token, now=now)
        )

    def select_picture(self, picture: str) -> Picture | None:
        """Return an image that items show, by its id; None where there is none."""
        return self._read(partial(participation.select_picture, picture=picture))

    def insert_judge(self, *, external: Mapping[str, str], now: float) -> str:
        """Let somebody join by the open link; return the token of the new judge.

        Raises
        ------
        NotOpenError, AlreadyJoinedError
            The study has no open link, or someone with the same ids has joined.
        """
        job = partial(participation.insert_judge, study=self.study, external=external, now=now)
        return self._write(job)

    def record_consent(self, judge: Judge, *, now: float) -> None:
        """Note that a judge agreed."""
        self._write(partial(participation.record_consent, judge=judge.id, now=now))

    def record_comprehension(self, judge: Judge, *, passed: bool, now: float) -> int:
        """Note a try at the comprehension check; return how many are left."""
        job = partial(participation.record_comprehension, judge=judge.id, passed=passed, now=now)
        return self._write(job)

    def record_survey(self, judge: Judge, *, answers: Mapping[str, int], now: float) -> None:
        """Keep what a judge says of the effort, if anything."""
        job = partial(participation.record_survey, judge=judge.id, answers=answers, now=now)
        self._write(job)

    def next_assignment(self, judge: Judge, *, now: float) -> Assignment | None:
        """Return the pair a judge is to judge, the same until it is; None where none is left."""
        return self._assignment(judge, now, ahead=0)

    def upcoming_assignment(self, judge: Judge, *, now: float) -> Assignment | None:
        """Return the pair after the next, to be fetched ahead; None where there is none."""
        return self._assignment(judge, now, ahead=1)

    def _assignment(self, judge: Judge, now: float, *, ahead: int) -> Assignment | None:
        select = partial(
            participation.select_assignment, study=self.study, judge=judge.id, ahead=ahead
        )
        found = self._read(select)
        if found == "not given out":
            self._give_out(judge, now)
            found = self._read(select)
        return found if isinstance(found, Assignment) else None

    def _give_out(self, judge: Judge, now: float) -> None:
        give_out = partial(participation.give_out, study=self.study, judge=judge.id, now=now)
        if self._write(give_out) != "none free":
            return
        drawn = self._own(partial(setup.draw_wave, study=self.definition, task=judge.task, now=now))
        if not drawn or self._write(give_out) == "none free":
            self._write(partial(participation.finish, judge=judge.id, now=now))

    def insert_judgment(
        self,
        judge: Judge,
        *,
        assignment: str,
        outcome: Outcome,
        client_id: str,
        milliseconds: int | None,
        now: float,
    ) -> Receipt:
        """Keep an answer; the same `client_id` again, or a second answer, changes nothing.

        Raises
        ------
        UnknownAssignmentError, LapsedAssignmentError, ClosedStudyError, OptionError
            The pair was not shown to the judge, went to another one, the study is closed, or the
            answer is none.
        """
        _check_client_id(client_id)
        outcomes = self.study.outcomes_of(judge.task)
        if outcome not in outcomes:
            raise OptionError("outcome", outcome, [repr(one) for one in outcomes])
        if milliseconds is not None and not 0 <= milliseconds <= MOST_MILLISECONDS:
            raise OptionError("milliseconds", milliseconds, [f"0 to {MOST_MILLISECONDS:,}"])
        receipt, given = self._write(
            partial(
                participation.insert_judgment,
                study=self.study,
                judge=judge.id,
                assignment=assignment,
                outcome=outcome,
                client_id=client_id,
                milliseconds=milliseconds,
                now=now,
            )
        )
        if given == "none free":
            self._give_out(judge, now)
        return receipt

    def insert_undo(self, judge: Judge, *, client_id: str, now: float) -> Assignment | None:
        """Take back the last answer of a judge, by a row of its own; return what is shown next.

        Raises
        ------
        ClosedStudyError, OptionError
        """
        _check_client_id(client_id)
        job = partial(participation.insert_undo, judge=judge.id, client_id=client_id, now=now)
        self._write(job)
        return self.next_assignment(judge, now=now)

    def insert_event(
        self, judge: Judge, *, kind: str, detail: Mapping[str, Any], now: float
    ) -> None:
        """Log what happened on a page; ``"rested"`` ends a break."""
        if not 0 < len(kind) <= LONGEST_KIND:
            raise OptionError("kind", kind, [f"1 to {LONGEST_KIND} characters"])
        if len(json.dumps(dict(detail))) > LONGEST_DETAIL:
            raise OptionError("detail", "too long", [f"at most {LONGEST_DETAIL} characters"])
        job = partial(participation.insert_event, judge=judge.id, kind=kind, detail=detail, now=now)
        self._write(job)

    # What whoever runs the study asks for.

    def insert_judges(
        self, n: int, *, now: float, expires_at: float | None = None, program: str = ""
    ) -> list[tuple[str, str]]:
        """Add judges, people or a program's; return names and tokens, which are told only here."""
        add = partial(owner.insert_judges, study=self.study, n=n, program=program, now=now)
        return self._own(partial(add, expires_at=expires_at))

    def revoke_judge(self, name: str, *, now: float) -> None:
        """Let the links of a judge lead nowhere from now on."""
        self._own(partial(owner.revoke_judge, name=name, now=now))

    def close(self, *, now: float, kind: str = "closed") -> None:
        """Take no more judgments; the log says of which `kind` this was."""
        self._own(partial(owner.close_study, now=now, kind=kind))

    def reopen(self, *, now: float) -> None:
        """Take judgments again."""
        self._own(partial(owner.reopen_study, now=now))

    def pause(self, *, now: float) -> None:
        """Show no more pairs for a while; answers to pairs that are shown are still kept."""
        self._own(partial(owner.pause_study, now=now))

    def resume(self, *, now: float) -> None:
        """Show pairs again."""
        self._own(partial(owner.resume_study, now=now))

    def set_password(self, password: str | None, *, now: float) -> None:
        """Set the password of the dashboard, or none, which turns it off."""
        self._own(partial(owner.set_password, password=password, now=now))

    def log_in(self, password: str, *, now: float) -> str | None:
        """Return the token of a new session; None where the password is not the right one."""
        kept = self.look(owner.select_password)
        if not owner.is_password(kept, password):
            return None
        return self._own(partial(owner.begin_session, now=now))

    def is_logged_in(self, token: str, *, now: float) -> bool:
        """Return whether a token is that of a session that has not ended."""
        return self.look(partial(owner.is_session, token=token, now=now))

    def log_out(self, token: str) -> None:
        """End a session."""
        self._own(partial(owner.end_session, token=token))

    def erase_judge(self, name: str, *, now: float, keep_judgments: bool = False) -> None:
        """Erase what is known of a judge, with the judgments or without."""
        job = partial(owner.erase_judge, name=name, keep_judgments=keep_judgments, now=now)
        self._own(job)
        self._forget()

    def erase_expired(self, *, now: float) -> list[str]:
        """Erase what identifies judges once data have been kept long enough; return their names."""
        names = self._own(partial(owner.erase_expired, study=self.study, now=now))
        self._forget()
        return names

    def _forget(self) -> None:
        """Keep nothing of what was erased in journals and counts."""
        owner.empty_journal(self.owner)
        counts = counts_file(self.address)
        if counts is not None:
            counts.unlink(missing_ok=True)

    def backup(self, target: str | Path) -> None:
        """Copy the study, also while it runs, into a file that is a study itself."""
        owner.copy_study(self.owner, Path(target))


def _check_client_id(client_id: str) -> None:
    if not 0 < len(client_id) <= LONGEST_CLIENT_ID:
        allowed = [f"1 to {LONGEST_CLIENT_ID} characters"]
        raise OptionError("client_id", client_id[: 2 * LONGEST_CLIENT_ID], allowed)
