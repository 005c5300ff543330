"""Packages that are too old are named before they break anything."""

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.version import Version

from comparity.cli import main
from comparity.errors import UnmetRequirementError, requirements
from comparity.errors.requirements import Requirement, check_requirements, read_requirements

ROOT = Path(__file__).parents[2]


@pytest.fixture
def old_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["numpy>=1.2", "duckdb>=99.5", "lightgbm>=88; extra == 'boosting'"]
    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    monkeypatch.setattr(requirements, "check_requirements", check_requirements.__wrapped__)


def test_an_old_package_is_named_with_the_command_that_mends_it(old_duckdb: None) -> None:
    found = metadata.version("duckdb")
    with pytest.raises(UnmetRequirementError) as error:
        requirements.check_requirements()
    assert f"{found} for duckdb>=99.5" in str(error.value)
    assert "pip install 'duckdb>=99.5';" in str(error.value)
    assert "numpy" not in str(error.value)


def test_an_extra_is_checked_when_it_is_asked_for(old_duckdb: None) -> None:
    with pytest.raises(UnmetRequirementError, match=r"comparity\[boosting\].*lightgbm>=88"):
        requirements.check_requirements("boosting")


@pytest.mark.parametrize("words", [["plan", "separation"], ["gate", "no-such-file.toml"]])
def test_a_command_ends_as_bad_input_before_it_reads_anything(
    old_duckdb: None, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "pip install 'duckdb>=99.5'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["plan", "rank", "--help"]])
def test_help_is_shown_whatever_is_installed(old_duckdb: None, words: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert not left.value.code


def test_a_name_of_the_package_is_refused_by_an_error_of_ours_and_importing_is_not() -> None:
    program = """
from importlib import metadata
metadata.requires = lambda name: ["numpy>=99"]
import comparity
try:
    comparity.separation
except comparity.ComparityError as error:
    print(type(error).__name__)
"""
    words = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["UnmetRequirementError"]


@pytest.mark.parametrize("installed", ["1.4.9", "1.5", "1.5.0", "1.5.0rc1", "1.10", "2.0.0+cpu"])
@pytest.mark.parametrize("least", ["", "1.5", "1.5.0", "1.10", "2"])
def test_versions_are_ordered_as_packaging_orders_them(
    monkeypatch: pytest.MonkeyPatch, installed: str, least: str
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: installed)
    # A candidate of a release counts as the release.
    expected = Version(Version(installed).base_version) >= Version(least or "0")
    assert Requirement(name="x", least=least, extra="").is_met is expected


def test_everything_that_is_needed_has_a_least_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for_users = [line for extra in extras if extra not in FOR_US for line in extras[extra]]
    assert not [line for line in (*project["dependencies"], *for_users) if ">=" not in line]


FOR_US = ("test", "witnesses", "bench", "docs")


def test_the_metadata_are_read_whole() -> None:
    assert len(read_requirements()) == len(metadata.requires("comparity") or [])
    assert {one.extra for one in read_requirements()} >= {"", "spark", "torch", "boosting"}
