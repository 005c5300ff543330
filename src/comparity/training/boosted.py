r"""Boosted trees as scores: LightGBM grows a tree on the gradient of what the referee weighs.

Every round is a step of the game: the gradient of the weighted hinges over all pairs is taken at
the scores so far, the referee sees the true accuracies and moves weight, a tree is grown. The
hinge has no curvature, so a positive stand-in takes its place: for each row the weight of all its
pairs, over the square of the margin (twice that for squared hinges, of which it is a bound). A leaf
then moves by the share of pairs that its rows should still win, net of those they should lose, in
margins: at most one margin, times the step size. A squared error has its own curvature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from comparity.errors import MissingExtraError, NoTreeError, OptionError
from comparity.errors.requirements import check_requirements
from comparity.training.game import CellWeights, Mean, Pace, Play, Referee, snapshot_steps
from comparity.training.goals import Choices
from comparity.training.rows import Rows, Scale
from comparity.training.trees import TreesModel, trees_of

if TYPE_CHECKING:
    from lightgbm import Booster, Dataset

__all__ = ["BoostedTrees", "curvature"]

Floats = NDArray[np.float64]
Grown = tuple["Booster", int]
"""The trees of a game, and how many of them are used."""

LEAST = 1e-6
"""No row has less curvature than this share of the mean, not even one that is in no pair."""
ZERO = 1e-35
"""LightGBM takes smaller numbers for 0, and ends where there are no others."""
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
