"""An example on real data says what it needs, and what of it is not there."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ON_REAL_DATA = {
    "compas_and_german": "compas_no_names.csv",
    "equal_or_own_sharpness": "crowd-comparisons.csv",
    "law_school_bridge": "law_data.csv",
    "llm_judges": "crowd-comparisons.csv",
    "story_points_bridge": ".csv",
}


def said(name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.argv", [name])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return str(left.value.code)


@pytest.mark.parametrize("name", ON_REAL_DATA)
def test_without_a_folder_an_example_says_how_it_is_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMPARITY_DATA", raising=False)
    assert f"python examples/{name}.py" in said(name, monkeypatch)


@pytest.mark.parametrize("name", ON_REAL_DATA)
def test_of_a_folder_without_its_data_an_example_names_what_is_missing(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMPARITY_DATA", str(tmp_path))
    first, _, rest = said(name, monkeypatch).partition("\n")
    assert first.startswith(str(tmp_path))
    assert first.endswith(f"{ON_REAL_DATA[name]} is not there.")
    assert "COMPARITY_DATA" in rest
