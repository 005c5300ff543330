r"""What a measure is, and how rates differ between unprivileged and privileged groups.

A rate counts some cells of the table of label and prediction among others: the true positive rate
counts (1, 1) among (1, 0) and (1, 1). Gaps are unprivileged minus privileged, ratios unprivileged
over privileged. A rate without trials is ``nan``; a ratio to a rate of zero is ``inf``, and ``nan``
if both rates are zero.

Every measure is called with a :class:`~comparity.counts.decisions.GroupedDecisions` and gives one
number for each of its tables; its interval is found by a method that holds at its bounds, too.

References
----------
.. [1] Majumder, Chakraborty, Bai, Stolee and Menzies, "Fair Enough: Searching for Sufficient
   Measures of Fairness", Tables 1 and 3.
.. [2] Bellamy et al. (2018), "AI Fairness 360".
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.counts.pairs import Tally
from comparity.inference.gap_tests import Interval
from comparity.inference.metric_intervals import (
    Slopes,
    absolute_slopes,
    folded_interval,
    log_ratio_interval,
    maximum_slopes,
    rate_contrast_interval,
)
from comparity.inference.proportions import wilson_interval

Floats = NDArray[np.float64]
Places = tuple[tuple[int, int], ...]

ALL: Places = ((0, 0), (0, 1), (1, 0), (1, 1))

DELTA = "delta method with imaginary decisions (Price and Bonett)"
LOG_DELTA = "delta method on the logarithm"
WILSON = "Wilson"
FOLDED = "folded bootstrap"


class Measured(NamedTuple):
    """An interval and the name of the method behind it."""

    interval: Interval
    method: str


class Measure(ABC):
    """A metric as a function of counts, with its interval.

    Attributes
    ----------
    has_sign : bool
        Whether values on either side of the ideal speak of different camps, or of opposites.
    all_groups : bool
        Whether it tells all groups apart; one that has no such attribute sees the two camps.
    """

    __slots__ = ()

    has_sign: ClassVar[bool] = False

    @property
    def sees_all_groups(self) -> bool:
        """Whether it tells all groups apart, and not only the two camps."""
        return getattr(self, "all_groups", False)

    @abstractmethod
    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""

    @abstractmethod
    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table.

        Parameters
        ----------
        contrast : GroupedDecisions
            The counts.
        drawn : GroupedDecisions
            Tables resampled from them, used where a measure has a kink.
        level : float
            Confidence level.
        """


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
        return _sum_cells(table, self.hits)

    def n_trials(self, table: Floats) -> Floats:
        """Return the number of trials."""
        return _sum_cells(table, self.trials)

    def of(self, table: Floats) -> Floats:
        """Return the share of hits; ``nan`` without trials."""
        return divide(self.n_hits(table), self.n_trials(table))

    def tally(self, table: Floats) -> Tally:
        """Return hits and trials of one table."""
        return Tally(round(float(self.n_hits(table))), round(float(self.n_trials(table))))


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
class RateGap(Measure):
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

    has_sign: ClassVar[bool] = True

    rates: tuple[Rate, ...]

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        return _mean([_gap(contrast, rate) for rate in self.rates])

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        share = 1 / len(self.rates)
        camps = ((contrast.unprivileged, share), (contrast.privileged, -share))
        tallies = [rate.tally(table) for rate in self.rates for table, _ in camps]
        weights = [weight for _ in self.rates for _, weight in camps]
        return Measured(rate_contrast_interval(tallies, weights, level=level), DELTA)


@dataclass(frozen=True, slots=True)
class AverageAbsoluteGap(Measure):
    r"""Mean over rates of the size of the gap.

    .. math:: \frac{1}{m} \sum_{j=1}^m \bigl| r_j(u) - r_j(p) \bigr|

    Between 0 and 1, 0 at parity of every rate. It has no sign, so chance alone makes it positive.
    """

    rates: tuple[Rate, ...]

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        return _mean([np.abs(_gap(contrast, rate)) for rate in self.rates])

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        slopes = Slopes(np.zeros(1), np.zeros(1))
        for rate in self.rates:
            observed = _gap(contrast, rate)
            one = absolute_slopes(float(observed), _gap(drawn, rate) - observed)
            slopes = slopes + (1 / len(self.rates)) * one
        value = float(self(contrast))
        return Measured(folded_interval(value, slopes, level=level, least=0.0), FOLDED)


@dataclass(frozen=True, slots=True)
class RateRatio(Measure):
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
        return divide(rates[..., 0], rates[..., 1])

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        camps = [self.rate.tally(table) for table in (contrast.unprivileged, contrast.privileged)]
        return Measured(log_ratio_interval(*camps, level=level), LOG_DELTA)


@dataclass(frozen=True, slots=True)
class OverallRate(Measure):
    """A rate over everybody: it compares no groups.

    The published lists give the selection rate the ideal value 0, which no useful model has.
    """

    rate: Rate

    def __call__(self, contrast: GroupedDecisions) -> Floats:
        """Return the measure of each table."""
        return self.rate.of(contrast.whole)

    def interval(
        self, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
    ) -> Measured:
        """Return the interval of the measure of one table."""
        return Measured(wilson_interval(self.rate.tally(contrast.whole), level), WILSON)


def widest_gap_interval(
    rate: Rate, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Interval:
    """Return the interval of the largest minus the smallest rate of all groups."""
    observed, errors = differences(rate.of(contrast.cells), rate.of(drawn.cells))
    value = float(np.max(np.abs(observed)))
    return folded_interval(value, maximum_slopes(observed, errors), level=level, least=0.0)


def widest_ratio_interval(
    rate: Rate, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Interval:
    """Return the interval of the smallest over the largest rate of all groups.

    On the scale of the logarithm with half a hit added; 0 is its lower end where a rate is zero.
    """
    observed, errors = differences(_safe_logs(rate, contrast), _safe_logs(rate, drawn))
    value = float(np.max(np.abs(observed)))
    low, high, _ = folded_interval(value, maximum_slopes(observed, errors), level=level, least=0.0)
    empty = not rate.n_hits(contrast.cells).all()
    return Interval(0.0 if empty else math.exp(-high), math.exp(-low), level)


def _safe_logs(rate: Rate, contrast: GroupedDecisions) -> Floats:
    hits, trials = rate.n_hits(contrast.cells), rate.n_trials(contrast.cells)
    logs: Floats = np.log((hits + 0.5) / (trials + 0.5))
    return logs


def differences(observed: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """Return the difference of every two groups, and its errors over resamples."""
    first, second = np.triu_indices(observed.shape[-1], k=1)
    gaps = observed[first] - observed[second]
    return gaps, drawn[:, first] - drawn[:, second] - gaps


def divide(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 / 0 is ``nan`` and x / 0 is ``inf``, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = np.divide(numerator, denominator)
    return quotient


def _gap(contrast: GroupedDecisions, rate: Rate) -> Floats:
    rates = rate.of(contrast.two_camps.cells)
    gap: Floats = rates[..., 0] - rates[..., 1]
    return gap


def _mean(values: list[Floats]) -> Floats:
    mean: Floats = sum(values[1:], start=values[0]) / len(values)
    return mean


def _sum_cells(table: Floats, places: Places) -> Floats:
    total: Floats = np.sum([table[..., label, prediction] for label, prediction in places], axis=0)
    return total
