"""What judges do: join, agree, practise, judge, take back. Each function is one transaction.

Functions take a connection with the rights of judges' requests and are given the time by the
caller; a clock that jumps can only make a lease lapse early or late.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa

from comparity.collect.database import inserted_id
from comparity.collect.joined_judge import (
    Assignment,
    ItemView,
    Judge,
    Outcome,
    Picture,
    Progress,
    Receipt,
    Shown,
    State,
    Task,
    external_sha256,
    new_public_id,
    new_token,
    token_sha256,
)
from comparity.collect.pairing import task_of
from comparity.collect.sql_statements import AHEAD, STATEMENTS
from comparity.collect.study import TRIES, StudyDescription
from comparity.errors import (
    AlreadyJoinedError,
    ClosedStudyError,
    LapsedAssignmentError,
    NotOpenError,
    PausedStudyError,
    UnknownAssignmentError,
)

GivenOut = Literal["given", "enough", "none free"]
UNDO = "undo"
RESTED = "rested"
ASSIGNED, SURVEYED = "assigned", "questionnaire"
# States in which pairs may be given out; whoever is done may find that there are more.
WORKING = ("practice", "judging", "break", "questionnaire", "done")


def _ask(connection: sa.Connection, statement: str, /, **values: Any) -> sa.CursorResult[Any]:
    return connection.execute(STATEMENTS[statement], values)


def _lock(connection: sa.Connection, judge: int) -> None:
    """Let requests of one judge follow each other; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(STATEMENTS["lock judge"], {"me": judge})


def select_judge(
    connection: sa.Connection, study: StudyDescription, token: str, now: float
) -> Judge | None:
    """Return the judge of a token; None where it is unknown, revoked or expired."""
    row = _ask(connection, "judge of token", sha256=token_sha256(token), now=now).first()
    return None if row is None else _judge_of(row, study)


def _judge_of(row: Any, study: StudyDescription) -> Judge:
    state = _state_of(row, study)
    of = row.answered if state == "done" else max(row.wanted, row.answered)
    return Judge(
        id=row.judge,
        task=row.task,
        state=state,
        progress=Progress(done=row.answered, of=of),
        practised=row.practised,
        tries=row.tries,
    )


def _state_of(row: Any, study: StudyDescription) -> State:
    if row.closed_at is not None:
        return "closed"
    if row.consented_at is None and (study.consent or study.instructions_of(row.task)):
        return "consent"
    if study.checks and row.passed_at is None:
        return "comprehension" if row.tries > 0 else "excluded"
    if row.paused_at is not None and row.finished_at is None:
        return "paused"
    if row.practised < len(study.practice):
        return "practice"
    if row.finished_at is not None:
        is_asked = study.questionnaire and row.answered and row.surveyed_at is None
        return "questionnaire" if is_asked else "done"
    every = study.break_every
    if every and row.answered and row.answered % every == 0 and row.rested != row.answered:
        return "break"
    return "judging"


def select_picture(connection: sa.Connection, picture: str) -> Picture | None:
    """Return an image that items show."""
    row = _ask(connection, "picture", picture=picture).first()
    return None if row is None else Picture(media_type=row.media_type, data=bytes(row.data))


def insert_judge(
    connection: sa.Connection, study: StudyDescription, external: Mapping[str, str], now: float
) -> str:
    """Let somebody join by the open link; return the token of the new judge."""
    if not study.open_link:
        raise NotOpenError
    sha256 = external_sha256(external)
    token, name = new_token(), new_public_id()
    try:
        with connection.begin_nested():
            values = {"name": name, "external": json.dumps(dict(external)), "created_at": now}
            added = _ask(connection, "add judge", **values, external_sha256=sha256)
    except sa.exc.IntegrityError as error:
        raise AlreadyJoinedError from error
    judge = inserted_id(added)
    add_token(connection, judge, token, expires_at=None, now=now)
    enrol(connection, study, judge, now)
    insert_event(connection, judge, "joined", {}, now)
    return token


def add_token(
    connection: sa.Connection, judge: int, token: str, *, expires_at: float | None, now: float
) -> None:
    """Keep the hash of a token."""
    times = {"created_at": now, "expires_at": expires_at, "revoked_at": None}
    _ask(connection, "add token", sha256=token_sha256(token), judge=judge, **times)


def enrol(connection: sa.Connection, study: StudyDescription, judge: int, now: float) -> None:
    """Let a new judge begin, with the task that the lot gives them."""
    task: Task = task_of(study, judge)
    counts = dict.fromkeys(("practised", "answered", "rested", "wanted"), 0)
    _ask(connection, "add progress", judge=judge, task=task, tries=TRIES, **counts)
    if len(study.tasks) > 1:
        insert_event(connection, judge, ASSIGNED, {"task": task}, now)


