"""Which rows are held out: whole queries, or the same share of every group and label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.tables.features import LabelledItems

Codes = NDArray[np.int64]

LEVELS = 20
"""Labels of at most so many values are held out evenly."""


def hold_out(items: LabelledItems, fraction: float, rng: Any) -> NDArray[np.bool_]:
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
        return _hold_queries(items.query, fraction, rng)
    order = np.lexsort((rng.uniform(size=len(items)), strata_of(items)))
    # Every so many rows, stratum by stratum, from a random start.
    steps = np.floor((np.arange(len(items) + 1) + rng.uniform()) * fraction)
    held = np.zeros(len(items), dtype=bool)
    held[order] = np.diff(steps) > 0
    return held


def _hold_queries(query: Codes, fraction: float, rng: Any) -> NDArray[np.bool_]:
    drawn = rng.uniform(size=int(query.max()) + 1).argsort().argsort()
    known = np.unique(query)
    order = known[np.argsort(drawn[known])]
    return np.isin(query, order[: round(fraction * len(known))])


def strata_of(items: LabelledItems) -> Codes:
    """Return what rows are held out evenly by: group and, where labels are few, label."""
    strata = items.group if len(items.group) else np.zeros(len(items), dtype=np.int64)
    levels, level = np.unique(items.label, return_inverse=True)
    if len(levels) <= LEVELS:
        strata = strata * len(levels) + level.reshape(-1)
    return strata
