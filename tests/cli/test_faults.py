"""Faults from outside: memory, streams, Ctrl-C and files cut off are told, and are no findings."""

from __future__ import annotations

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest

from comparity.cli import commands
from comparity.cli.running import CUT_OFF, DEFECT, INTERRUPTED, NOT_WRITTEN

Run = Callable[..., Any]
Process = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="streams and limits of Linux")

ROWS = 300


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.csv"
    path.write_text("y,p,sex\n" + "1,1,f\n1,0,m\n0,0,f\n0,1,m\n" * ROWS, encoding="utf-8")
    return path


def audit(path: Path) -> list[str]:
    return ["separation", str(path), "--label", "y", "--prediction", "p", "--sensitive", "sex"]


def shell(words: list[str], ending: str, before: str = "") -> Process:
    """Run a command of ours in a shell, which opens and closes its streams."""
    ours = f'{before}"$0" -m comparity "$@"{ending}'
    command = ["bash", "-o", "pipefail", "-c", ours, sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def is_told(done: Process, words: str) -> bool:
    return words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_output_that_cannot_be_written_is_told_and_no_finding(decisions: Path, ending: str) -> None:
    for words in (audit(decisions), ["--help"]):
        done = shell(words, ending)
        assert done.returncode == NOT_WRITTEN
        assert is_told(done, "the output cannot be written")


@pytest.mark.parametrize(
    ("words", "ending", "status"),
    [
        (["--help"], " | true", CUT_OFF),
        (["no-command"], " 2>&1 | true", CUT_OFF),
        (["no-command"], " 2>/dev/full", NOT_WRITTEN),
        (["no-command"], " >&- 2>&-", 2),
    ],
)
def test_a_message_that_nobody_can_read_is_no_finding(
    words: list[str], ending: str, status: int
) -> None:
    done = shell(words, ending)
    assert (done.returncode, done.stderr) == (status, "")


def test_a_page_is_not_printed_into_where_output_is_closed(decisions: Path) -> None:
    page = decisions.with_name("page.html")
    shell([*audit(decisions), "--html", str(page)], ">&-")
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_too_little_memory_to_begin_is_told_with_what_to_do(decisions: Path) -> None:
    done = shell(audit(decisions), "", before="ulimit -v 100000; ")
    assert (done.returncode, done.stdout) == (2, "")
    assert is_told(done, "not enough memory")
    assert "Parquet" in done.stderr


def test_an_engine_out_of_memory_is_told_with_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, decisions: Path
) -> None:
    small = duckdb.connect(config={"memory_limit": "1MB", "temp_directory": ""})
    monkeypatch.setattr("comparity.tables.files.connection", lambda: small)
    outcome = run(*audit(decisions))
    assert (outcome.status, outcome.out) == (2, "")
    assert "not enough memory" in outcome.err
    assert "Parquet" in outcome.err


