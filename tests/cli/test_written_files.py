"""What commands write: whole files or none, never over what they read."""

import datetime as dt
import decimal
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from comparity.tables.frames import connection

Run = Callable[..., Any]

POLICY = """[[audit]]
name = "one"
notion = "separation"
file = "items.csv"
label = "good"
prediction = "hired"
sensitive = "sex"
"""
AUDIT = "separation items.csv --label good --prediction hired --sensitive sex"
PLAN = "plan separation --tpr 0.7,0.8 --fpr 0.1,0.1 --shares 0.5,0.5 --base-rates 0.5,0.5 --n 90"
WEIGHTS = "weights items.csv --label good --sensitive sex"
TRAIN = "train items.csv --features test --label grade --sensitive sex --steps 5"
JUDGED = "comparative judgments.csv --items items.csv --score test --sensitive sex"
RATERS = "relative items.csv --first test --second grade --sensitive sex --permutations 9"

WRITING = {
    f"{AUDIT} --html": "page.html",
    "report one.json --html": "page.html",
    "gate policy.toml --html": "page.html",
    "gate policy.toml --junit": "gate.xml",
    "gate policy.toml --sarif": "gate.sarif",
    "gate policy.toml --markdown": "gate.md",
    f"{PLAN} --plot": "power.svg",
    f"{RATERS} --plot": "gaps.png",
    f"{WEIGHTS} --output": "w.csv",
    f"{WEIGHTS} --name w --output": "w.parquet",
    f"{TRAIN} --output": "m.json",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Go to a folder with items, judgments, a policy and the JSON of an audit."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{k},{'fm'[k % 2]},{k // 2 % 2},{k // 3 % 2},{k % 5},{(k * 7) % 11}" for k in range(120)
    ]
    items = "\n".join(["item,sex,good,hired,grade,test", *rows])
    judgments = "\n".join(["better,worse", *(f"{k},{k + 1}" for k in range(0, 100, 2))])
    texts = {"items.csv": items, "judgments.csv": judgments, "policy.toml": POLICY}
    for name, text in texts.items():
        Path(name).write_text(f"{text}\n", encoding="utf-8")
    Path("one.json").write_text(run(*AUDIT.split(), "--json").out, encoding="utf-8")


@pytest.mark.parametrize(("words", "name"), WRITING.items())
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: str, name: str
) -> None:
    Path(name).write_text("old", encoding="utf-8")
    before = sorted(os.listdir())

    def fail(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    outcome = run(*words.split(), name)
    assert outcome.status == 2
    assert f"cannot write '{name}'" in outcome.err
    assert "No space left on device" in outcome.err
    assert Path(name).read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("words", "name"), WRITING.items())
