"""A policy may ask for an audit against the bias-adjusted panel, from files or from frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

from comparity.errors import PolicyAuditError, PolicyError, UnknownKeyError
from comparity.gate.check import check
from comparity.ranking.rank import rank_files
from tests.ranking.test_panels import leaning_panel

NAMED = {"score": "model", "sensitive": "sex", "evaluator": "judge"}
POLICY = {"name": "panel", "notion": "rank", "comparisons": "j.csv", "items": "i.csv", **NAMED}


@pytest.fixture(scope="module")
def frames() -> dict[str, polars.DataFrame]:
    world = leaning_panel(np.random.default_rng(3), n_items=60, n_comparisons=1500)
    better, worse = np.asarray(world.comparisons).T
    judges = [f"j{k}" for k in world.evaluators]
    items = {"item": np.arange(60), "sex": world.group, "model": world.model}
    return {
        "j.csv": polars.DataFrame({"judge": judges, "better": better, "worse": worse}),
        "i.csv": polars.DataFrame(items),
    }


@pytest.mark.long
def test_files_frames_and_the_command_agree(
    frames: dict[str, polars.DataFrame], tmp_path: Path
) -> None:
    for name, frame in frames.items():
        frame.write_csv(tmp_path / name)
    files = {role: str(tmp_path / POLICY[role]) for role in ("comparisons", "items")}
    own = rank_files(**files, **{**NAMED, "sensitive": ("sex",)}).audit
    assert own is not None
    from_files = check({"audit": [{**POLICY, **files}]})["panel"]
    from_frames = check({"audit": [POLICY]}, data=frames)["panel"]
    assert from_files.finding == from_frames.finding == own.finding
    gaps = [
        [test.gap for test in one.tests] for one in (own, from_files.result, from_frames.result)
    ]
    assert gaps[0] == pytest.approx(gaps[1])
    assert gaps[0] == pytest.approx(gaps[2])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"score": None}, PolicyError),
        ({"items": None}, PolicyError),
        ({"looks": [1, 2]}, UnknownKeyError),
        ({"anchor": "nothing"}, PolicyAuditError),
    ],
)
def test_what_cannot_be_followed_is_refused(
    frames: dict[str, polars.DataFrame], change: dict[str, object], error: type[Exception]
) -> None:
    asked = {key: value for key, value in {**POLICY, **change}.items() if value is not None}
    with pytest.raises(error):
        check(
            {"audit": [asked]},
            data={key: one for key, one in frames.items() if key in asked.values()},
        )
