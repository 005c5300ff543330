"""Judged pairs joined to an item table on the engine, with or without a ledger of pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from comparity.counts.ledger import Codes, Ledger, attributes_of, count_ledger
from comparity.counts.pairs import PairCounts, SharedPairCounts
from comparity.counts.wide import SIDES, Asked, count_rows, explain_tied
from comparity.errors import (
    DuplicateItemError,
    EmptyTableError,
    OneGroupError,
    SelfComparisonError,
    UnknownItemError,
)
from comparity.tables.columns import Table, check_columns, offenders
from comparity.tables.frames import Columns, collected, text_of
from comparity.tables.values import group_codes

__all__ = ["Asked", "count_joined"]

# Integers that 64 signed bits hold.
SMALL_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)


def count_joined(
    comparisons: Table, items: Table, asked: Asked
) -> dict[str, PairCounts | SharedPairCounts]:
    """Count comparisons of items that have their own table, on one engine."""
    check_items(items, asked)
    comparisons, items = _with_keys(comparisons, items)
    if asked.design == "fresh":
        _check_groups(items, asked)
        wide = _widened(comparisons, items, asked)
        explain = partial(explain_joined, comparisons, items)
        return dict(count_rows(wide, asked, explain=explain, several=False))
    places, position = _placed(items, asked)
    ledger = _ledger(comparisons, items, position)
    columns = {name: places[ours] for ours, name in asked.groups.items()}
    return count_ledger(
        ledger,
        scores=places["score"].astype(np.float64),
        attributes=attributes_of(
            columns, continuous=asked.continuous, intersection=asked.intersection, table="items"
        ),
        design=asked.design,
        ids=places["key"].tolist(),
        reference=places["reference"].astype(np.float64) if asked.reference else None,
    )


def check_items(items: Table, asked: Asked) -> None:
    """Raise an error unless every item has one row, a finite score and its groups."""
    if asked.continuous:
        check_columns(items, numeric=[*asked.numbers, *asked.groups], names=["item"])
    else:
        check_columns(items, complete=asked.groups, numeric=asked.numbers, names=["item"])
    keyed = items.with_frame(items.frame.with_columns(items.text("item").alias("key")))
    sizes = keyed.frame.group_by("key").agg(nw.len().alias("n"))
    repeated = sizes.filter(nw.col("n") > 1).select("key")
    if collected(repeated.select(nw.len().alias("n")))["n"][0]:
        found = offenders(keyed, repeated, "key", how="semi")
        raise DuplicateItemError(items.columns["item"], found)


def _with_keys(comparisons: Table, items: Table) -> tuple[Table, Table]:
    """Add ids that can be joined: as integers or text if all three columns are, else as text."""
    tables = ((comparisons, "better"), (comparisons, "worse"), (items, "item"))
    kinds = [table.schema[column] for table, column in tables]
    small = all(isinstance(kind, SMALL_INTEGERS) for kind in kinds)
    # PyArrow has two types of text, which it does not join; as text they are of one.
    arrow = items.frame.implementation.is_pyarrow()
    alike = all(isinstance(kind, nw.String) for kind in kinds) and not arrow

    def key(table: Table, column: str) -> nw.Expr:
        if small:
            return nw.col(column).cast(nw.Int64)
        return nw.col(column) if alike else table.text(column)

    sides = [key(comparisons, side).alias(f"{side}_key") for side in SIDES]
    return (
        comparisons.with_frame(comparisons.frame.with_columns(*sides)),
        items.with_frame(items.frame.with_columns(key(items, "item").alias("key"))),
    )


def _check_groups(items: Table, asked: Asked) -> None:
    for ours, name in asked.groups.items():
        kinds = collected(items.frame.select(ours).unique())[ours]
        _, names = group_codes(kinds, name, "items", several=False)
        if len(names) < 2:
            raise OneGroupError(name, names)


def _widened(comparisons: Table, items: Table, asked: Asked) -> Table:
    """Put both items' scores and groups beside each comparison."""
    frame = comparisons.frame
    columns = dict(comparisons.columns)
    as_group = items.number if asked.continuous else nw.col
    for side in SIDES:
        chosen = items.frame.select(
            nw.col("key").alias(f"{side}_key"),
            items.number("score").alias(f"{side}_score"),
            *(as_group(name).alias(f"{side}_{name}") for name in asked.groups),
        )
        frame = frame.join(chosen, on=f"{side}_key", how="left")
        columns |= {f"{side}_{name}": items.columns[name] for name in ("score", *asked.groups)}
    schema = dict(frame.collect_schema())
    return Table(name="comparisons", frame=frame, columns=columns, schema=schema)


