r"""Training with a penalty on the correlation of score differences and group differences.

For pairs of a better and a worse item the penalty is :math:`|\mathrm{corr}(t, b)|` with
:math:`t` the score of the better minus that of the worse, and :math:`b` the same of the group, 0 or
1 (Beutel et al., "Fairness in recommendation through pairwise experiments", 2019). Means and
covariances over all pairs need no pairs: with :math:`L` the Laplacian of the graph that joins rows
with different labels, the sum of :math:`(u_i - u_j)(v_i - v_j)` over all pairs is
:math:`u^\top L v`, and sums over rows with other labels are sums over all rows minus those over
rows with the same label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import MissingSensitiveError
from comparity.tables.features import LabelledItems
from comparity.training.candidates import Candidates
from comparity.training.estimators import FairScorer
from comparity.training.fitting import account
from comparity.training.goals import Choices, Terms, check_number, terms_of
from comparity.training.mixtures import Chosen
from comparity.training.rankers import FairRanker, FairRegressor
from comparity.training.result import Training
from comparity.training.rows import CellWeights, Rows, Scale, take_items, training_rows

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LEAST_SPREAD = 1e-12
"""A direction whose differences over pairs have a smaller SD than this has no correlation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairMoments:
    """Covariances of differences over all pairs of a better and a worse row.

    Attributes
    ----------
    features : ndarray, (p, p)
        Covariance of differences of features.
    crossed : ndarray, (p, G)
        Their covariance with differences of group indicators, or of the attribute.
    spread : ndarray, (G,)
        Standard deviations of the latter.
    """

    features: Floats
    crossed: Floats
    spread: Floats

    def penalty(self, slope: Floats) -> tuple[float, Floats]:
        """Return the mean of absolute correlations with a linear score, and its gradient.

        A column, or a score, that is constant has no correlation.
        """
        variance = float(slope @ self.features @ slope)
        if variance <= LEAST_SPREAD**2:
            return 0.0, np.zeros(len(slope))
        each = self.crossed / (
            math.sqrt(variance) * np.where(self.spread > LEAST_SPREAD, self.spread, np.inf)
        )
        rho = slope @ each
        each -= np.outer(self.features @ slope / variance, rho)
        return float(np.abs(rho).mean()), each @ np.sign(rho) / len(rho)


def pair_moments(
    features: Floats,
    label: Floats,
    columns: Floats,
    *,
    query: Codes | None = None,
    weights: Floats | None = None,
) -> PairMoments:
    """Sum up all pairs of rows with different labels of the same query, without listing them.

    Parameters
    ----------
    features : ndarray, (n, p)
        Finite.
    label : ndarray, (n,)
        Labels; the row with the larger one is the better.
    columns : ndarray, (n, G)
        Group indicators, or a number.
    query : ndarray of int, optional
        Rows are compared only within a query.
    weights : ndarray, optional
        A pair weighs the product of the weights of its rows.

    Notes
    -----
    O(n log n + n p (p + G)). Defined by the double loop in ``tests/plain/correlation.py``.
    """
    weight = np.ones(len(label)) if weights is None else weights
    segment = np.zeros(len(label), dtype=np.int64) if query is None else query
    level = np.unique(label, return_inverse=True)[1].reshape(-1)
    tied = np.unique(segment * (int(level.max(initial=0)) + 1) + level, return_inverse=True)[1]
    segment = np.unique(segment, return_inverse=True)[1].reshape(-1)
    tied = tied.reshape(-1)
    others = _sums(segment, weight) - _sums(tied, weight)
    # Without pairs all sums are 0.
    total = float(weight @ others) / 2 or 1.0
    # Rows are sorted by query and label, so that those below a row come before it.
    order = np.lexsort((level, segment))
    net = np.empty(len(label))
    net[order] = _net(weight[order], segment[order], tied[order])
    both = np.column_stack([features, columns])
    # Centring changes no difference, and keeps digits.
    both = both - both.mean(axis=0)
    apart = np.column_stack([_sums(segment, c) - _sums(tied, c) for c in (both.T * weight)])
    products = both.T @ (weight[:, None] * (others[:, None] * both - apart)) / total
    mean = net @ both / total
    covariance = products - np.outer(mean, mean)
    p = features.shape[1]
    return PairMoments(
        features=covariance[:p, :p],
        crossed=covariance[:p, p:],
        spread=np.sqrt(np.maximum(np.diag(covariance)[p:], 0.0)),
    )


