"""States that are kept: real files, real processes that are killed, two writers at once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.comparative.audit import audit_files
from comparity.comparative.state import add_judgments
from comparity.errors import (
    EmptyTableError,
    MissingValueError,
    OptionError,
    SelfComparisonError,
    StateChangedError,
    StateFileError,
    UnknownItemError,
)
from comparity.results.audit import Audit

CHOICES: dict[str, Any] = {"score": "model", "sensitive": ("sex",), "anytime": True}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Four daily files of 150 judgments, and the table of items."""
    rng = np.random.default_rng(5)
    quality, group = rng.normal(size=200), np.array(["f", "m"])[np.arange(200) % 2]
    score = quality + rng.normal(size=200) - 1.5 * (group == "f")
    lines = [f"i{k},{group[k]},{score[k]:.3f}" for k in range(200)]
    (tmp_path / "items.csv").write_text("\n".join(["item,sex,model", *lines]))
    for day in range(4):
        first = rng.integers(0, 200, 150)
        second = (first + rng.integers(1, 200, 150)) % 200
        swap = quality[first] < quality[second]
        rows = zip(np.where(swap, second, first), np.where(swap, first, second), strict=True)
        text = [f"i{a},i{b},{150 * day + k}" for k, (a, b) in enumerate(rows)]
        (tmp_path / f"day{day}.csv").write_text("\n".join(["better,worse,id", *text]))
    return tmp_path


def update(study: Path, day: int, **more: Any) -> Audit:
    state = str(study / "audit.state")
    given = CHOICES | {"state": state, "judgment": "id"} | more
    return audit_files(study / f"day{day}.csv", study / "items.csv", **given)


def numbers(audit: Audit) -> list[tuple[float, ...]]:
    return [(test.gap, test.p_value, *test.test_interval) for test in audit.tests]


def test_days_one_by_one_are_the_whole_at_once(study: Path) -> None:
    for day in range(4):
        kept = update(study, day)
    rows = [(study / f"day{day}.csv").read_text().splitlines() for day in range(4)]
    whole = [rows[0][0], *(row for one in rows for row in one[1:])]
    (study / "all.csv").write_text("\n".join(whole))
    once = audit_files(study / "all.csv", study / "items.csv", **CHOICES)
    assert kept.n == once.n == 600
    np.testing.assert_allclose(numbers(kept), numbers(once), rtol=1e-12)
    assert kept.finding == once.finding


def test_a_file_that_is_given_again_counts_once(study: Path) -> None:
    before = update(study, 0)
    again = update(study, 0)
    assert (before.n, again.n) == (150, 150)
    assert "150 were known already" in " ".join(again.notes)
    assert numbers(before) == numbers(again)


def test_rows_without_an_id_are_known_by_what_they_hold_and_how_often(study: Path) -> None:
    rows = (study / "day0.csv").read_text().splitlines()
    alike = [row.rpartition(",")[0] for row in rows]
    (study / "day0.csv").write_text("\n".join([*alike, alike[1]]))
    assert update(study, 0, judgment=None).n == 151
    assert update(study, 0, judgment=None).n == 151


def test_history_says_when_it_was_first_decided_and_is_drawn(study: Path) -> None:
    for day in range(4):
        audit = update(study, day)
    assert audit.finding == "violated"
    assert [look.n for look in audit.history] == sorted({look.n for look in audit.history})
    decided = [look.n for look in audit.history if look.finding == "violated"]
    assert audit.stopped_at == decided[0] < 600
    assert f"first decided after {audit.stopped_at} judgments" in str(audit)
    charts = list(audit.section().charts)
    assert charts[1].title == "The interval as judgments came in"
    assert Audit.from_dict(json.loads(json.dumps(audit.to_dict()))).stopped_at == audit.stopped_at


def test_a_program_adds_judgments_as_files_do(study: Path) -> None:
    update(study, 0)
    for day in (1, 2):
        rows = (study / f"day{day}.csv").read_text().splitlines()[1:]
        better, worse, ids = zip(*(row.split(",") for row in rows), strict=True)
        look = add_judgments(study / "audit.state", better, worse, ids=ids)
    whole = update(study, 2)
    assert (look.n, look.finding, whole.n) == (450, whole.finding, 450)
    np.testing.assert_allclose(look.gaps, [test.gap for test in whole.tests], rtol=1e-12)
    np.testing.assert_allclose(look.intervals, [test.deciding_interval for test in whole.tests])


def test_a_file_may_begin_with_pairs_of_one_group(study: Path) -> None:
    rows = [f"i{2 * k},i{2 * k + 2},{k}" for k in range(80)] + ["i1,i2,80"]
    (study / "day0.csv").write_text("\n".join(["better,worse,id", *rows]))
    assert update(study, 0).n == 81


