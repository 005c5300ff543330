import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comparity import fair_reweighing, reweighing

Run = Callable[..., Any]

OPTIONS = ("--label", "hired", "--sensitive", "sex")


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
        ((*OPTIONS, "--output", "none/w.csv"), "none"),
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


def test_a_group_without_a_label_is_noted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("sex,hired\nf,1\nf,0\nm,0\n", encoding="utf-8")
    outcome = run("weights", tmp_path / "d.csv", *OPTIONS, "--output", tmp_path / "w.csv")
    assert outcome.status == 0
    assert "no row of 'm, 1'" in outcome.out
