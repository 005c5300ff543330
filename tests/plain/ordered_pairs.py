"""All pairs by the order of an attribute, by definition: double loops."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Pair(NamedTuple):
    better: int
    worse: int
    cell: int
    hit: float
    tie: float
    weight: float


def pairs_of(
    y: Sequence[float],
    f: Sequence[float],
    cell_of: dict[tuple[int, int], int],
    query: Sequence[Hashable],
    weights: Sequence[float],
    tie_value: float,
) -> list[Pair]:
    """List the pairs of one query with different labels, better item first."""
    rows = range(len(y))
    return [
        Pair(
            i,
            j,
            cell_of[i, j],
            1.0 if f[i] > f[j] else tie_value if f[i] == f[j] else 0.0,
            float(f[i] == f[j]),
            weights[i] * weights[j],
        )
        for i in rows
        for j in rows
        if query[i] == query[j] and y[i] > y[j]
    ]


def attribute_cells(z: Sequence[float]) -> dict[tuple[int, int], int]:
    """Return 0 where the first item has the larger attribute, 1 the smaller, 2 the same."""
    rows = range(len(z))
    return {(i, j): 0 if z[i] > z[j] else 1 if z[i] < z[j] else 2 for i in rows for j in rows}


def totals(pairs: Sequence[Pair], n_cells: int) -> tuple[list[float], list[float], list[float]]:
    """Return trials, hits and score ties by cell."""
    parts = ([0.0] * n_cells, [0.0] * n_cells, [0.0] * n_cells)
    for pair in pairs:
        parts[0][pair.cell] += pair.weight
        parts[1][pair.cell] += pair.weight * pair.hit
        parts[2][pair.cell] += pair.weight * pair.tie
    return parts


def shared_item_moments(pairs: Sequence[Pair], n_cells: int) -> list[list[float]]:
    """Sum the products of trials and hits over any two pairs that share an item."""
    moments = [[0.0] * (2 * n_cells) for _ in range(2 * n_cells)]
    for p in pairs:
        for q in pairs:
            if {p.better, p.worse} & {q.better, q.worse}:
                for row, one in ((p.cell, 1.0), (n_cells + p.cell, p.hit)):
                    for column, two in ((q.cell, 1.0), (n_cells + q.cell, q.hit)):
                        moments[row][column] += p.weight * one * q.weight * two
    return moments


def single_moments(pairs: Sequence[Pair], n_cells: int) -> list[list[float]]:
    """Sum the products of trials and hits of each pair with itself."""
    moments = [[0.0] * (2 * n_cells) for _ in range(2 * n_cells)]
    for pair in pairs:
        for row, one in ((pair.cell, 1.0), (n_cells + pair.cell, pair.hit)):
            for column, two in ((pair.cell, 1.0), (n_cells + pair.cell, pair.hit)):
                moments[row][column] += pair.weight**2 * one * two
    return moments


def effective_items(pairs: Sequence[Pair], n_cells: int) -> list[float]:
    """Square the uses of all items and divide by the sum of squared uses."""
    found = []
    for cell in range(n_cells):
        uses: dict[int, float] = {}
        for pair in pairs:
            if pair.cell == cell:
                for item in (pair.better, pair.worse):
                    uses[item] = uses.get(item, 0.0) + pair.weight
        squares = sum(use**2 for use in uses.values())
        found.append(sum(uses.values()) ** 2 / squares if uses else 0.0)
    return found


def concordances(
    segment: Sequence[int], u: Sequence[float], v: Sequence[float], weight: Sequence[float]
) -> list[float]:
    """Weigh the items of the same segment that two orders put on the same side of each item."""
    rows = range(len(u))
    return [
        sum(
            weight[j]
            for j in rows
            if segment[i] == segment[j]
            and ((u[i] > u[j] and v[i] > v[j]) or (u[i] < u[j] and v[i] < v[j]))
        )
        for i in rows
    ]
