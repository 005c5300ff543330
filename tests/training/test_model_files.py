"""Model files: what is written is what is read, and nothing else is taken for a model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparity import FairRegressor
from comparity.errors import (
    FileAccessError,
    LengthMismatchError,
    MissingColumnError,
    ModelFileError,
    ModelScoreError,
    ModelVersionError,
    NotNumericError,
)
from comparity.training.model_files import SavedScorer, read_model, write_model
from comparity.training.models import LinearModel
from tests.training.interaction import interaction

STUMP = {
    "feature": [0],
    "threshold": [0.5],
    "missing": ["none"],
    "left": [-1],
    "right": [-2],
    "leaves": [1.0, 2.0],
}
TWO_OUTPUTS = {"weights": [[1, 2, 3], [4, 5, 6]], "biases": [0, 0]}
numbers = st.floats(allow_nan=False, allow_infinity=False)


def linear(features: str, slopes: list[float], base: float = 0.0, **more: Any) -> SavedScorer:
    """Return a linear score of features that are called by single letters."""
    model = LinearModel(np.array(slopes), base)
    return SavedScorer(kind="linear", features=tuple(features), model=model, **more)


def told(saved: SavedScorer) -> tuple[Any, ...]:
    """Return all numbers and words of a linear score."""
    models = [saved.model, *(model for model, _ in saved.members)]
    numbers = [(one.coefficients.tolist(), one.intercept) for one in models]
    return saved.features, numbers, [share for _, share in saved.members], saved.about


MODEL = linear(
    "ab",
    [0.1, -2e300],
    0.5,
    members=(
        (LinearModel(np.array([1.0, 2.0]), 0.0), 0.25),
        (LinearModel(np.array([3.0, 4.0]), 1.0), 0.75),
    ),
    about={"goal": ["cross-group"]},
)


@given(st.lists(numbers, min_size=1, max_size=4), numbers)
def test_numbers_come_back_exactly(tmp_path_factory, slopes: list[float], base: float) -> None:
    path = tmp_path_factory.mktemp("models") / "m.json"
    model = linear("aé,d"[: len(slopes)], slopes, base)
    write_model(path, model)
    assert told(read_model(path)) == told(model)


def test_a_mixture_comes_back_and_the_file_is_plain_json(tmp_path: Path) -> None:
    write_model(tmp_path / "m.json", MODEL)
    assert told(read_model(tmp_path / "m.json")) == told(MODEL)
    content = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert content["format"] == "comparity linear scorer"
    assert content["mixture"][1] == {
        "coefficients": [3.0, 4.0],
        "intercept": 1.0,
        "probability": 0.75,
    }


def test_a_model_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_model(path, MODEL)
    path.write_text(path.read_text("utf-8"), "utf-8-sig")
    assert told(read_model(path)) == told(MODEL)


def test_scores_go_by_name_and_take_frames() -> None:
    model = linear("xy", [2.0, 1.0], -1.0)
    frame = pd.DataFrame({"y": [10, 20], "z": ["?", "?"], "x": [1, 2]})
    for same in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pa.table(frame)):
        assert model.scores(same).tolist() == [2 * 1 + 10 - 1, 2 * 2 + 20 - 1]
    with pytest.raises(MissingColumnError, match="'x'"):
        model.scores(frame.drop(columns="x"))
    with pytest.raises(MissingColumnError, match="'x'"):
        model.scores({"y": [1.0]})
    with pytest.raises(NotNumericError):
        model.scores({"x": ["a"], "y": [1.0]})
    with pytest.raises(LengthMismatchError):
        model.scores({"x": [1.0, 2.0], "y": [1.0]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "pickle"}, "format"),
        ({"features": ["a", "a"]}, "features"),
        ({"features": []}, "features"),
        ({"coefficients": [1.0]}, "coefficients"),
        ({"coefficients": [1.0, True]}, "coefficients"),
        ({"coefficients": [1.0, float("nan")]}, "coefficients"),
        ({"coefficients": [1.0, "__import__('os')"]}, "coefficients"),
        ({"coefficients": [1.0, 10**400]}, "coefficients"),
        ({"intercept": None}, "intercept"),
        ({"mixture": 3}, "mixture"),
        ({"mixture": [{"coefficients": [1, 2], "intercept": 0, "probability": 0.4}]}, "sum to 0.4"),
        ({"about": []}, "about"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write_model(tmp_path / "m.json", MODEL)
    content = json.loads((tmp_path / "m.json").read_text("utf-8")) | change
    (tmp_path / "m.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelFileError, match=said):
        read_model(tmp_path / "m.json")


def test_what_is_no_json_or_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(ModelFileError, match="no JSON"):
        read_model(tmp_path / "m.json")
    (tmp_path / "m.json").write_text("[" * 100_000, "utf-8")
    with pytest.raises(ModelFileError, match="no JSON"):
        read_model(tmp_path / "m.json")
    (tmp_path / "l.json").write_text("[1]", "utf-8")
    with pytest.raises(ModelFileError, match="format"):
        read_model(tmp_path / "l.json")
    with pytest.raises(FileAccessError):
        read_model(tmp_path / "none.json")
    with pytest.raises(FileAccessError):
        write_model(tmp_path / "none" / "m.json", MODEL)


@pytest.fixture(scope="module")
def trained() -> dict[str, tuple[SavedScorer, np.ndarray, np.ndarray]]:
    """Return by kind a score as it is saved, features, and the scores of its estimator."""
    X, y, group = interaction(120, seed=0)
    found = {}
    for kind in ("neural", "boosted"):
        model = FairRegressor(scorer=kind, steps=4, slack=1, random_state=0)
        model.fit(X, y + X[:, 0], sensitive_features=group)
        members = tuple((one, 1 / len(model.stochastic_)) for one in model.stochastic_.members)
        named = {"features": ("a", "b", "c"), "about": {"goal": ["cross-group"]}}
        saved = SavedScorer(kind=kind, model=model.model_, members=members, **named)
        found[kind] = saved, X, model.predict(X)
    return found


@pytest.mark.parametrize("kind", ["neural", "boosted"])
def test_other_scores_come_back_as_they_were(tmp_path: Path, trained, kind: str) -> None:
    saved, X, expected = trained[kind]
    write_model(tmp_path / "m.json", saved)
    back = read_model(tmp_path / "m.json")
    columns = dict(zip("cab", X[:, [2, 0, 1]].T, strict=True))
    assert back.scores(columns) == pytest.approx(expected, rel=1e-12)
    assert back.about == saved.about
    assert [share for _, share in back.members] == [share for _, share in saved.members]
    assert back.members[0][0].scores(X) == pytest.approx(saved.members[0][0].scores(X), rel=1e-12)


def test_a_constant_feature_has_no_unit_and_still_counts_for_nothing(tmp_path: Path) -> None:
    X, y, group = interaction(120, seed=0)
    X[:, 1] = 3.0
    model = FairRegressor(scorer="neural", steps=4, slack=1, random_state=0).fit(X, y, group)
    saved = SavedScorer(kind="neural", features=("a", "b", "c"), model=model.model_)
    write_model(tmp_path / "m.json", saved)
    assert json.loads((tmp_path / "m.json").read_text("utf-8"))["scale"]["unit"][1] is None
    columns = {"a": X[:, 0], "b": np.arange(120), "c": X[:, 2]}
    found = read_model(tmp_path / "m.json").scores(columns)
    assert found == pytest.approx(model.predict(X), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("neural", {"scale": None}, "scale"),
        ("neural", {"scale": {"predicted": True, "unit": 3}}, "centre"),
        ("neural", {"scale": {"predicted": True, "centre": [0, 0, 0], "unit": 3}}, "unit"),
        ("neural", {"model": {"layers": []}}, "layers"),
        ("neural", {"model": {"layers": [{"weights": [[1, 2]], "biases": [0]}]}}, "3 inputs"),
        ("neural", {"model": {"layers": [{"weights": [[1, 2], [3]], "biases": [0]}]}}, "weights"),
        ("neural", {"model": {"layers": [TWO_OUTPUTS]}}, "2 scores"),
        ("neural", {"mixture": {}}, "mixture"),
        ("neural", {"mixture": [{"probability": 0.5}]}, "sum to 0.5"),
        ("boosted", {"model": {"trees": 3}}, "trees"),
        ("boosted", {"model": {"trees": []}}, "trees"),
        ("boosted", {"model": {"trees": [STUMP | {"leaves": [1.0]}]}}, "'right' .* from -1 to -1"),
        ("boosted", {"model": {"trees": [STUMP | {"leaves": []}]}}, "whole numbers"),
        ("boosted", {"model": {"trees": [STUMP | {"feature": [3]}]}}, "'feature' .* from 0 to 2"),
        ("boosted", {"model": {"trees": [STUMP | {"feature": [True]}]}}, "'feature'"),
        ("boosted", {"model": {"trees": [STUMP | {"feature": [0, 1]}]}}, "one split fewer"),
        ("boosted", {"model": {"trees": [STUMP | {"threshold": [10**400]}]}}, "'threshold'"),
        ("boosted", {"model": {"trees": [STUMP | {"missing": ["up"]}]}}, "'missing'"),
        ("boosted", {"model": {"trees": [STUMP | {"left": [-3]}]}}, "'left'"),
        ("boosted", {"model": {"trees": [STUMP | {"left": [0]}]}}, "leads back"),
        ("boosted", {"model": {"trees": [STUMP | {"left": [-2]}]}}, "just once"),
        ("boosted", {"features": ["a", "b"]}, "scale"),
        ("boosted", {"format": ["x"]}, "format"),
    ],
)
def test_a_broken_file_of_another_score_is_named(
    tmp_path: Path, trained, kind: str, change: dict[str, Any], said: str
) -> None:
    write_model(tmp_path / "m.json", trained[kind][0])
    content = json.loads((tmp_path / "m.json").read_text("utf-8")) | change
    (tmp_path / "m.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelFileError, match=said):
        read_model(tmp_path / "m.json")


def test_models_score_without_the_libraries_that_trained_them(
    tmp_path: Path, trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("neural", "boosted"):
        write_model(tmp_path / f"{kind}.json", trained[kind][0])
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    for kind in ("neural", "boosted"):
        columns = dict(zip("abc", trained[kind][1].T, strict=True))
        found = read_model(tmp_path / f"{kind}.json").scores(columns)
        assert found == pytest.approx(trained[kind][2], rel=1e-12)


@pytest.mark.parametrize("version", [0, 2, True, 1.0, "1", None, [1]])
def test_another_version_of_the_format_is_refused_by_name(tmp_path: Path, version: Any) -> None:
    write_model(tmp_path / "m.json", MODEL)
    content = json.loads((tmp_path / "m.json").read_text("utf-8")) | {"format_version": version}
    (tmp_path / "m.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelVersionError, match=r"in version 1 .*\n.* (no|format_version)"):
        read_model(tmp_path / "m.json")


def test_scores_that_are_no_numbers_are_refused_with_their_rows() -> None:
    huge = linear("ab", [1e300, -1e300])
    assert huge.scores({"a": [1.0, 2.0], "b": [0.0, 1.0]}).tolist() == [1e300, 1e300]
    with pytest.raises(ModelScoreError, match=r"1 row \(data row 2\)"):
        huge.scores({"a": [1.0, 1e20], "b": [0.0, 1e20]})


def test_a_tree_of_a_hundred_thousand_levels_is_read_and_scored(tmp_path: Path, trained) -> None:
    splits = 100_000
    chain = {
        "feature": [0] * splits,
        "threshold": list(range(splits)),
        "missing": ["none"] * splits,
        "left": list(range(-1, -splits - 1, -1)),
        "right": [*range(1, splits), -splits - 1],
        "leaves": list(range(splits + 1)),
    }
    write_model(tmp_path / "m.json", trained["boosted"][0])
    content = json.loads((tmp_path / "m.json").read_text("utf-8"))
    content |= {"model": {"trees": [chain]}, "mixture": []}
    content["scale"]["predicted"] = False
    (tmp_path / "m.json").write_text(json.dumps(content), "utf-8")
    columns = {"a": [-1.0, 0.5, 99_999.5], "b": [0.0] * 3, "c": [0.0] * 3}
    assert read_model(tmp_path / "m.json").scores(columns).tolist() == [0.0, 1.0, 100_000.0]
