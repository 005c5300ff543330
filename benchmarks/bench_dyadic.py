"""Dyadic variance of all cells against plain counts of the same pairs, with growth over sizes.

Run as ``python benchmarks/bench_dyadic.py --max 1e7``. The peer is the least one can do with the
same columns: gather the group and the score of both items of every pair and count agreement by
cell, in a plain compiled loop. There are ten pairs to an item. The variance is compared with the
closed form for random pairs whose scores are pure noise: the agreement of a pair is then a coin,
and two pairs that share their better (or their worse) item have the covariance 1/12.
"""

from __future__ import annotations

import sys

import numpy as np
from measure import SEED, best_seconds, growth, in_subprocess, largest_size, report, show, sizes
from numba import njit

from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.pairs import Cell
from comparity.inference.dyadic import rate_covariance

CELLS = tuple(Cell(better, worse) for better in "01" for worse in "01")
TARGET = 12


@njit(cache=True)
def plain_counts(better, worse, group, score):
    """Count agreement by cell."""
    counts = np.zeros((4, 2), dtype=np.int64)
    for pair in range(len(better)):
        one, two = better[pair], worse[pair]
        counts[2 * group[one] + group[two], int(score[one] > score[two])] += 1
    return counts


def run(n: int) -> None:
    """Time one size and check the answer."""
    rng = np.random.default_rng(SEED)
    n_items = n // 10
    better = rng.integers(0, n_items, n)
    worse = (better + rng.integers(1, n_items, n)) % n_items
    group, score = rng.integers(0, 2, n_items), rng.normal(size=n_items)
    counts = JudgedPairs(
        better=better,
        worse=worse,
        evaluator=None,
        cell=2 * group[better] + group[worse],
        order=np.sign(score[better] - score[worse]).astype(np.int8),
        trials=np.ones(n, dtype=np.int64),
        cells=CELLS,
        n_items=n_items,
    )
    plain_counts(better, worse, group, score)
    sharing = counts.shared_counts().sharing_moments()
    ours, plain = best_seconds(
        lambda: counts.shared_counts().sharing_moments(),
        lambda: plain_counts(better, worse, group, score),
    )
    # Cell (0, 1): items of group 0 are better, of group 1 worse, n_items / 2 of each.
    pairs, items = sharing.trials[1], n_items / 2
    expected = 1 / 4 / pairs + 2 * (1 / 12) / items
    found = rate_covariance(sharing)[1, 1]
    report(ours=ours, plain=plain, off=abs(found / expected - 1))


def main() -> None:
    """Print ratio, growth and peak memory of every size."""
    counts = sizes(largest_size(__doc__ or ""))
    answers = [in_subprocess(__file__, "run", str(n)) for n in counts]
    rows = [
        (
            f"{n:,}",
            f"{n // 10:,}",
            f"{answer['ours']:.4f}",
            f"{answer['plain']:.4f}",
            f"{answer['ours'] / answer['plain']:.1f}",
            f"{answer['peak_gib']:.2f}",
            f"{answer['off']:.1%}",
        )
        for n, answer in zip(counts, answers, strict=True)
    ]
    exponent = growth(counts, [answer["ours"] for answer in answers])
    columns = ("pairs", "items", "ours, s", "counts, s", "ratio", "peak GiB", "off by")
    caption = f"growth exponent {exponent:.2f} (target 1.2); target ratio {TARGET} at 10,000,000"
    show("Dyadic variance", columns, rows, caption)
    # A fast wrong answer is not a result.
    assert all(answer["off"] < 0.1 for answer in answers)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(int(sys.argv[2]))
    else:
        main()
