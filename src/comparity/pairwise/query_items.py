"""Items within queries that stay on their engine, counted part by part.

Queries are dealt to parts by a hash of their names, so that all items of a query are in one part.
Each part is brought to memory and counted there; sums over queries add up, and are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.all_pairs import AllPairs, add_pairs
from comparity.counts.labelled_rows import LabelledRows, begin_pass
from comparity.counts.overlap import MOST_LEVELS
from comparity.counts.pairs import Cell
from comparity.counts.query_pairs import query_counts, query_pairs
from comparity.pairwise.accuracies import CountedPairs
from comparity.pairwise.engine_items import NUMBERS, RAW, STANDARDISED, EngineItems, worth
from comparity.pairwise.options import PairwiseOptions
from comparity.tables.frames import collect_columns
from comparity.tables.values import factorise

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_ROWS = 2**21
"""So many rows are brought to memory at once."""

ONCE_IN = ("cells", "rows", "columns", "whole")


@dataclass(frozen=True, eq=False)
class DealtQueries:
    """Some queries, with all of their items.

    Attributes
    ----------
    label, score : ndarray of float
    group, query : ndarray of int
    weights : mapping of str to ndarray or None
        By what items are counted: as they weigh, standardised, each one once.
    """

    label: Matrix
    score: Matrix
    group: Codes
    query: Codes
    weights: dict[str, Matrix | None]

    def pairs(
        self, which: str, groups: tuple[str, ...], options: PairwiseOptions, **how: Any
    ) -> AllPairs:
        """Count the pairs of the groups given."""
        weight = self.weights[which]
        kept = self.group < len(groups)
        if weight is not None:
            kept &= weight > 0
        columns = self.label[kept], self.score[kept], self.group[kept]
        given = None if weight is None else weight[kept]
        return query_pairs(
            *columns, groups, self.query[kept], weights=given, average=options.average, **how
        )

    def roles(self, which: str, n_groups: int) -> Matrix:
        """Return weights and squares of items that are better, and worse, than one of a group.

        Of shape (2 roles, 2 sums, own group, other group); the last group stands for any.
        """
        given = self.weights[which]
        weight = np.ones(len(self.label)) if given is None else given
        kept = (self.group < n_groups) & (weight > 0)
        label, weight = self.label[kept], weight[kept]
        group, query = self.group[kept], self.query[kept]
        found = np.zeros((2, 2, n_groups + 1, n_groups + 1))
        n_queries = int(query.max(initial=-1)) + 1
        for other in range(n_groups + 1):
            mine = slice(None) if other == n_groups else group == other
            low, high = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
            np.minimum.at(low, query[mine], label[mine])
            np.maximum.at(high, query[mine], label[mine])
            for role, inside in enumerate((label > low[query], label < high[query])):
                for power in (1, 2):
                    sums = np.bincount(group[inside], weight[inside] ** power, n_groups)
                    found[role, power - 1, :, other] = [*sums, sums.sum()]
        return found


@dataclass(frozen=True, eq=False)
class PartitionedItems(EngineItems):
    """Items that are compared within queries alone.

    Attributes
    ----------
    known : dict
        What was counted, by what items weigh, what a tie counts as, and where queries count once.
    """

    known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """The column of the queries."""
        return "query"

    @property
    def n_parts(self) -> int:
        """Parts that queries are dealt to."""
        return max(-(-self.rows.n // MOST_ROWS), 1)

    @property
    def _which(self) -> str:
        return RAW if self.factors is None else STANDARDISED

    def count(self, options: PairwiseOptions, score_ties: str, *, numbered: bool) -> CountedPairs:
        """Count pairs within queries."""
        if not self.known:
            self._count_parts(options)
        counted = self._counted_pairs(self._which, options, score_ties)
        if not numbered:
            return counted
        unweighted = None
        if self.rows.is_weighted:
            unweighted = self._counted_pairs(NUMBERS, options, score_ties)
        singles = self.known["singles",] if counted.recount is not None else None
        return CountedPairs(
            counted.sharing,
            counted.ties,
            counted.groups,
            counted.others,
            unweighted=unweighted,
            recount=counted.recount,
            singles=singles,
        )

    def _counted_pairs(self, which: str, options: PairwiseOptions, score_ties: str) -> CountedPairs:
        pairs = self.known[which, score_ties, "cells"]
        others = self.others if which != STANDARDISED else ()
        recount = partial(self._recount, which, score_ties)
        by_query = options.average == "queries"
        names = (self.groups, others)
        found = pairs.sharing, pairs.score_ties
        return CountedPairs(*found, *names, recount=recount if by_query else None)

    def _recount(self, which: str, score_ties: str, once_in: str) -> AllPairs:
        found: AllPairs = self.known[which, score_ties, once_in]
        return found

    def _count_parts(self, options: PairwiseOptions) -> None:
        """Count every part once, in all ways that are asked for later."""
        everyone = (*self.groups, *self.rows_others)
        groups = {RAW: everyone, NUMBERS: everyone, STANDARDISED: self.groups}
        once_in = ONCE_IN if options.average == "queries" else ONCE_IN[:1]
        k = len(everyone)
        singles = np.zeros((2, k * k))
        for part in self._parts():
            for which in part.weights:
                for score_ties in ("disagree", "half"):
                    for once in once_in:
                        how = {"score_ties": score_ties, "once_in": once}
                        found = part.pairs(which, groups[which], options, **how)
                        key = (which, score_ties, once)
                        self.known[key] = add_pairs(self.known.get(key), found)
                roles = part.roles(which, len(groups[which]))
                self.known["roles", which] = self.known.get(("roles", which), 0.0) + roles
            columns = part.label, part.score, part.group
            trials, _, tied = query_counts(*columns, k, part.query)
            singles += [trials.ravel(), tied.ravel()]
        self.known["singles",] = (singles[0], singles[1])

    @property
    def rows_others(self) -> tuple[str, ...]:
        """What stands for items in no group, whatever is standardised."""
        return PartitionedItems(self.rows).others

    def _parts(self) -> Iterator[DealtQueries]:
        """Yield parts of the queries."""
        factors = None
        if 2 < self.n_levels <= MOST_LEVELS:
            absent = np.zeros((self.n_levels, len(self.rows_others)))
            factors = np.hstack([self.weigh().weights, absent])
        for place in range(self.n_parts):
            begin_pass(self.rows.n)
            found = collect_columns(_deal(self.rows.frame, self.n_parts, place))
            if not len(found["label"]):
                continue
            yield _part_of(self.rows, found, factors)

    def smallest(self, cell: Cell) -> int:
        """Return the number of items in the scarcer role; no name stands for any group."""
        roles = self.known["roles", self._which]
        last = roles.shape[-1] - 1
        above, below = (self.groups.index(group) if group else last for group in cell)
        better, worse = roles[0, :, above, below], roles[1, :, below, above]
        return min(worth(*one) for one in (better, worse))

    def note(self, bound: float) -> str:
        """Say how pairs were counted."""
        return f"Pairs were counted in {self.n_parts:,} parts of the queries: they are exact."


def _deal(frame: nw.LazyFrame[Any], n_parts: int, place: int) -> nw.LazyFrame[Any]:
    """Return the rows of the queries that are dealt to a part."""
    if n_parts == 1:
        return frame
    native: Any = frame.to_native()
    spark = frame.implementation.is_spark_like()
    code = f"pmod(xxhash64(query), {n_parts})" if spark else f"hash(query) % {n_parts}"
    dealt: nw.LazyFrame[Any] = nw.from_native(native.filter(f"{code} = {place}"))
    return dealt


def _part_of(
    rows: LabelledRows, found: dict[str, NDArray[Any]], factors: Matrix | None
) -> DealtQueries:
    codes, names = factorise(found["group"])
    place = np.array([rows.groups.index(name) for name in names], dtype=np.int64)
    group, label = place[codes], found["label"].astype(np.float64)
    given = found["weight"].astype(np.float64) if rows.is_weighted else None
    weights: dict[str, Matrix | None] = {RAW: given}
    if given is not None:
        weights[NUMBERS] = None
    if factors is not None:
        each = factors[np.searchsorted(rows.levels, label), group]
        weights[STANDARDISED] = each if given is None else each * given
    return DealtQueries(
        label=label,
        score=found["score"].astype(np.float64),
        group=group,
        query=factorise(found["query"])[0],
        weights=weights,
    )