@pytest.mark.parametrize(
    "limits",
    [
        "running.MOST_MEMORY, running.RESERVED, running.LEAST_MEMORY = 0, 0, 420 * 2**20",
        "frames.MEMORY = '20MB'",
    ],
)
def test_many_rows_in_a_small_file_are_told_before_they_fill_memory(
    tmp_path: Path, limits: str
) -> None:
    path = tmp_path / "rows.csv.gz"
    block = "".join(f"i{k},{'fm'[k % 2]},{k % 2},{k % 97}\n" for k in range(10_000))
    path.write_bytes(gzip.compress(f"id,sex,good,score\n{100 * block}".encode(), 1))
    code = f"from comparity.cli import running\nfrom comparity.tables import frames\n{limits}\n"
    words = ["pairwise", str(path), "--parity", "--score", "score", "--sensitive", "sex"]
    done = subprocess.run(
        [sys.executable, "-c", f"{code}from comparity.__main__ import main\nmain()", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert is_told(done, "not enough memory")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [
        (MemoryError("Unable to allocate 7.28 TiB"), 2, "7.28 TiB"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 2, "Cannot allocate memory"),
        (ImportError("x.so: failed to map segment"), 2, "not enough memory"),
        (caused(SystemError("no result"), MemoryError("of DuckDB")), 2, "of DuckDB"),
        (caused(SystemError("a result with an exception"), KeyboardInterrupt()), 130, ""),
        (SystemError("no result"), DEFECT, "Traceback"),
        (ImportError("no module"), DEFECT, "Traceback"),
        (OSError(errno.EISDIR, "Is a directory"), DEFECT, "Traceback"),
        (EOFError("ended"), DEFECT, "Traceback"),
        (RuntimeError("ours"), DEFECT, "Traceback"),
    ],
)
def test_only_mistakes_of_ours_are_defects(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: Exception, status: int, told: str
) -> None:
    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr(commands, "get_command", lambda *_: click.Command("x", callback=fail))
    outcome = run("separation")
    assert outcome.status == status
    assert told in outcome.err
    assert ("Traceback" in outcome.err) is (status == DEFECT)


def interrupt(code: str, path: Path) -> Process:
    """Interrupt a command at the place that `code` names, as Ctrl-C would."""
    # Shells have programs in the background ignore the one signal, and nohup the other.
    start = (
        "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    )
    patched = f"{start}\n{code}\nfrom comparity.__main__ import main\nmain()"
    command = [sys.executable, "-c", patched, *audit(path), "--html", f"{path}.html"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


KILL = "os.kill(os.getpid(), signal.SIGINT)"
AT_IMPORT = f"""
class Finder:
    def find_spec(self, name, *_):
        if name == "{{module}}":
            {KILL}
sys.meta_path.insert(0, Finder())
"""
IN = f"""
import {{module}} as place
def interrupted(*_, **__):
    {KILL}
    while True: pass
place.{{name}} = interrupted
"""
# The engine itself counts, and is interrupted by another thread.
IN_DUCKDB = f"""
import threading
from comparity.tables.frames import connection
def count(*_, **__):
    import narwhals
    from comparity.tables.frames import collect_columns
    threading.Timer(1, lambda: {KILL}).start()
    slow = connection().sql("select max(hash(range)) as n from range(100000000000)")
    collect_columns(narwhals.from_native(slow))
from importlib import import_module
audits = import_module("comparity.separation.audit")
audits.count_confusions = count
"""
IN_NUMBA = f"""
import numba, threading
@numba.njit(nogil=True)
def spin(n):
    total = 0.0
    for i in range(n): total += i ** 0.5
    return total
spin(1)
def count(*_, **__):
    threading.Timer(0.1, lambda: {KILL}).start()
    return spin(10**8)
from importlib import import_module
audits = import_module("comparity.separation.audit")
audits.count_confusions = count
"""
PLACES = {
    "import": AT_IMPORT.format(module="click"),
    "a late import": AT_IMPORT.format(module="numpy"),
    "reading": IN.format(module="comparity.tables.files", name="_first_row"),
    "DuckDB": IN_DUCKDB,
    "numba": IN_NUMBA,
    "putting together": IN.format(module="comparity.cli.options", name="_terminal_text"),
    "writing": IN.format(module="comparity.reports.page", name="page"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_interruption_leaves_no_finding_no_traceback_and_no_file(
    decisions: Path, place: str
) -> None:
    done = interrupt(PLACES[place], decisions)
    # Where Python ends itself by the signal, shells report the same number.
    assert done.returncode in {INTERRUPTED, -signal.SIGINT}, done.stderr
    assert (done.stdout, done.stderr.strip()) == ("", "")
    assert os.listdir(decisions.parent) == [decisions.name]


@pytest.mark.parametrize("place", ["DuckDB", "numba", "putting together"])
@pytest.mark.parametrize("ending", ["SIGTERM", "SIGHUP"])
def test_schedulers_end_a_command_like_an_interruption(
    decisions: Path, place: str, ending: str
) -> None:
    code = PLACES[place].replace("signal.SIGINT", f"signal.{ending}")
    done = interrupt(code, decisions)
    # DuckDB does not say by which signal it was interrupted.
    assert done.returncode in {128 + getattr(signal, ending), INTERRUPTED}, done.stderr
    assert (done.stdout, done.stderr.strip()) == ("", "")
    assert os.listdir(decisions.parent) == [decisions.name]


def test_a_compressed_file_cut_off_is_bad_input_in_every_format(run: Run, tmp_path: Path) -> None:
    tasks = [{"data": {"a": n}, "annotations": []} for n in range(3000)]
    text = "y,p,sex\n" + "".join(f"{n % 2},{n % 3 % 2},{'fm'[n % 2]}\n" for n in range(30000))
    lines = "".join(f'{{"y": {n % 2}, "p": 1, "sex": "f"}}\n' for n in range(30000))
    contents = {"a.csv.gz": text, "a.jsonl.gz": lines, "tasks.json.gz": json.dumps(tasks)}
    for name, content in contents.items():
        path, whole = tmp_path / name, gzip.compress(content.encode())
        path.write_bytes(whole[: len(whole) // 2])
        judged = ["comparative", path, "--score", "s", "--sensitive", "sex"]
        label_studio = [*judged, "--layout", "label studio", "--items", path]
        outcome = run(*(label_studio if "tasks" in name else audit(path)))
        assert outcome.status == 2
        assert name in outcome.err
        assert "end" in outcome.err.split("found:")[1].split("hint:")[0]


def test_a_first_line_without_end_is_refused_before_it_fills_memory(
    run: Run, tmp_path: Path
) -> None:
    import tracemalloc

    path, part = tmp_path / "bomb.csv.gz", b"a," * 1_000_000
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(50):
            file.write(part)
    tracemalloc.start()
    outcome = run(*audit(path))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcome.status == 2
    assert "the first line has over 2,000,000 characters" in outcome.err
    assert most < 50 * len(part) / 2
