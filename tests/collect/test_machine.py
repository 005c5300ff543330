"""A state machine over judges, lapses, undo, pauses and closing, against a plain model."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from comparity.collect import schema
from comparity.collect.joined_judge import Judge
from comparity.collect.kept_counts import KeptCounts
from comparity.collect.monitor import STOPPED
from comparity.collect.store import create_store, open_store
from comparity.errors import (
    ClosedStudyError,
    LapsedAssignmentError,
    PausedStudyError,
    UnknownAssignmentError,
)
from tests.collect.studies import NOW, small_items, small_study
from tests.collect.test_kept_counts import check as check_kept

LEASE = 1800.0
OUTCOMES = ("left", "right", "tie", "skip")
RATINGS = {"left": "1", "right": "7", "tie": "4"}
"""What a judge who rates says instead."""
people = st.integers(0, 3)


class StudyMachine(RuleBasedStateMachine):
    """Four judges of a study for three, of whom each may do anything at any time.

    The model is a list of what was acknowledged: for each judge the answers that stand, in their
    order, and the rows that were logged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = NOW
        self.closed = self.paused = False
        self.numbers = count()
        self.stands: dict[int, list[tuple[str, str]]] = {one: [] for one in range(4)}
        self.sent: list[tuple[int, str, str, str]] = []
        self.seen: dict[int, set[str]] = {one: set() for one in range(4)}
        # In the order in which they were shown: ids are random, and examples are to be repeated.
        self.everything: list[str] = []
        self.n_rows = 0
        self.surveyed: set[int] = set()

    @initialize(
        practice=st.integers(0, 1),
        waves=st.integers(1, 2),
        swapped=st.sampled_from([0, 0.3]),
        task=st.sampled_from(["compare", "rate", "both"]),
        questionnaire=st.booleans(),
    )
    def make(
        self, practice: int, waves: int, swapped: float, task: str, questionnaire: bool
    ) -> None:
        drawn = {"waves": waves, "swapped_share": swapped, "task": task, "each": 4}
        asked = {"rating_question": "How good?", "questionnaire": questionnaire}
        study = small_study(practice=practice, **drawn, **asked)
        path = self.folder / "study.db"
        create_store(path, study, small_items(12), now=NOW)
        self.store = open_store(path)
        self.tokens = [token for _, token in self.store.insert_judges(4, now=NOW)]

    def judge(self, who: int) -> Judge:
        found = self.store.judge_of(self.tokens[who], now=self.clock)
        assert found is not None
        return found

    @rule(who=people)
    def look(self, who: int) -> None:
        shown = self.store.next_assignment(self.judge(who), now=self.clock)
        ahead = self.store.upcoming_assignment(self.judge(who), now=self.clock)
        assert not ((self.closed or self.paused) and shown)
        for one in (shown, ahead):
            if one is not None:
                assert one.public_id not in {pair for pair, _ in self.stands[who]}
                self.seen[who].add(one.public_id)
                if one.public_id not in self.everything:
                    self.everything.append(one.public_id)

    @rule(who=people, outcome=st.sampled_from(OUTCOMES), data=st.data())
    @precondition(lambda self: self.everything)
    def answer(self, who: int, outcome: str, data: st.DataObject) -> None:
        """Answer anything that anybody was ever shown."""
        pair = data.draw(st.sampled_from(self.everything))
        client_id = f"client {next(self.numbers)}"
        self.send(who, pair, outcome, client_id)

    @rule(data=st.data())
    @precondition(lambda self: self.sent)
    def repeat(self, data: st.DataObject) -> None:
        """Send again what was sent before."""
        who, pair, outcome, client_id = data.draw(st.sampled_from(self.sent))
        before = self.n_rows
        self.send(who, pair, outcome, client_id)
        assert self.n_rows == before

    def send(self, who: int, pair: str, outcome: str, client_id: str) -> None:
        outcome = self.meant(who, outcome)
        standing = {one for one, _ in self.stands[who]}
        again = (who, client_id) in {(a, c) for a, _, _, c in self.sent}
        try:
            receipt = self.store.insert_judgment(
                self.judge(who),
                assignment=pair,
                outcome=outcome,
                client_id=client_id,
                milliseconds=1,
                now=self.clock,
            )
        except UnknownAssignmentError:
            assert pair not in self.seen[who]
        except ClosedStudyError:
            assert self.closed
        except LapsedAssignmentError:
            assert pair not in standing
            assert not again
        else:
            assert receipt.is_new == (pair not in standing and not again)
            if receipt.is_new:
                self.stands[who].append((pair, outcome))
                self.sent.append((who, pair, outcome, client_id))
                self.n_rows += 1

    def meant(self, who: int, outcome: str) -> str:
        """Return an answer that the judge's task offers."""
        is_rating = self.judge(who).task == "rate" and outcome in RATINGS
        return RATINGS[outcome] if is_rating else outcome

    @rule(who=people)
    def survey(self, who: int) -> None:
        """Say something of the effort, which is kept once and changes no answer."""
        before = self.judge(who)
        self.store.record_survey(before, answers={"thinking": 3}, now=self.clock)
        self.surveyed.add(who)
        after = self.judge(who)
        assert (after.progress, after.practised) == (before.progress, before.practised)
        assert after.state != "questionnaire"
        assert after.task == before.task

    @rule(who=people)
    def undo(self, who: int) -> None:
        before = self.judge(who)
        try:
            self.store.insert_undo(before, client_id=f"client {next(self.numbers)}", now=self.clock)
        except ClosedStudyError:
            assert self.closed
            return
        except PausedStudyError:
            assert self.paused
            return
        assert not self.paused
        after = self.judge(who)
        if (after.progress.done, after.practised) != (before.progress.done, before.practised):
            self.stands[who].pop()
            self.n_rows += 1

    @rule(seconds=st.sampled_from([1.0, LEASE + 1, -1.0, -2 * LEASE, 1e9, -1e9]))
    def jump(self, seconds: float) -> None:
        self.clock += seconds

    @rule()
    def close(self) -> None:
        self.store.close(now=self.clock)
        self.closed = True

    @rule()
    @precondition(lambda self: self.closed)
    def reopen(self) -> None:
        self.store.reopen(now=self.clock)
        self.closed = False

    @rule()
    def pause(self) -> None:
        """Show nothing, but keep answers to what is shown."""
        self.store.pause(now=self.clock)
        self.paused = True

    @rule()
    @precondition(lambda self: self.paused)
    def resume(self) -> None:
        self.store.resume(now=self.clock)
        self.paused = False

    @rule()
    def stop_by_rule(self) -> None:
        """Close as a study does that is decided."""
        self.store.close(now=self.clock, kind=STOPPED)
        self.closed = True

    @rule()
    def count(self) -> None:
        """Bring the counts up to date, now and then."""
        with KeptCounts(self.store) as kept:
            check_kept(self.store, kept.update())

    @rule()
    def restart(self) -> None:
        self.store.dispose()
        self.store = open_store(self.folder / "study.db")

    @invariant()
    def what_was_acknowledged_is_there_and_nothing_else(self) -> None:
        if not hasattr(self, "store"):
            return
        assignment, judgment, answer = schema.ASSIGNMENT.c, schema.JUDGMENT.c, schema.ANSWER.c
        with self.store.owner.begin() as connection:
            kept = connection.execute(
                sa.select(answer.judge, assignment.public_id, judgment.outcome)
                .join(schema.JUDGMENT, judgment.id == answer.judgment)
                .join(schema.ASSIGNMENT, assignment.id == judgment.assignment)
                .order_by(judgment.id)
            ).all()
            n_rows = connection.execute(
                sa.select(sa.func.count()).select_from(schema.JUDGMENT)
            ).scalar_one()
        assert n_rows == self.n_rows
        for who in range(4):
            found = [(pair, outcome) for judge, pair, outcome in kept if judge == who + 1]
            assert found == self.stands[who]

    @invariant()
    def what_is_kept_beside_the_logs_follows_from_them(self) -> None:
        if hasattr(self, "store"):
            check_counts(self.store.owner)

    @invariant()
    def everybody_keeps_their_task_and_booklets_are_of_it(self) -> None:
        if not hasattr(self, "store"):
            return
        with self.store.owner.begin() as connection:
            booklets = {one.id: one for one in connection.execute(sa.select(schema.BOOKLET))}
            judges = {one.judge: one for one in connection.execute(sa.select(schema.PROGRESS))}
            kinds = connection.execute(sa.select(schema.PAIR.c.booklet, schema.PAIR.c.kind)).all()
            said = connection.execute(
                sa.select(schema.EVENT.c.judge).where(schema.EVENT.c.kind == "questionnaire")
            )
            assert sorted(said.scalars()) == sorted(who + 1 for who in self.surveyed)
        for one in judges.values():
            assert one.booklet is None or booklets[one.booklet].task == one.task
        for booklet, kind in kinds:
            if booklet is not None:
                assert (kind == "rating") == (booklets[booklet].task == "rate")

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.dispose()
        shutil.rmtree(self.folder)


