"""What is told of a matrix of pairwise accuracies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from comparity.counts.pairs import Cell
from comparity.errors.spelling import visible
from comparity.pairwise.result import PairwiseAccuracy
from comparity.reports.audits import _raw_and_standardised, audit_grids
from comparity.reports.formats import count, rate, short
from comparity.reports.gap_charts import gap_charts
from comparity.reports.grids import Grid
from comparity.reports.heat import colours, tiles_of
from comparity.reports.plots import fitted, lettered, own_axes
from comparity.reports.sections import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "matrix_grids",
    "pairwise_grids",
    "plot_matrix",
    "section",
]

# A heat map of more groups than this is wider than paper as a table.
AS_TABLE = 6


def section(result: PairwiseAccuracy) -> Section:
    """Return what is told of a matrix of accuracies: the audit that decides, and the matrix."""
    audit, matrices = result.audit, tuple(matrix_grids(result))
    shown, charts = audit.section(), tuple(gap_charts(audit))
    if len(result.groups) > AS_TABLE:
        charts, matrices = (*charts, *map(tiles_of, matrices)), ()
    return replace(shown, charts=charts, grids=(*matrices, *pairwise_grids(result)))


def matrix_grids(result: PairwiseAccuracy) -> Iterator[Grid]:
    """Yield the matrices as heat maps: the darker, the less scores agree with labels."""
    matrices = {"Raw": result.matrix.tolist()}
    if result.raw is not result.standardised:
        found = {one.of: one.rate for one in result.standardised.rates}
        matrices["Standardised"] = [
            [found.get(str(Cell(better, worse)), math.nan) for worse in result.groups]
            for better in result.groups
        ]
    known = [value for rows in matrices.values() for row in rows for value in row if value == value]
    # Half of the scale is left out where no entry is worse than a coin.
    low = 0.5 if min(known, default=0.0) >= 0.5 else 0.0
    for name, rows in matrices.items():
        yield _heat_map(f"{name} accuracy", rows, result, low)


def _heat_map(name: str, rows: list[list[float]], result: PairwiseAccuracy, low: float) -> Grid:
    pairs = result.n_pairs.tolist()
    return Grid(
        title=f"{name}, group of the better item (row) and of the worse (column)",
        header=("", *map(visible, result.groups)),
        rows=tuple(
            (
                visible(group),
                *(f"{rate(value)}\nn {short(n)}" for value, n in zip(row, numbers, strict=True)),
            )
            for group, row, numbers in zip(result.groups, rows, pairs, strict=True)
        ),
        shades=tuple(tuple((value - low) / (1 - low) for value in row) for row in rows),
        scale=(f"{low:g}", "1"),
    )


def pairwise_grids(result: PairwiseAccuracy) -> Iterator[Grid]:
    """Yield the tables of all pairs: the deciding audit's, both matrices, marginals, notions."""
    yield from audit_grids(result.audit)
    if result.labels != "binary" and result.raw is not result.standardised:
        apart, sizes = result.imbalance, result.effective_sizes
        yield _raw_and_standardised(result.raw, result.standardised, apart, sizes)
    yield Grid(
        title=f"Overall accuracy {rate(result.overall)}, and by the group of one item",
        header=("group", "better item", "worse item"),
        rows=tuple(
            (visible(group), rate(row), rate(column))
            for group, row, column in zip(
                result.groups, result.row_marginals, result.column_marginals, strict=True
            )
        ),
    )
    rows = tuple((name, rate(value)) for name, value in result.notions.items())
    yield Grid(title="Notions of the raw matrix", header=("notion", "value"), rows=rows)


# A matrix of more groups than the first says no number of pairs, than the second no number at all.
WITH_PAIRS, WITH_NUMBERS = 6, 14


def plot_matrix(result: PairwiseAccuracy, ax: Axes | None = None) -> Axes:
    """Draw the matrix of pairwise accuracies as a heat map, with pairs behind each entry.

    Parameters
    ----------
    result : PairwiseAccuracy
        All pairs. Of many groups the entries are colours only.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    """
    from matplotlib import colormaps

    k, own = len(result.groups), ax is None
    room = {"letters": 18, "lines": 3} if k <= WITH_PAIRS else {"letters": 28, "lines": 1}
    names = [fitted(group, **room) for group in result.groups]
    side = k * (1.1 if k <= WITH_PAIRS else 0.55 if k <= WITH_NUMBERS else 0.3)
    ax = own_axes(width=max(side + 3.4, 5.5), height=side + 2.2) if ax is None else ax
    # Half of the scale is left out where no entry is worse than a coin.
    low = 0.5 if np.nanmin(result.matrix, initial=1.0) >= 0.5 else 0.0
    scale = colormaps["cividis"].with_extremes(bad="#bbbbbb")
    shown = ax.imshow(result.matrix, vmin=low, vmax=1.0, cmap=scale)
    if k <= WITH_NUMBERS:
        _write_entries(ax, result, low)
    upright = k > WITH_PAIRS
    ax.set_xticks(range(k), names, parse_math=False, rotation=90 if upright else 0)
    ax.set_yticks(range(k), names, parse_math=False)
    ax.set_ylabel("group of the better item")
    pairs = count(round(float(np.nansum(result.n_pairs))))
    title = f"How often scores order pairs as labels do: {pairs} pairs, raw"
    lettered(ax, title=title, across="group of the worse item", own=own, aside=1.2)
    ax.figure.colorbar(shown, ax=ax, label="pairwise accuracy", shrink=0.8)
    return ax


def _write_entries(ax: Axes, result: PairwiseAccuracy, low: float) -> None:
    """Write the number of each entry, and of few groups the pairs behind it."""
    with_pairs = len(result.groups) <= WITH_PAIRS
    for (row, column), value in np.ndenumerate(result.matrix):
        text, ink = "none", "black"
        if not math.isnan(value):
            text = f"{value:.3f}" if with_pairs else f"{value:.2f}"
            text += f"\nn {short(float(result.n_pairs[row, column]))}" if with_pairs else ""
            ink = colours((value - low) / (1 - low))[1]
        size = 10 if with_pairs else 7
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)
