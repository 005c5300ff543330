from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity import biased_bridge
from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

Run = Callable[..., Any]
COLUMNS = ("--first", "old", "--second", "new", "--sensitive", "sex")


def years(
    folder: Path, n: int = 500, lean: float = 0.0, noise: float = 0.7
) -> tuple[Path, Path, dict[str, Any]]:
    """Write two years of marks; the old committee adds `lean` for men."""
    rng = np.random.default_rng(5)
    paths, marks, sexes, grades = [], [], [], []
    for name in ("old", "new"):
        sex, grade = np.array(["f", "m"])[np.arange(n) % 2], rng.normal(size=n).round(3)
        mark = grade + rng.normal(0, noise, n) + lean * (sex == "m") * (name == "old")
        lines = [f"{name},sex,grade,id", *map("{},{},{},{}".format, mark, sex, grade, range(n))]
        path = folder / f"{name}.csv"
        path.write_text("\n".join(lines), encoding="utf-8")
        paths.append(path)
        marks.append(mark)
        sexes.append(sex)
        grades.append(grade)
    known = {"first": marks[0], "second": marks[1], "sensitive_features": tuple(sexes)}
    return paths[0], paths[1], {**known, "features": tuple(grades)}


@pytest.mark.parametrize(
    ("n", "lean", "status", "finding"),
    [(6000, 0.0, 0, WITHIN), (500, 1.0, 1, VIOLATED), (60, 0.0, 3, UNDECIDED)],
)
def test_the_exit_status_is_the_finding(
    run: Run, tmp_path: Path, n: int, lean: float, status: int, finding: str
) -> None:
    old, new, _ = years(tmp_path, n, lean)
    outcome = run("relative", old, "--on", new, "--features", "grade", *COLUMNS)
    assert outcome.status == status
    assert outcome.out.startswith(f"Differential parity: {finding}")
    assert "How good the bridge is" in outcome.out


def test_json_holds_what_the_function_gives(run: Run, tmp_path: Path) -> None:
    old, new, known = years(tmp_path, lean=0.3)
    words = ("relative", old, "--on", new, "--features", "grade", *COLUMNS)
    content = json.loads(run(*words, "--json", "--folds", 3, "--seed", 4).out)
    expected = biased_bridge(**known, folds=3, seed=4)
    assert content["contrasts"][0]["dpt"] == pytest.approx(expected.dpt)
    assert content["errors_from"] == "cross-fitted"
    assert [file["name"] for file in content["provenance"]["data"]["files"]] == [
        "old.csv",
        "new.csv",
    ]


def test_subjects_in_both_files_are_compared_directly(run: Run, tmp_path: Path) -> None:
    old, new, _ = years(tmp_path)
    words = ("relative", old, "--on", new, "--features", "grade", "--subject", "id", *COLUMNS)
    content = json.loads(run(*words, "--json").out)
    assert content["diagnosis"]["n_shared"] == 500


def test_predictions_already_made_need_no_features(run: Run, tmp_path: Path) -> None:
    old, new, _ = years(tmp_path)
    words = ("relative", old, "--on", new, "--prediction", "grade", *COLUMNS)
    assert json.loads(run(*words, "--json").out)["errors_from"] == "given predictions"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--features", "grade"), "belongs to a bridge"),
        (("--on", "new.csv"), "needs --features"),
        (("--on", "new.csv", "--features", "grade", "--continuous"), "must hold numbers"),
        (("--on", "new.csv", "--features", "height"), "'height' does not occur"),
        (
            (
                "--on",
                "new.csv",
                "--features",
                "grade",
                "--bridge",
                "unbiased",
                "--errors",
                "training",
            ),
            "cannot be used with the unbiased bridge",
        ),
    ],
)
def test_what_does_not_go_together_is_bad_input(
    run: Run, tmp_path: Path, words: Sequence[str], told: str
) -> None:
    old, new, _ = years(tmp_path, 60)
    named = [str(new) if word == "new.csv" else word for word in words]
    outcome = run("relative", old, *named, *COLUMNS)
    assert outcome.status == 2
    assert told in outcome.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--prediction", "grade", "--features", "grade"), "not both"),
        (
            ("--prediction", "grade", "--regressor", "forest"),
            "--regressor is about fitting a model",
        ),
        (("--prediction", "grade", "--held-out", "0.5"), "--held-out is about fitting a model"),
        (("--features", "grade", "--held-out", "0.5"), "belongs to --errors held-out"),
        (("--features", "grade", "--errors", "held-out", "--folds", "3"), "--errors cross-fitted"),
        (("--features", "grade", "--bridge", "unbiased", "--folds", "3"), "cannot be used with"),
    ],
)
def test_options_without_effect_are_bad_input(
    run: Run, tmp_path: Path, words: Sequence[str], told: str
) -> None:
    old, new, _ = years(tmp_path, 60)
    outcome = run("relative", old, "--on", new, *words, *COLUMNS)
    assert outcome.status == 2
    assert told in " ".join(outcome.err.split())


def test_a_missing_column_is_looked_for_in_the_right_file(run: Run, tmp_path: Path) -> None:
    old, new, _ = years(tmp_path, 60)
    named = ("--features", "grade", "--first", "old", "--second", "mark", "--sensitive", "sex")
    outcome = run("relative", old, "--on", new, *named)
    assert outcome.status == 2
    assert "'mark' does not occur in the second's table" in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--features", "grade,grade"], "twice"),
        (["--features", "grade", "--permutations", "10"], "--permutations"),
    ],
)
def test_what_would_be_ignored_is_bad_input(
    run: Run, tmp_path: Path, words: list[str], said: str
) -> None:
    old, new, _ = years(tmp_path)
    outcome = run("relative", old, "--on", new, *words, *COLUMNS)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err


def test_a_file_is_no_bridge_to_itself(run: Run, tmp_path: Path) -> None:
    old, _, _ = years(tmp_path)
    again = tmp_path / "again.csv"
    again.write_bytes(old.read_bytes())
    columns = ("--first", "old", "--second", "old", "--sensitive", "sex", "--features", "grade")
    outcome = run("relative", old, "--on", again, *columns)
    assert (outcome.status, outcome.out) == (2, "")
    assert "the same subjects" in outcome.err


def test_more_groups_and_more_raters_are_bridged_as_one_family(run: Run, tmp_path: Path) -> None:
    rng, paths = np.random.default_rng(6), []
    for name, lean in (("old", 1.0), ("new", 0.0)):
        race, grade = rng.choice(list("abc"), 400), rng.normal(size=400).round(3)
        marks = (grade + lean * (race == "b") + rng.normal(0, 0.5, 400)).round(2)
        others = (grade + rng.normal(0, 0.5, 400)).round(2)
        rows = map("{},{},{},{}".format, marks, others, race, grade)
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_text("\n".join(["ann,bob,race,grade", *rows]), encoding="utf-8")
    old, new = paths
    words = ("relative", old, "--on", new, "--features", "grade", "--sensitive", "race")
    outcome = run(*words, "--first", "ann", "--second", "ann", "--json")
    assert outcome.status == 1
    groups = [(one["group"], one["reference"]) for one in json.loads(outcome.out)["contrasts"]]
    assert groups == [("b", "a"), ("c", "a"), ("c", "b")]
    raters = json.loads(run(*words, "--raters", "ann,bob", "--json").out)
    assert [one["second"] for one in raters["contrasts"]] == ["bob"] * 3
    refused = run(*words, "--raters", "ann,bob", "--first", "ann")
    assert refused.status == 2
    assert "two --raters, or --first and --second" in refused.err
