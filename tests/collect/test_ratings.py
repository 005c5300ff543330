"""Ratings beside comparisons: who does which, what is shown, kept and exported."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from comparity.collect import schema
from comparity.collect.export import export_study
from comparity.collect.pages import QUESTIONS
from comparity.collect.pairing import draw_ratings, judges_of, task_of
from comparity.collect.rendering import known_languages, read_words
from comparity.collect.status import study_status
from comparity.collect.store import create_store, open_store
from comparity.errors import OptionError
from tests.collect.conftest import MakeStore
from tests.collect.page_studies import SECRETS, write_study
from tests.collect.studies import NOW, small_items, small_study
from tests.collect.test_pages import Site
from tests.collect.test_programs import Program
from tests.collect.test_store import answer, judge_of, rows, shown, tokens

ASKED = {"rating_question": "How good is it?", "task": "rate"}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    choices = {**ASKED, "consent": "", "instructions": "", **getattr(request, "param", {})}
    with open_store(write_study(tmp_path / "study.db", **choices)) as store:
        yield Site(store)


def study(**choices: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("site", [choices], indirect=True, ids=["study"])


def test_tasks_are_balanced_in_every_four_and_their_order_varies() -> None:
    both = small_study(**{**ASKED, "task": "both"}, judges=40)
    tasks = [task_of(both, number) for number in range(1, 401)]
    blocks = [tuple(tasks[at : at + 4]) for at in range(0, 400, 4)]
    assert {Counter(one)["rate"] for one in blocks} == {2}
    # Six orders of two and two; 100 blocks show all of them unless one is never drawn.
    assert len({*blocks}) == 6
    assert judges_of(both, "rate") + judges_of(both, "compare") == 40


def test_every_judge_of_an_odd_number_finds_work(make_store: MakeStore) -> None:
    store = make_store(**{**ASKED, "task": "both"}, judges=7, each=4)
    for token in tokens(store, 7):
        assert shown(store, token).task == judge_of(store, token).task
    assigned = [one for one in rows(store, schema.EVENT) if one.kind == "assigned"]
    found = {one.judge: json.loads(one.detail)["task"] for one in assigned}
    assert found == {one.judge: one.task for one in rows(store, schema.PROGRESS)}


def test_items_are_drawn_evenly_within_groups_and_repeats_come_later() -> None:
    asked = small_study(**ASKED, each=12, swapped_share=0.25)
    groups = ["a"] * 10 + ["b"] * 30
    drawn = draw_ratings(asked, 20, groups=groups, rated={}, rng=np.random.default_rng(1))
    times = Counter(one.left for booklet in drawn for one in booklet if one.repeats is None)
    for group in "ab":
        mine = [times[place] for place in range(40) if groups[place] == group]
        assert max(mine) - min(mine) <= 1
    for booklet in drawn:
        fresh = [one for one in booklet if one.repeats is None]
        assert (len(fresh), len(booklet)) == (9, 12)
        assert len({one.left for one in fresh}) == 9
        by_group = Counter(groups[one.left] for one in fresh)
        assert abs(by_group["a"] - by_group["b"]) <= 1
        for place, one in enumerate(booklet):
            if one.repeats is not None:
                assert booklet[one.repeats].left == one.left
                assert one.repeats < 9 // 2 <= place


def test_ratings_are_stored_undone_and_exported(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(**ASKED, each=8, swapped_share=0.25)
    (token,) = tokens(store, 1)
    names = {one.shown: one.name for one in rows(store, schema.ITEM)}
    answer(store, token, "3")
    store.insert_undo(judge_of(store, token), client_id="u", now=NOW)
    given = []
    for rating in "45671234":
        item = shown(store, token)
        assert item.left == item.right
        given.append((names[json.dumps([item.left.shown[0].text])], rating))
        answer(store, token, rating)
    assert judge_of(store, token).state == "done"
    found = export_study(store, tmp_path)
    kept = read_csv(tmp_path / "ratings.csv")
    assert [(one["item"], one["rating"]) for one in kept] == given
    assert sum(one["repeated"] == "True" for one in kept) == 2
    assert (found.n_ratings, found.n_judgments) == (8, 8)
    assert [one["task"] for one in read_csv(tmp_path / "judges.csv")] == ["rate"]
    assert not (tmp_path / "comparisons.csv").exists()
    assert "ratings.csv" in (tmp_path / "manifest.json").read_text(encoding="utf-8")
    assert study_status(store).judged == 8


def test_a_rating_off_the_scale_or_of_the_other_task_is_refused(make_store: MakeStore) -> None:
    store = make_store(**ASKED, scale=5)
    (token,) = tokens(store, 1)
    for odd in ("0", "6", "05", "left", "tie", "5.0", "٣"):
        with pytest.raises(OptionError, match="'5'"):
            answer(store, token, odd)
    assert answer(store, token, "5").is_new


@pytest.mark.parametrize(
    ("expected", "passing"), [("high", ["5", "6", "7"]), ("low", ["1", "2", "3"])]
)
def test_a_known_item_passes_in_its_half_of_the_scale(expected: str, passing: list[str]) -> None:
    asked = small_study(**ASKED, scale=7)
    outcomes = asked.outcomes_of("rate")
    assert [one for one in outcomes if asked.is_expected(one, expected)] == passing


def test_attention_is_counted_for_raters(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(**ASKED, each=10, attention=1, attention_share=0.3, practice=1)
    (token,) = tokens(store, 1)
    seen = 0
    while (item := store.next_assignment(judge_of(store, token), now=NOW)) is not None:
        text = item.left.shown[0].text
        receipt = answer(store, token, "7" if text in ("pick this", "good") else "1")
        assert receipt.is_right is (True if text in ("good", "bad") else None)
        seen += text in ("pick this", "not this")
    export_study(store, tmp_path)
    (judge,) = read_csv(tmp_path / "judges.csv")
    assert (judge["attention_passed"], judge["attention_failed"]) == (str(seen), "0")
    assert seen == 3


def test_a_study_from_before_ratings_is_brought_to_this_version(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    create_store(path, small_study(), small_items(), now=NOW)
    with sqlite3.connect(path) as old:
        for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            old.execute(f"DROP VIEW {name}")
        old.execute("ALTER TABLE booklet DROP COLUMN task")
        old.execute("ALTER TABLE progress DROP COLUMN task")
        old.execute("ALTER TABLE progress DROP COLUMN surveyed_at")
        for column in ("paused_at", "password"):
            old.execute(f"ALTER TABLE study DROP COLUMN {column}")
        old.execute("DROP TABLE session")
        old.execute("DROP INDEX ix_pair_pair_key")
        old.execute("UPDATE alembic_version SET version_num = '0001'")
    old.close()
    with open_store(path) as store:
        (token,) = tokens(store, 1)
        assert answer(store, token).is_new
        assert judge_of(store, token).task == "compare"


# Pages


@study(practices=1, break_every=3, questionnaire=True, low_label="weak", high_label="strong")
def test_a_whole_study_of_ratings_by_plain_forms(site: Site, tmp_path: Path) -> None:
    visitor = site.visitor()
    assert visitor.page.heading == "How good is it?"
    visitor.press("/judgment", outcome="4")
    assert "<strong>longer</strong>" in visitor.response.text
    visitor.open("/")
    n = 0
    while "How was it" not in visitor.page.heading:
        if "break" in visitor.page.heading:
            visitor.press("/break")
        buttons = [value for _, value in visitor.form("/judgment").buttons]
        assert buttons == [*"1234567", "skip"]
        assert ("weak" in visitor.response.text, "strong" in visitor.response.text) == (True, True)
        visitor.press("/judgment", outcome=str(n % 7 + 1))
        n += 1
    assert visitor.form("/questionnaire").choices == {key: [*"1234567"] for key in QUESTIONS}
    visitor.press("/questionnaire", thinking="6", hurry="9", difficulty="2")
    assert "Thank you" in visitor.page.heading
    assert "CODE-7" in visitor.response.text
    export_study(site.store, tmp_path / "out")
    said = [
        (one["question"], one["answer"]) for one in read_csv(tmp_path / "out/questionnaire.csv")
    ]
    assert said == [("thinking", "6"), ("difficulty", "2")]
    assert len(read_csv(tmp_path / "out/ratings.csv")) == n == 6


@study(questionnaire=True, each=2)
def test_the_questionnaire_is_asked_once_after_work_and_survives_anonymising(site: Site) -> None:
    visitor = site.visitor()
    form = visitor.form("/judgment").fields
    early = visitor.client.post("/questionnaire", data={"csrf": form["csrf"], "thinking": "1"})
    assert early.status_code == 200
    for _ in range(2):
        visitor.press("/judgment", outcome="1")
    visitor.press("/questionnaire", thinking="7")
    visitor.client.post("/questionnaire", data={"csrf": form["csrf"], "thinking": "1"})
    site.store.erase_judge("judge 1", keep_judgments=True, now=site.now)
    with site.store.owner.begin() as connection:
        query = sa.select(schema.EVENT.c.detail).where(schema.EVENT.c.kind == "questionnaire")
        said = connection.execute(query)
        assert [json.loads(one) for one in said.scalars()] == [{"thinking": 7}]


@study(questionnaire=True, each=2, judges=2)
def test_erasing_a_judge_erases_their_questionnaire_and_ratings(site: Site, tmp_path: Path) -> None:
    for thinking in "73":
        visitor = site.visitor()
        for _ in range(2):
            visitor.press("/judgment", outcome=thinking)
        visitor.press("/questionnaire", thinking=thinking)
    site.store.erase_judge("judge 1", now=site.now)
    export_study(site.store, tmp_path / "out")
    said = read_csv(tmp_path / "out/questionnaire.csv")
    assert [(one["evaluator"], one["answer"]) for one in said] == [("judge 2", "3")]
    assert {one["rating"] for one in read_csv(tmp_path / "out/ratings.csv")} == {"3"}
    events = [one for one in rows(site.store, schema.EVENT) if one.kind == "questionnaire"]
    assert [json.loads(one.detail) for one in events] == [{"thinking": 3}]


@study(task="both", judges=8)
def test_raters_and_comparers_see_their_own_question_and_no_secret(site: Site) -> None:
    seen = Counter()
    for _ in range(8):
        page = site.visitor()
        seen[page.page.heading] += 1
        assert not [one for one in SECRETS if one in page.response.text]
    assert seen == {"How good is it?": 4, "Which one is better?": 4}


def test_a_program_rates(site: Site) -> None:
    program = Program(site, site.token())
    item = program.get("next")["assignment"]
    assert (item["task"], len(item["item"]), item["outcomes"][:2]) == ("rate", 1, ["1", "2"])
    assert "left" not in item
    assert program.post("judgment", assignment=item["id"], outcome=5, client_id="client-1")[
        "is_new"
    ]
    assert program.judge("left")["error"] == "bad_form"
    assert site.outcomes() == ["5"]


@pytest.mark.parametrize("language", known_languages())
def test_every_language_has_the_questions(language: str) -> None:
    words = read_words(language)
    assert {*QUESTIONS} < {*words["questionnaire"]}
    assert {*words["rating"]} == {*read_words("en")["rating"]}


def test_a_rating_study_needs_its_question() -> None:
    with pytest.raises(OptionError, match="rating_question"):
        small_study(task="both")
    assert small_study(**ASKED, question="").question_of("rate") == "How good is it?"
