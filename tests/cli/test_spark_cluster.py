"""A Spark cluster, started for these tests, answers every command as a single machine does.

A master and two workers run on the loopback of this machine, from the package of PySpark. Then one
worker is killed while it works.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

from comparity.counts import difference_sums, judged_rows, label_parts
from comparity.pairwise import audit as pairwise_audit
from comparity.pairwise import parity
from comparity.tables.memory import MemoryLimits
from tests.cli.conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

SECONDS = 120
"""How long the cluster may take to stand."""

DECISIONS = """
    select i % 2 as y, (hash(i) % 3 = 0)::int as p, (hash(i + 4) % 2)::int as q,
        (hash(i + 5) % 10007) / 10007.0 as score, substr('abc', 1 + (hash(i + 6) % 3)::int, 1) as g,
        if(hash(i + 7) % 5 < 2, 'f', 'm') as sex,
        (hash(i + 8) % 100003) / 1000.0 as hr, (hash(i + 9) % 100003) / 1000.0 as boss
    from range({}) t(i)
"""
JUDGED = """
    select 'i' || hash(i) % 60 as better,
        'i' || (hash(i) % 60 + 1 + hash(i + 3) % 59) % 60 as worse, 'j' || hash(i + 2) % 12 as judge
    from range({}) t(i)
"""
ITEMS = """
    select 'i' || i as item, if(i % 3 = 0, 'f', 'm') as sex, (hash(i + 7) % 1000) / 1000.0 as score
    from range(60) t(i)