def check_counts(engine: sa.Engine) -> None:
    """Compare answers, progress and booklets with what the logs say."""
    with engine.begin() as connection:
        judgments = connection.execute(sa.select(schema.JUDGMENT)).all()
        assignments = {one.id: one for one in connection.execute(sa.select(schema.ASSIGNMENT))}
        pairs = {one.id: one for one in connection.execute(sa.select(schema.PAIR))}
        answers = connection.execute(sa.select(schema.ANSWER)).all()
        progress = connection.execute(sa.select(schema.PROGRESS)).all()
        booklets = connection.execute(sa.select(schema.BOOKLET)).all()
    turns = Counter(one.assignment for one in judgments)
    # Answers and what takes them back follow each other.
    for one in judgments:
        assert (one.outcome == "undo") == (one.turn % 2 == 1)
    last = {one.assignment: one for one in sorted(judgments, key=lambda one: one.turn)}
    stands = {last[key].id for key, n in turns.items() if n % 2 == 1}
    assert stands == {one.judgment for one in answers}
    for one in answers:
        assert assignments[last_assignment(judgments, one.judgment)].pair == one.pair
    for one in progress:
        mine = [pairs[a.pair] for a in answers if a.judge == one.judge]
        assert one.answered == sum(pair.kind != "practice" for pair in mine)
        assert one.practised == sum(pair.kind == "practice" for pair in mine)
    held = Counter(one.holder for one in booklets if one.holder is not None)
    assert all(n == 1 for n in held.values())


def last_assignment(judgments: list[sa.Row], judgment: int) -> int:  # type: ignore[type-arg]
    return next(int(one.assignment) for one in judgments if one.id == judgment)


def run_machine(examples: int, steps: int) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        StudyMachine,
        settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None),
    )


@pytest.mark.long
def test_no_order_of_events_loses_or_doubles_an_answer() -> None:
    run_machine(8, 25)


@pytest.mark.slow
def test_no_order_of_many_events_loses_or_doubles_an_answer() -> None:
    run_machine(300, 60)
