r"""Means from few labels and many predictions: prediction-powered inference (PPI++).

A prediction :math:`f` is known of every unit, a label :math:`y` of a random part :math:`L` of them;
:math:`U` is the rest. For any weight :math:`\lambda`

.. math:: \hat\theta_\lambda = \bar y_L + \lambda (\bar f_U - \bar f_L)

has the mean of the labels: whatever the predictions get wrong, they get wrong in :math:`L` and in
:math:`U` alike. Units of one cluster (a prompt) may depend on each other, so the variance is that
of the sums :math:`a_c + \lambda b_c` over clusters, with

.. math::

    a_c = \sum_{i \in L \cap c} \frac{y_i - \bar y_L}{|L|}, \quad
    b_c = \sum_{i \in U \cap c} \frac{f_i - \bar f_U}{|U|}
        - \sum_{i \in L \cap c} \frac{f_i - \bar f_L}{|L|} .

The weight :math:`-\sum a_c b_c / \sum b_c^2`, kept between 0 and 1, makes it smallest: predictions
that say nothing are left aside, and the answer is that of the labels alone [1]_. The weight is read
off the same data, which costs a degree of freedom: of :math:`G` clusters with labels :math:`G - 2`
remain.

References
----------
.. [1] Angelopoulos, Duchi and Zrnic (2023), "PPI++: Efficient prediction-powered inference".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

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
        None with labels in fewer than ten clusters, or without units to predict.

    Examples
    --------
    >>> labels = np.r_[np.tile([1.0, 0.0, 1.0, 1.0], 10), np.full(160, np.nan)]
    >>> predictions = np.tile([0.9, 0.2, 0.8, 0.9], 50)
    >>> found = powered_mean(labels, predictions, np.arange(200))
    >>> round(found.value, 3), round(found.worth, 1)
    (0.75, 4.2)
    """
    known = ~np.isnan(labels)
    code = np.unique(clusters, return_inverse=True)[1]
    n_clusters = len(np.unique(code[known]))
    sides = [np.ones(len(labels), dtype=bool)] if side is None else [side, ~side]
    if n_clusters < FEWEST_CLUSTERS or not all(
        (known & one).any() and (~known & one).any() for one in sides
    ):
        return None
    found = [_MeanErrors.of(labels, predictions, code, one) for one in sides]
    whole = found[0] if side is None else found[0] - found[1]
    weight = whole.best_weight()
    value = whole.labels + weight * whole.moved
    # Every mean takes a degree of freedom, and so does the weight.
    freedom = n_clusters - len(sides) - 1
    error = whole.standard_error(weight, freedom, n_clusters)
    # As in any regression with clustered errors.
    labels_error = whole.standard_error(0.0, n_clusters - 1, n_clusters)
    return PoweredMean(
        value=value,
        standard_error=error,
        interval=_interval(value, error, freedom, level),
        labels_alone=whole.labels,
        labels_standard_error=labels_error,
        labels_interval=_interval(whole.labels, labels_error, n_clusters - 1, level),
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

        def errors(values: Floats, rows: NDArray[np.bool_]) -> Floats:
            kept = values[rows]
            sums: Floats = np.bincount(code[rows], (kept - kept.mean()) / len(kept), n).astype(
                float
            )
            return sums

        return cls(
            labels=float(labels[known].mean()),
            predictions=float(predictions[side].mean()),
            moved=float(predictions[rest].mean() - predictions[known].mean()),
            label_errors=errors(labels, known),
            moved_errors=errors(predictions, rest) - errors(predictions, known),
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
        return math.sqrt(n_clusters / freedom * float(errors @ errors))


def _interval(value: float, error: float, freedom: int, level: float) -> Interval:
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Interval(value - half, value + half, level)
