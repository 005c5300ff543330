"""The dashboard in a real browser: it moves while answers arrive, and has no barriers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comparity.collect.store import open_store
from tests.browser.conftest import program, ran
from tests.collect.filling import fill, make_large
from tests.collect.page_studies import write_study
from tests.collect.visitors import served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HERE = Path(__file__).parent
PASSWORD = "correct horse battery"
SECONDS = 300

Play = Callable[[str, Path], dict[str, Any]]


@pytest.fixture
def play(modules: Path) -> Play:
    """Return a function that serves a study and plays a scenario of ``collect.mjs`` in it."""
    words = [program("node"), str(HERE / "collect.mjs"), str(modules)]
    words += [program("chromium", "chromium-browser", "google-chrome")]

    def found(scenario: str, path: Path) -> dict[str, Any]:
        with open_store(path) as store:
            store.set_password(PASSWORD, now=0.0)
        folder = [os.environ.get("COMPARITY_PICTURES", "")]
        with served(path) as address:
            done = ran([*words, scenario, address, PASSWORD, *folder], limit=SECONDS)
        assert done.returncode == 0, done.stderr[-2000:]
        session: dict[str, Any] = json.loads(done.stdout)
        assert session["foreign"] == []
        return session

    return found


def test_the_dashboard_moves_while_answers_arrive(play: Play, tmp_path: Path) -> None:
    choices = {"consent": "", "instructions": "", "open_link": True}
    path = write_study(tmp_path / "study.db", **choices)
    session = play("dashboard", path)
    seen = session["result"]
    assert seen["counted"] == ["0", "1", "2", "3"]
    assert seen["mark"] == "same page"
    assert "paused" in seen["paused"]
    assert seen["resumed"]
    assert "closed" in seen["closed"]
    assert seen["plain"] == "3"
    assert session["said"] == []


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_dashboard_has_no_barriers_and_large_targets(
    play: Play, tmp_path: Path, language: str
) -> None:
    path = tmp_path / "study.db"
    make_large(str(path), 100, language=language)
    with open_store(path) as store:
        fill(store, 800, judges=12, gap=0.3)
    seen = play("dashboard pages", path)["result"]
    assert len(seen) == 6 * 2 + 2
    assert {name: one["violations"] for name, one in seen.items() if one["violations"]} == {}
    assert {name: one["small"] for name, one in seen.items() if one["small"]} == {}
    assert {name: one["overflow"] for name, one in seen.items() if one["overflow"]} == {}
    assert min(len(one["passes"]) for one in seen.values()) > 12
