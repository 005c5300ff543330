"""Tests of whole distributions by permutation: exact for any number of ties.

Definition 2 of differential parity asks for equal distributions of the differences, not only equal
means. Ratings are coarse, so no table of critical values fits; the groups are permuted among
the subjects instead, which is exact where parity holds: the chance of a p value of at most
``alpha`` is at most ``alpha``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.differences import DifferenceCounts
from comparity.inference.gap_tests import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationTest:
    """A test of a whole distribution by permutation; reported, never judged.

    Attributes
    ----------
    null, name : str
        The hypothesis in words, and what the statistic is.
    statistic, p_value : float
        The statistic as observed, and the share of permutations (the data included) with one at
        least as large.
    permutations : int
        How many were drawn.
    """

    null: str
    name: str
    statistic: float
    p_value: float
    permutations: int

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain data."""
        return {
            "null": self.null,
            "name": self.name,
            "statistic": plain(self.statistic),
            "p_value": plain(self.p_value),
            "permutations": self.permutations,
        }


Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


# Entries of permuted tables held in memory at once.
CHUNK = 2_000_000


# Two statistics this close, relatively, are one number reached by sums in another order.
SAME_STATISTIC = 1e-10


# More distinct values than this are joined into so many groups: for distribution functions, whose
# cost grows with the number, and for distances of all pairs, whose cost grows with its square.
STEPS = 1024


LEVELS = 128


def same_distribution(
    counts: DifferenceCounts, *, null: str, permutations: int, rng: np.random.Generator
) -> tuple[PermutationTest, PermutationTest]:
    r"""Test whether differences have the same distribution in all groups.

    Two statistics answer it, both of distribution functions: with
    :math:`D(v) = \sum_k n_k (F_k(v) - \bar F(v))^2 \, N / \sum_{j < k} n_j n_k`,

    .. math:: \text{energy} = 2 \int D(v) \, dv, \qquad \text{KS} = \sqrt{\max_v D(v)}.

    For two groups these are the energy distance
    :math:`2 E|X - Y| - E|X - X'| - E|Y - Y'|` [1]_ and the largest distance of two distribution
    functions (Kolmogorov and Smirnov). More than 1,024 distinct differences are first joined into
    as many groups of about equal size, each at its mean, which leaves the tests exact.

    Parameters
    ----------
    counts : DifferenceCounts
        Differences by group.
    null : str
        The hypothesis in words.
    permutations : int
        How often groups are permuted; the smallest possible p value is one over this plus 1.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of PermutationTest
        Of the energy distance, and of Kolmogorov and Smirnov. Both p values are 1 where no
        difference varies.

    References
    ----------
    .. [1] Székely and Rizzo (2013), "Energy statistics: a class of statistics based on distances".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values, group = np.arange(40.0), np.arange(40) // 20
    >>> counts = DifferenceCounts.of(values, group, ("a", "b"))
    >>> energy, largest = same_distribution(counts, null="F = G", permutations=99, rng=rng)
    >>> round(energy.statistic, 6), largest.statistic, energy.p_value
    (26.7, 1.0, 0.01)
    """
    counts = _join_values(counts)
    observed = distribution_distances(counts.values, counts.counts[None].astype(np.float64))[0]
    varies = len(counts.values) > 1
    # There is one way only to deal out equal values.
    beyond = np.full(2, 0 if varies else permutations, dtype=np.int64)
    for tables in _deal_out(counts.counts, permutations if varies else 0, rng):
        drawn = distribution_distances(counts.values, tables.astype(np.float64))
        beyond += (drawn >= observed * (1 - SAME_STATISTIC)).sum(axis=0)
    p_values = (1 + beyond) / (1 + permutations)
    names = ("energy distance", "Kolmogorov-Smirnov")
    return tuple(  # type: ignore[return-value]
        PermutationTest(
            null=null,
            name=name,
            statistic=float(observed[place]),
            p_value=float(p_values[place]),
            permutations=permutations,
        )
        for place, name in enumerate(names)
    )


def _join_values(counts: DifferenceCounts) -> DifferenceCounts:
    """Join neighbouring values until there are few enough."""
    if len(counts.values) <= STEPS:
        return counts
    weights = counts.counts.sum(axis=1)
    # A value belongs where the middle of its rows lies among all rows.
    middle = weights.cumsum() - weights / 2
    place = np.minimum((STEPS * middle / weights.sum()).astype(np.int64), STEPS - 1)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    sums = np.add.reduceat(weights * counts.values, starts)
    return DifferenceCounts(
        values=sums / np.add.reduceat(weights, starts),
        counts=np.add.reduceat(counts.counts, starts, axis=0),
        groups=counts.groups,
    )


