r"""The best mixture of two rankings under one linear limit, by sorting.

With two groups an exposure program has a single limit, :math:`|f^\top e| \le \epsilon` on the
expected exposures e of the items. For a price :math:`\lambda` of the limit the best ranking puts
items in the order of :math:`u - \lambda f`, and :math:`f^\top e` falls as the price rises. So the
program is solved by the price at which it falls to the limit: the rankings just below and just
above that price, mixed such that the limit is met. That takes some 50 sorts instead of a linear
program with :math:`n^2` unknowns.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_mixture", "least_difference"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

ROUNDING = 1e-12
"""Sums of products that are as near as this, relative to the largest there is, are equal."""


def least_difference(factor: Floats, worth: Floats) -> float:
    """Return the least size of ``factor @ exposure`` that a mixture of rankings can have.

    Parameters
    ----------
    factor : ndarray, (n,)
        What exposure of an item adds to the difference.
    worth : ndarray, (n,)
        What a place is worth, the first one most.
    """
    ordered = np.sort(factor)
    return max(float(ordered @ worth), -float(ordered[::-1] @ worth), 0.0)


def best_mixture(
    utility: Floats, factor: Floats, worth: Floats, slack: float
) -> tuple[Codes, Floats] | None:
    """Return one or two rankings of largest utility, and how often each is to be drawn.

    Parameters
    ----------
    utility, factor : ndarray, (n,)
        What exposure of an item is worth, and what it adds to the difference.
    worth : ndarray, (n,)
        What a place is worth, the first one most.
    slack : float
        Largest size of the expected difference.

    Returns
    -------
    rankings : ndarray of int, (m, n)
        Items by place, the more frequent ranking first.
    probabilities : ndarray, (m,)
        Or None where no mixture keeps within the slack.
    """
    rounding = ROUNDING * float(np.abs(factor).max(initial=0.0) * worth.sum())
    limit = slack + rounding
    if least_difference(factor, worth) > limit:
        return None
    free = np.argsort(-utility, kind="stable")
    difference = float(factor[free] @ worth)
    if abs(difference) <= limit:
        return free[None, :], np.ones(1)
    # Turned such that the difference is too large, and a positive price lowers it.
    turned = math.copysign(1.0, difference) * factor
    above, below = _around(utility, turned, worth, limit)
    high, low = float(turned[above] @ worth), float(turned[below] @ worth)
    share = min(max((limit - low) / (high - low), 0.0), 1.0)
    shares = np.array([share, 1 - share])
    kept = np.argsort(-shares, kind="stable")[: 1 if share in (0.0, 1.0) else 2]
    return np.stack([above, below])[kept], shares[kept]


def _around(utility: Floats, factor: Floats, worth: Floats, limit: float) -> tuple[Codes, Codes]:
    """Return the best rankings just below and just above the price that meets the limit.

    Prices are angles between 0, where the utility decides and ties go to a large difference, and a
    right angle, where the difference decides and ties go to utility.
    """
    u, f = (values / np.abs(values).max() for values in (_nonzero(utility), factor))
    low, high = 0.0, math.pi / 2
    above, below = np.lexsort((-factor, -utility)), np.lexsort((-utility, factor))
    while low < (angle := (low + high) / 2) < high:
        order = np.argsort(math.sin(angle) * f - math.cos(angle) * u, kind="stable")
        if factor[order] @ worth > limit:
            low, above = angle, order
        else:
            high, below = angle, order
    return above, below


def _nonzero(values: Floats) -> Floats:
    return values if values.any() else np.ones_like(values)
