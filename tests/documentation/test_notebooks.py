"""Notebooks run, and find what their simulations have put in."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot

from tests.documentation.blocks import ROOT

NOTEBOOKS = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
FOUND = {
    "llm_judge": ("across gap against people", "violated", "SDs for long answers"),
    "hiring_panel": ("60 of 60 who lean are found", "first: ", "violated"),
    "choose_metrics": ("outside their published range", "towards", "away"),
}


@pytest.fixture(autouse=True)
def _without_a_screen() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", FOUND)
def test_a_notebook_finds_what_was_put_in(name: str) -> None:
    path = ROOT / "examples" / "notebooks" / f"{name}.py"
    printed = "".join(f"{out}{value or ''}" for _, out, value in NOTEBOOKS["run"](path))
    assert not [words for words in FOUND[name] if words not in printed]


def test_every_notebook_is_tried() -> None:
    assert {path.stem for path in ROOT.glob("examples/notebooks/*")} == set(FOUND)


def notebook(folder: Path, text: str) -> Path:
    path = folder / "small.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_text_code_and_what_it_prints_are_shown(tmp_path: Path) -> None:
    path = notebook(tmp_path, "# %% [markdown]\n# # Title\n\n# %%\nx = 2\nprint('a')\nx + 1\n")
    shown = NOTEBOOKS["shown"](path, tmp_path)
    assert shown == "# Title\n\n```python\nx = 2\nprint('a')\nx + 1\n```\n\n```text\na\n3\n```\n"


def test_what_a_cell_draws_becomes_a_picture(tmp_path: Path) -> None:
    source = "# %%\nfrom matplotlib import pyplot\n\npyplot.figure().subplots()\n"
    shown = NOTEBOOKS["shown"](notebook(tmp_path, source), tmp_path / "pictures")
    assert "](pictures/small-2.svg)" in shown
    assert (tmp_path / "pictures" / "small-2.svg").exists()


def test_an_error_names_the_line_of_the_notebook(tmp_path: Path) -> None:
    path = notebook(tmp_path, "# %%\nx = 1\n\n# %%\nx / 0\n")
    with pytest.raises(ZeroDivisionError) as error:
        list(NOTEBOOKS["run"](path))
    last: Any = error.traceback[-1]
    assert (last.path.name, last.lineno + 1) == ("small.py", 5)
