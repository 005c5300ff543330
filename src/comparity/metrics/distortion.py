"""Distortion metrics: whose rows a change of the data moved, and how far.

The published study of metrics leaves them for later; definitions are those of AIF360's sample
distortion metrics. (Its mean differences and ratios cannot be called: they take the difference of
a number. Here they are what their names say.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.neighbours import feature_matrix, row_distances
from comparity.errors import FeatureError, LengthMismatchError, NoSuchEntryError, OptionError
from comparity.inference.gap_tests import Interval, plain
from comparity.inference.metric_intervals import quantile
from comparity.metrics.audit import privileged_groups
from comparity.metrics.result import MetricsAnswer
from comparity.tables.features import one_attribute, placed_features
from comparity.tables.frames import of_engine
from comparity.tables.values import group_codes

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRows:
    """How far the rows of some people were moved.

    Attributes
    ----------
    total, average, maximum : float
        Of the distances between features before and after.
    standard_error : float
        Of the average.
    n : int
        Rows.
    """

    total: float
    average: float
    maximum: float
    standard_error: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """How far a change of the data moved rows, by one kind of distance.

    Attributes
    ----------
    distance : str
        ``"euclidean"``, ``"manhattan"`` or ``"mahalanobis"``.
    everybody, unprivileged, privileged : MovedRows
        Over all rows, and over the two camps.
    difference, ratio : float
        Average of the unprivileged minus, and over, that of the privileged.
    difference_interval : Interval
        Normal interval of the difference.
    """

    distance: str
    everybody: MovedRows
    unprivileged: MovedRows
    privileged: MovedRows
    difference: float
    difference_interval: Interval
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortions(MetricsAnswer):
    """How far a change of the data moved rows, by several kinds of distance.

    Attributes
    ----------
    distances : tuple of Distortion
        One for each kind; ``distortions["euclidean"]`` finds one.
    """

    distances: tuple[Distortion, ...]

    def __getitem__(self, name: str) -> Distortion:
        for one in self.distances:
            if one.distance == name:
                return one
        raise NoSuchEntryError("distance", name, [one.distance for one in self.distances])

    def __iter__(self) -> Iterator[Distortion]:
        return iter(self.distances)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each kind of distance."""
        return [
            {
                "distance": one.distance,
                **{
                    f"{camp}_{name}": plain(value)
                    for camp in ("everybody", "unprivileged", "privileged")
                    for name, value in asdict(getattr(one, camp)).items()
                },
                "difference": plain(one.difference),
                "low": plain(one.difference_interval.low),
                "high": plain(one.difference_interval.high),
                "level": one.difference_interval.level,
                "ratio": plain(one.ratio),
            }
            for one in self.distances
        ]


def distortion_metrics(
    before: Any, after: Any, *, sensitive_features: Any, privileged: Any, level: float = 0.95
) -> Distortions:
    """Work out how far rows were moved, for everybody and for both camps.

    Parameters
    ----------
    before, after : array-like or frame, (n, d)
        Features before and after a change, in the same order of rows; columns of frames are
        matched by name, those of arrays by place.
    sensitive_features : array-like
        The group of each row.
    privileged : value or collection of values
        The groups that have the advantage.
    level : float
        Level of the intervals of the differences.

    Returns
    -------
    Distortions
        One for each of Euclidean, Manhattan and Mahalanobis distance.

    Examples
    --------
    >>> before, after = np.zeros((4, 2)), np.array([[3.0, 4], [0, 0], [0, 1], [0, 0]])
    >>> moved = distortion_metrics(
    ...     before, after, sensitive_features=["f", "m", "f", "m"], privileged="m"
    ... )
    >>> moved["euclidean"].unprivileged.average, moved["euclidean"].difference
    (3.0, 3.0)
    """
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise OptionError("level", level, ["a level between 0 and 1"])
    groups = one_attribute(sensitive_features)
    sides = _of_one_order(before, after)
    matrices = [feature_matrix(placed_features(one), len(groups)) for one in sides]
    if matrices[0].shape != matrices[1].shape:
        raise FeatureError(f"shape {matrices[0].shape} after as before", str(matrices[1].shape))
    codes, names = group_codes(groups, "sensitive_features", "array")
    if len(codes) != len(matrices[0]):
        raise LengthMismatchError({"before": len(matrices[0]), "sensitive_features": len(codes)})
    camps = privileged_groups(privileged, "sensitive_features", names)
    flags = np.array([name in camps for name in names])[codes]
    return Distortions(
        distances=tuple(
            _distortion(name, distances, flags, level)
            for name, distances in row_distances(*matrices).items()
        )
    )


def _of_one_order(before: Any, after: Any) -> tuple[Any, Any]:
    """Return two frames with their columns in one order, anything else as it is."""
    one, two = (of_engine(side, "features") for side in (before, after))
    if not all(isinstance(side, nw.DataFrame | nw.LazyFrame) for side in (one, two)):
        return before, after
    first, second = (side.collect_schema().names() for side in (one, two))
    if set(first) != set(second):
        raise FeatureError("the same columns after as before", f"{first} and {second}")
    return before, after if first == second else two.select(first).to_native()


def _distortion(
    name: str, distances: Floats, privileged: NDArray[np.bool_], level: float
) -> Distortion:
    first, second = (
        _summarise_moves(distances[~privileged]),
        _summarise_moves(distances[privileged]),
    )
    gap = first.average - second.average
    reach = quantile(level) * math.hypot(first.standard_error, second.standard_error)
    return Distortion(
        distance=name,
        everybody=_summarise_moves(distances),
        unprivileged=first,
        privileged=second,
        difference=gap,
        difference_interval=Interval(gap - reach, gap + reach, level),
        ratio=_quotient(first.average, second.average),
    )


def _summarise_moves(distances: Floats) -> MovedRows:
    n = len(distances)
    return MovedRows(
        total=float(distances.sum()),
        average=float(distances.mean()),
        maximum=float(distances.max()),
        standard_error=float(distances.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan,
        n=n,
    )


def _quotient(first: float, second: float) -> float:
    if second:
        return first / second
    return math.inf if first else math.nan
