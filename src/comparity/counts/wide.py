"""Judged pairs whose rows carry both items' scores and groups: one group-by on the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.judged_pairs import Codes
from comparity.counts.ledger import (
    LARGER_SMALLER_EQUAL,
    compact_cells,
    tied_by_groups,
)
from comparity.counts.pairs import Cell, PairCounts, Tally
from comparity.errors import (
    EmptyTableError,
    InconsistentItemError,
    NonBinaryError,
    OneGroupError,
    SelfComparisonError,
    UnknownItemError,
)
from comparity.tables.columns import Table, check_columns, offenders
from comparity.tables.frames import collect_columns, text_of
from comparity.tables.values import cross_attributes, factorise, group_codes

SIDES = ("better", "worse")
# The sign of a pair whose numbers cannot be compared.
BROKEN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be counted.

    Attributes
    ----------
    groups : mapping of str to str
        Our name of each sensitive column to the user's.
    numbers : tuple of str
        Our names of the columns of items that are numbers in any case: ``"score"``, and
        ``"reference"`` where agreement is to be standardised.
    continuous, intersection : bool
    design : str
    clusters : mapping of str to str
        Our name of each column of the comparisons that holds clusters to the user's.
    """

    groups: Mapping[str, str]
    numbers: tuple[str, ...]
    continuous: bool
    intersection: bool
    design: str
    clusters: Mapping[str, str]


def _sign(table: Table, column: str) -> nw.Expr:
    """Return 1, 0 or -1 as the better item's number is larger, equal or smaller, else 2."""
    better, worse = table.number(f"better_{column}"), table.number(f"worse_{column}")
    order = (
        nw.when(better > worse)
        .then(nw.lit(1))
        .otherwise(nw.when(better == worse).then(nw.lit(0)).otherwise(nw.lit(-1)))
    )
    usable = better.is_finite() & worse.is_finite()
    return nw.when(usable).then(order).otherwise(nw.lit(BROKEN))


def count_rows(
    table: Table,
    asked: Asked,
    *,
    explain: Callable[[], None] | None = None,
    several: bool = True,
) -> dict[str, PairCounts]:
    """Count the rows of a wide table.

    Parameters
    ----------
    table : Table
        With ``better_score``, ``worse_score``, ``better_group0``, ...; perhaps ``better`` and
        ``worse`` ids and ``tied``.
    asked : Asked
    explain : callable, optional
        Raises the error that says what is wrong, if anything is; by default the table is checked.
    several : bool
        Whether the rows must show at least two groups.
    """
    keys = _keys(table, asked)
    better, worse = (table.number(f"{side}_score") for side in SIDES)
    sums = {
        "hits": better > worse,
        "score_ties": better == worse,
        "usable": better.is_finite() & worse.is_finite(),
    }
    if "better" in table.columns:
        sums["same"] = table.text("better") == table.text("worse")
        sums["blank"] = table.blank("better") | table.blank("worse")
    # Sums by group are faster than the order of the scores as one more key.
    numbers = {name: flag.cast(nw.Int64) for name, flag in sums.items()}
    grouped = table.frame.select(**keys, **numbers).group_by(*keys)
    found = collect_columns(
        grouped.agg(nw.len().alias("n"), *(nw.col(name).sum() for name in sums))
    )
    if not len(found["n"]):
        raise EmptyTableError(table.name)
    if _is_broken({name: found[name] for name in keys}, found):
        (explain or (lambda: _explain_rows(table, asked)))()
    return _count_by_cell(found, asked, several=several)


def _keys(table: Table, asked: Asked) -> dict[str, nw.Expr]:
    if asked.continuous:
        keys = {name: _sign(table, name) for name in asked.groups}
    else:
        names = [f"{side}_{name}" for side in SIDES for name in asked.groups]
        keys = {name: nw.col(name) for name in names}
    if "tied" in table.columns:
        keys["tied"] = table.truth("tied")
    return keys


