"""BARP with equal and with own sharpness: core-seconds, growth and peak memory.

Run as ``python benchmarks/bench_sharpness.py --max 1e7``. Ten comparisons for each item, of pairs
drawn from all items by 100 evaluators, whose log sharpness has SD 0.5 (zero for equal sharpness).
Core-seconds are of the whole call, once kernels are compiled: checks, diagnosis, fit, the tests of
equal sharpness and of fit, and standard errors.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

from comparity import barp

EVALUATORS, EACH = 100, 10
KINDS = {"equal": 0.0, "own": 0.5}


def simulated(n: int, spread: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs, better first, evaluators, groups and biases."""
    rng, n_items = np.random.default_rng(SEED), n // EACH
    scores, group = rng.normal(size=n_items), rng.integers(0, 2, n_items).astype(np.int8)
    bias, sharpness = rng.normal(0, 0.5, EVALUATORS), np.exp(rng.normal(0, spread, EVALUATORS))
    one = rng.integers(0, n_items, n).astype(np.int32)
    two = ((one + rng.integers(1, n_items, n)) % n_items).astype(np.int32)
    judge = rng.integers(0, EVALUATORS, n).astype(np.int32)
    lead = scores[one] - scores[two] + bias[judge] * (group[one] - group[two])
    won = rng.random(n) < 1 / (1 + np.exp(-sharpness[judge] * lead))
    pairs = np.where(won[:, None], np.column_stack([one, two]), np.column_stack([two, one]))
    return pairs, judge, group, bias


def run_one(n: int, kind: str) -> None:
    """Time one call, and say how biases go with the true ones."""
    pairs, judge, group, bias = simulated(n, KINDS[kind])
    few = n // 5
    barp(pairs[:few], evaluators=judge[:few], sensitive_features=group, sharpness=kind)
    start = time.process_time()
    found = barp(pairs, evaluators=judge, sensitive_features=group, sharpness=kind)
    core = time.process_time() - start
    report(core=core, together=float(np.corrcoef(found.centred_bias[:, 0], bias)[0, 1]))


def main() -> None:
    """Print the table."""
    rows = []
    for kind in KINDS:
        counts, spent = sizes(largest_size(__doc__ or ""), 1e6), []
        for n in counts:
            facts = in_subprocess(__file__, "one", str(n), kind)
            # A fast wrong answer is not a result.
            assert facts["together"] > 0.98
            spent.append(facts["core"])
            size = f"{n:,}", f"{n // EACH:,}"
            rows.append((kind, *size, f"{facts['core']:.2f}", f"{facts['peak_gib']:.2f}"))
        rows.append((kind, "growth", "", f"{growth(counts, spent):.2f}", ""))
    columns = ("sharpness", "comparisons", "items", "core, s", "peak, GiB")
    caption = "targets: 1 and 2 core-seconds at a million, growth at most 1.25"
    show("Equal and own sharpness", columns, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        run_one(int(sys.argv[2]), sys.argv[3])
    else:
        main()
