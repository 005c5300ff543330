"""Networks and boosted trees as plain data: numbers by layer, splits and leaves by tree."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import MissingColumnError, ModelFileError, ModelScoreError
from comparity.tables.items import labelled_columns
from comparity.tables.values import as_array, check_lengths, numbers, rows_of
from comparity.training.mixtures import Model
from comparity.training.rows import Scale

if TYPE_CHECKING:
    from comparity.training.networks import Layer, LayeredModel
    from comparity.training.trees import Tree, TreesModel

__all__ = [
    "FORMATS",
    "SavedScorer",
    "content_of",
    "feature_table",
    "finite_scores",
    "mixture_of",
    "numbers_of",
    "scorer_of",
]

Floats = NDArray[np.float64]

FORMATS = {"neural": "comparity neural scorer", "boosted": "comparity boosted scorer"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SavedScorer:
    """A score of named features that is not linear, and the mixture it was chosen beside.

    Attributes
    ----------
    kind : {"neural", "boosted"}
    features : tuple of str
        Names of the columns, in the order the model takes them.
    model : Model
        The best single model.
    members : tuple of (Model, float)
        Members of the mixture and how often each is drawn; may be empty.
    about : mapping
        How the model came about: plain data.
    """

    kind: str
    features: tuple[str, ...]
    model: Model
    members: tuple[tuple[Model, float], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, columns: Any) -> Floats:
        """Return the scores of the best single model, of named columns or a frame."""
        return finite_scores(self.model.scores, feature_table(self.features, columns))


def finite_scores(score: Callable[[Floats], Floats], table: Floats) -> Floats:
    """Return the scores of rows, all of them finite.

    Raises
    ------
    ModelScoreError
        Features or numbers of the model are so large that a score is no number.
    """
    # What overflows is refused below, with its rows.
    with np.errstate(over="ignore", invalid="ignore"):
        scores = score(table)
    lost = ~np.isfinite(scores)
    if lost.any():
        raise ModelScoreError(rows_of(lost))
    return scores


def feature_table(features: Sequence[str], columns: Any) -> Floats:
    """Return named columns of a mapping or a frame side by side, checked; others are left alone."""
    given = columns if isinstance(columns, Mapping) else labelled_columns(columns, features)
    found = {}
    for name in features:
        if name not in given:
            raise MissingColumnError(name, "items", list(given))
        found[name] = numbers(as_array(given[name], name), name, "items")
    check_lengths(found)
    return np.column_stack(list(found.values()))


def content_of(saved: SavedScorer) -> dict[str, Any]:
    """Return a score as plain data for JSON."""
    model: Any = saved.model
    scale: Scale = model.scale
    return {
        "scale": {
            "centre": scale.centre.tolist(),
            # JSON has no infinity: a constant feature, which counts for nothing, has no unit.
            "unit": [one if math.isfinite(one) else None for one in scale.unit.tolist()],
            "label_centre": scale.label_centre,
            "label_unit": scale.label_unit,
            "predicted": scale.predicted,
        },
        "model": _plain(saved.kind, model),
        "mixture": [
            {"model": _plain(saved.kind, member), "probability": share}
            for member, share in saved.members
        ],
    }


def _plain(kind: str, model: Any) -> dict[str, Any]:
    if kind == "boosted":
        return {"trees": [_plain_tree(tree) for tree in model.trees]}
    layers = [{"weights": w.tolist(), "biases": b.tolist()} for w, b in model.layers]
    return {"layers": layers}


def _plain_tree(tree: Tree) -> dict[str, Any]:
    from comparity.training.trees import MISSING

    return {
        "feature": tree.feature.tolist(),
        # JSON has no infinity: where all numbers go left, there is no threshold.
        "threshold": [one if math.isfinite(one) else None for one in tree.threshold.tolist()],
        "missing": [MISSING[one] for one in tree.missing.tolist()],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "leaves": tree.leaves.tolist(),
    }


def scorer_of(
    path: str | Path, kind: str, features: tuple[str, ...], content: Mapping[str, Any]
) -> SavedScorer:
    """Return the score that plain data describe, every part of them checked.

    Raises
    ------
    ModelFileError
        A part is missing or of another kind.
    """
    scale = _scale(path, content.get("scale"), len(features))
    mixture, shares = mixture_of(path, content)
    read = _network if kind == "neural" else _trees
    models = [read(path, part.get("model"), scale) for part in (content, *mixture)]
    return SavedScorer(
        kind=kind,
        features=features,
        model=models[0],
        members=tuple(zip(models[1:], shares, strict=True)),
    )


def mixture_of(
    path: str | Path, content: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[float]]:
    """Return the members of a mixture, still to be read, and how often each is drawn."""
    mixture = content.get("mixture", [])
    if not isinstance(mixture, list) or not all(isinstance(one, dict) for one in mixture):
        raise ModelFileError(path, "'mixture' is no list of objects")
    shares = numbers_of(path, [one.get("probability") for one in mixture], "a probability", 1)
    if len(shares) and (shares.min() < 0 or abs(shares.sum() - 1) > 1e-6):
        raise ModelFileError(path, f"probabilities of the mixture that sum to {shares.sum():g}")
    return mixture, shares.tolist()


def _scale(path: str | Path, found: Any, many: int) -> Scale:
    if not isinstance(found, dict) or not isinstance(found.get("predicted"), bool):
        raise ModelFileError(path, "'scale' is no object that says whether labels are predicted")
    units: Any = found.get("unit")
    known = [1.0 if one is None else one for one in units] if isinstance(units, list) else units
    columns = [
        numbers_of(path, found.get("centre"), "'centre'", 1),
        numbers_of(path, known, "'unit'", 1),
    ]
    names = ("label_centre", "label_unit")
    centre, unit = numbers_of(path, [found.get(name) for name in names], "the scale of labels", 1)
    if any(len(one) != many for one in columns) or min(*columns[1], unit) <= 0:
        raise ModelFileError(path, f"'scale' has not {many} centres and positive units")
    return Scale(
        centre=columns[0],
        unit=np.where([one is None for one in units], np.inf, columns[1]),
        label_centre=float(centre),
        label_unit=float(unit),
        predicted=found["predicted"],
    )


def _network(path: str | Path, found: Any, scale: Scale) -> LayeredModel:
    # Imported here, as trees are below: the modules of both load scikit-learn.
    from comparity.training.networks import LayeredModel

    parts = found.get("layers") if isinstance(found, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(x, dict) for x in parts):
        raise ModelFileError(path, "'layers' is no list of objects")
    layers: list[Layer] = []
    inputs = len(scale.unit)
    for part in parts:
        weights = numbers_of(path, part.get("weights"), "'weights'", 2)
        biases = numbers_of(path, part.get("biases"), "'biases'", 1)
        if weights.shape != (len(biases), inputs):
            raise ModelFileError(path, f"a layer of {weights.shape} after {inputs} inputs")
        layers.append((weights, biases))
        inputs = len(biases)
    if inputs != 1:
        raise ModelFileError(path, f"a network with {inputs} scores for each row")
    return LayeredModel(tuple(layers), scale)


def _trees(path: str | Path, found: Any, scale: Scale) -> TreesModel:
    # Imported here: numba takes a while.
    from comparity.training.trees import TreesModel

    parts = found.get("trees") if isinstance(found, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(x, dict) for x in parts):
        raise ModelFileError(path, "'trees' is no list of objects")
    return TreesModel(tuple(_tree(path, one, len(scale.unit)) for one in parts), scale)


def _tree(path: str | Path, found: Mapping[str, Any], features: int) -> Tree:
    from comparity.training.trees import MISSING, Tree

    leaves = numbers_of(path, found.get("leaves"), "'leaves'", 1)
    splits = len(leaves) - 1
    thresholds, missing = found.get("threshold"), found.get("missing")
    if not isinstance(thresholds, list) or not isinstance(missing, list):
        raise ModelFileError(path, "'threshold' or 'missing' of a tree is no list")
    if not all(isinstance(one, str) and one in MISSING for one in missing):
        raise ModelFileError(path, f"'missing' of a tree of other words than {', '.join(MISSING)}")
    known = numbers_of(path, [0 if x is None else x for x in thresholds], "'threshold'", 1)
    tree = Tree(
        feature=_integers(path, found.get("feature"), "'feature'", range(features)),
        threshold=np.where([one is None for one in thresholds], np.inf, known),
        missing=np.array([MISSING.index(one) for one in missing], dtype=np.int64),
        left=_integers(path, found.get("left"), "'left'", range(-splits - 1, splits)),
        right=_integers(path, found.get("right"), "'right'", range(-splits - 1, splits)),
        leaves=leaves,
    )
    columns = (tree.feature, tree.threshold, tree.missing, tree.left, tree.right)
    if any(len(column) != splits for column in columns):
        raise ModelFileError(path, f"a tree of {len(leaves)} leaves, and not one split fewer")
    _check_branches(path, tree)
    return tree


def _check_branches(path: str | Path, tree: Tree) -> None:
    """Refuse splits that lead back, and splits and leaves that are not reached exactly once."""
    splits = len(tree.feature)
    reached = np.sort(np.concatenate([tree.left, tree.right]))
    once = np.r_[-splits - 1 : 0, 1:splits] if splits else reached
    for branch in (tree.left, tree.right):
        if ((branch >= 0) & (branch <= np.arange(splits))).any():
            raise ModelFileError(path, "a tree with a split that leads back to itself")
    if not np.array_equal(reached, once):
        raise ModelFileError(path, "a tree with a split or a leaf that is not reached just once")


def _integers(path: str | Path, found: Any, what: str, allowed: range) -> NDArray[np.int64]:
    """Return a list of whole numbers within limits as an array."""
    right = isinstance(found, list) and all(type(one) is int and one in allowed for one in found)
    if not right:
        within = f"from {allowed.start} to {allowed.stop - 1}"
        raise ModelFileError(path, f"{what} of other things than whole numbers {within}")
    return np.array(found, dtype=np.int64)


def numbers_of(path: str | Path, found: Any, what: str, depth: int) -> Floats:
    """Return nested lists of finite numbers as an array."""
    rows = found if depth == 2 and isinstance(found, list) else [found]
    right = all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)
    # True is a whole number for Python, and not for anybody else.
    right = right and all(
        isinstance(x, int | float) and not isinstance(x, bool) for row in rows for x in row
    )
    # Whole numbers of any length are numbers for JSON.
    if not right or not all(abs(x) <= sys.float_info.max for row in rows for x in row):
        raise ModelFileError(path, f"{what} of other things than finite numbers")
    return np.array(found, dtype=np.float64)
