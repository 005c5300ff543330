r"""How closely predictions follow labels: the Matthews correlation coefficient in two camps.

With a table of label and prediction, :math:`n_{11}` true positives and so on,

.. math:: \mathrm{MCC} = \frac{n_{11} n_{00} - n_{01} n_{10}}
    {\sqrt{n_{1 \cdot} \, n_{0 \cdot} \, n_{\cdot 1} \, n_{\cdot 0}}}

is the correlation of two 0/1 variables (Pearson's phi): 1 where every prediction is right, -1 where
every one is wrong, 0 where predictions tell nothing about labels. It does not exist, and is
``nan``, where all labels or all predictions are the same. (scikit-learn returns 0 there.)

References
----------
.. [1] Chicco and Jurman (2020), "The advantages of the Matthews correlation coefficient (MCC) over
   F1 score and accuracy in binary classification evaluation".
.. [2] Bishop, Fienberg and Holland (1975), "Discrete Multivariate Analysis", Section 11.3.1, for
   the variance of phi by the delta method.
.. [3] Zou (2007), "Toward using confidence intervals to compare correlations", for the interval of
   a difference from the intervals of two correlations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.inference.gap_tests import Interval
from comparity.inference.metric_intervals import quantile
from comparity.metrics.classification import Measure, Measured, divide

Floats = NDArray[np.float64]

METHOD = "delta method on Fisher's z, for the difference by Zou"

IMAGINARY = 0.5
"""Decisions added to every cell for an interval, which would have no length at 1 and -1."""


@dataclass(frozen=True, slots=True)
class MatthewsGap(Measure):
    """Matthews correlation of the unprivileged minus that of the privileged.

    Between -2 and 2, 0 where predictions follow labels as closely in both camps; ``nan`` where a
    camp has one label only, or one prediction.

    Examples
    --------
    >>> tables = [[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]
    >>> contrast = GroupedDecisions(np.array(tables), np.array([False, True]))
    >>> round(float(MatthewsGap()(contrast)), 3)
    -0.125
    """

    has_sign: ClassVar[bool] = True

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        correlations = _correlation(contrast.two_camps.cells)
        gap: Floats = correlations[..., 0] - correlations[..., 1]
        return gap

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        (value, low, high), (other, other_low, other_high) = (
            _correlation_ends(table, level) for table in contrast.two_camps.cells
        )
        below = math.hypot(value - low, other_high - other)
        above = math.hypot(high - value, other - other_low)
        gap = value - other
        return Measured(Interval(gap - below, gap + above, level), METHOD)


def _correlation(table: Floats) -> Floats:
    """Return the correlation of label and prediction, over the last two axes."""
    labels, predictions = table.sum(axis=-1), table.sum(axis=-2)
    product = table[..., 1, 1] * table[..., 0, 0] - table[..., 0, 1] * table[..., 1, 0]
    return divide(product, np.sqrt(labels.prod(axis=-1)) * np.sqrt(predictions.prod(axis=-1)))


def _correlation_ends(table: Floats, level: float) -> tuple[float, float, float]:
    """Return the correlation and the ends of its interval, which hold it."""
    value, filled = float(_correlation(table)), table + IMAGINARY
    centre = float(_correlation(filled))
    error = math.sqrt(_variance(filled / filled.sum(), centre) / filled.sum())
    reach = quantile(level) * error / (1 - centre**2)
    low, high = (math.tanh(math.atanh(centre) + side * reach) for side in (-1, 1))
    return value, min(low, value), max(high, value)


def _variance(share: Floats, phi: float) -> float:
    r"""Return n times the variance of phi for large n, from the shares of the cells.

    .. math:: 1 - \phi^2 + \phi \Bigl( 1 + \frac{\phi^2}{2} \Bigr) a b
        - \frac{3}{4} \phi^2 (a^2 + b^2), \qquad
        a = \frac{p_{1 \cdot} - p_{0 \cdot}}{\sqrt{p_{1 \cdot} p_{0 \cdot}}}, \quad
        b = \frac{p_{\cdot 1} - p_{\cdot 0}}{\sqrt{p_{\cdot 1} p_{\cdot 0}}}
    """
    a, b = (float((one[1] - one[0]) / np.sqrt(one.prod())) for one in (share.sum(1), share.sum(0)))
    return 1 - phi**2 + phi * (1 + phi**2 / 2) * a * b - 0.75 * phi**2 * (a**2 + b**2)
