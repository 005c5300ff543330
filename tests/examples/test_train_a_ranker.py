"""The example runs, and shows what it says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_a_ranker.py"


@pytest.mark.parametrize("scorer", ["linear", "boosted"])
def test_the_example_narrows_the_gap_and_draws(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scorer: str
) -> None:
    spec = importlib.util.spec_from_file_location("train_a_ranker", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    picture = tmp_path / "trade_off.png"
    module.main(str(picture), scorer, queries=200, steps=60)
    printed = capsys.readouterr().out
    free, bound = (abs(float(gap)) for gap in re.findall(r"gap ([+-][0-9.]+)", printed)[:2])
    assert bound < free / 2
    assert "What the goal costs at 5 slacks" in printed
    assert picture.stat().st_size > 1000
