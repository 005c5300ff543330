from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]

OPTIONS = ("--label", "hired", "--prediction", "model", "--sensitive", "sex", "--privileged", "m")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    rows = ["sex,hired,model,other,skill"]
    for _ in range(500):
        sex, skill = rng.choice(["f", "m"]), rng.normal()
        hired = int(skill + rng.normal() > 0)
        rows.append(f"{sex},{hired},{int(skill + 0.5 * (sex == 'm') > 0)},{hired},{skill:.3f}")
    path = tmp_path / "decisions.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_metrics_are_shown_by_cluster_and_judge_nothing(run: Run, file: Path) -> None:
    outcome = run("metrics", file, *OPTIONS)
    assert outcome.status == 0
    assert outcome.out.startswith("Metrics: ")
    for title in ("Group fairness", "Misclassification", "Rates of all groups"):
        assert title in outcome.out
    assert "To report" not in outcome.out


def test_the_selected_few_are_on_top(run: Run, file: Path) -> None:
    out = run("metrics", file, *OPTIONS, "--select").out
    assert out.index("To report, for group, individual") < out.index("Misclassification\n")


def test_json_has_metrics_selection_and_comparison(run: Run, file: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"
    more = ("--features", "skill", "--compare", "other", "--kinds", "false negatives", "--seed", 3)
    outcome = run("metrics", file, *OPTIONS, *more, "--json", "--html", page, "--plot", picture)
    content = json.loads(outcome.out)
    assert len(content["metrics"]) == 30
    assert content["selection"]["kinds"] == ["false negatives"]
    assert content["comparison"]["counts"]["towards"] > 10
    assert content["provenance"]["seed"] == 3
    assert content["provenance"]["data"]["files"][0]["name"] == "decisions.csv"
    assert "average odds difference" in page.read_text(encoding="utf-8")
    assert picture.stat().st_size


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*OPTIONS[:6], "--privileged", "male"), "male"),
        ((*OPTIONS[:2], "--prediction", "skill", *OPTIONS[4:]), "--threshold"),
        ((*OPTIONS[:6], "--privileged", "m,f"), "with --privileged"),
        ((*OPTIONS, "--features", "sex"), "column 'sex' of the decisions table must hold numbers"),
        ((*OPTIONS, "--compare", "skill"), "'skill'"),
        ((*OPTIONS, "--compare", "model"), "another column than the prediction"),
        ((*OPTIONS, "--compare", "hired"), "another column than the label"),
        ((*OPTIONS[:4], "--sensitive", "hired", "--privileged", "1"), "decisions are no groups"),
        ((*OPTIONS, "--kinds", "gruop"), "gruop"),
        (OPTIONS[:6], "--privileged"),
    ],
)
def test_bad_input_is_named_on_standard_error_with_status_2(
    run: Run, file: Path, options: tuple[str, ...], said: str
) -> None:
    outcome = run("metrics", file, *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_hostile_names_neither_steer_the_terminal_nor_break_the_page(
    run: Run, tmp_path: Path
) -> None:
    rows = ["sex,hired,model", *["[red]f\x1b[2J,1,1", "<script>,0,1", "[red]f\x1b[2J,0,0"] * 40]
    rows += ["<script>,1,0"] * 40
    file, page = tmp_path / "d.csv", tmp_path / "page.html"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    outcome = run("metrics", file, *OPTIONS[:6], "--privileged", "<script>", "--html", page)
    assert outcome.status == 0
    assert "\x1b" not in outcome.out + outcome.err
    assert "[red]f\\x1b[2J" in outcome.out
    assert "<script" not in page.read_text(encoding="utf-8")


def test_errors_of_numbers_and_metrics_of_classes_are_reached(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = [f"{i % 3},{(i * i) % 3},{'fm'[i % 2]}" for i in range(120)]
    path.write_text("\n".join(["y,f,sex", *rows]))
    words = ["metrics", path, "--label", "y", "--prediction", "f", "--sensitive", "sex"]
    numbers = run(*words, "--regression", "--json")
    assert numbers.status == 0
    errors = [(i * i) % 3 - i % 3 for i in range(0, 120, 2)]
    assert json.loads(numbers.out)["errors"][0]["value"] == pytest.approx(np.mean(errors))
    classes = run(*words, "--privileged", "m", "--classes", "--json")
    assert json.loads(classes.out)["classes"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "--privileged"),
        (("--classes", "--regression"), "cannot be combined"),
        (("--study", "--privileged", "m"), "--study needs --features"),
        (("--repeats", "2", "--privileged", "m"), "--repeats belongs to --study"),
        (("--regression", "--privileged", "m"), "--privileged cannot be used with --regression"),
        (("--classes", "--privileged", "m", "--select"), "--select cannot be used with --classes"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, tmp_path: Path, more: tuple[str, ...], said: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("y,f,sex\n1,1,f\n0,1,m\n")
    words = ["metrics", path, "--label", "y", "--prediction", "f", "--sensitive", "sex"]
    outcome = run(*words, *more)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err


def test_the_study_runs_on_a_file(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    skill, sex = rng.normal(size=300).round(3), rng.choice(["f", "m"], 300)
    good = (skill + rng.normal(size=300) > 0).astype(int)
    path = tmp_path / "people.csv"
    rows = map("{},{},{}".format, skill, sex, good)
    path.write_text("\n".join(["skill,sex,good", *rows]))
    words = ["metrics", path, "--label", "good", "--sensitive", "sex", "--privileged", "m"]
    words += ["--features", "skill", "--study", "--learners", "logistic", "--repeats", 3]
    content = json.loads(run(*words, "--json").out)
    assert len(content["runs"]) == 15
    assert [one["metric"] for one in content["redundancy"]] == ["F1"]
    refused = run(*words, "--prediction", "good")
    assert refused.status == 2
    assert "--prediction cannot be used with --study" in refused.err