def _sums(code: Codes, values: Floats) -> Floats:
    """Return for each row the sum over the rows with its code."""
    return np.asarray(np.bincount(code, values).astype(np.float64, copy=False)[code])


def _net(weight: Floats, segment: Codes, tied: Codes) -> Floats:
    """Return each row's weight times that of the rows below it minus that of the rows above."""
    ends = np.cumsum(weight)
    first = np.searchsorted(tied, tied, side="left")
    last = np.searchsorted(tied, tied, side="right")
    begin = np.searchsorted(segment, segment, side="left")
    end = np.searchsorted(segment, segment, side="right")
    upto = np.append(0.0, ends)
    return np.asarray(weight * ((upto[first] - upto[begin]) - (upto[end] - upto[last])))


def _in_own_unit(values: Floats) -> Floats:
    """Return numbers from 0 to 1: a correlation has no unit, and small numbers are no constant."""
    shares = values / np.abs(values).max()
    return np.asarray((shares - shares.min()) / np.ptp(shares))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PenalisedRows(Rows):
    """Rows whose objective has the penalty added."""

    moments: PairMoments
    strength: float
    columns: Floats

    def gradient(
        self, parameters: Floats, weights: CellWeights, choices: Choices
    ) -> tuple[Floats, Floats]:
        """Return accuracies, and the gradient of loss and penalty."""
        found, slope = Rows.gradient(self, parameters, weights, choices)
        steeper = self.moments.penalty(parameters / self.scale.unit)[1] / self.scale.unit
        return found, slope + self.strength * steeper

    def objective(self, scores: Floats, accuracy: Floats) -> float:
        """Return what is minimised: errors over all pairs, or squared error, and the penalty."""
        return Rows.objective(self, scores, accuracy) + self.penalty(scores)

    def penalty(self, scores: Floats) -> float:
        """Return the weighted penalty of scores."""
        items = self.items
        assert items is not None
        moments = pair_moments(
            scores[:, None], items.label, self.columns, query=items.query, weights=items.weight
        )
        return self.strength * moments.penalty(np.ones(1))[0]

    def plain(self) -> Rows:
        """Return the rows without the penalty."""
        return Rows(**{one.name: getattr(self, one.name) for one in fields(Rows)})


