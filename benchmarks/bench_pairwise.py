"""Agreement over all pairs against one sort of the scores, with growth over sizes.

Run as ``python benchmarks/bench_pairwise.py --max 1e7``. Peers: one ``np.argsort`` of the scores
(what any method must pay), scikit-learn's area under the curve for every cell (binary labels, up to
a million items), and all pairs enumerated by numpy (ten thousand items). Answers are compared as
well: overall agreement with a walk through the sorted scores level by level, with Kendall's tau of
scipy or with the closed form for normal labels and scores, cells with scikit-learn's, their
variance with DeLong's.
"""

from __future__ import annotations

import math
import sys
import time
from itertools import product

import numpy as np
from cores import core_seconds
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from comparity.counts.all_pairs import all_pairs, cell_counts
from comparity.inference.dyadic import rate_covariance

LEVELS = {"binary": 2, "ordinal": 10, "continuous": 0}
TARGETS = {"binary": 1.0, "ordinal": 1.0, "continuous": 3.0}
FEW = 10**4
PEER = 10**6
CORRELATION = math.sqrt(0.5)


def columns(kind: str, n: int, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores (the label's normal quality plus as much noise) and groups."""
    rng = np.random.default_rng(SEED)
    quality = rng.normal(size=n)
    score = quality + rng.normal(size=n)
    label = quality
    if LEVELS[kind]:
        share = np.arange(1, LEVELS[kind]) / LEVELS[kind]
        label = np.searchsorted(np.quantile(quality, share), quality).astype(np.float64)
    return label, score, rng.integers(0, n_groups, n)


def overall(kind: str, y: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Return overall agreement by another way, and how far ours may be from it."""
    if LEVELS[kind]:
        level = y[np.argsort(f)]
        below = [np.cumsum(level < one)[level == one] for one in range(1, LEVELS[kind])]
        pairs = sum(len(part) * np.count_nonzero(y < one) for one, part in enumerate(below, 1))
        return sum(int(part.sum()) for part in below) / pairs, 1e-12
    if len(y) <= PEER:
        return (1 + float(kendalltau(y, f).statistic)) / 2, 1e-12
    # The standard error of Kendall's tau is at most sqrt(2 (1 - tau^2) / n), agreement's is half.
    return 0.5 + math.asin(CORRELATION) / math.pi, 5 * math.sqrt(0.5 / len(y))


def enumerated(y: np.ndarray, f: np.ndarray, group: np.ndarray, k: int) -> np.ndarray:
    """Count hits by cell over all pairs, a matrix of pairs at a time."""
    hits = np.zeros((k, k))
    for a, b in product(range(k), repeat=2):
        one, two = group == a, group == b
        better = y[one][:, None] > y[two][None, :]
        hits[a, b] = np.count_nonzero(better & (f[one][:, None] > f[two][None, :]))
    return hits


def areas(y: np.ndarray, f: np.ndarray, group: np.ndarray, k: int) -> np.ndarray:
    """Return scikit-learn's area under the curve of every cell."""
    found = np.empty((k, k))
    for a, b in product(range(k), repeat=2):
        chosen = ((group == a) & (y == 1)) | ((group == b) & (y == 0))
        found[a, b] = roc_auc_score(y[chosen], f[chosen])
    return found


def delong(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return DeLong's variance of an area under the curve; scores do not tie."""
    above = np.searchsorted(np.sort(negative), positive) / len(negative)
    below = 1 - np.searchsorted(np.sort(positive), negative) / len(positive)
    return float(above.var(ddof=1) / len(positive) + below.var(ddof=1) / len(negative))


def run(kind: str, n: int, k: int) -> None:
    """Time one kind, size and number of groups, and check the answers."""
    y, f, group = columns(kind, n, k)
    names = tuple(f"{g:02}" for g in range(k))
    all_pairs(y[:1000], f[:1000], group[:1000], names)
    trials, hits, _ = cell_counts(y, f, group, k)
    jobs = (
        lambda: cell_counts(y, f, group, k),
        lambda: all_pairs(y, f, group, names),
        lambda: np.argsort(f),
    )
    point, covariance, argsort = core_seconds(*jobs, repeats=15 if n <= PEER else 3)
    sharing = all_pairs(y, f, group, names).sharing
    expected, allowed = overall(kind, y, f)
    assert abs(hits.sum() / trials.sum() - expected) <= allowed, (hits.sum(), expected)
    assert np.array_equal(sharing.hits, hits.ravel())
    variances = np.diag(rate_covariance(sharing))
    assert variances.min() > 0
    if kind == "binary":
        expected = delong(f[(group == 0) & (y == 1)], f[(group == 0) & (y == 0)])
        # They differ by terms of the order of one over the items of the cell, and by what items
        # that share a placement neglect: 2e-4 for 10^5 items, less by as much as there are more.
        assert abs(variances[0] / expected - 1) < (10 * k + 40) / n, (variances[0], expected)
    facts = {"point": point, "covariance": covariance, "argsort": argsort}
    report(**facts, **peers(kind, y, f, group, hits / trials, hits))


def peers(
    kind: str, y: np.ndarray, f: np.ndarray, group: np.ndarray, rates: np.ndarray, hits: np.ndarray
) -> dict[str, float]:
    """Time the slow ways once, where they end in seconds; their answers must be ours."""
    k, seconds = len(rates), {}
    if kind == "binary" and len(y) <= PEER:
        start = time.process_time()
        assert np.allclose(areas(y, f, group, k), rates, rtol=1e-12, atol=0)
        seconds["sklearn"] = time.process_time() - start
    if len(y) <= FEW:
        start = time.process_time()
        assert np.array_equal(enumerated(y, f, group, k), hits)
        seconds["enumerated"] = time.process_time() - start
    return seconds


def times(answer: dict[str, float], peer: str) -> str:
    """Say how many times longer a peer took."""
    return f"{answer[peer] / answer['point']:.0f}x" if peer in answer else ""


def main() -> None:
    """Print one table for each kind of label and number of groups."""
    counts = sizes(largest_size(__doc__ or ""), FEW)
    columns = ("items", "ms", "argsort", "ratio", "cov.", "ratio", "sklearn", "pairs", "GiB")
    for kind, k in product(LEVELS, (2, 5, 20)):
        answers = [in_subprocess(__file__, "run", kind, str(n), str(k)) for n in counts]
        rows = [
            (
                f"{n:.0e}",
                f"{1000 * answer['point']:.1f}",
                f"{1000 * answer['argsort']:.1f}",
                f"{answer['point'] / answer['argsort']:.2f}",
                f"{1000 * answer['covariance']:.1f}",
                f"{answer['covariance'] / answer['point']:.2f}",
                times(answer, "sklearn"),
                times(answer, "enumerated"),
                f"{answer['peak_gib']:.2f}",
            )
            for n, answer in zip(counts, answers, strict=True)
        ]
        later = [(n, a["point"]) for n, a in zip(counts, answers, strict=True) if n >= 10**5]
        exponent = growth([n for n, _ in later], [point for _, point in later])
        caption = (
            "milliseconds of one core: counts, np.argsort, counts with covariance; target ratio to "
            f"argsort {TARGETS[kind]} from 1e6 on, of cov. to counts 2; sklearn, pairs: times "
            f"slower; largest peak {max(answer['peak_gib'] for answer in answers):.2f} GiB; "
            f"growth exponent from 1e5 on {exponent:.2f} (target 1.15)"
        )
        show(f"All pairs, {kind} labels, {k} groups", columns, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
