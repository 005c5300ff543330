"""Tables in several files, and limits of memory, on the command line."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from comparity.tables import memory
from tests.cli.conftest import Run

CHOICES = ("--label", "y", "--prediction", "p", "--sensitive", "g", "--json")
COLUMNS = "i % 2 as y, (i % 3 = 0)::int as p, if(i % 5 < 2, 'a', 'b') as g"
SOURCE = f"select {COLUMNS} from range({{}}) t(i)"


@pytest.fixture(params=["csv", "parquet"])
def parts(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    files = [tmp_path / f"part-{place}.{request.param}" for place in range(3)]
    for place, file in enumerate(files):
        duckdb.sql(f"copy ({SOURCE.format(300 + place)}) to '{file}'")
    return files


def test_parts_named_one_by_one_or_by_a_pattern_are_one_table(parts: list[Path], run: Run) -> None:
    whole = parts[0].with_name(f"whole{parts[0].suffix}")
    rows = " union all ".join(f"({SOURCE.format(300 + place)})" for place in range(3))
    duckdb.sql(f"copy ({rows}) to '{whole}'")
    pattern = parts[0].with_name(f"part-*{parts[0].suffix}")
    answers = [
        json.loads(run("separation", *files, *CHOICES).out)
        for files in ([whole], parts, [pattern, "--glob", "--memory", "2GB"])
    ]
    assert [one.pop("provenance")["data"]["files"][-1]["name"] for one in answers] == [
        whole.name,
        *[parts[-1].name] * 2,
    ]
    assert answers[0] == answers[1] == answers[2]


def test_a_pattern_is_read_only_where_it_is_asked_for(parts: list[Path], run: Run) -> None:
    outcome = run("separation", parts[0].parent / "part-*", *CHOICES)
    assert outcome.status == 2
    assert "--glob" in outcome.err


def test_a_broken_part_is_named_and_nothing_is_left(parts: list[Path], run: Run) -> None:
    spill = parts[0].parent / "spill"
    spill.mkdir()
    content = parts[1].read_bytes()
    parts[1].write_bytes(content[: len(content) // 2])
    outcome = run("separation", *parts, *CHOICES, "--memory", "2GB", "--spill", spill)
    if parts[1].suffix == ".parquet":
        assert outcome.status == 2
        assert "part-1.parquet" in outcome.err
    assert list(spill.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of eight megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_said_to_be_full_and_nothing_is_left(
    small_disk: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LEAST_MEMORY", 10**7)
    monkeypatch.setattr(memory, "OWN_SHARE", 0)
    # Rows of clusters would be refused before the disk is full.
    monkeypatch.setattr(memory, "BYTES_PER_ROW", 1)
    file, page = tmp_path / "rows.parquet", tmp_path / "page.html"
    rows = f"select *, 'person' || random() as who from ({SOURCE.format(10**6)})"
    duckdb.sql(f"copy ({rows}) to '{file}'")
    asked = ("--cluster", "who", "--memory", "60MB", "--spill", small_disk, "--html", page)
    outcome = run("separation", file, *CHOICES, *asked)
    assert outcome.status == 2
    assert "no space is left" in outcome.err
    assert "hint:" in outcome.err
    assert list(small_disk.iterdir()) == []
    assert not page.exists()


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    file, spill, page = tmp_path / "rows.parquet", tmp_path / "spill", tmp_path / "page.html"
    spill.mkdir()
    duckdb.sql(f"copy (select *, random() as who from ({SOURCE.format(10**7)})) to '{file}'")
    words = [*("separation", file, *CHOICES), *("--cluster", "who", "--memory", "1GB")]
    # Rows of clusters would be refused before anything is spilled.
    code = "from comparity.tables import memory; memory.BYTES_PER_ROW = 1\n"
    code += "from comparity.__main__ import main; main()"
    command = [sys.executable, "-c", code, *words, "--spill", spill, "--html", page]
    running = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not list(spill.rglob("*.*")) and running.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=120)
    assert running.returncode == 130, told
    assert list(spill.iterdir()) == []
    assert not page.exists()


@pytest.mark.parametrize("first", [True, False])
def test_a_part_with_broken_pages_is_an_error(tmp_path: Path, run: Run, first: bool) -> None:
    parts = [tmp_path / f"part-{place}.parquet" for place in range(3)]
    for place, file in enumerate(parts):
        duckdb.sql(f"copy ({SOURCE.format(3000 + place)}) to '{file}'")
    broken = parts[0 if first else 1]
    content = broken.read_bytes()
    # Behind four letters that say what the file is come the pages of the first column.
    broken.write_bytes(content[:4] + bytes(60) + content[64:])
    outcome = run("separation", *parts, *CHOICES)
    assert outcome.status == 2
    assert "cannot read" in outcome.err
    assert outcome.out == ""


def test_rows_of_several_files_can_be_dropped(parts: list[Path], run: Run) -> None:
    odd = parts[0].with_name(f"part-9{parts[0].suffix}")
    duckdb.sql(f"copy (select null::int as y, 1 as p, 'a' as g) to '{odd}'")
    outcome = run("separation", *parts, odd, "--drop-missing", *CHOICES)
    assert json.loads(outcome.out)["provenance"]["dropped"][0]["rows"] == 1
