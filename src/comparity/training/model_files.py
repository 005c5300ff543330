"""Scores as files that anybody can read: JSON, and nothing that runs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    FileAccessError,
    ModelFileError,
    ModelVersionError,
)
from comparity.tables.outputs import write_text
from comparity.training.rows import Scale
from comparity.training.scorers import LinearScorer, SavedScorer

if TYPE_CHECKING:
    from comparity.training.boosted import Tree, TreesModel
    from comparity.training.networks import Layer, LayeredModel

__all__ = ["FORMAT", "FORMATS", "read_model", "write_model"]

Floats = NDArray[np.float64]

FORMATS = {"neural": "comparity neural scorer", "boosted": "comparity boosted scorer"}


def _saved_content(saved: SavedScorer) -> dict[str, Any]:
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
    from comparity.training.boosted import MISSING

    return {
        "feature": tree.feature.tolist(),
        # JSON has no infinity: where all numbers go left, there is no threshold.
        "threshold": [one if math.isfinite(one) else None for one in tree.threshold.tolist()],
        "missing": [MISSING[one] for one in tree.missing.tolist()],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "leaves": tree.leaves.tolist(),
    }


def _read_saved(
    path: str | Path, kind: str, features: tuple[str, ...], content: Mapping[str, Any]
) -> SavedScorer:
    """Return the score that plain data describe, every part of them checked.

    Raises
    ------
    ModelFileError
        A part is missing or of another kind.
    """
    scale = _read_scale(path, content.get("scale"), len(features))
    mixture, shares = _read_mixture(path, content)
    read = _read_network if kind == "neural" else _read_trees
    models = [read(path, part.get("model"), scale) for part in (content, *mixture)]
    return SavedScorer(
        kind=kind,
        features=features,
        model=models[0],
        members=tuple(zip(models[1:], shares, strict=True)),
    )


def _read_mixture(
    path: str | Path, content: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[float]]:
    """Return the members of a mixture, still to be read, and how often each is drawn."""
    mixture = content.get("mixture", [])
    if not isinstance(mixture, list) or not all(isinstance(one, dict) for one in mixture):
        raise ModelFileError(path, "'mixture' is no list of objects")
    shares = _read_numbers(path, [one.get("probability") for one in mixture], "a probability", 1)
    if len(shares) and (shares.min() < 0 or abs(shares.sum() - 1) > 1e-6):
        raise ModelFileError(path, f"probabilities of the mixture that sum to {shares.sum():g}")
    return mixture, shares.tolist()


def _read_scale(path: str | Path, found: Any, many: int) -> Scale:
    if not isinstance(found, dict) or not isinstance(found.get("predicted"), bool):
        raise ModelFileError(path, "'scale' is no object that says whether labels are predicted")
    units: Any = found.get("unit")
    known = [1.0 if one is None else one for one in units] if isinstance(units, list) else units
    columns = [
        _read_numbers(path, found.get("centre"), "'centre'", 1),
        _read_numbers(path, known, "'unit'", 1),
    ]
    names = ("label_centre", "label_unit")
    centre, unit = _read_numbers(
        path, [found.get(name) for name in names], "the scale of labels", 1
    )
    if any(len(one) != many for one in columns) or min(*columns[1], unit) <= 0:
        raise ModelFileError(path, f"'scale' has not {many} centres and positive units")
    return Scale(
        centre=columns[0],
        unit=np.where([one is None for one in units], np.inf, columns[1]),
        label_centre=float(centre),
        label_unit=float(unit),
        predicted=found["predicted"],
    )


def _read_network(path: str | Path, found: Any, scale: Scale) -> LayeredModel:
    # Imported here, as trees are below: the modules of both load scikit-learn.
    from comparity.training.networks import LayeredModel

    parts = found.get("layers") if isinstance(found, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(x, dict) for x in parts):
        raise ModelFileError(path, "'layers' is no list of objects")
    layers: list[Layer] = []
    inputs = len(scale.unit)
    for part in parts:
        weights = _read_numbers(path, part.get("weights"), "'weights'", 2)
        biases = _read_numbers(path, part.get("biases"), "'biases'", 1)
        if weights.shape != (len(biases), inputs):
            raise ModelFileError(path, f"a layer of {weights.shape} after {inputs} inputs")
        layers.append((weights, biases))
        inputs = len(biases)
    if inputs != 1:
        raise ModelFileError(path, f"a network with {inputs} scores for each row")
    return LayeredModel(tuple(layers), scale)


def _read_trees(path: str | Path, found: Any, scale: Scale) -> TreesModel:
    # Imported here: numba takes a while.
    from comparity.training.boosted import TreesModel

    parts = found.get("trees") if isinstance(found, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(x, dict) for x in parts):
        raise ModelFileError(path, "'trees' is no list of objects")
    return TreesModel(tuple(_read_tree(path, one, len(scale.unit)) for one in parts), scale)


def _read_tree(path: str | Path, found: Mapping[str, Any], features: int) -> Tree:
    from comparity.training.boosted import MISSING, Tree

    leaves = _read_numbers(path, found.get("leaves"), "'leaves'", 1)
    splits = len(leaves) - 1
    thresholds, missing = found.get("threshold"), found.get("missing")
    if not isinstance(thresholds, list) or not isinstance(missing, list):
        raise ModelFileError(path, "'threshold' or 'missing' of a tree is no list")
    if not all(isinstance(one, str) and one in MISSING for one in missing):
        raise ModelFileError(path, f"'missing' of a tree of other words than {', '.join(MISSING)}")
    known = _read_numbers(path, [0 if x is None else x for x in thresholds], "'threshold'", 1)
    tree = Tree(
        feature=_read_integers(path, found.get("feature"), "'feature'", range(features)),
        threshold=np.where([one is None for one in thresholds], np.inf, known),
        missing=np.array([MISSING.index(one) for one in missing], dtype=np.int64),
        left=_read_integers(path, found.get("left"), "'left'", range(-splits - 1, splits)),
        right=_read_integers(path, found.get("right"), "'right'", range(-splits - 1, splits)),
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


def _read_integers(path: str | Path, found: Any, what: str, allowed: range) -> NDArray[np.int64]:
    """Return a list of whole numbers within limits as an array."""
    right = isinstance(found, list) and all(type(one) is int and one in allowed for one in found)
    if not right:
        within = f"from {allowed.start} to {allowed.stop - 1}"
        raise ModelFileError(path, f"{what} of other things than whole numbers {within}")
    return np.array(found, dtype=np.int64)


def _read_numbers(path: str | Path, found: Any, what: str, depth: int) -> Floats:
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


FORMAT, VERSION = "comparity linear scorer", 1


def write_model(path: str | Path, model: LinearScorer | SavedScorer) -> None:
    """Write a model as JSON; numbers are read back exactly as they were.

    Raises
    ------
    FileAccessError
        The file cannot be written; one that was there is as it was.
    """
    content = {
        "format": FORMATS[model.kind] if isinstance(model, SavedScorer) else FORMAT,
        "format_version": VERSION,
        "features": list(model.features),
        **(_saved_content(model) if isinstance(model, SavedScorer) else _linear_content(model)),
        "about": dict(model.about),
    }
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def _linear_content(model: LinearScorer) -> dict[str, Any]:
    return {
        "coefficients": list(model.coefficients),
        "intercept": model.intercept,
        "mixture": [
            {"coefficients": list(slope), "intercept": base, "probability": share}
            for slope, base, share in model.members
        ],
    }


def read_model(path: str | Path) -> LinearScorer | SavedScorer:
    """Read a model file and check all of it. Nothing in a file is ever run.

    What is read scores without torch and without LightGBM.

    Raises
    ------
    FileAccessError
        There is no such file.
    ModelFileError
        It is no model file, or a part of it is missing or of another kind.
    ModelVersionError
        It is in another version of the format.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise FileAccessError(str(path), str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(path, f"no JSON: {error}") from error
    kinds = {FORMAT: "linear", **{name: kind for kind, name in FORMATS.items()}}
    if not isinstance(content, dict) or content.get("format") not in list(kinds):
        raise ModelFileError(path, f"no field 'format' that says {' or '.join(map(repr, kinds))}")
    version = content.get("format_version")
    # True equals 1, and is no version.
    if type(version) is not int or version != VERSION:
        raise ModelVersionError(path, version, VERSION)
    features: Any = content.get("features")
    about = content.get("about", {})
    if not _are_names(features) or not isinstance(about, dict):
        raise ModelFileError(path, "'features' is no list of different names, or 'about' no object")
    if kinds[content["format"]] != "linear":
        saved = _read_saved(path, kinds[content["format"]], tuple(features), content)
        return replace(saved, about=about)
    return _read_linear(path, tuple(features), content, about)


def _read_linear(
    path: str | Path, features: tuple[str, ...], content: dict[str, Any], about: Mapping[str, Any]
) -> LinearScorer:
    mixture, shares = _read_mixture(path, content)
    slopes, bases = [], []
    for part in (content, *mixture):
        slopes.append(_read_numbers(path, part.get("coefficients"), "'coefficients'", 1).tolist())
        if len(slopes[-1]) != len(features):
            many = f"{len(slopes[-1])} for {len(features)} features"
            raise ModelFileError(path, f"'coefficients' that are {many}")
        bases += _read_numbers(path, [part.get("intercept")], "an intercept", 1).tolist()
    return LinearScorer(
        features=features,
        coefficients=tuple(slopes[0]),
        intercept=bases[0],
        members=tuple(zip(map(tuple, slopes[1:]), bases[1:], shares, strict=True)),
        about=about,
    )


def _are_names(found: Any) -> bool:
    return (
        isinstance(found, list)
        and bool(found)
        and all(isinstance(one, str) for one in found)
        and len(set(found)) == len(found)
    )
