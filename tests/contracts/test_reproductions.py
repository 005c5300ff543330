"""What can be reproduced is listed in one way everywhere."""

from __future__ import annotations

import os
import re
import runpy
import tomllib
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from comparity.cli.published import Request
from comparity.cli.reproduce import find_papers, load_parts, read_published, run_part

ROOT = Path(__file__).parents[2]
PAPERS = find_papers(ROOT / "reproductions")
PAGE = ROOT / "docs" / "reproductions.md"


# The first count of a row: so many numbers come out, of so many.
COUNT = re.compile(r"^(\d+) of (\d+)")


def rows(text: str, paper: str | None = None) -> dict[str, str]:
    """Return how many numbers come out of each part, in the words of the first table.

    Parameters
    ----------
    text : str
        A page.
    paper : str, optional
        Take the rows whose first cell is this paper; the part is in the second.
    """
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| ---"))
    found = {}
    for line in takewhile(lambda line: line.startswith("|"), lines[start + 1 :]):
        first, *cells = (cell.strip(" `") for cell in line.strip("|").split("|"))
        if paper is None:
            found[first.lower()] = cells[0]
        elif first == paper:
            found[cells[0].lower()] = cells[1]
    return found


def leaves(numbers: Any) -> int:
    """Return how many numbers there are, however deep."""
    return sum(map(leaves, numbers.values())) if isinstance(numbers, Mapping) else 1


def test_there_is_one_folder_for_each_of_the_five_papers() -> None:
    assert list(PAPERS) == ["000", "001", "002", "003", "004"]


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_published_has_a_part_that_computes_it(paper: str) -> None:
    published = read_published(PAPERS[paper])
    assert published.paper == paper
    assert list(load_parts(PAPERS[paper])) == list(published.questions)
    assert not set(published.questions) & set(published.absent)
    assert all(published.times.values())


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_the_readme_is_a_part_that_can_be_run_or_is_said_to_be_absent(
    paper: str,
) -> None:
    published = read_published(PAPERS[paper])
    known = {name.lower() for name in (*published.questions, *published.absent)}
    told = set(rows((PAPERS[paper] / "README.md").read_text(encoding="utf-8")))
    assert told
    assert told <= known


@pytest.mark.parametrize("paper", PAPERS)
def test_every_part_has_a_row_in_the_readme_and_in_the_docs_with_the_same_count(paper: str) -> None:
    published = read_published(PAPERS[paper])
    readme = rows((PAPERS[paper] / "README.md").read_text(encoding="utf-8"))
    page = rows(PAGE.read_text(encoding="utf-8"), paper)
    assert [part for part in published.questions if part.lower() not in readme] == []
    assert [part for part in published.questions if part.lower() not in page] == []
    for part in published.questions:
        assert COUNT.findall(readme[part.lower()]) == COUNT.findall(page[part.lower()]), part


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_said_to_come_out_is_counted_over_the_published_numbers(paper: str) -> None:
    published = read_published(PAPERS[paper])
    page = rows(PAGE.read_text(encoding="utf-8"), paper)
    for part, numbers in published.numbers.items():
        found = COUNT.findall(page[part.lower()])
        assert bool(found) == bool(numbers) or page[part.lower()].startswith("not run"), part
        for came, counted in found:
            assert int(came) <= int(counted) <= leaves(numbers), part


def test_the_page_is_what_the_last_runs_say() -> None:
    made = runpy.run_path(str(PAGE.with_suffix(".py")))
    assert PAGE.read_text(encoding="utf-8") == made["page"]()
    for paper, folder in PAPERS.items():
        assert (folder / "README.md").read_text(encoding="utf-8") == made["readme"](paper), paper


# Parts that take a second or less, and those that need data.
QUICK = {
    "000": ("figure 1", "table 2", "section 4.1.2", "table 3"),
    "001": ("table 1",),
    "002": ("table 3 printed",),
    "004": ("table 3",),
}
QUICK_WITH_DATA = {
    "000": ("table 4", "table 6", "table 7"),
    "002": ("table 2", "table 3", "RQ1"),
}


def recomputed(parts: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], dict[str, int]]:
    """Compute parts again and return their counts."""
    data = os.environ.get("COMPARITY_DATA")
    request = Request(data=Path(data) if data else None)
    return {
        (paper, part): run_part(PAPERS[paper], part, request).counts
        for paper, names in parts.items()
        for part in names
    }


@pytest.mark.parametrize(
    "parts",
    [
        QUICK,
        pytest.param(
            QUICK_WITH_DATA,
            marks=[
                pytest.mark.real,
                pytest.mark.skipif(
                    "COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set"
                ),
            ],
        ),
    ],
    ids=["without data", "with data"],
)
def test_quick_parts_still_have_the_counts_of_the_page(parts: Mapping[str, Sequence[str]]) -> None:
    runs = tomllib.loads((ROOT / "reproductions" / "runs.toml").read_text(encoding="utf-8"))
    for (paper, part), counts in recomputed(parts).items():
        told = {name: runs[paper][part][name] for name in counts}
        assert counts == told, (paper, part)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_docs_say_why_a_part_is_absent(paper: str) -> None:
    _, _, absent = PAGE.read_text(encoding="utf-8").partition("## What cannot be run")
    for part, reason in read_published(PAPERS[paper]).absent.items():
        assert f"\n| {paper} | {part} | {reason} |" in absent
