"""Chances to cross boundaries at planned looks, by the recursion on a fine grid.

After k looks of equal information the statistic is a sum of k independent normal steps over the
root of k. The density of sums that have not crossed yet is carried from look to look, by Simpson's
rule on a grid; nothing is shared with the package, which finds boundaries by Gauss' rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.integrate import simpson
from scipy.stats import norm

POINTS = 601


def crossing_chances(bounds: Sequence[float], drift: float = 0.0) -> list[float]:
    """Return the chance that ``|Z|`` first exceeds its bound at each look.

    Parameters
    ----------
    bounds : sequence of float
        Of the statistic, at looks equally far apart.
    drift : float
        Mean of the statistic at the last look.
    """
    step = drift / np.sqrt(len(bounds))
    places, density, chances = np.zeros(1), np.ones(1), []
    for look, bound in enumerate(bounds, start=1):
        edge = bound * np.sqrt(look)
        outside = norm.sf(edge - places - step) + norm.cdf(-edge - places - step)
        chances.append(_integral(outside * density, places))
        grid = np.linspace(-edge, edge, POINTS)
        moved = norm.pdf(grid[:, None] - places - step) * density
        density = np.array([_integral(row, places) for row in moved])
        places = grid
    return chances


def _integral(values: np.ndarray, places: np.ndarray) -> float:
    """Return an integral, or the value at the one place where all the mass is."""
    return float(values[0]) if len(places) == 1 else float(simpson(values, x=places))
