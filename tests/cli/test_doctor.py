import json
import platform
from collections.abc import Callable
from importlib import metadata
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from comparity.cli.installation import inspect_installation
from comparity.datasets.registry import DATASETS

Run = Callable[..., Any]


def test_versions_are_those_of_the_packages(run: Run) -> None:
    outcome = run("doctor", "--json")
    content = json.loads(outcome.out)
    assert (outcome.status, content["complete"]) == (0, True)
    assert content["python"] == platform.python_version()
    found = {one["name"]: one["version"] for one in content["packages"]}
    for name in ("numpy", "scipy", "duckdb", "rich"):
        assert found[name] == version(name)


def test_data_are_looked_for_where_they_should_be(run: Run, tmp_path: Path) -> None:
    content = json.loads(run("doctor", "--data", tmp_path, "--json").out)
    assert content["data_folder"] == str(tmp_path)
    assert not any(content["datasets"].values())
    german = tmp_path / DATASETS["german"].files[0].path
    german.parent.mkdir(parents=True, exist_ok=True)
    german.touch()
    content = json.loads(run("doctor", "--data", tmp_path, "--json").out)
    assert [name for name, here in content["datasets"].items() if here] == ["german"]
    assert "german" not in content["lacks"][-1]["what"]


@pytest.mark.parametrize(
    ("said", "good"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('java version "1.8.0_202"', False),
        ('openjdk version "21" 2023-09-19', True),
        ("", False),
    ],
)
def test_java_is_judged_by_what_it_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, good: bool
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = inspect_installation()
    assert found.java == said
    assert good is not any("Java" in one.what for one in found.lacks)


def test_a_package_that_is_missing_or_too_old_is_named_with_what_needs_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["numpy>=99", "no-such-package", 'pyspark>=99; extra == "spark"']
    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    outcome = run("doctor", "--json")
    content = json.loads(outcome.out)
    assert (outcome.status, content["complete"]) == (2, False)
    lacks = {one["what"].split()[0]: one for one in content["lacks"]}
    assert lacks["numpy"]["needed_by"] == lacks["no-such-package"]["needed_by"] == "every command"
    assert lacks["pyspark"]["hint"] == "pip install 'pyspark>=99'"
    assert lacks["no-such-package"]["hint"] == "pip install 'no-such-package'"


def test_an_engine_that_is_too_old_is_named_and_one_that_is_absent_is_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", {"polars": "0.9", "numpy": "2.0"}.__getitem__)
    monkeypatch.setattr(metadata, "PackageNotFoundError", KeyError)
    wanted = ["numpy>=1", *(f'{name}>=1; extra == "{name}"' for name in ("polars", "pandas"))]
    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    lacks = {one["what"]: one["hint"] for one in json.loads(run("doctor", "--json").out)["lacks"]}
    assert lacks["polars 0.9, at least 1 is needed"] == "pip install 'polars>=1'"
    assert not any(what.startswith("pandas") for what in lacks)


def test_the_terminal_shows_the_same(run: Run, tmp_path: Path) -> None:
    outcome = run("doctor", "--data", tmp_path)
    assert outcome.status == 0
    assert version("numpy") in outcome.out
    assert "comparity data NAME" in outcome.out


def test_the_shell_can_ask_for_completion(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    for name, value in {"WORDS": "comparity doc", "CWORD": "1"}.items():
        monkeypatch.setenv(f"COMP_{name}", value)
    monkeypatch.setenv("_COMPARITY_COMPLETE", "bash_complete")
    assert run().out.split() == ["plain,doctor"]


def test_an_extra_that_is_missing_is_not_said_to_be_there_nor_required(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy", 'nix; extra == "spark"'])
    outcome = run("doctor")
    assert outcome.status == 0
    assert ": nothing required is missing\n" in outcome.out
    assert "nix is not installed" in outcome.out.partition("What is missing")[2]
