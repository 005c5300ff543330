"""Whole questions about tables that may be larger than memory, beside a bare group-by of an engine.

Run as ``python benchmarks/bench_scale.py --max 1e7`` (or 1e8; 1e8 rows take 4 GB of disk). Every
question is asked as the command asks it: by `audit_file` under a limit of memory, from Parquet and
from CSV. Beside it stand DuckDB's group-by of the same columns under the same limit, and that of
Polars' streaming engine. Each runs in a process of its own, whose core-seconds (imports left out)
and peak memory are printed; the files were read once before.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import growth, in_subprocess, report, show, sizes

DECISIONS = """
    select (hash(i) % 2)::tinyint as label, (hash(i + 1) % 3 = 0)::tinyint as decision,
        substr('abc', 1 + (hash(i + 2) % 3)::int, 1) as race,
        if(hash(i + 3) % 5 < 2, 'female', 'male') as sex,
        (hash(i + 4) % 5)::tinyint as hr, (hash(i + 5) % 5)::tinyint as boss,
        (hash(i + 6) % 1000003) / 1000.0 as first, (hash(i + 7) % 1000003) / 1000.0 as second
    from range({n}) t(i)
"""
JUDGED = """
    select (hash(i) % {items})::int as better,
        ((hash(i) % {items} + 1 + hash(i + 1) % ({items} - 1)) % {items})::int as worse,
        (hash(i + 2) % 100)::int as judge
    from range({n}) t(i)
"""
ITEMS = """
    select i as item, if(hash(i) % 3 = 0, 'f', 'm') as sex, (hash(i + 1) % 1000) / 1000.0 as score
    from range({items}) t(i)
"""

GROUPED = {
    "separation": "label, decision, sex, race",
    "metrics": "label, decision, sex",
    "impact": "decision, sex, race",
    "relative": "hr, boss, sex",
    "relative (many values)": "first, second, sex",
    "comparative": "better, worse, judge",
    "pairwise": "label, sex, floor(first * 65)",
}
"""Columns of the bare group-by, by question; all pairs of items need the order of scores, too."""


def write(folder: Path, n: int, kind: str) -> None:
    """Write the tables of so many rows."""
    import duckdb

    items = max(n // 100, 100)
    for name, query in (("decisions", DECISIONS), ("judged", JUDGED), ("items", ITEMS)):
        duckdb.sql(f"copy ({query.format(n=n, items=items)}) to '{folder / name}.{kind}'")


def ours(question: str, folder: Path, kind: str) -> Callable[[], Any]:
    """Return what asks a question of files."""
    decisions = folder / f"decisions.{kind}"
    if question == "comparative":
        from comparity.comparative.audit import audit_files

        asked = {"score": "score", "sensitive": ["sex"], "evaluator": "judge"}
        return lambda: audit_files(folder / f"judged.{kind}", folder / f"items.{kind}", **asked)
    if question.startswith("relative"):
        from comparity.relative.audit import audit_file

        pair = ("first", "second") if "many" in question else ("hr", "boss")
        makers = dict(zip(("first", "second"), pair, strict=True))
        return lambda: audit_file(decisions, **makers, sensitive=["sex"])
    if question == "pairwise":
        from comparity.pairwise.audit import audit_file as audit_pairs

        return lambda: audit_pairs(decisions, label="label", score="first", sensitive="sex")
    if question == "impact":
        from comparity.impact.audit import audit_file as find_ratios

        return lambda: find_ratios(decisions, selected="decision", sensitive=("sex", "race"))
    columns = {"label": "label", "prediction": "decision"}
    if question == "metrics":
        from comparity.metrics.audit import metrics_file

        return lambda: metrics_file(decisions, **columns, sensitive=["sex"], privileged="male")
    from comparity.separation.audit import audit_file as separate

    return lambda: separate(decisions, **columns, sensitive=["sex", "race"])


def bare(question: str, folder: Path, kind: str, memory: str) -> Callable[[], Any]:
    """Return DuckDB's group-by of the same columns."""
    import duckdb

    table, columns = "judged" if question == "comparative" else "decisions", GROUPED[question]
    home = duckdb.connect(config={"memory_limit": memory, "temp_directory": str(folder)})
    query = f"select {columns}, count(*) n from '{folder / table}.{kind}' group by {columns}"
    # What comes back is counted, since rows of the question stay where they are, too.
    return lambda: home.sql(f"select count(*), sum(n) from ({query})").fetchall()


def streamed(question: str, folder: Path, kind: str) -> Callable[[], Any]:
    """Return the same of Polars."""
    import polars

    table = folder / f"{'judged' if question == 'comparative' else 'decisions'}.{kind}"
    rows = polars.scan_parquet(table) if kind == "parquet" else polars.scan_csv(table)
    columns = [polars.sql_expr(one) for one in GROUPED[question].split(", ")]
    grouped = rows.group_by(columns).len()
    return lambda: grouped.select(polars.len()).collect(engine="streaming")


def measure(who: str, question: str, folder: Path, kind: str, memory: str) -> None:
    """Run one of the three in this process."""
    from comparity.tables.memory import limit_memory

    if who == "comparity":
        job = ours(question, folder, kind)
        with limit_memory(memory, folder):
            begin = time.process_time()
            job()
            report(seconds=time.process_time() - begin)
        return
    one = (
        bare(question, folder, kind, memory)
        if who == "DuckDB"
        else streamed(question, folder, kind)
    )
    begin = time.process_time()
    one()
    report(seconds=time.process_time() - begin)


def main() -> None:
    """Print one table for each kind of files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max", type=float, default=1e6, help="largest size (default 1e6)")
    parser.add_argument("--min", type=float, default=1e6, help="smallest size (default 1e6)")
    parser.add_argument("--memory", default="4GB", help="limit of memory (default 4GB)")
    parser.add_argument("--kinds", default="parquet,csv", help="kinds of files")
    parser.add_argument("--questions", default=",".join(GROUPED), help="which to ask")
    parser.add_argument("--folder", help="where files go (a folder for temporary files)")
    asked = parser.parse_args()
    for kind in asked.kinds.split(","):
        rows, seconds = [], {}
        for n in sizes(asked.max, asked.min):
            with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
                write(Path(folder), n, kind)
                for question in asked.questions.split(","):
                    words = (question, folder, kind, asked.memory)
                    found = {
                        who: in_subprocess(__file__, "--run", who, *words)
                        for who in ("comparity", "DuckDB", "Polars")
                    }
                    own = found["comparity"]
                    seconds.setdefault(question, []).append((n, own["seconds"]))
                    times = [found[who]["seconds"] for who in found]
                    row = [f"{n:,}", question, *(f"{one:.2f}" for one in times)]
                    row += [f"{times[0] / times[1]:.1f}"]
                    row += [f"{found[who]['peak_gib']:.2f}" for who in found]
                    rows.append(row)
                    print(kind, *row, file=sys.stderr, flush=True)
        for question, pairs in seconds.items():
            exponent = growth(*map(list, zip(*pairs, strict=True)))  # type: ignore[arg-type]
            rows.append(["growth", question, f"{exponent:.2f}", *[""] * 6])
        columns = ["rows", "question", "comparity", "DuckDB", "Polars", "ratio"]
        columns += [f"{who} GiB" for who in ("comparity", "DuckDB", "Polars")]
        show(f"From {kind} to verdict", columns, rows, "core-seconds; peak memory of the process")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        measure(sys.argv[2], sys.argv[3], Path(sys.argv[4]), *sys.argv[5:7])
    else:
        main()
