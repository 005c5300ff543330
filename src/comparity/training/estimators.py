"""What rankers and regressors with pairwise goals share, as scikit-learn estimators."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from comparity.errors import ConstantLabelError, WeightError
from comparity.errors.fits import InfeasibleGoalWarning, MissingSensitiveError
from comparity.tables.frames import text_of
from comparity.tables.items import LabelledItems, labelled_items
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_lengths,
    group_codes,
    numbers,
    rows_of,
)
from comparity.training.fitting import account, fitted, laid_out, prepared
from comparity.training.goals import Choices, check_share, choices_of
from comparity.training.mixtures import StochasticScorer
from comparity.training.result import Training
from comparity.training.rows import Rows, Scale, check_features, sensitive_column, unmasked
from comparity.training.scorers import LinearModel, kind_of
from comparity.training.solve import Candidates, Chosen

__all__ = ["FairScorer", "weighed"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

CHOICES = (
    *("goal", "slack", "form", "with_overall", "continuous", "margin", "loss", "l2", "steps"),
    *("step_sizes", "referee_rate", "snapshots"),
)
"""Parameters that say how to train."""
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
            Group of each row, or a number with ``continuous=True``; a frame may have one column.
            Needed where there is a goal.
        queries : array-like, (n,), optional
            Compare only rows of the same query; whole queries are held out.
        sample_weight : array-like, (n,), optional
            Weights; a pair weighs the product of its two. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        missed = self._fit(X, y, sensitive_features, queries, sample_weight)
        if missed is not None:
            warnings.warn(missed, stacklevel=2)
        return self

    def _fit(
        self, X: Any, y: Any, sensitive_features: Any, queries: Any, sample_weight: Any
    ) -> InfeasibleGoalWarning | None:
        """Train as :meth:`fit` does, and return what it warns of."""
        choices, kind = self._choices(), kind_of(self.scorer)
        kind.check()
        X, items = self._checked(X, y, sensitive_features, queries, sample_weight, choices)
        self.groups_ = items.groups
        ready = prepared(
            X,
            items,
            choices,
            predicted=self._predicts_labels,
            fraction=self.validation_fraction,
            rng=check_random_state(self.random_state),
            layout=self._rows,
        )
        fit = fitted(kind, ready, choices, progress=self.progress, accounted=self._account)
        self.model_, mixture, self.training_, missed = fit
        names = getattr(self, "feature_names_in_", None)
        self.stochastic_ = StochasticScorer(mixture.members, mixture.probabilities, names)
        if isinstance(self.model_, LinearModel):
            self.coef_, self.intercept_ = self.model_.coefficients, self.model_.intercept
        self.n_iter_ = choices.steps * len(choices.step_sizes)
        return missed

    def predict(self, X: Any) -> Floats:
        """Return the scores of the best single model.

        Where ``training_.single_misses``, it is ``stochastic_`` alone that keeps the goal.
        """
        check_is_fitted(self)
        X = validate_data(self, unmasked(X), reset=False, ensure_all_finite=False, dtype=np.float64)
        check_features(X, getattr(self, "feature_names_in_", None))
        return self.model_.scores(X)

    def _choices(self) -> Choices:
        check_share("validation_fraction", self.validation_fraction)
        given = {name: getattr(self, name) for name in CHOICES}
        return choices_of(**given, predicted=self._predicts_labels)

    def _checked(
        self, X: Any, y: Any, sensitive: Any, queries: Any, weights: Any, choices: Choices
    ) -> tuple[Floats, LabelledItems]:
        """Return features, and labels with groups, of the rows that weigh anything."""
        X, y = validate_data(
            self,
            unmasked(X),
            unmasked(y),
            ensure_all_finite=False,
            ensure_min_samples=2,
            y_numeric=True,
            dtype=np.float64,
        )
        check_features(X, getattr(self, "feature_names_in_", None))
        columns = {"queries": queries}
        if sensitive is not None:
            columns["sensitive_features"] = sensitive_column(sensitive)
        X, given = weighed(X, y, columns, weights)
        return X, self._items(given, choices)

    def _items(self, given: dict[str, NDArray[Any]], choices: Choices) -> LabelledItems:
        """Check labels, groups, queries and weights."""
        y, query, weight = given["y"], given.get("queries"), given.get("sample_weight")
        if self._predicts_labels:
            # Squares are taken of what is predicted, and only the order of what is ranked counts.
            y = bounded_numbers(y, "y", "item")
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
        return _of_one_group(labels, query, weight)

    def _rows(
        self, X: Floats, items: LabelledItems, kept: Codes, scale: Scale, choices: Choices
    ) -> Rows:
        return laid_out(X, items, kept, scale, choices)

    def _account(
        self, found: Candidates, picked: Chosen, rows: Rows, by: Rows, choices: Choices
    ) -> Training:
        return account(found, picked, rows, by, choices)


def _of_one_group(
    labels: Floats, query: NDArray[Any] | None, weight: Floats | None
) -> LabelledItems:
    """Return rows whose groups nobody asks for."""
    if query is not None:
        query = group_codes(query, "queries", "item", several=False)[0]
    nobody = np.zeros(len(labels), dtype=np.int64)
    return LabelledItems(
        label=labels, score=labels, group=nobody, groups=("all",), query=query, weight=weight
    )


def weighed(
    X: Floats, y: NDArray[Any], columns: dict[str, Any], weights: Any
) -> tuple[Floats, dict[str, NDArray[Any]]]:
    """Return features and columns of the rows that weigh anything."""
    given = {name: as_array(one, name) for name, one in columns.items() if one is not None}
    given["y"] = y
    check_lengths(given)
    if weights is None:
        return X, given
    given["sample_weight"] = _check_sample_weight(unmasked(weights), X, ensure_non_negative=True)
    kept = given["sample_weight"] > 0
    if not kept.any():
        raise WeightError("sample_weight", rows_of(~kept))
    return X[kept], {name: one[kept] for name, one in given.items()}
