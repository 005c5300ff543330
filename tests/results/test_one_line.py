"""Every answer says what it found in one line, and writes its rows as CSV."""

from __future__ import annotations

import csv
from pathlib import Path

from comparity import bradley_terry, separation


def test_the_repr_is_one_line_with_the_finding() -> None:
    audit = separation([1, 0] * 400, [1, 0] * 400, sensitive_features=["a", "a", "b", "b"] * 200)
    assert repr(audit) == f"<Audit: Separation: {audit.finding}>"
    assert repr(bradley_terry([[0, 1]])) == "<Ranking: Ranking of 2 items by Bradley-Terry>"


def test_rows_are_written_as_csv(tmp_path: Path) -> None:
    ranking = bradley_terry([["b, c", "a"], ["b, c", "a"], ["a", "b, c"]])
    ranking.save_csv(tmp_path / "rows.csv")
    with open(tmp_path / "rows.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == ["b, c", "a"]
    assert float(rows[0]["score"]) == ranking.rows()[0]["score"]
