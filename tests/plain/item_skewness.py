"""The third cumulant of a gap whose judgments share items, judgment by judgment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from comparity.counts.pairs import Cell


def third_cumulant(
    judgments: Sequence[tuple[int, int, float]],
    group: Sequence[str],
    contrast: Mapping[Cell, float],
) -> float:
    """Sum the cubes of what items add to the gap, and take off those of single judgments."""
    rows = [(i, j, hit, Cell(group[i], group[j])) for i, j, hit in judgments]
    n = {cell: sum(one == cell for *_, one in rows) for cell in contrast}
    rate = {cell: sum(hit for _, _, hit, one in rows if one == cell) / n[cell] for cell in contrast}
    by_item = [0.0] * len(group)
    single = 0.0
    for i, j, hit, cell in rows:
        if cell in contrast:
            residual = contrast[cell] / n[cell] * (hit - rate[cell])
            by_item[i] += residual
            by_item[j] += residual
            single += residual**3
    return sum(e**3 for e in by_item) - single
