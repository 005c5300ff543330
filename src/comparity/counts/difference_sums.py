r"""Differences of two decision makers, summed on the engine their table lives in.

Tests of means need the first four moments of each group, and tests of whole distributions a
histogram of few steps, so that a table of many distinct decisions need not come to memory. With
:math:`t = (d - c) / s`, where :math:`c` and :math:`s` are near the mean and the standard deviation
of all differences (and so few binary digits that every engine takes the same), one group-by of
(group, bin of :math:`t`) has all of it: counts, and the sums of :math:`t` to the fourth power. Bins
are 1/8192 of the next power of 64 wide and thus fine near the centre, coarse far away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.decision_sets import Decisions, check_decisions, open_decisions
from comparity.counts.differences import (
    EXACT,
    DecisionRange,
    DifferenceCounts,
    Moments,
    decimals_below,
)
from comparity.errors import OutOfRangeError
from comparity.tables.columns import Table, offenders
from comparity.tables.frames import Columns, collect_columns, n_rows, stays_on_engine
from comparity.tables.stored_frames import StoredFrame, parse_once
from comparity.tables.values import LARGEST, cross_attributes, group_codes, put_first

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_DISTINCT = 10**6
"""Tables with more distinct rows are summed on their engine; larger groups are never collected."""

MOST_PROFILES = 1000
"""Combinations of groups, each with bins of its own, that are summed on the engine."""

ZONES = tuple(2.0**power for power in range(-18, 30, 6))
"""Ends of zones of bins, in standard deviations; no difference of 10^17 lies beyond the last."""

FINENESS = 2.0**-13
"""Width of bins, as a share of the end of their zone."""

RATERS = ("rater0", "rater1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummedDifferences(DifferenceCounts):
    """Counts of differences in bins, each at its mean, beside moments that are those of rows.

    Attributes
    ----------
    summed : mapping of str to Moments
        By group.
    collect : callable
        Brings the differences of a group to memory.
    """

    summed: Mapping[str, Moments]
    collect: Any

    @property
    def moments(self) -> Mapping[str, Moments]:
        """Moments of the differences of each group."""
        return self.summed

    def rows_of(self, group: str) -> Floats:
        """Return the differences of a group in ascending order.

        Of a group of over `MOST_DISTINCT` rows so many are returned, spread evenly over all.
        """
        counts = self.counts[:, self.groups.index(group)]
        n = int(counts.sum())
        if n <= MOST_DISTINCT:
            found: Floats = self.collect(group)
            return found
        # Each bin as often as its share of the rows, so that none is lost by rounding.
        ends = np.round(np.cumsum(counts, dtype=np.float64) * (MOST_DISTINCT / n)).astype(np.int64)
        times: Codes = np.diff(ends, prepend=np.int64(0))
        return np.repeat(self.values, times)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionSums(Decisions):
    """Decisions about groups whose rows stayed on their engine: there are no values of rows.

    Attributes
    ----------
    size : int
        Rows of the table.
    ranges : tuple of DecisionRange
        What each decision maker used of the scale.
    bins : _Bins
        Differences by combination of groups; codes of `groups` are those of the combinations.
    """

    size: int
    ranges: tuple[DecisionRange, ...]
    bins: _Bins

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.size

    def range_of(self, rater: int) -> DecisionRange:
        """Return the part of the scale that a decision maker used."""
        return self.ranges[rater]

    def differences(self, first: int, second: int, attribute: str) -> SummedDifferences:
        """Return the differences of the two decision makers by group of an attribute."""
        assert (first, second) == (0, 1), "only these were summed"
        return self.bins.differences(*self.groups[attribute])


def sum_decisions(
    frame: Any,
    *,
    raters: Sequence[str],
    sensitive: Sequence[str],
    intersection: bool = False,
    reference: object = None,
) -> DecisionSums | None:
    """Sum up the differences of two decision makers on the engine the table lives in.

    Parameters
    ----------
    frame : frame of any engine
        One row for each subject.
    raters, sensitive : sequence of str
        Columns with decisions, which are numbers, and with groups.
    intersection : bool
        Whether to cross all attributes, too.
    reference : optional
        The group that comes first.

    Returns
    -------
    DecisionSums
        Nothing where the table is in memory, or has few distinct rows, which are counted faster.
    """
    table = open_decisions(frame, raters, sensitive)
    if not _is_large(table):
        return None
    table, stored, _ = parse_once(table, RATERS, lambda one: check_decisions(one, RATERS))
    rows = table.frame.with_columns(*(table.number(name).alias(name) for name in RATERS))
    groups = [name for name in table.columns if name.startswith("group")]
    known = _find_profiles(rows, groups)
    if len(known["n"]) > MOST_PROFILES:
        return None
    _check_bounds(table, known)
    coded = {
        table.columns[name]: group_codes(known[name], table.columns[name], table.name)
        for name in groups
    }
    n, ranges, bins = _sum_up(rows, groups, known)
    bins = replace(bins, stored=stored)
    return DecisionSums(
        raters=tuple(raters),
        values=np.empty((0, len(RATERS))),
        weights=np.empty(0, dtype=np.int64),
        groups=put_first(cross_attributes(coded, intersection=intersection), reference),
        numbers={},
        size=n,
        ranges=ranges,
        bins=bins,
    )


def _is_large(table: Table) -> bool:
    """Return whether too many rows are distinct to be collected, judged by the first ones."""
    if not stays_on_engine(table.frame):
        return False
    return n_rows(table.frame.head(2 * MOST_DISTINCT).unique()) > MOST_DISTINCT


def _find_profiles(rows: nw.LazyFrame[Any], groups: Sequence[str]) -> Columns:
    """Return the combinations of groups, with sizes and what decisions they got."""
    facts = [
        getattr(nw.col(name), fact)().alias(f"{fact} {name}")
        for name in RATERS
        for fact in ("sum", "min", "max")
    ]
    return collect_columns(rows.group_by(*groups).agg(nw.len().alias("n"), *facts))


def _check_bounds(table: Table, known: Columns) -> None:
    for name in RATERS:
        if max(-known[f"min {name}"].min(), known[f"max {name}"].max()) > LARGEST:
            found = offenders(table, table.number(name).abs() > LARGEST, name)
            raise OutOfRangeError(table.columns[name], found, LARGEST)


def _sum_up(
    rows: nw.LazyFrame[Any], groups: Sequence[str], known: Columns
) -> tuple[int, tuple[DecisionRange, ...], _Bins]:
    """Return the rows, what each used of the scale, and the bins of differences."""
    n = int(known["n"].sum())
    means = [float(known[f"sum {name}"].sum()) / n for name in RATERS]
    away = [nw.col(name) - mean for name, mean in zip(RATERS, means, strict=True)]
    apart = away[0] - away[1]
    facts = {f"square {name}": (one * one).sum() for name, one in zip(RATERS, away, strict=True)}
    facts["square"] = (apart * apart).sum()
    for name in RATERS:
        parts, single = nw.col(name) * EXACT, nw.col(name).cast(nw.Float32).cast(nw.Float64)
        facts[f"odd {name}"] = (parts != parts.floor()).cast(nw.Int64).sum()
        facts[f"double {name}"] = (single != nw.col(name)).cast(nw.Int64).sum()
    found = {name: float(one[0]) for name, one in collect_columns(rows.select(**facts)).items()}
    ranges = tuple(
        DecisionRange(
            low=float(known[f"min {name}"].min()),
            high=float(known[f"max {name}"].max()),
            mean=mean,
            deviation=math.sqrt(found[f"square {name}"] / n),
        )
        for name, mean in zip(RATERS, means, strict=True)
    )
    odd = [name for name in RATERS if found[f"odd {name}"]]
    digits = None
    if odd:
        largest = max(abs(end) for one in ranges for end in (one.low, one.high))
        digits = decimals_below(largest, single=any(not found[f"double {name}"] for name in odd))
    deviation = math.sqrt(found["square"] / n)
    scale = 2.0 ** math.ceil(math.log2(deviation)) if deviation else 1.0
    centre = round((means[0] - means[1]) / scale * 64) / 64 * scale
    return n, ranges, _Bins.of(rows, groups, known, digits, (centre, scale))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Bins:
    """Differences in bins, by combination of groups.

    Attributes
    ----------
    scaled : narwhals.LazyFrame
        Groups and ``t`` of every row.
    groups : tuple of str
        Columns of groups.
    profiles : mapping of str to ndarray
        Values of these columns, by combination.
    profile, place : ndarray of int
        Combination and bin of each entry.
    counts : ndarray of int
    sums : ndarray, (4, entries)
        Of the powers of t.
    low, high : ndarray
        The smallest and the largest t.
    unit : (float, float)
        Centre and scale of t.
    stored : StoredFrame, optional
        Keeps the rows, if they are stored.
    """

    scaled: nw.LazyFrame[Any]
    groups: tuple[str, ...]
    profiles: Columns
    profile: Codes
    place: Codes
    counts: Codes
    sums: Floats
    low: Floats
    high: Floats
    unit: tuple[float, float]
    stored: StoredFrame | None = None

    @classmethod
    def of(
        cls,
        rows: nw.LazyFrame[Any],
        groups: Sequence[str],
        profiles: Columns,
        digits: int | None,
        unit: tuple[float, float],
    ) -> _Bins:
        """Count differences in bins on the engine."""
        difference = nw.col("rater0") - nw.col("rater1")
        if digits is not None:
            # As in memory: 0.3 - 0.2 and 0.2 - 0.1 are one difference.
            steps = 10.0**digits
            difference = (difference * steps + 0.5).floor() / steps
        centre, scale = unit
        scaled = rows.select(*groups, ((difference - centre) / scale).alias("t"))
        t, width = nw.col("t"), nw.lit(ZONES[-1] * FINENESS)
        for end in reversed(ZONES[:-1]):
            width = nw.when(t.abs() <= end).then(nw.lit(end * FINENESS)).otherwise(width)
        binned = scaled.with_columns(((t / width).floor() * width).alias("bin"))
        powers = {"power1": t, "power2": t * t, "power3": t * t * t, "power4": t * t * t * t}
        found = collect_columns(
            binned.with_columns(**powers)
            .group_by(*groups, "bin")
            .agg(
                nw.len().alias("n"),
                nw.col(*powers).sum(),
                t.min().alias("low"),
                t.max().alias("high"),
            )
        )
        _, place = np.unique(found["bin"].astype(np.float64), return_inverse=True)
        where = _match(groups, found, profiles)
        return cls(
            scaled=scaled,
            groups=tuple(groups),
            profiles=profiles,
            profile=where,
            place=place.reshape(-1).astype(np.int64),
            counts=found["n"].astype(np.int64),
            sums=np.array([found[name].astype(np.float64) for name in powers]),
            low=found["low"].astype(np.float64),
            high=found["high"].astype(np.float64),
            unit=unit,
        )

    def differences(self, codes: Codes, names: list[str]) -> SummedDifferences:
        """Return bins and moments by groups, given the group of each combination."""
        group, size = codes[self.profile], len(names)
        n_bins = int(self.place.max()) + 1
        cell = self.place * size + group
        counts = np.bincount(cell, self.counts, n_bins * size).astype(np.int64)
        counts = counts.reshape(-1, size)
        centre, scale = self.unit
        means = np.bincount(self.place, self.sums[0], n_bins) / counts.sum(axis=1)
        return SummedDifferences(
            values=centre + scale * means,
            counts=counts,
            groups=tuple(names),
            summed={
                name: self._moments(group == code, codes == code) for code, name in enumerate(names)
            },
            collect=partial(self._collect, codes, names),
        )

    def _moments(self, inside: NDArray[np.bool_], profiles: NDArray[np.bool_]) -> Moments:
        n = int(self.counts[inside].sum())
        one, two, three, four = (self.sums[:, inside].sum(axis=1) / n).tolist()
        low, high = float(self.low[inside].min()), float(self.high[inside].max())
        mode, at_mode = self._mode(inside, profiles, n)
        centre, scale = self.unit
        mean = one if low < high else low
        varies = n if low < high else 0
        return Moments(
            n=n,
            mean=centre + scale * mean,
            m2=varies * max(two - one**2, 0.0) * scale**2,
            m3=varies * (three - 3 * one * two + 2 * one**3) * scale**3,
            m4=varies * (four - 4 * one * three + 6 * one**2 * two - 3 * one**4) * scale**4,
            mode=centre + scale * (mean if mode is None else mode),
            at_mode=at_mode,
            low=centre + scale * low,
            high=centre + scale * high,
        )

    def _mode(
        self, inside: NDArray[np.bool_], profiles: NDArray[np.bool_], n: int
    ) -> tuple[float | None, int]:
        """Return the value that most rows of a group have, if one has, and how many have it."""
        counts = np.bincount(self.place[inside], self.counts[inside])
        largest = int(np.argmax(counts))
        if 2 * counts[largest] <= n:
            # A value without a majority is asked for its rows only beside a group with one.
            return None, 1
        chosen = inside & (self.place == largest)
        low, high = float(self.low[chosen].min()), float(self.high[chosen].max())
        if low == high:
            return low, int(counts[largest])
        near = self._rows(profiles).filter((nw.col("t") >= low) & (nw.col("t") <= high))
        counted = near.group_by("t").agg(nw.len().alias("n"))
        found = collect_columns(counted.filter(nw.col("n") * 2 > n))
        if not len(found["n"]):
            return None, 1
        return float(found["t"][0]), int(found["n"][0])

    def _rows(self, profiles: NDArray[np.bool_]) -> nw.LazyFrame[Any]:
        """Return t of the rows of some combinations of groups."""
        either: list[nw.Expr] = []
        for place in np.flatnonzero(profiles).tolist():
            each = [nw.col(name) == self.profiles[name].tolist()[place] for name in self.groups]
            either.append(nw.all_horizontal(*each, ignore_nulls=False))
        return self.scaled.filter(nw.any_horizontal(*either, ignore_nulls=False)).select("t")

    def _collect(self, codes: Codes, names: list[str], group: str) -> Floats:
        """Bring the differences of a group to memory, in ascending order."""
        found = collect_columns(self._rows(codes == names.index(group)))["t"].astype(np.float64)
        centre, scale = self.unit
        return np.sort(centre + scale * found)


def _match(groups: Sequence[str], found: Columns, profiles: Columns) -> Codes:
    """Return the combination of groups of each entry."""
    known = zip(*(profiles[name].tolist() for name in groups), strict=True)
    place = {profile: number for number, profile in enumerate(known)}
    entries = zip(*(found[name].tolist() for name in groups), strict=True)
    return np.array([place[entry] for entry in entries], dtype=np.int64)
