r"""Before and after: which metrics moved towards their ideal; and which respond to data at all.

References
----------
.. [1] Majumder et al., "Fair Enough", RQ4 and Table 8, which compares medians rounded to three
   decimals.

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

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from comparity.inference.gap_tests import Interval
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.resamples import Change, Comparison, Sensitivity, Spread

__all__ = [
    "FACTOR",
    "compare_medians",
    "compare_values",
    "metric_sensitivity",
]


Floats = NDArray[np.float64]


def compare_values(
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    resampled: tuple[Mapping[str, Floats], Mapping[str, Floats]] | None = None,
    level: float = 0.95,
    decimals: int | None = None,
    names: tuple[str, str] = ("before", "after"),
) -> Comparison:
    """Say for each metric whether it moved towards its ideal value.

    Parameters
    ----------
    before, after : mapping of str to float
        Values of each metric.
    resampled : (mapping, mapping), optional
        Both over the same resamples, for intervals of the change in the distance from the ideal.
    level : float
        Confidence level of these.
    decimals : int, optional
        Round values before comparing them, as published tables do.
    names : (str, str)
        What is compared.

    Examples
    --------
    >>> compare_values({"C0": -0.2, "C14": 0.7}, {"C0": 0.1, "C14": 1.5}).counts
    {'towards': 1, 'away': 1, 'unchanged': 0, 'unknown': 0}
    """
    changes = []
    for number in before:
        one = CATALOGUE[number]
        first, second = (_rounded(values[number], decimals) for values in (before, after))
        interval = None
        if resampled is not None and number in resampled[0]:
            shifts = _shifts(resampled[0][number], resampled[1][number], one.ideal)
            interval = _percentiles(shifts, level)
        changes.append(
            Change(
                id=number,
                name=one.name,
                before=first,
                after=second,
                ideal=one.ideal,
                moved=_moved(one.distance(first), one.distance(second)),
                interval=interval,
            )
        )
    return Comparison(changes=tuple(changes), names=names)


def compare_medians(
    before: Mapping[str, Floats], after: Mapping[str, Floats], *, decimals: int | None = 3
) -> Comparison:
    """Compare the medians over resamples, rounded as in the published table."""
    medians = [
        {number: _median(column) for number, column in values.items()} for values in (before, after)
    ]
    return compare_values(*medians, decimals=decimals)


def _moved(before: float, after: float) -> str:
    if math.isnan(before) or math.isnan(after):
        return "unknown"
    if before == after:
        return "unchanged"
    return "towards" if after < before else "away"


def _rounded(value: float, decimals: int | None) -> float:
    return float(value) if decimals is None else round(float(value), decimals)


def _median(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else math.nan


def _shifts(before: Floats, after: Floats, ideal: float) -> Floats:
    """Return how much farther from the ideal, in resamples in which both values are finite."""
    # The ratio of a rate to a rate of zero is infinite: no number says how far that moved.
    finite = np.isfinite(before) & np.isfinite(after)
    shifts: Floats = np.abs(after[finite] - ideal) - np.abs(before[finite] - ideal)
    return shifts


def _percentiles(shifts: Floats, level: float) -> Interval | None:
    if not len(shifts):
        return None
    low, high = np.quantile(shifts, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


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
