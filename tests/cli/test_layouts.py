"""Commands that read comparisons read who won, or say that they would not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

JUDGED = "item_1,item_2,preference,judge\nx,y,item_2,j\ny,z,item_1,j\nx,z,item_2,k\nz,x,tie,k\n"
ITEMS = "item,score,sex\nx,1,f\ny,3,m\nz,2,f\n"
SIDES = ("--left", "item_1", "--right", "item_2", "--winner", "preference")


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, list[Any]]:
    """Return each command that reads comparisons, up to the names of their columns."""
    judged, items = tmp_path / "judged.csv", tmp_path / "items.csv"
    judged.write_text(JUDGED, encoding="utf-8")
    items.write_text(ITEMS, encoding="utf-8")
    score = ["--items", items, "--score", "score", "--sensitive", "sex"]
    return {
        "rank": ["rank", judged, "--model", "bt"],
        "comparative": ["comparative", judged, *score],
    }


@pytest.mark.parametrize("command", ["rank", "comparative"])
def test_an_outcome_that_would_not_be_read_stops_the_command(
    run: Run, commands: dict[str, list[Any]], command: str
) -> None:
    outcome = run(*commands[command], "--better", "item_1", "--worse", "item_2")
    assert outcome.status == 2
    assert "column 'preference' seems to say who won" in outcome.err
    assert "--left 'item_1', --right 'item_2' and --winner 'preference'" in outcome.err


@pytest.mark.parametrize("command", ["rank", "comparative"])
def test_the_hint_for_unknown_columns_can_be_followed(
    run: Run, commands: dict[str, list[Any]], command: str
) -> None:
    outcome = run(*commands[command])
    assert outcome.status == 2
    assert "by --left, --right and --winner" in outcome.err
    followed = run(*commands[command], *SIDES, "--json")
    assert followed.status in (0, 3)
    assert json.loads(followed.out)["provenance"]


def test_the_order_is_that_of_the_winners(run: Run, commands: dict[str, list[Any]]) -> None:
    content = json.loads(run(*commands["rank"], *SIDES, "--json").out)
    assert [row["item"] for row in content["ranking"]] == ["y", "z", "x"]


def test_a_winner_needs_a_table_of_items(run: Run, commands: dict[str, list[Any]]) -> None:
    _, judged, *_ = commands["comparative"]
    outcome = run("comparative", judged, "--score", "s", "--sensitive", "g", *SIDES)
    assert outcome.status == 2
    assert "left cannot be 'item_1'" in outcome.err


def test_a_policy_can_name_the_winner(run: Run, commands: dict[str, list[Any]]) -> None:
    _, judged, *_ = commands["comparative"]
    policy = judged.with_name("policy.toml")
    keys = 'left = "item_1"\nright = "item_2"\nwinner = "preference"\n'
    policy.write_text(
        '[[audit]]\nname = "one"\nnotion = "comparative"\ncomparisons = "judged.csv"\n'
        f'items = "items.csv"\nscore = "score"\nsensitive = "sex"\n{keys}',
        encoding="utf-8",
    )
    assert run("gate", policy).status == 3
    policy.write_text(policy.read_text(encoding="utf-8").replace(keys, ""), encoding="utf-8")
    assert run("gate", policy).status == 2
