"""Every statement that judges' requests can issue.

They read the views named ``judge_...`` (:mod:`comparity.collect.schema`), and whatever is about a
person is asked of one judge, who is bound as ``me``.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from comparity.collect import schema
from comparity.collect.schema import BOOKLET, PROGRESS, view
from comparity.collect.study import HIGH, LOW

AHEAD = 2
"""Pairs that are given out at once: the one that is shown, and the one that is fetched ahead."""

TOKENS, PROGRESSES, STUDIES = view("judge_token"), view("judge_progress"), view("judge_study")
PAIRS, PRACTICE, ITEMS = view("judge_pair"), view("judge_practice"), view("judge_item")
ASSIGNMENTS, JUDGMENTS = view("judge_assignment"), view("judge_judgment")
ANSWERS, PICTURES = view("judge_answer"), view("judge_picture")

_ME = bindparam("me", type_=sa.Integer)
_PAIR_COLUMNS = (PAIRS.c.id, PAIRS.c.booklet, PAIRS.c.left_item, PAIRS.c.right_item)


def _has_answer(pair: Any, scope: Any) -> Any:
    return sa.exists(ANSWERS.c.pair).where(ANSWERS.c.pair == pair, ANSWERS.c.scope == scope)


def _answered_by_me(pair: Any) -> Any:
    return sa.exists(ANSWERS.c.pair).where(
        ANSWERS.c.pair == pair, ANSWERS.c.scope == 0, ANSWERS.c.judge == _ME
    )


_MINE = sa.and_(ASSIGNMENTS.c.pair == PAIRS.c.id, ASSIGNMENTS.c.judge == _ME)
_FREE = (
    sa.select(BOOKLET.c.id)
    .where(BOOKLET.c.is_finished.is_(False), BOOKLET.c.id > bindparam("after"))
    .where(BOOKLET.c.task == bindparam("task"))
    .order_by(BOOKLET.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_EARLIER, _EARLIER_PAIR = ANSWERS.alias("earlier"), PAIRS.alias("earlier_pair")

_IS_NEW = sa.and_(
    PAIRS.c.repeats.is_(None),
    ~sa.exists(_EARLIER.c.pair)
    .where(_EARLIER.c.judge == _ME, _EARLIER.c.scope == 0)
    .where(_EARLIER_PAIR.c.id == _EARLIER.c.pair)
    .where(_EARLIER_PAIR.c.pair_key == PAIRS.c.pair_key)
    .where(_EARLIER_PAIR.c.booklet != PAIRS.c.booklet),
)
"""Whether a judge has not judged the pair in another booklet."""
_IS_RATED = sa.or_(PRACTICE.c.expected == HIGH, PRACTICE.c.expected == LOW)
_OPEN_PRACTICE = (
    sa.select(*_PAIR_COLUMNS, ASSIGNMENTS.c.public_id)
    .select_from(PRACTICE.join(PAIRS, PAIRS.c.id == PRACTICE.c.id).outerjoin(ASSIGNMENTS, _MINE))
    .where(~_has_answer(PAIRS.c.id, _ME))
    .order_by(PRACTICE.c.place)
    .limit(AHEAD)
)
_CHANGE = sa.update(PROGRESS).where(PROGRESS.c.judge == _ME)

STATEMENTS: dict[str, sa.Executable] = {
    "judge of token": sa.select(PROGRESSES, STUDIES.c.closed_at, STUDIES.c.paused_at)
    .select_from(
        TOKENS.join(PROGRESSES, PROGRESSES.c.judge == TOKENS.c.judge).join(STUDIES, sa.true())
    )
    .where(TOKENS.c.sha256 == bindparam("sha256"), TOKENS.c.revoked_at.is_(None))
    .where(sa.or_(TOKENS.c.expires_at.is_(None), TOKENS.c.expires_at > bindparam("now"))),
    "progress": sa.select(PROGRESSES, STUDIES.c.closed_at, STUDIES.c.paused_at)
    .select_from(PROGRESSES.join(STUDIES, sa.true()))
    .where(PROGRESSES.c.judge == _ME),
    "lock judge": sa.select(sa.func.pg_advisory_xact_lock(1, _ME)),
    "picture": sa.select(PICTURES.c.media_type, PICTURES.c.data).where(
        PICTURES.c.id == bindparam("picture")
    ),
    "shown items": sa.select(ITEMS.c.id, ITEMS.c.shown).where(
        ITEMS.c.id.in_([bindparam("left"), bindparam("right")])
    ),
    "open practice, compare": _OPEN_PRACTICE.where(~_IS_RATED),
    "open practice, rate": _OPEN_PRACTICE.where(_IS_RATED),
    # The first pairs of the booklet without an answer; a pair that comes back only if the judge
    # saw it the first time, and none that the judge has judged in another booklet.
    "open pairs": sa.select(*_PAIR_COLUMNS, ASSIGNMENTS.c.public_id)
    .select_from(PAIRS.outerjoin(ASSIGNMENTS, _MINE))
    .where(PAIRS.c.booklet == bindparam("booklet"), ~_has_answer(PAIRS.c.id, 0))
    .where(
        sa.exists(BOOKLET.c.id).where(BOOKLET.c.id == bindparam("booklet"), BOOKLET.c.holder == _ME)
    )
    .where(sa.or_(_IS_NEW, _answered_by_me(PAIRS.c.repeats)))
    .order_by(PAIRS.c.place)
    .limit(bindparam("most")),
    # Pairs that come back are counted where the judge saw, or is yet to see, the first one.
    "booklet size": sa.select(sa.func.count())
    .select_from(PAIRS)
    .where(PAIRS.c.booklet == bindparam("booklet"), ~_has_answer(PAIRS.c.id, 0))
    .where(
        sa.or_(
            _IS_NEW,
            _answered_by_me(PAIRS.c.repeats),
            sa.and_(PAIRS.c.repeats.is_not(None), ~_has_answer(PAIRS.c.repeats, 0)),
        )
    ),
    "fresh booklet": _FREE.where(BOOKLET.c.holder.is_(None)),
    # A time that lies further ahead than a lease was taken from a clock that was wrong.
    "lapsed booklet": _FREE.where(
        sa.func.abs(bindparam("now", type_=sa.Float) - BOOKLET.c.active_at)
        > bindparam("lease", type_=sa.Float)
    ),
    "take booklet": sa.update(BOOKLET)
    .where(BOOKLET.c.id == bindparam("booklet"))
    .values(holder=_ME, active_at=bindparam("now"), is_finished=False),
    "retake booklet": sa.update(BOOKLET)
    .where(BOOKLET.c.id == bindparam("its_id"))
    .where(sa.or_(BOOKLET.c.holder.is_(None), BOOKLET.c.holder == _ME))
    .values(holder=_ME, active_at=bindparam("now"), is_finished=False),
    # No row where the booklet has gone to another judge.
    "renew lease": sa.update(BOOKLET)
    .where(BOOKLET.c.id == bindparam("its_id"), BOOKLET.c.holder == _ME)
    .values(active_at=bindparam("now")),
    "release booklet": sa.update(BOOKLET)
    .where(BOOKLET.c.id == bindparam("its_id"), BOOKLET.c.holder == _ME)
    .values(holder=None, active_at=None, is_finished=bindparam("finished")),
    "earlier judgment": sa.select(JUDGMENTS.c.id, JUDGMENTS.c.assignment).where(
        JUDGMENTS.c.judge == _ME, JUDGMENTS.c.client_id == bindparam("client_id")
    ),
    "answered assignment": sa.select(
        *(ASSIGNMENTS.c.id, ASSIGNMENTS.c.pair, PAIRS.c.booklet, STUDIES.c.closed_at),
        sa.select(sa.func.count())
        .select_from(JUDGMENTS)
        .where(JUDGMENTS.c.assignment == ASSIGNMENTS.c.id)
        .scalar_subquery()
        .label("turn"),
        _has_answer(PAIRS.c.id, 0).label("is_answered"),
        sa.exists(JUDGMENTS.c.id)
        .where(JUDGMENTS.c.judge == _ME, JUDGMENTS.c.client_id == bindparam("client_id"))
        .label("is_repeated"),
    )
    .select_from(ASSIGNMENTS.join(PAIRS, PAIRS.c.id == ASSIGNMENTS.c.pair).join(STUDIES, sa.true()))
    .where(ASSIGNMENTS.c.public_id == bindparam("public_id"), ASSIGNMENTS.c.judge == _ME),
    "practice answer": sa.select(PRACTICE.c.expected, PRACTICE.c.note).where(
        PRACTICE.c.id == bindparam("pair")
    ),
    "last answer": sa.select(
        ANSWERS.c.pair, ANSWERS.c.scope, JUDGMENTS.c.assignment, JUDGMENTS.c.turn
    )
    .select_from(
        ANSWERS.join(JUDGMENTS, JUDGMENTS.c.id == ANSWERS.c.judgment).join(
            PAIRS, PAIRS.c.id == ANSWERS.c.pair
        )
    )
    .where(ANSWERS.c.judge == _ME)
    .where(sa.func.coalesce(PAIRS.c.booklet, 0) == sa.func.coalesce(bindparam("booklet"), 0))
    .order_by(ANSWERS.c.judgment.desc())
    .limit(1),
    "unanswered": sa.select(sa.func.count())
    .select_from(PAIRS)
    .where(PAIRS.c.booklet == bindparam("booklet"), PAIRS.c.repeats.is_(None))
    .where(~_has_answer(PAIRS.c.id, 0)),
    "consent": _CHANGE.values(consented_at=bindparam("now")),
    "pass check": _CHANGE.values(passed_at=bindparam("now")),
    "fail check": _CHANGE.values(tries=PROGRESS.c.tries - 1),
    "rest": _CHANGE.values(rested=PROGRESS.c.answered),
    "count practice": _CHANGE.values(practised=PROGRESS.c.practised + bindparam("change")),
    "count answer": _CHANGE.values(
        answered=PROGRESS.c.answered + bindparam("change"), finished_at=None
    ),
    "start booklet": _CHANGE.values(
        booklet=bindparam("its_booklet"), wanted=bindparam("most"), finished_at=None
    ),
    "finish": _CHANGE.values(finished_at=bindparam("now")),
    "survey": _CHANGE.values(surveyed_at=bindparam("now")),
    "add judge": sa.insert(schema.JUDGE),
    "add token": sa.insert(schema.TOKEN),
    "add progress": sa.insert(schema.PROGRESS),
    "add assignment": sa.insert(schema.ASSIGNMENT),
    "add judgment": sa.insert(schema.JUDGMENT),
    "add answer": sa.insert(schema.ANSWER),
    "add event": sa.insert(schema.EVENT),
    "remove answer": sa.delete(schema.ANSWER).where(
        schema.ANSWER.c.pair == bindparam("pair"), schema.ANSWER.c.scope == bindparam("its_scope")
    ),
}
