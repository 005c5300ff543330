"""The pictures of "Bias-aware ranking from pairwise comparisons" and what it concludes from them.

Small versions of ``reproductions/003/figures.py``, which draws them in full; each conclusion is the
paper's, in its words about the figure.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "reproductions" / "003" / "figures.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures_003", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("figure", ["4", "5", "6", "10", "11"])
def test_the_conclusion_of_the_figure_holds(
    script: ModuleType, figure: str, tmp_path: Path
) -> None:
    (checks,) = script.main([str(tmp_path), "--panels", "8", "--only", figure]).values()
    assert [fact for fact, holds in checks.items() if not holds] == []
    assert (tmp_path / f"figure_{figure}.png").exists()


@pytest.mark.slow
def test_the_conclusions_of_figures_2_and_3_hold(script: ModuleType, tmp_path: Path) -> None:
    (checks,) = script.main([str(tmp_path), "--panels", "20", "--only", "2 and 3"]).values()
    assert [fact for fact, holds in checks.items() if not holds] == []


@pytest.mark.real
@pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
def test_the_conclusion_of_figure_9_holds(script: ModuleType, tmp_path: Path) -> None:
    data = os.environ["COMPARITY_DATA"]
    (checks,) = script.main([str(tmp_path), "--only", "9", "--data", data]).values()
    assert [fact for fact, holds in checks.items() if not holds] == []
