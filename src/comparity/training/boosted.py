r"""Boosted trees as scores: LightGBM grows a tree on the gradient of what the referee weighs.

Every round is a step of the game: the gradient of the weighted hinges over all pairs is taken at
the scores so far, the referee sees the true accuracies and moves weight, a tree is grown. The
hinge has no curvature, so a positive stand-in takes its place: for each row the weight of all its
pairs, over the square of the margin (twice that for squared hinges, of which it is a bound). A leaf
then moves by the share of pairs that its rows should still win, net of those they should lose, in
margins: at most one margin, times the step size. A squared error has its own curvature.

Trees are kept and scored without LightGBM. Model files come from strangers; LightGBM trusts its own
text and ends the process on a broken one, so it only grows trees here. What they are is a few
arrays, which are checked when a file is read. They give the scores of LightGBM's own ``predict``,
bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from comparity.counts.kernels.compilation import njit
from comparity.errors import MissingExtraError, NoTreeError, OptionError
from comparity.errors.requirements import check_requirements
from comparity.training.game import CellWeights, Mean, Pace, Play, Referee, snapshot_steps
from comparity.training.goals import Choices
from comparity.training.rows import Rows, Scale

if TYPE_CHECKING:
    from lightgbm import Booster, Dataset

__all__ = [
    "MISSING",
    "BoostedTrees",
    "Tree",
    "TreesModel",
    "curvature",
    "sum_trees",
    "trees_of",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MISSING = ("none", "zero right", "zero left", "nan right", "nan left")
"""What counts as missing at a split, and where it goes. NaN is 0 wherever it is not missing."""
ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers up to this one for 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """A decision tree of m splits and m + 1 leaves.

    Attributes
    ----------
    feature : ndarray of int, (m,)
        Column that each split looks at.
    threshold : ndarray, (m,)
        Values up to it go left; it may be infinite.
    missing : ndarray of int, (m,)
        Positions in :data:`MISSING`.
    left, right : ndarray of int, (m,)
        Where rows go: a later split, or -1, -2, ... for the first leaf, the second, ...
    leaves : ndarray, (m + 1,)
        Scores.
    """

    feature: Codes
    threshold: Floats
    missing: Codes
    left: Codes
    right: Codes
    leaves: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TreesModel:
    """A trained sum of trees.

    Attributes
    ----------
    trees : tuple of Tree
        In the order they were grown.
    scale : Scale
        Trees take features as they were given, and give standardised labels.
    """

    trees: tuple[Tree, ...]
    scale: Scale

    def scores(self, X: Floats) -> Floats:
        """Return one score for each row."""
        return self.scale.labels(sum_trees(self.trees, X))


def sum_trees(trees: Iterable[Tree], X: Floats) -> Floats:
    """Return the sum of the leaves that each row falls into, one for each tree.

    Parameters
    ----------
    trees : iterable of Tree
    X : ndarray, (n, p)
        Features as they were given.

    Examples
    --------
    >>> at_most_one = Tree(
    ...     feature=np.array([0]), threshold=np.array([1.0]), missing=np.array([0]),
    ...     left=np.array([-1]), right=np.array([-2]), leaves=np.array([-0.5, 2.0]),
    ... )
    >>> sum_trees([at_most_one], np.array([[1.0], [3.0]])).tolist()
    [-0.5, 2.0]
    """
    features, scores = np.ascontiguousarray(X, dtype=np.float64), np.zeros(len(X))
    for tree in trees:
        _add_leaves(
            features,
            tree.feature,
            tree.threshold,
            tree.missing,
            tree.left,
            tree.right,
            tree.leaves,
            scores,
        )
    return scores


@njit(cache=True, nogil=True)
def _add_leaves(  # type: ignore[no-untyped-def]
    features, feature, threshold, missing, left, right, leaves, scores
):
    """Add to every score the leaf of its row. Defined by the walk in ``tests/plain/trees.py``."""
    start = 0 if len(feature) else -1
    for row in range(len(scores)):
        node = start
        while node >= 0:
            value, kind = features[row, feature[node]], missing[node]
            if abs(value) <= ZERO or (np.isnan(value) and kind < 3):
                value = 0.0
            if np.isnan(value) or (1 <= kind <= 2 and value == 0.0):
                goes_left = kind % 2 == 0
            else:
                goes_left = value <= threshold[node]
            node = left[node] if goes_left else right[node]
        scores[row] += leaves[-node - 1]


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


Grown = tuple["Booster", int]
"""The trees of a game, and how many of them are used."""

LEAST = 1e-6
"""No row has less curvature than this share of the mean, not even one that is in no pair."""
LONGEST = 2.0
"""A tree that moves by the whole error ends at it, and by twice as much is as far beyond."""
SMALL = 10**4
"""Fewer rows are grown and scored in one thread; others would only wait for each other."""
TAKEN = {
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

    def __init__(
        self, *, leaves: int = 15, min_rows: int = 20, params: Mapping[str, Any] | None = None
    ) -> None:
        self.leaves = leaves
        self.min_rows = min_rows
        self.params = params

    def check(self) -> None:
        """Raise where LightGBM is not installed, or a number makes no tree."""
        try:
            import_module("lightgbm")
        except ModuleNotFoundError as error:
            raise MissingExtraError("scorer='boosted'", "lightgbm", "boosting") from error
        check_requirements("boosting")
        for name, least in (("leaves", 2), ("min_rows", 1)):
            found = getattr(self, name)
            if not isinstance(found, int | np.integer) or found < least:
                raise OptionError(name, found, [f"a whole number from {least} on"])
        for instead, names in TAKEN.items():
            if set(names.split()) & set(self.params or {}):
                why = f"{' and '.join(names.split()[:2])} are {instead}"
                raise OptionError("params", dict(self.params or {}), ["other parameters"], why)

    def played(self, rows: Rows, referee: Referee, choices: Choices, pace: Pace) -> Play:
        """Play a game; see :class:`comparity.training.solve.Kind`."""
        import lightgbm

        if pace.step_size > LONGEST:
            why = "a squared error would grow with every tree"
            wanted = f"a learning rate of at most {LONGEST:g}"
            raise OptionError("step_sizes", pace.step_size, [wanted], why)
        seen, steps, n = Mean(choices.steps), iter(range(choices.steps)), len(rows.weight)
        nothing = NoTreeError(n, rows.features.shape[1], int(self.min_rows))
        if not (np.ptp(rows.features, axis=0) > ZERO).any():
            raise nothing

        def objective(scores: Floats, _: Dataset) -> tuple[Floats, Floats]:
            weights = referee.weights()
            accuracy, slope = rows.slopes(np.asarray(scores), weights, choices)
            referee.see(accuracy, choices.referee_rate)
            seen.see(next(steps), referee.multipliers())
            pace.tick()
            # Times the number of rows, so that LightGBM's thresholds mean what they say.
            return n * slope, n * curvature(rows, weights, choices)

        asked = self._asked(choices, pace, n) | {"objective": objective}
        data = lightgbm.Dataset(rows.features, label=np.zeros(n), params=asked)
        booster = lightgbm.train(asked, data, num_boost_round=choices.steps)
        if not booster.feature_importance("split").any():
            raise nothing
        marks = sorted(snapshot_steps(choices.steps, choices.snapshots))
        # Scores without a tree are all equal: no order at all.
        return Play(models=[(booster, mark + 1) for mark in marks], multipliers=seen.value)

    def _asked(self, choices: Choices, pace: Pace, n: int) -> dict[str, Any]:
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

    def scores(self, models: Sequence[Grown], rows: Rows) -> Iterator[Floats]:
        """Yield the scores of each model, in standardised units."""
        last: Grown | None = None
        scores = np.zeros(0)
        for booster, many in models:
            # Candidates of a game come in its order: only the new trees are looked up.
            if last is None or booster is not last[0] or many < last[1]:
                last, scores = (booster, 0), np.zeros(len(rows.weight))
            scores = scores + _summed(booster, rows.features, last[1], many)
            last = booster, many
            yield scores

    def kept(self, model: Grown, scale: Scale) -> TreesModel:
        """Return a model that takes features as they were given."""
        return TreesModel(trees_of(*model), scale)


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
    each = (2.0 if choices.squared else 1.0) / choices.margin**2
    for family, wrong, right in rows.shared_out(weights):
        found += each * family.reach(wrong + right)
    return np.maximum(found, LEAST * max(float(found.mean()), LEAST))


def _summed(booster: Booster, X: Floats, start: int, end: int) -> Floats:
    """Return the sum of some trees; those that were never grown add nothing."""
    end = min(end, booster.num_trees())
    if end <= start:
        return np.zeros(len(X))
    which: dict[str, Any] = {"start_iteration": start, "num_iteration": end - start}
    found = booster.predict(X, raw_score=True, **which, **_threads(len(X)))
    return np.asarray(found, dtype=np.float64)


def _threads(n: int) -> dict[str, Any]:
    return {"num_threads": 1} if n < SMALL else {}
