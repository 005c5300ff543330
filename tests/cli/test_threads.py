"""Threads: calls at the same time answer exactly as calls one after the other."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import polars
import pytest

from comparity import (
    barp,
    comparative_separation,
    differential_parity,
    pairwise_accuracy,
    separation,
)
from comparity.comparative.audit import audit_files
from comparity.pairwise.audit import audit_file as audit_pairwise
from comparity.ranking.rank import rank_files
from comparity.relative.audit import audit_file as audit_relative
from comparity.separation.audit import audit_file as audit_separation

THREADS, CALLS = 4, 18
ITEMS, JUDGMENTS = 60, 600

Calls = dict[str, Callable[[], Any]]


def write(path: Path, columns: dict[str, Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def simulate() -> tuple[dict[str, Any], dict[str, Any], Any]:
    rng = np.random.default_rng(7)
    sex = rng.choice(["f", "m"], ITEMS)
    good, score = rng.integers(0, 2, ITEMS), rng.normal(size=ITEMS).round(3)
    items = {"item": [f"i{n}" for n in range(ITEMS)], "sex": sex, "good": good}
    items |= {"hired": rng.integers(0, 2, ITEMS), "score": score}
    pairs = np.array([rng.permutation(ITEMS)[:2] for _ in range(JUDGMENTS)])
    better, worse = (np.array(items["item"])[pairs[:, side]] for side in (0, 1))
    judge = [f"j{n}" for n in rng.integers(0, 6, JUDGMENTS)]
    return items, {"better": better, "worse": worse, "judge": judge}, pairs


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    folder = tmp_path_factory.mktemp("threads")
    items, judged, pairs = simulate()
    here, there = write(folder / "items.csv", items), write(folder / "judged.csv", judged)
    frame, groups = polars.DataFrame(items), {"sensitive_features": items["sex"]}
    names: dict[str, Any] = {"label": "good", "sensitive": ["sex"]}
    both = {"evaluator": "judge", "sensitive": ["sex"]}
    decisions = {"first": "good", "second": "hired", "sensitive": ["sex"], "permutations": 49}
    return {
        "separation of a file": lambda: audit_separation(here, prediction="hired", **names),
        "separation of a frame": lambda: separation(
            frame["good"], frame["hired"], sensitive_features=frame["sex"]
        ),
        "comparative of files": lambda: audit_files(there, here, score="score", **both),
        "comparative of arrays": lambda: comparative_separation(
            pairs, scores=items["score"], evaluators=judged["judge"], **groups
        ),
        "pairwise of a file": lambda: audit_pairwise(
            here, label="good", score="score", sensitive="sex"
        ),
        "pairwise of arrays": lambda: pairwise_accuracy(items["good"], items["score"], **groups),
        "relative of a file": lambda: audit_relative(here, **decisions),
        "relative of arrays": lambda: differential_parity(items["good"], items["hired"], **groups),
        "rank of files": lambda: rank_files(there, here, **both),
        "barp of arrays": lambda: barp(pairs, evaluators=judged["judge"], **groups),
    }


def answer(call: Callable[[], Any]) -> Any:
    """Return all a result says, numbers to twelve digits.

    Where an array begins in memory decides how its sum is vectorised, and so its last digit.
    """
    said = json.dumps(call().to_dict(), sort_keys=True)
    return json.loads(said, parse_float=lambda number: f"{float(number):.12g}")


def test_calls_at_the_same_time_answer_as_calls_in_sequence(calls: Calls) -> None:
    names = list(calls)
    alone = {name: answer(call) for name, call in calls.items()}
    start = Barrier(THREADS)

    def run(first: int) -> Sequence[tuple[str, Any]]:
        chosen = [names[(first * 3 + n) % len(names)] for n in range(CALLS)]
        start.wait()
        return [(name, answer(calls[name])) for name in chosen]

    with ThreadPoolExecutor(THREADS) as pool:
        together = [pair for part in pool.map(run, range(THREADS)) for pair in part]
    assert len(together) == THREADS * CALLS
    assert {name for name, said in together if said != alone[name]} == set()
