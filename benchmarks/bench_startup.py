"""How long a person waits for the first answer of a command.

Run as ``python benchmarks/bench_startup.py``; names of commands after it choose some. Each command
runs in a process of its own, three times, the first of them not counted (it fills caches).
Processor time is printed beside wall time, because the latter also counts what others do on a busy
machine.
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
ITEMS = 2_000
# (status of the command, a word of its answer): a command that failed is quick, too.
Answer = tuple[tuple[int, ...], str]
JUDGED: tuple[int, ...] = (0, 1, 3)
DONE: tuple[int, ...] = (0,)


def write(folder: Path) -> None:
    """Write 10,000 items with decisions, 10,000 judgments of 2,000 items, results and a policy."""
    rng = np.random.default_rng(SEED)
    label, hired = rng.integers(0, 2, (2, ROWS))
    grade, noise = rng.normal(size=(2, ROWS))
    item = {
        "item": np.arange(ROWS),
        "model": grade + noise,
        "sex": rng.choice(["f", "m"], ROWS),
        "age": rng.uniform(18, 65, ROWS),
        "label": label,
        "hired": hired,
        "grade": grade,
        "post": rng.integers(0, 500, ROWS),
    }
    item |= {f"P{place}": rng.integers(1, 8, ROWS) for place in range(1, 5)}
    first, step, judge = rng.integers(1, ITEMS, (3, ROWS))
    tables = {
        "items": item,
        "few": {name: item[name][:ITEMS] for name in ("item", "model", "sex", "age")},
        "judged": {"better": first, "worse": (first + step) % ITEMS, "judge": judge % 30},
    }
    for name, columns in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")


POLICY = """
[[audit]]
name = "error rates"
notion = "separation"
file = "items.csv"
label = "label"
prediction = "hired"
sensitive = "sex"

[[audit]]
name = "pairs"
notion = "pairwise"
file = "items.csv"
label = "grade"
score = "model"
sensitive = "sex"
"""

RATES = "--shares 0.5,0.5 --base-rates 0.5,0.5 --power 0.8"
PAIRS = "judged.csv --items few.csv --score model --evaluator judge"
PANEL = "judged.csv --items few.csv --evaluator judge --sensitive sex"
TWO = "relative items.csv --first P1 --second P2"
BRIDGE = f"{TWO} --on items.csv --subject item --sensitive sex"
COMMANDS: dict[str, tuple[str, Answer]] = {
    "help": ("--help", (DONE, "separation")),
    "separation": (
        "separation items.csv --label label --prediction hired --sensitive sex",
        (JUDGED, "Rates by group"),
    ),
    "comparative": (f"comparative {PAIRS} --sensitive sex", (JUDGED, "Agreement")),
    "comparative, age": (f"comparative {PAIRS} --sensitive age --continuous", (JUDGED, "larger")),
    "pairwise": (
        "pairwise items.csv --label label --score model --sensitive sex",
        (JUDGED, "f > m"),
    ),
    "pairwise, grades": (
        "pairwise items.csv --label grade --score model --sensitive sex",
        (JUDGED, "standardised"),
    ),
    "pairwise, age": (
        "pairwise items.csv --label grade --score model --sensitive age --continuous",
        (JUDGED, "larger"),
    ),
    "pairwise, queries": (
        "pairwise items.csv --label grade --score model --sensitive sex --query post",
        (JUDGED, "f > m"),
    ),
    "relative": (f"{TWO} --sensitive sex", (JUDGED, "P1")),
    "relative, age": (f"{TWO} --sensitive age --continuous", (JUDGED, "P1")),
    "relative, raters": ("relative items.csv --raters P* --sensitive sex", (JUDGED, "P4")),
    "relative, bridge": (f"{BRIDGE} --features grade,age", (JUDGED, "bridge")),
    "relative, forest": (f"{BRIDGE} --features grade,age --regressor forest", (JUDGED, "bridge")),
    "rank": (f"rank {PANEL}", (DONE, "lean")),
    "rank, audit": (f"rank {PANEL} --score model", (JUDGED, "panel")),
    "metrics": (
        "metrics items.csv --label label --prediction hired --sensitive sex --privileged m",
        (DONE, "C0 true positive"),
    ),
    "metrics, select": (
        "metrics items.csv --label label --prediction hired --sensitive sex --privileged m "
        "--features grade,age --select",
        (DONE, "D0"),
    ),
    "plan separation": (
        f"plan separation --tpr 0.8,0.84 --fpr 0.4,0.44 {RATES}",
        (DONE, "power"),
    ),
    "plan comparative": (
        f"plan comparative --tpr 0.8,0.84 --tnr 0.6,0.56 {RATES} --n-items 2000",
        (DONE, "power"),
    ),
    "weights": ("weights items.csv --label label --sensitive sex --output w.csv", (DONE, "f")),
    "weights, age": (
        "weights items.csv --label grade --sensitive age --numeric age --method fair-reweighing "
        "--output w.csv",
        (DONE, "weight"),
    ),
    "train": (
        "train items.csv --features grade,age --label label --sensitive sex --output m.json",
        (JUDGED, "accuracy"),
    ),
    "gate": ("gate policy.toml", (JUDGED, "error rates")),
    "report": ("report one.json two.json", (DONE, "Rates by group")),
    "report, page": ("report one.json two.json --html page.html", (DONE, "")),
    "separation, page": (
        "separation items.csv --label label --prediction hired --sensitive sex --html page.html",
        (JUDGED, "Rates by group"),
    ),
    "data": ("data", (DONE, "german")),
    "doctor": ("doctor", ((0, 2), "numpy")),
    "reproduce": ("reproduce", (DONE, "table 3")),
}
TARGET = {"help": 0.3}


def call(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one command."""
    words = [sys.executable, "-m", "comparity", *line.split()]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def seconds(line: str, answer: Answer, folder: Path) -> tuple[float, float]:
    """Return the least wall and processor time of a command."""
    runs = []
    for _ in range(3):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = call(line, folder)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in answer[0], done.stderr
        assert answer[1] in done.stdout, done.stdout
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        runs.append((wall, busy))
    return min(wall for wall, _ in runs[1:]), min(busy for _, busy in runs[1:])


def main() -> None:
    """Print what each command takes."""
    wanted = sys.argv[1:] or list(COMMANDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        for file, command in (("one", "separation"), ("two", "comparative")):
            text = call(f"{COMMANDS[command][0]} --json", folder).stdout
            (folder / f"{file}.json").write_text(text, encoding="utf-8")
        rows = []
        for command in wanted:
            wall, busy = seconds(*COMMANDS[command], folder)
            rows.append((command, f"{wall:.2f}", f"{busy:.2f}", f"{TARGET.get(command, 3)}"))
    columns = ("command", "wall, s", "processor, s", "target, s")
    show("First answer", columns, rows, f"{ROWS:,} rows, warm caches")


if __name__ == "__main__":
    main()
