"""How densely rows lie around each row, and how well labels and scores tell an attribute.

Separation says that scores tell nothing about the attribute that labels do not. Two models predict
the attribute, one from the label alone and one from label and score; what counts of them are the
sums of their log-likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.overlap import multinomial_shares

Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


HERMITE_TERMS, FURTHEST_CELL = 16, 9


MOST_CELLS = 1e9
"""On a longer line, in bandwidths, places would lose the digits that place them in a cell."""


def standardise(values: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; a constant column becomes 0."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    scaled: Floats = centred / np.where(spread > 0, spread, 1.0)
    return scaled


def neighbour_counts(points: Floats, group: Codes, radius: float) -> Floats:
    """Count the rows of the same group nearer than the radius, each row itself included.

    Parameters
    ----------
    points : ndarray, (n, d)
        Where rows lie; with no columns all rows of a group are neighbours.
    group : ndarray of int
        From 0 on.
    radius : float
        Rows at exactly this Euclidean distance are no neighbours.

    Returns
    -------
    ndarray, (n,)

    Notes
    -----
    O(n log n) for up to one column; a search in a tree for more, whose time grows with the number
    of neighbours found.

    Examples
    --------
    >>> points = np.array([[0.0], [0.4], [0.8], [0.0]])
    >>> neighbour_counts(points, np.array([0, 0, 0, 1]), 0.5).tolist()
    [2.0, 3.0, 2.0, 1.0]
    """
    counts = np.zeros(len(points))
    for rows in _by_group(group):
        counts[rows] = _near(points[rows], radius)
    return counts


def kernel_densities(points: Floats, group: Codes, bandwidth: float) -> Floats:
    """Sum Gaussian kernels around the rows of the same group, at each row.

    Parameters
    ----------
    points, group
        As in :func:`neighbour_counts`.
    bandwidth : float
        Standard deviation of the kernel.

    Returns
    -------
    ndarray, (n,)
        Densities times the number of rows of the group, up to a relative error of 1e-6.

    Notes
    -----
    O(n) for one column, beside a sort; a search in a tree for more, slow beyond some thousand rows.

    Examples
    --------
    >>> kernel_densities(np.zeros((2, 1)), np.array([0, 0]), 1.0).round(4).tolist()
    [0.7979, 0.7979]
    """
    sums = np.zeros(len(points))
    on_a_line = points.shape[1] == 1 and np.ptp(points) < MOST_CELLS * bandwidth
    for rows in _by_group(group):
        if not points.shape[1]:
            sums[rows] = len(rows)
        elif on_a_line:
            sums[rows] = _kernels_on_a_line(points[rows, 0] / bandwidth)
            sums[rows] /= bandwidth * math.sqrt(2 * math.pi)
        else:
            from sklearn.neighbors import KernelDensity

            fitted = KernelDensity(bandwidth=bandwidth, rtol=1e-6).fit(points[rows])
            sums[rows] = len(rows) * np.exp(fitted.score_samples(points[rows]))
    return sums


def _kernels_on_a_line(places: Floats) -> Floats:
    r"""Sum :math:`e^{-(x - y)^2 / 2}` over all places y, at each place x.

    Places are gathered in cells of length 1. Around the middle m of a cell, with t = x - m and
    v = y - m, a kernel is :math:`e^{-t^2 / 2} \sum_k He_k(t) v^k / k!` with Hermite polynomials
    (the fast Gauss transform of Greengard and Strain, 1991), so that of a cell only sums of powers
    count. The terms left out are below 1e-9 of a kernel each, and so are cells further than 9 away.
    """
    cell = np.floor(places)
    used, own = np.unique(cell, return_inverse=True)
    away = places - cell - 0.5
    moments = np.array(
        [np.bincount(own, away**k) / math.factorial(k) for k in range(HERMITE_TERMS)]
    )
    sums = np.zeros(len(places))
    for offset in range(-FURTHEST_CELL, FURTHEST_CELL + 1):
        other = np.searchsorted(used, used + offset)
        there = (other < len(used)) & (used[np.minimum(other, len(used) - 1)] == used + offset)
        rows = np.flatnonzero(there[own])
        t, source = away[rows] - offset, other[own[rows]]
        before, hermite = np.zeros(len(rows)), np.ones(len(rows))
        found = moments[0, source]
        for k in range(1, HERMITE_TERMS):
            before, hermite = hermite, t * hermite - (k - 1) * before
            found += moments[k, source] * hermite
        sums[rows] += found * np.exp(-(t**2) / 2)
    return sums


def _by_group(group: Codes) -> list[Codes]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _near(points: Floats, radius: float) -> Floats:
    if not points.shape[1]:
        return np.full(len(points), float(len(points)))
    if points.shape[1] == 1:
        line = np.sort(points[:, 0])
        last = np.searchsorted(line, points[:, 0] + radius, side="left")
        first = np.searchsorted(line, points[:, 0] - radius, side="right")
        return (last - first).astype(np.float64)
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    # The tree takes rows at the distance itself, too.
    inside = math.nextafter(radius, 0.0)
    return np.asarray(tree.query_ball_point(points, inside, return_length=True), np.float64)


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


def _curved_basis(column: Floats) -> Floats:
    """Return a column for each value, or a spline where there are many."""
    values, code = np.unique(column, return_inverse=True)
    if len(values) <= LEVELS:
        return np.eye(len(values))[code.reshape(-1)][:, 1:]
    from sklearn.preprocessing import SplineTransformer

    knots = np.unique(np.quantile(column, np.linspace(0, 1, KNOTS)))[:, None]
    spline = SplineTransformer(knots=knots, degree=3, include_bias=False)
    shaped: Floats = spline.fit_transform(column[:, None])
    return shaped


CURVES: dict[str, Callable[[Floats], Floats]] = {"linear": _linear, "spline": _curved_basis}
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
        shares = multinomial_shares(np.column_stack([one, design]), members, ridge)
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
    y, scores = standardise(np.column_stack([y, scores])).T
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
