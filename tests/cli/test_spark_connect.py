"""A Spark Connect server, started for these tests, answers every command as one machine does.

The servers run on the loopback of this machine: PySpark's own, and Sail, which speaks the same
protocol, reads Delta without Java, and is another engine. Commands are run in a process of their
own: a process that has a session of Spark cannot have one of Spark Connect.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.cli.test_spark_cluster import (
    COMMANDS,
    SECONDS,
    answers,
    assert_alike,
    free_port,
    kill,
    write,
)

pytestmark = [pytest.mark.slow, pytest.mark.spark]

NEEDED = ("pyspark", "grpc", "grpc_status", "google.rpc", "zstandard", "pandas", "pyarrow")

OTHER_VERSION = ("unsupported PySpark version", "is not running")
"""What Sail says to a client whose version it does not know."""

FEW_ROWS_ARE_MANY = """
from comparity.counts import difference_sums, judged_rows, label_parts
from comparity.pairwise import audit, parity
from comparity.tables.memory import MemoryLimits
judged_rows.MOST_COLLECTED = audit.MOST_COLLECTED = parity.MOST_COLLECTED = 100
difference_sums.MOST_DISTINCT = 100
label_parts.MOST_ROWS, audit.current_limits = 1000, lambda: MemoryLimits(memory=400 * 1000)
"""
PROGRAM = """
import contextlib, io, json, sys
from comparity.cli import main
for words in json.load(sys.stdin):
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        try:
            main(words)
        except SystemExit as left:
            status = left.code
    print(json.dumps({"status": status, "told": told.getvalue()}), flush=True)
"""


def lacking(*further: str) -> str:
    """Say what is not installed; nothing where all of it is."""
    for name in (*NEEDED, *further):
        try:
            found = find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"{name if name in further else 'pyspark[connect]'} is not installed: no {name}"
    return ""


def await_answer(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server listens."""
    until = time.monotonic() + SECONDS
    while not answers(port):
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < until, "the server does not stand"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if why := "Java is not installed" if shutil.which("java") is None else lacking():
        pytest.skip(why)
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        # Queries of few rows take longer to compile than to interpret.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    called = "org.apache.spark.sql.connect.service.SparkConnectServer"
    known = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with log.open("wb") as told:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-submit"), "--master", "local[1]", *words, "--class", called],
            env={**os.environ, **known, "PYSPARK_PYTHON": sys.executable},
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
    try:
        await_answer(process, port, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        kill(process)


@pytest.fixture(scope="module")
def sail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if why := lacking("pysail", "deltalake"):
        pytest.skip(why)
    port, log = free_port(), tmp_path_factory.mktemp("sail") / "server.log"
    words = ["spark", "server", "--ip", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "pysail", *words],
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
    try:
        await_answer(process, port, log)
        address = f"sc://127.0.0.1:{port}"
        asked = "import sys; from pyspark.sql import SparkSession as S; "
        asked += "S.builder.remote(sys.argv[1]).getOrCreate().sql('select 1').collect()"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", asked, address], capture_output=True, text=True
        )
        if any(why in done.stderr for why in OTHER_VERSION):
            pytest.skip(f"Sail knows other versions of PySpark: {done.stderr.splitlines()[-1]}")
        yield address
    finally:
        kill(process)


def ask_all(paths: dict[str, str], address: str = "", *, limits: str = "") -> dict[str, Any]:
    """Run every command in one process, and return what each says."""
    rest = ["--json", *(["--spark", address] if address else [])]
    asked = [[*(word.format(**paths) for word in words), *rest] for words in COMMANDS.values()]
    program = [sys.executable, "-W", "ignore", "-c", limits + PROGRAM]
    done = subprocess.run(program, input=json.dumps(asked), capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(COMMANDS), done.stderr
    for name, one in zip(COMMANDS, found, strict=True):
        assert one["status"] in (0, 1, 3), f"{name}: {done.stderr}"
    return {name: json.loads(one["told"]) for name, one in zip(COMMANDS, found, strict=True)}


def paths_in(folder: Path, **places: str) -> dict[str, str]:
    named = {"d": "d.parquet", "c": "c.parquet", "i": "i.parquet", "csv": "d.csv"} | places
    return {name: str(folder / place) for name, place in named.items()}


def assert_same_answers(
    found: dict[str, Any], expected: dict[str, Any], *, absolute: float = 1e-12
) -> None:
    for name in COMMANDS:
        assert_alike(found[name], expected[name], name, absolute=absolute)


def test_spark_connect_answers_as_one_machine_does(server: str, tmp_path: Path) -> None:
    folder = write(tmp_path, 4000)
    parts = paths_in(folder, d="ds/*.parquet", c="cs")
    found = ask_all(parts, server, limits=FEW_ROWS_ARE_MANY)
    assert_same_answers(found, ask_all(paths_in(folder), limits=FEW_ROWS_ARE_MANY))


def write_delta(path: Path, table: Any, *, parts: int) -> None:
    """Write a Delta table whose first version has other rows: its files are more than its rows."""
    import pyarrow
    from deltalake import write_deltalake

    write_deltalake(str(path), pyarrow.concat_tables([table, table]))
    n = -(-len(table) // parts)
    for part in range(parts):
        mode = "append" if part else "overwrite"
        write_deltalake(str(path), table.slice(part * n, n), mode=mode)


def test_of_a_delta_table_the_last_version_counts(sail: str, tmp_path: Path) -> None:
    folder, names = write(tmp_path, 4000), {"d": "d.delta", "c": "c.delta", "i": "items"}
    for name, place in names.items():
        rows = duckdb.sql(f"from '{folder}/{name}.parquet'").to_arrow_table()
        # The order of items is that of their rows, which several files have none of.
        write_delta(folder / place, rows, parts=1 if name == "i" else 2)
    found = ask_all(paths_in(folder, **names), sail)
    # Rows come in another order, in which curves are fitted to labels and to distances of pairs:
    # of a p value of 0.67 the ninth digit moves.
    assert_same_answers(found, ask_all(paths_in(folder)), absolute=1e-8)
