"""Every command writes the main table of its answer as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.cli.conftest import Run

ROWS = "sex,good,hired\n" + "f,1,1\nf,1,0\nf,0,0\nm,1,1\nm,0,0\nm,0,1\n" * 40


def test_rows_are_those_of_the_json(run: Run, tmp_path: Path) -> None:
    table, out = tmp_path / "rows.csv", tmp_path / "tests.csv"
    table.write_text(ROWS, encoding="utf-8")
    asked = ("--label", "good", "--prediction", "hired", "--sensitive", "sex")
    outcome = run("separation", table, *asked, "--csv", out, "--json")
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = json.loads(outcome.out)["tests"]
    assert [row["null"] for row in rows] == [one["null"] for one in known]
    assert [float(row["gap"]) for row in rows] == [one["gap"] for one in known]
    # Decisions have no smallest group: the cell is empty.
    assert {row["smallest_group"] for row in rows} == {""}