"""
PARTS = 4


@dataclass(frozen=True)
class Cluster:
    master: str
    workers: list[subprocess.Popen[bytes]]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def kill(one: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started, by their group."""
    try:
        os.killpg(one.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    one.wait(30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    home, folder = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("cluster")
    known = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    environment = {**os.environ, **known, "PYSPARK_PYTHON": sys.executable}
    port, started = free_port(), []

    def start(name: str, *words: str) -> subprocess.Popen[bytes]:
        called = f"org.apache.spark.deploy.{name.lower()}.{name}"
        command = [str(home / "bin" / "spark-class"), called, "--host", "127.0.0.1", *words]
        with (folder / f"{name}{len(started)}.log").open("wb") as log:
            one = subprocess.Popen(
                [*command, "--webui-port", "0"],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        started.append(one)
        return one

    try:
        start("Master", "--port", str(port))
        until = time.monotonic() + SECONDS
        while not answers(port):
            assert time.monotonic() < until, "the master does not stand"
            time.sleep(0.2)
        master = f"spark://127.0.0.1:{port}"
        kept = ("-c", "1", "-m", "1g", "-d")
        workers = [start("Worker", *kept, str(folder / f"w{k}"), master) for k in range(2)]
        yield Cluster(master, workers, started)
    finally:
        for one in started:
            kill(one)


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "4",
        # What a killed worker stored is missed at once.
        "spark.shuffle.io.retryWait": "1s",
        "spark.shuffle.io.maxRetries": "2",
    }
    changed = pytest.MonkeyPatch()
    changed.setenv("PYSPARK_PYTHON", sys.executable)
    found = SparkSession.builder.master(cluster.master).config(map=settings).getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    until = time.monotonic() + SECONDS
    # The driver is one of three.
    while found.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        assert time.monotonic() < until, "two workers do not come"
        time.sleep(0.2)
    yield found
    found.stop()
    changed.undo()


def write(folder: Path, n: int) -> Path:
    """Write tables in parts, and the same in one file each."""
    for name, query in (("d", DECISIONS), ("c", JUDGED)):
        (folder / f"{name}s").mkdir(parents=True)
        duckdb.sql(f"copy ({query.format(n)}) to '{folder}/{name}.parquet'")
        for part in range(PARTS):
            rows = f"from '{folder}/{name}.parquet' offset {part * n // PARTS} limit {n // PARTS}"
            duckdb.sql(f"copy ({rows}) to '{folder}/{name}s/part-{part}.parquet'")
    duckdb.sql(f"copy ({DECISIONS.format(n)}) to '{folder}/d.csv'")
    duckdb.sql(f"copy ({ITEMS}) to '{folder}/i.parquet'")
    return folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tables"), 4000)


def assert_alike(found: Any, expected: Any, where: str = "", *, absolute: float = 1e-12) -> None:
    """Counts and words are equal, other numbers to nine decimals."""
    if isinstance(expected, dict):
        assert [*found] == [*expected], where
        for key, value in expected.items():
            if key not in {"provenance", "files"}:
                assert_alike(found[key], value, f"{where}.{key}", absolute=absolute)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_alike(one, other, f"{where}[{place}]", absolute=absolute)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=absolute), where
    else:
        assert found == expected, where


DECIDED = ("--sensitive", "sex,g", "--label", "y", "--prediction", "p")
COMMANDS: dict[str, tuple[str, ...]] = {
    "separation": ("separation", "{d}", *DECIDED, "--intersection"),
    "separation of text": ("separation", "{csv}", *DECIDED),
    "separation of scores": (
        *("separation", "{d}", "--label", "y", "--prediction", "score", "--threshold", "0.4"),
        *("--sensitive", "g"),
    ),
    "metrics": ("metrics", "{d}", *DECIDED, "--privileged", "f & a", "--compare", "q"),
    "impact": ("impact", "{d}", "--selected", "p", "--sensitive", "sex,g"),
    "impact of scores": ("impact", "{csv}", "--score", "score", "--sensitive", "sex"),
    "relative": ("relative", "{d}", "--first", "hr", "--second", "boss", "--sensitive", "g"),
    "comparative": (
        *("comparative", "{c}", "--items", "{i}", "--score", "score", "--sensitive", "sex"),
        *("--evaluator", "judge"),
    ),
    "pairwise": (
        *("pairwise", "{d}", "--label", "y", "--score", "score", "--sensitive", "sex"),
        *("--tolerance", "0"),
    ),
    "pairwise within queries": (
        *("pairwise", "{d}", "--label", "y", "--score", "score", "--sensitive", "sex"),
        *("--query", "g"),
    ),
    "pairwise of many labels": (
        *("pairwise", "{d}", "--label", "hr", "--score", "score", "--sensitive", "sex"),
        *("--tolerance", "0.001"),
    ),
    "pairwise parity": ("pairwise", "{d}", "--score", "score", "--sensitive", "g", "--parity"),
    "rank": ("rank", "{c}", "--items", "{i}", "--sensitive", "sex", "--evaluator", "judge"),
    "rank by wins": ("rank", "{c}", "--model", "bt"),
}


def ask(run: Run, name: str, folder: Path, master: str = "") -> Any:
    whole = {"d": "ds/*.parquet", "c": "cs"} if master else {"d": "d.parquet", "c": "c.parquet"}
    places = {**whole, "csv": "d.csv", "i": "i.parquet"}
    words = [word.format(**{k: folder / v for k, v in places.items()}) for word in COMMANDS[name]]
    found = run(*words, "--json", *(["--spark", master] if master else []))
    assert found.status in (0, 1, 3), found.err
    return json.loads(found.out)


@pytest.fixture
def _tables_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are many."""
    monkeypatch.setattr(judged_rows, "MOST_COLLECTED", 100)
    monkeypatch.setattr(pairwise_audit, "MOST_COLLECTED", 100)
    monkeypatch.setattr(parity, "MOST_COLLECTED", 100)
    monkeypatch.setattr(difference_sums, "MOST_DISTINCT", 100)
    monkeypatch.setattr(label_parts, "MOST_ROWS", 1000)
    monkeypatch.setattr(pairwise_audit, "current_limits", lambda: MemoryLimits(memory=400 * 1000))


@pytest.mark.usefixtures("session", "_tables_stay")
@pytest.mark.parametrize("name", [*COMMANDS])
def test_a_cluster_answers_as_one_machine_does(
    name: str, cluster: Cluster, tables: Path, run: Run
) -> None:
    assert_alike(ask(run, name, tables, cluster.master), ask(run, name, tables))


@pytest.mark.usefixtures("_tables_stay")
def test_a_worker_that_is_killed_changes_nothing(
    cluster: Cluster, session: Any, tmp_path: Path, run: Run
) -> None:
    folder, killed = write(tmp_path, 400_000), threading.Event()
    expected = ask(run, "comparative", folder)
    tracker = session.sparkContext.statusTracker()
    before = {*tracker.getJobIdsForGroup(None)}

    def strike() -> None:
        # In the middle: some jobs are done, whose rows are stored, and a task is running.
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            begun = {*tracker.getJobIdsForGroup(None)} - before
            stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
            if len(begun) > 3 and any(one and one.numActiveTasks for one in stages):
                kill(cluster.workers[0])
                killed.set()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=strike, daemon=True)
    thread.start()
    found = ask(run, "comparative", folder, cluster.master)
    assert killed.is_set(), "the work was done before the worker was killed"
    assert_alike(found, expected)
