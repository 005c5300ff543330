"""Timing and printing shared by the benchmarks: fixed seeds, minima, ratios, peak memory."""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

SEED = 20240701
WIDE = 200


def sizes(largest: float, smallest: float = 1e5) -> list[int]:
    """Return powers of ten up to the largest size."""
    steps = range(round(math.log10(smallest)), round(math.log10(largest)) + 1)
    return [10**step for step in steps]


def best_seconds(*jobs: Callable[[], Any], repeats: int = 3) -> list[float]:
    """Return the least wall time of each job, run in turns so that both see the same machine."""
    least = [math.inf] * len(jobs)
    for _ in range(repeats):
        for place, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            least[place] = min(least[place], time.perf_counter() - start)
    return least


def growth(counts: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent of time in size, from the first to the last size."""
    if len(counts) < 2:
        return math.nan
    return math.log(seconds[-1] / seconds[0]) / math.log(counts[-1] / counts[0])


def in_subprocess(script: str, *arguments: str, longest: float | None = None) -> dict[str, Any]:
    """Run a benchmark script in a process of its own; it prints one JSON object.

    Raises `subprocess.TimeoutExpired` after the longest time in seconds, if there is one.
    """
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=longest)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def report(**facts: Any) -> None:
    """Print facts and the peak memory of this process as the last line, for `in_subprocess`."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({**facts, "peak_gib": peak}))


def largest_size(description: str) -> int:
    """Read ``--max 1e7`` from the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--max", type=float, default=1e7, help="largest size (default 1e7)")
    return int(parser.parse_known_args()[0].max)


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> None:
    """Print one table."""
    table = Table(title=title, caption=caption)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    # A file takes lines of any length; eighty columns would cut numbers off.
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)
