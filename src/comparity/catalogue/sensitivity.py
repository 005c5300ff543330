r"""Which metrics respond to data, and which say the same whatever the data.

The published rule calls a metric sensitive on a data set if its interquartile range over resamples
is larger than *d* standard deviations, d = 0.35, midway between a small and a medium effect. The
text leaves open which standard deviation. That of the metric itself cannot be meant: the
interquartile range of a normal variable is 1.35 of them, so no metric could ever fail. The caption
of the table speaks of the standard deviation *of the interquartile ranges*, and that is what is
done here:

.. math:: \text{deaf} \iff \mathrm{IQR}_j \le 0.35 \; \mathrm{sd}(\mathrm{IQR}_1, \dots,
    \mathrm{IQR}_m)

Metrics live on different scales (a ratio may be 45, a gap is at most 1), so a metric of a small
scale is deaf by this rule more easily than its information deserves. The rule is published, not
recommended.

References
----------
.. [1] Majumder et al., "Fair Enough", RQ3 and caption of Table 6.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from comparity.resamples import Sensitivity, Spread

__all__ = ["FACTOR", "metric_sensitivity"]

Floats = NDArray[np.float64]

FACTOR = 0.35


def metric_sensitivity(values: Mapping[str, Floats], *, factor: float = FACTOR) -> Sensitivity:
    """Return median and interquartile range of each metric, and which metrics are deaf.

    Parameters
    ----------
    values : mapping of str to ndarray
        Values of each metric over resamples; those that do not exist are left out.
    factor : float
        How many standard deviations of the interquartile ranges are too few.

    Returns
    -------
    Sensitivity
        A metric that never exists has neither median nor range, and is not called deaf.

    Examples
    --------
    >>> values = {"C0": np.arange(5.0), "C1": np.array([1.0, 1, 1, 1, 2])}
    >>> metric_sensitivity(values).deaf
    ('C1',)
    """
    table = {number: _finite(column) for number, column in values.items()}
    quartiles = {
        number: np.quantile(column, [0.25, 0.5, 0.75]) if len(column) else np.full(3, np.nan)
        for number, column in table.items()
    }
    ranges = {number: float(q[2] - q[0]) for number, q in quartiles.items()}
    known = [one for one in ranges.values() if one == one]
    threshold = factor * float(np.std(known, ddof=1)) if len(known) > 1 else float("nan")
    spreads = tuple(
        Spread(
            id=number,
            median=float(q[1]),
            iqr=ranges[number],
            deaf=ranges[number] <= threshold,
        )
        for number, q in quartiles.items()
    )
    longest = max((len(column) for column in values.values()), default=0)
    return Sensitivity(spreads=spreads, threshold=threshold, factor=factor, n_resamples=longest)


def _finite(column: Floats) -> Floats:
    values = np.asarray(column, dtype=np.float64)
    return values[np.isfinite(values)]
