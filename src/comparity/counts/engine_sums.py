r"""Moments of judged pairs, summed on the engine the tables live in: no pair leaves it.

The variance of shared pairs is a sum over clusters (items, pairs of items, evaluators, and items
and pairs within evaluators) of squares of sums within each cluster. The hypothesised gap enters
afterwards (:mod:`comparity.counts.running_moments`). So each sort of cluster takes a group-by of
(cluster, kind of judgment), and a join of its result with itself by the cluster. The products

.. math:: M_{kl} = \sum_{c} n_{ck} n_{cl}

come back, one number for every two kinds :math:`k, l`. They are whole numbers on every engine. An
unordered pair of items holds two kinds at most, one for each order in which it was judged, so its
products need no join.

Only tables of many rows are summed in this way; the numbers are those of the pairs in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.coded_judgments import ORDERS
from comparity.counts.engine_rows import (
    OrderedRows,
    count_kinds,
    recode,
    touched_items,
)
from comparity.counts.judged_pairs import JudgedPairs
from comparity.counts.judgments_in_memory import JudgmentsInMemory
from comparity.counts.ledger import Attribute, attributes_of
from comparity.counts.pairs import PairCounts
from comparity.counts.running_moments import HIT, MOST_KINDS, RunningMoments, RunningPairs
from comparity.counts.wide import Asked
from comparity.tables.columns import Table
from comparity.tables.frames import collect_columns, n_rows
from comparity.tables.stored_frames import StoredFrame

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_WHOLE = 1.5e9
"""Judgments; the square of twice as many still fits into 64 bits."""

FEW_SUMS = 10**6
"""Up to so many sums of items are cubed in memory, which is faster than on the engine."""

EXACT_BITS = 52
"""Whole numbers below this power of two, and their sums, are exact as floats."""

MOST_AT_ONCE = 32
"""Gaps that one query over the items works out."""


def count_on_engine(
    comparisons: Table,
    items: Table,
    asked: Asked,
    list_pairs: Callable[[], Mapping[str, PairCounts | JudgedPairs]],
) -> dict[str, PairCounts | RunningPairs] | None:
    """Count comparisons of items that have their own table, and sum up what they share.

    Parameters
    ----------
    comparisons, items : Table
        With keys to join them by, on one engine; the items have been checked.
    asked : Asked
        Groups, not numbers; no clusters beside evaluators.
    list_pairs : callable
        Counts the same pairs in memory, for the permutation of few items.

    Returns
    -------
    dict of str to PairCounts or RunningPairs
        One for each attribute; nothing where there are too many kinds of judgments.
    """
    groups = [*asked.groups]
    profiles = items.frame.select(*groups).unique().with_row_index("profile", order_by=groups)
    found = collect_columns(profiles)
    n_profiles = len(found["profile"])
    if ORDERS * n_profiles**2 > MOST_KINDS:
        return None
    order = np.argsort(found["profile"].astype(np.int64))
    attributes = attributes_of(
        {name: found[ours][order] for ours, name in asked.groups.items()},
        continuous=False,
        intersection=asked.intersection,
        table="items",
    )
    ordered = OrderedRows.of(comparisons, items, profiles, n_profiles)
    judged = JudgmentsInMemory.of(ordered) or _EngineJudgments.of(ordered)
    moments = judged.moments(attributes)
    counts = {
        name: RunningPairs(
            moments=moments,
            name=name,
            attribute=attribute,
            by_evaluator=judged.by_evaluator,
            item_cubes=judged.item_cubes,
            list_pairs=partial(_list_few_pairs, list_pairs, ordered, name),
        )
        for name, attribute in attributes.items()
    }
    if asked.design == "auto" and not moments.repeats:
        return {name: one.fresh_counts() for name, one in counts.items()}
    return dict(counts)


def _list_few_pairs(
    list_pairs: Callable[[], Mapping[str, PairCounts | JudgedPairs]],
    ordered: OrderedRows,
    name: str,
    most: int,
) -> JudgedPairs | None:
    """Return the pairs one by one, unless more than `most` are different."""
    if ordered.has_more_than(most):
        return None
    found = list_pairs()[name]
    assert isinstance(found, JudgedPairs), "a shared design keeps pairs"
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _EngineJudgments:
    """Ordered judgments on their engine, by items, evaluator and kind.

    Attributes
    ----------
    ordered : OrderedRows
    by_item : StoredFrame
        Judgments of each kind that touch each item: ``item``, ``own`` (its profile), ``kind``, n.
    by_judge : StoredFrame or None
        The same of each evaluator.
    """

    ordered: OrderedRows
    by_item: StoredFrame
    by_judge: StoredFrame | None

    @classmethod
    def of(cls, ordered: OrderedRows) -> _EngineJudgments:
        """Count judgments by item, and by evaluator where these are known."""
        rows = ordered.frame
        touched = touched_items(rows, ordered.n_profiles)
        return cls(
            ordered=ordered,
            by_item=StoredFrame(count_kinds(touched, "item", "own")),
            by_judge=StoredFrame(count_kinds(rows, "evaluator")) if ordered.n_judges else None,
        )

    @property
    def kinds(self) -> Mapping[int, int]:
        """Judgments by kind."""
        return self.ordered.kinds

    def moments(self, attributes: Mapping[str, Attribute]) -> RunningMoments:
        """Sum up every sort of cluster."""
        pairs, cubes = self._pair_products()
        nothing = np.zeros((len(self.kinds), len(self.kinds)))
        found = RunningMoments(
            kinds=self.ordered.all_kinds(),
            judgments=self.ordered.numbers_of_kinds(),
            items=self._products(self.by_item.frame, "item"),
            pairs=pairs,
            evaluators=nothing,
            evaluator_items=nothing,
            evaluator_pairs=nothing,
            cubes=cubes,
            ties=dict(self.ordered.ties),
        )
        if self.by_judge is not None:
            self._add_evaluators(found, self.by_judge.frame)
        self._count_items_seen(found, attributes)
        return found

    def _add_evaluators(self, found: RunningMoments, by_judge: nw.LazyFrame[Any]) -> None:
        judges = by_judge.select(nw.col("evaluator").n_unique().alias("n"))
        found.n_evaluators = int(collect_columns(judges)["n"][0]) if self.kinds else 0
        touched = touched_items(self.ordered.frame, self.ordered.n_profiles)
        within = self._packed_products(touched, "item", "evaluator")
        if within is None:
            counted = StoredFrame(count_kinds(touched, "item", "evaluator"))
            within = self._products(counted.frame, "item", "evaluator")
        found.evaluators = self._products(by_judge, "evaluator")
        found.evaluator_items = within
        found.evaluator_pairs, found.cubes = self._pair_products("evaluator")

    def _place(self, codes: Codes) -> Codes:
        """Return the position of kinds among those that occur."""
        return np.searchsorted(np.array([*self.kinds], dtype=np.int64), codes.astype(np.int64))

    def _exact(self, column: str) -> nw.Expr:
        """Return counts as numbers whose products do not overflow."""
        return nw.col(column).cast(nw.Int64 if self.ordered.n < MOST_WHOLE else nw.Float64)

    def _products(self, sums: nw.LazyFrame[Any], *cluster: str) -> Floats:
        """Sum up, over clusters, the products of the counts of every two kinds."""
        one = sums.select(*cluster, "kind", self._exact("n").alias("n"))
        two = one.select(*cluster, nw.col("kind").alias("other"), nw.col("n").alias("m"))
        crossed = one.join(two, on=[*cluster], how="inner")
        products = crossed.select("kind", "other", (nw.col("n") * nw.col("m")).alias("nm"))
        found = collect_columns(products.group_by("kind", "other").agg(nw.col("nm").sum()))
        matrix = np.zeros((len(self.kinds), len(self.kinds)))
        matrix[self._place(found["kind"]), self._place(found["other"])] = found["nm"]
        return matrix

    def _packed_products(self, rows: nw.LazyFrame[Any], *cluster: str) -> Floats | None:
        """Do the same for very many clusters of few rows, without a join of clusters.

        The counts of a cluster by kind are the digits of one number. Clusters are grouped by their
        names, then by that number, of which few are different. Where a count has no room in its
        digit, digits no longer add up to the rows, and nothing is returned.
        """
        bits = EXACT_BITS // max(len(self.kinds), 1)
        if bits < 2 or not self.kinds:
            return None
        digit = recode(
            nw.col("kind"),
            {code: float(2 ** (bits * place)) for place, code in enumerate(self.kinds)},
        )
        packed = rows.select(*cluster, digit.alias("packed")).group_by(*cluster)
        sums = packed.agg(nw.col("packed").sum(), nw.len().alias("n")).group_by("packed", "n")
        found = collect_columns(sums.agg(nw.len().alias("clusters")).head(FEW_SUMS + 1))
        if len(found["n"]) > FEW_SUMS or (found["packed"] >= 2.0**EXACT_BITS).any():
            return None
        shifts = bits * np.arange(len(self.kinds))
        counts = (found["packed"].astype(np.int64)[:, None] >> shifts) & (2**bits - 1)
        if (counts.sum(axis=1) != found["n"]).any():
            return None
        times = found["clusters"].astype(np.float64)[:, None]
        matrix: Floats = counts.T.astype(np.float64) @ (counts * times)
        return matrix

    def _pair_products(self, *shared: str) -> tuple[Floats, Floats]:
        """Return the products over unordered pairs, and the cubes of both orders by kind."""
        swapped = nw.col("worse") < nw.col("better")
        code, size = nw.col("kind"), self.ordered.n_profiles
        better, worse = code // ORDERS // size, code // ORDERS % size
        mirrored = (worse * size + better) * ORDERS + (HIT - code % ORDERS)
        sided = self.ordered.frame.select(
            *shared,
            nw.when(swapped).then(nw.col("worse")).otherwise(nw.col("better")).alias("low"),
            nw.when(swapped).then(nw.col("better")).otherwise(nw.col("worse")).alias("high"),
            nw.when(swapped).then(mirrored).otherwise(code).alias("forth"),
            # DuckDB adds floats, exact as these are, faster than whole numbers of 128 bits.
            nw.when(swapped).then(nw.lit(0.0)).otherwise(nw.lit(1.0)).alias("n"),
            nw.when(swapped).then(nw.lit(1.0)).otherwise(nw.lit(0.0)).alias("m"),
        )
        sums = sided.group_by("low", "high", "forth", *shared).agg(nw.col("n", "m").sum())
        n, m = self._exact("n"), self._exact("m")
        # Two million judgments of one pair: their cube needs more than 64 bits.
        cubes = {
            name: nw.col(name[0]) * nw.col(name[0]) * nw.col(name[0]) for name in ("nnn", "mmm")
        }
        powers = {"nn": n * n, "nm": n * m, "mm": m * m, **cubes}
        found = collect_columns(
            sums.select("forth", **powers).group_by("forth").agg(nw.col(*powers).sum())
        )
        return self._spread(found)

    def _spread(self, found: Mapping[str, NDArray[Any]]) -> tuple[Floats, Floats]:
        """Put sums by the kind of pairs in one order where both of their kinds are."""
        size, forth = self.ordered.n_profiles, found["forth"].astype(np.int64)
        better, worse = np.divmod(forth // ORDERS, size)
        back = (worse * size + better) * ORDERS + (HIT - forth % ORDERS)
        full = np.zeros((MOST_KINDS, MOST_KINDS))
        cubes = np.zeros(MOST_KINDS)
        for rows, columns, name in (
            (forth, forth, "nn"),
            (forth, back, "nm"),
            (back, forth, "nm"),
            (back, back, "mm"),
        ):
            np.add.at(full, (rows, columns), found[name].astype(np.float64))
        np.add.at(cubes, forth, found["nnn"].astype(np.float64))
        np.add.at(cubes, back, found["mmm"].astype(np.float64))
        known = [*self.kinds]
        return full[np.ix_(known, known)], cubes[known]

    def _count_items_seen(self, found: RunningMoments, attributes: Mapping[str, Attribute]) -> None:
        """Count items, by group and by cell, and the uses of the one that is used most."""
        uses = self.by_item.frame.group_by("item", "own").agg(nw.col("n").sum())
        by_profile = collect_columns(
            uses.group_by("own").agg(nw.len().alias("items"), nw.col("n").max().alias("most"))
        )
        own, items = (by_profile[name].astype(np.int64) for name in ("own", "items"))
        found.n_items = int(items.sum())
        found.most_uses = int(by_profile["most"].max(initial=0))
        for name, attribute in attributes.items():
            assert attribute.codes is not None, "groups, not numbers"
            for code, n in zip(attribute.codes[own].tolist(), items.tolist(), strict=True):
                key = (name, attribute.names[code])
                found.seen[key] = found.seen.get(key, 0) + n
            cell, cells = found.cells_of(attribute)
            for code, n in self._items_by_cell(cell).items():
                found.seen[name, *cells[code]] = n

    def _items_by_cell(self, cell: Codes) -> dict[int, int]:
        """Count the items of each cell; `cell` is that of every kind."""
        if not self.kinds:
            return {}
        place = recode(nw.col("kind"), dict(zip(self.kinds, cell.tolist(), strict=True)))
        once = self.by_item.frame.select("item", place.alias("cell")).unique()
        found = collect_columns(once.group_by("cell").agg(nw.len().alias("n")))
        codes, items = (found[name].astype(np.int64).tolist() for name in ("cell", "n"))
        return dict(zip(codes, items, strict=True))

    def by_evaluator(self) -> Floats:
        """Return judgments of each evaluator by kind, (evaluators, kinds)."""
        assert self.by_judge is not None
        return self._counts_by_cluster(self.by_judge.frame, "evaluator")

    def _counts_by_cluster(self, sums: nw.LazyFrame[Any], cluster: str) -> Floats:
        """Return counts by cluster and kind, in memory; clusters in the order of their names."""
        found = collect_columns(sums)
        names, place = np.unique(found[cluster], return_inverse=True)
        held = np.zeros((len(names), len(self.kinds)))
        held[place.reshape(-1), self._place(found["kind"])] = found["n"]
        return held

    def item_cubes(self, weights: Floats) -> Floats:
        """Return sums over items of the cubes of weighted counts, one for each row of weights."""
        if n_rows(self.by_item.frame) <= FEW_SUMS:
            counts = self._counts_by_cluster(self.by_item.frame, "item")
            return np.asarray(((counts @ weights.T) ** 3).sum(axis=0))
        starts = range(0, len(weights), MOST_AT_ONCE)
        found = [self._cubes(weights[start : start + MOST_AT_ONCE]) for start in starts]
        return np.concatenate([np.zeros(0), *found])

    def _cubes(self, weights: Floats) -> Floats:
        """Take the cubes on the engine, an expression for each gap."""
        held = {
            f"kind{code}": nw.when(nw.col("kind") == code).then(nw.col("n")).otherwise(nw.lit(0))
            for code in self.kinds
        }
        sums = self.by_item.frame.select("item", **held).group_by("item").agg(nw.col(*held).sum())
        gaps = {
            f"gap{place}": nw.sum_horizontal(
                *(nw.col(name) * weight for name, weight in zip(held, row.tolist(), strict=True))
            )
            for place, row in enumerate(weights)
        }
        added = sums.select(**gaps)
        cubes = [(nw.col(name) * nw.col(name) * nw.col(name)).sum().alias(name) for name in gaps]
        found = collect_columns(added.select(*cubes))
        return np.array([float(found[name][0] or 0.0) for name in gaps])
