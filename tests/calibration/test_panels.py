"""Calibration: false alarms of an audit against a bias-adjusted panel.

The model is the true quality plus noise that knows no group, so every violation found is a false
alarm. Taken at face value the panel's scores give 0.08 to 0.13 of them (400 panels each).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparity import barp, pairwise_accuracy
from comparity.ranking.panel import PanelAudit, audit_against_panel
from comparity.results.result import VIOLATED
from tests.calibration.panels import leaning_panel

ALPHA = 0.05

WORLDS: dict[str, dict[str, Any]] = {
    "200 items": {},
    "few comparisons": {"n_items": 100, "n_evaluators": 10, "n_comparisons": 1000},
    "one group less spread": {"spread": 0.5},
    "one group rarely shown": {"n_comparisons": 2000, "rarely": 0.4},
    # Trusted people, others who are less sharp and lean, and groups that differ in truth.
    "unequal sharpness": {"sharpness": 1.0, "gap": 2.0, "trusted": 4, "n_comparisons": 8000},
}


@pytest.fixture(params=[8, pytest.param(1000, marks=pytest.mark.slow)])
def times(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def audited(rng: np.random.Generator, shift: float = 0.0, **world: Any) -> PanelAudit:
    panel = leaning_panel(rng, **world)
    fit = barp(
        panel.comparisons,
        evaluators=panel.evaluators,
        sensitive_features=panel.group,
        anchor=list(range(world.get("trusted", 0))) or "equal group means",
    )
    model = panel.model + shift * (panel.group == "b")
    return audit_against_panel(fit, model, sensitive_features=panel.group, draws=20)


@pytest.mark.parametrize(
    "world",
    [
        *("200 items", "few comparisons"),
        pytest.param("one group less spread", marks=pytest.mark.slow),
        pytest.param("one group rarely shown", marks=pytest.mark.slow),
        pytest.param("unequal sharpness", marks=pytest.mark.slow),
    ],
)
def test_false_alarms_stay_at_their_level(world: str, times: int, rng: np.random.Generator) -> None:
    found = [audited(rng, **WORLDS[world]).finding == VIOLATED for _ in range(times)]
    assert np.mean(found) <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / times)


def test_the_panel_at_face_value_raises_false_alarms(times: int, rng: np.random.Generator) -> None:
    """This is why the error is carried: 0.13 of 200 audits were measured."""
    found = [audited(rng).at_face_value.finding == VIOLATED for _ in range(times)]
    assert np.mean(found) > max(0.13 - 3 * np.sqrt(0.13 * 0.87 / times), 0.0)


def test_a_model_that_favours_a_group_is_found(times: int, rng: np.random.Generator) -> None:
    """A shift of two thirds of the standard deviation of quality: 0.9 of 100 were measured."""
    found = [audited(rng, shift=1.0).finding == VIOLATED for _ in range(times)]
    assert np.mean(found) > 0.6


def test_unequal_sharpness_moves_no_gap(rng: np.random.Generator) -> None:
    """With evaluators taken for equally sharp, gaps are off by 0.21 on average (20 panels)."""
    off = []
    for _ in range(3):
        state = rng.bit_generator.state
        world = leaning_panel(rng, **WORLDS["unequal sharpness"])
        rng.bit_generator.state = state
        gap = audited(rng, **WORLDS["unequal sharpness"]).tests[0].gap
        truth = pairwise_accuracy(world.quality, world.model, sensitive_features=world.group)
        off.append(gap - truth.tests[0].gap)
    assert abs(np.mean(off)) < 0.06
