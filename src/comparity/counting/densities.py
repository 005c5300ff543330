"""How densely rows lie around each row: what weights of continuous labels are ratios of."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["kernel_densities", "neighbour_counts", "standardised"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

HERMITE_TERMS, FURTHEST_CELL = 16, 9
MOST_CELLS = 1e9
"""On a longer line, in bandwidths, places would lose the digits that place them in a cell."""


def standardised(values: Floats) -> Floats:
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
