"""Which tables stay on their engine when all of their pairs are audited."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from comparity.counts.engine_pairs import read_labelled_rows
from comparity.counts.overlap import MOST_LEVELS
from comparity.errors import OptionError
from comparity.pairwise.engine_items import EngineItems, tabulate_items
from comparity.pairwise.options import PairwiseForm
from comparity.pairwise.query_items import PartitionedItems
from comparity.tables.frames import n_rows, of_engine, stays_on_engine
from comparity.tables.memory import current_limits

MOST_COLLECTED = 10**6
"""More rows of DuckDB or Spark stay there, and their engine counts pairs."""

BYTES_PER_ROW = 400
"""What a row takes that is counted in memory, with all copies of it."""


def items_on_engine(frame: Any, form: PairwiseForm) -> EngineItems | None:
    """Return the checked items of a table that stays on its engine, or nothing.

    Rows are counted in memory where they are few, where they fit and labels have so many values
    that they are standardised item by item, and where single items are asked for: clusters, an
    attribute that is a number, pairs that weigh by the difference of their labels.

    Raises
    ------
    OptionError
        Single items are asked for, and rows do not fit into memory.
    """
    opened = of_engine(frame, "items")
    if not isinstance(opened, nw.LazyFrame) or not stays_on_engine(opened):
        return None
    rows = n_rows(opened)
    if rows <= MOST_COLLECTED:
        return None
    fits = current_limits().holds(rows, BYTES_PER_ROW)
    if choice := _choice_for_memory(form):
        if fits:
            return None
        name, found, other = choice
        why = f"that looks at single items, and {rows:,} rows do not fit into memory"
        raise OptionError(name, found, [other, "more memory", "a random sample of rows"], why)
    roles = {"label": form.label, "score": form.score, "group": form.sensitive}
    roles |= {"weight": form.weight} if form.weight else {}
    roles |= {"query": form.query} if form.query else {}
    items = read_labelled_rows(frame, roles, no_group=form.no_group)
    if not 2 <= len(items.levels) <= MOST_LEVELS and fits:
        return None
    if form.query:
        return PartitionedItems(items)
    if not len(items.levels):
        why = f"such labels are counted in memory, and {rows:,} rows do not fit"
        allowed = ["labels in grades", "more memory", "a random sample of rows"]
        raise OptionError("label", form.label, allowed, why)
    return tabulate_items(items, form.tolerance)


def _choice_for_memory(form: PairwiseForm) -> tuple[str, object, str] | None:
    """Return a choice that no engine counts by, what was chosen, and what engines can do."""
    if form.continuous:
        return "continuous", True, "groups"
    if form.cluster:
        return "cluster", form.cluster, "no clusters"
    if form.pair_weight != "equal":
        return "pair_weight", form.pair_weight, "'equal'"
    return None