def test_a_state_knows_its_items(study: Path) -> None:
    given = CHOICES | {"state": str(study / "audit.state"), "judgment": "id"}
    with pytest.raises(OptionError, match="begun with scores and groups"):
        audit_files(study / "day0.csv", **given)
    update(study, 0)
    assert audit_files(study / "day1.csv", **given).n == 300


@pytest.mark.parametrize(
    ("better", "worse", "choices", "error"),
    [
        (["i1", "i2"], ["i3", "new"], {"ids": [1, 2]}, UnknownItemError),
        (["i1", "i2"], ["i3", "i2"], {"ids": [1, 2]}, SelfComparisonError),
        (["i1", None], ["i3", "i2"], {"ids": [1, 2]}, MissingValueError),
        ([], [], {"ids": []}, EmptyTableError),
        (["i1"], ["i3"], {}, StateChangedError),
        (["i1"], ["i3"], {"ids": [1], "evaluators": ["me"]}, StateChangedError),
    ],
    ids=["unknown", "itself", "missing", "nothing", "without ids", "with evaluators"],
)
def test_what_cannot_be_added_leaves_the_state_as_it_was(
    study: Path,
    better: list[Any],
    worse: list[Any],
    choices: dict[str, Any],
    error: type[Exception],
) -> None:
    update(study, 0)
    before = (study / "audit.state").read_bytes()
    with pytest.raises(error):
        add_judgments(study / "audit.state", better, worse, **choices)
    assert (study / "audit.state").read_bytes() == before


def test_of_many_looks_some_are_shown_and_the_first_decided_one(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comparity.comparative.state.MOST_SHOWN", 5)
    for day in range(4):
        audit = update(study, day)
    looks = [look.n for look in audit.history]
    assert len(looks) <= 7
    assert {audit.stopped_at, 600} <= {*looks}


def test_other_choices_scores_and_groups_are_refused(study: Path) -> None:
    update(study, 0)
    with pytest.raises(StateChangedError, match="margin is not what"):
        update(study, 1, margin=0.1)
    text = (study / "items.csv").read_text()
    (study / "items.csv").write_text(text.replace("i7,m", "i7,f"))
    with pytest.raises(StateChangedError, match="item i7 is not what"):
        update(study, 1)
    (study / "items.csv").write_text(text + "\ni200,f,0.5")
    assert update(study, 1).n == 300


def test_files_that_are_no_state_and_other_versions_are_refused(study: Path) -> None:
    state = study / "audit.state"
    state.write_text("better,worse\n")
    with pytest.raises(StateFileError, match="not a database"):
        update(study, 0)
    assert state.read_text() == "better,worse\n"
    state.unlink()
    with sqlite3.connect(state) as other:
        other.execute("CREATE TABLE song (title TEXT)")
    with pytest.raises(StateFileError, match="something else"):
        update(study, 0)
    state.unlink()
    update(study, 0)
    with sqlite3.connect(state) as later:
        later.execute("PRAGMA user_version = 1")
    with pytest.raises(StateFileError, match="version 1; this comparity reads 2"):
        update(study, 1)


@pytest.mark.parametrize(
    "choices", [{"anytime": False}, {"cluster": ("id",)}, {"state": None}], ids=str
)
def test_a_state_asks_for_findings_that_hold_at_any_moment(
    study: Path, choices: dict[str, Any]
) -> None:
    with pytest.raises(OptionError):
        update(study, 0, **choices)


WRITER = """
import sys
from comparity.comparative.audit import audit_files
folder, day = sys.argv[1:]
print("ready", flush=True)
audit_files(f"{folder}/day{day}.csv", f"{folder}/items.csv", score="model", sensitive=("sex",),
            anytime=True, state=f"{folder}/audit.state", judgment="id")
"""


def begin(study: Path, day: int) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", WRITER, str(study), str(day)]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.long
def test_two_writers_at_once_lose_nothing(study: Path) -> None:
    writers = [begin(study, day) for day in range(3)]
    for one in writers:
        assert one.communicate(timeout=200)[0] == "ready\n"
        assert one.returncode == 0
    assert update(study, 3).n == 600


@pytest.mark.long
@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_writer_that_is_killed_leaves_the_old_state_or_the_new_one(
    study: Path, kills: int
) -> None:
    update(study, 0)
    rng, known = np.random.default_rng(1), 150
    for kill in range(kills):
        writer = begin(study, 1 + kill % 3)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(float(rng.uniform(0, 1.5)))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        with sqlite3.connect(study / "audit.state") as state:
            (n,), (sound,) = (
                state.execute(query).fetchone()
                for query in ("SELECT count(*) FROM judgment", "PRAGMA integrity_check")
            )
        assert sound == "ok"
        assert n % 150 == 0
        assert n - known in (0, 150)
        known = n
    for day in range(1, 4):
        audit = update(study, day)
    assert audit.n == 600
