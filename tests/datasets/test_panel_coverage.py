"""Audits of panels whose truth is known: intervals hold it as often as they promise."""

import numpy as np
import pytest

from comparity.auditing.comparative import comparative_separation
from comparity.auditing.separation import separation
from comparity.auditing.verdicts import VIOLATED
from comparity.datasets.panel import Panel, PanelModel, simulate_panel
from comparity.results import Audit

MODELS = {"model": PanelModel(bias=0.35), "revised": PanelModel()}
PANELS = 200


def audits(panel: Panel, model: str) -> list[Audit]:
    position = {name: place for place, name in enumerate(panel.items["item"])}
    judged = panel.judgments
    left, right = (
        np.array([position[name] for name in judged[side]]) for side in ("left", "right")
    )
    first, kept = (judged["winner"] == "left")[:, None], judged["winner"] != "tie"
    pairs = np.where(first, np.column_stack([left, right]), np.column_stack([right, left]))
    groups = panel.items["sex"]
    return [
        separation(panel.decisions["hired"], panel.decisions[model], sensitive_features=groups),
        comparative_separation(
            pairs[kept],
            scores=panel.items[model],
            sensitive_features=groups,
            evaluators=judged["judge"][kept],
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_intervals_hold_the_truth_as_often_as_they_promise(model: str) -> None:
    truth = MODELS[model].gaps()
    held: dict[str, list[bool]] = {null: [] for null in truth}
    alarms = {"separation": 0, "comparative separation": 0}
    sizes = {"n_items": 5900, "n_judges": 60, "n_judgments": 17700}
    for seed in range(PANELS):
        panel = simulate_panel(MODELS, rng=np.random.default_rng(seed), **sizes)
        for audit in audits(panel, model):
            alarms[audit.notion] += audit.finding == VIOLATED
            for test in audit.tests:
                low, high, _ = test.interval(0.95)
                held[test.null].append(low <= truth[test.null] <= high)
    error = np.sqrt(0.05 * 0.95 / PANELS)
    assert np.min([np.mean(times) for times in held.values()]) > 0.95 - 3 * error
    allowed = PANELS if model == "model" else PANELS * (0.05 + 3 * error)
    assert max(alarms.values()) <= allowed
    assert model == "revised" or min(alarms.values()) == PANELS
