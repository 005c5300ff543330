"""The example that shows panels with equal and own sharpness side by side.

In MT-bench GPT-4 decides more often for the better of any two models than people do, within
OpenAI's models and within the others alike: that is sharpness, and no lean toward a family.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "equal_or_own_sharpness.py"


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("equal_or_own_sharpness", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def log_odds(rows: list[dict[str, Any]], better: str, worse: str) -> float:
    won = sum(row.get(row["winner"]) == better for row in rows if {better, worse} <= {*pair(row)})
    lost = sum(row.get(row["winner"]) == worse for row in rows if {better, worse} <= {*pair(row)})
    return float(np.log((won + 0.5) / (lost + 0.5)))


def pair(row: dict[str, Any]) -> tuple[str, str]:
    return row["model_a"], row["model_b"]


@pytest.mark.real
@pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
def test_what_looks_like_a_lean_of_gpt_4_is_sharpness(
    example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Path(os.environ["COMPARITY_DATA"])
    logs = [
        example.read_lines(home / f"judge_logs/mtbench_human/{name}.jsonl")
        for name in ("gpt4_pair", "human")
    ]
    for within in (("gpt-4", "gpt-3.5-turbo"), ("claude-v1", "llama-13b")):
        judge, people = (log_odds(rows, *within) for rows in logs)
        assert judge > people
    found = example.fit_mtbench(home)
    example.report(found)
    assert "GPT-4    group: OpenAI over others" in capsys.readouterr().out
    place = found["own"].evaluators.tolist().index("GPT-4")
    values = found["own"].sharpness.values
    assert values[place] > 1.3 * values[1 - place]
    assert found["equal"].cautious_q[place, 0] < 0.01
    assert found["own"].cautious_q[place, 0] > 0.05
