"""``python -m tests.fuzz 100000``: many cases; one of every kind of failure is kept."""

from __future__ import annotations

import os
import sys
from collections import Counter
from multiprocessing import get_context
from shutil import rmtree

from tests.fuzz.batches import run_batch
from tests.fuzz.test_fuzz import HOME, shares

BATCH = 20


def main() -> int:
    """Run as many cases as asked for, on all processors, and list what broke."""
    total, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    jobs = [
        (path, min(BATCH, count - done), start + done)
        for path, count in shares(total).items()
        for done in range(0, count, BATCH)
    ]
    kinds: Counter[str] = Counter()
    kept: dict[str, str] = {}
    with get_context("spawn").Pool(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        # In order of their seeds all commands are tried early.
        batches = pool.imap_unordered(run_batch, sorted(jobs, key=lambda job: job[2]))
        for done, found in enumerate(batches, 1):
            for kind, folder in found:
                kinds[kind] += 1
                if kept.setdefault(kind, folder) == folder:
                    print(f"{kind}\n    {folder}", flush=True)
                elif folder not in kept.values():
                    # A case drawn twice is kept in one folder.
                    rmtree(folder, ignore_errors=True)
            if not done % 20:
                print(f"{done} of {len(jobs)} batches, {len(kinds)} kinds of failure", flush=True)
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}\n       {kept[kind]}")
    print(f"{total} cases, {sum(kinds.values())} failures of {len(kinds)} kinds, kept in {HOME}")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
