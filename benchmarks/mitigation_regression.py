"""Methods that predict a number: ours, baselines, and a plain penalty in the place of a package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mitigation_data import Floats, Part
from mitigation_fits import SLACKS, Fit
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict

from comparity import FairRegressor
from comparity.training.group_moves import group_shift


def least_squares(train: Part) -> Iterator[Fit]:
    """Return least squares with a trace of a ridge."""
    model = Ridge(alpha=1e-4 * len(train.y)).fit(train.X, train.target)
    yield Fit(predict=lambda rows: model.predict(rows.X))


def blind_squares(train: Part) -> Iterator[Fit]:
    """Return the same without the group among the features."""
    model = Ridge(alpha=1e-4 * len(train.y)).fit(train.blind, train.target)
    yield Fit(predict=lambda rows: model.predict(rows.blind))


def shifted_squares(train: Part) -> Iterator[Fit]:
    """Return least squares shifted by group."""
    ridge = Ridge(alpha=1e-4 * len(train.y))
    # Predictions of rows that the model was not trained on.
    predicted = cross_val_predict(ridge, train.X, train.target)
    model = ridge.fit(train.X, train.target)
    for slack in SLACKS:
        found = group_shift(train.target, predicted, sensitive_features=train.group, slack=slack)

        def predict(rows: Part, found: Any = found) -> Floats:
            moved: Floats = found.transform(model.predict(rows.X), sensitive_features=rows.group)
            return moved

        yield Fit(strength=slack, slack=slack, predict=predict)


def fair_regressor(train: Part) -> Iterator[Fit]:
    """Return our regressor."""
    for slack in SLACKS:
        model = FairRegressor(slack=slack, random_state=0, progress=False)
        model.fit(train.X, train.target, sensitive_features=train.group)
        yield Fit(
            strength=slack, slack=slack, predict=lambda rows, model=model: model.predict(rows.X)
        )


PAIRS_DRAWN = 10_000


def smooth_penalty(train: Part) -> Iterator[Fit]:
    """Squared error and a penalty on the smoothed difference of accuracies, by L-BFGS.

    A peer of nobody's package, written in the plainest way: sigmoids of drawn pairs across groups.
    """
    assert train.target is not None
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(len(train.y)), train.X]), train.target
    unit = y.std()
    sides = []
    for g in (0, 1):
        i = rng.choice(np.flatnonzero(train.group == g), PAIRS_DRAWN)
        j = rng.choice(np.flatnonzero(train.group == 1 - g), PAIRS_DRAWN)
        kept = y[i] > y[j]
        sides.append(X[i[kept]] - X[j[kept]])
    start = np.linalg.lstsq(X, y, rcond=None)[0]
    for weight in (1.0, 10.0, 100.0):

        def loss(beta: Floats, weight: float = weight) -> tuple[float, Floats]:
            off = X @ beta - y
            parts = [expit(side @ beta / (0.1 * unit)) for side in sides]
            gap = parts[0].mean() - parts[1].mean()
            slopes = [
                side.T @ (part * (1 - part)) / len(part) / (0.1 * unit)
                for side, part in zip(sides, parts, strict=True)
            ]
            value = off @ off / len(y) / unit**2 + weight * gap**2 + 1e-4 * beta @ beta
            slope = 2 * X.T @ off / len(y) / unit**2 + 2 * weight * gap * (slopes[0] - slopes[1])
            return float(value), slope + 2e-4 * beta

        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
        yield Fit(
            strength=weight,
            predict=lambda rows, b=found: np.column_stack([np.ones(len(rows.y)), rows.X]) @ b,
        )
