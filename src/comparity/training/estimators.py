"""What rankers and regressors with pairwise goals have in common."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from comparity.errors import ConstantLabelError
from comparity.errors.fits import (
    InfeasibleGoalWarning,
    MissingSensitiveError,
    UnknownMovesError,
)
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.tables.frames import text_of
from comparity.tables.typing import Attributes, Column, Matrix
from comparity.tables.values import bounded_numbers, numbers
from comparity.training.adjust import adjust_model, check_adjustable
from comparity.training.candidates import kind_of
from comparity.training.feature_checks import (
    features_to_fit,
    features_to_score,
    flatten_arrays,
    sensitive_column,
    weigh_rows,
)
from comparity.training.fitting import account, fit_score, keep_fit, prepare_rows
from comparity.training.goals import Choices, check_number, choices_of
from comparity.training.group_moves import GroupMoves
from comparity.training.rows import training_rows
from comparity.training.scoring import GoalScore, check_averaged, query_codes

Floats = NDArray[np.float64]

CHOICES = signature(choices_of).parameters.keys() - {"predicted"}
"""Parameters that say how to train."""


@dataclass(kw_only=True, eq=False, repr=False)
class FairScorer(BaseEstimator):  # type: ignore[misc]
    """A score trained under pairwise goals; see its two kinds for what they do."""

    scorer: Any = "linear"
    goal: str | tuple[str, ...] | None = "cross-group"
    slack: float = 0.01
    form: str = "constrained"
    with_overall: bool | None = None
    continuous: bool = False
    no_group: Any = None
    margin: float = 1.0
    loss: str = "hinge"
    l2: float = 1e-4
    steps: int = 500
    step_sizes: float | tuple[float, ...] = 0.15
    referee_rate: float = 1.0
    snapshots: int = 100
    mixture: str = "sparse"
    polish: bool = True
    adjust: str | None = None
    average: str = "pairs"
    pair_weight: str = "equal"
    validation_fraction: float = 0.25
    random_state: Any = None
    progress: bool = True

    # Whoever searches with groups is given a score that knows them, without asking for it.
    __metadata_request__score = {"sensitive_features": True}  # noqa: RUF012

    _predicts_labels = False
    _lay_out: ClassVar[Any] = staticmethod(training_rows)
    _account = staticmethod(account)

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
            Features, finite; of a network with a module of your own also arrays, (n, ...).
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
        X, shape = flatten_arrays(X, self.scorer)
        X, items = self._check_rows(X, y, sensitive_features, queries, sample_weight, choices)
        self.groups_ = items.groups
        check_averaged(choices.average, items)
        asked = choices
        if self.adjust is not None:
            check_adjustable(self.adjust, asked, items, predicted=self._predicts_labels)
            choices = replace(choices, goals=())
        ready = prepare_rows(
            X,
            items,
            choices,
            predicted=self._predicts_labels,
            fraction=self.validation_fraction,
            rng=check_random_state(self.random_state),
            layout=self._lay_out,
            shape=shape,
        )
        fit = fit_score(kind, ready, choices, progress=self.progress, tell_of=self._account)
        missed = keep_fit(self, fit, choices)
        self.adjustment_: GroupMoves | None = None
        if self.adjust is not None:
            # Scores of its members are not moved.
            del self.stochastic_
            facts = self.adjust, fit.model, fit.training, ready, asked, X
            self.adjustment_, self.training_ = adjust_model(*facts)
        return missed

    def predict(self, X: Any, sensitive_features: Any = None) -> Floats:
        """Return the scores of the best single model.

        Where ``training_.single_misses``, it is ``stochastic_`` alone that keeps the goal.

        Parameters
        ----------
        X : array-like, (n, p)
            Features, finite.
        sensitive_features : array-like, (n,), optional
            Group of each row; needed with `adjust`, and not looked at without.
        """
        features = features_to_score(self, flatten_arrays(X, self.scorer)[0])
        scores: Floats = self.model_.scores(features)
        if self.adjustment_ is None:
            return scores
        if sensitive_features is None:
            assert self.adjust is not None
            raise UnknownMovesError(self.adjust)
        column = sensitive_column(sensitive_features)
        return self.adjustment_.transform(scores, sensitive_features=column)

    def score(
        self,
        X: Matrix,
        y: Column,
        *,
        sensitive_features: Attributes | None = None,
        queries: Column | None = None,
        sample_weight: Column | None = None,
    ) -> float:
        """Return the share of pairs ordered as labels say, or R squared of a regressor.

        Parameters
        ----------
        X, y, queries, sample_weight
            As for ``fit``.
        sensitive_features : array-like, (n,), optional
            Where given and differences are limited, the score is that of
            :class:`comparity.training.scoring.GoalScore`: minus a penalty where the goal is missed
            by more than 0.01, whatever `slack` is.

        Returns
        -------
        float
            At most 1. Equal scores are not in order; ``nan`` where no two labels differ.
        """
        counted: dict[str, Any] = {"average": self.average, "pair_weight": self.pair_weight}
        score = GoalScore(goal=None, **counted)
        if sensitive_features is not None and self.form == "constrained":
            how = {"continuous": self.continuous, "no_group": self.no_group, **counted}
            score = GoalScore(goal=self.goal, **how)
        return score(self, X, y, sensitive_features, queries, sample_weight)

    def _choices(self) -> Choices:
        check_number("validation_fraction", self.validation_fraction, low=0, high=1)
        given = {name: getattr(self, name) for name in CHOICES}
        return choices_of(**given, predicted=self._predicts_labels)

    def _check_rows(
        self, X: Any, y: Any, sensitive: Any, queries: Any, weights: Any, choices: Choices
    ) -> tuple[Floats, LabelledItems]:
        """Return features, and labels with groups, of the rows that weigh anything."""
        X, y = features_to_fit(self, X, y, y_numeric=True)
        column = None if sensitive is None else sensitive_column(sensitive)
        X, given = weigh_rows(X, y, {"queries": queries, "sensitive_features": column}, weights)
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
                names={**NAMES, "label": "y", "score": "y"},
            )
        if choices.goals:
            raise MissingSensitiveError(self.goal)
        labels = numbers(y, "y", "item")
        if labels.min() == labels.max() and not self._predicts_labels:
            raise ConstantLabelError("y", text_of(labels[0]))
        same: Any = {"label": labels, "score": labels, "query": query_codes(query)}
        nobody = np.zeros(len(labels), dtype=np.int64)
        return LabelledItems(**same, group=nobody, groups=("all",), weight=weight)
