r"""Means from few labels and many predictions: prediction-powered inference (PPI++).

A prediction :math:`f` is known of every unit, a label :math:`y` of a random part :math:`L` of them;
:math:`U` is the rest. For any weight :math:`\lambda`

.. math:: \hat\theta_\lambda = \bar y_L + \lambda (\bar f_U - \bar f_L)

has the mean of the labels: whatever the predictions get wrong, they get wrong in :math:`L` and in
:math:`U` alike. Units of one cluster (a prompt) may depend on each other, so the variance is that
of the sums :math:`a_c + \lambda b_c` over clusters, with

.. math::

    a_c = \sum_{i \in L \cap c} \frac{y_i - \bar y_L}{|L \setminus c|}, \quad
    b_c = \sum_{i \in U \cap c} \frac{f_i - \bar f}{|U \setminus c|}
        - \sum_{i \in L \cap c} \frac{f_i - \bar f_L}{|L \setminus c|} ,

by which leaving a cluster out moves the means. Where :math:`U` is few clusters, these may be alike
by chance: their part is not less than what the spread of all predictions makes of as many.

The weight :math:`-\sum a_c b_c / \sum b_c^2`, kept between 0 and 1, makes it smallest: predictions
that say nothing are left aside, and the answer is that of the labels alone [1]_. The weight is read
off the same data, which costs a degree of freedom: of :math:`G` clusters with labels :math:`G - 2`
remain. Clusters of unequal sizes count as fewer equal ones, and intervals of rates are Wilson's
(:mod:`comparity.inference.clustered_rates`).

References
----------
.. [1] Angelopoulos, Duchi and Zrnic (2023), "PPI++: Efficient prediction-powered inference".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from comparity.inference.clustered_rates import (
    NOTHING,
    degrees_of_freedom,
    effective_clusters,
    effective_trials,
    gap_variance,
    wilson,
)
from comparity.inference.gap_tests import Interval

Floats = NDArray[np.float64]

FEWEST_CLUSTERS = 10
"""Clusters with labels below which no variance is told: it would rest on too few sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoweredMean:
    """A mean of labels, or a gap between two such means, that predictions help to know.

    Attributes
    ----------
    value : float
    standard_error : float
    interval : Interval
    labels_alone : float
        The same from the labels only.
    labels_standard_error : float
    labels_interval : Interval
    predictions_alone : float
        The same from all predictions: off by as much as these are.
    weight : float
        How far predictions are trusted, from 0 to 1.
    n_labels, n_units, n_clusters : int
        Units with a label, all units, and clusters with a label.
    """

    value: float
    standard_error: float
    interval: Interval
    labels_alone: float
    labels_standard_error: float
    labels_interval: Interval
    predictions_alone: float
    weight: float
    n_labels: int
    n_units: int
    n_clusters: int

    @property
    def worth(self) -> float:
        """How many labels without predictions one label with them is worth."""
        if not self.standard_error:
            return 1.0 if not self.labels_standard_error else math.inf
        return float((self.labels_standard_error / self.standard_error) ** 2)


