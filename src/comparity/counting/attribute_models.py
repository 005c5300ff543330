r"""How well labels, and labels with scores, tell the sensitive attribute: sums over rows.

Separation says that scores tell nothing about the attribute that labels do not. Two models predict
the attribute, one from the label alone and one from label and score; what counts of them are the
sums of their log-likelihoods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counting.densities import standardised
from comparity.counting.overlap import _multinomial

__all__ = ["CURVES", "AttributeFit", "fit_groups", "fit_numbers"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LEVELS = 20
"""Columns of at most so many values get a coefficient for each."""
KNOTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeFit:
    """Log-likelihoods of the sensitive attribute, summed over rows.

    Attributes
    ----------
    n : int
        Rows.
    joint, margin : float
        Sum of the logarithms of the probability (density) that a model gives to the attribute of
        each row, from label and score, and from the label alone.
    odds_ratio : float
        Sum of the odds of the second group given label and score over those given the label; for
        two groups, ``nan`` otherwise.
    """

    n: int
    joint: float
    margin: float
    odds_ratio: float = float("nan")


def _linear(column: Floats) -> Floats:
    return column[:, None]


def _curved(column: Floats) -> Floats:
    """Return a column for each value, or a spline where there are many."""
    values, code = np.unique(column, return_inverse=True)
    if len(values) <= LEVELS:
        return np.eye(len(values))[code.reshape(-1)][:, 1:]
    from sklearn.preprocessing import SplineTransformer

    knots = np.unique(np.quantile(column, np.linspace(0, 1, KNOTS)))[:, None]
    spline = SplineTransformer(knots=knots, degree=3, include_bias=False)
    shaped: Floats = spline.fit_transform(column[:, None])
    return shaped


CURVES: dict[str, Callable[[Floats], Floats]] = {"linear": _linear, "spline": _curved}
"""How a model may depend on a column."""


def fit_groups(y: Floats, scores: Floats, group: Codes, *, curves: str = "linear") -> AttributeFit:
    """Predict the group by logistic regressions with a ridge of one half.

    These are scikit-learn's defaults, which the published code uses.

    Parameters
    ----------
    y, scores : ndarray
        Labels and scores.
    group : ndarray of int
        From 0 on; every group occurs.
    curves : {"linear", "spline"}
        Whether log-odds are linear in label and score, as published, or smooth curves of each.
    """
    shape, n_groups = CURVES[curves], int(group.max()) + 1
    one = np.ones((len(y), 1))
    columns = {"margin": shape(y), "joint": np.column_stack([shape(y), shape(scores)])}
    members = np.eye(n_groups)[group]
    # The ridge is on one vector of coefficients for two groups, and on each for more.
    ridge = (2.0 if n_groups == 2 else 1.0) / len(y)
    sums, odds = {}, {}
    for name, design in columns.items():
        shares = _multinomial(np.column_stack([one, design]), members, ridge)
        logs = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
        sums[name] = float(logs[members > 0].sum())
        odds[name] = logs[:, 1] - logs[:, 0]
    two = n_groups == 2
    ratio = float(np.exp(odds["joint"] - odds["margin"]).sum()) if two else float("nan")
    return AttributeFit(n=len(y), joint=sums["joint"], margin=sums["margin"], odds_ratio=ratio)


def fit_numbers(
    y: Floats, scores: Floats, values: Floats, *, curves: str = "linear"
) -> AttributeFit:
    """Predict a number by least squares with normal errors.

    Parameters are those of :func:`fit_groups`.
    """
    shape = CURVES[curves]
    one = np.ones((len(y), 1))
    # Least squares know no units, but their solver does.
    y, scores = standardised(np.column_stack([y, scores])).T
    margin = np.column_stack([one, shape(y)])
    joint = np.column_stack([margin, shape(scores)])
    return AttributeFit(n=len(y), joint=_normal(joint, values), margin=_normal(margin, values))


def _normal(design: Floats, values: Floats) -> float:
    """Return the log-likelihood of least squares at its own error variance."""
    coefficients, *_ = np.linalg.lstsq(design, values, rcond=None)
    residuals = values - design @ coefficients
    # A model that errs nowhere has no likelihood; the limit is kept out of the logarithm.
    variance = max(float((residuals**2).mean()), np.finfo(np.float64).tiny)
    return -0.5 * len(values) * (float(np.log(2 * np.pi * variance)) + 1)
