"""How many judgments a study takes in a second, and how long a judge waits.

Run as ``python benchmarks/bench_collect.py``; ``--judges 50`` for one size, ``--seconds 5`` for
short runs. A server process (``comparity collect serve``) is asked by this process over the
loopback interface: judges answer as fast as they are answered, by the requests that the page's
script makes, one to keep the answer and one to fetch the next pair. Every run ends after so many
seconds or judgments, whichever comes first. Latency is that of an answer, from sending to the
acknowledgment after the commit. Processor time of the server is printed beside it, because wall
time also counts what others do on a busy machine. At the end every acknowledged judgment is looked
up in the store.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from measure import SEED, show

sys.path.insert(0, str(Path(__file__).parents[1]))

from comparity.collect import schema
from comparity.collect.options import CollectOptions
from comparity.collect.setup import Items
from comparity.collect.store import create_store, open_store
from comparity.collect.study import study_of
from comparity.collect.visits import cookie_name
from tests.collect.crowd import Crowd, running_server
from tests.collect.postgres import running_cluster, why_not

MOST = 20_000
"""Judgments after which a run ends."""


def make_study(address: str, judges: int) -> tuple[list[str], str]:
    """Make a study of 500 texts in which nobody runs out of pairs; return tokens and cookie."""
    options = CollectOptions(
        question="Which text is clearer?",
        show="text",
        sensitive="sex",
        judges=judges,
        each=max(MOST // judges, 100),
        seed=SEED,
    )
    items = Items(
        names=[f"item {place}" for place in range(500)],
        shown=[[f"Text number {place}. " * 20] for place in range(500)],
        sensitive={"sex": ["f", "m"] * 250},
    )
    create_store(address, study_of(options), items, now=time.time())
    with open_store(address) as store:
        tokens = [token for _, token in store.insert_judges(judges, now=time.time())]
        return tokens, cookie_name(store.study)


async def judge_for(crowd: Crowd, tokens: list[str], seconds: float) -> float:
    """Let a crowd judge for some seconds; return how many they were."""
    start = time.perf_counter()
    people = [asyncio.create_task(crowd.judge(token)) for token in tokens]
    while time.perf_counter() - start < seconds and len(crowd.acknowledged) < MOST:
        await asyncio.sleep(0.05)
    taken = time.perf_counter() - start
    crowd.stopped = True
    await asyncio.wait_for(asyncio.gather(*people), timeout=60)
    return taken


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far; 0 where the system does not tell."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    used = stat.read_text().rpartition(")")[2].split()
    return (int(used[11]) + int(used[12])) / 100


def count_missing(address: str, crowd: Crowd) -> int:
    """Return how many acknowledged judgments are not in the store."""
    with open_store(address) as store, store.owner.begin() as connection:
        kept = {*connection.execute(sa.select(schema.JUDGMENT.c.client_id)).scalars()}
    return sum(one.client_id not in kept for one in crowd.acknowledged)


def measure(name: str, address: str, judges: int, seconds: float) -> list[str]:
    """Return a row of the table."""
    tokens, cookie = make_study(address, judges)
    with running_server(address) as server:
        crowd = Crowd(port=server.port, cookie=cookie)
        before = processor_seconds(server.pid)
        taken = asyncio.run(judge_for(crowd, tokens, seconds))
        used = processor_seconds(server.pid) - before
    assert not crowd.faults, crowd.faults[:3]
    missing = count_missing(address, crowd)
    assert missing == 0, missing
    n = len(crowd.acknowledged)
    waits = np.array([one.seconds for one in crowd.acknowledged]) * 1000
    looks = np.array(crowd.looks) * 1000
    return [
        *(name, f"{judges}", f"{n:,}", f"{n / taken:,.0f}"),
        *(f"{np.quantile(waits, q):,.0f}" for q in (0.5, 0.99)),
        *(f"{np.quantile(looks, q):,.0f}" for q in (0.5, 0.99)),
        f"{used / n * 1000:.1f}",
    ]


Lend = Callable[[], AbstractContextManager[str]]


@contextmanager
def lend_file() -> Iterator[str]:
    """Lend the address of a new file."""
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "study.db")


@contextmanager
def databases() -> Iterator[dict[str, Lend]]:
    """Yield what lends an address of each kind of database that there is."""
    if reason := why_not():
        print(f"PostgreSQL left out: {reason}")
        yield {"SQLite": lend_file}
        return
    # Commits wait for the disk, as they do in a study.
    with running_cluster(fsync=True) as cluster:
        yield {"SQLite": lend_file, "PostgreSQL": cluster.empty_database}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--judges", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--seconds", type=float, default=15)
    asked = parser.parse_args()
    with databases() as found:
        rows = []
        for judges, (name, lend) in product(asked.judges, found.items()):
            with lend() as address:
                rows.append(measure(name, address, judges, asked.seconds))
    header = ["database", "judges", "judgments", "per second", "answer p50 ms", "p99"]
    header += ["next pair p50 ms", "p99", "server CPU ms each"]
    show("Judgments over HTTP", header, rows, "Loopback, no pause between answers.")


if __name__ == "__main__":
    main()