def insert_event(
    connection: sa.Connection, judge: int, kind: str, detail: Mapping[str, Any], now: float
) -> None:
    """Log what happened; a rest ends a break."""
    _ask(connection, "add event", judge=judge, kind=kind, detail=json.dumps(dict(detail)), at=now)
    if kind == RESTED:
        _ask(connection, "rest", me=judge)


def record_consent(connection: sa.Connection, judge: int, now: float) -> None:
    """Note that a judge agreed."""
    _ask(connection, "consent", me=judge, now=now)
    insert_event(connection, judge, "consented", {}, now)


def record_comprehension(connection: sa.Connection, judge: int, *, passed: bool, now: float) -> int:
    """Note a try at the comprehension check; return how many are left."""
    _lock(connection, judge)
    before = _ask(connection, "progress", me=judge).one()
    if before.passed_at is None and before.tries > 0:
        changed = {"now": now} if passed else {}
        _ask(connection, "pass check" if passed else "fail check", me=judge, **changed)
        insert_event(connection, judge, "checked", {"passed": passed}, now)
    return int(_ask(connection, "progress", me=judge).one().tries)


def record_survey(
    connection: sa.Connection, judge: int, answers: Mapping[str, int], now: float
) -> None:
    """Keep what a judge says of the effort, once; nothing is asked again of who says nothing."""
    _lock(connection, judge)
    if _ask(connection, "progress", me=judge).one().surveyed_at is None:
        insert_event(connection, judge, SURVEYED, answers, now)
        _ask(connection, "survey", me=judge, now=now)


def select_assignment(
    connection: sa.Connection, study: StudyDescription, judge: int, *, ahead: int
) -> Assignment | Literal["not given out"] | None:
    """Return the pair that is shown, or one ahead of it, if it was given out."""
    row = _ask(connection, "progress", me=judge).one()
    if _state_of(row, study) not in WORKING:
        return None
    rows = _open_pairs(connection, study, row)
    if not rows or any(one.public_id is None for one in rows):
        return "not given out"
    return _assignment(connection, study, row, rows[ahead], ahead) if ahead < len(rows) else None


def _open_pairs(connection: sa.Connection, study: StudyDescription, row: Any) -> Sequence[Any]:
    """Return the next pairs for a judge, with the ids of those that were given out."""
    if row.practised < len(study.practice):
        return _ask(connection, f"open practice, {row.task}", me=row.judge).all()
    most = min(AHEAD, row.wanted - row.answered)
    if row.booklet is None or most < 1:
        return []
    return _ask(connection, "open pairs", me=row.judge, booklet=row.booklet, most=most).all()


def _assignment(
    connection: sa.Connection, study: StudyDescription, row: Any, pair: Any, place: int
) -> Assignment:
    rows = _ask(connection, "shown items", left=pair.left_item, right=pair.right_item).all()
    shown = {one.id: _item_view(one.shown, study) for one in rows}
    practice = pair.booklet is None
    return Assignment(
        public_id=pair.public_id,
        task=row.task,
        kind="practice" if practice else "pair",
        left=shown[pair.left_item],
        right=shown[pair.right_item],
        number=(row.practised if practice else row.answered) + place + 1,
        of=len(study.practice) if practice else max(row.wanted, row.answered),
    )


def _item_view(text: str, study: StudyDescription) -> ItemView:
    values = json.loads(text)
    return ItemView(
        shown=tuple(
            Shown(name=one.name, kind=one.kind, text=value)
            for one, value in zip(study.show, values, strict=True)
        )
    )


def give_out(
    connection: sa.Connection, study: StudyDescription, judge: int, now: float
) -> GivenOut:
    """Give a judge the next pairs, and say whether there were any, or why not."""
    _lock(connection, judge)
    row = _ask(connection, "progress", me=judge).one()
    if _state_of(row, study) not in WORKING:
        return "given"
    rows = _open_pairs(connection, study, row)
    if not rows and row.practised >= len(study.practice):
        _release(connection, row)
        if _has_done_enough(row, study):
            finish(connection, judge, now)
            return "enough"
        row = _take_booklet(connection, study, row, now)
        rows = [] if row is None else _open_pairs(connection, study, row)
    for one in rows:
        if one.public_id is None:
            values = {"judge": judge, "pair": one.id, "shown_at": now}
            _ask(connection, "add assignment", public_id=new_public_id(), **values)
    return "given" if rows else "none free"


def _has_done_enough(row: Any, study: StudyDescription) -> bool:
    """Return whether a judge has done at least half of what is asked of everyone.

    Whoever took over the end of somebody's booklet has not, and goes on with another one.
    """
    return bool(2 * row.answered >= study.each_of(row.task))


