r"""How rates of a confusion matrix differ between unprivileged and privileged groups.

A rate counts some cells of the table of label and prediction among others: the true positive rate
counts (1, 1) among (1, 0) and (1, 1). Gaps are unprivileged minus privileged, ratios unprivileged
over privileged. A rate without trials is ``nan``; a ratio to a rate of zero is ``inf``, and ``nan``
if both rates are zero.

Every measure is called with a :class:`~comparity.counts.decisions.GroupedDecisions` and gives one
number for each of its tables.

References
----------
.. [1] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
   Measures of Fairness", Tables 1 and 3.
.. [2] Bellamy et al. (2018), "AI Fairness 360".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions

__all__ = [
    "BASE",
    "ERROR",
    "FALSE_DISCOVERY",
    "FALSE_NEGATIVE",
    "FALSE_OMISSION",
    "FALSE_POSITIVE",
    "RATES",
    "SELECTION",
    "TRUE_POSITIVE",
    "AverageAbsoluteGap",
    "OverallRate",
    "Rate",
    "RateGap",
    "RateRatio",
    "divided",
]

Floats = NDArray[np.float64]
Places = tuple[tuple[int, int], ...]

ALL: Places = ((0, 0), (0, 1), (1, 0), (1, 1))


@dataclass(frozen=True, slots=True)
class Rate:
    """Some cells of a table of label and prediction, among others.

    Attributes
    ----------
    name : str
        Name of the rate.
    hits, trials : tuple of (label, prediction)
        Cells that are counted, and cells they are counted among.

    Examples
    --------
    >>> table = np.array([[8.0, 2.0], [1.0, 3.0]])
    >>> float(TRUE_POSITIVE.of(table)), float(FALSE_POSITIVE.of(table))
    (0.75, 0.2)
    """

    name: str
    hits: Places
    trials: Places

    def n_hits(self, table: Floats) -> Floats:
        """Return the number of hits."""
        return _added(table, self.hits)

    def n_trials(self, table: Floats) -> Floats:
        """Return the number of trials."""
        return _added(table, self.trials)

    def of(self, table: Floats) -> Floats:
        """Return the share of hits; ``nan`` without trials."""
        return divided(self.n_hits(table), self.n_trials(table))


TRUE_POSITIVE = Rate("true positive rate", ((1, 1),), ((1, 0), (1, 1)))
FALSE_POSITIVE = Rate("false positive rate", ((0, 1),), ((0, 0), (0, 1)))
FALSE_NEGATIVE = Rate("false negative rate", ((1, 0),), ((1, 0), (1, 1)))
FALSE_OMISSION = Rate("false omission rate", ((1, 0),), ((0, 0), (1, 0)))
FALSE_DISCOVERY = Rate("false discovery rate", ((0, 1),), ((0, 1), (1, 1)))
ERROR = Rate("error rate", ((0, 1), (1, 0)), ALL)
SELECTION = Rate("selection rate", ((0, 1), (1, 1)), ALL)
BASE = Rate("base rate", ((1, 0), (1, 1)), ALL)

RATES = (
    *(TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE, FALSE_OMISSION, FALSE_DISCOVERY),
    *(ERROR, SELECTION, BASE),
)
"""All rates: those of predictions, and the base rate of labels."""


@dataclass(frozen=True, slots=True)
class RateGap:
    r"""Mean over rates of unprivileged minus privileged rate.

    .. math:: \frac{1}{m} \sum_{j=1}^m \bigl( r_j(u) - r_j(p) \bigr)

    Between -1 and 1, 0 at parity; ``nan`` where a rate has no trials. With one rate it is the gap
    of that rate; with false and true positive rates the average odds difference.

    Examples
    --------
    >>> tables = [[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]
    >>> contrast = GroupedDecisions(np.array(tables), np.array([False, True]))
    >>> round(float(RateGap((TRUE_POSITIVE,))(contrast)), 3)
    -0.2
    """

    rates: tuple[Rate, ...]

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        return _mean([_gap(contrast, rate) for rate in self.rates])


@dataclass(frozen=True, slots=True)
class AverageAbsoluteGap:
    r"""Mean over rates of the size of the gap.

    .. math:: \frac{1}{m} \sum_{j=1}^m \bigl| r_j(u) - r_j(p) \bigr|

    Between 0 and 1, 0 at parity of every rate. It has no sign, so chance alone makes it positive.
    """

    rates: tuple[Rate, ...]

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        return _mean([np.abs(_gap(contrast, rate)) for rate in self.rates])


@dataclass(frozen=True, slots=True)
class RateRatio:
    r"""Unprivileged over privileged rate.

    .. math:: r(u) / r(p)

    From 0 to infinity, 1 at parity. ``inf`` where only the privileged rate is zero, ``nan`` where
    both are or a rate has no trials.

    Examples
    --------
    >>> tables = [[[48.0, 12.0], [20.0, 30.0]], [[55.0, 20.0], [15.0, 60.0]]]
    >>> contrast = GroupedDecisions(np.array(tables), np.array([False, True]))
    >>> round(float(RateRatio(FALSE_POSITIVE)(contrast)), 3)
    0.75
    """

    rate: Rate

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        rates = self.rate.of(contrast.two_camps.cells)
        return divided(rates[..., 0], rates[..., 1])


@dataclass(frozen=True, slots=True)
class OverallRate:
    """A rate over everybody: it compares no groups.

    The published lists give the selection rate the ideal value 0, which no useful model has.
    """

    rate: Rate

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        return self.rate.of(contrast.whole)


def divided(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 / 0 is ``nan`` and x / 0 is ``inf``, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = np.divide(numerator, denominator)
    return quotient


def _gap(contrast: GroupedDecisions, rate: Rate) -> Floats:
    rates = rate.of(contrast.two_camps.cells)
    gap: Floats = rates[..., 0] - rates[..., 1]
    return gap


def _mean(values: list[Floats]) -> Floats:
    if len(values) == 1:
        return values[0]
    mean: Floats = sum(values[1:], start=values[0]) / len(values)
    return mean


def _added(table: Floats, places: Places) -> Floats:
    first, *others = places
    total: Floats = table[..., first[0], first[1]]
    for label, prediction in others:
        total = total + table[..., label, prediction]
    return total
