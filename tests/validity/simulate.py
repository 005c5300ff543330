"""Run worlds, keep what was counted, and go on from there.

Runs are counted in chunks, one line of JSON for each, in a folder that is not committed. A world
whose rate is more than two standard errors above what is promised is run again, by generators that
were not used before; only these runs decide.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.validity.questions import QUESTIONS, world_of
from tests.validity.worlds import generator

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "validity"
CHUNK = 25
FIRST, AGAIN = "first", "again"
STREAMS = {FIRST: 1, AGAIN: 2}
SECONDS_BETWEEN_LINES = 15


@dataclass(frozen=True)
class Size:
    """How many worlds of all questions together, runs of each, and fresh runs of suspects."""

    worlds: int
    runs: int
    again: int

    def worlds_of(self, names: Sequence[str]) -> dict[str, int]:
        """Share the worlds out among the questions that are asked, at least one for each."""
        total = sum(QUESTIONS[name].share for name in names)
        return {name: max(1, round(self.worlds * QUESTIONS[name].share / total)) for name in names}


SIZES = {"small": Size(50, 25, 100), "medium": Size(100, 100, 1000), "full": Size(200, 200, 2000)}


def read_size(word: str) -> Size:
    """Return a size by its name, or by its numbers: 60x100x1000."""
    if word in SIZES:
        return SIZES[word]
    worlds, runs, again = map(int, word.split("x"))
    return Size(worlds, runs, again)


Task = tuple[str, int, str, int]
"""Question, world, stage, and which chunk."""


@dataclass
class Count:
    """Runs and errors of one world at one stage."""

    runs: int = 0
    errors: int = 0

    @property
    def rate(self) -> float:
        """Errors in each run."""
        return self.errors / self.runs if self.runs else float("nan")


Counts = dict[tuple[str, int, str], Count]


def run_chunk(task: Task) -> tuple[Task, int, float]:
    """Run one chunk; return it with the number of errors and the seconds it took."""
    question, number, stage, chunk = task
    world = world_of(question, number)
    start = time.perf_counter()
    errors = sum(
        world.errs(generator(question, number, STREAMS[stage], run))
        for run in range(chunk * CHUNK, (chunk + 1) * CHUNK)
    )
    return task, errors, time.perf_counter() - start


class Ledger:
    """What was counted before, in one file for each question and state of its code."""

    def __init__(self, folder: Path, states: Mapping[str, str]) -> None:
        self.paths = {name: folder / f"{state}.jsonl" for name, state in states.items()}
        self.chunks: dict[Task, int] = {}
        for path in self.paths.values():
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            for line in lines:
                *task, errors, _ = json.loads(line)
                self.chunks[tuple(task)] = errors

    def add(self, task: Task, errors: int, seconds: float) -> None:
        """Keep a chunk at once, so that nothing is lost when the simulation is stopped."""
        self.chunks[task] = errors
        path = self.paths[task[0]]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*task, errors, round(seconds, 3)]) + "\n")

    def counts(self) -> Counts:
        """Return runs and errors by world and stage."""
        counts: Counts = defaultdict(Count)
        for (question, number, stage, _), errors in self.chunks.items():
            one = counts[question, number, stage]
            one.runs += CHUNK
            one.errors += errors
        return counts


def suspects(question: str, counts: Counts, worlds: int) -> list[int]:
    """Return the worlds whose first runs erred more often than promised, by two standard errors."""
    limit = QUESTIONS[question].limit
    first = {number: counts[question, number, FIRST] for number in range(worlds)}
    return [k for k, one in first.items() if one.runs and one.rate > limit(one.runs, 2)]


def open_tasks(question: str, size: Size, worlds: int, ledger: Ledger) -> Iterator[Task]:
    """Yield the chunks that are left to run: the first runs of all worlds, then those of suspects.

    The second part is worked out when the first has been counted.
    """
    for chunk in range(size.runs // CHUNK):
        yield from ((question, number, FIRST, chunk) for number in range(worlds))
    for number in suspects(question, ledger.counts(), worlds):
        yield from ((question, number, AGAIN, chunk) for chunk in range(size.again // CHUNK))


def simulate(names: list[str], size: Size, ledger: Ledger, *, jobs: int) -> None:
    """Run what is left of some questions, and say how far it is."""
    # Compiled code and threads of other libraries do not survive a fork.
    with get_context("spawn").Pool(jobs) as pool:
        for name, worlds in size.worlds_of(names).items():
            for stage in (FIRST, AGAIN):
                left = [
                    one
                    for one in open_tasks(name, size, worlds, ledger)
                    if one[2] == stage and one not in ledger.chunks
                ]
                told, start = time.monotonic(), time.monotonic()
                for done, counted in enumerate(pool.imap_unordered(run_chunk, left), 1):
                    ledger.add(*counted)
                    if time.monotonic() - told > SECONDS_BETWEEN_LINES or done == len(left):
                        told = time.monotonic()
                        spent = f"{told - start:.0f} s"
                        runs = f"{done * CHUNK} of {len(left) * CHUNK} runs"
                        print(f"{name}, {stage}: {runs}, {spent}", flush=True)
