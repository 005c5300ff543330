"""Rows of a file have no order: shuffled files, with ids that are numbers, say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from comparity.comparative import audit as comparative
from comparity.pairwise import audit as pairwise
from comparity.ranking.rank import rank_frames
from tests.fuzz.answers import differences, leaves

Run = Callable[..., Any]
Tables = dict[str, pl.DataFrame]

AUDITED = "--label merit --score model --sensitive sex"
JUDGED = "--items {items} --score model --sensitive sex"
RANKED = "--items {items} --evaluator judge --sensitive sex"
COMMANDS = [
    f"separation {{items}} {AUDITED.replace('merit', 'hired').replace('--score', '--prediction')}"
    " --threshold 0.1",
    f"pairwise {{items}} {AUDITED}",
    f"pairwise {{items}} {AUDITED.replace('merit', 'hired')}",
    f"pairwise {{items}} {AUDITED} --query town",
    f"pairwise {{items}} {AUDITED.replace('sex', 'age')} --continuous",
    "relative {items} --first ann --second bob --sensitive sex",
    "relative {items} --first ann --second bob --sensitive age --continuous --permutations 0",
    "relative {items} --raters ann,bob,hired --sensitive sex --permutations 0",
    f"comparative {{judged}} {JUDGED}",
    f"comparative {{judged}} {JUDGED} --evaluator judge",
    f"comparative {{judged}} {JUDGED} --reference merit",
    f"rank {{judged}} {RANKED}",
    f"rank {{judged}} {RANKED} --trusted 2,3",
    f"rank {{judged}} {RANKED} --model factorbt",
    "rank {judged} --items {items} --evaluator judge --model crowdbt",
    "rank {judged} --items {items} --model bt",
]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """80 items with ids in no order, and 1,500 judgments of them."""
    rng = np.random.default_rng(7)
    merit, sex = rng.normal(size=80), rng.integers(0, 2, 80)
    ids = rng.permutation(10_000)[:80]
    model = merit + rng.normal(0, 0.7, 80)
    first = rng.integers(0, 80, 1500)
    pairs = np.column_stack([first, (first + rng.integers(1, 80, 1500)) % 80])
    judge = rng.integers(0, 6, 1500)
    seen = merit[pairs] + (judge[:, None] == 0) * sex[pairs] + rng.gumbel(size=pairs.shape)
    pairs = np.where(seen[:, :1] > seen[:, 1:], pairs, pairs[:, ::-1])
    columns = {"item": ids, "sex": np.array(["f", "m"])[sex], "merit": merit, "model": model}
    columns |= {"hired": (merit > 0).astype(int), "town": rng.integers(0, 8, 80)}
    columns |= {"age": rng.integers(20, 60, 80), "ann": rng.integers(1, 6, 80)}
    columns |= {"bob": rng.integers(1, 6, 80)}
    judged = {"better": ids[pairs[:, 0]], "worse": ids[pairs[:, 1]], "judge": judge}
    return {"items": pl.DataFrame(columns), "judged": pl.DataFrame(judged)}


def shuffled(tables: Tables) -> Tables:
    return {
        name: table.sample(fraction=1, shuffle=True, seed=seed)
        for seed, (name, table) in enumerate(tables.items())
    }


def the_same(one: Any, two: Any) -> None:
    numbers = [value for _, value in leaves(one) if isinstance(value, float)]
    assert len(numbers) > 5
    assert not differences(one, two)


@pytest.mark.parametrize("command", COMMANDS)
def test_shuffled_files_say_the_same(
    command: str, tables: Tables, run: Run, tmp_path: Path
) -> None:
    said = []
    for version in (tables, shuffled(tables)):
        files = {name: tmp_path / f"{name}.csv" for name in version}
        for name, table in version.items():
            table.write_csv(files[name])
        said.append(run(*command.format(**files).split(), "--json"))
    assert {one.status for one in said} <= {0, 1, 3}, said[0].err
    the_same(*(json.loads(one.out) for one in said))


FRAMES: dict[str, Callable[[Tables], Any]] = {
    "rank": lambda found: rank_frames(
        found["judged"], found["items"], sensitive=["sex"], evaluator="judge"
    ),
    "comparative": lambda found: comparative.audit_frames(
        found["judged"], found["items"], score="model", sensitive=["sex"]
    ),
    "pairwise": lambda found: pairwise.audit_frame(
        found["items"], label="merit", score="model", sensitive="sex", query="town"
    ),
}


@pytest.mark.parametrize("desk", FRAMES)
def test_shuffled_frames_whose_ids_are_numbers_say_the_same(desk: str, tables: Tables) -> None:
    the_same(*(FRAMES[desk](version).to_dict() for version in (tables, shuffled(tables))))
