"""Which rows are held out: whole queries, or an even share of every kind of row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counting.labelled import LabelledItems

__all__ = ["held_out", "taken"]

Codes = NDArray[np.int64]

LEVELS = 20
"""Labels of at most so many values are held out evenly."""


def held_out(items: LabelledItems, fraction: float, rng: Any) -> NDArray[np.bool_]:
    """Say which rows are held out; none or all of them where there are too few.

    Parameters
    ----------
    items : LabelledItems
        Where they have queries, whole queries are held out; else the same share of every group
        and, where labels are few, of every label.
    fraction : float
        Share of rows, or of queries.
    rng : RandomState or Generator
        What draws.
    """
    if items.query is not None:
        return _queries(items.query, fraction, rng)
    order = np.lexsort((rng.uniform(size=len(items)), _strata(items)))
    # Every so many rows, stratum by stratum, from a random start.
    steps = np.floor((np.arange(len(items) + 1) + rng.uniform()) * fraction)
    held = np.zeros(len(items), dtype=bool)
    held[order] = np.diff(steps) > 0
    return held


def _queries(query: Codes, fraction: float, rng: Any) -> NDArray[np.bool_]:
    drawn = rng.uniform(size=int(query.max()) + 1).argsort().argsort()
    known = np.unique(query)
    order = known[np.argsort(drawn[known])]
    taken = np.zeros(int(query.max()) + 1, dtype=bool)
    taken[order[: round(fraction * len(known))]] = True
    found: NDArray[np.bool_] = taken[query]
    return found


def _strata(items: LabelledItems) -> Codes:
    """Return what rows are held out evenly by: group and, where labels are few, label."""
    strata = items.group if len(items.group) else np.zeros(len(items), dtype=np.int64)
    levels, level = np.unique(items.label, return_inverse=True)
    if len(levels) <= LEVELS:
        strata = strata * len(levels) + level.reshape(-1)
    return strata


def taken(items: LabelledItems, kept: Codes) -> LabelledItems:
    """Return some of the rows."""

    def part(column: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if column is None else column[kept]

    return replace(
        items,
        label=items.label[kept],
        score=items.score[kept],
        group=items.group[kept] if len(items.group) else items.group,
        value=part(items.value),
        query=part(items.query),
        weight=part(items.weight),
    )
