"""The pictures of "Bias-aware ranking from pairwise comparisons" and what it concludes from them.

Small versions of the parts of ``reproductions/003``; each conclusion is the paper's about the
figure, and the numbers beside ours are stored in the authors' repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from comparity.cli.published import Reproduction, Request
from comparity.cli.reproduce import find_papers, run_part


def reproduced(figure: str, folder: Path, runs: int) -> Reproduction:
    data = os.environ.get("COMPARITY_DATA")
    request = Request(output=folder, runs=runs, data=Path(data) if data else None)
    return run_part(find_papers()["003"], f"figure {figure}", request)


def fails(found: Reproduction) -> list[str]:
    return [one.text for one in found.conclusions if not one.holds]


@pytest.mark.parametrize(
    ("figure", "runs"),
    [("5", 1), ("6", 12), pytest.param("10", 4, marks=pytest.mark.slow), ("11", 4)],
)
def test_the_conclusion_of_the_figure_holds(figure: str, runs: int, tmp_path: Path) -> None:
    found = reproduced(figure, tmp_path, runs)
    assert found.conclusions
    assert fails(found) == []
    assert found.n_matching == found.n_compared
    assert (tmp_path / f"figure_{figure}.png").exists()


@pytest.mark.slow
def test_the_trade_off_of_figure_4_is_not_there_in_a_converged_fit(tmp_path: Path) -> None:
    found = reproduced("4", tmp_path, 1)
    assert [text[:27] for text in fails(found)] == ["the same in a converged fit"]
    # The least of all panels, 100 comparisons of 100 items, has many solutions.
    missed = [(row.row, row.column) for row in found.rows if row.matches is False]
    assert missed in ([], [("10 evaluators", "10 pairs")])
    assert found.n_compared == 196
    assert (tmp_path / "figure_4.png").exists()


@pytest.mark.slow
def test_the_curves_of_figure_2_come_out(tmp_path: Path) -> None:
    found = reproduced("2", tmp_path, 20)
    assert found.n_matching >= 0.95 * found.n_compared
    # Where groups differ by chance, the authors' scheme keeps a part of it: the README says why.
    assert [text for text in fails(found) if "differ by chance" not in text] == []


@pytest.mark.slow
def test_the_curves_of_figure_3_come_out(tmp_path: Path) -> None:
    found = reproduced("3", tmp_path, 10)
    assert fails(found) == []
    assert found.n_matching >= 0.95 * found.n_compared


@pytest.mark.real
@pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
@pytest.mark.parametrize("figure", ["8", "9"])
def test_the_conclusion_on_real_data_holds(figure: str, tmp_path: Path) -> None:
    assert fails(reproduced(figure, tmp_path, 1)) == []
