r"""Many values of each metric: before and after, over resamples, and whether they respond at all.

The published comparison [1]_ is of medians rounded to three decimals. The published rule [2]_ calls
a metric sensitive on a data set if its interquartile range over resamples is larger than *d*
standard deviations, d = 0.35, midway between a small and a medium effect. The text leaves open
which standard deviation, and its caption speaks of a percentile. There are three readings:

ranges
    The standard deviation *of the interquartile ranges* of all metrics. The default:

    .. math:: \text{deaf} \iff \mathrm{IQR}_j \le 0.35 \; \mathrm{sd}(\mathrm{IQR}_1, \dots,
        \mathrm{IQR}_m)
own
    The standard deviation of the metric itself. The interquartile range of a normal variable is
    1.35 of these, so that hardly a metric fails.
percentile
    The 35th percentile of the interquartile ranges: whatever the data, about a third fails.

Metrics live on different scales (a ratio may be 45, a gap is at most 1), so a metric of a small
scale is deaf by this rule more easily than its information deserves. The rule is published, not
recommended.

References
----------
.. [1] Majumder et al., "Fair Enough", RQ4 and Table 8.
.. [2] Majumder et al., "Fair Enough", RQ3 and caption of Table 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.errors import NonBinaryError
from comparity.inference.gap_tests import Interval
from comparity.metrics.catalogue import CATALOGUE, Entry
from comparity.metrics.options import MetricsOptions
from comparity.metrics.result import Change, Comparison, MetricsAnswer
from comparity.results.plain import as_plain
from comparity.tables.columns import check_option
from comparity.tables.frames import text_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and interquartile range of one metric over resamples.

    Attributes
    ----------
    id : str
        The metric.
    median, iqr : float
        Over resamples in which it exists; ``nan`` where there are none.
    deaf : bool
        Whether the range is too small to matter: the metric says the same whatever the data.
    """

    id: str
    median: float
    iqr: float
    deaf: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity(MetricsAnswer):
    """Which metrics respond to data.

    Attributes
    ----------
    spreads : tuple of Spread
        One for each metric.
    threshold : float
        A metric is deaf if its interquartile range is not above this: `factor` times the standard
        deviation of the interquartile ranges of all metrics, or their percentile; ``nan`` where
        each metric has a threshold of its own.
    factor : float
        Published: 0.35.
    n_resamples : int
        Resamples behind it.
    """

    spreads: tuple[Spread, ...]
    threshold: float
    factor: float
    n_resamples: int

    DERIVED: ClassVar[Mapping[str, str]] = {"deaf": "deaf"}

    @property
    def deaf(self) -> tuple[str, ...]:
        """Metrics that hardly respond."""
        return tuple(spread.id for spread in self.spreads if spread.deaf)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each metric."""
        return [{"metric": row.pop("id"), **row} for row in as_plain(self.spreads)]


def compare_values(
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    resampled: tuple[Mapping[str, Floats], Mapping[str, Floats]] | None = None,
    level: float = 0.95,
    decimals: int | None = None,
    names: tuple[str, str] = ("before", "after"),
) -> Comparison:
    """Compare each metric before and after: whether it moved towards its ideal value.

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
        first, second = float(before[number]), float(after[number])
        if decimals is not None:
            first, second = round(first, decimals), round(second, decimals)
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
                moved=_direction_of_move(one.distance(first), one.distance(second)),
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


def compare_paired(
    contrast: GroupedDecisions,
    paired: Floats,
    catalogue: Mapping[str, Entry],
    options: MetricsOptions,
    *,
    rng: np.random.Generator,
) -> Comparison:
    """Compare two sets of predictions over resamples of the same rows."""
    n = round(float(paired.sum()))
    drawn = rng.multinomial(n, paired.ravel() / n, size=options.replicates)
    tables = drawn.reshape(-1, *paired.shape).astype(np.float64)
    # Summing over the other prediction leaves the table of one of them.
    both = [
        [metric_values(contrast.with_cells(cells.sum(axis=axis)), catalogue) for axis in (-1, -2)]
        for cells in (paired, tables)
    ]
    ours = [number for number in catalogue if number.startswith("C")]
    before, after = ({one: float(side[one]) for one in ours} for side in both[0])
    return compare_values(before, after, resampled=(both[1][0], both[1][1]), level=options.level)


