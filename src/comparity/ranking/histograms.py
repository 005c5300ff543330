"""Numbers of many evaluators by range: how many have a number from here to there.

Bars of forty evaluators look alike; how their numbers are spread is what a reader asks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from comparity.reports.charts import Mark, Row, RowChart, axis_between
from comparity.reports.sections import several

MANY = 30
"""Numbers of more evaluators than this are drawn by range."""


def count_by_range(
    marks: Sequence[Mark], title: str, legend: Mapping[str, str] | None = None
) -> RowChart:
    """Describe how numbers are spread over about ten ranges, by the kind of their marks.

    Parameters
    ----------
    marks : sequence of Mark
        One for each evaluator, all of them known.
    title : str
        What the numbers are.
    legend : mapping of str to str, optional
        What each kind of mark stands for.
    """
    edges = round_edges([mark.x for mark in marks])
    within = np.digitize([mark.x for mark in marks], edges) - 1
    rows = [
        _row(ends, [marks[k].kind for k in np.flatnonzero(within == place).tolist()])
        for place, ends in enumerate(pairwise(edges))
    ]
    longest = [mark.x for row in rows for mark in row.marks]
    return RowChart(
        title=title,
        about="; ".join(f"{row.label}: {row.note}" for row in rows),
        axis=axis_between("evaluators", longest, from_zero=True),
        rows=tuple(rows),
        legend=legend or {},
    )


def _row(ends: tuple[float, float], kinds: Sequence[str]) -> Row:
    """Return a range with one stem for those found, and one for the others."""
    # Two kinds stand above each other.
    apart = 0.3 if len({*kinds}) > 1 else 0.0
    stems = (
        (kind, kinds.count(kind), below) for kind, below in (("found", -apart), ("open", apart))
    )
    return Row(
        label=" to ".join(f"{end:+g}" if end else "0" for end in ends),
        note=several(len(kinds), "evaluator"),
        marks=tuple(
            Mark(kind=kind, x=n, low=0, high=n, below=below) for kind, n, below in stems if n
        ),
    )


def round_edges(values: Sequence[float]) -> list[float]:
    """Return the ends of about ten ranges of one round width that hold all values.

    Examples
    --------
    >>> round_edges([-0.95, 0.0, 1.4])
    [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    """
    low, high = min(values), max(values)
    rough = max(high - low, 1e-9) / 10
    unit = 10.0 ** math.floor(math.log10(rough))
    width = next(unit * step for step in (1, 2, 5, 10) if unit * step >= rough)
    first, last = math.floor(low / width), math.floor(high / width) + 1
    return [round(width * place, 9) for place in range(first, last + 1)]
