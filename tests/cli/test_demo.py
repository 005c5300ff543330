import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comparity.cli.tools import DEMO_FILES, DEMO_README
from comparity.datasets.simulated import Hiring
from comparity.results.result import VIOLATED, WITHIN

Run = Callable[..., Any]

EARLIER = {"README.txt": DEMO_README, "items.csv": "of an earlier demo", "notes.txt": "mine"}
"""What is in the folder already."""


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def demos() -> list[tuple[Any, Path]]:
    """What was run already: a demo takes seconds, so that all tests look at one."""
    return []


@pytest.fixture
def small(
    run: Run, tmp_path_factory: pytest.TempPathFactory, demos: list[tuple[Any, Path]]
) -> tuple[Any, Path]:
    if not demos:
        folder = tmp_path_factory.mktemp("small") / "a demo"
        folder.mkdir()
        for name, text in EARLIER.items():
            (folder / name).write_text(text, encoding="utf-8")
        demos.append((run("demo", "--directory", folder, "--quick"), folder))
    return demos[0]


def test_a_small_demo_tells_every_step_and_shows_the_same_numbers_everywhere(
    small: tuple[Any, Path],
) -> None:
    outcome, folder = small
    assert outcome.status == 0
    story, report = read(folder, "story"), (folder / "report.html").read_text(encoding="utf-8")
    assert len(story["steps"]) == 7
    assert story["provenance"]["options"]["n_items"] == 600
    assert "it stays below 0.001" in story["steps"][0]["sentences"][0]
    assert "more applicants would" in story["steps"][0]["sentences"][1]
    for step in story["steps"]:
        assert step["title"] in outcome.out
        assert step["title"] in report
        for gap in step["gaps"]:
            assert f"{gap['true']:+.3f}" in outcome.out
            assert f"{gap['found']:+.3f}" in report
    audit = read(folder, "model-judges")
    assert [t["gap"] for t in audit["tests"]] == [g["found"] for g in story["steps"][2]["gaps"]]
    assert report.count("<figure>") == 10
    assert "<script" not in report
    assert "src=" not in report
    written = {path.name for path in folder.iterdir()} - {"notes.txt"}
    assert written == {*DEMO_FILES, "report.html"}


@pytest.mark.slow
def test_a_quick_demo_has_never_more_applicants_than_asked_for(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "smaller"
    run("demo", "--directory", folder, "--quick", "--applicants", 200)
    assert read(folder, "story")["provenance"]["options"]["n_items"] == 200


def test_the_commands_a_demo_prints_run_on_its_files(small: tuple[Any, Path], run: Run) -> None:
    outcome, folder = small
    printed = outcome.out.partition("commands of your own:")[2].replace("\\\n", " ")
    commands = [shlex.split(line)[1:] for line in printed.splitlines() if line.strip()]
    assert [command[0] for command in commands] == ["comparative", "rank", "rank"]
    found = json.loads(run(*commands[0], "--json").out)
    assert found["tests"] == read(folder, "model-judges")["tests"]
    assert all(run(*command).status in (0, 1, 3) for command in commands[1:])


@pytest.mark.slow
def test_the_demo_finds_what_is_true(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    assert run("demo", "--directory", folder).status == 0
    audits = ("model-judges", "model-panel", "model-fresh", "revised-fresh")
    assert {name: read(folder, name)["finding"] for name in audits} == {
        "model-judges": WITHIN,
        "model-panel": VIOLATED,
        "model-fresh": VIOLATED,
        "revised-fresh": WITHIN,
    }
    names = Hiring().judge_names[Hiring().leans > 0].tolist()
    biases = read(folder, "panel")["biases"]
    found = {row["evaluator"] for row in biases if row["q_value"] <= 0.05}
    # One in twenty of those named may lean by chance alone.
    assert set(names) <= found
    assert len(found) <= len(names) + 8


def test_a_demo_replaces_no_file_but_its_own(
    small: tuple[Any, Path], run: Run, tmp_path: Path
) -> None:
    folder = shutil.copytree(small[1], tmp_path / "again")
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"
    own = folder / "items.csv"
    assert own.read_text(encoding="utf-8").startswith("item,")
    (folder / "README.txt").unlink()
    own.write_text("item\n1\n", encoding="utf-8")
    outcome = run("demo", "--directory", folder, "--quick", "--applicants", 100)
    assert (outcome.status, own.read_text(encoding="utf-8")) == (2, "item\n1\n")
    assert "'items.csv'" in outcome.err


def test_a_demo_that_cannot_be_written_is_bad_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    small = ("--applicants", 100)
    assert run("demo", "--directory", tmp_path / "file" / "demo", *small).status == 2