@dataclass(kw_only=True, eq=False, repr=False)
class _PenalisedScorer(FairScorer):
    """What both kinds have in common: parameters, and rows with a penalty."""

    strength: float = 1.0
    # There are no constraints beside the penalty.
    scorer: Any = field(default="linear", init=False)
    goal: Any = field(default=None, init=False)
    slack: float = field(default=0.0, init=False)
    form: str = field(default="constrained", init=False)
    with_overall: Any = field(default=None, init=False)
    no_group: Any = field(default=None, init=False)
    referee_rate: float = field(default=1.0, init=False)
    polish: bool = field(default=False, init=False)
    adjust: Any = field(default=None, init=False)
    average: Any = field(default="pairs", init=False)
    pair_weight: Any = field(default="equal", init=False)

    def _choices(self) -> Choices:
        check_number("strength", self.strength, low=0)
        return super()._choices()

    def _items(self, given: dict[str, NDArray[Any]], choices: Choices) -> LabelledItems:
        if self.strength and "sensitive_features" not in given:
            raise MissingSensitiveError(f"strength={self.strength:g}")
        return super()._items(given, choices)

    def _lay_out(
        self, X: Floats, items: LabelledItems, kept: Codes, scale: Scale, choices: Choices
    ) -> Rows:
        rows = training_rows(X, items, kept, scale, choices)
        chosen = take_items(items, kept)
        if items.value is not None:
            columns = _in_own_unit(items.value)[kept, None]
        else:
            columns = (chosen.group[:, None] == np.arange(len(items.groups))).astype(np.float64)
        return _PenalisedRows(
            **{one.name: getattr(rows, one.name) for one in fields(Rows)},
            moments=pair_moments(
                rows.features, chosen.label, columns, query=chosen.query, weights=chosen.weight
            ),
            strength=float(self.strength),
            columns=columns,
        )

    def _account(
        self, found: Candidates, picked: Chosen, rows: Rows, by: Rows, choices: Choices
    ) -> Training:
        """Return the answer with accuracies across groups and the loss without the penalty."""
        assert isinstance(by, _PenalisedRows)
        terms: tuple[Terms, ...] = ()
        if self.continuous or len(self.groups_) > 1:
            terms = (terms_of("cross-group", by.pairs, None, self.groups_, rows="held out"),)
        added = np.array([by.penalty(scores) for scores in found.kind.scores(found.models, by)])
        plain = replace(picked, objective=picked.objective - added, terms=terms)
        told = account(found, plain, rows, by.plain(), choices)
        return replace(told, goals=("correlation penalty",))


class CorrelationRanker(_PenalisedScorer, FairRanker):
    r"""Rank by a linear score whose errors do not go with the group.

    Minimises a hinge of wrong orders over **all** pairs and a fixed penalty [1]_:

    .. math:: \min_f \; \frac{1}{N} \sum_{y_i > y_j} \max(0, 1 - t_{ij} / m)
        + \lambda \, |\mathrm{corr}(t, b)|

    with :math:`t_{ij} = f(x_i) - f(x_j)` and :math:`b_{ij}` the group of the better item minus that
    of the worse, 0 or 1. Where there are more than two groups, the mean over groups of the same
    with the group's indicator; with ``continuous=True``, :math:`b` is the difference of the
    attribute, as [2]_ extends it. A small correlation is not a small difference of accuracies: the
    penalty has no slack to ask for, which :class:`comparity.FairRanker` has.

    Parameters
    ----------
    strength : float
        :math:`\lambda`; 1 in [1]_ and [2]_. With 0 no groups are needed.
    continuous : bool
        The sensitive attribute is a number.
    margin, loss, l2, steps, step_sizes, snapshots, validation_fraction, random_state, progress
        As in :class:`comparity.FairRanker`. On the rows held out the candidate with the least share
        of wrong orders plus penalty is chosen.

    Attributes
    ----------
    coef_, intercept_, stochastic_, training_, groups_
        As in :class:`comparity.FairRanker`; `training_` compares accuracies across groups, and the
        mixture is one model.

    References
    ----------
    .. [1] Beutel et al., "Fairness in recommendation through pairwise experiments", KDD 2019.
    .. [2] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    >>> X = np.column_stack([y + group, y]) + rng.normal(size=(2000, 2))
    >>> ranker = CorrelationRanker(steps=100, random_state=0).fit(X, y, sensitive_features=group)
    >>> ranker.training_.start.largest_difference > 2 * ranker.training_.best.largest_difference
    True
    """


class CorrelationRegressor(_PenalisedScorer, FairRegressor):
    """Predict by a linear model whose errors of order do not go with the group.

    The mean squared error in place of the hinge, and the rest as in :class:`CorrelationRanker`;
    labels are measured in their standard deviation, which is what `strength` is weighed against.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 2000), rng.normal(size=2000)
    >>> X = np.column_stack([y + group, y]) + rng.normal(size=(2000, 2))
    >>> model = CorrelationRegressor(steps=100, random_state=0).fit(X, y, sensitive_features=group)
    >>> model.training_.start.largest_difference > model.training_.best.largest_difference
    True
    """
