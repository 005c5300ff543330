"""The load of ``bench_collect.py`` on Label Studio, the peer that installs from the package index.

Run as ``python benchmarks/collect_peer.py path/to/label-studio``, a program of an environment
of its own (``pip install label-studio``), after ``bench_collect.py`` on the same machine. Clients
answer as fast as they are answered, by the two requests that its page makes: one keeps an answer,
one fetches the next task. Its database is SQLite, as it is by default.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from measure import show

sys.path.insert(0, str(Path(__file__).parents[1]))

PAIR = """<View><Text name="first" value="$first"/><Text name="second" value="$second"/>
<Pairwise name="better" toName="first,second"/></View>"""
PATIENCE = 180
TASKS = 20_000


@contextmanager
def running_server(program: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Start Label Studio in an empty folder; yield its address, headers and process."""
    token = secrets.token_hex(20)
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        words = [program, "start", "--no-browser", "--port", str(port), "--data-dir", folder]
        words += ["--username", "judge@example.org", "--password", secrets.token_hex(8)]
        kept = {**os.environ, "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true"}
        server = subprocess.Popen(
            [*words, "--user-token", token],
            env=kept,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address)
            yield address, {"Authorization": f"Token {token}"}, server.pid
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(address: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if httpx.get(f"{address}/health").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise TimeoutError(address)


def make_project(address: str, headers: dict[str, str]) -> int:
    """Make a project of pairs of texts; return its number."""
    with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE) as client:
        asked = {"title": "pairs", "label_config": PAIR, "maximum_annotations": 1}
        project = int(client.post("/api/projects/", json=asked).raise_for_status().json()["id"])
        for start in range(0, TASKS, 5000):
            tasks = [
                {"data": {"first": f"Text {k}. " * 20, "second": f"Text {k + 1}. " * 20}}
                for k in range(start, start + 5000)
            ]
            client.post(f"/api/projects/{project}/import", json=tasks).raise_for_status()
        return project


async def answer(client: httpx.AsyncClient, project: int, end: float, waits: Any) -> None:
    """Fetch and answer until the time is over."""
    while time.perf_counter() < end:
        start = time.perf_counter()
        found = await client.get(f"/api/projects/{project}/next")
        waits["looks"].append(time.perf_counter() - start)
        if found.is_server_error:
            waits["failed"].append(0.0)
            continue
        result = [{"from_name": "better", "to_name": "first", "type": "pairwise"}]
        result[0] |= {"value": {"selected": "left"}}
        start = time.perf_counter()
        task = found.raise_for_status().json()["id"]
        sent = await client.post(f"/api/tasks/{task}/annotations/", json={"result": result})
        if sent.is_server_error:
            waits["failed"].append(0.0)
            continue
        waits["answers"].append(time.perf_counter() - start)
        sent.raise_for_status()


async def load(address: str, headers: dict[str, str], project: int, asked: Any) -> Any:
    """Let so many clients answer for some seconds; return what they waited for."""
    waits: dict[str, list[float]] = {"answers": [], "looks": [], "failed": []}
    most = httpx.Limits(max_connections=asked.judges)
    async with httpx.AsyncClient(
        base_url=address, headers=headers, limits=most, timeout=PATIENCE
    ) as client:
        end = time.perf_counter() + asked.seconds
        await asyncio.gather(*(answer(client, project, end, waits) for _ in range(asked.judges)))
    return waits


def main() -> None:
    """Print one row of the table of ``bench_collect.py``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    asked = parser.parse_args()
    with running_server(asked.program) as (address, headers, pid):
        project = make_project(address, headers)
        before, start = processor_seconds(pid), time.perf_counter()
        waits = asyncio.run(load(address, headers, project, asked))
        taken, used = time.perf_counter() - start, processor_seconds(pid) - before
    n, kinds = len(waits["answers"]), ("answers", "looks")
    cells = [f"{np.quantile(waits[k], q) * 1000:,.0f}" for k in kinds for q in (0.5, 0.99)]
    head = ("judges", "judgments", "per second", *(f"{k}, p{q}" for k in kinds for q in (50, 99)))
    row = [f"{asked.judges}", f"{n:,}", f"{n / taken:,.1f}", *cells]
    row += [f"{used / n * 1000:.1f}", f"{len(waits['failed']):,}"]
    caption = "milliseconds; failed: requests that were answered by a server error"
    show("Label Studio, SQLite", (*head, "core-ms each", "failed"), [row], caption)


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, its children included."""
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, used[11:15])) / 100


if __name__ == "__main__":
    main()
