"""The command, Python and pytest come to one verdict."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from comparity.errors import ComparityError
from comparity.gate.check import check
from comparity.testing import assert_parity
from tests.mutants import toml_mutants

Run = Callable[..., Any]

AUDIT = """
[[audit]]
name = "{name}"
notion = "separation"
file = "{name}.csv"
label = "hired"
prediction = "model"
sensitive = "sex"
"""
# Share predicted right in both groups, and decisions of each group and label.
WORLDS = {"good": (0.8, 0.8, 4000), "bad": (0.6, 0.8, 400), "few": (0.8, 0.8, 40)}
STATUS = {"good": 0, "bad": 1, "few": 3}


@pytest.fixture
def policy(tmp_path: Path) -> Callable[..., Path]:
    def written(*names: str, head: str = "") -> Path:
        for name in names:
            first, second, each = WORLDS[name]
            rows = ["sex,hired,model"]
            for group, rate in (("f", first), ("m", second)):
                for label in (0, 1):
                    right = round(rate * each)
                    rows += [f"{group},{label},{label}"] * right
                    rows += [f"{group},{label},{1 - label}"] * (each - right)
            (tmp_path / f"{name}.csv").write_text("\n".join(rows), encoding="utf-8")
        path = tmp_path / "policy.toml"
        text = head + "".join(AUDIT.format(name=name) for name in names)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize("names", [["good"], ["bad"], ["few"], ["good", "few", "bad"]])
def test_command_python_and_assertion_agree(
    run: Run, policy: Callable[..., Path], names: list[str]
) -> None:
    path = policy(*names)
    found = check(path)
    assert run("gate", path).status == found.exit_status
    assert found.exit_status == (1 if "bad" in names else STATUS[names[0]])
    if found.passed:
        assert assert_parity(path).to_dict() == found.to_dict()
    else:
        with pytest.raises(AssertionError, match="Gate policy: failed"):
            assert_parity(path)


def test_every_form_is_written_with_the_same_verdict(
    run: Run, policy: Callable[..., Path], tmp_path: Path
) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("junit", "sarif", "markdown", "html")}
    words = [word for name, path in files.items() for word in (f"--{name}", path)]
    asked = policy("good", "bad")
    outcome = run("gate", asked, *words, "--json")
    content = json.loads(outcome.out)
    assert (outcome.status, content["passed"]) == (1, False)
    assert ElementTree.parse(files["junit"]).getroot().get("failures") != "0"
    sarif = json.loads(files["sarif"].read_text(encoding="utf-8"))
    assert sarif["runs"][0]["properties"] == {"passed": False, "exitStatus": 1}
    places = [one["locations"][0]["physicalLocation"] for one in sarif["runs"][0]["results"]]
    lines = asked.read_text(encoding="utf-8").split("\n")
    assert {lines[place["region"]["startLine"]] for place in places} == {'name = "bad"'}
    for name in ("markdown", "html"):
        assert "failed" in files[name].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name = 'x'",
        "[[audit",
        "[[audit]]",
        "margn = 0.05" + AUDIT.format(name="good"),
        "undecided = 'pass'" + AUDIT.format(name="good"),
        AUDIT.format(name="good").replace("good.csv", "none.csv"),
        AUDIT.format(name="good").replace("hired", "hird"),
        AUDIT.format(name="good") + "alpha = 2",
        AUDIT.format(name="good") * 2,
    ],
)
def test_a_malformed_policy_ends_with_2_and_says_why(
    run: Run, policy: Callable[..., Path], text: str
) -> None:
    path = policy("good")
    path.write_text(text, encoding="utf-8")
    outcome = run("gate", path)
    assert (outcome.status, outcome.out) == (2, "")
    assert "hint:" in outcome.err
    assert "Traceback" not in outcome.err
    assert run("gate", path.parent / "none.toml").status == 2


def test_a_policy_may_begin_with_a_byte_order_mark(run: Run, policy: Callable[..., Path]) -> None:
    path = policy("good")
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert run("gate", path).status == 0


def test_an_audit_of_too_many_attributes_is_named(run: Run, policy: Callable[..., Path]) -> None:
    path = policy("good")
    pairs = AUDIT.format(name="good").replace("separation", "pairwise")
    pairs = pairs.replace("prediction", "score").replace('"sex"', '["sex", "hired"]')
    path.write_text(pairs, encoding="utf-8")
    outcome = run("gate", path)
    assert (outcome.status, "audit 'good'" in outcome.err) == (2, True)


def test_sarif_names_the_policy_from_the_folder_the_gate_runs_in(
    run: Run, policy: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, written = policy("bad"), tmp_path / "gate.sarif"
    for folder, place in (
        (tmp_path, "policy.toml"),
        (tmp_path.parent, f"{tmp_path.name}/policy.toml"),
    ):
        monkeypatch.chdir(folder)
        run("gate", full, "--sarif", written)
        (first, *_) = json.loads(written.read_text(encoding="utf-8"))["runs"][0]["results"]
        uri = first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == place


@pytest.mark.parametrize("twice", [["--html", "policy.toml"], ["--junit", "a", "--sarif", "./a"]])
def test_nothing_is_written_over_the_policy_or_twice(
    run: Run, policy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, twice: list[str]
) -> None:
    path = policy("good")
    before = path.read_bytes()
    monkeypatch.chdir(path.parent)
    outcome = run("gate", path, *twice)
    assert (outcome.status, "name the same file" in outcome.err) == (2, True)
    assert path.read_bytes() == before
    assert not Path("a").exists()


def test_hints_name_keys_as_the_policy_writes_them(run: Run, policy: Callable[..., Path]) -> None:
    path = policy("good")
    path.write_text(path.read_text(encoding="utf-8").replace('"hired"', '"sex"'), encoding="utf-8")
    outcome = run("gate", path)
    assert outcome.status == 2
    assert "--" not in outcome.err


@pytest.mark.long
def test_the_fixture_of_pytest_gives_the_same_verdict(
    policy: Callable[..., Path], tmp_path: Path
) -> None:
    policy("few").rename(tmp_path / "strict.toml")
    policy("few", head="undecided = 'allow'\n")
    (tmp_path / "test_it.py").write_text(
        "def test_strict(assert_parity):\n    assert_parity('strict.toml')\n"
        "def test_lax(assert_parity):\n    assert_parity('policy.toml')\n",
        encoding="utf-8",
    )
    words = [sys.executable, "-m", "pytest", "-rA", "-p", "comparity.plugin", "test_it.py"]
    # Whether or not the plugin is installed here, it is loaded once.
    surroundings = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    choices: dict[str, Any] = {"cwd": tmp_path, "env": surroundings, "text": True, "timeout": 300}
    done = subprocess.run(words, capture_output=True, check=False, **choices)
    assert done.returncode == 1
    assert "Gate strict: failed" in done.stdout
    assert "FAILED test_it.py::test_strict" in done.stdout
    assert "PASSED test_it.py::test_lax" in done.stdout


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000])
def test_numbers_and_brackets_without_end_are_no_toml(
    run: Run, policy: Callable[..., Path], value: str
) -> None:
    outcome = run("gate", policy("good", head=f"alpha = {value}\n"))
    assert outcome.status == 2
    assert "this is not TOML" in outcome.err


@pytest.mark.long
def test_broken_policies_are_read_or_refused(policy: Callable[..., Path]) -> None:
    path, refused = policy("few", head="alpha = 0.05\nmargin = 0.1\n"), 0
    text = path.read_text(encoding="utf-8")
    for mutant in toml_mutants(text, 1_000):
        path.write_bytes(mutant)
        try:
            check(path)
        except ComparityError:
            refused += 1
    assert 100 < refused < 1_000
