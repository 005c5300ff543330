"""Lists of pairs from files: written, answered, audited, and continued."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]


@pytest.fixture
def items(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    path = tmp_path / "items.csv"
    rows = [f"{k:03d},{'fm'[k % 2]},{rng.normal():.4f}" for k in range(40)]
    path.write_text("\n".join(["item,sex,model", *rows]) + "\n", encoding="utf-8")
    return path


def answer(listed: Path, answered: Path) -> None:
    """Let the item with the smaller id win."""
    with listed.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with answered.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "winner"])
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "winner": "left" if row["left"] < row["right"] else "right"})


def test_a_list_is_answered_audited_and_continued(run: Run, items: Path, tmp_path: Path) -> None:
    listed, answered = tmp_path / "pairs.csv", tmp_path / "answers.csv"
    asked = ("pairs", items, "--sensitive", "sex", "--judges", 4, "--seed", 1)
    assert run(*asked, "--budget", 200, "--csv", listed).status == 0
    answer(listed, answered)
    audit = ("comparative", answered, "--items", items, "--score", "model", "--sensitive", "sex")
    content = json.loads(run(*audit, "--json").out)
    assert (content["n"], content["n_evaluators"]) == (200, 4)
    more = (*asked, "--budget", 100, "--given", answered, "--score", "model", "--json")
    content = json.loads(run(*more).out)
    assert sum(kind["given"] for kind in content["kinds"]) == 200
    assert set(content["judge"]) == {f"judge {k}" for k in range(1, 5)}
    # Ids keep their zeros.
    assert all(len(item) == 3 for item in content["left"])


def test_an_audit_weighs_chosen_pairs_or_leaves_them_out(
    run: Run, items: Path, tmp_path: Path
) -> None:
    listed, answered = tmp_path / "pairs.csv", tmp_path / "answers.csv"
    asked = ("pairs", items, "--goal", "rank", "--budget", 300, "--seed", 1)
    run(*asked, "--csv", listed)
    answer(listed, answered)
    run(*asked, "--given", answered, "--csv", listed)
    answer(listed, answered)
    with answered.open(encoding="utf-8", newline="") as file:
        drawn = sum(row["how"] == "random" for row in csv.DictReader(file))
    audit = ("comparative", answered, "--items", items, "--score", "model", "--sensitive", "sex")
    content = json.loads(run(*audit, "--json").out)
    assert content["n"] == 300
    assert any(f"{300 - drawn} of 300 judgments are of pairs" in one for one in content["notes"])
    content = json.loads(run(*audit, "--anytime", "--json").out)
    assert 0 < content["n"] == drawn < 300
    assert any(f"{300 - drawn} judgments are left out" in note for note in content["notes"])


def test_bad_input_is_told(run: Run, items: Path) -> None:
    outcome = run("pairs", items, "--budget", 10)
    assert outcome.status == 2
    assert "--sensitive" in outcome.err
    assert run("pairs", items, "--sensitive", "sex", "--budget", 0).status == 2


def test_columns_of_answers_are_refused_without_answers(run: Run, items: Path) -> None:
    outcome = run("pairs", items, "--goal", "rank", "--budget", 10, "--winner", "model")
    assert outcome.status == 2
    assert "--given beside it" in outcome.err


def test_a_page_does_not_list_the_groups_of_every_pair(
    run: Run, items: Path, tmp_path: Path
) -> None:
    page = tmp_path / "pairs.html"
    run("pairs", items, "--sensitive", "sex", "--budget", 300, "--html", page)
    # Once in the table of kinds, and perhaps in its chart.
    assert page.read_text(encoding="utf-8").count("f and m") < 5
