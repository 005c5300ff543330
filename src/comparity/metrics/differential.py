r"""Differential fairness: how much the group tells about who gets yes, and about who gets no.

With smoothed rates :math:`r_g = (n_g^+ + 1/2) / (n_g + 1)` the empirical differential fairness is

.. math::

    \mathrm{EDF} = \max_{g, h} \max \Bigl( \Bigl| \ln \frac{r_g}{r_h} \Bigr|,
        \Bigl| \ln \frac{1 - r_g}{1 - r_h} \Bigr| \Bigr)

over all groups; 0 at parity, without bound, and finite thanks to the smoothing. Of labels it
describes the data; of predictions minus of labels, what a model adds. It grows with the number of
groups by chance alone.

References
----------
.. [1] Foulds, Islam, Keya and Pan (2020), "An intersectional definition of fairness".
.. [2] Majumder et al., "Fair Enough", Table 1, C25 and D1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.contrasts import Contrast
from comparity.metrics.classification import BASE, SELECTION, Rate

__all__ = ["BiasAmplification", "DifferentialFairness", "log_rates", "widest_log_ratio"]

Floats = NDArray[np.float64]

SMOOTHING = 0.5
"""Half a yes and half a no are added to every group."""


@dataclass(frozen=True, slots=True)
class DifferentialFairness:
    """Smoothed empirical differential fairness of labels (`BASE`) or predictions (`SELECTION`).

    Examples
    --------
    >>> tables = [[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]
    >>> contrast = Contrast(np.array(tables), np.array([False, True]))
    >>> round(float(DifferentialFairness(BASE)(contrast)), 4)
    0.0944
    """

    rate: Rate = BASE

    def __call__(self, contrast: Contrast) -> Floats:
        """Return the measure of each table."""
        return widest_log_ratio(log_rates(contrast, self.rate))


@dataclass(frozen=True, slots=True)
class BiasAmplification:
    """Differential fairness of predictions minus that of labels.

    Positive where the model tells groups apart more than the labels do. Without bound.
    """

    def __call__(self, contrast: Contrast) -> Floats:
        """Return the measure of each table."""
        predicted = DifferentialFairness(SELECTION)(contrast)
        return predicted - DifferentialFairness(BASE)(contrast)


def log_rates(contrast: Contrast, rate: Rate) -> Floats:
    """Return logarithms of the smoothed shares of yes and of no, shape (..., 2, K)."""
    hits, trials = rate.n_hits(contrast.cells), rate.n_trials(contrast.cells)
    yes, no = hits + SMOOTHING, trials - hits + SMOOTHING
    logs: Floats = np.log(np.stack([yes, no], axis=-2) / (trials + 2 * SMOOTHING)[..., None, :])
    return logs


def widest_log_ratio(logs: Floats) -> Floats:
    """Return the largest difference between two groups, in yes or in no."""
    widest: Floats = np.ptp(logs, axis=-1).max(axis=-1)
    return widest
