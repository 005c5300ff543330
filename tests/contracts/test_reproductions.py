"""What can be reproduced is listed in one way everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from comparity.auditing.reproductions import find_papers, load_parts, read_published

ROOT = Path(__file__).parents[2]
PAPERS = find_papers(ROOT / "reproductions")
PAGE = ROOT / "docs" / "reproductions.md"


def first_cells(text: str) -> list[str]:
    """Return the first cell of every row of the first table."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| ---"))
    cells = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        cells.append(line.split("|")[1].strip(" `").lower())
    return cells


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
    cells = set(first_cells((PAPERS[paper] / "README.md").read_text(encoding="utf-8")))
    assert cells
    assert cells <= known


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_the_docs_has_a_row_for_every_part(paper: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    parts = read_published(PAPERS[paper]).questions
    assert [part for part in parts if f"\n| {paper} | {part} |" not in text] == []
