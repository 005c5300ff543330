"""Every answer says what it found in one line, and writes its rows as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

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


@pytest.mark.long
def test_json_is_indented_where_it_can_be_read_and_the_same_where_it_is_not() -> None:
    few = bradley_terry([[0, 1]])
    assert few.to_json().count("\n") > 10
    chain = [[item, item + 1] for item in range(12_000)]
    many = bradley_terry(chain)
    assert "\n" not in many.to_json()
    for ranking in (few, many):
        assert json.loads(ranking.to_json()) == ranking.to_dict()
