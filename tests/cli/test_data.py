from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comparity.datasets.registry import DATASETS

Run = Callable[..., Any]
DATA = os.environ.get("COMPARITY_DATA")


def test_the_list_has_every_data_set_with_home_licence_and_hash(run: Run, tmp_path: Path) -> None:
    outcome = run("data", "--data", tmp_path, "--json")
    rows = json.loads(outcome.out)
    assert {row["name"] for row in rows} == set(DATASETS)
    assert all(row["licence"] and row["home"] and row["files"][0]["sha256"] for row in rows)
    assert not any(row["here"] for row in rows)
    assert "communities_crime" in run("data", "--data", tmp_path).out


def test_one_data_set_is_shown_with_its_hash(run: Run, tmp_path: Path) -> None:
    outcome = run("data", "german", "--data", tmp_path)
    assert outcome.status == 0
    assert DATASETS["german"].files[0].sha256 in outcome.out
    assert "not here" in outcome.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("adlut",), "adlut"),
        (("german", "--preparation", "barp"), "barp"),
        (("german", "--output", "x.csv"), "--fetch"),
        (("law_school_full", "--fetch"), "no address"),
    ],
)
def test_what_cannot_be_had_is_bad_input(
    run: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    outcome = run("data", *options, "--data", tmp_path)
    assert outcome.status == 2
    assert said in outcome.err
    assert not list(tmp_path.rglob("*.csv"))


@pytest.mark.parametrize("option", [("--output", "x.csv"), ("--preparation", "barp"), ("--fetch",)])
def test_what_is_asked_of_no_data_set_in_particular_is_refused(
    run: Run, tmp_path: Path, option: tuple[str, ...]
) -> None:
    outcome = run("data", *option, "--data", tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    assert option[0] in outcome.err


@pytest.mark.real
@pytest.mark.skipif(not DATA, reason="COMPARITY_DATA names no folder of real data")
def test_a_prepared_table_feeds_the_metrics(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    assert run("data", "german", "--data", DATA, "--output", path).status == 0
    options = ("--label", "label", "--prediction", "age", "--sensitive", "sensitive sex")
    outcome = run("metrics", path, *options, "--privileged", "male", "--json")
    assert json.loads(outcome.out)["n"] == 1000


def test_what_is_said_of_one_data_set_fits_a_terminal_and_its_hashes_stay_whole(run: Run) -> None:
    lines = run("data", "compas").out.splitlines()
    hashes = [line for line in lines if "sha256" in line]
    assert all(re.search(r"[0-9a-f]{64}$", line) for line in hashes)
    assert max(len(line) for line in lines if line not in hashes) <= 100
    assert "names; they are never read." in " ".join(lines)
