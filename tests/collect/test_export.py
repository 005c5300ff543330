"""What is exported is what was answered, in every layout and format, and our commands read it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from comparity.collect import schema
from comparity.collect.export import export_study
from comparity.collect.status import study_status
from comparity.collect.store import Store, open_store
from comparity.comparative.audit import audit_files, comparative_separation
from comparity.errors import EmptyTableError
from comparity.results.result import read_result
from comparity.tables.layouts import read_comparisons
from tests.collect.conftest import MakeStore
from tests.collect.studies import NOW
from tests.collect.test_store import answer, judge_of, rows, shown, tokens

CYCLE = ("left", "right", "tie", "left", "skip", "right")


def collect_answers(store: Store, judges: int = 3) -> list[tuple[str, str, str, str]]:
    """Judge everything; return evaluator, left, right and outcome as the judges saw them."""
    names = {one.shown: one.name for one in rows(store, schema.ITEM)}
    outcomes, given = count(), []
    for name, token in store.insert_judges(judges, now=NOW):
        while (pair := store.next_assignment(judge_of(store, token), now=NOW)) is not None:
            outcome = CYCLE[next(outcomes) % len(CYCLE)]
            answer(store, token, outcome)
            left, right = (
                names[json.dumps([one.text for one in side.shown])]
                for side in (pair.left, pair.right)
            )
            given.append((name, left, right, outcome))
    return given


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_comparisons_are_what_judges_answered(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(each=12)
    given = collect_answers(store)
    found = export_study(store, tmp_path / "out")
    written = [
        (one["evaluator"], one["left"], one["right"], one["winner"])
        for one in read_csv(tmp_path / "out" / "comparisons.csv")
    ]
    assert written == [one for one in given if one[3] != "skip"]
    assert found.n_ties == sum(one[3] == "tie" for one in given)
    others = read_csv(tmp_path / "out" / "other_answers.csv")
    assert len(others) == sum(one[3] == "skip" for one in given)


def test_every_row_has_time_probability_and_how_it_was_drawn(
    make_store: MakeStore, tmp_path: Path
) -> None:
    store = make_store(each=12)
    collect_answers(store)
    export_study(store, tmp_path)
    for one in read_csv(tmp_path / "comparisons.csv"):
        assert one["time"] == "2023-11-14T22:13:20.000Z"
        assert 0 < float(one["probability"]) < 1
        assert (one["how"], one["milliseconds"]) == ("random", "1200")
        assert one["swapped"] in ("true", "false")


@pytest.mark.parametrize("file_format", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("form", ["comparisons", "chosen", "arena"])
def test_every_layout_and_format_is_read_as_the_same_comparisons(
    sqlite_store: Store, tmp_path: Path, form: str, file_format: str
) -> None:
    given = [one for one in collect_answers(sqlite_store) if one[3] != "skip"]
    export_study(sqlite_store, tmp_path, form=form, file_format=file_format)
    table = read_comparisons(tmp_path / f"comparisons.{file_format}")
    named = ("better", "worse", "tied", "evaluator")
    read = [tuple(row) for row in zip(*(column_of(table, name) for name in named), strict=True)]
    wanted = [
        (right, left, False, who) if won == "right" else (left, right, won == "tie", who)
        for who, left, right, won in given
    ]
    assert Counter(read) == Counter(wanted)


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Any:
    from comparity.collect.store import create_store
    from tests.collect.studies import small_items, small_study

    path = tmp_path / "one.db"
    create_store(path, small_study(each=12), small_items(), now=NOW)
    with open_store(path) as store:
        yield store


def column_of(table: Any, name: str) -> list[Any]:
    import narwhals as nw

    frame = nw.from_native(table.frame).lazy().collect()
    return list(frame[name].to_list())


def test_the_verdict_from_the_export_is_that_of_the_answers(
    sqlite_store: Store, tmp_path: Path
) -> None:
    given = [one for one in collect_answers(sqlite_store) if one[3] in ("left", "right")]
    export_study(sqlite_store, tmp_path)
    read = audit_files(
        tmp_path / "comparisons.csv", tmp_path / "items.csv", score="s", sensitive=("sex",)
    )
    facts = {one.name: one for one in rows(sqlite_store, schema.ITEM)}
    order = sorted(facts)
    place = {name: number for number, name in enumerate(order)}
    better = [(b, w) if won == "left" else (w, b) for _, b, w, won in given]
    direct = comparative_separation(
        [(place[b], place[w]) for b, w in better],
        scores=[facts[name].score for name in order],
        sensitive_features=[json.loads(facts[name].sensitive)["sex"] for name in order],
        evaluators=[one[0] for one in given],
    )
    assert read.finding == direct.finding
    for one, two in zip(read.tests, direct.tests, strict=True):
        assert one.p_value == pytest.approx(two.p_value, nan_ok=True)
        assert one.gap == pytest.approx(two.gap, nan_ok=True)


def test_the_manifest_names_every_file_with_its_hash(sqlite_store: Store, tmp_path: Path) -> None:
    collect_answers(sqlite_store)
    home = tmp_path / "out"
    found = export_study(sqlite_store, home)
    manifest = json.loads((home / "manifest.json").read_text(encoding="utf-8"))
    hashes = {one["name"]: one["sha256"] for one in manifest["files"]}
    assert {*hashes, "manifest.json"} == {one.name for one in home.iterdir()}
    for name, sha256 in hashes.items():
        assert hashlib.sha256((home / name).read_bytes()).hexdigest() == sha256
    assert str(tmp_path) not in json.dumps(manifest)
    assert read_result(found.to_dict()) == found


def test_what_was_taken_back_is_not_exported(sqlite_store: Store, tmp_path: Path) -> None:
    (token,) = tokens(sqlite_store, 1)
    answer(sqlite_store, token, "left")
    sqlite_store.insert_undo(judge_of(sqlite_store, token), client_id="u", now=NOW)
    with pytest.raises(EmptyTableError):
        export_study(sqlite_store, tmp_path / "out")
    answer(sqlite_store, token, "right")
    export_study(sqlite_store, tmp_path / "out")
    assert [one["winner"] for one in read_csv(tmp_path / "out" / "comparisons.csv")] == ["right"]


def answer_attention(store: Store, token: str, *, well: bool) -> None:
    """Answer everything, attention pairs rightly or wrongly."""
    while (pair := store.next_assignment(judge_of(store, token), now=NOW)) is not None:
        good = pair.left.shown[0].text == "pick this"
        known = good or pair.right.shown[0].text == "pick this"
        answer(store, token, "left" if not known or good == well else "right")


def test_judges_who_fail_attention_pairs_are_marked_and_kept(
    make_store: MakeStore, tmp_path: Path
) -> None:
    store = make_store(attention=1, attention_share=0.3, each=10)
    good, bad = tokens(store, 2)
    answer_attention(store, good, well=True)
    answer_attention(store, bad, well=False)
    kept = export_study(store, tmp_path)
    flags = {one["evaluator"]: one["flagged"] for one in read_csv(tmp_path / "comparisons.csv")}
    assert flags == {"judge 1": "false", "judge 2": "true"}
    assert (kept.n_flagged, kept.n_dropped) == (1, 0)
    fewer = export_study(store, tmp_path, drop_flagged=True)
    assert fewer.n_judgments + fewer.n_dropped == kept.n_judgments
    assert fewer.n_dropped > 0
    judges = read_csv(tmp_path / "judges.csv")
    assert [one["attention_passed"] for one in judges] == ["3", "0"]
    assert [one["attention_failed"] for one in judges] == ["0", "3"]


def test_status_counts_what_was_answered(make_store: MakeStore) -> None:
    store = make_store(each=12)
    given = collect_answers(store)
    told = study_status(store)
    outcomes = Counter(one[3] for one in given)
    assert told.judged == outcomes.total() - outcomes["skip"]
    assert (told.ties, told.skipped) == (outcomes["tie"], outcomes["skip"])
    assert told.planned == len(given)
    by_judge = Counter(one[0] for one in given)
    assert {one.name: one.answered for one in told.judges} == by_judge
    for one in told.judges:
        sides = Counter(won for who, _, _, won in given if who == one.name)
        assert one.left_share == sides["left"] / (sides["left"] + sides["right"])
        assert one.seconds == 1.2
    assert sum(one.judged for one in told.strata) == told.judged
    assert read_result(told.to_dict()) == told


def test_a_copy_of_a_running_study_is_a_study(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(practice=1)
    (token,) = tokens(store, 1)
    answer(store, token)
    answer(store, token)
    store.backup(tmp_path / "copy.db")
    answer(store, token)
    with open_store(tmp_path / "copy.db") as copy:
        assert judge_of(copy, token).progress.done == 1
        assert shown(copy, token).left
        answer(copy, token)
        assert rows(copy, schema.JUDGMENT)[:2] == rows(store, schema.JUDGMENT)[:2]


def test_erased_ids_are_not_in_the_bytes_of_the_file(tmp_path: Path) -> None:
    from comparity.collect.store import create_store
    from tests.collect.studies import small_items, small_study

    path = tmp_path / "one.db"
    create_store(path, small_study(open_link=True), small_items(), now=NOW)
    with open_store(path) as store:
        store.insert_judge(external={"PROLIFIC_PID": "tell-tale-id"}, now=NOW)
        held = b"".join(one.read_bytes() for one in tmp_path.glob("one.db*"))
        assert b"tell-tale-id" in held
        (name,) = [one.name for one in rows(store, schema.JUDGE)]
        store.erase_judge(name, now=NOW)
        held = b"".join(one.read_bytes() for one in tmp_path.glob("one.db*"))
    assert b"tell-tale-id" not in held


def test_data_that_identify_are_erased_after_the_retention_date(make_store: MakeStore) -> None:
    store = make_store(open_link=True, retention_days=30)
    old = store.insert_judge(external={"PROLIFIC_PID": "old-id"}, now=NOW)
    answer(store, old)
    store.insert_judge(external={"PROLIFIC_PID": "new-id"}, now=NOW + 20 * 86_400)
    assert len(store.erase_expired(now=NOW + 31 * 86_400)) == 1
    assert [one.external for one in rows(store, schema.JUDGE)] == [
        "{}",
        '{"PROLIFIC_PID": "new-id"}',
    ]
    assert len(rows(store, schema.JUDGMENT)) == 1
    assert store.erase_expired(now=NOW + 31 * 86_400) == []
