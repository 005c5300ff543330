"""A study judged in a real browser: by keys, by touch, without scripts, offline, in two tabs.

What the browser showed and what was answered is compared with what the study's file holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from comparity.collect.store import open_store
from tests.browser.conftest import program, ran
from tests.collect.page_studies import CHECKS, write_study, write_words
from tests.collect.visitors import served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HERE = Path(__file__).parent
SECONDS = 240
CHOICES: dict[str, Any] = {"checks": CHECKS, "practices": 1, "break_every": 4}
FINISHED = "Thank you"
# What stands of each judge's answers, with the texts that were on either side.
STANDING = """
    select l.shown, r.shown, j.outcome, j.milliseconds
    from judgment j
    join assignment a on a.id = j.assignment
    join pair p on p.id = a.pair
    join item l on l.id = p.left_item
    join item r on r.id = p.right_item
    where p.booklet is not null
    order by j.id
"""


@dataclass(frozen=True)
class Session:
    """What the browser did, and what is stored of it."""

    result: dict[str, Any]
    said: list[str]
    foreign: list[str]
    stored: list[tuple[str, str, str]]
    milliseconds: list[int | None]

    @property
    def answers(self) -> list[tuple[str, str, str]]:
        return [(one["left"], one["right"], one["outcome"]) for one in self.result["answers"]]


Browse = Callable[..., Session]


@pytest.fixture
def browse(modules: Path, tmp_path: Path) -> Browse:
    """Return a function that serves a study and plays a scenario of ``collect.mjs`` in it."""
    words = [program("node"), str(HERE / "collect.mjs"), str(modules)]
    words += [program("chromium", "chromium-browser", "google-chrome")]

    def play(scenario: str, **choices: Any) -> Session:
        path = write_study(tmp_path / "study.db", **{**CHOICES, **choices})
        with open_store(path) as store:
            token = store.insert_judges(1, now=0.0)[0][1]
        with served(path) as address:
            folder = [os.environ.get("COMPARITY_PICTURES", "")]
            done = ran([*words, scenario, address, token, *folder], limit=SECONDS)
        assert done.returncode == 0, done.stderr[-2000:]
        with open_store(path) as store, store.owner.begin() as connection:
            rows = connection.execute(sa.text(STANDING)).all()
        stored = [(*json.loads(left), *json.loads(right), what) for left, right, what, _ in rows]
        return Session(
            **json.loads(done.stdout), stored=stored, milliseconds=[row[3] for row in rows]
        )

    return play


@pytest.mark.parametrize("scenario", ["keyboard", "touch", "no script"])
def test_a_whole_study_is_stored_as_it_was_seen(browse: Browse, scenario: str) -> None:
    session = browse(scenario)
    assert session.result["heading"] == FINISHED
    assert session.result["code"][0].strip() == "CODE-7"
    assert len(session.answers) == 6
    assert session.stored == session.answers
    has_times = [one is not None for one in session.milliseconds]
    assert has_times == [scenario != "no script"] * 6
    assert (session.said, session.foreign) == ([], [])


def test_answers_given_offline_are_kept_and_sent_once(browse: Browse) -> None:
    session = browse("offline")
    assert "Not yet sent: 2" in session.result["notice"]
    assert session.result["heading"] == FINISHED
    assert session.stored == session.answers
    assert len(session.stored) == 6


def test_an_answer_whose_confirmation_was_lost_is_stored_once(browse: Browse) -> None:
    session = browse("lost confirmation")
    assert session.result["sent"] == 2 + len(session.answers)
    assert session.result["heading"] == FINISHED
    assert len(session.stored) == 6


def test_answers_of_a_tab_that_was_closed_offline_are_sent_by_the_next(browse: Browse) -> None:
    session = browse("closed while offline")
    assert session.stored[1:] == session.answers
    assert len(session.stored) == 6


def test_two_tabs_share_the_pair_and_answer_it_once(browse: Browse) -> None:
    session = browse("tabs")
    first, second = session.result["same"]
    assert first == second
    assert session.result["heading"] == FINISHED
    assert len(session.stored) == 6


def test_undo_shows_the_last_pair_again_and_both_answers_are_kept(browse: Browse) -> None:
    session = browse("undo")
    pair = session.result["pair"]
    assert session.result["before"] == session.result["after"]
    sides = (pair["left"], pair["right"])
    assert session.stored[1:4] == [(*sides, "left"), (*sides, "undo"), (*sides, "right")]
    assert session.stored[4:] == session.answers
    assert len(session.stored) == 6 + 2


def test_another_device_goes_on_where_the_first_one_stopped(browse: Browse) -> None:
    session = browse("elsewhere")
    assert session.result["left"] == session.result["resumed"]
    assert session.stored == session.answers
    assert len(session.stored) == 6


HOSTILE = {
    "html": "<script>top.ran=1;parent.ran=1</script><img src=x onerror=top.ran=1>"
    "<svg onload=top.ran=1></svg><style>*{{position:fixed;inset:0}}</style>"
    '<a href="https://example.org/" target=_top>{}</a><form action="/undo" method=post></form>',
    "markdown": "<script>ran=1</script> ![x](https://example.org/x.png) [{}](javascript:ran=1)",
    "text": "</div><script>ran=1</script><img src=x onerror=ran=1>\u202e {}",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_items_run_nothing_and_ask_nobody(browse: Browse, kind: str) -> None:
    texts = [HOSTILE[kind].format(place) for place in range(12)]
    session = browse("hostile", texts=texts, kind=kind)
    assert session.result["heading"] == FINISHED
    assert session.result["ran"] is None
    assert session.foreign == []
    assert len(session.stored) == 6


@pytest.mark.parametrize("language", ["en", "de", "own.toml"])
def test_every_page_is_without_barriers_and_has_large_targets(
    browse: Browse, tmp_path: Path, language: str
) -> None:
    """Own words are in Hebrew letters: those pages run from right to left."""
    if language == "own.toml":
        language = str(write_words(tmp_path / language))
    text = "# Warehouse coordinator\n\nSix years in logistics.\n\n- forklift licence\n- first aid\n"
    texts = [f"{text}\n`file {place}`" for place in range(20)]
    session = browse(
        "pages", texts=texts, kind="markdown", open_link=True, judges=8, language=language
    )
    seen = session.result
    assert len(seen) == 6 * 13
    wrong = {name: one["violations"] for name, one in seen.items() if one["violations"]}
    assert wrong == {}
    assert {name: one["small"] for name, one in seen.items() if one["small"]} == {}
    assert {name: one["overflow"] for name, one in seen.items() if one["overflow"]} == {}
    assert min(len(one["passes"]) for one in seen.values()) > 12
    assert session.foreign == []


@pytest.mark.parametrize("scale", [7, 8, 9])
def test_scales_and_questionnaires_fit_small_screens_with_large_targets(
    browse: Browse, scale: int
) -> None:
    choices = {"consent": "", "instructions": "", "checks": (), "practices": 0, "break_every": 0}
    rated = {"task": "rate", "rating_question": "How good is it?", "scale": scale, "each": 2}
    session = browse(
        "rating pages", **choices, **rated, questionnaire=True, open_link=True, judges=8
    )
    seen = session.result
    assert len(seen) == 6 * 2
    assert {name: one["violations"] for name, one in seen.items() if one["violations"]} == {}
    assert {name: one["small"] for name, one in seen.items() if one["small"]} == {}
    assert {name: one["overflow"] for name, one in seen.items() if one["overflow"]} == {}
