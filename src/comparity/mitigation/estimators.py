"""What rankers and regressors with pairwise goals share, as scikit-learn estimators."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from comparity.counting._values import as_array, check_lengths, group_codes, numbers, rows_of
from comparity.counting.labelled import LabelledItems, labelled_items
from comparity.errors import ConstantLabelError, OptionError, WeightError
from comparity.errors.mitigation import (
    EmptyCellError,
    InfeasibleGoalWarning,
    MissingSensitiveError,
    NonFiniteFeatureError,
    TooFewRowsError,
)
from comparity.mitigation import training as games
from comparity.mitigation.accounts import account, worst_difference
from comparity.mitigation.goals import goals_of
from comparity.mitigation.holding_out import held_out
from comparity.mitigation.kinds import kind_of
from comparity.mitigation.linear import LinearModel
from comparity.mitigation.rows import Choices, Rows, Scale
from comparity.mitigation.rows import rows_of as rows_with_pairs
from comparity.mitigation.stochastic import StochasticScorer
from comparity.mitigation.training import Candidates, Chosen
from comparity.tables import check_option, text_of
from comparity.trainings import Training

__all__ = ["FairScorer"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

NAMES = {
    "label": "y",
    "score": "y",
    "sensitive": "sensitive_features",
    "queries": "queries",
    "weights": "sample_weight",
}


class FairScorer(BaseEstimator):  # type: ignore[misc]
    """A score trained under pairwise goals; see its two kinds for what they do."""

    _predicts_labels = False

    def __init__(
        self,
        *,
        scorer: Any = "linear",
        goal: str | tuple[str, ...] | None = "cross-group",
        slack: float = 0.01,
        form: str = "constrained",
        with_overall: bool | None = None,
        continuous: bool = False,
        no_group: Any = None,
        margin: float = 1.0,
        loss: str = "hinge",
        l2: float = 1e-4,
        steps: int = 500,
        step_sizes: float | tuple[float, ...] = 0.15,
        referee_rate: float = 1.0,
        snapshots: int = 100,
        validation_fraction: float = 0.25,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.scorer = scorer
        self.goal = goal
        self.slack = slack
        self.form = form
        self.with_overall = with_overall
        self.continuous = continuous
        self.no_group = no_group
        self.margin = margin
        self.loss = loss
        self.l2 = l2
        self.steps = steps
        self.step_sizes = step_sizes
        self.referee_rate = referee_rate
        self.snapshots = snapshots
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        queries: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Train, and choose among what training went through.

        Parameters
        ----------
        X : array-like, (n, p)
            Features, finite.
        y : array-like, (n,)
            Labels as numbers; the item with the larger label is better.
        sensitive_features : array-like, (n,)
            Group of each row, or a number with ``continuous=True``. Needed where there is a goal.
        queries : array-like, (n,), optional
            Compare only rows of the same query; whole queries are held out.
        sample_weight : array-like, (n,), optional
            Weights; a pair weighs the product of its two. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        choices, kind = self._choices(), kind_of(self.scorer)
        kind.check()
        X, items = self._checked(X, y, sensitive_features, queries, sample_weight, choices)
        rng = check_random_state(self.random_state)
        train, held = self._split(items, rng)
        scale = self._scale(X, items, train)
        rows = self._rows(X, items, train, scale, choices)
        by = rows if held is train else self._rows(X, items, held, scale, choices)
        name = "training" if held is train else "held out"
        # Asked before anything long is done.
        games.asked(by, items.groups, choices, name=name)
        if not self._predicts_labels and not by.pairs.trials.any():
            raise EmptyCellError("ranking", ["items with different labels"], name)
        seed = int(rng.randint(2**31 - 1))
        found, picked = games.trained(
            kind, rows, by, items.groups, choices, name=name, seed=seed, progress=self.progress
        )
        self._keep(found, picked, scale)
        self.groups_ = items.groups
        self.training_ = self._account(found, picked, rows, by, choices)
        self.n_iter_ = choices.steps * len(choices.step_sizes)
        if not self.training_.feasible:
            least = self.training_.mixture.largest_difference
            told = InfeasibleGoalWarning(
                self.slack, least, worst_difference(picked), len(by.weight)
            )
            warnings.warn(told, stacklevel=2)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the scores of the best single model."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=np.float64)
        self._check_features(X)
        return self.model_.scores(X)

    def _choices(self) -> Choices:
        check_option("form", self.form, ("constrained", "robust"))
        check_option("loss", self.loss, ("hinge", "squared hinge"))
        _check_number("slack", self.slack, low=0)
        _check_number("l2", self.l2, low=0)
        _check_number("margin", self.margin, low=0, open_low=True)
        _check_number("referee_rate", self.referee_rate, low=0, open_low=True)
        _check_number("validation_fraction", self.validation_fraction, low=0, high=1)
        for name in ("steps", "snapshots"):
            found = getattr(self, name)
            if not isinstance(found, int | np.integer) or found < 1:
                raise OptionError(name, found, ["a whole number from 1 on"])
        sizes = np.atleast_1d(np.asarray(self.step_sizes, dtype=np.float64))
        for size in sizes.tolist():
            _check_number("step_sizes", size, low=0, open_low=True)
        goals = goals_of(self.goal, continuous=self.continuous)
        # Equation (13) has the overall accuracy in its minimum, the sum of minima has not.
        whole = len(goals) == 1 if self.with_overall is None else self.with_overall
        return Choices(
            goals=goals,
            slack=float(self.slack),
            robust=self.form == "robust",
            with_overall=whole,
            margin=float(self.margin),
            squared=self.loss == "squared hinge",
            l2=float(self.l2),
            steps=int(self.steps),
            step_sizes=tuple(sizes.tolist()),
            referee_rate=float(self.referee_rate),
            snapshots=int(self.snapshots),
        )

    def _checked(
        self, X: Any, y: Any, sensitive: Any, queries: Any, weights: Any, choices: Choices
    ) -> tuple[Floats, LabelledItems]:
        """Return features, and labels with groups, of the rows that weigh anything."""
        X, y = validate_data(
            self,
            X,
            y,
            ensure_all_finite=False,
            ensure_min_samples=2,
            y_numeric=True,
            dtype=np.float64,
        )
        self._check_features(X)
        columns = {"sensitive_features": sensitive, "queries": queries}
        X, given = _weighed(X, y, columns, weights)
        return X, self._items(given, choices)

    def _check_features(self, X: Floats) -> None:
        finite = np.isfinite(X)
        if finite.all():
            return
        names = getattr(self, "feature_names_in_", np.arange(X.shape[1]))
        columns = [text_of(names[place]) for place in np.flatnonzero(~finite.all(axis=0))[:5]]
        broken: NDArray[np.bool_] = ~finite.all(axis=1)  # type: ignore[assignment]
        raise NonFiniteFeatureError(columns, rows_of(broken))

    def _items(self, given: dict[str, NDArray[Any]], choices: Choices) -> LabelledItems:
        """Check labels, groups, queries and weights."""
        y, query, weight = given["y"], given.get("queries"), given.get("sample_weight")
        if "sensitive_features" in given:
            return labelled_items(
                y,
                y,
                given["sensitive_features"],
                queries=query,
                weights=weight,
                continuous=self.continuous,
                no_group=self.no_group,
                names=NAMES,
            )
        if choices.goals:
            raise MissingSensitiveError(self.goal)
        labels = numbers(y, "y", "item")
        if labels.min() == labels.max() and not self._predicts_labels:
            raise ConstantLabelError("y", text_of(labels[0]))
        if query is not None:
            query = group_codes(query, "queries", "item", several=False)[0]
        return LabelledItems(
            label=labels,
            score=labels,
            group=np.zeros(len(y), dtype=np.int64),
            groups=("all",),
            query=query,
            weight=weight,
        )

    def _split(self, items: LabelledItems, rng: Any) -> tuple[Codes, Codes]:
        """Return rows to train on and rows to choose by; the same where none are held out."""
        rows = np.arange(len(items))
        if not self.validation_fraction:
            return rows, rows
        held = held_out(items, self.validation_fraction, rng)
        if held.all() or not held.any():
            kind = "rows" if items.query is None else "queries"
            many = len(rows) if items.query is None else len(np.unique(items.query))
            raise TooFewRowsError(len(rows), many, kind, self.validation_fraction)
        return np.flatnonzero(~held), np.flatnonzero(held)

    def _scale(self, X: Floats, items: LabelledItems, train: Codes) -> Scale:
        weight = np.ones(len(train)) if items.weight is None else items.weight[train]
        share = weight / weight.sum()
        centre = share @ X[train]
        spread = np.sqrt(np.maximum(share @ (X[train] - centre) ** 2, 0))
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(centre))
        scale = Scale(centre=centre, unit=np.where(constant, 1.0, spread))
        if not self._predicts_labels:
            return scale
        label = items.label[train]
        middle = float(share @ label)
        width = math.sqrt(max(float(share @ (label - middle) ** 2), 0.0))
        return replace(scale, label_centre=middle, label_unit=width or 1.0, predicted=True)

    def _rows(
        self, X: Floats, items: LabelledItems, kept: Codes, scale: Scale, choices: Choices
    ) -> Rows:
        return rows_with_pairs(X, items, kept, scale, choices.goals)

    def _keep(self, found: Candidates, picked: Chosen, scale: Scale) -> None:
        """Keep the chosen models, in the units of the features given."""
        self.model_ = found.kind.kept(found.models[picked.best], scale)
        members = [found.kind.kept(found.models[one], scale) for one in picked.mixture.members]
        self.stochastic_ = StochasticScorer(members, picked.mixture.probabilities)
        if isinstance(self.model_, LinearModel):
            self.coef_, self.intercept_ = self.model_.coefficients, self.model_.intercept

    def _account(
        self, found: Candidates, picked: Chosen, rows: Rows, by: Rows, choices: Choices
    ) -> Training:
        return account(found, picked, rows, by, choices)


def _weighed(
    X: Floats, y: NDArray[Any], columns: dict[str, Any], weights: Any
) -> tuple[Floats, dict[str, NDArray[Any]]]:
    """Return features and columns of the rows that weigh anything."""
    given = {name: as_array(one, name) for name, one in columns.items() if one is not None}
    given["y"] = y
    check_lengths(given)
    if weights is None:
        return X, given
    given["sample_weight"] = _check_sample_weight(weights, X, ensure_non_negative=True)
    kept = given["sample_weight"] > 0
    if not kept.any():
        raise WeightError("sample_weight", rows_of(~kept))
    return X[kept], {name: one[kept] for name, one in given.items()}


def _check_number(
    name: str, found: Any, *, low: float, high: float = math.inf, open_low: bool = False
) -> None:
    number = isinstance(found, int | float | np.number) and math.isfinite(found)
    if number and (low < found if open_low else low <= found) and found < high:
        return
    lowest = f"{'above' if open_low else 'from'} {low:g}{'' if open_low else ' on'}"
    wanted = f"a number {lowest}" + (f" and below {high:g}" if math.isfinite(high) else "")
    raise OptionError(name, found, [wanted])
