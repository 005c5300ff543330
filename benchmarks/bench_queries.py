"""Pairs within queries against a self-join, and pairs by the order of a number over sizes.

Run as ``python benchmarks/bench_queries.py --max 1e7``, the largest number of items. Queries have
ten items with five label levels, in shuffled order too. The peer is the join of the table with
itself in polars, which counts pairs, hits and ties by cell. Ours is given twice: the same counts,
and the counts with the sums over queries of products of all cells, from which every variance
follows; a query that touches c cells has c (c + 1) / 2 of these, some 600 for 20 groups. The peer
of the second table is numpy with all pairs of 10,000 items, in blocks of rows; it gives the time of
ours in sorts of the scores, and how many times as long all pairs take.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from cores import core_seconds
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

from comparity.counts.ordered_pairs import ordered_pairs
from comparity.counts.query_pairs import query_counts, query_pairs

TARGET = 2
TARGET_GROWTH = 1.15
ENUMERATED = 10_000
LABELS = {"binary": 2, "ten levels": 10, "continuous": 2**53}


def run_queries(n_queries: int, k: int) -> None:
    """Time one number of groups and check the counts."""
    import polars as pl

    rng = np.random.default_rng(SEED)
    query = np.repeat(np.arange(n_queries), 10)
    y = rng.integers(0, 5, len(query)).astype(np.float64)
    f, group = rng.random(len(query)), rng.integers(0, k, len(query))
    groups = tuple(map(str, range(k)))
    frame = pl.DataFrame({"q": query, "y": y, "f": f, "g": group}).lazy()

    def joined() -> pl.DataFrame:
        both = frame.join(frame, on="q", suffix="2").filter(pl.col("y") > pl.col("y2"))
        hits = (pl.col("f") > pl.col("f2")).sum().alias("hits")
        ties = (pl.col("f") == pl.col("f2")).sum().alias("ties")
        return both.group_by("g", "g2").agg(pl.len(), hits, ties).sort("g", "g2").collect()

    order = rng.permutation(len(query))
    shuffled = [column[order] for column in (y, f, group)]
    ours = query_pairs(y, f, group, groups, query)
    peer = joined()
    # A fast wrong answer is not a result.
    assert ours.sharing.trials.tolist() == peer["len"].to_list()
    assert ours.sharing.hits.tolist() == peer["hits"].to_list()
    counts = query_counts(y, f, group, k, query)
    assert [part.ravel().tolist() for part in counts] == [
        peer[name].to_list() for name in ("len", "hits", "ties")
    ]
    jobs = {
        "counts": lambda: query_counts(y, f, group, k, query),
        "moments": lambda: query_pairs(y, f, group, groups, query),
        "shuffled": lambda: query_pairs(*shuffled, groups, query[order]),
        "peer": joined,
    }
    report(**dict(zip(jobs, core_seconds(*jobs.values(), repeats=5), strict=True)))


def enumerated(y: np.ndarray, f: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Count trials and hits of the three cells over all pairs."""
    counts = np.zeros((2, 3), dtype=np.int64)
    for start in range(0, len(y), 500):
        rows = slice(start, start + 500)
        better, hit = y[rows, None] > y, f[rows, None] > f
        larger, smaller = z[rows, None] > z, z[rows, None] < z
        for place, cell in enumerate((larger, smaller, ~(larger | smaller))):
            counts[:, place] += np.sum(better & cell), np.sum(better & cell & hit)
    return counts


def run_ordered(n: int, levels: int) -> None:
    """Time one size and one kind of label, and check the counts where all pairs can be listed."""
    rng = np.random.default_rng(SEED)
    y, f, z = rng.integers(0, levels, n).astype(np.float64), rng.random(n), rng.normal(size=n)
    small = (column[:ENUMERATED] for column in (y, f, z))
    start = time.process_time()
    expected = enumerated(*small)
    peer = time.process_time() - start
    found = ordered_pairs(y[:ENUMERATED], f[:ENUMERATED], z[:ENUMERATED]).sharing
    assert [found.trials.tolist(), found.hits.tolist()] == expected.tolist()
    jobs = (lambda: ordered_pairs(y, f, z), lambda: np.argsort(f))
    ours, sort = core_seconds(*jobs, repeats=3 if n <= 10**6 else 2)
    report(ours=ours, sort=sort, peer=peer, input_gib=3 * 8 * n / 2**30)


def show_queries(n_queries: int) -> None:
    """Print the table of queries."""
    rows = []
    for k in (2, 20):
        answer = in_subprocess(__file__, "queries", str(n_queries), str(k))
        rows.append(
            (
                f"{n_queries:.0e}",
                str(k),
                f"{answer['peer']:.3f}",
                f"{answer['counts']:.3f}",
                f"{answer['peer'] / answer['counts']:.1f}",
                f"{answer['moments']:.3f}",
                f"{answer['peer'] / answer['moments']:.1f}",
                f"{answer['shuffled']:.3f}",
                f"{answer['peak_gib']:.2f}",
            )
        )
    columns = ("queries", "K", "join", "counts", "times", "moments", "times")
    caption = (
        f"core-seconds; target: counts of two groups {TARGET} times as fast as the join, which "
        "gives the same, at 1,000,000 queries; moments: counts and what variances need, also with "
        "rows shuffled"
    )
    show("Pairs within queries", (*columns, "shuffled", "GiB"), rows, caption)


def show_ordered(largest: int) -> None:
    """Print the table of a continuous attribute."""
    rows, counts, exponents = [], sizes(largest, 1e4), []
    for name, levels in LABELS.items():
        answers = [in_subprocess(__file__, "ordered", str(n), str(levels)) for n in counts]
        later = [(n, a["ours"]) for n, a in zip(counts, answers, strict=True) if n >= 10**5]
        exponents.append(growth([n for n, _ in later], [ours for _, ours in later]))
        rows += [
            (
                f"{n:,}",
                name,
                f"{answer['ours']:.4f}",
                f"{answer['ours'] / answer['sort']:.0f}",
                f"{answer['peer'] / answer['ours']:.0f}" if n == ENUMERATED else "",
                f"{answer['peak_gib']:.2f}",
            )
            for n, answer in zip(counts, answers, strict=True)
        ]
    columns = ("items", "labels", "ours", "argsorts", "all pairs", "GiB")
    found = ", ".join(f"{exponent:.2f}" for exponent in exponents)
    caption = (
        "core-seconds; times of one argsort, of all pairs; "
        f"growth exponents from 1e5 on {found} (target {TARGET_GROWTH})"
    )
    show("Pairs by the order of a number", columns, rows, caption)


if __name__ == "__main__":
    if sys.argv[1:2] == ["queries"]:
        run_queries(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["ordered"]:
        run_ordered(int(sys.argv[2]), int(sys.argv[3]))
    else:
        size = largest_size(__doc__ or "")
        show_queries(min(size // 10, 10**6))
        show_ordered(size)
