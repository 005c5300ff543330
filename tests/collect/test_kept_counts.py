"""Counts that are kept are those of the exported tables, whatever was answered and taken back."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from comparity.collect import kept_counts, schema
from comparity.collect.database import counts_file
from comparity.collect.export import export_study, select_answers, select_judges
from comparity.collect.kept_counts import CountedStudy, KeptCounts
from comparity.collect.status import study_status
from comparity.collect.store import Store
from comparity.comparative.audit import audit_files
from tests.collect.conftest import MakeStore
from tests.collect.studies import NOW
from tests.collect.test_store import judge_of, numbers, shown, tokens

TASTE = {"swapped_share": 0.3, "attention_share": 0.2, "attention": 1, "practice": 1}


def act(store: Store, token: str, rng: random.Random, *, undo: float = 0.2) -> None:
    """Answer what is shown, at random, or take back the last answer."""
    judge = judge_of(store, token)
    if rng.random() < undo:
        store.insert_undo(judge, client_id=f"client {next(numbers)}", now=NOW)
        return
    pair = store.next_assignment(judge, now=NOW)
    if pair is not None:
        store.insert_judgment(
            judge,
            assignment=pair.public_id,
            outcome=rng.choice(store.study.outcomes_of(judge.task)),
            client_id=f"client {next(numbers)}",
            milliseconds=rng.choice([None, rng.randrange(300, 9000)]),
            now=NOW,
        )


def plain_counts(store: Store) -> dict[str, Any]:
    """Count the answers that stand, one by one."""
    with store.owner.begin() as connection:
        answers = select_answers(connection)
    judged = [one for one in answers if one["kind"] in ("pair", "rating")]
    names = {one["evaluator"] for one in answers if one["kind"] != "practice"}
    times = {
        name: [
            one["milliseconds"]
            for one in judged
            if one["evaluator"] == name and one["milliseconds"] is not None
        ]
        for name in names
    }
    items = Counter(
        name for one in judged if one["outcome"] != "skip" for name in {one["left"], one["right"]}
    )
    twins = [twin_of(one, judged) for one in judged if one["swapped"]]
    told = [one for one in twins if one is not None]
    return {
        "strata": Counter(
            (one["kind"], one["stratum"]) for one in judged if one["outcome"] != "skip"
        ),
        "medians": {name: median(found) for name, found in times.items() if found},
        "uses": (len(items), min(items.values(), default=0), max(items.values(), default=0)),
        "twice": Counter(who for who, _ in told),
        "same": Counter(who for who, alike in told if alike),
    }


def twin_of(one: dict[str, Any], judged: list[dict[str, Any]]) -> tuple[str, bool] | None:
    """Return who judged a pair twice, and whether alike; None where one answer was a skip."""
    first = next(
        two
        for two in judged
        if two["evaluator"] == one["evaluator"]
        and not two["swapped"]
        and {two["left"], two["right"]} == {one["left"], one["right"]}
    )
    if "skip" in (first["outcome"], one["outcome"]):
        return None
    # The item that was put first, or nothing; of ratings the point.
    told = [two.get(two["outcome"], two["outcome"]) for two in (first, one)]
    return one["evaluator"], told[0] == told[1]


def check(store: Store, counted: CountedStudy) -> None:
    with store.owner.begin() as connection:
        names = dict(connection.execute(sa.text("select id, name from judge")).all())
        judges = {one["evaluator"]: one for one in select_judges(connection, store.study)}
    plain = plain_counts(store)
    assert {k: n for k, n in counted.strata.items() if n} == dict(plain["strata"])
    assert {names[k]: t for k, t in counted.milliseconds.items()} == plain["medians"]
    assert tuple(counted.uses.values()) == plain["uses"]
    for number, did in counted.judges.items():
        name = names[number]
        assert did["twice"] == plain["twice"][name]
        assert did["same"] == plain["same"][name]
        passed = (judges[name]["attention_passed"], judges[name]["attention_failed"])
        assert (did["passed"], did["failed"]) == passed


@pytest.mark.long
@pytest.mark.parametrize("task", ["compare", "both"])
def test_counts_follow_answers_and_undo(make_store: MakeStore, task: str) -> None:
    choices = {"each": 14, "judges": 4, "task": task, "rating_question": "How good?"}
    store, rng = make_store(**TASTE, **choices, n_items=14), random.Random(3)
    everyone = tokens(store, 4)
    with KeptCounts(store) as kept:
        for _ in range(8):
            for token in everyone * rng.randrange(1, 4):
                act(store, token, rng)
            check(store, kept.update())
    with KeptCounts(store) as anew:
        anew.path.unlink(missing_ok=True)
        check(store, anew.update())


@pytest.mark.long
def test_the_verdict_is_that_of_the_exported_tables(make_store: MakeStore, tmp_path: Path) -> None:
    choices = {"each": 60, "judges": 4, "margin": 0.1, "alpha": 0.1, "seed": 2}
    store, rng = make_store(**TASTE, **choices, n_items=40), random.Random(5)
    everyone = tokens(store, 4)
    with KeptCounts(store) as kept:
        for _ in range(5):
            for token in everyone * 9:
                act(store, token, rng, undo=0.05)
            audit = kept.update().audit
    export_study(store, tmp_path)
    asked = {"score": "s", "sensitive": ("sex",), "anytime": True, "margin": 0.1, "alpha": 0.1}
    once = audit_files(tmp_path / "comparisons.csv", tmp_path / "items.csv", **asked)
    assert audit is not None
    assert (audit.n, audit.finding, audit.n_items) == (once.n, once.finding, once.n_items)
    assert [str(one.of) for one in audit.rates] == [str(one.of) for one in once.rates]
    for ours, theirs in zip(audit.tests, once.tests, strict=True):
        assert (ours.null, ours.n, ours.needed) == (theirs.null, theirs.n, theirs.needed)
        np.testing.assert_allclose(ours.test_interval, theirs.test_interval, rtol=1e-9)
    assert [look.n for look in audit.history] == sorted({look.n for look in audit.history})
    assert audit.history[-1].n == audit.n + audit.ties.judgments
    assert len(audit.history) >= 5


def test_counts_of_something_else_are_made_anew(make_store: MakeStore, address: str) -> None:
    store = make_store()
    (token,) = tokens(store, 1)
    act(store, token, random.Random(0), undo=0)
    file = counts_file(address)
    if file is None:
        pytest.skip("of files")
    for content in (b"", b"no database at all, and longer than a header of SQLite" * 100):
        file.write_bytes(content)
        assert study_status(store).judges[0].answered == 1
    with KeptCounts(store) as kept:
        assert sum(kept.update().judges[1].values()) >= 1
    store.erase_judge("judge 1", now=NOW)
    assert not file.exists()
    assert study_status(store).judged == 0


@pytest.mark.long
def test_a_judgment_that_is_committed_after_later_ones_is_counted_once(
    make_store: MakeStore, address: str
) -> None:
    store = make_store()
    if store.owner.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer")
    first, second = tokens(store, 2)
    waiting = shown(store, first).public_id
    assignment = sa.text("select id, judge from assignment where public_id = :one")
    with KeptCounts(store) as kept, store.owner.connect() as late, late.begin() as held:
        row = late.execute(assignment, {"one": waiting}).one()
        told = {"turn": 0, "outcome": "left", "client_id": "late", "at": NOW, "milliseconds": 5}
        late.execute(sa.insert(schema.JUDGMENT), {"assignment": row.id, "judge": row.judge, **told})
        act(store, second, random.Random(0), undo=0)
        assert {*kept.update().judges} == {row.judge + 1}
        held.commit()
        for _ in range(2):
            assert kept.update().judges[row.judge]["left"] == 1


def test_a_large_study_is_counted_in_steps(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_counts, "FEWEST_AT_ONCE", 2)
    store, rng = make_store(each=12), random.Random(1)
    (token,) = tokens(store, 1)
    for _ in range(12):
        act(store, token, rng, undo=0)
    with KeptCounts(store) as kept:
        begun = kept.update(budget=0)
        assert (begun.counted, begun.is_complete) == (2, False)
        done = kept.update()
        assert done.is_complete
        check(store, done)


def test_looks_are_equally_far_apart_whatever_is_counted_at_once(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FEWEST_AT_ONCE", 1), ("MOST_AT_ONCE", 3), ("LOOKS", 4)):
        monkeypatch.setattr(kept_counts, name, value)
    store, rng = make_store(each=24, no_skips=True), random.Random(1)
    (token,) = tokens(store, 1)
    for _ in range(24):
        act(store, token, rng, undo=0)
    with KeptCounts(store) as kept:
        assert kept.update(budget=0).counted == 3
        done = kept.update()
    assert done.audit is not None
    assert [look.n for look in done.audit.history] == [6, 12, 18, 24]
