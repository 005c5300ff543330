"""How long a person waits for the first answer of a command.

Run as ``python benchmarks/bench_startup.py``. Each command runs in a process of its own, five
times, the first of them not counted (it fills caches). Processor time is printed beside wall time,
because the latter also counts what others do on a busy machine.
"""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import SEED, show

ROWS = 10_000


def write(folder: Path) -> None:
    """Write 10,000 decisions, 10,000 judgments and 2,000 items."""
    rng = np.random.default_rng(SEED)
    label, decision = rng.integers(0, 2, (2, ROWS))
    score, group = rng.normal(size=ROWS), rng.choice(["f", "m"], ROWS)
    first, step, judge = rng.integers(1, 2000, (3, ROWS))
    tables = {
        "decisions": (("hired", "model", "sex"), (label, decision, group)),
        "items": (("item", "model", "sex"), (range(2000), score[:2000], group[:2000])),
        "judgments": (("better", "worse", "judge"), (first, (first + step) % 2000, judge % 30)),
    }
    for name, (header, columns) in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *zip(*columns, strict=True)])


def seconds(words: list[str], folder: Path) -> tuple[float, float]:
    """Return the least wall and processor time of a command."""
    runs = []
    for _ in range(5):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "comparity", *words], cwd=folder, capture_output=True
        )
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in (0, 1, 3), done.stderr.decode()
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        runs.append((wall, busy))
    return min(wall for wall, _ in runs[1:]), min(busy for _, busy in runs[1:])


AUDIT = "--sensitive sex"
RATES = "--shares 0.5,0.5 --base-rates 0.5,0.5 --power 0.8"
COMMANDS = {
    "help": ("--help", 0.3),
    "separation": (f"separation decisions.csv --label hired --prediction model {AUDIT}", 3),
    "comparative": (
        f"comparative judgments.csv --items items.csv --score model {AUDIT} --evaluator judge",
        3,
    ),
    "plan": (f"plan separation --tpr 0.8,0.84 --fpr 0.4,0.44 {RATES}", 3),
}


def main() -> None:
    """Print what each command takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        rows = []
        for command, (line, target) in COMMANDS.items():
            wall, busy = seconds(line.split(), folder)
            rows.append((command, f"{wall:.2f}", f"{busy:.2f}", f"{target}"))
    columns = ("command", "wall, s", "processor, s", "target, s")
    show("First answer", columns, rows, f"{ROWS:,} rows, warm caches")


if __name__ == "__main__":
    main()
