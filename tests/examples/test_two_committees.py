"""Witness for what the example finds: the power of Welch's test with normal differences."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import norm

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_committees.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("two_committees", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("lean", [0.3, 0.6])
def test_a_bias_is_found_as_often_as_the_normal_law_says(example: ModuleType, lean: float) -> None:
    """Grades round and clip: their differences have the variance 2 (1 + 1/12), about."""
    found, harmless = example.shares(400, lean, 300, np.random.default_rng(4))
    error = math.sqrt(2 * (1 + 1 / 12) * (1 / 280 + 1 / 120))
    expected = norm.sf(1.96 - lean / error)
    assert found == pytest.approx(expected, abs=0.1)
    assert harmless < 0.05


def test_the_example_prints_one_comparison_and_the_table(
    example: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "SIZES", (100,))
    example.main(3)
    printed = capsys.readouterr().out
    assert "this year's committee favours origin = local over" in printed
    assert "proves nothing" in printed
    assert printed.count(" 100 ") >= 3
