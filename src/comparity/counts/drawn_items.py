r"""Items drawn at random from rows that stay on their engine, where not all fit into memory.

The items of each group are put in the order of their labels, scores and weights, and places in that
order are drawn, each set of them as likely. Rows that are alike in all three may take each other's
place. So the items depend on the rows and the seed alone: not on the order of rows, the engine or
its files. Given its group every item is as likely to be drawn, whatever its label and score.

As many items are drawn of each group, and all of smaller ones, because gaps are as uncertain as the
scarcest group makes them. An item weighs as many as it stands for, so that what is estimated is the
same as from all items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.engine_bins import beside
from comparity.counts.labelled_rows import LabelledRows, begin_pass
from comparity.errors import UnsteadyQueryError
from comparity.tables.features import LabelledItems
from comparity.tables.frames import collect_columns

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_DRAWN = 10**6
"""Standard errors of gaps between two groups are then about 0.001."""

FEW_PLACES = 2**16
"""Of so few places all are shuffled."""


class Draw(NamedTuple):
    """How many items to draw at most, and the seed."""

    most: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class DrawnItems:
    """Items of each group that were drawn.

    Attributes
    ----------
    items : LabelledItems
        In the order of group, label, score and weight. An item weighs what it weighed, times the
        number of items that it stands for.
    sizes, drawn : ndarray of int
        Items of each group, and how many of them were drawn.
    seed : int
    """

    items: LabelledItems
    sizes: Codes
    drawn: Codes
    seed: int

    @property
    def widening(self) -> float:
        """How much larger standard errors may be than those of all items."""
        return math.sqrt(float((self.sizes / self.drawn).max()))


def draw_items(rows: LabelledRows, counts: Floats, draw: Draw) -> DrawnItems:
    """Draw items from rows that were coded.

    Parameters
    ----------
    rows : LabelledRows
        Columns ``group`` (a code), ``value`` (the label), ``score`` and perhaps ``weight``;
        ``label`` is one of `levels`, which rise with labels.
    counts : ndarray, (levels, groups)
        Items.
    draw : Draw
    """
    rng, named = np.random.default_rng(draw.seed), counts[:, : rows.n_named].astype(np.int64)
    sizes = named.sum(axis=0)
    drawn = share_out(sizes, draw.most)
    wanted = [
        _find_places(draw_places(int(size), int(few), rng), rows.levels, column, code)
        for code, (size, few, column) in enumerate(zip(sizes, drawn, named.T, strict=True))
    ]
    chosen = {name: np.concatenate([one[name] for one in wanted]) for name in wanted[0]}
    begin_pass(rows.n)
    found = collect_columns(_pick_rows(rows, chosen))
    if len(found["group"]) != drawn.sum():
        raise UnsteadyQueryError(["label", "score"])
    return DrawnItems(_order_items(rows, found, sizes / drawn), sizes, drawn, draw.seed)


def share_out(sizes: Codes, most: int) -> Codes:
    """Return how many items to draw of each group: as many of each, all of smaller ones.

    Examples
    --------
    >>> share_out(np.array([900, 10, 500]), 300).tolist()
    [145, 10, 145]
    """
    drawn, left = np.zeros(len(sizes), dtype=np.int64), most
    for place, code in enumerate(np.argsort(sizes, kind="stable")):
        drawn[code] = min(int(sizes[code]), left // (len(sizes) - place))
        left -= int(drawn[code])
    return drawn


def draw_places(n: int, size: int, rng: np.random.Generator) -> Codes:
    """Return some of the first `n` whole numbers in order, each set of so many as likely.

    Examples
    --------
    >>> draw_places(5, 5, np.random.default_rng(0)).tolist()
    [0, 1, 2, 3, 4]
    >>> len(draw_places(10**12, 1000, np.random.default_rng(0)))
    1000
    """
    if n <= max(2 * size, FEW_PLACES):
        return np.sort(rng.permutation(n)[:size])
    # The first different ones of numbers drawn with replacement; twice as many hold enough.
    place = rng.integers(0, n, 2 * size)
    first = np.sort(np.unique(place, return_index=True)[1])
    return np.sort(place[first[:size]])


def _find_places(place: Codes, levels: Floats, sizes: Codes, code: int) -> dict[str, NDArray[Any]]:
    """Return level and place within it, counted from one, of places among the items of a group."""
    ends = np.cumsum(sizes)
    level = np.searchsorted(ends, place, side="right")
    within = place - (ends - sizes)[level] + 1
    return {"label": levels[level], "group": np.full(len(place), code), "place": within}


def _pick_rows(rows: LabelledRows, chosen: dict[str, NDArray[Any]]) -> nw.LazyFrame[Any]:
    """Return rows by their place among those of a group and level."""
    weight = ["weight"] if rows.is_weighted else []
    order = ["value", "score", *weight]
    named = rows.frame.filter(nw.col("group") < rows.n_named)
    place = nw.col("score").cum_count().over("label", "group", order_by=order)
    placed = named.with_columns(place.alias("place"))
    kept = placed.join(beside(placed, chosen), on=["label", "group", "place"], how="semi")
    return kept.select("group", *order)


def _order_items(
    rows: LabelledRows, found: dict[str, NDArray[Any]], stands_for: Floats
) -> LabelledItems:
    label, score = (found[name].astype(np.float64) for name in ("value", "score"))
    group = found["group"].astype(np.int64)
    given = found["weight"].astype(np.float64) if rows.is_weighted else np.ones(len(group))
    order = np.lexsort((given, score, label, group))
    return LabelledItems(
        label=label[order],
        score=score[order],
        group=group[order],
        groups=rows.groups[: rows.n_named],
        weight=(given * stands_for[group])[order],
    )
