r"""How well clusters tell the variance of a gap: what their squares lack, and degrees of freedom.

Rows lie in clusters, of which some hold rows of one cell only and some of several, of whatever
sizes. Let :math:`U_k` be the sum of the residuals of cluster :math:`k` at the observed gap
:math:`d = \sum_a c_a \hat\mu_a`,

.. math:: U_k = \sum_a \frac{c_a}{n_a} E_{ka}, \qquad
    E_{ka} = \sum_{i \in (k, a)} (y_i - \hat\mu_a).

Their squares add up to less than the variance, since the means follow the clusters, and a cell that
lies in three large clusters has a variance that three numbers tell. Both are worked out for a
*working model* [1]_, in which the total of cluster :math:`k` in cell :math:`a` has the variance

.. math:: v_{ka} = s_a^2 \big( (1 - \rho) n_{ka} + \rho n_{ka}^2 \big),

with :math:`s_a^2` the variance of rows and one intraclass correlation :math:`\rho`, estimated by
moments [2]_. With :math:`\pi_{ka} = n_{ka} / n_a` the covariance of the :math:`E_{ka}` of a cell is

.. math:: W_a = (I - \pi_a 1^\top) \operatorname{diag}(v_a) (I - 1 \pi_a^\top)

so that :math:`\kappa_a \sum_k E_{ka}^2` with
:math:`\kappa_a = \sum_k v_{ka} / \operatorname{tr} W_a` has the right mean, and the variance of a
:math:`\chi^2` on :math:`\nu_a = \operatorname{tr}(W_a)^2 / \operatorname{tr}(W_a^2)` degrees of
freedom (Satterthwaite); for :math:`G` clusters of one size these are :math:`G / (G - 1)` and
:math:`G - 1`. The variance of the gap is divided among the cells by their share
:math:`f_a` of :math:`\sum_a \sum_k (c_a E_{ka} / n_a)^2`,

.. math:: V_a = \kappa_a f_a \sum_k U_k^2,

and a test allows for :math:`\sum_a t_{\nu_a}^2 V_a`, which for clusters of one cell each keeps the
level by Banerjee's inequality (:mod:`comparity.inference.evaluators`), and for clusters of equal
shares of all cells is the t-test. One number of degrees of freedom for the sum, by the same
formula, was measured to reject 0.08 where 0.05 are allowed, with 3 to 5 clusters against 20 to 100.

Clusters that hold equal shares of both sides of a gap need none of this, however uneven they are: a
distance from the hypothesis is in all of them alike, and evaluators' test serves
(:func:`lie_across`).

References
----------
.. [1] Bell and McCaffrey (2002), "Bias reduction in standard errors for linear regression with
   multi-stage samples", Survey Methodology 28.
.. [2] Imbens and Kolesár (2016), "Robust standard errors in small samples: some practical advice",
   Review of Economics and Statistics 98.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.inference.evaluators import FEWEST_FLIPPED, MOST_FLIPPED, sign_patterns

Vector = NDArray[np.float64]

# Directions of evaluators' sums that are drawn, quantiles kept of what they ask for (twice as many
# move a planned power by less than 0.004), and a multiple that no gap reaches.
DIRECTIONS, MULTIPLES, UNREACHABLE = 2048, 8, 1e6


ACROSS = 0.5
"""Overlap of shares from which on clusters count as lying across the two sides of a gap.

Clusters of ten rows drawn at random from both sides overlap by 0.75, of two rows by 0.5, where
there are so many that either test is the normal one; clusters of people of one group by 0.
"""


class ClusterSpread(NamedTuple):
    """What squares of clusters' sums are to be multiplied by, and degrees of freedom, by cell."""

    factors: Vector
    dofs: Vector


def lie_across(trials: Vector, contrast: Vector) -> bool:
    """Return whether clusters hold rows of both sides of a contrast, rather than of one.

    The shares of either side that each cluster holds overlap by half or more: wholly, if all are
    equal, not at all, if no cluster has rows of both.

    Examples
    --------
    >>> import numpy as np
    >>> sides = np.array([1.0, -1.0])
    >>> lie_across(np.array([[4.0, 5.0], [6.0, 5.0]]), sides), lie_across(np.eye(2), sides)
    (True, False)
    """
    parts = trials / trials.sum(axis=0)
    first, second = (parts[:, side].mean(axis=1) for side in (contrast > 0, contrast < 0))
    return float(np.minimum(first, second).sum()) >= ACROSS


