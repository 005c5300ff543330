"""Simulated power: drawing counts against drawing every row.

The whole of Table 3 of Xi et al., "Comparative Separation": four classifiers, two sizes, two tests,
10,000 repetitions each. Run with ``python benchmarks/bench_power.py``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

# The row-by-row loop is the twin that the tests use; it lives outside the package.
sys.path.insert(0, str(Path(__file__).parents[1]))

from comparity.planning.plan import simulate_power
from comparity.planning.scenarios import ComparativeScenario, SeparationScenario
from tests.plain.power import decisions_violate, pairs_violate

TABLE_1 = {
    "f0": ((220 / 275, 180 / 225), (135 / 225, 165 / 275)),
    "f1": ((220 / 275, 180 / 225), (144 / 225, 154 / 275)),
    "f2": ((231 / 275, 171 / 225), (144 / 225, 154 / 275)),
    "f3": ((230 / 275, 200 / 225), (120 / 225, 175 / 275)),
}
BASE_RATES = (0.55, 0.45)
REPETITIONS = 10_000
SEED = 20240701


def by_counts(repetitions: int = REPETITIONS) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    table = []
    for tpr, tnr in TABLE_1.values():
        common = {"tpr": tpr, "shares": (0.5, 0.5), "base_rates": BASE_RATES}
        decided = SeparationScenario(fpr=(1 - tnr[0], 1 - tnr[1]), **common)
        judged = ComparativeScenario(tnr=tnr, **common)
        options = {"rule": "paper", "repetitions": repetitions, "rng": rng}
        table.append(
            [simulate_power(decided, n, **options) for n in (1000, 2000)]
            + [simulate_power(judged, n, **options) for n in (2000, 4000)]
        )
    return np.array(table)


def by_rows(repetitions: int) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    table = []
    for tpr, tnr in TABLE_1.values():
        fpr = (1 - tnr[0], 1 - tnr[1])
        runs = range(repetitions)
        table.append(
            [np.mean([decisions_violate(rng, tpr, fpr, BASE_RATES, n) for _ in runs])
             for n in (1000, 2000)]
            + [np.mean([pairs_violate(rng, tpr, tnr, BASE_RATES, n) for _ in runs])
               for n in (2000, 4000)]
        )  # fmt: skip
    return np.array(table)


def timed(function, *arguments: int) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    answer = function(*arguments)
    return time.perf_counter() - start, answer


def main(row_repetitions: int = REPETITIONS) -> None:
    """Print both times, their ratio and the largest difference of the answers."""
    by_counts(10)
    fast, counts = min((timed(by_counts) for _ in range(5)), key=lambda run: run[0])
    slow, rows = timed(by_rows, row_repetitions)
    errors = np.sqrt(counts * (1 - counts) * (1 / REPETITIONS + 1 / row_repetitions))
    largest = np.max(np.abs(counts - rows) / errors)
    scaled = slow * REPETITIONS / row_repetitions
    said = "" if row_repetitions == REPETITIONS else f" (scaled up from {row_repetitions:,})"
    print("Table 3, 10,000 repetitions, 4 classifiers, 2 sizes, 2 tests")
    print(f"  counts, multinomial: {fast:8.3f} s")
    print(f"  rows, one by one:    {scaled:8.3f} s{said}")
    print(f"  ratio:               {scaled / fast:8.0f}")
    print(f"  largest difference:  {largest:8.2f} standard errors of 16")
    # A fast wrong answer is not a result; 16 comparisons exceed 4 errors once in a thousand runs.
    assert largest < 4, (counts, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
