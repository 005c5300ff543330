"""Core-seconds of jobs: what all threads of this process used, whatever else the machine does.

A peer that runs in two threads is not flattered by it, and a busy machine changes it little.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any


def core_seconds(*jobs: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Return the least core time of each job, run in turns so that all see the same machine."""
    least = [math.inf] * len(jobs)
    for _ in range(repeats):
        for place, job in enumerate(jobs):
            start = time.process_time()
            job()
            least[place] = min(least[place], time.process_time() - start)
    return least
