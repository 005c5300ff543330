"""Judged pairs as small numbers in memory, and what they share, summed up item by item.

An engine joins judgments with their items. What it returns are four small numbers for each: both
items, who judged, and the kind of judgment. A walk over the items, and the judgments that touch
each of them, takes a fifth of the time of the group-bys of :mod:`comparity.counts.engine_sums`, and
gives the same whole numbers. Where not all judgments fit into memory, those of some items come at
a time; most then come twice, once for each of their items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.engine_rows import OrderedRows
from comparity.counts.kernels.compilation import njit
from comparity.counts.ledger import Attribute
from comparity.counts.running_moments import RunningMoments
from comparity.counts.wide import SIDES
from comparity.tables.frames import collect_columns
from comparity.tables.memory import current_limits

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Ints = NDArray[np.int32]

BYTES_AT_ONCE, BYTES_PER_JUDGMENT, BYTES_PER_CELL = 120, 240, 32
"""Memory at least for each judgment where all are there at once, for each that is there at a time
where they come in parts, beside all that the engine holds, and for each item (or evaluator) and
kind. All take a half or a fourth of it, the engine the most."""

MOST_PARTS, UNEVEN = 64, 1.25
"""Parts that judgments may come in, each of which takes a pass over all of them; and how much
larger than the others the largest of them may be."""

KIND_BITS, JUDGE_BITS = 10, 21
"""Room for kinds and evaluators in what is listed of a judgment: one whole number of 64 bits, whose
last says whether the item listed first is the better one."""
JUDGE, OTHER = 1 + KIND_BITS, 1 + KIND_BITS + JUDGE_BITS
"""From which bit on evaluator and other item stand there."""

HELD_AT_ONCE = 2**15
"""Items whose counts by kind are multiplied at a time."""


class JudgmentsInMemory(NamedTuple):
    """What ordered judgments add up to.

    Attributes
    ----------
    ordered : OrderedRows
    held : ndarray of int32, (items, kinds)
        Judgments of each kind that touch each item.
    judged : ndarray of int64, (evaluators, kinds)
        Judgments of each kind by each evaluator.
    products : ndarray of int64, (3, kinds, kinds)
        Sums of products over pairs, and within evaluators over items and over pairs.
    cubes : ndarray, (kinds,)
        Sums of the cubes of how often each evaluator (or all together) judged each pair so.
    """

    ordered: OrderedRows
    held: Ints
    judged: Codes
    products: Codes
    cubes: Floats

    @classmethod
    def of(cls, ordered: OrderedRows) -> JudgmentsInMemory | None:
        """Walk over judgments that DuckDB holds; nothing where they do not fit into memory."""
        size, n_items, n_judges = len(ordered.kinds), ordered.n_items + 1, ordered.n_judges + 1
        is_near = ordered.rows.frame.implementation.is_duckdb()
        fits = current_limits().holds((n_items + n_judges) * max(size, 1), BYTES_PER_CELL)
        if not is_near or not fits or n_judges >= 2**JUDGE_BITS:
            return None
        parts = _parts_of(ordered)
        if parts is None:
            return None
        products, cubes = np.zeros((3, size, size), np.int64), np.zeros(size)
        held, judged = np.zeros((n_items, size), np.int32), np.zeros((n_judges, size), np.int64)
        place = np.zeros(1 + max(ordered.kinds, default=0), np.int32)
        place[[*ordered.kinds]] = np.arange(size)
        for first, last in pairwise(parts):
            better, worse, kind, *judge = _bring(ordered, first, last)
            columns = better, worse, judge[0] if judge else kind[:0], place[kind]
            starts, touches = _list_touches(*columns, first, held[first:last], judged)
            _add_shared(starts, touches, first, bool(judge), products, cubes)
        return cls(ordered, held, judged, products, cubes)

    def moments(self, attributes: Mapping[str, Attribute]) -> RunningMoments:
        """Return the sums over every sort of cluster."""
        pairs, within_items, within_pairs = self.products.astype(np.float64)
        size, judges = len(self.ordered.kinds), self.by_evaluator()
        found = RunningMoments(
            kinds=self.ordered.all_kinds(),
            judgments=self.ordered.numbers_of_kinds(),
            items=np.zeros((size, size)),
            pairs=pairs,
            evaluators=judges.T @ judges,
            evaluator_items=within_items,
            evaluator_pairs=within_pairs,
            cubes=self.cubes,
            ties=dict(self.ordered.ties),
            n_evaluators=len(judges),
        )
        profile = self._profiles()
        for part in self._parts():
            held = self.held[part].astype(np.float64)
            found.change("items", np.zeros_like(held), held)
            found.see_items(np.zeros_like(held), held, profile[part], attributes)
        return found

    def by_evaluator(self) -> Floats:
        """Return judgments of each evaluator by kind, (evaluators, kinds)."""
        known = self.judged.any(axis=1) & bool(self.ordered.n_judges)
        return self.judged[known].astype(np.float64)

    def item_cubes(self, weights: Floats) -> Floats:
        """Return sums over items of the cubes of weighted counts, one for each row of weights."""
        found = np.zeros(len(weights))
        for part in self._parts():
            found += ((self.held[part] @ weights.T) ** 3).sum(axis=0)
        return found

    def _parts(self) -> Iterator[slice]:
        """Yield some items at a time."""
        for start in range(0, len(self.held), HELD_AT_ONCE):
            yield slice(start, start + HELD_AT_ONCE)

    def _profiles(self) -> Codes:
        """Return the profile of each item."""
        found = collect_columns(self.ordered.items.frame.select("place", "profile"))
        profile = np.zeros(len(self.held), np.int64)
        profile[found["place"].astype(np.int64)] = found["profile"]
        return profile


def _parts_of(ordered: OrderedRows) -> list[int] | None:
    """Return ends of parts of the items whose judgments fit; nothing where there are none."""
    end, most = ordered.n_items + 1, current_limits().memory // BYTES_PER_JUDGMENT
    if current_limits().holds(ordered.n, BYTES_AT_ONCE):
        return [0, end]
    # Of two items of a judgment one may be elsewhere; parts differ in size.
    wanted = 2 * UNEVEN * ordered.n
    if wanted > most * MOST_PARTS:
        return None
    n_parts = math.ceil(wanted / most)
    width = math.ceil(end / n_parts)
    sides = {side: nw.col(side) // width for side in SIDES}
    sizes = ordered.rows.frame.select(**sides).group_by(*SIDES).agg(nw.len().alias("n"))
    found = {name: one.astype(np.int64) for name, one in collect_columns(sizes).items()}
    better, worse, n = found["better"], found["worse"], found["n"]
    twice = np.bincount(better, n, n_parts) + np.bincount(worse, n, n_parts)
    inside = better == worse
    sizes_of_parts = twice - np.bincount(better[inside], n[inside], n_parts)
    return None if sizes_of_parts.max() > most else [*range(0, end, width), end]


def _bring(ordered: OrderedRows, first: int, last: int) -> list[Ints]:
    """Bring judgments to memory that touch some items: both of them, kind, and who judged."""
    rows = ordered.rows.frame
    if last - first <= ordered.n_items:
        touched = ((nw.col(side) >= first) & (nw.col(side) < last) for side in SIDES)
        rows = rows.filter(nw.any_horizontal(*touched, ignore_nulls=False))
    names = [*SIDES, "kind", *(["evaluator"] if ordered.n_judges else [])]
    found = collect_columns(rows.select(*names))
    return [found[name].astype(np.int32, copy=False) for name in names]


@njit(cache=True, nogil=True)
def _list_touches(better, worse, judge, kind, first, held, judged):  # type: ignore[no-untyped-def]
    """List the judgments that touch each item from the first one on, and count all by kind."""
    starts, many = np.zeros(len(held) + 1, np.int64), len(held)
    for p in range(len(better)):
        one, two = better[p] - first, worse[p] - first
        if 0 <= one < many:
            starts[one + 1] += 1
            held[one, kind[p]] += 1
            judged[judge[p] if len(judge) else 0, kind[p]] += 1
        if 0 <= two < many:
            starts[two + 1] += 1
            held[two, kind[p]] += 1
    for item in range(many):
        starts[item + 1] += starts[item]
    touches, ends = np.empty(starts[many], np.int64), starts[:-1].copy()
    for p in range(len(better)):
        one, two = np.int64(better[p]), np.int64(worse[p])
        rest = np.int64(kind[p]) << 1
        if len(judge):
            rest |= np.int64(judge[p]) << JUDGE
        if 0 <= one - first < many:
            touches[ends[one - first]] = two << OTHER | rest | 1
            ends[one - first] += 1
        if 0 <= two - first < many:
            touches[ends[two - first]] = one << OTHER | rest
            ends[two - first] += 1
    return starts, touches


@njit(cache=True, nogil=True)
def _add_shared(starts, touches, first, has_judges, products, cubes):  # type: ignore[no-untyped-def]
    """Add up products of counts by kind over pairs, items of an evaluator, and pairs of one.

    And the cubes of how often each evaluator (or all together) judged each pair so.
    """
    size, longest = len(cubes), 0
    for item in range(len(starts) - 1):
        longest = max(longest, starts[item + 1] - starts[item])
    keys, counts = np.empty(longest, np.int64), np.zeros(size, np.int64)
    met = np.empty_like(counts)
    for item in range(len(starts) - 1):
        if has_judges:
            n = 0
            for at in range(starts[item], starts[item + 1]):
                keys[n] = touches[at] & (2**OTHER - 1)
                n += 1
            _sort(keys, n)
            _add_clusters(keys, n, JUDGE, counts, met, products[1])
        n = 0
        for at in range(starts[item], starts[item + 1]):
            # Each pair once, where its first item is.
            if touches[at] >> OTHER > first + item:
                keys[n] = touches[at]
                n += 1
        _sort(keys, n)
        _add_clusters(keys, n, OTHER, counts, met, products[0])
        if has_judges:
            _add_clusters(keys, n, JUDGE, counts, met, products[2])
        _add_cubes(keys, n, cubes)


@njit(cache=True, nogil=True)
def _add_clusters(keys, n, shift, counts, met, products):  # type: ignore[no-untyped-def]
    """Add up products of counts by kind over runs of keys that are alike from this bit on."""
    start = 0
    while start < n:
        cluster, end, many = keys[start] >> shift, start, 0
        while end < n and keys[end] >> shift == cluster:
            kind = keys[end] >> 1 & (2**KIND_BITS - 1)
            if counts[kind] == 0:
                met[many] = kind
                many += 1
            counts[kind] += 1
            end += 1
        for a in range(many):
            here = counts[met[a]]
            for b in range(many):
                products[met[a], met[b]] += here * counts[met[b]]
        for a in range(many):
            counts[met[a]] = 0
        start = end


@njit(cache=True, nogil=True)
def _add_cubes(keys, n, cubes):  # type: ignore[no-untyped-def]
    """Add up, by kind, the cubes of how often a key occurs."""
    start = 0
    while start < n:
        end = start
        while end < n and keys[end] == keys[start]:
            end += 1
        cubes[keys[start] >> 1 & (2**KIND_BITS - 1)] += float(end - start) ** 3
        start = end


@njit(cache=True, nogil=True)
def _sort(keys, n):  # type: ignore[no-untyped-def]
    """Sort the first n numbers (Shell): few of them, for which a library's sort takes longer."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap:
        for place in range(gap, n):
            key, at = keys[place], place
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3
