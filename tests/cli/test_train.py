"""The command that trains: its file, its audits, its exit status."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comparity import pairwise_accuracy
from comparity.mitigation.model_files import read_model
from tests.mitigation.simulated import ranking

Run = Callable[..., Any]

OPTIONS = ("--features", "a,b", "--label", "rel", "--sensitive", "sex", "--steps", "60")


def items(path: Path, queries: int, seed: int = 0) -> pd.DataFrame:
    X, y, group, query = ranking(queries, np.random.default_rng(seed))
    sex = np.where(group == 0, "m", "f")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "rel": y, "sex": sex, "q": query})
    frame["age"] = X[:, 0].round(2)
    frame.to_csv(path, index=False)
    return frame


def test_the_status_is_that_of_an_audit_of_the_file_written(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 500)
    other = items(tmp_path / "new.csv", 500, seed=1)
    output = tmp_path / "m.json"
    choices = ("--query", "q", "--audit-on", tmp_path / "new.csv", "--seed", "3", "--json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--output", output)
    content = json.loads(outcome.out)
    audited = pairwise_accuracy(
        other["rel"],
        read_model(output).scores(other),
        sensitive_features=other["sex"],
        queries=other["q"],
        notions=("cross-group",),
    )
    assert outcome.status == audited.exit_status
    assert content["finding"] == audited.finding
    assert np.array(content["after"]["matrix"]) == pytest.approx(audited.matrix)
    gaps = [abs(content[when]["tests"][0]["gap"]) for when in ("before", "after")]
    assert gaps[1] < gaps[0] / 2
    assert content["rows"] == {"trained": 5500, "audited": 5500}


def test_rows_audited_are_not_trained_on_and_the_seed_repeats_all(run: Run, tmp_path: Path) -> None:
    items(tmp_path / "d.csv", 60)
    for name in ("one.json", "two.json"):
        choices = ("--held-out", "0.4", "--seed", "5", "--output", tmp_path / name)
        outcome = run("train", tmp_path / "d.csv", *OPTIONS, *choices, "--json")
        assert outcome.status in (0, 1, 3)
    rows = json.loads(outcome.out)["rows"]
    assert rows["trained"] + rows["audited"] == 660
    assert rows["audited"] == pytest.approx(0.4 * 660, abs=1)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize(
    "choices",
    [
        ("--task", "regression", "--goal", "all cells", "--slack", "0.1"),
        ("--sensitive", "age", "--continuous"),
        ("--form", "robust", "--goal", "marginal"),
    ],
)
def test_other_tasks_and_goals_end_with_a_finding(
    run: Run, tmp_path: Path, choices: tuple[str, ...]
) -> None:
    items(tmp_path / "d.csv", 40)
    page = tmp_path / "p.html"
    extra = (*choices, "--seed", "1", "--html", page, "--output", tmp_path / "m.json")
    outcome = run("train", tmp_path / "d.csv", *OPTIONS, *extra)
    assert outcome.status in (0, 1, 3)
    assert "Coefficients" in outcome.out
    assert "Accuracy on rows that training did not see" in page.read_text(encoding="utf-8")
    model = read_model(tmp_path / "m.json")
    assert sum(share for _, _, share in model.members) == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--features", "a,bb", "--output", "m.json"), "did you mean 'b'"),
        (("--features", "a,sex", "--output", "m.json"), "'sex'"),
        (("--features", "a,rel", "--output", "m.json"), "other than the label"),
        (("--features", "a,a", "--output", "m.json"), "each column once"),
        (("--features", "a", "--goal", "equity", "--output", "m.json"), "goal"),
        (("--features", "a", "--output", "d.csv"), "another file"),
        (("--features", "a", "--output", "none/m.json"), "cannot be written"),
        (("--features", "a", "--query", "q", "--held-out", "0.001", "--output", "m.json"), "held"),
        (("--features", "a"), "--output"),
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
    items(tmp_path / "d.csv", 20)
    shared = ("--label", "rel", "--sensitive", "sex", "--steps", 5, "--seed", 1)
    outcome = run("train", "d.csv", *shared, *options)
    assert outcome.status == 2
    assert said in outcome.err
    assert "Traceback" not in outcome.err
