"""A regressor with pairwise goals."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from comparity.mitigation.estimators import FairScorer

__all__ = ["FairRegressor"]


class FairRegressor(RegressorMixin, FairScorer):  # type: ignore[misc]
    r"""Predict by a model that orders kinds of pairs equally well.

    Minimises the mean squared error, over **all** pairs, under a goal for pairwise accuracies [1]_:

    .. math:: \min_f E (f(x) - y)^2 \quad \text{s.t.} \quad A_{i>j}(f) - A_{k>l}(f) \le \epsilon

    Every two rows with different labels are a pair. Parameters, attributes and method are those of
    :class:`comparity.FairRanker`, except that there is an intercept, that labels and predictions
    are measured in standard deviations of the labels where the hinge's `margin` is concerned, and
    that there is no robust form: a squared error and an accuracy have no common least.

    A squared error and an order are different things: with a tight slack it can pay to predict on
    a small scale.

    References
    ----------
    .. [1] Narasimhan, Cotter, Gupta and Wang, "Pairwise Fairness for Ranking and Regression",
       AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group, quality = rng.integers(0, 2, 2000), rng.normal(size=2000)
    >>> X = np.column_stack([quality, group]) + [0.8, 0.3] * rng.normal(size=(2000, 2))
    >>> model = FairRegressor(slack=0.05, steps=100, random_state=0)
    >>> training = model.fit(X, quality + group, sensitive_features=group).training_
    >>> training.start.largest_difference > 0.1, training.best.largest_difference <= 0.05
    (True, True)
    """

    _predicts_labels = True