def powered_mean(
    labels: Floats,
    predictions: Floats,
    clusters: NDArray[np.integer],
    *,
    side: NDArray[np.bool_] | None = None,
    level: float = 0.95,
) -> PoweredMean | None:
    """Return the mean of labels that few units have, from predictions that all have.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        ``nan`` where there is none. Units with labels are a random sample of all.
    predictions : ndarray of shape (n,)
        Of the labels, on their scale, made without them.
    clusters : ndarray of int, shape (n,)
        Units with the same code may depend on each other.
    side : ndarray of bool, optional
        Then the mean where it is true minus the mean where it is false.
    level : float
        Of the interval.

    Returns
    -------
    PoweredMean or None
        None with labels in fewer than ten clusters, or where labels, or units to predict, lie in
        one cluster.

    Examples
    --------
    >>> labels = np.r_[np.tile([1.0, 0.0, 1.0, 1.0], 10), np.full(160, np.nan)]
    >>> predictions = np.tile([0.9, 0.2, 0.8, 0.9], 50)
    >>> found = powered_mean(labels, predictions, np.arange(200))
    >>> round(found.value, 3), round(found.worth, 1)
    (0.75, 4.3)
    """
    known = ~np.isnan(labels)
    code = np.unique(clusters, return_inverse=True)[1]
    n_clusters = len(np.unique(code[known]))
    sides = [np.ones(len(labels), dtype=bool)] if side is None else [side, ~side]
    parts = [rows & one for one in sides for rows in (known, ~known)]
    if n_clusters < FEWEST_CLUSTERS or any(len(np.unique(code[one])) < 2 for one in parts):
        return None
    found = [_MeanErrors.of(labels, predictions, code, one) for one in sides]
    whole = found[0] if side is None else found[0] - found[1]
    weight = whole.best_weight()
    value = whole.labels + weight * whole.moved
    # Every mean takes a degree of freedom, and so does the weight.
    error = whole.standard_error(weight, n_clusters - len(sides) - 1, n_clusters)
    # As in any regression with clustered errors.
    labels_error = whole.standard_error(0.0, n_clusters - 1, n_clusters)
    sizes = np.bincount(code[known])
    freedom = degrees_of_freedom(sizes, spent=len(sides) + 1)
    return PoweredMean(
        value=value,
        standard_error=error,
        interval=_interval(value, error, freedom, level),
        labels_alone=whole.labels,
        labels_standard_error=labels_error,
        labels_interval=_interval(whole.labels, labels_error, degrees_of_freedom(sizes), level),
        predictions_alone=whole.predictions,
        weight=weight,
        n_labels=int(known.sum()),
        n_units=len(labels),
        n_clusters=n_clusters,
    )


@dataclass(frozen=True, slots=True)
class _MeanErrors:
    """Means, and what each cluster adds to their errors."""

    labels: float
    predictions: float
    moved: float
    label_errors: Floats
    moved_errors: Floats

    @classmethod
    def of(
        cls,
        labels: Floats,
        predictions: Floats,
        code: NDArray[np.integer],
        side: NDArray[np.bool_],
    ) -> _MeanErrors:
        """Return those of the units of one side."""
        known, rest = side & ~np.isnan(labels), side & np.isnan(labels)
        n = int(code.max()) + 1

        def errors(values: Floats, rows: NDArray[np.bool_], mean: float) -> Floats:
            others = np.sum(rows) - np.bincount(code[rows], minlength=n)
            sums: Floats = np.bincount(code[rows], values[rows] - mean, n) / np.maximum(others, 1)
            return sums

        mean = float(predictions[side].mean())
        # Few clusters to predict may have predictions that are all alike.
        of_rest, of_all = (errors(predictions, rows, mean) for rows in (rest, side))
        whole, few = (effective_clusters(np.bincount(code[one])) for one in (side, rest))
        least = float(of_all @ of_all) * whole / few
        of_rest *= math.sqrt(max(1.0, least / max(float(of_rest @ of_rest), NOTHING)))
        return cls(
            labels=float(labels[known].mean()),
            predictions=mean,
            moved=float(predictions[rest].mean() - predictions[known].mean()),
            label_errors=errors(labels, known, float(labels[known].mean())),
            moved_errors=of_rest - errors(predictions, known, float(predictions[known].mean())),
        )

    def __sub__(self, other: _MeanErrors) -> _MeanErrors:
        return _MeanErrors(
            self.labels - other.labels,
            self.predictions - other.predictions,
            self.moved - other.moved,
            self.label_errors - other.label_errors,
            self.moved_errors - other.moved_errors,
        )

    def best_weight(self) -> float:
        """Return the weight of predictions with the smallest variance, from 0 to 1."""
        square = float(self.moved_errors @ self.moved_errors)
        return (
            float(np.clip(-(self.label_errors @ self.moved_errors) / square, 0, 1))
            if square
            else 0.0
        )

    def standard_error(self, weight: float, freedom: int, n_clusters: int) -> float:
        """Return the error of the mean with a weight of predictions."""
        errors = self.label_errors + weight * self.moved_errors
        # Leaving out one of G equal clusters moves a mean by G / (G - 1) times what it adds.
        scale = (n_clusters - 1) ** 2 / (n_clusters * freedom)
        return math.sqrt(scale * float(errors @ errors))


