"""What is told of a matrix of pairwise accuracies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from comparity.counts.pairs import Cell
from comparity.errors.spelling import visible
from comparity.pairwise.result import PairwiseAccuracy
from comparity.reports.audit_tables import audit_grids, raw_and_standardised_grid
from comparity.reports.audits import gap_charts
from comparity.reports.charts import Chart
from comparity.reports.formats import count, rate, short
from comparity.reports.heat import HeatMap
from comparity.reports.sections import Grid, Section

__all__ = [
    "matrix_charts",
    "pairwise_grids",
    "section",
]

# A heat map of more groups than this is wider than paper as a table.
AS_TABLE = 6


def section(result: PairwiseAccuracy) -> Section:
    """Return what is told of a matrix of accuracies: the audit that decides, and the matrix."""
    audit, matrices = result.audit, tuple(matrix_charts(result))
    charts: tuple[Chart, ...] = tuple(gap_charts(audit))
    grids = tuple(pairwise_grids(result))
    if len(result.groups) > AS_TABLE:
        charts = (*charts, *matrices)
    else:
        grids = (*(one.grid for one in matrices), *grids)
    return replace(audit.section(), charts=charts, grids=grids)


def matrix_charts(result: PairwiseAccuracy) -> Iterator[HeatMap]:
    """Yield the matrices as heat maps: the darker, the less scores agree with labels."""
    matrices = {"Raw": result.matrix.tolist()}
    if result.raw is not result.standardised:
        found = {one.of: one.rate for one in result.standardised.rates}
        matrices["Standardised"] = [
            [found.get(str(Cell(better, worse)), math.nan) for worse in result.groups]
            for better in result.groups
        ]
    known = [value for rows in matrices.values() for row in rows for value in row if value == value]
    pairs = result.n_pairs.tolist()
    for name, rows in matrices.items():
        yield HeatMap(
            title=f"{name} accuracy, group of the better item (row) and of the worse (column)",
            about="the tables have all numbers",
            heading="How often scores order pairs as labels do: "
            f"{count(round(float(np.nansum(result.n_pairs))))} pairs, {name.lower()}",
            under="group of the worse item",
            names=tuple(map(visible, result.groups)),
            values=tuple(map(tuple, rows)),
            cells=tuple(
                tuple(f"{rate(value)}\nn {short(n)}" for value, n in zip(*both, strict=True))
                for both in zip(rows, pairs, strict=True)
            ),
            # Half of the scale is left out where no entry is worse than a coin.
            low=0.5 if min(known, default=0.0) >= 0.5 else 0.0,
            high=1.0,
            unit="pairwise accuracy",
            beside="group of the better item",
        )


def pairwise_grids(result: PairwiseAccuracy) -> Iterator[Grid]:
    """Yield the tables of all pairs: the deciding audit's, both matrices, marginals, notions."""
    yield from audit_grids(result.audit)
    if result.labels != "binary" and result.raw is not result.standardised:
        apart, sizes = result.imbalance, result.effective_sizes
        yield raw_and_standardised_grid(result.raw, result.standardised, apart, sizes)
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
