"""Judgments on the engine their tables live in, each with the kind of judgment that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.running_moments import HIT, MISS, TIE, JudgmentKind
from comparity.counts.wide import SIDES, explain_joined
from comparity.errors import EmptyTableError
from comparity.tables.columns import Table
from comparity.tables.frames import collect_columns, n_rows
from comparity.tables.stored_frames import StoredFrame

ORDERS = 3
"""The model agrees, ties or disagrees."""


class KnownItems(NamedTuple):
    """What is known of items and evaluators, to be put beside each comparison."""

    items: StoredFrame
    judges: StoredFrame | None

    @classmethod
    def of(cls, comparisons: Table, items: Table, profiles: nw.LazyFrame[Any]) -> KnownItems:
        """Work out the profile of each item, and short names of items and evaluators.

        DuckDB groups by whole numbers much faster than by text. Spark would number rows in one
        place, so that ids stay what they are.
        """
        groups = [name for name in profiles.collect_schema().names() if name != "profile"]
        score, profile = items.number("score"), nw.col("profile").cast(nw.Int32)
        known = items.frame.join(profiles, on=groups).select("key", profile, score.alias("score"))
        judges = None
        if "evaluator" in comparisons.columns:
            there = comparisons.frame.filter(~comparisons.missing("evaluator"))
            judges = there.select("evaluator").unique()
        if items.frame.implementation.is_duckdb():
            known = _number(known, "place")
            judges = None if judges is None else _number(judges, "judge", "order by evaluator")
        else:
            known = known.with_columns(nw.col("key").alias("place"))
            judges = (
                None if judges is None else judges.with_columns(nw.col("evaluator").alias("judge"))
            )
        return cls(StoredFrame(known), None if judges is None else StoredFrame(judges))

    def join(self, comparisons: Table, n_profiles: int) -> nw.LazyFrame[Any]:
        """Return the items, the evaluator and the kind of each comparison."""
        frame = comparisons.frame
        for side in SIDES:
            names = ("key", "place", "score", "profile")
            own = [nw.col(name).alias(f"{side}_{name}") for name in names]
            frame = frame.join(self.items.frame.select(*own), on=f"{side}_key", how="left")
        if self.judges is not None:
            frame = frame.join(self.judges.frame, on="evaluator", how="left")
        better, worse = nw.col("better_score"), nw.col("worse_score")
        missed = nw.when(better == worse).then(nw.lit(TIE)).otherwise(nw.lit(MISS))
        order = nw.when(better > worse).then(nw.lit(HIT)).otherwise(missed)
        profiles = nw.col("better_profile") * n_profiles + nw.col("worse_profile")
        tied = comparisons.truth("tied") if "tied" in comparisons.columns else nw.lit(0)
        return frame.select(
            nw.col("better_place").alias("better"),
            nw.col("worse_place").alias("worse"),
            (profiles * ORDERS + order).cast(nw.Int16).alias("kind"),
            tied.cast(nw.Int8).alias("tied"),
            *([] if self.judges is None else [nw.col("judge").alias("evaluator")]),
        )


def _number(frame: nw.LazyFrame[Any], name: str, order: str = "") -> nw.LazyFrame[Any]:
    """Give rows of DuckDB numbers, in whatever order by default."""
    native: Any = frame.to_native()
    rows: nw.LazyFrame[Any] = nw.from_native(
        native.project(f"*, (row_number() over ({order}))::integer as {name}")
    )
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedRows:
    """Ordered judgments on their engine, each with the kind of judgment that it is.

    Attributes
    ----------
    rows : StoredFrame
        Columns ``better``, ``worse``, perhaps ``evaluator``, and ``kind``.
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

    rows: StoredFrame
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
        known = KnownItems.of(comparisons, items, profiles)
        joined = StoredFrame(known.join(comparisons, n_profiles))
        found = tally_kinds(joined.frame)
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
        rows = joined
        if ties:
            rows = StoredFrame(joined.frame.filter(nw.col("tied") == 0))
        return cls(
            rows=rows,
            items=known.items,
            n_items=n_rows(known.items.frame),
            n_judges=0 if known.judges is None else n_rows(known.judges.frame),
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

    def n_different(self) -> int:
        """Count different judgments: equal ones count once."""
        return n_rows(self.rows.frame.unique())


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