def _release(connection: sa.Connection, row: Any) -> None:
    """Let others have what is left of a booklet."""
    if row.booklet is not None:
        left = _ask(connection, "unanswered", booklet=row.booklet).scalar_one()
        ends = {"its_id": row.booklet, "finished": left == 0}
        _ask(connection, "release booklet", me=row.judge, **ends)


def _take_booklet(connection: sa.Connection, study: StudyDescription, row: Any, now: float) -> Any:
    """Let a judge hold the first free booklet that has pairs for them."""
    lapsed = {"now": now, "lease": study.lease}
    for kind, limits in (("fresh booklet", {}), ("lapsed booklet", lapsed)):
        after = 0
        while found := _ask(connection, kind, after=after, task=row.task, **limits).scalar():
            _ask(connection, "take booklet", booklet=found, me=row.judge, now=now)
            n = _ask(connection, "booklet size", me=row.judge, booklet=found).scalar_one()
            if n:
                most = row.answered + n
                # Who comes back for another booklet does as much as was asked of everyone.
                most = min(most, study.each_of(row.task)) if row.answered else most
                begun = {"its_booklet": found, "most": most}
                _ask(connection, "start booklet", me=row.judge, **begun)
                return _ask(connection, "progress", me=row.judge).one()
            left = _ask(connection, "unanswered", booklet=found).scalar_one()
            freed = {"its_id": found, "finished": left == 0}
            _ask(connection, "release booklet", me=row.judge, **freed)
            after = found
    return None


def finish(connection: sa.Connection, judge: int, now: float) -> None:
    """Note that there is nothing left for a judge."""
    _ask(connection, "finish", me=judge, now=now)


def insert_judgment(
    connection: sa.Connection,
    study: StudyDescription,
    judge: int,
    *,
    assignment: str,
    outcome: Outcome,
    client_id: str,
    milliseconds: int | None,
    now: float,
) -> tuple[Receipt, GivenOut]:
    """Keep an answer, once, and give out the next pair; say whether there is one."""
    _lock(connection, judge)
    asked = {"public_id": assignment, "client_id": client_id, "me": judge}
    known = _ask(connection, "answered assignment", **asked).first()
    if known is None:
        raise UnknownAssignmentError
    practice = known.booklet is None
    told = _practice_answer(connection, study, known.pair, outcome) if practice else {}
    if known.is_repeated or known.turn % 2:
        return Receipt(is_new=False, **told), "given"
    if known.closed_at is not None:
        raise ClosedStudyError(known.closed_at)
    if not practice:
        _hold(connection, judge, known, now)
    added = _ask(
        connection,
        "add judgment",
        assignment=known.id,
        judge=judge,
        turn=known.turn,
        outcome=outcome,
        milliseconds=milliseconds,
        client_id=client_id,
        at=now,
    )
    kept = {"pair": known.pair, "scope": judge if practice else 0}
    _ask(connection, "add answer", **kept, judge=judge, judgment=inserted_id(added))
    _ask(connection, "count practice" if practice else "count answer", me=judge, change=1)
    return Receipt(is_new=True, **told), give_out(connection, study, judge, now)


def _hold(connection: sa.Connection, judge: int, known: Any, now: float) -> None:
    """Renew the lease of a booklet, or say that another judge has it."""
    renewed = _ask(connection, "renew lease", its_id=known.booklet, me=judge, now=now)
    if known.is_answered or not renewed.rowcount:
        raise LapsedAssignmentError


def _practice_answer(
    connection: sa.Connection, study: StudyDescription, pair: int, outcome: str
) -> dict[str, Any]:
    row = _ask(connection, "practice answer", pair=pair).one()
    return {"is_right": study.is_expected(outcome, row.expected), "note": row.note or ""}


def insert_undo(connection: sa.Connection, judge: int, *, client_id: str, now: float) -> bool:
    """Take back the last answer of a judge, if it can be; return whether it was."""
    _lock(connection, judge)
    if _ask(connection, "earlier judgment", me=judge, client_id=client_id).first():
        return False
    row = _ask(connection, "progress", me=judge).one()
    if row.closed_at is not None:
        raise ClosedStudyError(row.closed_at)
    if row.paused_at is not None:
        raise PausedStudyError
    last = _ask(connection, "last answer", me=judge, booklet=row.booklet).first()
    if last is None:
        return False
    if row.booklet is not None:
        held = {"its_id": row.booklet, "me": judge, "now": now}
        if not _ask(connection, "retake booklet", **held).rowcount:
            return False
    _ask(connection, "remove answer", pair=last.pair, its_scope=last.scope)
    values = {"turn": last.turn + 1, "outcome": UNDO, "milliseconds": None, "at": now}
    taken = {"assignment": last.assignment, "judge": judge, "client_id": client_id}
    _ask(connection, "add judgment", **taken, **values)
    counted = "count answer" if last.scope == 0 else "count practice"
    _ask(connection, counted, me=judge, change=-1)
    return True
