"""What judges do, on both databases: nothing is lost, stored twice, or held for ever."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Thread

import pytest
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.joined_judge import Assignment, Judge, Receipt
from comparity.collect.store import Store, create_store, open_store
from comparity.errors import (
    AlreadyJoinedError,
    ClosedStudyError,
    LapsedAssignmentError,
    NoStudyError,
    NoSuchJudgeError,
    NotOpenError,
    OptionError,
    StudyExistsError,
    UnknownAssignmentError,
)
from tests.collect.conftest import MakeStore
from tests.collect.studies import NOW, small_items, small_study

LEASE = 30 * 60.0
numbers = count()


def judge_of(store: Store, token: str, now: float = NOW) -> Judge:
    found = store.judge_of(token, now=now)
    assert found is not None
    return found


def shown(store: Store, token: str, now: float = NOW) -> Assignment:
    found = store.next_assignment(judge_of(store, token, now), now=now)
    assert found is not None
    return found


def answer(
    store: Store, token: str, outcome: str = "left", now: float = NOW, client_id: str = ""
) -> Receipt:
    """Answer what is shown."""
    return store.insert_judgment(
        judge_of(store, token, now),
        assignment=shown(store, token, now).public_id,
        outcome=outcome,  # type: ignore[arg-type]
        client_id=client_id or f"client {next(numbers)}",
        milliseconds=1200,
        now=now,
    )


def finish(store: Store, token: str, now: float = NOW) -> int:
    """Answer all that is shown, and return how much that was."""
    for done in count():
        if store.next_assignment(judge_of(store, token, now), now=now) is None:
            return done
        answer(store, token, now=now)
    raise AssertionError


def rows(store: Store, table: sa.Table) -> list[sa.Row]:  # type: ignore[type-arg]
    with store.owner.begin() as connection:
        return list(connection.execute(sa.select(table).order_by(*table.primary_key)).all())


def tokens(store: Store, n: int, **choices: float) -> list[str]:
    return [token for _, token in store.insert_judges(n, now=NOW, **choices)]


def test_a_judge_sees_the_same_pair_until_it_is_judged(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    first = shown(store, token)
    assert shown(store, token) == first
    ahead = store.upcoming_assignment(judge_of(store, token), now=NOW)
    answer(store, token)
    assert ahead is not None
    assert shown(store, token).public_id == ahead.public_id != first.public_id


def test_all_that_was_planned_is_asked_once(make_store: MakeStore) -> None:
    store = make_store(practice=1, attention=1, attention_share=0.3, swapped_share=0.2)
    people = tokens(store, 3)
    for token in people:
        finish(store, token)
        assert judge_of(store, token).state == "done"
    planned = [one.id for one in rows(store, schema.PAIR) if one.kind != "practice"]
    answers = rows(store, schema.ANSWER)
    assert sorted(one.pair for one in answers if one.scope == 0) == sorted(planned)
    assert sum(one.scope != 0 for one in answers) == len(people)


def test_an_answer_sent_twice_is_stored_once(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    pair = shown(store, token).public_id
    sent = {"assignment": pair, "outcome": "right", "client_id": "c", "milliseconds": 5}
    judge = judge_of(store, token)
    receipts = [store.insert_judgment(judge, **sent, now=NOW + k) for k in range(3)]  # type: ignore[arg-type]
    assert [one.is_new for one in receipts] == [True, False, False]
    assert len(rows(store, schema.JUDGMENT)) == 1


def test_a_second_tab_changes_nothing(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    pair, judge = shown(store, token).public_id, judge_of(store, token)
    for client_id, outcome in (("tab 1", "left"), ("tab 2", "right")):
        store.insert_judgment(
            judge,
            assignment=pair,
            outcome=outcome,  # type: ignore[arg-type]
            client_id=client_id,
            milliseconds=None,
            now=NOW,
        )
    assert [one.outcome for one in rows(store, schema.JUDGMENT)] == ["left"]


def test_answers_sent_at_once_are_stored_once(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    pair, judge = shown(store, token).public_id, judge_of(store, token)

    def send(client_id: str) -> None:
        sent = {"assignment": pair, "client_id": client_id, "milliseconds": None, "now": NOW}
        store.insert_judgment(judge, outcome="left", **sent)  # type: ignore[arg-type]

    threads = [Thread(target=send, args=(f"tab {one % 3}",)) for one in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(rows(store, schema.JUDGMENT)) == 1


def test_undo_is_a_new_row_and_shows_the_pair_again(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    first = shown(store, token)
    answer(store, token, "left")
    again = store.insert_undo(judge_of(store, token), client_id="u", now=NOW)
    assert again == first
    answer(store, token, "right")
    logged = [(one.turn, one.outcome) for one in rows(store, schema.JUDGMENT)]
    assert logged == [(0, "left"), (1, "undo"), (2, "right")]
    assert len(rows(store, schema.ANSWER)) == 1


def test_an_undo_sent_twice_takes_back_one_answer(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    answer(store, token)
    answer(store, token)
    for _ in range(2):
        store.insert_undo(judge_of(store, token), client_id="u", now=NOW)
    assert judge_of(store, token).progress.done == 1


def test_nothing_is_undone_where_nothing_was_answered(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    first = shown(store, token)
    assert store.insert_undo(judge_of(store, token), client_id="u", now=NOW) == first
    assert not rows(store, schema.JUDGMENT)


def test_the_last_answer_of_all_can_be_undone(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    finish(store, token)
    assert store.insert_undo(judge_of(store, token), client_id="u", now=NOW) is not None
    assert judge_of(store, token).state == "judging"


def test_pairs_of_a_judge_who_stays_away_go_to_another(make_store: MakeStore) -> None:
    store = make_store(judges=1)
    away, other = tokens(store, 2)
    held = shown(store, away)
    answer(store, away)
    late = NOW + LEASE + 1
    assert store.next_assignment(judge_of(store, other), now=NOW + LEASE - 1) is None
    assert shown(store, other, late).left != held.left
    with pytest.raises(LapsedAssignmentError):
        store.insert_judgment(
            judge_of(store, away),
            assignment=store_assignments(store, 1)[1],
            outcome="left",
            client_id="late",
            milliseconds=1,
            now=late,
        )
    assert judge_of(store, other, late).progress.of == judge_of(store, away).progress.of - 1


def store_assignments(store: Store, judge: int) -> list[str]:
    """Return the public ids of what was given to a judge, in their order."""
    return [one.public_id for one in rows(store, schema.ASSIGNMENT) if one.judge == judge]


def test_a_late_answer_counts_where_nobody_else_took_the_pair(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    shown(store, token)
    assert answer(store, token, now=NOW + 100 * LEASE).is_new


@pytest.mark.parametrize("jump", [-1e9, -3600.0, 3600.0, 1e9])
def test_a_clock_that_jumps_loses_and_doubles_nothing(make_store: MakeStore, jump: float) -> None:
    store = make_store(judges=2, swapped_share=0)
    one, two = tokens(store, 2)
    answer(store, one)
    for now in (NOW + jump, NOW):
        answer(store, two, now=now)
        answer(store, one, now=now)
    for token in (one, two, one):
        finish(store, token)
    answers = Counter(row.pair for row in rows(store, schema.ANSWER))
    assert {*answers.values()} == {1}
    assert len(answers) == len(rows(store, schema.PAIR))


def test_a_lease_from_a_clock_that_was_ahead_holds_nothing(make_store: MakeStore) -> None:
    store = make_store(judges=1)
    one, two = tokens(store, 2)
    shown(store, one, NOW + 1e9)
    assert shown(store, two, NOW)


def test_only_known_tokens_open_the_study(make_store: MakeStore) -> None:
    store = make_store()
    (name, token), (_, other) = store.insert_judges(2, now=NOW, expires_at=NOW + 10)
    assert store.judge_of("forged", now=NOW) is None
    assert store.judge_of("", now=NOW) is None
    assert store.judge_of(token, now=NOW + 9) is not None
    assert store.judge_of(token, now=NOW + 11) is None
    store.revoke_judge(name, now=NOW)
    assert store.judge_of(token, now=NOW) is None
    assert store.judge_of(other, now=NOW) is not None


def test_tokens_are_kept_as_hashes(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    kept = [
        value
        for table in schema.METADATA.sorted_tables
        for row in rows(store, table)
        for value in row
    ]
    assert len(kept) > 100
    assert not any(token in str(value) for value in kept)


def test_assignments_of_others_and_of_nobody_are_refused(make_store: MakeStore) -> None:
    store = make_store()
    one, two = tokens(store, 2)
    pair = shown(store, one).public_id
    for guess in (pair, "nobody's", "1", ""):
        with pytest.raises(UnknownAssignmentError):
            store.insert_judgment(
                judge_of(store, two),
                assignment=guess,
                outcome="left",
                client_id=f"c {guess}",
                milliseconds=1,
                now=NOW,
            )
    assert not rows(store, schema.JUDGMENT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": "undo"},
        {"outcome": "up"},
        {"client_id": ""},
        {"client_id": "c" * 65},
        {"milliseconds": -1},
        {"milliseconds": 2**31},
    ],
)
def test_answers_that_are_none_are_refused(
    make_store: MakeStore, wrong: dict[str, object], address: str
) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    sent = {"outcome": "left", "client_id": "c", "milliseconds": 1, **wrong}
    with pytest.raises(OptionError):
        store.insert_judgment(
            judge_of(store, token),
            assignment=shown(store, token).public_id,
            now=NOW,
            **sent,  # type: ignore[arg-type]
        )


def test_ties_and_skips_are_refused_where_the_study_has_none(make_store: MakeStore) -> None:
    store = make_store(no_ties=True, no_skips=True)
    (token,) = tokens(store, 1)
    for outcome in ("tie", "skip"):
        with pytest.raises(OptionError):
            answer(store, token, outcome)


def test_a_judge_passes_through_all_states(make_store: MakeStore) -> None:
    store = make_store(consent="I agree", checks=1, practice=1, break_every=2)
    (token,) = tokens(store, 1)
    seen = [judge_of(store, token).state]
    store.record_consent(judge_of(store, token), now=NOW)
    seen.append(judge_of(store, token).state)
    assert store.record_comprehension(judge_of(store, token), passed=False, now=NOW) == 1
    assert store.record_comprehension(judge_of(store, token), passed=True, now=NOW) == 1
    seen.append(judge_of(store, token).state)
    told = answer(store, token)
    seen.append(judge_of(store, token).state)
    answer(store, token)
    answer(store, token)
    seen.append(judge_of(store, token).state)
    store.insert_event(judge_of(store, token), kind="rested", detail={}, now=NOW)
    seen.append(judge_of(store, token).state)
    finish(store, token)
    seen.append(judge_of(store, token).state)
    order = ["consent", "comprehension", "practice", "judging", "break", "judging", "done"]
    assert seen == order
    assert told.is_right in (True, False)
    assert told.note == "good is better"


def test_who_fails_the_check_twice_is_shown_nothing(make_store: MakeStore) -> None:
    store = make_store(checks=1)
    (token,) = tokens(store, 1)
    left = [
        store.record_comprehension(judge_of(store, token), passed=False, now=NOW) for _ in range(3)
    ]
    assert left == [1, 0, 0]
    assert judge_of(store, token).state == "excluded"
    assert store.record_comprehension(judge_of(store, token), passed=True, now=NOW) == 0
    assert judge_of(store, token).state == "excluded"
    assert store.next_assignment(judge_of(store, token), now=NOW) is None


def test_a_closed_study_takes_no_judgment_until_it_is_opened(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    answer(store, token)
    pair = shown(store, token).public_id
    store.close(now=NOW)
    assert judge_of(store, token).state == "closed"
    assert store.next_assignment(judge_of(store, token), now=NOW) is None
    sent = {"assignment": pair, "outcome": "left", "client_id": "c", "milliseconds": 1, "now": NOW}
    with pytest.raises(ClosedStudyError):
        store.insert_judgment(judge_of(store, token), **sent)  # type: ignore[arg-type]
    with pytest.raises(ClosedStudyError):
        store.insert_undo(judge_of(store, token), client_id="u", now=NOW)
    store.reopen(now=NOW)
    assert store.insert_judgment(judge_of(store, token), **sent).is_new  # type: ignore[arg-type]


def test_the_open_link_makes_one_judge_of_each_set_of_ids(make_store: MakeStore) -> None:
    store = make_store(open_link=True)
    token = store.insert_judge(external={"PROLIFIC_PID": "5f"}, now=NOW)
    assert shown(store, token)
    with pytest.raises(AlreadyJoinedError):
        store.insert_judge(external={"PROLIFIC_PID": "5f"}, now=NOW)
    assert store.insert_judge(external={}, now=NOW) != store.insert_judge(external={}, now=NOW)


def test_without_an_open_link_nobody_joins(make_store: MakeStore) -> None:
    store = make_store()
    with pytest.raises(NotOpenError):
        store.insert_judge(external={}, now=NOW)


def test_judges_beyond_the_plan_find_nothing_left(make_store: MakeStore) -> None:
    store = make_store(judges=1)
    one, two = tokens(store, 2)
    shown(store, one)
    assert store.next_assignment(judge_of(store, two), now=NOW) is None
    late = judge_of(store, two)
    assert (late.state, late.progress.done) == ("done", 0)


def test_later_waves_are_drawn_when_they_are_needed(make_store: MakeStore) -> None:
    store = make_store(judges=3, waves=3)
    people = tokens(store, 4)
    drawn = []
    for token in people:
        finish(store, token)
        drawn.append(len(rows(store, schema.BOOKLET)))
    assert drawn == [1, 2, 3, 3]


def test_pairs_that_come_back_are_swapped_and_seen_by_the_same_judge(make_store: MakeStore) -> None:
    store = make_store(swapped_share=0.3, each=10)
    for token in tokens(store, 3):
        finish(store, token)
    pairs = {one.id: one for one in rows(store, schema.PAIR)}
    who = {one.pair: one.judge for one in rows(store, schema.ANSWER)}
    again = [one for one in pairs.values() if one.repeats is not None]
    assert len(again) == 9
    for one in again:
        first = pairs[one.repeats]
        assert (one.left_item, one.right_item) == (first.right_item, first.left_item)
        assert who[one.id] == who[first.id]


def test_sides_are_balanced_for_every_judge(make_store: MakeStore) -> None:
    store = make_store(each=40, judges=4, swapped_share=0, n_items=60)
    groups = {one.id: one.sensitive for one in rows(store, schema.ITEM)}
    lefts: Counter[tuple[int, str]] = Counter()
    for one in rows(store, schema.PAIR):
        if groups[one.left_item] != groups[one.right_item]:
            lefts[one.booklet, groups[one.left_item]] += 1
    for booklet in {one for one, _ in lefts}:
        a, b = (n for (one, _), n in lefts.items() if one == booklet)
        assert abs(a - b) <= 1


def test_logs_cannot_be_changed(make_store: MakeStore) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    answer(store, token)
    for table in schema.LOGS[:2]:
        change = sa.update(table).values(judge=1)
        with pytest.raises(sa.exc.DBAPIError, match="is a log"), store.owner.begin() as connection:
            connection.execute(change)


def test_erasing_a_judge_leaves_nothing_of_them(make_store: MakeStore) -> None:
    store = make_store(open_link=True)
    token = store.insert_judge(external={"PROLIFIC_PID": "tell-tale-id"}, now=NOW)
    answer(store, token)
    (name,) = [one.name for one in rows(store, schema.JUDGE)]
    store.erase_judge(name, now=NOW)
    assert store.judge_of(token, now=NOW) is None
    left = [str(row) for table in schema.METADATA.sorted_tables for row in rows(store, table)]
    assert not any("tell-tale-id" in row for row in left)
    assert not rows(store, schema.JUDGMENT)
    assert not rows(store, schema.ASSIGNMENT)
    other = store.insert_judge(external={}, now=NOW)
    assert finish(store, other) == sum(one.booklet == 1 for one in rows(store, schema.PAIR))


def test_erasing_a_person_can_leave_the_judgments(make_store: MakeStore) -> None:
    store = make_store(open_link=True)
    token = store.insert_judge(external={"PROLIFIC_PID": "tell-tale-id"}, now=NOW)
    answer(store, token)
    (name,) = [one.name for one in rows(store, schema.JUDGE)]
    store.erase_judge(name, now=NOW, keep_judgments=True)
    assert len(rows(store, schema.JUDGMENT)) == 1
    assert not any("tell-tale-id" in str(row) for row in rows(store, schema.JUDGE))
    with pytest.raises(NoSuchJudgeError):
        store.erase_judge("nobody", now=NOW)


def test_a_study_is_never_overwritten(make_store: MakeStore, address: str) -> None:
    make_store()
    with pytest.raises(StudyExistsError):
        create_store(address, small_study(), small_items(), now=NOW)


def test_a_study_that_is_not_there_is_not_opened(tmp_path: object) -> None:
    with pytest.raises(NoStudyError):
        open_store(f"{tmp_path}/none.db")


def test_a_study_is_the_same_after_it_was_opened_again(make_store: MakeStore, address: str) -> None:
    store = make_store(practice=1)
    (token,) = tokens(store, 1)
    answer(store, token)
    held = shown(store, token)
    with open_store(address) as again:
        assert again.study == store.study
        assert shown(again, token) == held
        assert judge_of(again, token) == judge_of(store, token)


def test_a_study_that_cannot_be_drawn_leaves_nothing_behind(address: str) -> None:
    with pytest.raises(OptionError):
        create_store(address, small_study(each=5000), small_items(4), now=NOW)
    with pytest.raises(NoStudyError):
        open_store(address)
    create_store(address, small_study(), small_items(), now=NOW)
    with open_store(address) as store:
        assert tokens(store, 1)


def test_judges_who_come_at_once_hold_different_pairs(make_store: MakeStore) -> None:
    store = make_store(judges=8)
    people = tokens(store, 8)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda token: shown(store, token).public_id, people))
    assert len({*found}) == 8
    holders = [one.holder for one in rows(store, schema.BOOKLET)]
    assert sorted(holders) == list(range(1, 9))
