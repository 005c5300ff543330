"""``python -m tests.validity --size small``: try every promise in worlds drawn at random."""

from __future__ import annotations

import argparse
import sys
import time

from tests.validity.page import describe, summarise, table, write
from tests.validity.questions import QUESTIONS
from tests.validity.simulate import (
    CHUNK,
    FIRST,
    FOLDER,
    SIZES,
    Ledger,
    read_size,
    run_chunk,
    simulate,
)
from tests.validity.states import state_of


def main() -> int:
    """Simulate, tell, and end with 1 where a promise was not kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.validity", description=__doc__)
    sizes = f"{', '.join(SIZES)}, or worlds in all x runs x runs of suspects: 60x100x1000"
    parser.add_argument("--size", type=read_size, default="full", help=sizes)
    parser.add_argument("--question", choices=QUESTIONS, action="append", help="one of them only")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--world", type=int, help="show one world, and run it")
    parser.add_argument("--write", action="store_true", help="write docs/validity.md")
    parser.add_argument("--counted", action="store_true", help="tell what was counted, run nothing")
    asked = parser.parse_args()
    names = asked.question or list(QUESTIONS)
    if asked.world is not None:
        return _show(names, asked.world, asked.size.runs)
    ledger = Ledger(FOLDER, {name: state_of(name) for name in names})
    if not asked.counted:
        simulate(names, asked.size, ledger, jobs=asked.jobs)
    counts = ledger.counts()
    worlds = asked.size.worlds_of(names)
    rows = [summarise(name, counts, worlds[name]) for name in names]
    rows = [row for row in rows if row.worlds]
    print("\n".join(table(rows)))
    if asked.write:
        write(rows)
    return int(any(row.failed for row in rows))


def _show(names: list[str], number: int, runs: int) -> int:
    for name in names:
        for fact, value in describe(name, number).items():
            print(f"{fact:12} {value}")
        start, errors = time.perf_counter(), 0
        for chunk in range(max(runs // CHUNK, 1)):
            errors += run_chunk((name, number, FIRST, chunk))[1]
            print(f"{errors} errors in {(chunk + 1) * CHUNK} runs", flush=True)
        print(f"{time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