def distribution_distances(values: Floats, tables: Floats) -> Floats:
    """Return energy distance and largest distance of tables of counts.

    Parameters
    ----------
    values : ndarray, (m,)
        Distinct values in ascending order.
    tables : ndarray, (B, m, K)
        How often each value occurs in each group; the groups' sizes are those of the first table.

    Returns
    -------
    ndarray, (B, 2)
    """
    sizes = tables[0].sum(axis=0)
    n = sizes.sum()
    overall = tables[0].sum(axis=1).cumsum() / n
    below = tables.cumsum(axis=1) / np.maximum(sizes, 1)
    pairs = (n**2 - (sizes**2).sum()) / 2
    apart = ((below - overall[:, None]) ** 2 @ sizes) * n / max(pairs, 1)
    energy = 2 * apart[:, :-1] @ np.diff(values)
    return np.column_stack([energy, np.sqrt(apart.max(axis=1))])


def _deal_out(
    table: Codes, permutations: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield tables with the same margins, a part of all permutations at a time."""
    from scipy.stats import random_table

    margins = random_table(table.sum(axis=1), table.sum(axis=0))
    part = max(1, CHUNK // table.size)
    for start in range(0, permutations, part):
        wanted = min(part, permutations - start)
        yield margins.rvs(wanted, random_state=rng).reshape(wanted, *table.shape)


def independence_test(
    differences: Floats,
    attribute: Floats,
    *,
    null: str,
    permutations: int,
    rng: np.random.Generator,
) -> PermutationTest:
    """Test whether differences are independent of a number, by their distance correlation.

    It is zero only under independence, of whatever kind the dependence may be [1]_. The p value
    comes from permuting the attribute. More than 128 distinct values of either are first
    joined into as many groups of about equal size, each at its mean, which leaves the test exact.

    Parameters
    ----------
    differences, attribute : ndarray, (n,)
        One entry for each subject.
    null : str
        The hypothesis in words.
    permutations : int
        How often the attribute is permuted.
    rng : numpy.random.Generator

    References
    ----------
    .. [1] Székely, Rizzo and Bakirov (2007), "Measuring and testing dependence by correlation of
       distances".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 50)
    >>> test = independence_test(x**2, x, null="independent", permutations=99, rng=rng)
    >>> round(test.statistic, 2), test.p_value
    (0.49, 0.01)
    """
    x, x_values = _levels(attribute)
    y, y_values = _levels(differences)
    observed = distance_correlation(x, x_values, y, y_values)
    a, b = _centre_values(x, x_values), _centre_values(y, y_values)
    joint = _joint(x, y, a, b)
    least = _product(joint, a, b) * (1 - SAME_STATISTIC)
    varies = min(joint.shape) > 1
    beyond = sum(
        _product(table, a, b) >= least
        for tables in _deal_out(joint, permutations if varies else 0, rng)
        for table in tables
    )
    return PermutationTest(
        null=null,
        name="distance correlation",
        statistic=observed,
        p_value=(1 + (beyond if varies else permutations)) / (1 + permutations),
        permutations=permutations,
    )


def distance_correlation(x: Codes, x_values: Floats, y: Codes, y_values: Floats) -> float:
    """Return the distance correlation of two columns, given as codes into their distinct values.

    Between 0 and 1; 0 where a column does not vary.

    Examples
    --------
    >>> codes, values = np.arange(5), np.arange(5.0)
    >>> distance_correlation(codes, values, codes, -values)
    1.0
    """
    a, b = _centre_values(x, x_values), _centre_values(y, y_values)
    spread = _product(_joint(x, x, a, a), a, a) * _product(_joint(y, y, b, b), b, b)
    if spread <= 0:
        return 0.0
    return math.sqrt(max(_product(_joint(x, y, a, b), a, b), 0.0) / math.sqrt(spread))


def _levels(values: Floats) -> tuple[Codes, Floats]:
    """Return codes and the values they stand for; many values are joined into quantile groups."""
    distinct, codes = np.unique(values, return_inverse=True)
    codes = codes.reshape(-1)
    if len(distinct) > LEVELS:
        ends = np.quantile(values, np.linspace(0, 1, LEVELS + 1)[1:-1])
        joined = np.searchsorted(ends, values, side="left")
        _, codes = np.unique(joined, return_inverse=True)
        codes = codes.reshape(-1)
        distinct = np.bincount(codes, values) / np.bincount(codes)
    return codes.astype(np.int64), distinct


def _centre_values(codes: Codes, values: Floats) -> Floats:
    """Return distances of values, centred by means weighted by how often values occur."""
    shares = np.bincount(codes, minlength=len(values)) / len(codes)
    distances = np.abs(values[:, None] - values[None, :])
    means = distances @ shares
    centred: Floats = distances - means[:, None] - means[None, :] + means @ shares
    return centred


def _joint(x: Codes, y: Codes, a: Floats, b: Floats) -> Codes:
    """Count how often two columns of codes occur together."""
    return np.bincount(x * len(b) + y, minlength=len(a) * len(b)).reshape(len(a), len(b))


def _product(joint: Codes, a: Floats, b: Floats) -> float:
    """Return the squared distance covariance from joint counts and centred distances."""
    shares = joint / joint.sum()
    return float(((a @ shares) * (shares @ b)).sum())
