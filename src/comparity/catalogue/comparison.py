"""Before and after: which metrics moved towards their ideal value, and which away.

References
----------
.. [1] Majumder et al., "Fair Enough", RQ4 and Table 8, which compares medians rounded to three
   decimals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from comparity.catalogue.listing import CATALOGUE
from comparity.resamples import Change, Comparison
from comparity.results import Interval

__all__ = ["compare_medians", "compare_values"]

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