def cluster_spread(
    trials: Vector, residuals: Vector, contrast: Vector, variances: Vector
) -> ClusterSpread:
    """Return how well clusters tell the variance of a contrast of means.

    Parameters
    ----------
    trials, residuals : ndarray of shape (clusters, cells)
        Rows (or their weight) of each cluster in each cell, and sums of their residuals. Every cell
        lies in at least two clusters.
    contrast, variances : ndarray of shape (cells,)
        What each mean counts for, and the variance of single rows.

    Returns
    -------
    ClusterSpread
        The factors add up to more than one: they are to be multiplied by the squares of whole
        clusters.

    Examples
    --------
    >>> import numpy as np
    >>> rows, sums = np.full((8, 2), 5.0), np.tile([[1.0, 1.0], [-1.0, -1.0]], (4, 1))
    >>> factors, dofs = cluster_spread(rows, sums, np.array([1.0, -1.0]), np.ones(2))
    >>> round(float(factors.sum()), 6), dofs.round(6).tolist()
    (1.142857, [7.0, 7.0])
    """
    n = trials.sum(axis=0)
    parts = trials / n
    scale = (contrast / n) ** 2
    squares = scale * (residuals**2).sum(axis=0)
    # Totals of independent rows, and of clusters whose rows are all alike.
    alone, alike = variances * trials, variances * trials**2
    least, most = (float(scale @ _traces(total, parts)) for total in (alone, alike))
    seen = float(squares.sum())
    rho = min(max((seen - least) / (most - least), 0.0), 1.0) if most > least else 0.0
    total = (1 - rho) * alone + rho * alike
    traces = _traces(total, parts)
    # Rows of one value vary nowhere, and add nothing.
    varies = traces > 0
    size = np.divide(total.sum(axis=0), traces, out=np.ones_like(traces), where=varies)
    dofs = np.divide(
        traces**2, _squared_traces(total, parts), out=np.ones_like(traces), where=varies
    )
    shares = squares / seen if seen > 0 else np.full(len(n), 1 / len(n))
    return ClusterSpread(size * shares, dofs)


def _traces(total: Vector, parts: Vector) -> Vector:
    """Return the variances of residual sums, added up over clusters, by cell."""
    centred = (total * (1 - 2 * parts)).sum(axis=0)
    return np.asarray(centred + total.sum(axis=0) * (parts**2).sum(axis=0))


def _squared_traces(total: Vector, parts: Vector) -> Vector:
    r"""Return :math:`\operatorname{tr}(W_a^2)` by cell: of a diagonal and three outer products."""
    size, p, v = total.sum(axis=0), parts, total
    pp, pv, vv = ((one * two).sum(axis=0) for one, two in ((p, p), (p, v), (v, v)))
    outer = 2 * (v * (size * p**2 - 2 * p * v)).sum(axis=0)
    return np.asarray(vv + outer + size**2 * pp**2 - 4 * size * pp * pv + 2 * pv**2 + 2 * pp * vv)


@lru_cache(maxsize=64)
def flip_multiples(number: int, alpha: float) -> Vector:
    r"""Return how many standard errors a distance must have before sign flips reject.

    Let evaluators' sums be :math:`x / G + r_k`, with :math:`r` of mean zero and such a length that
    the variance of their total is estimated as one. Turned by :math:`\varepsilon` they add up to
    more than :math:`x` as long as

    .. math:: x < \frac{\sum_k \varepsilon_k r_k}{1 - \sum_k \varepsilon_k / G},

    so that the test, which lets the observed signs count half, rejects beyond the
    :math:`\lfloor \alpha 2^{G-1} + 1/2 \rfloor`-th largest of these numbers. For normal sums the
    direction of :math:`r` is uniform, whatever the gap: the multiples are quantiles over drawn
    directions, equally likely.

    Parameters
    ----------
    number : int
        Evaluators.
    alpha : float
        Level of the two-sided test.

    Returns
    -------
    ndarray
        Zero where no signs are flipped; a huge number where no signs can reject.
    """
    if not FEWEST_FLIPPED <= number <= MOST_FLIPPED:
        return np.zeros(1)
    rank = math.floor(alpha * 2 ** (number - 1) + 0.5)
    if rank < 1:
        return np.full(1, UNREACHABLE)
    drawn = np.random.default_rng(0).normal(size=(DIRECTIONS, number))
    drawn -= drawn.mean(axis=1, keepdims=True)
    drawn *= np.sqrt((number - 1) / number / (drawn**2).sum(axis=1, keepdims=True))
    # The first pattern is that of the observed signs; its mirror image never exceeds them.
    signs = sign_patterns(number)[1:]
    turned, shares = drawn @ signs.T, signs.sum(axis=1) / number
    bounds = np.hstack([turned / (1 - shares), -turned / (1 + shares)])
    needed = -np.partition(-bounds, rank - 1, axis=1)[:, rank - 1]
    quantiles: Vector = np.quantile(needed, (np.arange(MULTIPLES) + 0.5) / MULTIPLES)
    return quantiles
