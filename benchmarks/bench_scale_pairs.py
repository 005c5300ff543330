"""All pairs of tables larger than memory, beside one bare group-by and scikit-learn.

    python benchmarks/bench_scale_pairs.py --rows 10000000 --memory 2GB

Parquet in ten parts is written into a folder of the system for temporary files, which is gone at
the end. Every row of the table below is a process of its own, which tells its seconds, core-seconds
and peak memory. Peers: DuckDB grouping the same columns by (group, label), by (group, label, 65,536
bins of the score), and scikit-learn's area under the curve of as many rows as fit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

ROWS = """
    select {label} as y, case when random() < 0.4 then 'a' else 'b' end as g,
           {label} * 0.5 + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) as z
    from range({n})
"""
LABELS = {
    "binary": "(hash(range) % 100 < 30)::tinyint",
    "ordinal": "(hash(range) % 5)::tinyint",
    "percent": "(hash(range) % 101)::tinyint",
    # Each in every part.
    "continuous": "hash(range) / 4611686018427387904.0",
}
PARTS = 10
FITS = 10**7
SEED = 0.5

GROUPED = "select g, y, count(*), min(score), max(score) from read_parquet($1) group by all"
BINNED = """
    select g, y, floor(score * 65536)::int as bin, count(*) from read_parquet($1) group by all
"""


def write_parts(folder: Path, n: int, kind: str) -> list[str]:
    """Write labels, groups and scores between 0 and 1."""
    import duckdb

    database = duckdb.connect(config={"threads": 2})
    database.execute(f"select setseed({SEED})")
    for part in range(PARTS):
        rows = ROWS.format(n=n // PARTS, label=LABELS[kind])
        query = f"select y, g, 1 / (1 + exp(-z)) as score from ({rows})"
        path = str(folder / f"part-{part}.parquet")
        database.execute(f"copy ({query}) to '{path}' (row_group_size 1000000)")
    return [str(folder / f"part-{part}.parquet") for part in range(PARTS)]


def run_audit(paths: list[str], memory: str, tolerance: float) -> dict[str, object]:
    """Audit all pairs as the command does."""
    from comparity.pairwise.audit import audit_file
    from comparity.tables.file_parts import join_parts
    from comparity.tables.memory import limit_memory

    with limit_memory(memory):
        found = audit_file(
            join_parts(paths), label="y", score="score", sensitive="g", tolerance=tolerance
        )
    return {"overall": found.overall, "bound": found.bound, "finding": found.finding}


def run_query(paths: list[str], memory: str, query: str) -> dict[str, object]:
    """Let DuckDB group the same columns."""
    import duckdb

    database = duckdb.connect(config={"memory_limit": memory, "threads": os.cpu_count() or 1})
    found = database.execute(query, [paths]).fetchnumpy()
    return {"rows out": len(found["g"])}


def run_sklearn(paths: list[str]) -> dict[str, object]:
    """Let scikit-learn work out the area under the curve of the first rows."""
    import duckdb
    from sklearn.metrics import roc_auc_score

    query = f"select y, score from read_parquet($1) limit {FITS}"
    columns = duckdb.execute(query, [paths]).fetchnumpy()
    return {"overall": float(roc_auc_score(columns["y"] > 0, columns["score"]))}


def run_alone(task: str, paths: list[str], memory: str) -> dict[str, object]:
    """Run one task in a process of its own, and measure it."""
    command = [sys.executable, __file__, "--task", task, "--memory", memory, "--paths", *paths]
    began = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return {"seconds": time.perf_counter() - began, **found}


def work_on(task: str, paths: list[str], memory: str) -> None:
    """Do a task in this process, and print what it took."""
    tasks = {
        "comparity": lambda: run_audit(paths, memory, 1e-4),
        "comparity, exact": lambda: run_audit(paths, memory, 0.0),
        "DuckDB by (group, label)": lambda: run_query(paths, memory, GROUPED),
        "DuckDB by (group, label, bin)": lambda: run_query(paths, memory, BINNED),
        "scikit-learn": lambda: run_sklearn(paths),
    }
    found = tasks[task]()
    used = resource.getrusage(resource.RUSAGE_SELF)
    cores, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
    print(json.dumps({"core_seconds": cores, "peak_gb": peak, **found}))


def main() -> None:
    """Print a table of all tasks, for every number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="1000000,10000000", help="numbers of rows")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--labels", default="binary", choices=LABELS)
    parser.add_argument("--exact", action="store_true", help="count exactly, too")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--paths", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        work_on(given.task, given.paths, given.memory)
        return
    tasks = ["DuckDB by (group, label)", "DuckDB by (group, label, bin)", "comparity"]
    tasks += ["comparity, exact"] * given.exact + ["scikit-learn"]
    times: list[tuple[int, float]] = []
    for n in map(int, given.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            paths = write_parts(Path(folder), n, given.labels)
            for task in tasks:
                if task == "scikit-learn" and given.labels != "binary":
                    continue
                found = run_alone(task, paths, given.memory)
                told = ", ".join(
                    f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
                    for name, value in found.items()
                )
                print(f"{n:,} rows, {task}: {told}", flush=True)
                if task == "comparity":
                    times.append((n, float(str(found["core_seconds"]))))
    for (few, short), (many, long) in pairwise(times):
        exponent = math.log(long / short) / math.log(many / few)
        print(f"growth of core-seconds from {few:,} to {many:,} rows: exponent {exponent:.2f}")


if __name__ == "__main__":
    main()
