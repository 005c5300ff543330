"""Calibration of leans given quality: a judge who is merely dull is not accused more often."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from comparity.judges.leans import SEAT, find_leans
from tests.judges.panels import Panel, draw

WORLDS = {
    "a dull and a leaning judge beside people": Panel(
        **{"prompts": 50, "answers": 5, "pairs": 4, "both_orders": True, "worth": 1.0},
        **{"sharpness": (2.0, 0.8, 1.5), "lean": (0.0, 0.0, 0.5), "seat": (0.0, 0.3, 0.6)},
    ),
    "one pair for each prompt": Panel(
        **{"prompts": 400, "answers": 2, "pairs": 1},
        **{"sharpness": (1.5, 0.8, 1.5), "lean": (0.0, 0.0, 0.3), "seat": (0.0, 0.3, 0.6)},
    ),
    "two judges alone": Panel(
        **{"prompts": 60, "answers": 4, "pairs": 3, "both_orders": True, "people": 0},
        **{"sharpness": (2.0, 0.8), "lean": (0.0, 0.0), "seat": (0.0, 0.3), "worth": 1.0},
    ),
    "a right verdict": Panel(
        **{"prompts": 60, "answers": 3, "pairs": 3, "people": 0, "truth": True},
        **{"sharpness": (1.5, 0.8), "lean": (0.0, 0.5), "seat": (0.0, 0.3), "worth": 1.0},
    ),
}


def coverage(panel: Panel, rng: np.random.Generator, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether intervals cover, and whether judges who do not lean are accused."""
    covered, accused = [], []
    for _ in range(runs):
        for one in find_leans(draw(panel, rng)).leans:
            k = 0 if one.judge == "people" else int(one.judge[1:])
            true = panel.seat[k] if one.toward == SEAT else panel.sharpness[k] * panel.lean[k]
            covered.append(one.interval.low <= expit(true) <= one.interval.high)
            if true == 0:
                accused.append(one.p_value < 0.05)
    return np.array(covered), np.array(accused)


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        *((name, 4) for name in WORLDS if name != "one pair for each prompt"),
        *(pytest.param(name, 250, marks=pytest.mark.slow) for name in WORLDS),
    ],
)
def test_leans_are_covered_and_the_dull_are_not_accused(
    name: str, runs: int, rng: np.random.Generator
) -> None:
    covered, accused = coverage(WORLDS[name], rng, runs)
    error = (0.05 * 0.95) ** 0.5
    assert covered.mean() >= 0.93 - 3.29 * error / len(covered) ** 0.5
    assert accused.mean() <= 0.05 + 3.29 * error / len(accused) ** 0.5
