"""Many values of each metric: over resampled counts, or over the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import GroupedDecisions
from comparity.counts.neighbours import count_neighbours
from comparity.errors import NonBinaryError
from comparity.inference.bootstrap import resampled
from comparity.metrics.catalogue import CATALOGUE
from comparity.metrics.entries import Entry
from comparity.metrics.entropy import consistency
from comparity.tables.frames import text_of

__all__ = ["Values", "contrast_of", "cross_validated_values", "metric_values", "resampled_values"]

Floats = NDArray[np.float64]
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
