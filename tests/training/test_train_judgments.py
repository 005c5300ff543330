"""Training on files of judgments: what is split, audited, written and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from comparity import comparative_separation
from comparity.errors import ComparityError
from comparity.training.model_files import read_model
from comparity.training.train_judgments import train_judgments
from comparity.training.trained_scorers import TrainedOnJudgments
from tests.training.test_comparisons import judge

KNOWN = {"features": ("x", "z"), "sensitive": "sex", "steps": 60, "seed": 1}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write items and judgments; the first feature favours men, quality does not."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("judged")
    male, quality = rng.integers(0, 2, 300), 2 * rng.normal(size=300)
    X = np.column_stack([quality + 1.5 * male, quality]) + rng.normal(size=(300, 2))
    lines = [f"i{i},{x:.5f},{z:.5f},{'fm'[male[i]]}" for i, (x, z) in enumerate(X)]
    (folder / "items.csv").write_text("\n".join(["item,x,z,sex", *lines]) + "\n")
    old, new = judge(quality[:200], 2500, rng), 200 + judge(quality[200:], 800, rng)
    for name, pairs in (("old", old), ("new", new), ("all", np.vstack([old, new]))):
        rows = [f"i{b},i{w},{k % 9},{str(k % 50 == 0).lower()}" for k, (b, w) in enumerate(pairs)]
        head = "better,worse,evaluator,tied"
        (folder / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    return folder


def trained(files: Path, name: str = "old", **more: object) -> TrainedOnJudgments:
    known = {**KNOWN, "items": files / "items.csv", **more}
    return train_judgments(files / f"{name}.csv", files / "model.json", **known)


@pytest.mark.long
def test_the_audit_is_that_of_the_written_model_on_the_other_file(files: Path) -> None:
    found = trained(files, audit_on=files / "new.csv")
    table = np.genfromtxt(files / "items.csv", delimiter=",", names=True, dtype=None, encoding=None)
    scores = read_model(files / "model.json").scores({"x": table["x"], "z": table["z"]})
    rows = np.genfromtxt(files / "new.csv", delimiter=",", dtype=str, skip_header=1)
    pairs, tied = np.char.lstrip(rows[:, :2], "i").astype(int), rows[:, 3] == "true"
    audit = comparative_separation(
        pairs[~tied],
        scores=scores,
        sensitive_features=table["sex"],
        evaluators=rows[~tied, 2],
        ties=pairs[tied],
        hypotheses="across",
    )
    assert found.judgments == {"trained": 2500, "audited": 800, "between": 0, "ties": 66}
    assert [one.rate for one in found.after.rates] == pytest.approx([o.rate for o in audit.rates])
    assert found.after.tests[0].p_value == pytest.approx(audit.tests[0].p_value)


@pytest.mark.long
def test_items_of_one_part_are_drawn_and_what_is_between_is_counted(files: Path) -> None:
    told: list[str] = []
    found = trained(files, held_out=0.4, tell=told.append)
    many = found.judgments
    assert many["trained"] + many["audited"] + many["between"] == 2500
    # About 0.36, 0.16 and 0.48 of the judgments, as items are drawn.
    assert many["between"] == pytest.approx(1200, abs=100)
    assert f"{many['between']:,} between these items" in told[0]


@pytest.mark.long
def test_the_answer_is_read_back_and_tells_both_audits(files: Path) -> None:
    found = trained(files, held_out=0.4, adjust_judges=True)
    assert TrainedOnJudgments.from_dict(found.to_dict()).to_dict() == found.to_dict()
    text = str(found)
    assert "Agreement on items that training did not see" in text
    assert "the audit takes judgments at face value" in text
    assert [row["pairs"] for row in found.table()] == ["f > f", "f > m", "m > f", "m > m"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"label": "x"}, "take the place of labels"),
        ({"task": "regression"}, "no number to predict"),
        ({"goal": ("statistical parity",)}, "comparative separation"),
        ({"features": ("x", "x")}, "each column once"),
        ({"items": None}, "label"),
    ],
)
def test_what_judgments_do_not_have_is_refused(files: Path, more: dict, said: str) -> None:
    with pytest.raises(ComparityError, match=said):
        trained(files, **more)


def test_judgments_of_items_trained_on_are_not_audited(files: Path) -> None:
    with pytest.raises(ComparityError, match="are of items that are trained on"):
        trained(files, audit_on=files / "all.csv")
