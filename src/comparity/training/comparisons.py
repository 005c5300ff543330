"""A ranker that learns from comparisons: judged pairs instead of labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from comparity.errors.fits import MissingSensitiveError
from comparity.ranking.judgments import Judgments, judgments_of
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.tables.typing import Attributes, Column, Comparisons, Matrix
from comparity.tables.values import check_lengths
from comparity.training.bradley_terry_loss import (
    DecidedJudgments,
    adjust_for_judges,
    decided_judgments,
    split_judgments,
)
from comparity.training.candidates import PreparedRows, kind_of
from comparity.training.estimators import FairScorer, GoalScore
from comparity.training.feature_checks import check_features, sensitive_column, unmask
from comparity.training.fitting import Layout, fit_score, keep_fit, prepare_rows
from comparity.training.goals import Choices
from comparity.training.rows import Rows, Scale, training_rows

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(kw_only=True, eq=False, repr=False)
class ComparisonRanker(FairScorer):
    r"""Rank by a score that is learned from judged pairs, and treats kinds of pairs alike.

    No labels are needed. Items have features, and some pairs of items were judged: which of the
    two is better. The score minimises the Bradley-Terry loss of the judgments [1]_ [2]_, under a
    goal for the shares :math:`A_{i>j}` of judgments with the better item in group i and the worse
    in j that it agrees with:

    .. math:: \min_f \frac{1}{m} \sum_{(x, x')} \log_2 \left(1 + e^{-(f(x) - f(x'))}\right)
        \quad \text{s.t.} \quad A_{i>j}(f) - A_{k>l}(f) \le \epsilon

    With ``goal="all cells"`` that is comparative separation [3]_, which
    :func:`comparity.comparative_separation` tests. Goals, forms, scorers and the way of training
    are those of :class:`comparity.FairRanker`. A linear score without a goal is a logistic
    regression on differences of features, without intercept; it is trained on all judgments.

    Parameters
    ----------
    adjust_judges : bool
        Whether to take out how far each evaluator leans toward a group, and how sharp each is, as
        :func:`comparity.barp` estimates them; `fit` needs ``evaluators`` then. The common level of
        the leans rests on its assumption that groups have the same mean quality.
    scorer, goal, slack, form, with_overall, continuous, no_group, margin, loss, l2, steps
        As in :class:`comparity.FairRanker`; `margin` and `loss` are those of the goals' hinges.
    step_sizes, referee_rate, snapshots, mixture, random_state, progress
        As there.
    validation_fraction : float
        Share of the judgments held out to choose by. Judgments of the same two items stay together,
        and whole parts of the data where nobody judged between parts.

    Attributes
    ----------
    n_ties_ : int
        Judgments without an order. They are counted, and left out.
    model_, coef_, stochastic_, training_, groups_
        As in :class:`comparity.FairRanker`; rows that `training_` tells of are judgments.

    Notes
    -----
    Judgments are one for each pair, and not one for each row of X, so that this is an estimator of
    its own: scikit-learn's searches split rows, and would part judgments from their items.

    References
    ----------
    .. [1] Bradley and Terry, "Rank analysis of incomplete block designs", Biometrika 1952.
    .. [2] Burges et al., "Learning to rank using gradient descent", ICML 2005.
    .. [3] Xi, Capak, Stockwell and Yu, "Comparative Separation", sections 2.3 and 3.3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, quality = rng.integers(0, 2, 500), rng.normal(size=500)
    >>> X = np.column_stack([quality + group, quality]) + 0.7 * rng.normal(size=(500, 2))
    >>> first = rng.integers(0, 500, 4000)
    >>> pairs = np.column_stack([first, (first + rng.integers(1, 500, 4000)) % 500])
    >>> apart = quality[pairs[:, 0]] - quality[pairs[:, 1]]
    >>> won = apart + rng.logistic(size=4000) / 3 > 0
    >>> judged = np.where(won[:, None], pairs, pairs[:, ::-1])    # better item first
    >>> ranker = ComparisonRanker(slack=0.02, steps=200, random_state=0)
    >>> training = ranker.fit(X, judged, sensitive_features=group).training_
    >>> training.start.largest_difference > 0.1, training.best.largest_difference <= 0.021
    (True, True)
    """

    adjust_judges: bool = False
    # Moving scores is fitted to labels.
    adjust: Any = field(default=None, init=False)
    # Judged pairs have no labels to differ by, and are no queries.
    average: Any = field(default="pairs", init=False)
    pair_weight: Any = field(default="equal", init=False)

    def fit(  # type: ignore[override]
        self,
        X: Matrix,
        comparisons: Comparisons | Judgments,
        sensitive_features: Attributes | None = None,
        *,
        evaluators: Column | None = None,
        ties: Column | None = None,
    ) -> Self:
        """Train on judgments, and choose among what training went through.

        Parameters
        ----------
        X : array-like, (n, p)
            Features of the items, finite.
        comparisons : array-like (m, 2) of int, or a frame with columns ``better`` and ``worse``
            Positions of items in X, the better one first.
        sensitive_features : array-like, (n,)
            Group of each item, or a number with ``continuous=True``. Needed where there is a goal.
        evaluators : array-like or str, optional
            Who judged, for each comparison; or the name of a column of the frame.
        ties : array-like of bool or str, optional
            Which comparisons are ties; the column ``tied`` of the frame, if it has one, by default.

        Returns
        -------
        self
        """
        choices, kind = self._choices(), kind_of(self.scorer)
        kind.check()
        features = self._features(X)
        if sensitive_features is None and choices.goals:
            raise MissingSensitiveError(self.goal)
        column = None if sensitive_features is None else sensitive_column(sensitive_features)
        judgments = judgments_of(
            comparisons, n_items=len(features), evaluators=evaluators, ties=ties
        )
        judged = decided_judgments(judgments)
        if self.adjust_judges:
            if column is None:
                raise MissingSensitiveError("adjust_judges=True")
            judged = adjust_for_judges(
                judgments,
                _standardise(features),
                column,
                continuous=self.continuous,
                l2=choices.l2,
            )
        self.n_ties_ = judged.n_ties
        ready = self._prepare(features, judged, column, choices, kind.from_nothing)
        missed = keep_fit(self, fit_score(kind, ready, choices, progress=self.progress), choices)
        if missed is not None:
            warnings.warn(missed, stacklevel=2)
        return self

    def score(  # type: ignore[override]
        self,
        X: Matrix,
        comparisons: Comparisons,
        *,
        sensitive_features: Attributes | None = None,
        ties: Column | None = None,
    ) -> float:
        """Return the share of judgments that scores agree with.

        Parameters
        ----------
        X, comparisons, ties
            As for ``fit``.
        sensitive_features : array-like, (n,), optional
            Where given and differences are limited, the score is that of
            :class:`comparity.training.estimators.GoalScore`: minus a penalty where the goal is
            missed by more than 0.01.
        """
        scores = self.predict(X)
        judged = decided_judgments(judgments_of(comparisons, n_items=len(scores), ties=ties))
        side = _sides(len(judged))
        goal, column = None, None
        if sensitive_features is not None and self.form == "constrained":
            goal, column = self.goal, sensitive_column(sensitive_features)[judged.rows]
        worth = GoalScore(goal=goal, continuous=self.continuous, no_group=self.no_group)
        return worth(_Known(scores[judged.rows]), side.label, side.label, column, side.query)

    def _features(self, X: Any) -> Floats:
        how: dict[str, Any] = {"dtype": np.float64, "ensure_min_samples": 2}
        features: Floats = validate_data(self, unmask(X), ensure_all_finite=False, **how)
        check_features(features, getattr(self, "feature_names_in_", None))
        return features

    def _prepare(
        self,
        features: Floats,
        judged: DecidedJudgments,
        column: NDArray[Any] | None,
        choices: Choices,
        from_nothing: bool,
    ) -> PreparedRows:
        """Lay judgments out as rows, two for each, and hold some out."""
        items = self._sides_of(judged, len(features), column)
        self.groups_ = items.groups
        rng = check_random_state(self.random_state)
        # A linear score without a goal is one minimum: there is nothing to choose.
        chosen = bool(choices.goals) or from_nothing
        fraction = self.validation_fraction if chosen else 0.0
        return prepare_rows(
            features[judged.rows],
            items,
            choices,
            predicted=False,
            fraction=fraction,
            rng=rng,
            layout=lay_out(judged),
            split=hold_out_judgments(judged, fraction, rng),
        )

    def _sides_of(
        self, judged: DecidedJudgments, n_items: int, column: NDArray[Any] | None
    ) -> LabelledItems:
        """Return the two sides of each judgment as rows of a query of their own."""
        side = _sides(len(judged))
        weight = None if judged.weight is None else np.repeat(np.sqrt(judged.weight), 2)
        if column is None:
            nobody = np.zeros(len(side.label), dtype=np.int64)
            return replace(side, group=nobody, groups=("all",), weight=weight)
        check_lengths({"X": np.empty(n_items, np.int8), "sensitive_features": column})
        return labelled_items(
            side.label,
            side.label,
            column[judged.rows],
            queries=side.query,
            weights=weight,
            continuous=self.continuous,
            no_group=self.no_group,
            names={**NAMES, "label": "comparisons", "score": "comparisons"},
        )


class _Known(BaseEstimator):  # type: ignore[misc]
    """A model whose predictions are known."""

    def __init__(self, scores: Floats) -> None:
        self.scores = scores

    def predict(self, X: Any) -> Floats:
        """Return the predictions."""
        return self.scores


def _sides(n: int) -> LabelledItems:
    """Return rows for so many judgments: the better item has label 1, the worse one 0."""
    label, query = np.tile([1.0, 0.0], n), np.repeat(np.arange(n), 2)
    none = np.zeros(0, dtype=np.int64)
    return LabelledItems(label=label, score=label, group=none, groups=(), query=query)


def lay_out(judged: DecidedJudgments) -> Layout:
    """Return how some rows are laid out: with their pairs, and the loss of their judgments."""

    def layout(
        features: Floats, items: LabelledItems, kept: Codes, scale: Scale, choices: Choices
    ) -> Rows:
        rows = training_rows(features, items, kept, scale, choices)
        return replace(rows, judged=judged.loss.take(kept[::2] // 2))

    return layout


def hold_out_judgments(
    judged: DecidedJudgments, fraction: float, rng: Any
) -> tuple[Codes, Codes] | None:
    """Return rows to train on and rows to choose by; None where none are held out."""
    if not fraction:
        return None
    parts = split_judgments(judged.pairs, fraction, rng)
    train, held = (np.column_stack([2 * part, 2 * part + 1]).reshape(-1) for part in parts)
    return train, held


def _standardise(features: Floats) -> Floats:
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, np.inf))
