"""From a log of judges to what they lean to: whole audits, beside reading the log and nothing else.

Run as ``python benchmarks/bench_judges.py --max 1e6``. A log is one file of Chatbot Arena's format,
a battle a line with the texts of both answers (1e6 battles: 0.8 GB), judged by people, by a dull
judge, and by one that prefers longer answers. It is audited as ``comparity judges LOG`` does.
Beside it DuckDB reads the same file and counts winners by judge. Each runs in a process of its own,
whose core-seconds and seconds (imports and compilation left out) and peak memory are printed. The
answer is checked: the first judge leans to length, the dull one does not.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from measure import SEED, growth, in_subprocess, largest_size, report, show, sizes

JUDGES = ("people", "longer-is-better", "dull")
SHARPNESS, LEAN = np.array([2.0, 1.5, 0.8]), np.array([0.0, 0.8, 0.0])
MODELS, CHUNK = 20, 10_000
TEXT = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu " * 40


def battles(rng: np.random.Generator, n: int, first: int) -> Iterator[dict[str, object]]:
    """Yield judgments: every prompt has two answers, which all judges compare."""
    prompts = -(-n // len(JUDGES))
    models = np.array([rng.choice(MODELS, 2, replace=False) for _ in range(prompts)])
    log_length = rng.normal(5, 0.6, (prompts, 2))
    quality = rng.normal(size=(prompts, 2)) + 0.5 * (log_length - 5)
    text = [[TEXT[: int(one)] for one in row] for row in np.exp(log_length).tolist()]
    for row in range(n):
        prompt, judge = divmod(row, len(JUDGES))
        seen = quality[prompt] + LEAN[judge] * log_length[prompt]
        lead = SHARPNESS[judge] * (seen[0] - seen[1])
        yield {
            "question_id": f"q{first + prompt}",
            "model_a": f"model-{models[prompt, 0]}",
            "model_b": f"model-{models[prompt, 1]}",
            "winner": "model_a" if rng.logistic() < lead else "model_b",
            "judge": JUDGES[judge],
            "conversation_a": _conversation(first + prompt, text[prompt][0]),
            "conversation_b": _conversation(first + prompt, text[prompt][1]),
        }


def _conversation(prompt: int, answer: str) -> list[dict[str, str]]:
    question = {"role": "user", "content": f"Question {prompt}?"}
    return [question, {"role": "assistant", "content": answer}]


def write_log(file: TextIO, n: int) -> None:
    """Write a log of so many judgments."""
    rng = np.random.default_rng(SEED)
    for start in range(0, n, CHUNK):
        for one in battles(rng, min(CHUNK, n - start), start):
            file.write(json.dumps(one) + "\n")


def run_ours(log: Path) -> None:
    """Audit a log, once a small one was."""
    from comparity import audit_judges

    with tempfile.TemporaryDirectory() as name:
        small = Path(name) / "small.jsonl"
        with small.open("w", encoding="utf-8") as file:
            write_log(file, 300)
        audit_judges(small)
    cores, clock = time.process_time(), time.perf_counter()
    found = audit_judges(log)
    spent = {"cores": time.process_time() - cores, "seconds": time.perf_counter() - clock}
    leans = {one.judge: one.q_value for one in found.leans if one.kind == "length"}
    assert leans[JUDGES[1]] < 0.05 < leans[JUDGES[2]], leans
    report(**spent)


def run_duckdb(log: Path) -> None:
    """Count winners by judge."""
    import duckdb

    cores, clock = time.process_time(), time.perf_counter()
    query = f"select judge, winner, count(*) from read_json('{log}') group by all"
    counted = sum(one[2] for one in duckdb.sql(query).fetchall())
    spent = {"cores": time.process_time() - cores, "seconds": time.perf_counter() - clock}
    report(**spent, counted=counted)


def main() -> None:
    """Print the table."""
    rows, counts, spent = [], sizes(largest_size(__doc__ or ""), 1e4), []
    for n in counts:
        with tempfile.TemporaryDirectory() as name:
            log = Path(name) / "arena.jsonl"
            with log.open("w", encoding="utf-8") as file:
                write_log(file, n)
            ours, peer = (in_subprocess(__file__, who, str(log)) for who in ("ours", "duckdb"))
        assert peer["counted"] == n, peer
        spent.append(ours["cores"])
        facts = (ours["cores"], ours["seconds"], ours["peak_gib"], peer["cores"], peer["seconds"])
        rows.append((f"{n:,}", *(f"{one:.1f}" for one in facts)))
    rows.append(("growth", f"{growth(counts, spent):.2f}", *[""] * 4))
    header = ("judgments", "core-seconds", "seconds", "peak, GiB", "DuckDB reads, core-s", "s")
    show("Audits of judges", header, rows, "targets: 10 s for 10,000 judgments, 60 s for 1,000,000")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("ours", "duckdb"):
        {"ours": run_ours, "duckdb": run_duckdb}[sys.argv[1]](Path(sys.argv[2]))
    else:
        main()
