"""Scores as files that anybody can read: JSON, and nothing that runs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    FileAccessError,
    MissingColumnError,
    ModelFileError,
    ModelScoreError,
    ModelVersionError,
)
from comparity.tables.columns import labelled_columns
from comparity.tables.outputs import write_text
from comparity.tables.values import as_array, check_lengths, numbers, rows_of
from comparity.training.group_moves import GroupMoves
from comparity.training.models import LinearModel, Model
from comparity.training.rows import Scale

if TYPE_CHECKING:
    from comparity.training.models import Layer, LayeredModel, Tree, TreesModel

Floats = NDArray[np.float64]

FORMATS = {
    "linear": "comparity linear scorer",
    "neural": "comparity neural scorer",
    "boosted": "comparity boosted scorer",
}
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SavedScorer:
    """A score of named features, and the mixture it was chosen beside.

    Attributes
    ----------
    kind : {"linear", "neural", "boosted"}
    features : tuple of str
        Names of the columns, in the order the model takes them.
    model : Model
        The best single model.
    members : tuple of (Model, float)
        Members of the mixture and how often each is drawn; may be empty.
    about : mapping
        How the model came about: plain data.
    moves : (str, GroupMoves) or None
        A column with the group, and how the scores of each group are moved.
    """

    kind: str
    features: tuple[str, ...]
    model: Model
    members: tuple[tuple[Model, float], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    moves: tuple[str, GroupMoves] | None = None

    def scores(self, columns: Any) -> Floats:
        """Return the scores of the best single model, all of them finite.

        Parameters
        ----------
        columns : mapping of str to array-like, or frame of any engine
            A column for each feature, and one with the group where scores are moved; others are
            not looked at.

        Raises
        ------
        ModelScoreError
            Features or numbers of the model are so large that a score is no number.

        Examples
        --------
        >>> linear = LinearModel(np.array([1.0, -2.0]), 0.5)
        >>> model = SavedScorer(kind="linear", features=("a", "b"), model=linear)
        >>> model.scores({"b": [1.0, 0.0], "a": [3.0, 4.0]}).tolist()
        [1.5, 4.5]
        """
        table, group = self._feature_table(columns)
        # What overflows is refused below, with its rows.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.model.scores(table)
        lost = ~np.isfinite(scores)
        if lost.any():
            raise ModelScoreError(rows_of(lost))
        if self.moves is None:
            return scores
        return self.moves[1].transform(scores, sensitive_features=group)

    def _feature_table(self, columns: Any) -> tuple[Floats, Any]:
        """Return the features of a mapping or a frame side by side, checked, and the groups."""
        grouped = [] if self.moves is None else [self.moves[0]]
        names = dict.fromkeys([*self.features, *grouped])
        given = columns if isinstance(columns, Mapping) else labelled_columns(columns, [*names])
        found = {}
        for name in names:
            if name not in given:
                raise MissingColumnError(name, "items", list(given))
            found[name] = as_array(given[name], name)
        check_lengths(found)
        table = [numbers(found[name], name, "items") for name in self.features]
        return np.column_stack(table), found[grouped[0]] if grouped else None


def write_model(path: str | Path, saved: SavedScorer) -> None:
    """Write a model as JSON; numbers are read back exactly as they were.

    Raises
    ------
    FileAccessError
        The file cannot be written; one that was there is as it was.
    """
    members = [(_plain_model(saved.kind, member), share) for member, share in saved.members]
    content = {
        "format": FORMATS[saved.kind],
        "format_version": VERSION,
        "features": list(saved.features),
        **({} if saved.kind == "linear" else {"scale": _plain_scale(saved.model)}),
        **_plain_model(saved.kind, saved.model),
        "mixture": [{**member, "probability": share} for member, share in members],
        **({} if saved.moves is None else {"moves": _plain_moves(*saved.moves)}),
        "about": dict(saved.about),
    }
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def _plain_moves(column: str, moves: GroupMoves) -> dict[str, Any]:
    return {"column": column, "slopes": dict(moves.slopes), "shifts": dict(moves.shifts)}


def _plain_scale(model: Any) -> dict[str, Any]:
    scale: Scale = model.scale
    return {
        "centre": scale.centre.tolist(),
        # JSON has no infinity: a constant feature, which counts for nothing, has no unit.
        "unit": [one if math.isfinite(one) else None for one in scale.unit.tolist()],
        "label_centre": scale.label_centre,
        "label_unit": scale.label_unit,
        "predicted": scale.predicted,
    }


def _plain_model(kind: str, model: Any) -> dict[str, Any]:
    if kind == "linear":
        return {"coefficients": model.coefficients.tolist(), "intercept": model.intercept}
    if kind == "boosted":
        return {"model": {"trees": [_plain_tree(tree) for tree in model.trees]}}
    layers = [{"weights": w.tolist(), "biases": b.tolist()} for w, b in model.layers]
    return {"model": {"layers": layers}}


def _plain_tree(tree: Tree) -> dict[str, Any]:
    from comparity.training.models import MISSING

    return {
        "feature": tree.feature.tolist(),
        # JSON has no infinity: where all numbers go left, there is no threshold.
        "threshold": [one if math.isfinite(one) else None for one in tree.threshold.tolist()],
        "missing": [MISSING[one] for one in tree.missing.tolist()],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "leaves": tree.leaves.tolist(),
    }


def read_model(path: str | Path) -> SavedScorer:
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
    kinds = {name: kind for kind, name in FORMATS.items()}
    if not isinstance(content, dict) or content.get("format") not in list(kinds):
        raise ModelFileError(path, f"no field 'format' that says {' or '.join(map(repr, kinds))}")
    version = content.get("format_version")
    # True equals 1, and is no version.
    if type(version) is not int or version != VERSION:
        raise ModelVersionError(path, version, VERSION)
    features: Any = content.get("features")
    about = content.get("about", {})
    names = isinstance(features, list) and all(isinstance(one, str) for one in features)
    if not (names and 0 < len(features) == len(set(features)) and isinstance(about, dict)):
        raise ModelFileError(path, "'features' is no list of different names, or 'about' no object")
    kind, reader = kinds[content["format"]], _ModelReader(path, len(features))
    scale = None if kind == "linear" else reader.scale(content.get("scale"))
    mixture, shares = reader.mixture(content.get("mixture", []))
    models = [reader.model(kind, part, scale) for part in (content, *mixture)]
    return SavedScorer(
        kind=kind,
        features=tuple(features),
        model=models[0],
        members=tuple(zip(models[1:], shares, strict=True)),
        about=about,
        moves=reader.moves(content.get("moves")),
    )


@dataclass(frozen=True, slots=True)
class _ModelReader:
    """Parts of a model file, every one of them checked; what is broken is named with the file."""

    path: str | Path
    n_features: int

    def check(self, right: bool, broken: str) -> None:
        """Refuse the file where a part is not right."""
        if not right:
            raise ModelFileError(self.path, broken)

    def mixture(self, found: Any) -> tuple[list[dict[str, Any]], list[float]]:
        """Return the members of a mixture, still to be read, and how often each is drawn."""
        members = self.objects(found, "mixture")
        shares = self.numbers([one.get("probability") for one in members], "a probability")
        right = not members or (shares.min() >= 0 and abs(shares.sum() - 1) <= 1e-6)
        self.check(right, f"probabilities of the mixture that sum to {shares.sum():g}")
        return members, shares.tolist()

    def moves(self, found: Any) -> tuple[str, GroupMoves] | None:
        """Return the column with the group, and how scores are moved, if they are."""
        if found is None:
            return None
        known = found if isinstance(found, dict) else {}
        column, slopes, shifts = (known.get(name) for name in ("column", "slopes", "shifts"))
        right = isinstance(slopes, dict) and isinstance(shifts, dict) and isinstance(column, str)
        self.check(right, "'moves' is no object with a column, and slopes and shifts by group")
        assert isinstance(slopes, dict)
        assert isinstance(shifts, dict)
        right = bool(slopes) and slopes.keys() == shifts.keys()
        self.check(right, "'moves' of other groups by slope than by shift, or of none")
        steep = self.numbers([*slopes.values()], "'slopes'")
        self.numbers([*shifts.values()], "'shifts'")
        self.check(steep.min() >= 0, "'slopes' that turn the order within a group")
        return str(column), GroupMoves(slopes=slopes, shifts=shifts)

    def scale(self, found: Any) -> Scale:
        """Return where features and labels have their zero and their unit."""
        right = isinstance(found, dict) and isinstance(found.get("predicted"), bool)
        self.check(right, "'scale' is no object that says whether labels are predicted")
        units: Any = found.get("unit")
        known = [1.0 if one is None else one for one in units] if isinstance(units, list) else units
        columns = [self.numbers(found.get("centre"), "'centre'"), self.numbers(known, "'unit'")]
        labels = [found.get("label_centre"), found.get("label_unit")]
        centre, unit = self.numbers(labels, "the scale of labels").tolist()
        right = all(len(one) == self.n_features for one in columns) and min(*columns[1], unit) > 0
        self.check(right, f"'scale' has not {self.n_features} centres and positive units")
        return Scale(
            centre=columns[0],
            unit=np.where([one is None for one in units], np.inf, columns[1]),
            label_centre=centre,
            label_unit=unit,
            predicted=found["predicted"],
        )

    def model(self, kind: str, part: Mapping[str, Any], scale: Scale | None) -> Model:
        """Return the model of a file, or of a member of its mixture."""
        if scale is None:
            return self.linear(part)
        found = part.get("model")
        own = found if isinstance(found, dict) else {}
        return self.network(own, scale) if kind == "neural" else self.trees(own, scale)

    def linear(self, part: Mapping[str, Any]) -> LinearModel:
        """Return a linear score."""
        slopes = self.numbers(part.get("coefficients"), "'coefficients'")
        many = f"{len(slopes)} for {self.n_features} features"
        self.check(len(slopes) == self.n_features, f"'coefficients' that are {many}")
        return LinearModel(slopes, float(self.numbers([part.get("intercept")], "an intercept")[0]))

    def network(self, found: Mapping[str, Any], scale: Scale) -> LayeredModel:
        """Return a network whose layers fit to each other."""
        # Imported here, as trees are below: the modules of both load scikit-learn.
        from comparity.training.models import LayeredModel

        layers: list[Layer] = []
        inputs = self.n_features
        for part in self.objects(found.get("layers"), "layers", least=1):
            weights = self.numbers(part.get("weights"), "'weights'", depth=2)
            biases = self.numbers(part.get("biases"), "'biases'")
            right = weights.shape == (len(biases), inputs)
            self.check(right, f"a layer of {weights.shape} after {inputs} inputs")
            layers.append((weights, biases))
            inputs = len(biases)
        self.check(inputs == 1, f"a network with {inputs} scores for each row")
        return LayeredModel(tuple(layers), scale)

    def trees(self, found: Mapping[str, Any], scale: Scale) -> TreesModel:
        """Return a sum of trees."""
        from comparity.training.models import TreesModel

        parts = self.objects(found.get("trees"), "trees", least=1)
        return TreesModel(tuple(map(self.tree, parts)), scale)

    def tree(self, found: Mapping[str, Any]) -> Tree:
        """Return a tree whose splits and leaves are all reached once."""
        from comparity.training.models import MISSING, Tree

        leaves = self.numbers(found.get("leaves"), "'leaves'")
        splits = len(leaves) - 1
        thresholds, missing = found.get("threshold"), found.get("missing")
        if not isinstance(thresholds, list) or not isinstance(missing, list):
            raise ModelFileError(self.path, "'threshold' or 'missing' of a tree is no list")
        right = all(isinstance(one, str) and one in MISSING for one in missing)
        self.check(right, f"'missing' of a tree of other words than {', '.join(MISSING)}")
        known = self.numbers([0 if one is None else one for one in thresholds], "'threshold'")
        below = range(-splits - 1, splits)
        tree = Tree(
            feature=self.integers(found, "feature", range(self.n_features)),
            threshold=np.where([one is None for one in thresholds], np.inf, known),
            missing=np.array([MISSING.index(one) for one in missing], dtype=np.int64),
            left=self.integers(found, "left", below),
            right=self.integers(found, "right", below),
            leaves=leaves,
        )
        right = all(len(column) == splits for column in tree[:-1])
        self.check(right, f"a tree of {len(leaves)} leaves, and not one split fewer")
        self.check_branches(tree)
        return tree

    def check_branches(self, tree: Tree) -> None:
        """Refuse splits that lead back, and splits and leaves that are not reached exactly once."""
        splits = len(tree.feature)
        for branch in (tree.left, tree.right):
            back = (branch >= 0) & (branch <= np.arange(splits))
            self.check(not back.any(), "a tree with a split that leads back to itself")
        reached = np.sort(np.concatenate([tree.left, tree.right]))
        once = np.r_[-splits - 1 : 0, 1:splits] if splits else reached
        right = np.array_equal(reached, once)
        self.check(right, "a tree with a split or a leaf that is not reached just once")

    def objects(self, found: Any, name: str, *, least: int = 0) -> list[dict[str, Any]]:
        """Return a list of objects."""
        right = isinstance(found, list) and all(isinstance(one, dict) for one in found)
        self.check(right and len(found) >= least, f"{name!r} is no list of objects")
        return list(found)

    def integers(self, part: Mapping[str, Any], name: str, allowed: range) -> NDArray[np.int64]:
        """Return a list of whole numbers within limits as an array."""
        found = part.get(name)
        right = isinstance(found, list) and all(type(x) is int and x in allowed for x in found)
        within = f"from {allowed.start} to {allowed.stop - 1}"
        self.check(right, f"{name!r} of other things than whole numbers {within}")
        return np.array(found, dtype=np.int64)

    def numbers(self, found: Any, what: str, *, depth: int = 1) -> Floats:
        """Return nested lists of finite numbers as an array."""
        rows = found if depth == 2 and isinstance(found, list) else [found]
        right = all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows)
        # True is a whole number for Python, and not for anybody else.
        right = right and all(
            isinstance(x, int | float) and not isinstance(x, bool) for row in rows for x in row
        )
        # Whole numbers of any length are numbers for JSON.
        right = right and all(abs(x) <= sys.float_info.max for row in rows for x in row)
        self.check(right, f"{what} of other things than finite numbers")
        return np.array(found, dtype=np.float64)
