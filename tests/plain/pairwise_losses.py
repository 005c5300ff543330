"""Hinge losses over all pairs, by definition: a double loop over items."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Kinds = Callable[[int, int], int | None]


def pair_sums(
    f: Sequence[float],
    cell_of: Kinds,
    n_cells: int,
    *,
    weight: Sequence[float],
    wrong: Sequence[float],
    right: Sequence[float],
    margin: float = 1.0,
    squared: bool = False,
) -> dict[str, NDArray[np.float64]]:
    """Sum over all ordered pairs (i better than j) for which `cell_of` names a cell."""
    power = 2 if squared else 1
    found = {name: np.zeros(n_cells) for name in ("trials", "hits", "wrong", "right")}
    gradient = np.zeros(len(f))
    for i in range(len(f)):
        for j in range(len(f)):
            cell = cell_of(i, j)
            if cell is None:
                continue
            w, t = weight[i] * weight[j], f[i] - f[j]
            short, over = max(0.0, margin - t), max(0.0, margin + t)
            found["trials"][cell] += w
            found["hits"][cell] += w * (t > 0)
            found["wrong"][cell] += w * short**power
            found["right"][cell] += w * over**power
            slope = power * over ** (power - 1) * (over > 0) * right[cell]
            slope -= power * short ** (power - 1) * (short > 0) * wrong[cell]
            gradient[i] += w * slope
            gradient[j] -= w * slope
    return {**found, "gradient": gradient}


def by_groups(y: Sequence[float], group: Sequence[int], k: int, query: Sequence[Hashable]) -> Kinds:
    """Return the cell of the groups of the better and of the worse item, by label."""

    def cell_of(i: int, j: int) -> int | None:
        return group[i] * k + group[j] if query[i] == query[j] and y[i] > y[j] else None

    return cell_of


def by_attribute(y: Sequence[float], z: Sequence[float], query: Sequence[Hashable]) -> Kinds:
    """Return 0 where the better item has the larger attribute, 1 the smaller, 2 the same."""

    def cell_of(i: int, j: int) -> int | None:
        if query[i] != query[j] or y[i] <= y[j]:
            return None
        return 0 if z[i] > z[j] else 1 if z[i] < z[j] else 2

    return cell_of


def without_labels(group: Sequence[int], k: int, query: Sequence[Hashable]) -> Kinds:
    """Return the cell of the groups of any two items of different groups."""

    def cell_of(i: int, j: int) -> int | None:
        return group[i] * k + group[j] if query[i] == query[j] and group[i] != group[j] else None

    return cell_of


def smooth_step(t: float, width: float) -> float:
    """Return the mean of the step at t + u over u, whose density is a triangle from -h to h."""
    from scipy.integrate import quad

    if abs(t) >= width:
        return float(t > 0)
    return quad(lambda u: (width - abs(u)) / width**2, -t, width, points=[0.0])[0]