def _placed(items: Table, asked: Asked) -> tuple[Columns, Codes]:
    """Bring the items to numpy, ordered by id as text, and say where the engine's order went."""
    frame = items.frame.with_row_index("place", order_by="key")
    measured = [items.number(name).alias(name) for name in asked.numbers]
    found = collected(frame.with_columns(*measured))
    ids = [text_of(key) for key in found["key"].tolist()]
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    position = np.empty(len(ids), dtype=np.int64)
    position[found["place"].astype(np.int64)[order]] = np.arange(len(ids))
    places = {name: column[order] for name, column in found.items()}
    places["key"] = np.array(ids, dtype=object)[order]
    return places, position


def _ledger(comparisons: Table, items: Table, position: Codes) -> Ledger:
    """Group the judgments by the positions of their items and evaluators, on the engine."""
    indexed = items.frame.with_row_index("place", order_by="key")
    frame = comparisons.frame
    for side in SIDES:
        named = indexed.select(
            nw.col("key").alias(f"{side}_key"), nw.col("place").alias(f"{side}_place")
        )
        frame = frame.join(named, on=f"{side}_key", how="left")
    keys = [_code("better_place"), _code("worse_place")]
    evaluators: tuple[str, ...] = ()
    if "evaluator" in comparisons.columns:
        frame, evaluators = _with_evaluators(comparisons, frame)
        keys.append(_code("evaluator_place"))
    if "tied" in comparisons.columns:
        keys.append(comparisons.truth("tied").alias("tied"))
    chosen = frame.select(*keys)
    names = chosen.collect_schema().names()
    found = collected(chosen.group_by(*names).agg(nw.len().alias("n")))
    found = {name: column.astype(np.int64) for name, column in found.items()}
    if not len(found["n"]):
        raise EmptyTableError(comparisons.name)
    bad = any((column < 0).any() for column in found.values())
    if bad or (found["better_place"] == found["worse_place"]).any():
        explain_joined(comparisons, items)
    return _split(found, position, evaluators)


def _code(name: str) -> nw.Expr:
    return nw.col(name).fill_null(-1).cast(nw.Int64)


def _with_evaluators(
    comparisons: Table, frame: nw.LazyFrame[Any]
) -> tuple[nw.LazyFrame[Any], tuple[str, ...]]:
    """Give evaluators positions on the engine, because text for every pair is dear to carry."""
    known = comparisons.frame.filter(~comparisons.missing("evaluator")).select("evaluator")
    indexed = known.unique().with_row_index("evaluator_place", order_by="evaluator")
    found = collected(indexed)
    names = [""] * len(found["evaluator"])
    for place, name in zip(found["evaluator_place"], found["evaluator"].tolist(), strict=True):
        names[int(place)] = text_of(name)
    return frame.join(indexed, on="evaluator", how="left"), tuple(names)


def _split(found: Columns, position: Codes, evaluators: tuple[str, ...]) -> Ledger:
    """Separate tied judgments from ordered ones, with items at their final positions."""
    better, worse = position[found["better_place"]], position[found["worse_place"]]
    tied = found["tied"] == 1 if "tied" in found else np.zeros(len(better), dtype=bool)
    evaluator = None
    if "evaluator_place" in found:
        # Who only ever tied has no part in any variance.
        used, evaluator = np.unique(found["evaluator_place"][~tied], return_inverse=True)
        evaluators = tuple(evaluators[place] for place in used)
    return Ledger(
        better=better[~tied],
        worse=worse[~tied],
        trials=found["n"][~tied],
        evaluator=evaluator,
        evaluators=evaluators,
        tied_first=better[tied],
        tied_second=worse[tied],
        tied_trials=found["n"][tied],
        is_distinct=True,
    )


def explain_joined(comparisons: Table, items: Table) -> None:
    """Raise the error that says what is wrong with comparisons of known items."""
    check_columns(comparisons, complete=list(comparisons.columns), names=SIDES)
    explain_tied(comparisons)
    for side in SIDES:
        known = items.frame.select(nw.col("key").alias(f"{side}_key"))
        found = offenders(comparisons, known, f"{side}_key")
        if found.count:
            raise UnknownItemError(comparisons.columns[side], found)
    same = nw.col("better_key") == nw.col("worse_key")
    raise SelfComparisonError(offenders(comparisons, same, "better_key"))
