import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

Run = Callable[..., Any]

OPTIONS = ("--label", "hired", "--prediction", "model", "--sensitive", "sex")


def decisions(path: Path, rates: dict[str, float], each: int) -> Path:
    """Write decisions: in each group and label, a share `rates[group]` predicted right."""
    rows = ["sex,hired,model"]
    for group, rate in rates.items():
        for label in (0, 1):
            right = round(rate * each)
            rows += [f"{group},{label},{label}"] * right
            rows += [f"{group},{label},{1 - label}"] * (each - right)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rates", "each", "status", "finding"),
    [
        ({"f": 0.8, "m": 0.8}, 4000, 0, WITHIN),
        ({"f": 0.6, "m": 0.8}, 400, 1, VIOLATED),
        ({"f": 0.8, "m": 0.8}, 40, 3, UNDECIDED),
    ],
)
def test_the_exit_status_is_the_finding(
    run: Run, tmp_path: Path, rates: dict[str, float], each: int, status: int, finding: str
) -> None:
    outcome = run("separation", decisions(tmp_path / "d.csv", rates, each), *OPTIONS)
    assert outcome.status == status
    assert outcome.out.startswith(f"Separation: {finding}")


def test_json_is_all_there_is_on_standard_output(run: Run, tmp_path: Path) -> None:
    file = decisions(tmp_path / "d.csv", {"f": 0.6, "m": 0.8}, 400)
    page = tmp_path / "page.html"
    outcome = run("separation", file, *OPTIONS, "--json", "--html", page, "--seed", 5)
    content = json.loads(outcome.out)
    assert content["finding"] == VIOLATED
    assert content["tests"][0]["gap"] == pytest.approx(-0.2)
    assert content["provenance"]["seed"] == 5
    assert "<svg" in page.read_text(encoding="utf-8")


def test_alpha_margin_rule_and_looks_reach_the_audit(run: Run, tmp_path: Path) -> None:
    file = decisions(tmp_path / "d.csv", {"f": 0.6, "m": 0.8}, 400)
    choices = ("--alpha", 0.01, "--margin", 0.1, "--looks", "2/4")
    content = json.loads(run("separation", file, *OPTIONS, *choices, "--json").out)
    assert (content["alpha"], content["margin"], content["looks"]) == (0.01, 0.1, [2, 4])
    content = json.loads(run("separation", file, *OPTIONS, "--rule", "paper", "--json").out)
    assert content["rule"] == "paper"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--label", "hird", "--prediction", "model", "--sensitive", "sex"), "hird"),
        ((*OPTIONS, "--alpha", "2"), "--alpha"),
        ((*OPTIONS, "--looks", "5/4"), "5/4"),
        ((*OPTIONS, "--looks", "1/1000000"), "at most 100 can be planned"),
        ((*OPTIONS[:4], "--sensitive", "sex,"), "empty name"),
        (OPTIONS[:4], "--sensitive"),
    ],
)
def test_bad_input_is_named_on_standard_error_with_status_2(
    run: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    file = decisions(tmp_path / "d.csv", {"f": 0.6, "m": 0.8}, 40)
    outcome = run("separation", file, *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_a_missing_file_and_an_unwritable_page_are_bad_input(run: Run, tmp_path: Path) -> None:
    assert run("separation", tmp_path / "none.csv", *OPTIONS).status == 2
    file = decisions(tmp_path / "d.csv", {"f": 0.6, "m": 0.8}, 40)
    outcome = run("separation", file, *OPTIONS, "--html", tmp_path / "no" / "page.html")
    assert outcome.status == 2
    assert "cannot write" in outcome.err


def test_hostile_names_neither_steer_the_terminal_nor_break_the_page(
    run: Run, tmp_path: Path
) -> None:
    names = {"[red]f\x1b[2J": 0.6, "<script>": 0.8}
    page = tmp_path / "page.html"
    file = decisions(tmp_path / "d.csv", names, 100)
    outcome = run("separation", file, *OPTIONS, "--html", page)
    assert outcome.status == 1
    assert "\x1b" not in outcome.out + outcome.err
    assert "[red]f\\x1b[2J" in outcome.out
    assert "<script" not in page.read_text(encoding="utf-8")


def test_a_number_for_a_group_is_sent_to_commands_that_take_it(run: Run, tmp_path: Path) -> None:
    ages = {str(age): 0.8 for age in range(18, 70)}
    outcome = run("separation", decisions(tmp_path / "d.csv", ages, 5), *OPTIONS)
    assert outcome.status == 2
    said = " ".join(outcome.err.split())
    named = re.search(r"--continuous of (\w+), (\w+), (\w+), (\w+) and (\w+)\)", said)
    assert named is not None
    assert named.groups()[0] == "separation"
    assert all("--continuous" in run(command, "--help").out for command in named.groups())


@pytest.mark.parametrize(("name", "status"), [("a\nb", 2), ('"a\nb"', 3)])
def test_a_name_with_a_line_break_is_read_in_quotes_alone(
    run: Run, tmp_path: Path, name: str, status: int
) -> None:
    file = tmp_path / "decisions.csv"
    file.write_text('"a\nb",hired,model\nf,1,1\nm,0,1\nf,0,0\nm,1,0\n', encoding="utf-8")
    columns = ("--label", "hired", "--prediction", "model", "--sensitive", name)
    outcome = run("separation", file, *columns)
    assert outcome.status == status
    assert ("double quotes" in outcome.err) == (status == 2)
