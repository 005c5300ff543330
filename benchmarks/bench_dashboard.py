"""How long the dashboard of a large study takes to answer.

Run as ``python benchmarks/bench_dashboard.py``; ``--judgments 1e5 --items 1e4`` for a smaller one.
A study is filled in its store directly, as judges' requests leave it. Its judgments are counted
once, which a server does in the background. Then a hundred judgments more come in, several times,
and the page and its JSON are asked for through the app, by somebody who is logged in. Wall time and
processor time are shown, the median and the largest.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import show

sys.path.insert(0, str(Path(__file__).parents[1]))

from starlette.testclient import TestClient

from comparity.collect import monitor
from comparity.collect.app import create_app
from comparity.collect.dashboard import HOME
from comparity.collect.kept_counts import KeptCounts
from comparity.collect.safety import Limits
from comparity.collect.status import study_status
from comparity.collect.store import Store, open_store
from tests.collect.filling import fill, make_large

PASSWORD = "of the benchmark"
ROUNDS, NEW, JUDGES = 10, 100, 200


def timed(job: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds and processor seconds of a job."""
    clock, cores = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - clock, time.process_time() - cores


def row(name: str, found: list[tuple[float, float]]) -> list[str]:
    """Return a row of the table, in milliseconds."""
    wall, cores = (1000 * np.array(one) for one in zip(*found, strict=True))
    return [name, *(f"{one:,.0f}" for one in (np.median(wall), wall.max(), np.median(cores)))]


def measure(store: Store, n: int) -> list[list[str]]:
    """Return the rows of the table."""
    rows = []
    with KeptCounts(store) as kept:
        rows.append(row(f"count {n:,} judgments, once", [timed(kept.update)]))
    print(rows[-1], flush=True)
    # The store is asked again for each of these requests.
    monitor.LEAST_SECONDS = 0.0
    app: Any = create_app(store, limits=Limits(judge="1000000/minute"))
    client = TestClient(app, base_url="http://localhost")
    origin = {"origin": "http://localhost"}
    client.post(f"{HOME}/login", data={"password": PASSWORD}, headers=origin)
    rows.append(row("first page after a start", [timed(lambda: client.get(HOME))]))
    spent: dict[str, list[tuple[float, float]]] = {}
    for seed in range(ROUNDS):
        fill(store, NEW, judges=5, gap=0.1, seed=seed + 1)
        spent.setdefault("page after 100 new judgments", []).append(timed(lambda: client.get(HOME)))
        spent.setdefault("page, nothing new", []).append(timed(lambda: client.get(HOME)))
        spent.setdefault("JSON", []).append(timed(lambda: client.get(f"{HOME}/now")))
    found = client.get(f"{HOME}/now").json()
    # A fast wrong answer is not a result.
    assert found["is_complete"]
    assert found["status"]["judged"] == n + ROUNDS * NEW
    assert found["verdict"]["n"] + found["verdict"]["ties"]["judgments"] == n + ROUNDS * NEW
    spent["comparity collect status"] = [timed(lambda: study_status(store)) for _ in range(3)]
    return rows + [row(name, one) for name, one in spent.items()]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=float, default=1e6)
    parser.add_argument("--items", type=float, default=1e5)
    asked = parser.parse_args()
    n, n_items = int(asked.judgments), int(asked.items)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "study.db")
        make_large(path, n_items)
        with open_store(path) as store:
            fill(store, n, judges=JUDGES, gap=0.1)
            store.set_password(PASSWORD, now=time.time())
            rows = measure(store, n)
    caption = f"{n_items:,} items, {JUDGES} judges, SQLite; target: under a second."
    show("The dashboard", ["", "median ms", "largest ms", "processor ms"], rows, caption)


if __name__ == "__main__":
    main()