def powered_rate(
    labels: Floats, predictions: Floats, clusters: NDArray[np.integer], *, level: float = 0.95
) -> PoweredMean | None:
    """Return :func:`powered_mean` of labels from 0 to 1, with intervals that stay between these.

    They are Wilson's: labels that are all alike leave an interval, too.

    Examples
    --------
    >>> labels = np.r_[np.ones(12), np.full(30, np.nan)]
    >>> found = powered_rate(labels, np.ones(42), np.arange(42))
    >>> found.value, round(found.interval.low, 2), found.interval.high
    (1.0, 0.71, 1.0)
    """
    found = powered_mean(labels, predictions, clusters, level=level)
    if found is None:
        return None
    known = ~np.isnan(labels)
    code = np.unique(clusters[known], return_inverse=True)[1]
    sizes = np.bincount(code)
    trials = effective_trials(np.bincount(code, labels[known]), sizes)
    # No vote is worth more than if people had judged all units.
    worth = min(found.worth, found.n_units / found.n_labels)
    value, freedom = min(max(found.value, 0.0), 1.0), degrees_of_freedom(sizes, spent=2)
    return replace(
        found,
        value=value,
        interval=wilson(value, trials * worth, freedom, level),
        labels_interval=wilson(found.labels_alone, trials, degrees_of_freedom(sizes), level),
    )


def powered_excess(
    labels: Floats, predictions: Floats, clusters: NDArray[np.integer], *, level: float = 0.95
) -> PoweredMean | None:
    """Return the mean of predictions minus that of labels, both from 0 to 1.

    As of any gap of two rates, the variance allows for two more clusters in which they differ. It
    is not less than both that of the labels' rate and that of the gap where both are known: labels
    that happen to be all alike would else seem to say all of a gap.
    """
    found = powered_mean(predictions - labels, predictions, clusters, level=level)
    rate = powered_rate(labels, predictions, clusters, level=level)
    if found is None or rate is None:
        return None
    known = ~np.isnan(labels)
    code = np.unique(clusters[known], return_inverse=True)[1]
    sizes, n = np.bincount(code), found.n_clusters
    changed = int(np.count_nonzero(np.bincount(code, predictions[known] - labels[known])))
    error, labels_error = (
        math.sqrt(gap_variance(one**2, changed, n))
        for one in (found.standard_error, found.labels_standard_error)
    )
    freedom, width = degrees_of_freedom(sizes, spent=2), rate.interval.high - rate.interval.low
    of_rate = width / (2 * float(stdtrit(freedom, (1 + level) / 2)))
    error = max(error, min(labels_error, of_rate))
    value = min(max(found.value, -1.0), 1.0)
    ends = _interval(value, error, freedom, level)
    labels_ends = _interval(found.labels_alone, labels_error, degrees_of_freedom(sizes), level)
    return replace(
        found,
        value=value,
        standard_error=error,
        interval=_within_one(ends),
        labels_standard_error=labels_error,
        labels_interval=_within_one(labels_ends),
    )


def _within_one(ends: Interval) -> Interval:
    return Interval(max(ends.low, -1.0), min(ends.high, 1.0), ends.level)


def _interval(value: float, error: float, freedom: float, level: float) -> Interval:
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Interval(value - half, value + half, level)
