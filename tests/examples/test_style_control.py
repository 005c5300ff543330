"""The example on style control runs; its scores are arena-hard's own count of the same games."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "style_control.py"
GAMES = {"A>>B": (0, 3), "A>B": (0, 1), "A=B": (0.5, 1), "B>A": (1, 1), "B>>A": (1, 3)}


@pytest.mark.real
@pytest.mark.long
@pytest.mark.skipif("COMPARITY_DATA" not in os.environ, reason="COMPARITY_DATA is not set")
def test_their_scores_and_ours_come_out_side_by_side() -> None:
    folder = Path(os.environ["COMPARITY_DATA"]) / "judge_logs" / "arena_hard"
    if not folder.is_dir():
        pytest.skip("no logs of judges")
    spec = importlib.util.spec_from_file_location("style_control", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    lines = {name.split(": ")[1]: (theirs, ours) for name, theirs, ours in example.scores()}
    wins = copies = 0.0
    log = folder / "ko_ensemble" / "llama-3.3-70b-instruct.jsonl"
    for line in log.read_text(encoding="utf-8").splitlines():
        # In the first game the model is B, in the second A.
        for place, game in enumerate(json.loads(line)["games"]):
            won, weight = GAMES[game["score"]]
            wins += weight * (won if place == 0 else 1 - won)
            copies += weight
    theirs, ours = lines["llama-3.3-70b-instruct"]
    assert theirs[0] == pytest.approx(wins / copies)
    # 49 of 982 decided games, by the profile of these logs.
    assert ours[0] == pytest.approx(49 / 982)
    assert all(high - low < far - near for (_, low, high), (_, near, far) in lines.values())
