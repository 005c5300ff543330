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
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.coded_judgments import NumberedJudgments
from comparity.counts.engine_rows import BYTES_PER_CELL, OrderedRows
from comparity.counts.kernels.touches import JUDGE_BITS, add_touches, divide_touches
from comparity.counts.ledger import Attribute
from comparity.counts.running_moments import RunningMoments
from comparity.counts.wide import SIDES
from comparity.tables.frames import collect_columns
from comparity.tables.memory import current_limits

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Ints = NDArray[np.int32]

BYTES_AT_ONCE, BYTES_PER_JUDGMENT = 120, 240
"""Memory at least for each judgment where all are there at once, and for each that is there at a
time where they come in parts, beside all that the engine holds. All take a half or a fourth of it,
the engine the most."""

TOUCHES_SHARE, BYTES_OF_TOUCH = 3, 10
"""What is listed of judgments that are held as numbers takes at most this part of the memory."""

MOST_PARTS, UNEVEN = 64, 1.25
"""Parts that judgments may come in, each of which takes a pass over all of them; and how much
larger than the others the largest of them may be."""

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
        brought = _Brought.of(ordered)
        if brought is None:
            return None
        products, cubes = np.zeros((3, size, size), np.int64), np.zeros(size)
        held, judged = np.zeros((n_items, size), np.int32), np.zeros((n_judges, size), np.int64)
        sums = held, judged, products, cubes
        for first, last in pairwise(brought.ends):
            add_touches(divide_touches(brought.bring(first, last), first, last), *sums)
        # In the order of names, as the engine numbers them.
        order = sorted(range(len(brought.judges)), key=brought.judges.__getitem__)
        judged[1 : len(order) + 1] = judged[1 + np.array(order, dtype=np.int64)]
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


class _Brought(NamedTuple):
    """How judgments come to memory.

    Attributes
    ----------
    ordered : OrderedRows
    ends : list of int
        Ends of parts of the items, the judgments of which come at a time.
    place : ndarray of int16
        The position of every kind among those that occur.
    whole : tuple of ndarray
        Both items, who judged, and the kind, where all judgments are there.
    judges : tuple
        Names of the evaluators, where their numbers are not in the order of names.
    """

    ordered: OrderedRows
    ends: list[int]
    place: NDArray[np.int16]
    whole: tuple[NDArray[Any], ...] = ()
    judges: tuple[Any, ...] = ()

    @classmethod
    def of(cls, ordered: OrderedRows) -> _Brought | None:
        """Divide items into parts whose judgments fit; nothing where there are none."""
        place = np.zeros(1 + max(ordered.kinds, default=0), np.int16)
        place[[*ordered.kinds]] = np.arange(len(ordered.kinds))
        end, rows = ordered.n_items + 1, ordered.rows
        if isinstance(rows, NumberedJudgments):
            n_parts = -(-2 * BYTES_OF_TOUCH * TOUCHES_SHARE * ordered.n // current_limits().memory)
            whole = (rows.better, rows.worse, rows.judge, rows.kind)
            ends = [*range(0, end, -(-end // max(n_parts, 1))), end]
            return cls(ordered, ends, place, whole, rows.judges)
        cells = (end + ordered.n_judges + 1) * max(len(ordered.kinds), 1)
        is_near = rows.frame.implementation.is_duckdb()
        if not (is_near and current_limits().holds(cells, BYTES_PER_CELL)):
            return None
        parts = _parts_of(ordered) if ordered.n_judges + 1 < 2**JUDGE_BITS else None
        return None if parts is None else cls(ordered, parts, place)

    def bring(self, first: int, last: int) -> tuple[NDArray[Any], ...]:
        """Return both items, who judged and the kind of judgments, and the places of kinds."""
        columns = self.whole
        if not columns:
            better, worse, kind, *judge = _bring(self.ordered, first, last)
            columns = better, worse, judge[0] if judge else better[:0], kind
        return (*columns, self.place)


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
    sizes = ordered.frame.select(**sides).group_by(*SIDES).agg(nw.len().alias("n"))
    found = {name: one.astype(np.int64) for name, one in collect_columns(sizes).items()}
    better, worse, n = found["better"], found["worse"], found["n"]
    twice = np.bincount(better, n, n_parts) + np.bincount(worse, n, n_parts)
    inside = better == worse
    sizes_of_parts = twice - np.bincount(better[inside], n[inside], n_parts)
    return None if sizes_of_parts.max() > most else [*range(0, end, width), end]


def _bring(ordered: OrderedRows, first: int, last: int) -> list[Ints]:
    """Bring judgments to memory that touch some items: both of them, kind, and who judged."""
    rows = ordered.frame
    if last - first <= ordered.n_items:
        touched = ((nw.col(side) >= first) & (nw.col(side) < last) for side in SIDES)
        rows = rows.filter(nw.any_horizontal(*touched, ignore_nulls=False))
    names = [*SIDES, "kind", *(["evaluator"] if ordered.n_judges else [])]
    found = collect_columns(rows.select(*names))
    return [found[name].astype(np.int32, copy=False) for name in names]
