"""The example on logs of judges prints the published numbers beside those of the logs."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "judge_logs.py"


@pytest.mark.real
@pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
def test_published_numbers_come_out(capsys: pytest.CaptureFixture[str]) -> None:
    if not (Path(os.environ["COMPARITY_DATA"]) / "judge_logs").is_dir():
        pytest.skip("no judge logs in the data folder")
    spec = importlib.util.spec_from_file_location("judge_logs", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    lines = capsys.readouterr().out.splitlines()
    # The repository's own table: 951 of 1,200 pairs inconsistent, and so on.
    for share in ("20.8%", "57.8%", "66.6%", "80.2%"):
        assert any(line.count(share) >= 2 for line in lines), share
    # PROFILE.md: GPT-4 and each human vote, both decided, 85.6% (1823/2129).
    assert any("85.6%" in line and "of 2,129" in line for line in lines)
    assert any("Athene" in line and "joined" in line for line in lines)
