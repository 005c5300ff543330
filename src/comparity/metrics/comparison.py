r"""Many values of each metric: before and after, over resamples, and whether they respond at all.

The published comparison [1]_ is of medians rounded to three decimals. The published rule [2]_ calls
a metric sensitive on a data set if its interquartile range over resamples is larger than *d*
standard deviations, d = 0.35, midway between a small and a medium effect. The text leaves open
which standard deviation. That of the metric itself cannot be meant: the interquartile range of a
normal variable is 1.35 of them, so no metric could ever fail. The caption of the table speaks of
the standard deviation *of the interquartile ranges*, and that is what is done here:

.. math:: \text{deaf} \iff \mathrm{IQR}_j \le 0.35 \; \mathrm{sd}(\mathrm{IQR}_1, \dots,
    \mathrm{IQR}_m)

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.counts.neighbours import count_neighbours
from comparity.errors import NonBinaryError
from comparity.inference.gap_tests import Interval, plain
from comparity.inference.intervals import resampled
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.entries import Entry
from comparity.metrics.entropy import consistency
from comparity.metrics.result import Change, Comparison, MetricsAnswer
from comparity.tables.frames import text_of

__all__ = [
    "FACTOR",
    "Sensitivity",
    "Spread",
    "Values",
    "compare_medians",
    "compare_values",
    "contrast_of",
    "cross_validated_values",
    "metric_sensitivity",
    "metric_values",
    "resampled_values",
]

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
        deviation of the interquartile ranges of all metrics.
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
        return [
            {
                "metric": one.id,
                "median": plain(one.median),
                "iqr": plain(one.iqr),
                "deaf": one.deaf,
            }
            for one in self.spreads
        ]


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


Values = Mapping[str, Floats]
Labels = NDArray[np.int64]
Flags = NDArray[np.bool_]
Fit = Callable[[Floats, Labels, Flags, Floats | None], Any]
Weigh = Callable[[Labels, Flags], Floats]


def metric_values(contrast: GroupedDecisions, catalogue: Mapping[str, Entry] = CATALOGUE) -> Values:
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


def resampled_values(
    contrast: GroupedDecisions, *, replicates: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return every metric that follows from counts, over tables drawn anew."""
    return dict(metric_values(resampled(contrast, replicates=replicates, rng=rng)))


def contrast_of(
    labels: NDArray[Any],
    predictions: NDArray[Any],
    privileged: Flags,
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


def cross_validated_values(
    fit: Fit,
    features: Floats,
    labels: Labels,
    privileged: Flags,
    *,
    weigh: Weigh | None = None,
    rng: np.random.Generator,
    folds: int = 5,
    repeats: int = 5,
    neighbours: bool = True,
) -> dict[str, Floats]:
    """Return every metric over repeated, shuffled cross-validation.

    Metrics of predictions are taken on the part left out, metrics of data on the part trained on,
    as published. The published study repeated the same unshuffled folds, so that its 25 values
    are 5; here every repeat shuffles anew.

    Parameters
    ----------
    fit : callable
        Given features, labels, which rows are privileged, and weights of the rows or ``None``,
        returns a model with ``predict``.
    features : ndarray, (n, d)
        Features, the sensitive attribute among them.
    labels : ndarray of int
        0 or 1.
    privileged : ndarray of bool
        Which rows are privileged.
    weigh : callable, optional
        Given labels and which rows are privileged, returns weights of the rows trained on, such as
        those of reweighing; they count in the metrics of data, too, except for consistency.
    rng : numpy.random.Generator
        Shuffles the rows.
    folds, repeats : int
        Parts, and how often they are drawn.
    neighbours : bool
        Whether to work out consistency (D0), too.

    Returns
    -------
    dict of str to ndarray
        ``folds * repeats`` values of each metric.
    """
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        for part in np.array_split(rng.permutation(len(labels)), folds):
            left_out = np.zeros(len(labels), dtype=bool)
            left_out[part] = True
            own, flags = labels[~left_out], privileged[~left_out]
            weights = None if weigh is None else weigh(own, flags)
            model = fit(features[~left_out], own, flags, weights)
            predicted = np.asarray(model.predict(features[left_out]))
            tested = contrast_of(labels[left_out], predicted, privileged[left_out])
            trained = contrast_of(own, own, flags, weights)
            values = {k: v for k, v in metric_values(tested).items() if k.startswith("C")}
            values |= {k: v for k, v in metric_values(trained).items() if k.startswith("D")}
            for number, value in values.items():
                found.setdefault(number, []).append(float(value))
            if neighbours:
                similar = consistency(count_neighbours(features[~left_out], own == 1, rng=rng))
                found.setdefault("D0", []).append(similar)
    return {number: np.array(found[number]) for number in CATALOGUE if number in found}
