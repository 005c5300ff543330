"""Judgments that have come in since the last look, as they change what is counted.

An answer that is taken back has a row of its own, which takes away what the answer had added. Rows
are never changed, so that both are the same whenever they are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.participation import UNDO
from comparity.collect.study import StudyDescription
from comparity.comparative.state_rows import CodedJudgments
from comparity.tables.outcomes import CHOSEN

JUDGED = (schema.PAIRED, schema.RATED)
"""Kinds of pairs that are judgments; the others are practice and attention."""
SWAPPED = {"left": "right", "right": "left"}
MOST_ASKED = 500
"""Numbers that are asked for in one query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """An answer that is to be counted, or no longer.

    Attributes
    ----------
    times : {1, -1}
        -1 for an answer that was taken back.
    judge, left, right : int
        Numbers of the judge and of the items as they were shown.
    kind, stratum, outcome : str
    milliseconds : int or None
    is_tested : bool
        Whether the judgment is part of the test: a comparison of a pair that was drawn without
        regard to earlier answers.
    whats : tuple of str
        What the judge did, by the names of :class:`~comparity.collect.kept_counts.CountedStudy`.
    """

    times: int
    judge: int
    left: int
    right: int
    kind: str
    stratum: str
    outcome: str
    milliseconds: int | None
    is_tested: bool
    whats: tuple[str, ...]

    @property
    def is_judged(self) -> bool:
        """Whether it is a judgment, a skipped one included."""
        return self.kind in JUDGED


@dataclass(frozen=True, slots=True)
class NewJudgments:
    """Answers in the order of their arrival, and the numbers of all rows that were read."""

    rows: Sequence[Counted]
    ids: frozenset[int]


def select_new(
    connection: sa.Connection,
    study: StudyDescription,
    *,
    after: int,
    end: int,
    gaps: Sequence[int] = (),
) -> NewJudgments:
    """Read the judgments with numbers above `after`, up to `end`, and those of some `gaps`."""
    judgment, pair = schema.JUDGMENT.c, schema.PAIR.c
    wanted = sa.and_(judgment.id > after, judgment.id <= end)
    if gaps:
        wanted = sa.or_(wanted, judgment.id.in_(gaps))
    query = (
        sa.select(
            *(judgment.id, judgment.judge, judgment.outcome, judgment.milliseconds, judgment.turn),
            *(judgment.assignment, pair.kind, pair.how, pair.stratum, pair.left_item),
            *(pair.right_item, pair.repeats, pair.expected),
        )
        .select_from(schema.JUDGMENT)
        .join(schema.ASSIGNMENT, schema.ASSIGNMENT.c.id == judgment.assignment)
        .join(schema.PAIR, pair.id == schema.ASSIGNMENT.c.pair)
        .where(wanted)
        .order_by(judgment.id)
    )
    rows = connection.execute(query).all()
    counted = [one for one in rows if one.kind != schema.PRACTICE]
    taken = _taken_back(connection, [one for one in counted if one.outcome == UNDO])
    firsts = _first_answers(connection, [one for one in counted if one.repeats is not None])
    found = [_count_undo(one) for one in rows if one.outcome == UNDO]
    for one in counted:
        # What an answer meant is told by the rows before it, also where it is taken back.
        said = taken[one.assignment, one.turn - 1] if one.outcome == UNDO else one
        before = [outcome for at, outcome in firsts[one.judge, one.repeats] if at < said.id]
        found.append(_count_answer(one, said, before[-1] if before else "", study))
    return NewJudgments(found, frozenset(one.id for one in rows))


def _taken_back(connection: sa.Connection, rows: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """Return the answers that some rows take back, by assignment and turn."""
    judgment = schema.JUDGMENT.c
    query = sa.select(
        *(judgment.id, judgment.assignment, judgment.turn, judgment.outcome, judgment.milliseconds)
    )
    found = _in_parts(connection, query, judgment.assignment, {one.assignment for one in rows})
    return {(one.assignment, one.turn): one for one in found}


def _first_answers(
    connection: sa.Connection, rows: Sequence[Any]
) -> dict[tuple[int, int], list[tuple[int, str]]]:
    """Return what judges answered, and when, where a pair was shown for the first time."""
    assignment, judgment = schema.ASSIGNMENT.c, schema.JUDGMENT.c
    query = (
        sa.select(assignment.judge, assignment.pair, judgment.id, judgment.outcome)
        .join(schema.JUDGMENT, judgment.assignment == assignment.id)
        .where(judgment.outcome != UNDO)
        .order_by(judgment.id)
    )
    found: dict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
    for one in _in_parts(connection, query, assignment.pair, {one.repeats for one in rows}):
        found[one.judge, one.pair].append((one.id, one.outcome))
    return found


def _in_parts(
    connection: sa.Connection, query: sa.Select[Any], column: Any, numbers: Iterable[int]
) -> list[Any]:
    wanted = sorted(numbers)
    rows: list[Any] = []
    for start in range(0, len(wanted), MOST_ASKED):
        part = wanted[start : start + MOST_ASKED]
        rows += connection.execute(query.where(column.in_(part))).all()
    return rows


def _count_answer(row: Any, said: Any, first: str, study: StudyDescription) -> Counted:
    is_drawn = row.kind == schema.PAIRED and row.how != CHOSEN
    return Counted(
        times=1 if said is row else -1,
        judge=row.judge,
        left=row.left_item,
        right=row.right_item,
        kind=row.kind,
        stratum=row.stratum,
        outcome=said.outcome,
        milliseconds=said.milliseconds,
        is_tested=is_drawn and said.outcome != "skip",
        whats=tuple(_kinds_of_answer(row, said.outcome, first, study)),
    )


def _count_undo(row: Any) -> Counted:
    """Return that an answer was taken back, which nothing takes back."""
    return Counted(
        times=1,
        judge=row.judge,
        left=0,
        right=0,
        kind=UNDO,
        stratum="",
        outcome=UNDO,
        milliseconds=None,
        is_tested=False,
        whats=(UNDO,),
    )


def _kinds_of_answer(row: Any, outcome: str, first: str, study: StudyDescription) -> Iterable[str]:
    """Describe what a judge did."""
    if row.kind == schema.ATTENTION:
        yield "passed" if study.is_expected(outcome, row.expected) else "failed"
        return
    yield "rated" if outcome.isdecimal() else outcome
    if row.repeats is not None and first and "skip" not in (first, outcome):
        yield "twice"
        if outcome == (SWAPPED.get(first, first) if row.kind == schema.PAIRED else first):
            yield "same"


def code_judgments(rows: list[Counted]) -> CodedJudgments:
    """Return comparisons as the better item, the worse one, the judge and whether it is a tie."""
    right = np.array([one.outcome == "right" for one in rows], dtype=bool)
    left = np.array([one.left for one in rows], dtype=np.int64)
    other = np.array([one.right for one in rows], dtype=np.int64)
    return CodedJudgments(
        np.where(right, other, left),
        np.where(right, left, other),
        np.array([one.judge for one in rows], dtype=np.int64),
        np.array([one.outcome == "tie" for one in rows], dtype=bool),
    )
