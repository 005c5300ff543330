"""What rankers and regressors with pairwise goals have in common, and how a search scores them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRequest

from comparity.errors import ConstantLabelError, OptionError
from comparity.errors.fits import InfeasibleGoalWarning, MissingSensitiveError, UnknownMovesError
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.tables.frames import text_of
from comparity.tables.typing import Attributes, Column, Matrix
from comparity.tables.values import as_array, bounded_numbers, check_lengths, group_codes, numbers
from comparity.training.candidates import goal_terms, kind_of
from comparity.training.feature_checks import (
    features_to_fit,
    features_to_score,
    flatten_arrays,
    sensitive_column,
    weigh_rows,
)
from comparity.training.fitting import account, fit_score, keep_fit, prepare_rows
from comparity.training.goals import Choices, check_number, choices_of, largest_difference
from comparity.training.group_moves import GroupMoves, adjust_model, check_adjustable
from comparity.training.losses import labelled_pairs
from comparity.training.rows import Scale, training_rows

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
            :class:`comparity.training.estimators.GoalScore`: minus a penalty where the goal is
            missed by more than 0.01, whatever `slack` is.

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


Given = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalScore:
    r"""Score models for a search: accuracy, minus a penalty beyond a slack.

    .. math:: A - \pi \max(0, D - \epsilon)

    with :math:`A` the share of pairs that predictions order as labels do (of a regressor
    :math:`R^2`), and :math:`D` the largest difference that the goal speaks of, both on the rows
    given: in a search, those that the model was not trained on. Among models that keep the slack
    the most accurate one wins. The slack is the same for all models, whatever slack each was
    trained with, so that a search over ``slack`` does not prefer the widest one.

    Parameters
    ----------
    slack : float
        :math:`\epsilon`, the largest difference that costs nothing.
    goal, continuous, no_group
        As in :class:`comparity.FairRanker`.
    penalty : float
        :math:`\pi`. With 5, a difference one point beyond the slack costs as much as five points
        of accuracy. It must exceed what a point of difference is worth in accuracy.

    average, pair_weight : str
        How pairs count, as in :class:`comparity.FairRanker`.

    Notes
    -----
    Pass it as ``scoring=`` of a search or of ``cross_validate``, with scikit-learn's metadata
    routing switched on: it asks for ``sensitive_features``, and for ``queries`` and
    ``sample_weight`` where these are given. Or call it on a fitted model, as in the example.

    Examples
    --------
    >>> from comparity import FairRanker
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    >>> X = np.column_stack([y + 1.5 * group, y]) + rng.normal(size=(1000, 2))
    >>> worth = GoalScore(slack=0.05)
    >>> for goal in (None, "cross-group"):
    ...     ranker = FairRanker(goal=goal, slack=0.05, steps=50, random_state=0)
    ...     ranker = ranker.fit(X, y, sensitive_features=group)
    ...     worth(ranker, X, y, sensitive_features=group) > 0.6
    False
    True
    """

    slack: float = 0.01
    goal: str | tuple[str, ...] | None = "cross-group"
    penalty: float = 5.0
    continuous: bool = False
    no_group: Any = None
    average: str = "pairs"
    pair_weight: str = "equal"

    def __post_init__(self) -> None:
        check_number("penalty", self.penalty, low=0)
        self._choices()

    def _choices(self) -> Choices:
        names = ("goal", "slack", "continuous", "average", "pair_weight")
        return choices_of(**{name: getattr(self, name) for name in names})

    def __call__(
        self,
        estimator: Any,
        X: Matrix,
        y: Column,
        sensitive_features: Attributes | None = None,
        queries: Column | None = None,
        sample_weight: Column | None = None,
    ) -> float:
        """Return the score of a fitted model; larger is better, at most 1.

        Parameters
        ----------
        estimator : FairRanker, FairRegressor, or a pipeline that ends in one
            Or any other model whose ``predict`` returns numbers to order items by.
        X, y, sensitive_features, queries, sample_weight
            As for ``fit``.

        Raises
        ------
        MissingSensitiveError
            There is a goal, and no groups were passed.
        EmptyCellError
            The rows given have no pair of a kind that the goal compares.
        """
        column = None if sensitive_features is None else sensitive_column(sensitive_features)
        moved = getattr(estimator, "adjustment_", None) is not None
        known = {"sensitive_features": column} if moved else {}
        label, scores = numbers(as_array(y, "y"), "y", "item"), estimator.predict(X, **known)
        check_lengths({"y": label, "X": scores})
        columns = {"queries": queries, "sensitive_features": column}
        scores, given = weigh_rows(scores, label, columns, sample_weight)
        accuracy = _r_squared if is_regressor(estimator) else self._pairs_in_order
        beyond = self._difference(scores, given) - self.slack if self.goal else 0.0
        return accuracy(scores, given) - self.penalty * max(0.0, beyond)

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for groups, queries and weights."""
        asked = MetadataRequest(owner=type(self).__name__)
        for name in ("sensitive_features", "queries", "sample_weight"):
            asked.score.add_request(param=name, alias=True)
        return asked

    def _pairs_in_order(self, scores: Floats, given: Given) -> float:
        """Return the share of pairs ordered as labels say; ``nan`` where no two labels differ."""
        nobody = np.zeros(len(scores), dtype=np.int64)
        how: dict[str, Any] = {"average": self.average, "pair_weight": self.pair_weight}
        how |= {"query": query_codes(given.get("queries")), "weights": given.get("sample_weight")}
        return float(labelled_pairs(given["y"], nobody, ("all",), **how).sums(scores).accuracy[0])

    def _difference(self, scores: Floats, given: Given) -> float:
        """Return the largest difference that the goal speaks of."""
        if "sensitive_features" not in given:
            raise MissingSensitiveError(self.goal, scored=True)
        items = labelled_items(
            given["y"],
            scores,
            given["sensitive_features"],
            queries=given.get("queries"),
            weights=given.get("sample_weight"),
            continuous=self.continuous,
            no_group=self.no_group,
            names={**NAMES, "label": "y", "score": "predictions"},
        )
        choices = self._choices()
        check_averaged(self.average, items)
        n, none = len(scores), np.zeros(0)
        scale = Scale(centre=none, unit=none)
        rows = training_rows(np.zeros((n, 0)), items, np.arange(n), scale, choices)
        terms = goal_terms(rows, items.groups, choices, name="scored")
        # No goal rests on a cell without pairs.
        return largest_difference(terms, np.nan_to_num(rows.accuracy(scores)))


def _r_squared(scores: Floats, given: Given) -> float:
    return float(r2_score(given["y"], scores, sample_weight=given.get("sample_weight")))


def check_averaged(average: str, items: LabelledItems) -> None:
    """Refuse means over queries where there are none."""
    if average == "queries" and items.query is None:
        why = "there are no queries to average over"
        raise OptionError("average", average, ["'pairs'", "queries= beside it"], why)


def query_codes(queries: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """Return the number of each item's query; None where there are no queries."""
    if queries is None:
        return None
    return group_codes(queries, "queries", "item", several=False)[0]