def _direction_of_move(before: float, after: float) -> str:
    if math.isnan(before) or math.isnan(after):
        return "unknown"
    if before == after:
        return "unchanged"
    return "towards" if after < before else "away"


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
READINGS = ("ranges", "own", "percentile")


def metric_sensitivity(
    values: Mapping[str, Floats],
    *,
    factor: float = FACTOR,
    reading: Literal["ranges", "own", "percentile"] = "ranges",
) -> Sensitivity:
    """Return median and interquartile range of each metric, and which metrics are deaf.

    Parameters
    ----------
    values : mapping of str to ndarray
        Values of each metric over resamples; those that do not exist are left out.
    factor : float
        How many standard deviations are too few; by the percentile, what share of the metrics.
    reading : {"ranges", "own", "percentile"}
        Which of three things the published rule is taken to mean, see the module.

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
    quartiles = {number: _quartiles(column) for number, column in values.items()}
    ranges = {number: float(q[2] - q[0]) for number, q in quartiles.items()}
    check_option("reading", reading, READINGS)
    known = [one for one in ranges.values() if one == one]
    threshold = math.nan
    if reading == "ranges" and len(known) > 1:
        threshold = factor * float(np.std(known, ddof=1))
    elif reading == "percentile" and known:
        threshold = float(np.quantile(known, factor))
    limits = dict.fromkeys(ranges, threshold)
    if reading == "own":
        limits = {number: factor * _deviation(column) for number, column in values.items()}
    spreads = tuple(
        Spread(
            id=number,
            median=float(q[1]),
            iqr=ranges[number],
            deaf=ranges[number] <= limits[number],
        )
        for number, q in quartiles.items()
    )
    longest = max((len(column) for column in values.values()), default=0)
    return Sensitivity(spreads=spreads, threshold=threshold, factor=factor, n_resamples=longest)


def _deviation(column: Floats) -> float:
    values = np.asarray(column, dtype=np.float64)
    finite = values[np.isfinite(values)]
    return float(finite.std(ddof=1)) if len(finite) > 1 else math.nan


def _quartiles(column: Floats) -> Floats:
    values = np.asarray(column, dtype=np.float64)
    finite = values[np.isfinite(values)]
    return np.quantile(finite, [0.25, 0.5, 0.75]) if len(finite) else np.full(3, np.nan)


def metric_values(
    contrast: GroupedDecisions, catalogue: Mapping[str, Entry] = CATALOGUE
) -> Mapping[str, Floats]:
    """Return every metric that follows from counts, for each table of a contrast.

    Examples
    --------
    >>> contrast = GroupedDecisions(np.full((2, 2, 2), 5.0), np.array([False, True]))
    >>> values = metric_values(contrast)
    >>> len(values), float(values["C14"])
    (29, 1.0)
    """
    return {
        number: one.measure(contrast)
        for number, one in catalogue.items()
        if one.measure is not None
    }


def contrast_of(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    privileged: NDArray[np.bool_],
    weights: Floats | None = None,
) -> GroupedDecisions:
    """Count 0/1 labels and predictions of privileged and unprivileged items, with weights."""
    for name, values in (("label", labels), ("prediction", predictions)):
        _check_zero_one(name, values)
    codes = 4 * privileged.astype(np.int64) + 2 * labels.astype(np.int64)
    cells = np.bincount(codes + predictions.astype(np.int64), weights, 8).reshape(2, 2, 2)
    return GroupedDecisions(cells.astype(np.float64), np.array([False, True]))


def _check_zero_one(name: str, values: NDArray[Any]) -> None:
    """Refuse other codes, and scores, which would be cut to whole numbers."""
    found = np.unique(values)
    if not np.isin(found, (0, 1)).all():
        raise NonBinaryError(name, [text_of(value) for value in found], role=name)
