"""One table, one answer: every question on every engine, and from files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import comparity
from tests.cli.test_spark_cluster import DECISIONS, ITEMS, JUDGED, assert_alike
from tests.conftest import Build

DECIDED: dict[str, Any] = {"label": "y", "prediction": "p", "sensitive": ["sex"]}
JUDGING: dict[str, Any] = {"sensitive": ["sex"], "evaluator": "judge"}
ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "separation": lambda d, _: d.separation(**DECIDED),
    "metrics": lambda d, _: d.metrics(**DECIDED, privileged="f", compare="q", replicates=100),
    "impact": lambda d, _: d.impact(score="score", sensitive=["sex", "g"]),
    "relative": lambda d, _: d.relative(
        first="hr", second="boss", sensitive=["g"], permutations=99
    ),
    "pairwise": lambda d, _: d.pairwise(label="y", score="score", sensitive="sex"),
    "comparative": lambda _, c: c.comparative(score="score", **JUDGING),
    "rank": lambda _, c: c.rank(**JUDGING),
}

Tables = dict[str, dict[str, list[Any]]]


@pytest.fixture(scope="module")
def tables() -> Tables:
    queries = {"d": DECISIONS.format(300), "c": JUDGED.format(400), "i": ITEMS}
    return {name: duckdb.sql(query).to_arrow_table().to_pydict() for name, query in queries.items()}


@pytest.fixture(scope="module")
def expected(tables: Tables) -> dict[str, Any]:
    import polars

    frames = {name: polars.DataFrame(columns) for name, columns in tables.items()}
    return answers(frames)


def answers(found: dict[str, Any]) -> dict[str, Any]:
    decisions, judged = comparity.read(found["d"]), comparity.read(found["c"], items=found["i"])
    return {name: ask(decisions, judged).to_dict() for name, ask in ASKED.items()}


def test_engines_give_one_answer(frame: Build, tables: Tables, expected: dict[str, Any]) -> None:
    frames = {name: frame(columns) for name, columns in tables.items()}
    assert_alike(answers(frames), expected)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_give_the_same_answer(kind: str, expected: dict[str, Any], tmp_path: Path) -> None:
    files = {}
    for name, query in (("d", DECISIONS.format(300)), ("c", JUDGED.format(400)), ("i", ITEMS)):
        files[name] = tmp_path / f"{name}.{kind}"
        duckdb.sql(f"copy ({query}) to '{files[name]}'")
    assert_alike(answers(files), expected)
