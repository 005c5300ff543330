import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comparity import fair_reweighing, reweighing
from tests.cli.test_hostile import HOSTILE, LONG, harmless

Run = Callable[..., Any]

OPTIONS = ("--label", "hired", "--sensitive", "sex")
DENSITY = ("--method", "fair-reweighing")


def people(path: Path, n: int = 200) -> pd.DataFrame:
    """Write people, with ids that only text keeps."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], n)
    frame = pd.DataFrame(
        {
            "id": [f"{i:07}" for i in range(n)],
            "sex": sex,
            "hired": (rng.random(n) < np.where(sex == "f", 0.3, 0.6)).astype(int),
            "age": rng.normal(40, 10, n).round(1),
            "note": ["NA", 'a "b", c', "é", "None"] * (n // 4),
        }
    )
    frame.to_csv(path, index=False)
    return frame


def test_the_file_is_written_again_with_a_weight_for_each_row(run: Run, tmp_path: Path) -> None:
    frame = people(tmp_path / "d.csv", 20_000)
    outcome = run("weights", tmp_path / "d.csv", *OPTIONS, "--output", tmp_path / "w.csv")
    assert outcome.status == 0
    with (tmp_path / "w.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == frame["id"].tolist()
    assert [row["note"] for row in rows] == frame["note"].tolist()
    expected = reweighing(frame["hired"], sensitive_features=frame["sex"])
    assert [float(row["weight"]) for row in rows] == pytest.approx(expected)


@pytest.mark.parametrize("ending", ["tsv", "parquet", "jsonl"])
def test_the_format_follows_from_the_name(run: Run, tmp_path: Path, ending: str) -> None:
    frame = people(tmp_path / "d.csv")
    output = tmp_path / f"it's.{ending}"
    choices = ("--method", "fair-balance", "--name", "w", "--output", output)
    assert run("weights", tmp_path / "d.csv", *OPTIONS, *choices).status == 0
    read = {
        "tsv": lambda path: pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False),
        "parquet": pd.read_parquet,
        "jsonl": lambda path: pd.read_json(path, lines=True, dtype=False),
    }
    found = read[ending](output)
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["w"].astype(float).sum() == pytest.approx(len(frame))


def test_numbers_are_weighed_by_density(run: Run, tmp_path: Path) -> None:
    frame = people(tmp_path / "d.csv")
    output = tmp_path / "w.csv"
    choices = ("--label", "age", "--sensitive", "sex", "--method", "fair-reweighing")
    outcome = run("weights", tmp_path / "d.csv", *choices, "--output", output, "--json")
    content = json.loads(outcome.out)
    expected = fair_reweighing(frame["age"], sensitive_features=frame["sex"])
    assert pd.read_csv(output)["weight"].to_numpy() == pytest.approx(expected)
    worth = expected.sum() ** 2 / (expected**2).sum()
    assert content["effective_rows"] == pytest.approx(worth)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--label", "hird", "--sensitive", "sex", "--output", "w.csv"), "did you mean 'hired'"),
        ((*OPTIONS, "--output", "w.xls"), ".xls"),
        ((*OPTIONS, "--output", "d.csv"), "another file"),
        ((*OPTIONS, "--output", "w.csv", "--name", "age"), "the column exists"),
        ((*OPTIONS, "--output", "w.csv", "--name", "Age"), "the column exists"),
        ((*OPTIONS, "--output", "none/w.csv"), "none"),
        ((*OPTIONS, "--output", "w.csv", "--radius", "2"), "method 'fair-reweighing'"),
        ((*OPTIONS, "--output", "w.csv", "--numeric", "sex"), "method 'fair-reweighing'"),
        ((*OPTIONS, "--output", "w.csv", *DENSITY, "--numeric", "age"), "numeric cannot be 'age'"),
        ((*OPTIONS,), "--output"),
    ],
)
def test_bad_input_is_named_with_status_2(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "d.csv")
    outcome = run("weights", "d.csv", *options)
    assert outcome.status == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_weights_are_listed_by_group_and_label_and_drawn_on_a_page(
    run: Run, tmp_path: Path
) -> None:
    """Labels 1, 0, 0 of group m and 0, 1, 1 of group f: n_a n_y / n_ay = 3 * 3 / 2 and 3 * 3."""
    write(tmp_path / "d.csv", [["1", "m"], ["0", "m"], ["0", "m"], ["0", "f"], *[["1", "f"]] * 2])
    output, page = tmp_path / "w.csv", tmp_path / "page.html"
    words = ("weights", tmp_path / "d.csv", *OPTIONS, "--output", output)
    outcome = run(*words, "--html", page, "--json")
    cells = [tuple(cell.values()) for cell in json.loads(outcome.out)["cells"]]
    expected = [("f", "0", 1, 1.5), ("f", "1", 2, 0.75), ("m", "0", 2, 0.75), ("m", "1", 1, 1.5)]
    assert cells == expected
    assert "reweighing" in page.read_text(encoding="utf-8")


def test_a_group_without_a_label_is_noted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("sex,hired\nf,1\nf,0\nm,0\n", encoding="utf-8")
    outcome = run("weights", tmp_path / "d.csv", *OPTIONS, "--output", tmp_path / "w.csv")
    assert outcome.status == 0
    assert "no row of 'm, 1'" in outcome.out


def write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["hired", "sex"], *rows])


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_hostile_names_are_shown_harmlessly_and_written_as_they_are(
    run: Run, tmp_path: Path, ending: str
) -> None:
    folder, column = tmp_path / "<b>\x1b[2J\u202e\U0001f600", "<script>w\x07"
    folder.mkdir()
    rows = [[f"{HOSTILE}{k % 2}", LONG if k % 3 else HOSTILE] for k in range(24)]
    write(folder / "\x1bd.csv", rows)
    output = folder / f"\u202eo.{ending}"
    words = ("weights", folder / "\x1bd.csv", *OPTIONS, "--name", column, "--output", output)
    shown = run(*words)
    assert shown.status == 0, shown.err
    assert harmless(shown.out)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    found = read.get(ending, lambda path: pd.read_json(path, lines=True))(output)
    # pandas reads a lone carriage return of a file of text as the end of a line.
    if ending != "csv":
        assert found["sex"].tolist() == [sex for _, sex in rows]
    assert found[column].sum() == pytest.approx(24)
    content = json.loads(run(*words, "--json").out)
    assert {cell["group"] for cell in content["cells"]} == {HOSTILE, LONG}
    assert content["column"] == column


@pytest.mark.parametrize(
    ("rows", "choices", "said"),
    [
        ([["1", "u"], ["0", "u"]], (), "at least two groups"),
        ([["1", "u"], ["0", "u"]], DENSITY, "at least two groups"),
        ([["1", "2"], ["0", "2"]], (*DENSITY, "--numeric", "sex"), "at least two groups"),
        ([["1", "u"], ["", "v"]], (), "column 'hired' of the items table has missing values"),
        ([["1", "u"], ["0", ""]], (), "data row 2"),
        ([["nan", "u"], ["0", "v"]], DENSITY, "finite"),
        ([["\x1b[2J", "u"], ["0", "v"]], DENSITY, r"'\x1b[2J'"),
        ([["1e300", "u"], ["0", "v"]], DENSITY, "at most 1e+30"),
        ([["1", "inf"], ["0", "2"]], (*DENSITY, "--numeric", "sex"), "finite"),
        ([], (), "empty"),
    ],
)
def test_columns_that_cannot_be_weighed_are_named(
    run: Run, tmp_path: Path, rows: list[list[str]], choices: tuple[str, ...], said: str
) -> None:
    write(tmp_path / "d.csv", rows)
    output = tmp_path / "w.csv"
    outcome = run("weights", tmp_path / "d.csv", *OPTIONS, *choices, "--output", output)
    assert outcome.status == 2
    assert said in outcome.err
    assert harmless(outcome.err)
    assert not output.exists()


@pytest.mark.parametrize("choices", [(), DENSITY])
def test_one_class_leaves_nothing_to_balance_which_is_said(
    run: Run, tmp_path: Path, choices: tuple[str, ...]
) -> None:
    write(tmp_path / "d.csv", [["1", "u"], ["1", "v"], ["1", "u"]])
    words = ("weights", tmp_path / "d.csv", *OPTIONS, *choices, "--output", tmp_path / "w.csv")
    outcome = run(*words)
    assert outcome.status == 0
    assert "Every value of 'hired' is '1': there is nothing to balance." in outcome.out
    assert pd.read_csv(tmp_path / "w.csv")["weight"].tolist() == pytest.approx([1, 1, 1])
