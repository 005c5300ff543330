"""Ranking from frames: what is asked of every model before anything is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from comparity import barp
from comparity.auditing.ranking import MODELS, rank_frames
from comparity.errors import OptionError
from tests.calibration.panels import leaning_panel

WORLD = leaning_panel(np.random.default_rng(9), n_items=20, n_evaluators=4, n_comparisons=600)
NAMES = np.array([f"c{place:02d}" for place in range(20)])
COMPARISONS = pl.DataFrame(
    {
        "better": NAMES[WORLD.comparisons[:, 0]],
        "worse": NAMES[WORLD.comparisons[:, 1]],
        "judge": WORLD.evaluators,
    }
)
ITEMS = pl.DataFrame({"item": NAMES, "sex": WORLD.group})


def ranked(**choices: Any) -> Any:
    known: dict[str, Any] = {"sensitive": ["sex"], "evaluator": "judge"}
    return rank_frames(COMPARISONS, ITEMS, **known | choices)


def test_frames_give_what_arrays_give() -> None:
    plain = barp(WORLD.comparisons, evaluators=WORLD.evaluators, sensitive_features=WORLD.group)
    found = ranked().ranking
    assert found.items.tolist() == NAMES.tolist()
    assert found.bias == pytest.approx(plain.bias, abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sensitive", ["sex", ["sex", "sex"]], ids=str)
def test_one_name_is_no_list_of_names(model: str, sensitive: Any) -> None:
    with pytest.raises(OptionError, match="list of one or more different columns"):
        ranked(model=model, sensitive=sensitive)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"model": "elo"}, "'elo'"),
        ({"sensitive": []}, "barp needs it"),
        ({"evaluator": None}, "barp needs it"),
        ({"model": "crowdbt", "seat": "judge"}, "knows no seats"),
        ({"model": "bt", "score": "sex"}, "barp with one sensitive column"),
    ],
)
def test_what_a_model_needs_or_does_not_know_is_said(choices: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        ranked(**choices)
