r"""Rates, and gaps of two rates, of trials that come in clusters of unequal sizes.

With hits :math:`h_c` among :math:`n_c` trials of cluster :math:`c`, leaving the cluster out moves
the rate :math:`\hat\pi = \sum h_c / \sum n_c` by :math:`(h_c - \hat\pi n_c) / (N - n_c)`, where
:math:`N = \sum n_c`. The variance is that of the jackknife [1]_,

.. math:: \hat V = \frac{G-1}{G} \sum_c \Big( \frac{h_c - \hat\pi n_c}{N - n_c} \Big)^2

over :math:`G` clusters, whatever the dependence within each of them. The rate follows a cluster
that holds most trials, so that squares of :math:`h_c - \hat\pi n_c` alone would tell too little.
Clusters of unequal sizes tell the variance as well as :math:`G^* = N^2 / \sum n_c^2` equal ones
[2]_, and quantiles are Student's with :math:`G^* - 1` degrees of freedom, at least one.

The interval of a rate is Wilson's for :math:`\hat\pi (1 - \hat\pi) / \hat V` independent trials
[3]_. Where all clusters agree the variance is taken to be what one cluster that does not would make
of it. Gaps of rare changes would be thought too certain: to the :math:`D` clusters whose rates
differ two are added that differ as much, one each way, so that the variance of a gap is
:math:`1 + 2/D` times that of the jackknife; where nothing varies, these two are all there is, and
differ by one (Agresti and Min add half a pair of each kind [4]_).

References
----------
.. [1] Cameron and Miller (2015), "A practitioner's guide to cluster-robust inference", Journal of
   Human Resources 50, section VI.B (CV3).
.. [2] Kish (1965), "Survey Sampling", section 11.7.
.. [3] Dean and Pagano (2015), "Evaluating confidence interval methods for binomial proportions in
   clustered surveys", Journal of Survey Statistics and Methodology 3, 484-503.
.. [4] Agresti and Min (2005), "Simple improved confidence intervals for comparing matched
   proportions", Statistics in Medicine 24, 729-740.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from comparity.inference.gap_tests import Interval

Sizes = NDArray[Any]

ADDED_CLUSTERS = 2
"""Clusters that change, added to the variance of a gap."""
NOTHING = 1e-20
"""A variance of this size is rounding."""


def effective_clusters(sizes: Sizes) -> float:
    """Return how many clusters of one size tell as much as these (Kish).

    Examples
    --------
    >>> effective_clusters(np.array([5, 5, 5, 5])), effective_clusters(np.array([90, 5, 5]))
    (4.0, 1.2...)
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def degrees_of_freedom(sizes: Sizes, *, spent: int = 1) -> float:
    """Return the degrees of freedom of a variance between clusters, at least one."""
    return max(effective_clusters(sizes) - spent, 1.0)


def effective_trials(hits: Sizes, trials: Sizes) -> float:
    """Return how many independent trials would know the rate as well.

    Parameters
    ----------
    hits, trials : ndarray
        By cluster; two or more clusters have trials, and no other is listed.
    """
    n, clusters = trials.sum(), len(trials)
    rate = hits.sum() / n
    if rate in (0.0, 1.0):
        return effective_clusters(trials)
    squares = float(np.sum(((hits - rate * trials) / (1 - trials / n)) ** 2))
    squares = max(squares, (n / (clusters - 1) * max(rate, 1 - rate)) ** 2)
    variance = (clusters - 1) / clusters * squares / float(n) ** 2
    return float(rate * (1 - rate) / variance)


def wilson(rate: float, n: float, freedom: float, level: float) -> Interval:
    """Return Wilson's interval of a rate worth `n` trials, with Student's quantile."""
    quantile = float(stdtrit(freedom, (1 + level) / 2))
    shrink = 1 + quantile**2 / n
    middle = (rate + quantile**2 / (2 * n)) / shrink
    half = quantile / shrink * math.sqrt(rate * (1 - rate) / n + (quantile / (2 * n)) ** 2)
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0), level)


def gap_variance(variance: float, changed: int, clusters: int) -> float:
    """Return the variance of a gap with two more clusters that change, one each way.

    Parameters
    ----------
    variance : float
        That of the jackknife.
    changed, clusters : int
        Clusters whose two rates differ, and all.
    """
    if not changed or variance < NOTHING:
        return ADDED_CLUSTERS / (clusters * (clusters - 1))
    return variance * (1 + ADDED_CLUSTERS / changed)


def gap_interval(
    first: tuple[Sizes, Sizes], second: tuple[Sizes, Sizes], level: float
) -> Interval | None:
    """Return the interval of the first rate minus the second; none where one lies in one cluster.

    Parameters
    ----------
    first, second : tuple of ndarray
        Hits and trials by cluster, of the same clusters.
    level : float
    """
    used = (first[1] > 0) | (second[1] > 0)
    clusters = int(used.sum())
    differs = first[0] * np.maximum(second[1], 1) != second[0] * np.maximum(first[1], 1)
    gap, parts, freedom = 0.0, np.zeros(clusters), math.inf
    for (hits, trials), sign in ((first, 1), (second, -1)):
        h, n = hits[used], trials[used].astype(np.float64)
        if np.sum(n > 0) < 2:
            return None
        rate = float(h.sum() / n.sum())
        gap += sign * rate
        parts += sign * (h - rate * n) / (n.sum() - n)
        freedom = min(freedom, degrees_of_freedom(n))
    variance = (clusters - 1) / clusters * float(parts @ parts)
    error = math.sqrt(gap_variance(variance, int(differs.sum()), clusters))
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Interval(max(gap - half, -1.0), min(gap + half, 1.0), level)
