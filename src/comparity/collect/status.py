"""How far a study is, from the counts that are kept, and which judges to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.database import hide_password
from comparity.collect.export import as_time
from comparity.collect.kept_counts import CountedStudy, KeptCounts
from comparity.collect.result import JudgeStatus, StratumStatus, StudyStatus
from comparity.collect.store import Store

DAY = 86_400.0
ATTENTION, SIDE, CONSISTENCY, SPEED = "attention", "side", "consistency", "speed"
"""Reasons to look at a judge."""
SIDE_LEVEL = 0.001
"""Sides are drawn: a share of left answers that is rarer than this is the judge's doing."""
FEWEST_TWICE = 5
"""Pairs that came back before their answers tell of a judge's consistency."""
FEWEST_TIMED, FAST_SHARE = 10, 1 / 3
"""Answers before a median time tells of a judge, and below which share of the usual one it is
short."""


def study_status(store: Store) -> StudyStatus:
    """Return how far a study is."""
    with KeptCounts(store) as kept:
        return status_of(store, kept.update())


def status_of(store: Store, counted: CountedStudy) -> StudyStatus:
    """Return how far a study is, from what was counted."""
    with store.looking.begin() as connection:
        judges = connection.execute(
            sa.select(schema.JUDGE, schema.PROGRESS)
            .join(schema.PROGRESS, schema.PROGRESS.c.judge == schema.JUDGE.c.id)
            .order_by(schema.JUDGE.c.id)
        ).all()
        booklets = connection.execute(sa.select(schema.BOOKLET)).all()
        revoked = _revoked(connection)
        study = connection.execute(sa.select(schema.STUDY)).one()
    done: Counter[str] = Counter()
    for counter in counted.judges.values():
        done.update(counter)
    planned, judged = _named(counted.planned), _named(counted.strata)
    return StudyStatus(
        title=store.study.title,
        question=store.study.question_of(store.study.tasks[0]),
        address=hide_password(store.address),
        closed="" if study.closed_at is None else as_time(study.closed_at),
        paused="" if study.paused_at is None else as_time(study.paused_at),
        planned=planned.total(),
        judged=judged.total(),
        ties=done["tie"],
        skipped=done["skip"],
        undone=done["undo"],
        items=counted.n_items,
        items_judged=counted.uses["items"],
        booklets=len(booklets),
        booklets_held=sum(one.holder is not None for one in booklets),
        booklets_finished=sum(one.is_finished and one.holder is None for one in booklets),
        judges=tuple(_with_flags([_judge(one, counted, revoked) for one in judges])),
        strata=tuple(
            StratumStatus(name=name, planned=n, judged=judged[name])
            for name, n in sorted(planned.items())
        ),
        retention=as_time(study.created_at + DAY * store.study.retention_days)[:10],
    )


def _named(sums: Mapping[tuple[str, str], int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (kind, stratum), n in sums.items():
        name = f"ratings of {stratum or 'items'}" if kind == schema.RATED else stratum
        found[name] += n
    return found


def _revoked(connection: sa.Connection) -> set[int]:
    query = sa.select(schema.TOKEN.c.judge).where(schema.TOKEN.c.revoked_at.is_not(None))
    return set(connection.execute(query).scalars())


def _judge(row: Any, counted: CountedStudy, revoked: set[int]) -> JudgeStatus:
    did = counted.judges.get(row.id, Counter())
    decided, time = did["left"] + did["right"], counted.milliseconds.get(row.id)
    return JudgeStatus(
        name=row.name,
        task=row.task,
        state=_state(row, revoked=row.id in revoked),
        answered=row.answered,
        seconds=None if time is None else time / 1000,
        left=did["left"],
        right=did["right"],
        twice=did["twice"],
        same=did["same"],
        left_share=did["left"] / decided if decided else None,
        attention_passed=did["passed"],
        attention_failed=did["failed"],
        # As many failed as passed is what guessing gives.
        flagged=did["failed"] > 0 and did["failed"] >= did["passed"],
    )


def _state(row: Any, *, revoked: bool) -> str:
    if row.erased_at is not None:
        return "erased"
    if revoked:
        return "revoked"
    if row.finished_at is not None:
        return "done"
    return "active" if row.answered else "invited"


def _with_flags(judges: Sequence[JudgeStatus]) -> Iterator[JudgeStatus]:
    """Add what is to be looked at; nobody's answers are left out for it."""
    times: dict[str, list[float]] = {}
    for one in judges:
        if one.seconds is not None and one.answered >= FEWEST_TIMED:
            times.setdefault(one.task, []).append(one.seconds)
    usual = {task: median(found) for task, found in times.items()}
    for one in judges:
        yield replace(one, flags=tuple(_flags(one, usual.get(one.task, 0.0))))


def _flags(judge: JudgeStatus, usual: float) -> Iterator[str]:
    if judge.flagged:
        yield ATTENTION
    if judge.side_p_value < SIDE_LEVEL:
        yield SIDE
    if judge.twice >= FEWEST_TWICE and 2 * judge.same <= judge.twice:
        yield CONSISTENCY
    short = FAST_SHARE * usual if judge.answered >= FEWEST_TIMED else 0.0
    if judge.seconds is not None and judge.seconds < short:
        yield SPEED
