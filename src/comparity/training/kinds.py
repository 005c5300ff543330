r"""Networks and boosted trees as scores.

Of trees every round is a step of the game: the gradient of the weighted hinges over all pairs is
taken at the scores so far, the referee sees the true accuracies and moves weight, LightGBM grows a
tree. The hinge has no curvature, so a positive stand-in takes its place: for each row the weight of
all its pairs, over the square of the margin (twice that for squared hinges, of which it is a
bound). A leaf then moves by the share of pairs that its rows should still win, net of those they
should lose, in margins: at most one margin, times the step size. A squared error has its own
curvature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from comparity.errors import MissingExtraError, NoTreeError, OptionError
from comparity.errors.requirements import check_requirements
from comparity.training.game import Pace, Play, Referee, later_mean, snapshot_steps
from comparity.training.goals import Choices
from comparity.training.models import (
    ZERO,
    Layer,
    LayeredModel,
    ModuleModel,
    State,
    Tree,
    TreesModel,
    call_module,
    forward,
    sum_trees,
)
from comparity.training.polish import LeafParameters, Refitted
from comparity.training.rows import CellWeights, Rows, Scale

if TYPE_CHECKING:
    import torch
    from lightgbm import Booster, Dataset

    from comparity.training.torch_losses import ModuleParameters

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Grown = tuple["Booster", int]
"""The trees of a game, and how many of them are used."""

LEAST_CURVATURE = 1e-6
"""No row has less curvature than this share of the mean, not even one that is in no pair."""
LARGEST_RATE = 2.0
"""A tree that moves by the whole error ends at it, and by twice as much is as far beyond."""
FEW_ROWS = 10**4
"""Fewer rows are grown and scored in one thread; others would only wait for each other."""
SAID_OTHERWISE = {
    "the game's": "objective application app loss",
    "steps=": "num_iterations num_iteration num_boost_round n_estimators num_trees n_iter",
    "step_sizes=": "learning_rate shrinkage_rate eta",
    "l2=": "lambda_l2 reg_lambda lambda",
    "gbdt, for candidates are its first trees": "boosting boosting_type boost",
    "not taken: give every category a column of 0 and 1": (
        "categorical_feature cat_feature categorical_column cat_column categorical_features"
    ),
    "not taken: leaves are numbers": "linear_tree linear_trees",
}
"""Parameters of LightGBM that are said otherwise."""


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralNetwork(BaseEstimator):  # type: ignore[misc]
    r"""A network as scorer: ``FairRanker(scorer=NeuralNetwork(hidden=(32, 32)))``.

    It is trained in double precision on the processor, on **all** pairs unless `batch_size` says
    otherwise: the loss over pairs is a torch function that costs about a sort of the scores
    (:func:`comparity.training.torch_losses.pairwise_bounds`). Constraints are handed to cooper:
    multipliers rise by a tenth of `referee_rate` times the *true* violation, the network descends
    by Adam on hinges that bound it [1]_. In the robust form a level is raised, and held against
    every rate by a constraint. After a third of the steps multipliers also follow what is missed
    now [2]_, so that the network settles where it circled. Candidates, mixture and choice on rows
    held out are those of the linear score.

    Needs ``pip install 'comparity[torch]'``.

    Parameters
    ----------
    hidden : tuple of int
        Units of each hidden layer, with rectifiers between; none for a linear score.
    module : callable, optional
        From the number of features to a ``torch.nn.Module`` of your own that takes standardised
        features, ``(n, p)`` in double precision, and returns ``(n,)`` or ``(n, 1)``; `hidden` is
        not used then. A function of a module (not a lambda) can be pickled. Features of a row may
        be an array, such as an image: ``fit`` and ``predict`` then take X of more than two
        dimensions, the function is given the shape of a row, and the module rows in that shape.
    raw : bool
        Whether a module of your own takes features as they were given, not standardised.
    batch_size : int, optional
        A step looks at the pairs among about so many rows, or whole queries, instead of all rows.
        They are drawn without replacement, with the same share of every group and label, again and
        again; `steps` counts them. For data of which a step on all rows takes too long: what is
        missed is seen less clearly.

    References
    ----------
    .. [1] Gallego-Posada, Ramirez, Hashemizadeh and Lacoste-Julien, "Cooper: A Library for
       Constrained Optimization in Deep Learning", 2025.
    .. [2] Sohrabi, Ramirez, Zhang, Lacoste-Julien and Gallego-Posada, "On PI controllers for
       updating Lagrange multipliers in constrained optimization", ICML 2024.
    """

    name = "neural"
    from_nothing = True

    hidden: tuple[int, ...] = (10,)
    module: Any = None
    raw: bool = False
    batch_size: int | None = None

    @property
    def takes_arrays(self) -> bool:
        """Whether features of a row may be an array: a module of one's own knows what to do."""
        return self.module is not None

    def check(self) -> None:
        """Raise where torch or cooper is not installed, or layers are not numbers of units."""
        _check_extra(self, "torch", {"torch": "torch", "cooper": "cooper-optim"})
        units = np.atleast_1d(np.asarray(self.hidden, dtype=object))
        if not all(isinstance(one, int | np.integer) and one > 0 for one in units):
            raise OptionError("hidden", self.hidden, ["whole numbers from 1 on, such as (32, 32)"])
        # A module that is built already is callable, too, and would be changed by training.
        built = isinstance(self.module, import_module("torch").nn.Module)
        if self.module is not None and (built or not callable(self.module)):
            wanted = "a function from the number of features to a torch.nn.Module"
            raise OptionError("module", self.module, [wanted])
        if self.raw not in (True, False) or (self.raw and self.module is None):
            why = "layers of this package take standardised features"
            raise OptionError("raw", self.raw, ["False", "True beside module="], why)
        batch, wanted = self.batch_size, "a whole number from 2 on, or None for all rows"
        if batch is not None and (not isinstance(batch, int | np.integer) or batch < 2):
            raise OptionError("batch_size", batch, [wanted])

    def build(self, features: Any) -> torch.nn.Module:
        """Return an untrained module for so many features, or arrays, in double precision."""
        import torch

        if self.module is not None:
            own: torch.nn.Module = self.module(features)
            return own.double()
        widths = [features, *map(int, np.atleast_1d(self.hidden)), 1]
        layers: list[torch.nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1]).double()

    def play(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play a game; see :class:`comparity.training.candidates.Kind`."""
        from comparity.training.torch_game import Network, play_network

        features = rows.scale.arrays(rows.features, raw=self.raw)
        network = Network(self.build, features, self.batch_size)
        return play_network(network, rows, referee, choices, pace)

    def parameters(self, model: State, rows: Rows, choices: Choices) -> ModuleParameters:
        """Return a model as a function of the weights of its layers."""
        from comparity.training.torch_losses import ModuleParameters

        features = rows.scale.arrays(rows.features, raw=self.raw)
        return ModuleParameters(self.build, model, features, choices.l2)

    def scores(self, models: Sequence[State], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of each model, in standardised units."""
        features = rows.scale.arrays(rows.features, raw=self.raw)
        if self.module is not None:
            return call_module(self.module, models, features)
        return (forward(_layers(state), features) for state in models)

    def model_of(self, model: State, scale: Scale) -> LayeredModel | ModuleModel:
        """Return a model that takes features as they were given."""
        if self.module is None:
            return LayeredModel(_layers(model), scale)
        return ModuleModel(self.module, model, scale, self.raw)


def _check_extra(scorer: Any, extra: str, packages: Mapping[str, str]) -> None:
    """Raise where a module of an extra, which is named with its package, cannot be imported."""
    for module, package in packages.items():
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            raise MissingExtraError(f"scorer={scorer.name!r}", package, extra) from error
    check_requirements(extra)


def _layers(state: State) -> tuple[Layer, ...]:
    """Return weights and biases in the order of the layers."""
    values = list(state.values())
    return tuple(zip(values[::2], values[1::2], strict=True))


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedTrees(BaseEstimator):  # type: ignore[misc]
    """Boosted trees as scorer: ``FairRanker(scorer=BoostedTrees(leaves=7))``.

    Each of the `steps` of training grows a tree on the gradient over **all** pairs, with the
    multipliers of this package's own referee updated between rounds, and `step_sizes` is the
    learning rate. Candidates are the sums of the first so many trees; mixture and choice on rows
    held out are those of the linear score. `l2` counts per row: it is what LightGBM calls
    ``lambda_l2`` over twice the number of rows.

    Needs ``pip install 'comparity[boosting]'``.

    Parameters
    ----------
    leaves : int
        Most leaves of a tree.
    min_rows : int
        Fewest rows of a leaf.
    params : mapping, optional
        More parameters of LightGBM, such as ``{"feature_fraction": 0.8, "num_threads": 4}``; not
        those that training sets itself.
    """

    name = "boosted"
    from_nothing = True

    leaves: int = 15
    min_rows: int = 20
    params: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Raise where LightGBM is not installed, or a number makes no tree."""
        _check_extra(self, "boosting", {"lightgbm": "lightgbm"})
        for name, least in (("leaves", 2), ("min_rows", 1)):
            found = getattr(self, name)
            if not isinstance(found, int | np.integer) or found < least:
                raise OptionError(name, found, [f"a whole number from {least} on"])
        for instead, names in SAID_OTHERWISE.items():
            if set(names.split()) & set(self.params or {}):
                why = f"{' and '.join(names.split()[:2])} are {instead}"
                raise OptionError("params", dict(self.params or {}), ["other parameters"], why)

    def play(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play a game; see :class:`comparity.training.candidates.Kind`."""
        import lightgbm

        if pace.step_size > LARGEST_RATE:
            why = "a squared error would grow with every tree"
            wanted = f"a learning rate of at most {LARGEST_RATE:g}"
            raise OptionError("step_sizes", pace.step_size, [wanted], why)
        seen: list[Floats] = []
        n = len(rows.weight)
        nothing = NoTreeError(n, rows.features.shape[1], int(self.min_rows))
        if not (np.ptp(rows.features, axis=0) > ZERO).any():
            raise nothing

        def objective(scores: Floats, _: Dataset) -> tuple[Floats, Floats]:
            weights = referee.weights()
            accuracy, slope = rows.slopes(np.asarray(scores), weights, choices)
            referee.see(accuracy, choices.referee_rate)
            seen.append(referee.multipliers())
            pace.tick()
            # Times the number of rows, so that LightGBM's thresholds mean what they say.
            return n * slope, n * curvature(rows, weights, choices)

        asked = self._parameters(choices, pace, n) | {"objective": objective}
        data = lightgbm.Dataset(rows.features, label=np.zeros(n), params=asked)
        booster = lightgbm.train(asked, data, num_boost_round=choices.steps)
        if not booster.feature_importance("split").any():
            raise nothing
        marks = sorted(snapshot_steps(choices.steps, choices.snapshots))
        # Scores without a tree are all equal: no order at all.
        return Play(models=[(booster, mark + 1) for mark in marks], multipliers=later_mean(seen))

    def _parameters(self, choices: Choices, pace: Pace, n: int) -> dict[str, Any]:
        """Return the parameters of LightGBM."""
        return {
            "num_leaves": int(self.leaves),
            "min_data_in_leaf": int(self.min_rows),
            "learning_rate": pace.step_size,
            "lambda_l2": 2 * choices.l2 * n,
            # Rows that weigh little are no reason not to split; too few rows are.
            "min_sum_hessian_in_leaf": 0.0,
            # LightGBM stops at data without a feature that could be split; see NoTreeError.
            "feature_pre_filter": False,
            "seed": pace.seed,
            **_threads(n),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
            **(self.params or {}),
        }

    def parameters(self, model: Grown | Refitted, rows: Rows, choices: Choices) -> LeafParameters:
        """Return a model as a function of the values of its leaves."""
        trees = model.trees if isinstance(model, Refitted) else trees_of(*model)
        return LeafParameters(trees, rows, choices.l2)

    def scores(self, models: Sequence[Grown | Refitted], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of each model, in standardised units."""
        last: Grown | None = None
        scores = np.zeros(0)
        for model in models:
            if isinstance(model, Refitted):
                yield sum_trees(model.trees, rows.features)
                continue
            booster, many = model
            # Candidates of a game come in its order: only the new trees are looked up.
            if last is None or booster is not last[0] or many < last[1]:
                last, scores = (booster, 0), np.zeros(len(rows.weight))
            scores = scores + _sum_part(booster, rows.features, last[1], many)
            last = booster, many
            yield scores

    def model_of(self, model: Grown | Refitted, scale: Scale) -> TreesModel:
        """Return a model that takes features as they were given."""
        trees = model.trees if isinstance(model, Refitted) else trees_of(*model)
        return TreesModel(trees, scale)


def trees_of(booster: Booster, n_trees: int) -> tuple[Tree, ...]:
    """Return the first trees that LightGBM grew; those that were never grown add nothing."""
    text = booster.model_to_string(num_iteration=min(n_trees, booster.num_trees()))
    blocks = text.partition("\nend of trees")[0].split("\nTree=")[1:]
    return tuple(map(_tree_of_text, blocks))


def _tree_of_text(block: str) -> Tree:
    """Return a tree from the lines LightGBM writes of it."""
    lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    # BoostedTrees asks for neither: splits by category and leaves with slopes are other trees.
    assert lines["num_cat"] == "0", lines["num_cat"]
    assert lines["is_linear"] == "0", lines["is_linear"]
    # Bits of a split: 1 for categories, 2 for missing to the left, 4 for zeros, 8 for NaN.
    bits = _codes(lines, "decision_type")
    missing = np.where(bits >> 2 == 0, 0, 2 * (bits >> 2) - 1 + ((bits & 2) >> 1))
    return Tree(
        feature=_codes(lines, "split_feature"),
        threshold=np.array(lines["threshold"].split(), dtype=np.float64),
        missing=missing,
        left=_codes(lines, "left_child"),
        right=_codes(lines, "right_child"),
        leaves=np.array(lines["leaf_value"].split(), dtype=np.float64),
    )


def _codes(lines: Mapping[str, str], name: str) -> Codes:
    return np.array(lines[name].split(), dtype=np.int64)


def curvature(rows: Rows, weights: CellWeights, choices: Choices) -> Floats:
    """Return a positive stand-in for the second derivative in the score of each row.

    Parameters
    ----------
    rows, weights, choices
        Rows, what their losses weigh, and which losses.
    """
    found = np.zeros(len(rows.weight))
    if rows.target is not None:
        found += 2 * weights.objective * rows.share
    if rows.judged is not None:
        found += weights.objective * rows.judged.largest_curvature()
    each = (2.0 if choices.squared else 1.0) / choices.margin**2
    for family, wrong, right in rows.share_out(weights):
        found += each * family.reach(wrong + right)
    return np.maximum(found, LEAST_CURVATURE * max(float(found.mean()), LEAST_CURVATURE))


def _sum_part(booster: Booster, X: Floats, start: int, end: int) -> Floats:
    """Return the sum of some trees; those that were never grown add nothing."""
    end = min(end, booster.num_trees())
    if end <= start:
        return np.zeros(len(X))
    which: dict[str, Any] = {"start_iteration": start, "num_iteration": end - start}
    found = booster.predict(X, raw_score=True, **which, **_threads(len(X)))
    return np.asarray(found, dtype=np.float64)


def _threads(n: int) -> dict[str, Any]:
    return {"num_threads": 1} if n < FEW_ROWS else {}
