"""Counts of how far two sets of decisions about the same subjects lie apart, by group.

Whatever is asked about two decision makers is asked about the difference of their decisions, so a
table of rows becomes one histogram of differences for each group. Ratings are coarse, and the
histogram of a million rows has a few entries; for decisions with many values it has as many as
there are rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import Clustering
from comparity.errors import IncompatibleCountsError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

NARROWEST = 1e-30
"""Decisions that lie closer together have fourth powers that are not told from zero."""

# A double has between 15 and 16 significant decimals; a difference of two may lose one. In single
# precision there are between 7 and 8.
SIGNIFICANT, SINGLE = 14, 6
EXACT = 2.0**10
"""Numbers with so many parts of one are exact in any precision."""

# Whole numbers that span less than this are counted without sorting.
STEPS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What tests of means need to know of the differences in one group.

    Attributes
    ----------
    n : int
        Rows.
    mean : float
        Their mean; ``nan`` without rows.
    m2, m3, m4 : float
        Sums of the second, third and fourth powers of the distances from the mean.
    mode : float
        What most rows have; the mean where no value has a majority, so that the other signs give
        the other sign.
    at_mode : int
        Rows with the most common value.
    low, high : float
        Smallest and largest value.

    Examples
    --------
    >>> one = Moments.of(np.array([0.0, 0.0, 1.0]))
    >>> one.mean, round(one.variance, 3), one.mode, one.away
    (0.3333333333333333, 0.333, 0.0, 1)
    """

    n: int
    mean: float
    m2: float
    m3: float
    m4: float
    mode: float
    at_mode: int
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, counts: Counts | None = None) -> Moments:
        """Return the moments of values, each of them seen `counts` times."""
        if counts is None:
            values, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
        seen = counts > 0
        values, counts = values[seen], counts[seen]
        n = int(counts.sum())
        if not n:
            return cls(
                n=0,
                mean=np.nan,
                m2=np.nan,
                m3=np.nan,
                m4=np.nan,
                mode=np.nan,
                at_mode=0,
                low=np.nan,
                high=np.nan,
            )
        # A constant column has no variance, not one of rounding errors.
        mean = float(counts @ values) / n if len(values) > 1 else float(values[0])
        centred = values - mean
        most = int(np.argmax(counts))
        majority = 2 * counts[most] > n
        return cls(
            n=n,
            mean=mean,
            m2=float(counts @ centred**2),
            m3=float(counts @ centred**3),
            m4=float(counts @ centred**4),
            mode=float(values[most]) if majority else mean,
            at_mode=int(counts[most]),
            low=float(values.min()),
            high=float(values.max()),
        )

    @property
    def variance(self) -> float:
        """Variance with ``n - 1`` below; ``nan`` with fewer than two rows."""
        return self.m2 / (self.n - 1) if self.n > 1 else float("nan")

    @property
    def away(self) -> int:
        """Rows that do not have the most common value."""
        return self.n - self.at_mode


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRange:
    """What one decision maker used of the scale: to notice two scales where one is needed.

    Attributes
    ----------
    low, high, mean, deviation : float
        Smallest, largest and mean decision, and their standard deviation.
    """

    low: float
    high: float
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DifferenceCounts:
    """How often each difference of two decisions occurs in each group.

    Attributes
    ----------
    values : ndarray of float, (m,)
        Distinct differences, first minus second, in ascending order.
    counts : ndarray of int, (m, K)
        Rows with that difference, by group.
    groups : tuple of str
        The groups, in the order of the columns.

    Examples
    --------
    >>> one = DifferenceCounts.of(np.array([1.0, 0.0, 0.0]), np.array([0, 0, 1]), ("f", "m"))
    >>> one.values.tolist(), one.counts.tolist()
    ([0.0, 1.0], [[1, 1], [1, 0]])
    >>> (one + one).moments["f"].n
    4
    """

    values: Floats
    counts: Counts
    groups: tuple[str, ...]

    @classmethod
    def of(
        cls,
        differences: Floats,
        group: Counts,
        groups: tuple[str, ...],
        *,
        weights: Counts | None = None,
    ) -> DifferenceCounts:
        """Count differences by the position of their group in `groups`."""
        values, place = _distinct(differences)
        width = len(groups)
        cell = place * width + group
        counts = np.bincount(cell, weights, len(values) * width).astype(np.int64)
        counts = counts.reshape(-1, width)
        seen = counts.any(axis=1)
        return cls(values=values[seen], counts=counts[seen], groups=tuple(groups))

    @property
    def n(self) -> int:
        """Rows in all groups."""
        return int(self.counts.sum())

    @property
    def moments(self) -> Mapping[str, Moments]:
        """Moments of the differences of each group."""
        return {
            group: Moments.of(self.values, self.counts[:, place])
            for place, group in enumerate(self.groups)
        }

    def rows_of(self, group: str) -> Floats:
        """Return the differences of a group, one for each row, in ascending order."""
        return np.repeat(self.values, self.counts[:, self.groups.index(group)])

    def __add__(self, other: DifferenceCounts) -> DifferenceCounts:
        if self.groups != other.groups:
            raise IncompatibleCountsError("groups", [self.groups, other.groups])
        values = np.union1d(self.values, other.values)
        counts = np.zeros((len(values), len(self.groups)), dtype=np.int64)
        for part in (self, other):
            counts[np.searchsorted(values, part.values)] += part.counts
        return DifferenceCounts(values=values, counts=counts, groups=self.groups)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusteredRows:
    """Differences of two groups, and the clusters they lie in.

    Attributes
    ----------
    values : ndarray of float
        The differences; equal rows may be one entry.
    second : ndarray of bool
        Whether a row is of the reference group.
    weights : ndarray of int
        How many rows an entry stands for.
    clusters : mapping of str to Clustering
    """

    values: Floats
    second: NDArray[np.bool_]
    weights: Counts
    clusters: Mapping[str, Clustering]

    def keep(self, kept: NDArray[np.bool_], second: NDArray[np.bool_]) -> ClusteredRows:
        """Return some of the rows, with the reference group marked again."""
        return ClusteredRows(
            values=self.values[kept],
            second=second[kept],
            weights=self.weights[kept],
            clusters={name: one.keep(kept) for name, one in self.clusters.items()},
        )


def _distinct(values: Floats) -> tuple[Floats, Counts]:
    """Return values in ascending order, all that occur among them, and the place of each entry."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low < STEPS:
        place = (values - low).astype(np.int64)
        # Ratings are whole numbers, which need no sorting.
        if np.array_equal(place + low, values):
            return np.arange(low, high + 1, dtype=np.float64), place
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, inverse.reshape(-1).astype(np.int64)


def significant_decimals(values: Floats) -> int | None:
    """Return how many decimals of a difference of floats are not rounding errors."""
    rounded = [column for column in values.T if not _is_exact(column)]
    if not rounded:
        return None
    # What single precision keeps was kept in it: hardly a decimal is one of its numbers.
    single = any(np.array_equal(column, column.astype(np.float32)) for column in rounded)
    return decimals_below(float(np.abs(values).max()), single=single)


def decimals_below(largest: float, *, single: bool) -> int:
    """Return how many decimals mean anything in a difference of numbers up to the largest."""
    return (SINGLE if single else SIGNIFICANT) - math.ceil(math.log10(largest))


def _is_exact(column: Floats) -> bool:
    """Return whether these are whole numbers, halves, quarters and the like, as differences are."""
    return np.array_equal(column * EXACT, np.rint(column * EXACT))
