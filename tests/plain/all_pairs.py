"""All pairs that labels imply, by definition: a double loop over items, then one over pairs."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray


def pairs(
    y: Sequence[float], f: Sequence[float], group: Sequence[int], weights: Sequence[float]
) -> Iterator[tuple[int, int, tuple[int, int], float, float, float]]:
    """Yield better item, worse item, cell, weight, and whether scores agree and tie."""
    for i, j in product(range(len(y)), repeat=2):
        if y[i] > y[j]:
            cell = group[i], group[j]
            yield i, j, cell, weights[i] * weights[j], float(f[i] > f[j]), float(f[i] == f[j])


def totals(
    y: Sequence[float],
    f: Sequence[float],
    group: Sequence[int],
    n_groups: int,
    weights: Sequence[float],
) -> NDArray[np.float64]:
    """Return trials, hits and score ties by cell."""
    found = np.zeros((3, n_groups, n_groups))
    for _, _, cell, weight, agrees, ties in pairs(y, f, group, weights):
        found[(slice(None), *cell)] += weight, weight * agrees, weight * ties
    return found


def moments(
    y: Sequence[float],
    f: Sequence[float],
    group: Sequence[int],
    n_groups: int,
    weights: Sequence[float],
    tie: float,
) -> NDArray[np.float64]:
    """Sum products of trials and hits by cell over all pairs of pairs that share an item."""
    n_cells = n_groups**2
    vectors = []
    for i, j, (a, b), weight, agrees, ties in pairs(y, f, group, weights):
        vector = np.zeros(2 * n_cells)
        vector[a * n_groups + b] = weight
        vector[n_cells + a * n_groups + b] = weight * (agrees + tie * ties)
        vectors.append(({i, j}, vector))
    total = np.zeros((2 * n_cells, 2 * n_cells))
    for (items, one), (others, two) in product(vectors, repeat=2):
        if items & others:
            total += np.outer(one, two)
    return total


def moments_by_item(
    y: Sequence[float],
    f: Sequence[float],
    group: Sequence[int],
    n_groups: int,
    weights: Sequence[float],
    tie: float,
) -> NDArray[np.float64]:
    """Do the same in a loop over pairs: two pairs share one item, or both if they are the same."""
    n_cells = n_groups**2
    of_item = np.zeros((len(y), 2 * n_cells))
    alone = np.zeros((2 * n_cells, 2 * n_cells))
    for i, j, (a, b), weight, agrees, ties in pairs(y, f, group, weights):
        entries = [a * n_groups + b, n_cells + a * n_groups + b]
        vector = np.array([weight, weight * (agrees + tie * ties)])
        of_item[i, entries] += vector
        of_item[j, entries] += vector
        alone[np.ix_(entries, entries)] += np.outer(vector, vector)
    return of_item.T @ of_item - alone
