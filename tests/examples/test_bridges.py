"""The examples run on the real data, and say what the data say."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data() -> Path:
    folder = os.environ.get("COMPARITY_DATA")
    if folder is None:
        pytest.skip("COMPARITY_DATA names no folder with the papers' data")
    return Path(folder)


@pytest.mark.real
def test_story_points_are_read_as_the_authors_read_them(data: Path) -> None:
    """284 issues, 127 of them user stories, less the six shown to the models."""
    module = example("story_points_bridge")
    points, kind, texts = module.estimates(data / "jira_story_points")
    assert len(kind) == len(texts) == 284 - 6
    assert list(points) == ["the team", "Llama 3.3", "Kimi K2"]
    assert set(points["Llama 3.3"]) <= {1, 2, 3, 5, 8, 13}


@pytest.mark.real
@pytest.mark.parametrize("language_model", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_story_points_are_bridged(
    language_model: bool,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By counts of words, which need no model to be loaded; and by one where it is installed."""
    module = example("story_points_bridge")
    if not language_model:
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    module.main(1)
    printed = capsys.readouterr().out
    assert "of 9 cases" in printed
    assert "Kimi K2 over the team" in printed


@pytest.mark.real
def test_the_bridge_between_lsat_and_grades_finds_what_direct_measurement_finds(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On all students the LSAT rates men higher, and white students higher, than grades do."""
    example("law_school_bridge").main(1, 4000)
    printed = capsys.readouterr().out
    assert "Compared with UGPA, LSAT favours sex = male over sex = female" in printed
    assert "Compared with UGPA, LSAT favours race = white over race = not white" in printed
    found = re.search(r"sex: LSAT over UGPA +(\S+) +(\S+) +(\S+)", printed)
    assert found is not None
    first, second, bridged = map(float, found.groups())
    assert min(first, second) - 0.15 < bridged < max(first, second) + 0.15
