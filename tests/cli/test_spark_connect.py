"""A Spark Connect server, started for these tests, answers every command as one machine does.

The server runs on the loopback of this machine, from the package of PySpark. Commands are run in a
process of their own: a process that has a session of Spark cannot have one of Spark Connect.
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

# Few rows are many.
PROGRAM = """
import contextlib, io, json, sys
from comparity.cli import main
from comparity.counts import difference_sums, judged_rows, label_parts
from comparity.pairwise import audit
from comparity.tables.memory import MemoryLimits
judged_rows.MOST_COLLECTED = audit.MOST_COLLECTED = difference_sums.MOST_DISTINCT = 100
label_parts.MOST_ROWS, audit.current_limits = 1000, lambda: MemoryLimits(memory=400 * 1000)
for words in json.load(sys.stdin):
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        try:
            main(words)
        except SystemExit as left:
            status = left.code
    print(json.dumps({"status": status, "told": told.getvalue()}), flush=True)
"""


def lacking() -> str:
    """Say what is not installed; nothing where all of it is."""
    if shutil.which("java") is None:
        return "Java is not installed"
    for name in NEEDED:
        try:
            found = find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"pyspark[connect] is not installed: no {name}"
    return ""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if why := lacking():
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
        until = time.monotonic() + SECONDS
        while not answers(port):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until, "the server does not stand"
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        kill(process)


def ask_all(folder: Path, address: str = "") -> dict[str, Any]:
    """Run every command in one process, and return what each says."""
    whole = {"d": "ds/*.parquet", "c": "cs"} if address else {"d": "d.parquet", "c": "c.parquet"}
    places = {**whole, "csv": "d.csv", "i": "i.parquet"}
    paths = {name: folder / place for name, place in places.items()}
    rest = ["--json", *(["--spark", address] if address else [])]
    asked = [[*(word.format(**paths) for word in words), *rest] for words in COMMANDS.values()]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(asked), capture_output=True, text=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(COMMANDS), done.stderr
    for name, one in zip(COMMANDS, found, strict=True):
        assert one["status"] in (0, 1, 3), f"{name}: {done.stderr}"
    return {name: json.loads(one["told"]) for name, one in zip(COMMANDS, found, strict=True)}


def test_spark_connect_answers_as_one_machine_does(server: str, tmp_path: Path) -> None:
    folder = write(tmp_path, 4000)
    expected, found = ask_all(folder), ask_all(folder, server)
    for name in COMMANDS:
        assert_alike(found[name], expected[name], name)
