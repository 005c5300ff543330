import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.results.result import VIOLATED

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write 300 items whose model takes a whole deviation off group f, and 3,000 judgments."""
    rng = np.random.default_rng(11)
    quality, woman = rng.normal(size=300), rng.random(300) < 0.5
    score = quality - woman + 0.3 * rng.normal(size=300)
    folder = tmp_path_factory.mktemp("tables")
    items = ["item,sex,model,quality"]
    items += [f"{i:03d},{'f' if woman[i] else 'm'},{score[i]},{quality[i]}" for i in range(300)]
    rows = ["better,worse,judge"]
    for judgment in range(3000):
        first, second = rng.choice(300, 2, replace=False)
        better, worse = (first, second) if quality[first] > quality[second] else (second, first)
        rows.append(f"{better:03d},{worse:03d},j{judgment % 20}")
    files = {"items": folder / "items.csv", "judgments": folder / "judgments.csv"}
    files["items"].write_text("\n".join(items) + "\n", encoding="utf-8")
    files["judgments"].write_text("\n".join(rows) + "\n", encoding="utf-8")
    return files


def words(tables: dict[str, Path]) -> list[Any]:
    return [
        *("comparative", tables["judgments"], "--items", tables["items"]),
        *("--score", "model", "--sensitive", "sex"),
    ]


def test_a_biased_model_is_found_and_the_design_named(run: Run, tables: dict[str, Path]) -> None:
    outcome = run(*words(tables), "--evaluator", "judge")
    assert outcome.status == 1
    assert outcome.out.startswith(f"Comparative separation: {VIOLATED}")
    assert "shared items and evaluators" in " ".join(outcome.out.split())
    assert "better item" in outcome.out


def test_json_has_what_an_audit_must_hold(run: Run, tables: dict[str, Path]) -> None:
    content = json.loads(run(*words(tables), "--evaluator", "judge", "--json").out)
    assert {"finding", "design", "alpha", "margin", "groups", "tests", "ties"} <= content.keys()
    wanted = {
        "null",
        "gap",
        "standard_error",
        "test_interval",
        "level",
        "p_value",
        "p_adjusted",
        "n",
    }
    assert all(wanted <= test.keys() for test in content["tests"])
    assert content["n_evaluators"] == 20
    assert "provenance" in content


def test_options_of_comparisons_reach_the_audit(run: Run, tables: dict[str, Path]) -> None:
    disjoint = json.loads(run(*words(tables), "--method", "disjoint", "--json").out)
    assert "disjoint" in disjoint["design"]
    half = json.loads(run(*words(tables), "--score-ties", "half", "--json").out)
    assert half["ties"]["scored_as"] == "half"


def test_a_reference_standardises_agreement_and_both_are_shown(
    run: Run, tables: dict[str, Path]
) -> None:
    outcome = run(*words(tables), "--reference", "quality")
    assert outcome.status == 1
    assert outcome.out.startswith(f"Comparative separation (standardised): {VIOLATED}")
    assert "Raw agreement, and standardised to one distribution of the reference" in outcome.out
    (findings,) = [line for line in outcome.out.splitlines() if line.startswith("finding ")]
    assert findings.split()[1:] == [VIOLATED, VIOLATED]
    assert "Standardised agreement with the judges" in outcome.out
    assert "effective items of f" in outcome.out
    content = json.loads(run(*words(tables), "--reference", "quality", "--json").out)
    assert content["raw"]["finding"] == VIOLATED
    assert content["effective_sizes"].keys() == {"f", "m"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--score", "nothing"), "nothing"),
        (("--reference", "nothing"), "nothing"),
        (("--reference", "sex"), "sex"),
        (("--reference", "quality", "--method", "disjoint"), "weights"),
        (("--design", "odd"), "--design"),
        (("--layout", "odd"), "odd"),
        (("--evaluator", "nobody"), "nobody"),
    ],
)
def test_bad_input_is_named_with_status_2(
    run: Run, tables: dict[str, Path], change: tuple[str, str], said: str
) -> None:
    outcome = run(*words(tables), *change)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err


def test_a_hint_says_which_flag_to_leave_out(run: Run, tables: dict[str, Path]) -> None:
    outcome = run(*words(tables), "--reference", "quality", "--continuous")
    assert outcome.status == 2
    assert "choose no --continuous or no reference" in outcome.err


def test_nothing_but_ties_leaves_the_question_open(
    run: Run, tables: dict[str, Path], tmp_path: Path
) -> None:
    ties = tmp_path / "ties.csv"
    rows = ["left,right,winner", *(f"{i:03d},{i + 1:03d},tie" for i in range(50))]
    ties.write_text("\n".join(rows) + "\n", encoding="utf-8")
    named = ("--items", tables["items"], "--score", "model", "--sensitive", "sex")
    outcome = run("comparative", ties, *named, "--reference", "quality")
    assert outcome.status == 3
    assert "Nothing could be tested" in outcome.out


def test_a_hint_on_an_unknown_layout_names_only_options_there_are(
    run: Run, tables: dict[str, Path], tmp_path: Path
) -> None:
    odd = tmp_path / "odd.csv"
    odd.write_text("A,B,won\n001,002,A\n", encoding="utf-8")
    _, _, *others = words(tables)
    outcome = run("comparative", odd, *others)
    known = run("comparative", "--help").out
    named = re.findall(r"(?:--)?\b[a-z]+\b=|--[a-z]+", outcome.err.rpartition("hint:")[2])
    assert named == ["--left", "--right", "--winner", "--better", "--worse"]
    assert all(one in known for one in named)
    assert "rename them" in outcome.err
