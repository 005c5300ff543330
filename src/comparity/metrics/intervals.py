"""The interval of each kind of measure, by a method that holds at its bounds, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions, Tally
from comparity.inference.bootstrap import (
    Slopes,
    absolute_slopes,
    folded_interval,
    maximum_slopes,
    norm_slopes,
)
from comparity.inference.delta import (
    entropy_interval,
    log_ratio_interval,
    rate_contrast_interval,
    transformed,
)
from comparity.inference.gap_tests import Interval
from comparity.inference.proportions import wilson_interval
from comparity.metrics.classification import (
    BASE,
    SELECTION,
    AverageAbsoluteGap,
    OverallRate,
    Rate,
    RateGap,
    RateRatio,
)
from comparity.metrics.entropy import (
    BenefitEntropy,
    BenefitVariation,
    BiasAmplification,
    DifferentialFairness,
    GroupEntropy,
    GroupVariation,
    group_benefits,
    log_rates,
)

__all__ = ["DELTA", "FOLDED", "LOG_DELTA", "Measure", "Measured", "measure_interval"]
__all__ += ["widest_gap_interval", "widest_ratio_interval"]

Floats = NDArray[np.float64]
Measure = Callable[[GroupedDecisions], Floats]

DELTA = "delta method with imaginary decisions (Price and Bonett)"
LOG_DELTA = "delta method on the logarithm"
WILSON = "Wilson"
FOLDED = "folded bootstrap"


class Measured(NamedTuple):
    """An interval and the name of the method behind it."""

    interval: Interval
    method: str


@singledispatch
def measure_interval(
    measure: Measure, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    """Return the interval of a measure.

    Parameters
    ----------
    measure : callable
        One of the measures of :mod:`comparity.metrics`.
    contrast : GroupedDecisions
        The counts.
    drawn : GroupedDecisions
        Tables resampled from them, used where a measure has a kink.
    level : float
        Confidence level.
    """
    raise TypeError(type(measure))


def _tally(rate: Rate, table: Floats) -> Tally:
    return Tally(round(float(rate.n_hits(table))), round(float(rate.n_trials(table))))


@measure_interval.register
def _(
    measure: RateGap, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    share = 1 / len(measure.rates)
    camps = ((contrast.unprivileged, share), (contrast.privileged, -share))
    tallies = [_tally(rate, table) for rate in measure.rates for table, _ in camps]
    weights = [weight for _ in measure.rates for _, weight in camps]
    return Measured(rate_contrast_interval(tallies, weights, level=level), DELTA)


@measure_interval.register
def _(
    measure: RateRatio, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    camps = (_tally(measure.rate, table) for table in (contrast.unprivileged, contrast.privileged))
    return Measured(log_ratio_interval(*camps, level=level), LOG_DELTA)


@measure_interval.register
def _(
    measure: OverallRate, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    return Measured(wilson_interval(_tally(measure.rate, contrast.whole), level), WILSON)


@measure_interval.register
def _(
    measure: BenefitEntropy, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    table = contrast.whole
    benefits = np.array([table[1, 0], table[0, 0] + table[1, 1], table[0, 1]])
    return Measured(entropy_interval(benefits, measure.order, level=level), LOG_DELTA)


@measure_interval.register
def _(
    measure: BenefitVariation, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    index, method = measure_interval(BenefitEntropy(2), contrast, drawn, level=level)
    return Measured(transformed(index, measure.scale, 0.5), method)


@measure_interval.register
def _(
    measure: GroupEntropy, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    root = _root_interval(measure, contrast, drawn, level=level)
    return Measured(transformed(root, 0.5, 2), FOLDED)


@measure_interval.register
def _(
    measure: GroupVariation, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    entropy = GroupEntropy(2, measure.all_groups)
    root = _root_interval(entropy, contrast, drawn, level=level)
    return Measured(transformed(root, measure.scale / math.sqrt(2), 1), FOLDED)


@measure_interval.register
def _(
    measure: AverageAbsoluteGap,
    contrast: GroupedDecisions,
    drawn: GroupedDecisions,
    *,
    level: float,
) -> Measured:
    slopes = Slopes(np.zeros(1), np.zeros(1))
    for rate in measure.rates:
        gap = RateGap((rate,))
        observed = gap(contrast)
        one = absolute_slopes(float(observed), gap(drawn) - observed)
        slopes = slopes + (1 / len(measure.rates)) * one
    value = float(measure(contrast))
    return Measured(folded_interval(value, slopes, level=level, least=0.0), FOLDED)


@measure_interval.register
def _(
    measure: DifferentialFairness,
    contrast: GroupedDecisions,
    drawn: GroupedDecisions,
    *,
    level: float,
) -> Measured:
    slopes = _log_slopes(measure.rate, contrast, drawn)
    value = float(measure(contrast))
    return Measured(folded_interval(value, slopes, level=level, least=0.0), FOLDED)


@measure_interval.register
def _(
    measure: BiasAmplification, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Measured:
    slopes = _log_slopes(SELECTION, contrast, drawn) - _log_slopes(BASE, contrast, drawn)
    return Measured(folded_interval(float(measure(contrast)), slopes, level=level), FOLDED)


def widest_gap_interval(
    rate: Rate, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Interval:
    """Return the interval of the largest minus the smallest rate of all groups."""
    observed, errors = _pairs(rate.of(contrast.cells), rate.of(drawn.cells))
    value = float(np.max(np.abs(observed)))
    return folded_interval(value, maximum_slopes(observed, errors), level=level, least=0.0)


def widest_ratio_interval(
    rate: Rate, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Interval:
    """Return the interval of the smallest over the largest rate of all groups.

    On the scale of the logarithm with half a hit added; 0 is its lower end where a rate is zero.
    """
    observed, errors = _pairs(_safe_logs(rate, contrast), _safe_logs(rate, drawn))
    value = float(np.max(np.abs(observed)))
    low, high, _ = folded_interval(value, maximum_slopes(observed, errors), level=level, least=0.0)
    empty = not rate.n_hits(contrast.cells).all()
    return Interval(0.0 if empty else math.exp(-high), math.exp(-low), level)


def _safe_logs(rate: Rate, contrast: GroupedDecisions) -> Floats:
    hits, trials = rate.n_hits(contrast.cells), rate.n_trials(contrast.cells)
    logs: Floats = np.log((hits + 0.5) / (trials + 0.5))
    return logs


def _log_slopes(rate: Rate, contrast: GroupedDecisions, drawn: GroupedDecisions) -> Slopes:
    yes_no = [
        _pairs(log_rates(contrast, rate)[place], log_rates(drawn, rate)[:, place])
        for place in (0, 1)
    ]
    observed, errors = zip(*yes_no, strict=True)
    return maximum_slopes(np.concatenate(observed), np.concatenate(errors, axis=1))


def _pairs(observed: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """Return the difference of every two groups, and its errors over resamples."""
    first, second = np.triu_indices(observed.shape[-1], k=1)
    gaps = observed[first] - observed[second]
    return gaps, drawn[:, first] - drawn[:, second] - gaps


def _root_interval(
    entropy: GroupEntropy, contrast: GroupedDecisions, drawn: GroupedDecisions, *, level: float
) -> Interval:
    """Return the interval of the root of twice an index between groups, which is a length."""
    root = math.sqrt(2 * max(float(entropy(contrast)), 0.0))
    vectors = [
        _deviations(one if entropy.all_groups else one.two_camps) for one in (contrast, drawn)
    ]
    # Rounding can leave an index of nothing a little below zero.
    moved = np.sqrt(2 * np.maximum(entropy(drawn), 0.0)) - root
    slopes = norm_slopes(vectors[0], vectors[1] - vectors[0], moved)
    return folded_interval(root, slopes, level=level, least=0.0)


def _deviations(contrast: GroupedDecisions) -> Floats:
    """Return the vector whose squared length is twice the index of order 2."""
    sizes, means = group_benefits(contrast)
    shares = sizes / sizes.sum(axis=-1, keepdims=True)
    means = np.where(sizes > 0, means, 0.0)
    overall = (shares * means).sum(axis=-1, keepdims=True)
    vector: Floats = np.sqrt(shares) * (means / overall - 1)
    return vector
