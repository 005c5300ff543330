import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comparity.results.result import UNDECIDED, VIOLATED, WITHIN

Run = Callable[..., Any]
TWO = ("--first", "hr_0", "--second", "hr_1", "--sensitive", "sex")


def ratings(path: Path, n: int = 400, lean: float = 0.0, raters: int = 2) -> Path:
    """Write ratings; the first rater adds `lean` for men."""
    rng = np.random.default_rng(2)
    merit = rng.normal(5, 1, n)
    columns = [np.round(merit + rng.normal(0, 1, n), 1) for _ in range(raters)]
    sex = ["f", "m"] * (n // 2)
    lines = [",".join([*(f"hr_{k}" for k in range(raters)), "sex", "age", "word"])]
    for row in range(n):
        values = [column[row] for column in columns]
        values[0] = round(values[0] + lean * (sex[row] == "m"), 1)
        word = "yes" if values[0] > 5 else "no"
        lines.append(",".join([*map(str, values), sex[row], str(20 + row % 50), word]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("n", "lean", "status", "finding"),
    [(6000, 0.0, 0, WITHIN), (400, 1.5, 1, VIOLATED), (40, 0.0, 3, UNDECIDED)],
)
def test_the_exit_status_is_the_finding(
    run: Run, tmp_path: Path, n: int, lean: float, status: int, finding: str
) -> None:
    outcome = run("relative", ratings(tmp_path / "r.csv", n, lean), *TWO)
    assert outcome.status == status
    assert outcome.out.startswith(f"Differential parity: {finding}")
    assert "biased decision maker proves nothing" in outcome.out


def test_json_holds_the_measures_and_the_file(run: Run, tmp_path: Path) -> None:
    file, page = ratings(tmp_path / "r.csv", lean=1.5), tmp_path / "page.html"
    outcome = run("relative", file, *TWO, "--json", "--html", page, "--seed", 5)
    content = json.loads(outcome.out)
    (one,) = content["contrasts"]
    assert one["direction"] == "Compared with hr_1, hr_0 favours sex = m over sex = f"
    assert one["dpt"] > 5
    assert content["provenance"]["seed"] == 5
    assert content["provenance"]["data"]["files"][0]["name"] == "r.csv"
    assert "<svg" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--html", "--plot"])
def test_data_are_not_written_over(run: Run, tmp_path: Path, option: str) -> None:
    data, link = ratings(tmp_path / "r.csv", n=40), tmp_path / "r.png"
    before = data.read_bytes()
    link.symlink_to(data)
    outcome = run("relative", data, *TWO, option, link)
    assert (outcome.status, "name the same file" in outcome.err) == (2, True)
    assert data.read_bytes() == before


@pytest.mark.parametrize("raters", [4, 14])
def test_more_than_two_columns_make_a_matrix_and_a_heat_map(
    run: Run, tmp_path: Path, raters: int
) -> None:
    file = ratings(tmp_path / "r.csv", lean=1.5, raters=raters)
    page, picture = tmp_path / "page.html", tmp_path / "raters.png"
    outcome = run(
        *("relative", file, "--raters", "hr_*", "--sensitive", "sex"),
        *("--html", page, "--plot", picture),
    )
    assert outcome.status == 1
    assert f"{raters} raters, {raters * (raters - 1) // 2} tests" in outcome.out
    source = page.read_text(encoding="utf-8")
    # Few raters have a table of numbers as their heat map, many have tiles.
    drawn = source.count("background: #") if raters == 4 else source.count("<title>hr_")
    assert drawn == raters**2
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {picture}" in outcome.err


def test_first_and_second_may_name_several(run: Run, tmp_path: Path) -> None:
    file = ratings(tmp_path / "r.csv", raters=3)
    words = ("--first", "hr_0,hr_1", "--second", "hr_2", "--sensitive", "sex", "--json")
    assert json.loads(run("relative", file, *words).out)["raters"] == ["hr_0", "hr_1", "hr_2"]


def test_choices_reach_the_audit(run: Run, tmp_path: Path) -> None:
    file = ratings(tmp_path / "r.csv")
    choices = ("--alpha", 0.01, "--margin", 0.3, "--rule", "paper", "--reference", "m")
    content = json.loads(run("relative", file, *TWO, *choices, "--permutations", 0, "--json").out)
    assert (content["alpha"], content["margin"], content["rule"]) == (0.01, 0.3, "paper")
    assert content["distribution"] == []
    assert content["contrasts"][0]["reference"] == "m"
    words = ("--first", "hr_0", "--second", "hr_1", "--sensitive", "age", "--continuous")
    content = json.loads(run("relative", file, *words, "--permutations", 19, "--json").out)
    assert content["distribution"][0]["name"] == "distance correlation"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sensitive", "sex"), "--first and --second"),
        (("--first", "hr_0", "--sensitive", "sex"), "belong together"),
        (("--first", "hr_0", "--second", "hr_0", "--sensitive", "sex"), "same column"),
        (("--first", "hr_0", "--second", "hr_9", "--sensitive", "sex"), "hr_9"),
        (("--first", "hr_0", "--second", "word", "--sensitive", "sex"), "--order"),
        ((*TWO[:4], "--sensitive", "hr_1"), "decisions are no groups"),
        ((*TWO, "--reference", "x"), "'x'"),
        ((*TWO, "--margin", "2"), "--margin"),
        (("--raters", "hr_*,word", "--labels", "--sensitive", "sex"), "two decision makers"),
        (("--raters", "q*", "--sensitive", "sex"), "q*"),
    ],
)
def test_bad_input_is_named_with_status_2(
    run: Run, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    outcome = run("relative", ratings(tmp_path / "r.csv", 40), *words)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_words_are_labels_or_ordered(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "w.csv"
    rows = ["x,y,sex", *(["yes,no,f", "no,no,m", "yes,yes,f", "no,yes,m"] * 30)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ("--first", "x", "--second", "y", "--sensitive", "sex", "--json")
    by_label = json.loads(run("relative", file, *words, "--labels").out)
    ordered = json.loads(run("relative", file, *words, "--order", "no,yes").out)
    assert by_label["contrasts"][0]["dpd"] == ordered["contrasts"][0]["dpd"]


def test_hostile_names_neither_steer_the_terminal_nor_break_the_page(
    run: Run, tmp_path: Path
) -> None:
    page, file = tmp_path / "page.html", tmp_path / "h.csv"
    rows = ["a\x1b[2J,<script>,$c$,sex", *(["1,2,3,f", "2,1,1,m", "3,3,2,f"] * 30)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    raters = ("--raters", "a*,<script>,$c$", "--sensitive", "sex")
    outcome = run("relative", file, *raters, "--html", page, "--plot", tmp_path / "h.png")
    assert outcome.status in (0, 1, 3)
    assert "\x1b" not in outcome.out + outcome.err
    assert "<script" not in page.read_text(encoding="utf-8")


def test_a_number_crosses_a_bridge(run: Run, tmp_path: Path) -> None:
    rng, files = np.random.default_rng(4), []
    for name, lean in (("old", 0.04), ("new", 0.0)):
        age, grade = rng.integers(20, 60, 400), rng.normal(size=400)
        said = grade + lean * age + rng.normal(0, 0.5, 400)
        rows = [f"{a},{g:.3f},{s:.3f}" for a, g, s in zip(age, grade, said, strict=True)]
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join([f"age,grade,{name}", *rows]) + "\n", encoding="utf-8")
    across = ("--on", files[1], "--features", "grade", "--first", "old", "--second", "new")
    asked = ("relative", files[0], *across, "--sensitive", "age", "--continuous")
    outcome = run(*asked)
    assert outcome.status == 1
    assert "old favours larger age over smaller age" in " ".join(outcome.out.split())
    refused = run(
        "relative", files[0], *across, "--sensitive", "age", "--continuous", "--bridge", "unbiased"
    )
    assert refused.status == 2
