"""The example raises false alarms exactly where it does not know the prompts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "prompt_clusters.py"


def test_only_audits_that_know_the_prompts_keep_their_false_alarms() -> None:
    spec = importlib.util.spec_from_file_location("prompt_clusters", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    unaware, aware = example.false_alarms(100, seed=2).values()
    # Three binomial errors of 0.05 in 100 studies are 0.065.
    assert aware < 0.115
    assert unaware > 0.2
