"""Parts of ``reproductions/`` on real data, beside what was published.

What stands in ``published.toml`` of each paper is the expected number; tolerances are those of the
parts. The few numbers that do not come out are named here, so that others would be noticed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from comparity.cli.published import Reproduction, Request
from comparity.cli.reproduce import find_papers, run_part

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set"),
]


def reproduced(paper: str, part: str, runs: int | None = None) -> Reproduction:
    request = Request(data=Path(os.environ["COMPARITY_DATA"]), runs=runs)
    return run_part(find_papers()[paper], part, request)


def differ(found: Reproduction) -> set[tuple[str, str]]:
    return {(row.row, row.column) for row in found.rows if row.matches is False}


@pytest.mark.slow
def test_medians_of_fair_enough_come_out_of_the_authors_folds() -> None:
    """189 medians and shares; those of bank differ by 0.012 at most, one of Adult by 0.011."""
    found = reproduced("001", "table 4")
    assert found.n_compared == 189
    bank = {("bank", number) for number in ("C5", "C6", "C12", "C25")}
    assert differ(found) <= {("adult", "C8"), *bank}
    assert all(abs(row.difference or 0) < 0.013 for row in found.rows)


@pytest.mark.slow
def test_metrics_of_data_come_out_of_the_authors_folds() -> None:
    assert differ(reproduced("001", "table 5")) <= {("titanic", "D0")}


def test_all_metrics_equal_those_of_aif360_on_a_fixed_table() -> None:
    found = reproduced("001", "table 1")
    assert [row.verdict for row in found.rows if row.reference] == ["comes out"] * 29
    assert found.n_compared == 0


def test_the_ratings_hold_as_many_faces_groups_and_raters_as_published() -> None:
    found = reproduced("002", "table 2")
    assert (found.n_matching, found.n_compared) == (6, 6)


def test_gaps_between_raters_lie_among_those_of_random_splits() -> None:
    found = reproduced("002", "table 3", runs=30)
    assert {place for place in differ(found) if place[1].startswith("DPD")} == set()
    assert [one.text for one in found.conclusions if not one.holds] == []


@pytest.mark.slow
def test_biases_of_three_grades_come_out() -> None:
    found = reproduced("003", "table 1")
    assert differ(found) == set()
    stored = [row for row in found.rows if "stored" in row.row]
    checked = [row for row in found.rows if row.reference]
    assert [row.verdict for row in (*stored, *checked)] == ["comes out"] * 12
