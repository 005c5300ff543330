"""Planned repeated looks at growing data: how much of the error rate each look may spend.

Testing again at the same level each time more data come in raises the chance of a false alarm.
Here the looks are planned, equally far apart in information, and spend the error rate so that it
holds over all of them together, most of it at the last look.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, roots_legendre

from comparity.errors import LookError, TooManyLooksError
from comparity.inference.gap_tests import find_root

MOST_LOOKS = 100
"""Most looks that can be planned: two years of weekly ones. The work grows with the square of
their number; at a hundred a p value takes a tenth of a second."""

# Beyond this many standard deviations double precision cannot tell the normal tail from zero.
FURTHEST_BOUNDARY = 38.0
# Gauss-Legendre nodes for each standard deviation of one step: 6 leave an error below 1e-12.
NODES_PER_STEP = 6


def nominal_level(alpha: float, look: int, planned: int) -> float:
    r"""Two-sided level to test at in one of several planned looks.

    The two-sided error over all looks together is `alpha`. Either side has spent

    .. math:: \alpha^*(t) = 2 - 2\,\Phi\!\left(z_{\alpha/4} / \sqrt{t}\right)

    of its :math:`\alpha / 2` when the share :math:`t = k / K` of the planned information is in:
    the O'Brien-Fleming type of spending [1]_. Statistics at the looks follow the canonical joint
    normal distribution, :math:`\mathrm{corr}(Z_j, Z_k) = \sqrt{j / k}` for :math:`j \le k`;
    boundaries come from recursive numerical integration [2]_.

    Parameters
    ----------
    alpha : float
        Two-sided error rate over all planned looks, between 0 and 1.
    look : int
        This look, from 1.
    planned : int
        Number of planned looks.

    Returns
    -------
    float
        Level for the two-sided p value at this look; `alpha` itself if only one look is planned.

    Raises
    ------
    LookError
        Unless ``1 <= look <= planned``.
    TooManyLooksError
        If more than 100 looks are planned.

    References
    ----------
    .. [1] Lan and DeMets (1983), "Discrete sequential boundaries for clinical trials".
    .. [2] Armitage, McPherson and Rowe (1969), "Repeated significance tests on accumulating data".

    Examples
    --------
    >>> [round(nominal_level(0.05, look, 4), 5) for look in (1, 2, 3, 4)]
    [1e-05, 0.00305, 0.01832, 0.044]
    """
    check_looks(look, planned)
    if planned == 1:
        return alpha
    return float(2 * ndtr(-_boundaries(float(alpha), look, planned)[-1]))


def overall_p_value(p: float, look: int, planned: int) -> float:
    """Smallest overall error rate at which `p` would be significant at this look.

    The inverse of :func:`nominal_level` in `alpha`: comparing the result with any `alpha` is the
    same as comparing `p` with the nominal level that belongs to it.

    Parameters
    ----------
    p : float
        Two-sided p value at this look; ``nan`` gives ``nan``.
    look, planned : int
        This look, from 1, and the number of planned looks.

    Returns
    -------
    float
        Between `p` and 1; `p` itself if only one look is planned, 1 where no error rate would do.

    Raises
    ------
    LookError
        Unless ``1 <= look <= planned``.
    TooManyLooksError
        If more than 100 looks are planned.

    Examples
    --------
    >>> round(overall_p_value(0.044, 4, 4), 4)
    0.05
    """
    check_looks(look, planned)
    if planned == 1 or math.isnan(p) or p == 0:
        return p
    if p >= nominal_level(1.0, look, planned):
        return 1.0

    def excess(log_alpha: float) -> float:
        nominal = nominal_level(math.exp(log_alpha), look, planned)
        # The level of an early look can underflow; only finite numbers are interpolated.
        return math.log(max(nominal, sys.float_info.min)) - math.log(p)

    # A look never gets more than the whole, so the overall p value is at least p.
    lowest = math.log(p)
    if excess(lowest) >= 0:
        return p
    return math.exp(find_root(excess, lowest, 0.0, tolerance=1e-10))


def check_looks(look: int, planned: int) -> None:
    """Refuse a look that is not among the planned ones, and more of them than can be worked out."""
    if not 1 <= look <= planned:
        raise LookError(look, planned)
    if planned > MOST_LOOKS:
        raise TooManyLooksError(planned, MOST_LOOKS)


@lru_cache(maxsize=512)
def _boundaries(alpha: float, look: int, planned: int) -> tuple[float, ...]:
    """Return the boundaries of ``|Z|`` at the looks up to this one."""
    spent = 2 * ndtr(ndtri(alpha / 4) / np.sqrt(np.arange(look + 1)[1:] / planned))
    steps = np.diff(spent, prepend=0.0)
    # In units of one step the sum after k looks has variance k: its boundary is sqrt(k) * c_k.
    nodes, mass = np.zeros(1), np.ones(1)
    boundaries: list[float] = []
    for k, step in enumerate(steps, start=1):
        edge = _edge(nodes, mass, float(step))
        boundaries.append(edge / math.sqrt(k))
        if k < look:
            nodes, mass = _carried_on(nodes, mass, min(edge, FURTHEST_BOUNDARY * math.sqrt(k)))
    return tuple(boundaries)


def _edge(nodes: NDArray[np.float64], mass: NDArray[np.float64], step: float) -> float:
    """Return b with P(not stopped before, sum after one more step > b) = step.

    The logarithm of that probability is concave and falls in b, so Newton's method finds the root
    from any start.
    """
    if step <= 0:
        return math.inf
    # The tail of one normal step around the outermost node is nearly all of a small probability.
    edge, target = float(nodes[-1] - ndtri(min(step, 0.5))), math.log(step)
    for _ in range(60):
        logs = log_ndtr(nodes - edge)
        top = logs.max()
        tail = mass * np.exp(logs - top)
        density = mass * np.exp(-((nodes - edge) ** 2) / 2 - top) / math.sqrt(2 * math.pi)
        excess = math.log(tail.sum()) + top - target
        move = excess * float(tail.sum() / density.sum())
        edge = max(edge + move, 0.0)
        if abs(move) < 1e-12 * max(edge, 1.0):
            break
    return edge


def _carried_on(
    nodes: NDArray[np.float64], mass: NDArray[np.float64], edge: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where those not stopped are after one more step, as nodes and their masses."""
    unit, weights = _legendre(8 + math.ceil(NODES_PER_STEP * edge))
    places = edge * unit
    kernel = np.exp(-((places[:, None] - nodes) ** 2) / 2) / math.sqrt(2 * math.pi)
    return places, edge * weights * (kernel @ mass)


@lru_cache(maxsize=64)
def _legendre(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = roots_legendre(n)
    return nodes, weights
