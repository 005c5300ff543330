"""Broken model files: each is read, or refused with an error of ours; none ends the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from comparity import FairRegressor
from comparity.errors import ComparityError
from comparity.training.kinds import BoostedTrees, NeuralNetwork
from comparity.training.model_files import SavedScorer, read_model, write_model
from comparity.training.models import LinearModel
from tests.mutants import json_mutants
from tests.training.interaction import interaction

NAMES = ("a", "b", "c")
KINDS = ("linear", "neural", "boosted")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a small model file of each kind, with a mixture."""
    folder = tmp_path_factory.mktemp("models")
    X, y, group = interaction(120, seed=0)
    linear = SavedScorer(
        kind="linear",
        features=NAMES,
        model=LinearModel(np.array([0.1, -2.0, 3.5]), 0.5),
        members=tuple((LinearModel(np.arange(3.0) + n, n - 1.0), n / 4) for n in (1, 3)),
        about={"goal": ["cross-group"]},
    )
    write_model(folder / "linear.json", linear)
    for scorer in (NeuralNetwork(hidden=(3,)), BoostedTrees(leaves=5, min_rows=5)):
        model = FairRegressor(scorer=scorer, steps=3, slack=1, random_state=0)
        best = model.fit(X, y + X[:, 0], sensitive_features=group).model_
        members = ((best, 0.5), (best, 0.5))
        saved = SavedScorer(kind=scorer.name, features=NAMES, model=best, members=members)
        write_model(folder / f"{scorer.name}.json", saved)
    return lambda kind: folder / f"{kind}.json"


def try_mutants(path: Path, many: int) -> tuple[int, int]:
    """Read broken copies of a file and score by them; return how many were read and refused."""
    X = np.array([[0.0, 1.0, -1.0], [1e30, -1e30, 1e-30], [-0.5, 0.25, 2.0]])
    table, broken, read, refused = dict(zip(NAMES, X.T, strict=True)), path.with_stem("m"), 0, 0
    for mutant in json_mutants(path.read_text("utf-8"), many):
        broken.write_bytes(mutant)
        try:
            model = read_model(broken)
            model.scores(table | dict.fromkeys(model.features, X[:, 0]))
            read += 1
        except ComparityError:
            refused += 1
    return read, refused


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_model_file_is_read_or_refused(kind: str, files: Callable[[str], Path]) -> None:
    read, refused = try_mutants(files(kind), 2_000)
    assert min(read, refused) > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_broken_model_files_are_read_or_refused(
    kind: str, files: Callable[[str], Path]
) -> None:
    read, refused = try_mutants(files(kind), 10_000)
    assert min(read, refused) > 100
