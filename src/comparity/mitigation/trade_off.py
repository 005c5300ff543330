"""What a goal costs: training at several slacks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from comparity.errors import OptionError
from comparity.errors.mitigation import InfeasibleGoalWarning
from comparity.mitigation.estimators import FairScorer
from comparity.trainings import TradeOff

__all__ = ["trade_off"]


def trade_off(
    estimator: FairScorer,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    slacks: Sequence[float] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2),
    queries: Any = None,
    sample_weight: Any = None,
) -> TradeOff:
    """Train at every slack and return what each costs, on rows held out.

    Parameters
    ----------
    estimator : FairRanker or FairRegressor
        Not changed; fix its `random_state` so that the same rows are held out every time.
    X, y, sensitive_features, queries, sample_weight
        As for its ``fit``.
    slacks : sequence of float
        In the order wanted; at least one.

    Returns
    -------
    TradeOff
        One training for each slack; ``plot()`` draws the curve. Slacks that no model keeps are
        marked, not warned of.

    Examples
    --------
    >>> from comparity import FairRanker
    >>> rng = np.random.default_rng(0)
    >>> group, y = rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    >>> X = np.column_stack([y + 1.5 * group, y - group]) + rng.normal(size=(1000, 2))
    >>> ranker = FairRanker(steps=50, random_state=0)
    >>> curve = trade_off(ranker, X, y, sensitive_features=group, slacks=(0.01, 0.5))
    >>> curve.slacks, curve.trainings[0].best.accuracy < curve.trainings[1].best.accuracy
    ((0.01, 0.5), True)
    """
    if not np.size(slacks):
        raise OptionError("slacks", slacks, ["at least one"])
    if estimator.form == "robust" or not estimator.goal:
        why = "without a limit of differences every slack gives the same"
        raise OptionError("estimator", estimator, ["one with a goal, in the constrained form"], why)
    trainings = []
    for slack in np.atleast_1d(slacks).tolist():
        model = clone(estimator).set_params(slack=slack)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InfeasibleGoalWarning)
            model.fit(X, y, sensitive_features, queries, sample_weight)
        trainings.append(model.training_)
    return TradeOff(trainings=tuple(trainings))
