"""Every two of sixty raters against a loop over scipy's Welch test, with growth over subjects.

Run as ``python benchmarks/bench_relative.py --max 1e5``. Both compare the same 1,770 pairs of
raters over two groups, and their statistics are compared; ours finds DPD, its interval, the
equivalence p value and the finding of every pair as well, and Holm's correction over all.
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
from measure import SEED, best_seconds, growth, in_subprocess, largest_size, report, show, sizes
from scipy.stats import ttest_ind

from comparity import compare_raters

RATERS = 60
# Scipy's loop takes minutes beyond.
MOST = 10**5


def world(n: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return ratings from 1 to 5 by rater, and the subjects' group."""
    rng = np.random.default_rng(SEED)
    sex = rng.choice(["f", "m"], n)
    merit = rng.normal(3, 1, n)
    seen = (merit + rng.normal(0.02 * k * (sex == "m"), 0.8) for k in range(RATERS))
    return {f"P{k}": np.clip(np.round(one), 1, 5) for k, one in enumerate(seen)}, sex


def peer(ratings: dict[str, np.ndarray], sex: np.ndarray) -> list[float]:
    """Return Welch's statistic of every two raters."""
    men = sex == "m"
    return [
        float(ttest_ind((x - y)[men], (x - y)[~men], equal_var=False).statistic)
        for x, y in combinations(ratings.values(), 2)
    ]


def measured(n: int) -> None:
    """Time one size in a process of its own."""
    ratings, sex = world(n)
    ours = [one.dpt for one in compare_raters(ratings, sensitive_features=sex).contrasts]
    # A fast wrong answer is not a result.
    assert np.allclose(ours, peer(ratings, sex))
    seconds = best_seconds(
        lambda: compare_raters(ratings, sensitive_features=sex),
        lambda: peer(ratings, sex),
        repeats=2,
    )
    report(seconds=seconds)


def main() -> None:
    """Print one row for each size."""
    counts = sizes(min(largest_size(__doc__ or ""), MOST), 1e3)
    found = [in_subprocess(__file__, str(n)) for n in counts]
    rows = [
        (
            f"{n:,}",
            f"{one['seconds'][0]:.2f}",
            f"{one['seconds'][1]:.2f}",
            f"{one['seconds'][0] / one['seconds'][1]:.2f}",
            f"{one['peak_gib']:.2f}",
        )
        for n, one in zip(counts, found, strict=True)
    ]
    header = ("subjects", "ours, s", "scipy, s", "ratio", "peak, GiB")
    exponent = growth(counts, [one["seconds"][0] for one in found])
    show("1,770 pairs of raters", header, rows, f"time grows as subjects ** {exponent:.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdecimal():
        measured(int(sys.argv[1]))
    else:
        main()