def _is_broken(keys: Mapping[str, NDArray[Any]], found: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether any of the few distinct rows cannot be counted."""
    numeric = [name for name in keys if not name.startswith(SIDES)]
    return bool(
        (found["usable"] != found["n"]).any()
        or any(name in found and found[name].any() for name in ("same", "blank"))
        or ("tied" in keys and (keys["tied"] == -1).any())
        or any((keys[name] == BROKEN).any() for name in numeric)
        or any((factorise(column)[0] < 0).any() for column in keys.values())
    )


def _count_by_cell(
    found: Mapping[str, NDArray[Any]], asked: Asked, *, several: bool
) -> dict[str, PairCounts]:
    trials, hits, ties = (found[name].astype(np.int64) for name in ("n", "hits", "score_ties"))
    tied = found["tied"] == 1 if "tied" in found else np.zeros(len(trials), dtype=bool)
    order = ~tied
    counts = {}
    for name, (cell, cells) in _cells(found, asked, several=several).items():
        tallies = _sum_tallies(cell[order], hits[order], trials[order], ties[order], cells)
        counts[name] = PairCounts(tallies, tied_by_groups(cell[tied], trials[tied], cells))
    return counts


def _sum_tallies(
    cell: Codes, hits: Codes, trials: Codes, ties: Codes, cells: tuple[Cell, ...]
) -> dict[Cell, Tally]:
    """Add up rows that are tallies already, by cell."""
    columns = [
        np.bincount(cell, column, len(cells)).astype(np.int64).tolist()
        for column in (hits, trials, ties)
    ]
    return {name: Tally(*row) for name, *row in zip(cells, *columns, strict=True)}


def _cells(
    found: Mapping[str, NDArray[Any]], asked: Asked, *, several: bool
) -> dict[str, tuple[Codes, tuple[Cell, ...]]]:
    """Return the cell of each distinct row, by attribute."""
    if asked.continuous:
        for ours, name in asked.groups.items():
            if several and not found[ours].any():
                raise OneGroupError(name, ["one value"])
        return {
            name: (found[ours].astype(np.int64) + 1, LARGER_SMALLER_EQUAL)
            for ours, name in asked.groups.items()
        }
    # Both sides in one column, so that they are coded alike.
    both = {
        name: np.concatenate([found[f"{side}_{ours}"].astype(object) for side in SIDES])
        for ours, name in asked.groups.items()
    }
    coded = {
        name: group_codes(column, name, "comparisons", several=several)
        for name, column in both.items()
    }
    half = len(found["n"])
    return {
        name: compact_cells(codes[:half], codes[half:], tuple(names))
        for name, (codes, names) in cross_attributes(coded, intersection=asked.intersection).items()
    }


def _explain_rows(table: Table, asked: Asked) -> None:
    """Raise the error that says what is wrong with the rows of a wide table."""
    scores = [f"{side}_score" for side in SIDES]
    groups = [f"{side}_{name}" for side in SIDES for name in asked.groups]
    ids = [name for name in SIDES if name in table.columns]
    tied = [name for name in ("tied",) if name in table.columns]
    if asked.continuous:
        check_columns(table, complete=tied, numeric=[*scores, *groups], names=ids)
    else:
        check_columns(table, complete=[*tied, *groups], numeric=scores, names=ids)
    _explain_tied(table)
    if "better" in table.columns:
        same = table.text("better") == table.text("worse")
        raise SelfComparisonError(offenders(table, same, "better"))


def _explain_tied(table: Table) -> None:
    """Raise an error if the column of ties says anything but true and false."""
    if "tied" not in table.columns:
        return
    found = offenders(table, table.truth("tied") == -1, "tied")
    if found.count:
        raise NonBinaryError(table.columns["tied"], found.values, role="tied")


def explain_joined(comparisons: Table, items: Table) -> None:
    """Raise the error that says what is wrong with comparisons of known items."""
    check_columns(comparisons, complete=list(comparisons.columns), names=SIDES)
    _explain_tied(comparisons)
    for side in SIDES:
        known = items.frame.select(nw.col("key").alias(f"{side}_key"))
        found = offenders(comparisons, known, f"{side}_key")
        if found.count:
            raise UnknownItemError(comparisons.columns[side], found)
    same = nw.col("better_key") == nw.col("worse_key")
    raise SelfComparisonError(offenders(comparisons, same, "better_key"))


def count_fresh(comparisons: Table, items: Table, asked: Asked) -> dict[str, PairCounts]:
    """Count comparisons of items that have their own table, with a key to join them by.

    No pair is kept: the items' scores and groups are put beside each comparison.
    """
    _check_groups(items, asked)
    explain = partial(explain_joined, comparisons, items)
    return count_rows(_widen(comparisons, items, asked), asked, explain=explain, several=False)


def _check_groups(items: Table, asked: Asked) -> None:
    for ours, name in asked.groups.items():
        kinds = collect_columns(items.frame.select(ours).unique())[ours]
        _, names = group_codes(kinds, name, "items", several=False)
        if len(names) < 2:
            raise OneGroupError(name, names)


def _widen(comparisons: Table, items: Table, asked: Asked) -> Table:
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


def items_of_rows(table: Table, asked: Asked) -> Table:
    """Gather the item table that the rows of a wide table imply.

    Raises
    ------
    InconsistentItemError
        An item has several scores or groups.
    """
    groups = [f"{side}_{name}" for side in SIDES for name in asked.groups]
    measured = [f"{side}_{name}" for side in SIDES for name in asked.numbers]
    numeric = [*measured, *groups] if asked.continuous else measured
    check_columns(table, complete=groups, numeric=numeric, names=SIDES)
    as_group = table.number if asked.continuous else table.text
    sides = [
        table.frame.select(
            table.text(side).alias("item"),
            *(table.number(f"{side}_{name}").alias(name) for name in asked.numbers),
            *(as_group(f"{side}_{name}").alias(name) for name in asked.groups),
        )
        for side in SIDES
    ]
    frame = nw.concat(sides).unique()
    again = frame.group_by("item").agg(nw.len().alias("n")).filter(nw.col("n") > 1)
    repeated = collect_columns(again.sort("item"))["item"].tolist()
    if repeated:
        raise InconsistentItemError([text_of(name) for name in repeated[:5]], len(repeated))
    columns = {"item": table.columns["better"]}
    columns |= {name: table.columns[f"better_{name}"] for name in asked.numbers}
    columns |= dict(asked.groups)
    return Table(name="items", frame=frame, columns=columns, schema=dict(frame.collect_schema()))