def test_what_there_is_is_replaced_and_keeps_its_permissions(
    run: Run, words: str, name: str
) -> None:
    Path(name).write_text("old", encoding="utf-8")
    Path(name).chmod(0o600)
    before, old = sorted(os.listdir()), os.stat(name)
    assert run(*words.split(), name).status != 2
    assert Path(name).stat().st_size > 3
    assert (Path(name).stat().st_mode, Path(name).stat().st_ino != old.st_ino) == (
        old.st_mode,
        True,
    )
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("words", [f"{AUDIT} --html page", f"{WEIGHTS} --output big.csv"])
def test_the_system_may_refuse_in_the_middle_of_a_file(words: str) -> None:
    """A limit on the size of files, in a process of its own, stops the writing as a disk does."""
    name = words.split()[-1]
    Path(name).write_text("old", encoding="utf-8")
    before = sorted(os.listdir())
    # Python would cut off the bytecode of what it imports, which other tests then read.
    program = f"""
import resource, sys
sys.dont_write_bytecode = True
from comparity.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
main({words.split()!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, "File too large" in done.stderr) == (2, True), done.stderr
    assert Path(name).read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir()) == before


OVER = {
    f"{AUDIT} --html": "items.csv",
    f"{JUDGED} --html": "items.csv",
    "report one.json --html": "one.json",
    f"{RATERS} --plot": "items.csv",
    f"{WEIGHTS} --output": "items.csv",
    f"{TRAIN} --html page --output": "items.csv",
    f"{TRAIN} --audit-on judgments.csv --output": "judgments.csv",
    "gate policy.toml --sarif": "policy.toml",
    "gate policy.toml --html": "items.csv",
    "gate policy.toml --junit": "items.csv",
    "gate policy.toml --markdown": "items.csv",
}


@pytest.mark.parametrize("how", ["path", "symbolic link", "hard link"])
@pytest.mark.parametrize(("words", "read"), OVER.items())
def test_what_is_read_is_not_written_over(run: Run, words: str, read: str, how: str) -> None:
    output = f"./{read}"
    if how != "path":
        output = f"other{Path(read).suffix}"
        (Path.symlink_to if how == "symbolic link" else Path.hardlink_to)(Path(output), read)
    content, before = Path(read).read_bytes(), sorted(os.listdir())
    outcome = run(*words.split(), output)
    assert (outcome.status, outcome.out) == (2, "")
    assert "the same file" in outcome.err
    assert Path(read).read_bytes() == content
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        f"{WEIGHTS} --output w.csv --html ./w.csv",
        f"{TRAIN} --html m.json --output m.json",
        "gate policy.toml --junit a --markdown ./a",
        "demo --directory d --html d/items.csv",
        "demo --directory d --html d/training.json",
    ],
)
def test_one_file_is_not_written_for_two_purposes(run: Run, words: str) -> None:
    before = sorted(os.listdir())
    outcome = run(*words.split())
    assert (outcome.status, "the same file" in outcome.err) == (2, True)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("words", ["data german --output", "reproduce 000 --table 3 --html"])
def test_data_of_the_papers_are_not_written_over(
    run: Run, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from comparity.datasets.registry import dataset

    file = Path("home", dataset("german").files[0].path)
    file.parent.mkdir(parents=True)
    file.write_text("data", encoding="utf-8")
    Path("link").hardlink_to(file)
    monkeypatch.setenv("COMPARITY_DATA", "home")
    outcome = run(*words.split(), "link")
    assert (outcome.status, "the same file" in outcome.err) == (2, True)
    assert file.read_text(encoding="utf-8") == "data"


def test_several_reports_may_go_where_nothing_is_kept(run: Run) -> None:
    words = "gate policy.toml --junit /dev/null --sarif /dev/null --html /dev/null"
    assert run(*words.split()).status != 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_bytes_that_are_no_text_in_a_column_not_asked_for_are_named(run: Run, ending: str) -> None:
    rows = [f"{k},{'fm'[k % 2]},{k // 2 % 2},x".encode() for k in range(90_000)]
    rows[80_000] = b"80000,f,1,caf\xe9"
    Path("latin.csv").write_bytes(b"\n".join([b"id,sex,good,note", *rows, b""]))
    output = Path(f"w.{ending}")
    output.write_text("old", encoding="utf-8")
    before = sorted(os.listdir())
    words = "weights latin.csv --label good --sensitive sex --output"
    outcome = run(*words.split(), output)
    assert outcome.status == 2
    assert "latin.csv'" in outcome.err
    # The header is line 1, and rows are counted from 0 here.
    assert "Line: 80002" in outcome.err
    assert output.read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir()) == before


def test_columns_of_parquet_keep_their_types_and_values(run: Run) -> None:
    n, day = 8, dt.date(2024, 2, 29)
    now = dt.datetime(2024, 2, 29, 12, 30, 1)
    table = pa.table(
        {
            "sex": list("fm") * 4,
            "good": pa.array([0, 0, 1, 1] * 2, pa.int8()),
            "big": pa.array([2**63 + k for k in range(n)], pa.uint64()),
            "yes": pa.array([True, None] * 4),
            "day": pa.array([day, None] * 4),
            "local": pa.array([now] * n, pa.timestamp("us")),
            "known": pa.array([now] * n, pa.timestamp("us", "UTC")),
            "price": pa.array([decimal.Decimal("0.10")] * n, pa.decimal128(10, 2)),
            "half": pa.array([0.1] * n, pa.float32()),
            "raw": pa.array([b"\xff\x00"] * n),
            "list": pa.array([[1, None], []] * 4, pa.list_(pa.field("element", pa.int32()))),
            "pair": pa.array([{"a": 1, "b": ["x"]}, None] * 4),
        }
    )
    pq.write_table(table, "typed.parquet")
    words = "weights typed.parquet --label good --sensitive sex --output w.parquet"
    assert run(*words.split()).status == 0
    found = pq.read_table("w.parquet")
    assert found.drop_columns("weight").equals(table.cast(found.drop_columns("weight").schema))
    kept = {field.name: str(field.type) for field in found.schema if field.name != "weight"}
    assert kept == {field.name: str(field.type) for field in pq.read_schema("typed.parquet")}


def test_text_of_csv_stays_text_in_parquet(run: Run) -> None:
    assert run(*WEIGHTS.split(), "--output", "w.parquet").status == 0
    types = {field.name: str(field.type) for field in pq.read_schema("w.parquet")}
    assert types.pop("weight") == "double"
    assert set(types.values()) == {"string"}


def test_a_seed_that_was_drawn_is_told_and_gives_the_same_model_again(run: Run) -> None:
    drawn = json.loads(run(*TRAIN.split(), "--output", "a.json", "--json").out)["seed"]
    again = run(*TRAIN.split(), "--output", "b.json", "--seed", drawn)
    assert f"seed {drawn}" in " ".join(again.out.split())
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_duckdb_writes_in_no_thread_of_its_own(run: Run) -> None:
    assert run(*WEIGHTS.split(), "--output", "w.csv").status == 0
    setting = "select value from duckdb_settings() where name = 'async_threads'"
    assert connection().execute(setting).fetchall() in ([("0",)], [])


@pytest.mark.slow
def test_copies_that_fail_again_and_again_all_come_to_an_end() -> None:
    """DuckDB 2.0 with its own threads for writing stops for ever within about a hundred."""
    rows = ["i,text", *(f"{k},some text of row {k}" for k in range(200_000))]
    Path("cut.csv").write_bytes("\n".join(rows).encode() + b"\n1,\xe9\n")
    program = """
import numpy as np
from comparity.tables.files import read_table
from comparity.tables.files import write_table
from comparity.errors import UnreadableFileError
for _ in range(100):
    try:
        write_table(read_table("cut.csv"), "w.csv", {"w": np.ones(200_001)})
    except UnreadableFileError:
        print("refused")
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["refused"] * 100
    assert not Path("w.csv").exists()
