"""Judged pairs as small numbers in memory, and what they share, summed up item by item.

An engine joins judgments with their items. What it returns are four small numbers for each: both
items, who judged, and the kind of judgment. Where these fit into memory, a walk over the items and
the judgments that touch each of them takes a fifth of the time of the group-bys of
:mod:`comparity.counts.engine_sums`, and gives the same whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.clusters import combine_codes
from comparity.counts.engine_rows import ORDERS, KnownItems, kinds_of
from comparity.counts.kernels.compilation import njit
from comparity.counts.ledger import Attribute
from comparity.counts.running_moments import RunningMoments
from comparity.counts.wide import SIDES, explain_joined
from comparity.errors import EmptyTableError
from comparity.tables.columns import Table
from comparity.tables.frames import Columns, collect_columns
from comparity.tables.memory import current_limits

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Ints = NDArray[np.int32]

BYTES_PER_JUDGMENT = 240
"""Memory at least for each judgment: they take a fourth of it, the engine that joins them more."""

BYTES_PER_CELL = 32
"""The same for each item, or evaluator, and kind of judgment."""

KIND_BITS, JUDGE_BITS = 10, 21
"""Room for kinds and evaluators in what is listed of a judgment: one whole number of 64 bits, whose
last says whether the item listed first is the better one."""
JUDGE, OTHER = 1 + KIND_BITS, 1 + KIND_BITS + JUDGE_BITS
"""From which bit on evaluator and other item stand there."""

HELD_AT_ONCE = 2**15
"""Items whose counts by kind are multiplied at a time."""


class JudgmentsInMemory(NamedTuple):
    """Ordered judgments in memory.

    Attributes
    ----------
    better, worse, judge : ndarray of int
        Items and evaluators by number; no evaluators where they are unknown.
    kind : ndarray of int
        Place of the kind of each judgment in `kinds`.
    kinds : mapping of int to int
        Judgments by kind.
    ties : mapping of (int, int) to int
        Tied judgments by profiles.
    n_profiles : int
    starts, touches : ndarray of int64
        For each item where its judgments begin, and of each the other item, evaluator and kind.
    held : ndarray of int32, (items, kinds)
        Judgments of each kind that touch each item.
    """

    better: Ints
    worse: Ints
    judge: Ints
    kind: Ints
    kinds: Mapping[int, int]
    ties: Mapping[tuple[int, int], int]
    n_profiles: int
    starts: Codes
    touches: Codes
    held: Ints

    @classmethod
    def of(
        cls, known: KnownItems, comparisons: Table, items: Table, n_profiles: int
    ) -> JudgmentsInMemory | None:
        """Bring judgments to memory; nothing where what they share does not fit."""
        found = _bring(known, comparisons, items, n_profiles)
        codes, tied = found.pop("kind").astype(np.int32), found.pop("tied") == 1
        pairs = np.bincount(codes[tied] // ORDERS)
        ties = {divmod(one, n_profiles): int(pairs[one]) for one in np.flatnonzero(pairs).tolist()}
        if ties:
            found, codes = {name: one[~tied] for name, one in found.items()}, codes[~tied]
        better, worse = (found[side].astype(np.int32, copy=False) for side in SIDES)
        judge = found.get("evaluator", np.empty(0, np.int32)).astype(np.int32, copy=False)
        n_items = 1 + int(max(better.max(initial=0), worse.max(initial=0)))
        n_judges, numbers = 1 + int(judge.max(initial=0)), np.bincount(codes)
        kinds = np.flatnonzero(numbers)
        cells = (n_items + n_judges) * max(len(kinds), 1)
        if n_judges >= 2**JUDGE_BITS or not current_limits().holds(cells, BYTES_PER_CELL):
            return None
        place = np.zeros(len(numbers), np.int32)
        place[kinds] = np.arange(len(kinds))
        kind, held = place[codes], np.zeros((n_items, len(kinds)), np.int32)
        starts, touches = _list_touches(better, worse, judge, kind, held)
        counted = dict(zip(kinds.tolist(), numbers[kinds].tolist(), strict=True))
        return cls(better, worse, judge, kind, counted, ties, n_profiles, starts, touches, held)

    def moments(self, attributes: Mapping[str, Attribute]) -> RunningMoments:
        """Sum up every sort of cluster."""
        size, has_judges = len(self.kinds), bool(len(self.judge))
        products, cubes = np.zeros((3, size, size), np.int64), np.zeros(size)
        _add_shared(self.starts, self.touches, has_judges, products, cubes)
        pairs, within_items, within_pairs = products.astype(np.float64)
        judges = self.by_evaluator() if has_judges else np.zeros((0, size))
        found = RunningMoments(
            kinds=kinds_of(self.kinds, self.n_profiles),
            judgments=np.array([*self.kinds.values()], dtype=np.float64),
            items=np.zeros((size, size)),
            pairs=pairs,
            evaluators=judges.T @ judges,
            evaluator_items=within_items,
            evaluator_pairs=within_pairs,
            cubes=cubes,
            ties=dict(self.ties),
            n_evaluators=len(judges),
        )
        profile = self._profiles()
        for part in self._parts():
            held, nothing = (
                self.held[part].astype(np.float64),
                np.zeros((part.stop - part.start, size)),
            )
            found.change("items", nothing, held)
            found.see_items(nothing, held, profile[part], attributes)
        return found

    def by_evaluator(self) -> Floats:
        """Return judgments of each evaluator by kind, (evaluators, kinds)."""
        size = len(self.kinds)
        codes = self.judge.astype(np.int64) * size + self.kind
        held = np.bincount(codes, minlength=(1 + int(self.judge.max(initial=0))) * size)
        by_judge: Floats = held.reshape(-1, size).astype(np.float64)
        return by_judge[by_judge.any(axis=1)]

    def item_cubes(self, weights: Floats) -> Floats:
        """Return sums over items of the cubes of weighted counts, one for each row of weights."""
        found = np.zeros(len(weights))
        for part in self._parts():
            found += ((self.held[part] @ weights.T) ** 3).sum(axis=0)
        return found

    def n_different(self) -> int:
        """Count different judgments: equal ones count once."""
        columns = [self.better, self.worse, *([self.judge] if len(self.judge) else [])]
        return len(np.unique(combine_codes([one.astype(np.int64) for one in columns])))

    def _parts(self) -> list[slice]:
        n = len(self.held)
        return [slice(at, min(at + HELD_AT_ONCE, n)) for at in range(0, n, HELD_AT_ONCE)]

    def _profiles(self) -> Codes:
        """Return the profile of each item that was judged."""
        found = np.zeros(len(self.held), np.int64)
        kinds = kinds_of(self.kinds, self.n_profiles)
        sides = np.array([kind[:2] for kind in kinds], np.int64).reshape(-1, 2)
        for side, items in enumerate((self.better, self.worse)):
            found[items] = sides[self.kind, side]
        return found


def _bring(known: KnownItems, comparisons: Table, items: Table, n_profiles: int) -> Columns:
    """Join comparisons with their items, in memory, and refuse what cannot be counted."""
    found = collect_columns(known.join(comparisons, n_profiles))
    if not len(found["kind"]):
        raise EmptyTableError(comparisons.name)
    # A column in which something is missing is none of numbers.
    lost = (column.dtype == object for column in found.values())
    if any(lost) or (found["better"] == found["worse"]).any() or (found["tied"] == -1).any():
        explain_joined(comparisons, items)
    return found


@njit(cache=True, nogil=True)
def _list_touches(better, worse, judge, kind, held):  # type: ignore[no-untyped-def]
    """List the judgments that touch each item, and count them by kind."""
    starts = np.zeros(len(held) + 1, np.int64)
    for p in range(len(better)):
        starts[better[p] + 1] += 1
        starts[worse[p] + 1] += 1
        held[better[p], kind[p]] += 1
        held[worse[p], kind[p]] += 1
    for item in range(len(held)):
        starts[item + 1] += starts[item]
    touches, ends = np.empty(2 * len(better), np.int64), starts[:-1].copy()
    for p in range(len(better)):
        one, two = np.int64(better[p]), np.int64(worse[p])
        rest = np.int64(kind[p]) << 1
        if len(judge):
            rest |= np.int64(judge[p]) << JUDGE
        touches[ends[one]] = two << OTHER | rest | 1
        touches[ends[two]] = one << OTHER | rest
        ends[one] += 1
        ends[two] += 1
    return starts, touches


@njit(cache=True, nogil=True)
def _add_shared(starts, touches, has_judges, products, cubes):  # type: ignore[no-untyped-def]
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
            if touches[at] >> OTHER > item:
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
