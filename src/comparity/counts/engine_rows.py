"""Judgments on the engine their tables live in, each with the kind of judgment that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.coded_judgments import ORDERS, ItemPlaces, NumberedJudgments, code_judgments
from comparity.counts.running_moments import HIT, MISS, TIE, JudgmentKind
from comparity.counts.wide import SIDES, explain_joined
from comparity.errors import EmptyTableError
from comparity.tables.coded_columns import has_arrow
from comparity.tables.columns import Table
from comparity.tables.frames import collect_columns, n_rows
from comparity.tables.memory import current_limits
from comparity.tables.stored_frames import StoredFrame

BYTES_CODED, BYTES_PER_CELL = 40, 32
"""Memory at least for each judgment that is held as numbers, with what is listed of it, and for
each item (or evaluator) and kind."""


class KnownItems(NamedTuple):
    """What is known of items, to be put beside each comparison.

    Attributes
    ----------
    items : StoredFrame
        Columns ``key``, ``place`` (a number, from 1 on, or on Spark the key), ``score``,
        ``profile``.
    comparisons : Table
    n_profiles : int
    """

    items: StoredFrame
    comparisons: Table
    n_profiles: int

    @classmethod
    def of(
        cls, comparisons: Table, items: Table, profiles: nw.LazyFrame[Any], n_profiles: int
    ) -> KnownItems:
        """Work out the profile of each item, and a short name.

        DuckDB groups by whole numbers much faster than by text. Spark would number rows in one
        place, so that ids stay what they are.
        """
        groups = [name for name in profiles.collect_schema().names() if name != "profile"]
        score, profile = items.number("score"), nw.col("profile").cast(nw.Int32)
        known = items.frame.join(profiles, on=groups).select("key", profile, score.alias("score"))
        if items.frame.implementation.is_duckdb():
            known = _number(known, "place")
        else:
            known = known.with_columns(nw.col("key").alias("place"))
        return cls(StoredFrame(known), comparisons, n_profiles)

    @property
    def has_judges(self) -> bool:
        """Whether it is known who judged."""
        return "evaluator" in self.comparisons.columns

    def code(self) -> NumberedJudgments | None:
        """Bring the comparisons to memory as numbers; nothing where the engine is to hold them."""
        frame, limits = self.comparisons.frame, current_limits()
        if not (frame.implementation.is_duckdb() and has_arrow()):
            return None
        places = None
        if isinstance(frame.collect_schema()["better_key"], nw.Int64):
            places = ItemPlaces.of(collect_columns(self.items.frame))
        if places is None:
            rows = self._join().with_columns(nw.col(*SIDES, "kind").fill_null(0))
        else:
            keys = [nw.col(f"{side}_key").fill_null(places.first - 1) for side in SIDES]
            rows = frame.select(*keys, self._read_ties(), *self._judge())
        # Rows of text, as those of CSV, would be parsed to be counted.
        is_text = all(isinstance(one, nw.String) for one in self.comparisons.schema.values())
        is_watched = limits.work.connection is not None
        n = n_rows(frame) if is_watched and not is_text else 0
        limits.work.begin(n, in_batches=True)
        coded = code_judgments(rows, places, self.n_profiles, limits.memory // BYTES_CODED)
        if coded is None:
            return None
        cells = (n_rows(self.items.frame) + len(coded.judges)) * len(coded.tally["kind"])
        return coded if limits.holds(cells, BYTES_PER_CELL) else None

    def store(self) -> tuple[StoredFrame, int]:
        """Store the comparisons on the engine, with numbers of evaluators, and count the latter."""
        rows = self._join()
        if not self.has_judges:
            return StoredFrame(rows), 0
        judges = self._name_judges()
        beside = rows.join(judges.frame, on="evaluator", how="left")
        named = beside.select(*SIDES, "kind", "tied", nw.col("judge").alias("evaluator"))
        return StoredFrame(named), n_rows(judges.frame)

    def _name_judges(self) -> StoredFrame:
        """Give evaluators short names where the engine has numbers for them."""
        there = self.comparisons.frame.filter(~self.comparisons.missing("evaluator"))
        judges = there.select("evaluator").unique()
        if there.implementation.is_duckdb():
            return StoredFrame(_number(judges, "judge", "order by evaluator"))
        return StoredFrame(judges.with_columns(nw.col("evaluator").alias("judge")))

    def _join(self) -> nw.LazyFrame[Any]:
        """Return the items, who judged, and the kind of each comparison."""
        frame = self.comparisons.frame
        for side in SIDES:
            names = ("key", "place", "score", "profile")
            own = [nw.col(name).alias(f"{side}_{name}") for name in names]
            frame = frame.join(self.items.frame.select(*own), on=f"{side}_key", how="left")
        better, worse = nw.col("better_score"), nw.col("worse_score")
        missed = nw.when(better == worse).then(nw.lit(TIE)).otherwise(nw.lit(MISS))
        order = nw.when(better > worse).then(nw.lit(HIT)).otherwise(missed)
        profiles = nw.col("better_profile") * self.n_profiles + nw.col("worse_profile")
        return frame.select(
            nw.col("better_place").alias("better"),
            nw.col("worse_place").alias("worse"),
            (profiles * ORDERS + order).cast(nw.Int16).alias("kind"),
            self._read_ties(),
            *self._judge(),
        )

    def _read_ties(self) -> nw.Expr:
        """Say whether a judgment is tied: 1, 0, or -1 where it says neither."""
        comparisons = self.comparisons
        tied = comparisons.truth("tied") if "tied" in comparisons.columns else nw.lit(0)
        return tied.cast(nw.Int8).alias("tied")

    def _judge(self) -> list[nw.Expr]:
        """Return who judged, null where that is missing."""
        if not self.has_judges:
            return []
        known = ~self.comparisons.missing("evaluator")
        return [nw.when(known).then(nw.col("evaluator")).alias("evaluator")]


def _number(frame: nw.LazyFrame[Any], name: str, order: str = "") -> nw.LazyFrame[Any]:
    """Give rows of DuckDB numbers, in whatever order by default."""
    native: Any = frame.to_native()
    rows: nw.LazyFrame[Any] = nw.from_native(
        native.project(f"*, (row_number() over ({order}))::integer as {name}")
    )
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedRows:
    """Ordered judgments on their engine, or as numbers in memory, each with its kind.

    Attributes
    ----------
    rows : StoredFrame or NumberedJudgments
        Columns ``better``, ``worse``, perhaps ``evaluator``, and ``kind``; or numbers in memory.
    items : StoredFrame
        Columns ``place``, the number of each item, and ``profile``.
    n_items, n_judges : int
        Items, and evaluators (0 where they are unknown), of which every number is at most that
        where the engine has numbers for their names.
    n_profiles : int
    kinds : mapping of int to int
        Judgments by kind.
    ties : mapping of (int, int) to int
        Tied judgments by profiles.
    """

    rows: StoredFrame | NumberedJudgments
    items: StoredFrame
    n_items: int
    n_judges: int
    n_profiles: int
    kinds: Mapping[int, int]
    ties: Mapping[tuple[int, int], int]

    @classmethod
    def of(
        cls, comparisons: Table, items: Table, profiles: nw.LazyFrame[Any], n_profiles: int
    ) -> OrderedRows:
        """Join comparisons with their items, and refuse what cannot be counted."""
        known = KnownItems.of(comparisons, items, profiles, n_profiles)
        rows: StoredFrame | NumberedJudgments | None = known.code()
        if isinstance(rows, NumberedJudgments):
            n_judges, found = len(rows.judges), dict(rows.tally)
        else:
            rows, n_judges = known.store()
            found = tally_kinds(rows.frame)
        if not len(found["n"]):
            raise EmptyTableError(comparisons.name)
        lost = any(found[name].any() for name in ("unknown", "same", "unjudged"))
        if lost or (found["tied"] == -1).any():
            explain_joined(comparisons, items)
        kinds: dict[int, int] = {}
        ties: dict[tuple[int, int], int] = {}
        columns = (found[name].tolist() for name in ("kind", "tied", "n"))
        for kind, tied, n in zip(*columns, strict=True):
            if tied == 1:
                pair = divmod(kind // ORDERS, n_profiles)
                ties[pair] = ties.get(pair, 0) + n
            else:
                kinds[kind] = n
        if ties and isinstance(rows, StoredFrame):
            rows = StoredFrame(rows.frame.filter(nw.col("tied") == 0))
        return cls(
            rows=rows,
            items=known.items,
            n_items=n_rows(known.items.frame),
            n_judges=n_judges,
            n_profiles=n_profiles,
            kinds=dict(sorted(kinds.items())),
            ties=ties,
        )

    @property
    def n(self) -> int:
        """Ordered judgments."""
        return sum(self.kinds.values())

    def all_kinds(self) -> list[JudgmentKind]:
        """Return what codes of kinds stand for."""
        split = (divmod(code, ORDERS) for code in self.kinds)
        return [
            JudgmentKind(*divmod(profiles, self.n_profiles), order) for profiles, order in split
        ]

    def numbers_of_kinds(self) -> NDArray[np.float64]:
        """Return the judgments of each kind."""
        return np.array([*self.kinds.values()], dtype=np.float64)

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """The judgments on their engine."""
        assert isinstance(self.rows, StoredFrame), "numbers in memory are summed up there"
        return self.rows.frame

    def has_more_than(self, most: int) -> bool:
        """Return whether more judgments than that are different: equal ones count once."""
        if isinstance(self.rows, NumberedJudgments):
            return self.rows.has_more_than(most)
        return n_rows(self.frame.unique()) > most


def tally_kinds(rows: nw.LazyFrame[Any]) -> dict[str, NDArray[np.int64]]:
    """Count judgments by kind, and those whose items or evaluator are not known."""
    columns = rows.collect_schema().names()
    unjudged = nw.col("evaluator").is_null() if "evaluator" in columns else nw.lit(False)
    flags = {
        "unknown": nw.col("better").is_null() | nw.col("worse").is_null(),
        "same": nw.col("better") == nw.col("worse"),
        "unjudged": unjudged,
    }
    marked = rows.select(
        "kind", "tied", **{name: one.cast(nw.Int64) for name, one in flags.items()}
    )
    grouped = marked.group_by("kind", "tied").agg(
        nw.len().alias("n"), *(nw.col(name).sum() for name in flags)
    )
    found = collect_columns(grouped)
    return {
        name: np.array([-1 if one is None else one for one in column.tolist()]).astype(np.int64)
        for name, column in found.items()
    }


def touched_items(rows: nw.LazyFrame[Any], n_profiles: int) -> nw.LazyFrame[Any]:
    """Return every judgment twice, once for each of its items, with the profile of that."""
    judge = [name for name in rows.collect_schema().names() if name == "evaluator"]
    profiles = nw.col("kind") // ORDERS
    return nw.concat(
        [
            rows.select(nw.col(side).alias("item"), own.alias("own"), "kind", *judge)
            for side, own in zip(
                SIDES, (profiles // n_profiles, profiles % n_profiles), strict=True
            )
        ]
    )


def count_kinds(rows: nw.LazyFrame[Any], *cluster: str) -> nw.LazyFrame[Any]:
    """Count the judgments of each kind in each cluster."""
    return rows.group_by(*cluster, "kind").agg(nw.len().alias("n"))


def recode(code: nw.Expr, to: Mapping[Any, float]) -> nw.Expr:
    """Return what each of few codes stands for."""
    found: nw.Expr = nw.lit(next(iter(to.values())))
    for one, value in [*to.items()][1:]:
        found = nw.when(code == one).then(nw.lit(value)).otherwise(found)
    return found
