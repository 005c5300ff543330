"""Counting judged pairs from Parquet against a bare DuckDB group-by of the same columns.

Run as ``python benchmarks/bench_counting.py --max 1e7``. Wide rows: two text groups and two float
scores, counted as fresh pairs. Joined rows: comparisons of item ids, an item table, and the ledger
of distinct pairs. Each size runs in a process of its own, whose peak memory is printed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import SEED, best_seconds, growth, in_subprocess, largest_size, report, show, sizes

# P(N(0.2, 1) > N(0, 1)) = Phi(0.2 / sqrt(2)).
AGREEMENT = 0.5562314580091424


def write(folder: Path, n: int) -> None:
    """Simulate judged pairs in DuckDB, reproducibly."""
    import numpy as np

    from comparity.tables.frames import in_memory

    rng = np.random.default_rng(SEED)
    names = np.array(["female", "male"], dtype=object)
    rows = {
        "better_model": rng.normal(0.2, 1, n),
        "worse_model": rng.normal(0.0, 1, n),
        "better_sex": names[rng.integers(0, 2, n)],
        "worse_sex": names[rng.integers(0, 2, n)],
    }
    items = max(n // 10, 2)
    first = rng.integers(0, items, n)
    second = (first + rng.integers(1, items, n)) % items
    judged = {"better": first, "worse": second}
    known = {
        "item": np.arange(items),
        "model": rng.normal(0, 1, items),
        "sex": names[rng.integers(0, 2, items)],
    }
    for name, table in (("wide", rows), ("judged", judged), ("items", known)):
        in_memory(table).to_native().write_parquet(str(folder / f"{name}.parquet"))


def wide(folder: Path, n: int) -> None:
    """Compare ours with the bare group-by, in one run."""
    import duckdb

    from comparity.counts.judged_rows import count_wide_comparisons
    from comparity.tables.files import read_table

    path = str(folder / "wide.parquet")

    def ours() -> object:
        table = read_table(path)
        return count_wide_comparisons(table, score="model", sensitive=["sex"], design="fresh")

    def bare() -> object:
        return (
            duckdb.read_parquet(path)
            .aggregate(
                "better_sex, worse_sex, sum((better_model > worse_model)::int) as hits, "
                "sum((better_model = worse_model)::int) as ties, count(*) as n"
            )
            .fetchall()
        )

    counts = count_wide_comparisons(
        read_table(path), score="model", sensitive=["sex"], design="fresh"
    )["sex"]
    found = {(a, b): (int(hits), n, int(ties)) for a, b, hits, ties, n in bare()}
    assert {tuple(c): (t.hits, t.trials, t.ties) for c, t in counts.items()} == found
    rate = sum(tally.hits for tally in counts.values()) / n
    assert abs(rate - AGREEMENT) < 4 * (0.25 / n) ** 0.5, rate
    seconds, reference = best_seconds(ours, bare, repeats=5)
    report(seconds=seconds, reference=reference)


def joined(folder: Path, n: int) -> None:
    """Count comparisons joined to items, with the ledger."""
    from comparity.counts.judged_rows import count_comparisons
    from comparity.tables.files import read_table

    def ours() -> object:
        tables = (read_table(folder / f"{name}.parquet") for name in ("judged", "items"))
        counts = count_comparisons(*tables, score="model", sensitive=["sex"])["sex"]
        assert counts.n == n
        return counts

    (seconds,) = best_seconds(ours, repeats=1)
    report(seconds=seconds)


def main() -> None:
    largest = largest_size(__doc__ or "")
    for job, title in (("wide", "Wide rows, fresh pairs"), ("joined", "Joined, with ledger")):
        rows, seconds, counts = [], [], sizes(largest)
        for n in counts:
            with tempfile.TemporaryDirectory() as folder:
                in_subprocess(__file__, "write", folder, str(n))
                answer = in_subprocess(__file__, job, folder, str(n))
            seconds.append(answer["seconds"])
            reference = answer.get("reference")
            ratio = f"{answer['seconds'] / reference:.2f}" if reference else "-"
            rows.append((f"{n:,}", f"{answer['seconds']:.3f}", ratio, f"{answer['peak_gib']:.2f}"))
        caption = f"growth exponent {growth(counts, seconds):.2f}; ratio to a bare DuckDB group-by"
        show(title, ("pairs", "seconds", "ratio", "peak GiB"), rows, caption)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        step = {"write": write, "wide": wide, "joined": joined}[sys.argv[1]]
        step(Path(sys.argv[2]), int(sys.argv[3]))
        if step is write:
            report()
    else:
        main()
