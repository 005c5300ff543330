"""A classifier that keeps a ratio of rates, by a meta-algorithm over models of label and group."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from comparity.errors import (
    ClassCountError,
    MissingSensitiveError,
    OptionError,
    TwoGroupsOnlyError,
    UnreachedRatioWarning,
)
from comparity.tables.columns import check_option
from comparity.tables.frames import text_of
from comparity.tables.typing import Attributes, Column, Matrix
from comparity.tables.values import check_lengths, group_codes
from comparity.training.feature_checks import features_to_fit, features_to_score, sensitive_column
from comparity.training.rate_duals import (
    LogisticPosterior,
    Posterior,
    RateDual,
    follow_line,
    joint_normal,
    lay_out_dual,
    logistic_posterior,
    ratio,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GRID = 0.01
"""Bounds of rates are multiples of this; every tenth is tried."""
ALMOST_EQUAL = 0.99
"""The largest ratio that is insisted on: rates of finite groups are hardly ever equal."""
SCALES = np.linspace(0.0, 1.0, 21)
"""Shares of the multipliers that bounds ask for, in a search between them and no goal."""


@dataclass(kw_only=True, eq=False, repr=False)
class MetaFairClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Classify so that a rate of one group is at least a share of the other's.

    Of all classifiers :math:`t(x) > 0` with

    .. math:: t(x) = P(y = 1 | x) - 1/2 + \sum_k \lambda_k c_k(x)

    one is sought whose ratio of rates reaches tau on the training rows. [1]_ keeps the rate of both
    groups between bounds a and b = (a + 0.01) / tau, for a on a grid, and takes the most accurate
    one. Where groups are to have a share of positive decisions, :math:`r_i \ge \tau r_j`, no
    bounds are needed: the best multipliers lie on the line :math:`\lambda = \mu (1, -\tau)`, or
    with the groups exchanged, and the least :math:`\mu` that reaches tau loses least. The group
    is not needed to predict. It is the in-processing method that [2]_ compares.

    Parameters
    ----------
    metric : {"sr", "fdr"}
        The rate: share of positive decisions (statistical rate, disparate impact), or share of
        wrong ones among them (false discovery rate).
    tau : float
        The ratio wanted, from 0 (no goal) to 1.
    tolerance : float, optional
        How far the ratio on the training rows may stay below. By default 0.2, as in the authors'
        code; 0 for ``"sr"`` along the frontier, where no more than 0.99 is insisted on.
    search : {"frontier", "exact", "published"}
        How multipliers are found: along the line on which the best ones lie (for ``"fdr"``, between
        no goal and what ``"exact"`` finds); for bounds on the grid, by a convex program on the
        training rows; or as in the authors' code and AIF360, by 9 short descents on a few points
        drawn from the normal distribution, whose last point is taken. Bounds often give a larger
        ratio than asked, at the cost of accuracy. Drawn points give other classifiers for other
        seeds.
    posterior : {"logistic", "normal"}, optional
        How labels and groups are told from features: by a logistic regression each, or from a
        normal distribution of features, label and group together, as in the authors' code. By
        default logistic for ``"sr"`` along the frontier, and normal otherwise.
    samples : int
        Points drawn by the published search; 20 in the authors' code.
    random_state : int, RandomState or None
        For the published search.

    Attributes
    ----------
    classes_ : ndarray, (2,)
        The labels; the second is the positive one.
    groups_ : tuple of str
        The two groups; their order changes nothing.
    bounds_ : tuple of float
        The bounds a and b chosen, or the rates of both groups on the training rows in the search
        along a line; zeros where there was no goal or none could be kept.
    multipliers_ : ndarray
        :math:`\lambda`.
    ratio_ : float
        The ratio on the training rows; ``nan`` without groups.

    Warns
    -----
    UnreachedRatioWarning
        No bounds give a ratio near tau; the classifier without a goal is kept.

    Notes
    -----
    Where the group is a feature, too, it is known and not guessed: its posterior is 0 or 1, or by a
    logistic regression close to it. AIF360 ends with an error there, as scipy gives points outside
    the support of a degenerate distribution the density 0.

    References
    ----------
    .. [1] Celis, Huang, Keswani and Vishnoi, "Classification with fairness constraints: a
       meta-algorithm with provable guarantees", FAT* 2019.
    .. [2] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
       Measures of Fairness", 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group, noise = rng.integers(0, 2, 1000), rng.normal(size=(1000, 2))
    >>> X = noise + np.column_stack([group, np.zeros(1000)])
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 0.5
    >>> free = MetaFairClassifier(tau=0).fit(X, y, sensitive_features=group)
    >>> held = MetaFairClassifier(tau=0.9).fit(X, y, sensitive_features=group)
    >>> free.ratio_ < 0.7, 0.9 <= held.ratio_ < 0.92
    (True, True)
    """

    metric: str = "sr"
    tau: float = 0.8
    tolerance: float | None = None
    search: str = "frontier"
    posterior: str | None = None
    samples: int = 20
    random_state: Any = None

    def fit(self, X: Matrix, y: Column, sensitive_features: Attributes | None = None) -> Self:
        """Find bounds and multipliers.

        Parameters
        ----------
        X : array-like, (n, p)
            Features, finite.
        y : array-like, (n,)
            Two labels.
        sensitive_features : array-like, (n,)
            Group of each row, one of two; not needed with ``tau=0``.
        """
        self._check_options()
        X, y = features_to_fit(self, X, y)
        positive = self._labels(y)
        if sensitive_features is None:
            if self.tau:
                raise MissingSensitiveError(f"tau={self.tau:g}")
            return self._without_groups(X, positive)
        column = sensitive_column(sensitive_features)
        check_lengths({"y": positive, "sensitive_features": column})
        codes, names = group_codes(column, "sensitive_features", "array")
        if len(names) > 2:
            raise TwoGroupsOnlyError("a meta fair classifier", names)
        self.groups_: tuple[str, ...] = tuple(names)
        return self._with_groups(X, positive, codes == 1)

    def decision_function(self, X: Matrix) -> Floats:
        """Return t(x): positive where the second label is predicted."""
        features = features_to_score(self, X)
        shares = self._posterior.probabilities(features)
        if not self.groups_:
            return np.asarray(shares[:, 1] - 0.5)
        return self._dual(shares, *self.bounds_).decision(self.multipliers_)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the predicted labels."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.int64)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_options(self) -> None:
        check_option("metric", self.metric, ("sr", "fdr"))
        check_option("search", self.search, ("frontier", "exact", "published"))
        if self.posterior is not None:
            check_option("posterior", self.posterior, ("logistic", "normal"))
        for name, found in (("tau", self.tau), ("tolerance", self._shortfall)):
            if not isinstance(found, int | float | np.number) or not 0 <= found <= 1:
                raise OptionError(name, found, ["a number from 0 to 1"])
        if not isinstance(self.samples, int | np.integer) or self.samples < 1:
            raise OptionError("samples", self.samples, ["a whole number from 1 on"])

    @property
    def _shortfall(self) -> float:
        """How far the ratio may stay below tau."""
        if self.tolerance is not None:
            return self.tolerance
        return max(0.0, self.tau - ALMOST_EQUAL) if self._on_line else 0.2

    @property
    def _on_line(self) -> bool:
        """Whether the best multipliers are known to lie on a line."""
        return self.search == "frontier" and self.metric == "sr"

    @property
    def _is_normal(self) -> bool:
        """Whether features, label and group are taken to be normal together."""
        return not self._on_line if self.posterior is None else self.posterior == "normal"

    def _labels(self, y: NDArray[Any]) -> Flags:
        """Return which labels are positive."""
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ClassCountError([text_of(one) for one in self.classes_], type_of_target(y))
        return np.asarray(y == self.classes_[1])

    def _without_groups(self, X: Floats, positive: Flags) -> Self:
        self._posterior: Posterior | LogisticPosterior
        self.groups_ = ()
        self.bounds_, self.multipliers_, self.ratio_ = (0.0, 0.0), np.zeros(0), math.nan
        if not self._is_normal:
            self._posterior = logistic_posterior(X, positive)
            return self
        labels = np.array([[-1.0], [1.0]])
        self._posterior = joint_normal(X, np.where(positive, 1.0, -1.0)[:, None], labels)
        return self

    def _with_groups(self, X: Floats, positive: Flags, group: Flags) -> Self:
        if self._is_normal:
            targets = np.column_stack([np.where(positive, 1.0, -1.0), group])
            values = np.array([[-1.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])
            self._posterior = joint_normal(X, targets, values)
        else:
            self._posterior = logistic_posterior(X, positive, group)
        self._shares = np.array([1 - group.mean(), group.mean()])
        shares, draw = self._posterior.probabilities(X), self._sampler(X)
        self.bounds_, self.multipliers_ = (0.0, 0.0), np.zeros(2 if self.metric == "sr" else 4)
        self.ratio_ = self._judge(shares, positive, group)[1]
        kept, best, largest = (self.bounds_, self.multipliers_, self.ratio_), 0.0, 0.0
        for bounds, multipliers in self._candidates(shares, draw, positive, group):
            self.bounds_, self.multipliers_ = bounds, multipliers
            accuracy, self.ratio_ = self._judge(shares, positive, group)
            largest = max(largest, self.ratio_)
            if accuracy > best and self.ratio_ >= self.tau - self._shortfall:
                best, kept = accuracy, (self.bounds_, self.multipliers_, self.ratio_)
        self.bounds_, self.multipliers_, self.ratio_ = kept
        if self.tau and not best:
            told = UnreachedRatioWarning(self.metric, self.tau, self._shortfall, largest)
            warnings.warn(told, stacklevel=3)
        return self

    def _candidates(
        self, shares: Floats, draw: Any, positive: Flags, group: Flags
    ) -> Iterator[tuple[tuple[float, float], Floats]]:
        """Yield bounds and multipliers to judge; none without a goal."""
        if self._on_line and self.tau:
            yield from self._best_of_lines(shares, positive, group)
            return
        scales = SCALES if self.search == "frontier" else SCALES[-1:]
        for bounds in _bounds(self.tau):
            found = self._multipliers(shares, draw, *bounds)
            yield from ((bounds, scale * found) for scale in scales)

    def _best_of_lines(
        self, shares: Floats, positive: Flags, group: Flags
    ) -> Iterator[tuple[tuple[float, float], Floats]]:
        """Yield the first decisions that reach the ratio, for either group's smaller rate.

        Accuracies on the training rows are no better guide: what is right there by chance, farther
        along the line, overshoots. Where none reach it, those with the largest ratio.
        """
        dual = self._dual(shares, 0.0, 0.0)
        for direction in np.array([[1.0, -self.tau], [-self.tau, 1.0]]):
            line = follow_line(dual.base, dual.columns @ direction, positive, group)
            reached = np.flatnonzero(line.ratio >= self.tau - self._shortfall)
            best = int(reached[0]) if len(reached) else int(line.ratio.argmax())
            low, high = sorted(line.rates[:, best].tolist())
            yield (low, high), line.at[best] * direction

    def _judge(self, shares: Floats, positive: Flags, group: Flags) -> tuple[float, float]:
        """Return accuracy and ratio on the training rows."""
        chosen = self._dual(shares, *self.bounds_).decision(self.multipliers_) > 0
        return float(np.mean(chosen == positive)), ratio(self.metric, chosen, positive, group)

    def _dual(self, shares: Floats, low: float, high: float) -> RateDual:
        return lay_out_dual(self.metric, shares, self._shares, low, high)

    def _sampler(self, X: Floats) -> Any:
        """Return the normal distribution of features, to draw points from."""
        from scipy.stats import multivariate_normal

        if self.search != "published":
            return None
        return multivariate_normal(
            X.mean(axis=0),
            np.cov(X, rowvar=False),
            allow_singular=True,
            seed=check_random_state(self.random_state),
        )

    def _multipliers(self, shares: Floats, draw: Any, low: float, high: float) -> Floats:
        if draw is None:
            return self._dual(shares, low, high).minimum()
        drawn = np.asarray(draw.rvs(size=self.samples)).reshape(self.samples, -1)
        return self._dual(self._posterior.probabilities(drawn), low, high).descend()


def _bounds(tau: float) -> list[tuple[float, float]]:
    """Return the pairs of bounds to try; none without a goal."""
    if not tau:
        return []
    lows = np.arange(math.ceil(tau / GRID), step=10) * GRID
    return [(float(low), float(min((low + GRID) / tau, 1.0))) for low in lows]
