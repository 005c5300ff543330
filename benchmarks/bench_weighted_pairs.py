"""All pairs weighted by label differences, with covariance, against enumeration and a sort.

Run as ``python benchmarks/bench_weighted_pairs.py --max 1e6``. Peers: one ``np.argsort`` of the
scores, all pairs with weights on items only, and all pairs enumerated by numpy (ten thousand
items). The overall accuracy is compared with enumeration, or with (1 + r) / 2 for normal labels
and scores of correlation r.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from measure import SEED, best_seconds, growth, in_subprocess, largest_size, report, show, sizes

from comparity.counts.all_pairs import all_pairs
from comparity.counts.query_pairs import weighted_pairs

FEW, MOST = 10**4, 10**6
ACCURACY = (1 + math.sqrt(0.5)) / 2


def enumerated(y: np.ndarray, f: np.ndarray) -> float:
    """Return the overall accuracy from a matrix of all pairs."""
    apart = np.maximum(y[:, None] - y[None, :], 0.0)
    return float(apart[f[:, None] > f[None, :]].sum() / apart.sum())


def run(n: int, k: int) -> None:
    """Time one size and number of groups, and check the answer."""
    rng = np.random.default_rng(SEED)
    y = rng.normal(size=n)
    f, group, weights = y + rng.normal(size=n), rng.integers(0, k, n), rng.uniform(0.5, 1.5, n)
    names = tuple(f"{g:02}" for g in range(k))
    small = (y[:1000], f[:1000], group[:1000], names)
    weighted_pairs(*small)
    all_pairs(*small, weights=weights[:1000])
    jobs = (
        lambda: weighted_pairs(y, f, group, names),
        lambda: all_pairs(y, f, group, names, weights=weights),
        lambda: np.argsort(f),
    )
    ours, items, argsort = best_seconds(*jobs, repeats=3 if n < 10**6 else 1)
    sharing = weighted_pairs(y, f, group, names).sharing
    found = sharing.hits.sum() / sharing.trials.sum()
    assert abs(found - ACCURACY) < 5 / math.sqrt(n), found
    facts = {"ours": ours, "items": items, "argsort": argsort}
    if n <= FEW:
        start = time.perf_counter()
        assert abs(enumerated(y, f) - found) < 1e-12
        facts["enumerated"] = time.perf_counter() - start
    report(**facts)


def main() -> None:
    """Print one table for each number of groups."""
    # Beyond, twenty groups would take tens of gibibytes.
    counts = sizes(min(largest_size(__doc__ or ""), MOST), FEW)
    for k in (2, 5, 20):
        answers = [in_subprocess(__file__, "run", str(n), str(k)) for n in counts]
        rows = [
            (
                f"{n:.0e}",
                f"{1000 * answer['ours']:.0f}",
                f"{answer['ours'] / answer['argsort']:.0f}",
                f"{answer['ours'] / answer['items']:.2f}",
                f"{answer['enumerated'] / answer['ours']:.0f}x" if "enumerated" in answer else "",
                f"{answer['peak_gib']:.2f}",
            )
            for n, answer in zip(counts, answers, strict=True)
        ]
        exponent = growth(counts, [answer["ours"] for answer in answers])
        caption = (
            "milliseconds with covariance; ratios to np.argsort and to weights on items only; "
            f"pairs: how many times slower enumeration is; growth exponent {exponent:.2f}"
        )
        columns = ("items", "ms", "argsorts", "item weights", "pairs", "GiB")
        show(f"Pairs by label difference, {k} groups", columns, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
