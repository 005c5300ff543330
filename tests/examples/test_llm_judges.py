"""The example on LLM judges runs and finds what simple counts show.

Of the pairs GPT-3.5 decided, 1,352 went to the left and 593 to the right: log odds of 0.82 before
strength is taken into account, which can only add to it. GPT-4: 943 and 1,130, log odds -0.18.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "llm_judges.py"


@pytest.mark.real
@pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
def test_seats_and_lengths_come_out_with_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("llm_judges", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    fits = example.main(Path(os.environ["COMPARITY_DATA"]))
    assert "seat: first over second" in capsys.readouterr().out
    for fit in fits.values():
        assert fit.converged
        judges = fit.evaluators.tolist()
        # Differences from people, who favour the left as well.
        assert 0 < fit.seat.value < 0.3
        seat = fit.bias_intervals()[:, -1] + fit.seat.value
        assert seat[judges.index("GPT-3.5"), 0] > np.log(1352 / 593)
        assert seat[judges.index("GPT-4"), 1] < np.log(943 / 1130) + 0.05
    lengths = fits["lengths"]
    long = lengths.bias[lengths.evaluators.tolist().index("GPT-3.5"), 0]
    assert long > 0.5
