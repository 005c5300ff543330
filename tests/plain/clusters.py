"""Cluster moments by definition: one vector for each cluster, then its outer product."""

from collections.abc import Sequence


def cluster_moments(
    keys: Sequence[int],
    cells: Sequence[int],
    trials: Sequence[float],
    hits: Sequence[float],
    n_cells: int,
) -> list[list[float]]:
    vectors: dict[int, list[float]] = {}
    for position, key in enumerate(keys):
        row = position % len(cells)
        vector = vectors.setdefault(key, [0.0] * (2 * n_cells))
        vector[cells[row]] += trials[row]
        vector[n_cells + cells[row]] += hits[row]
    size = range(2 * n_cells)
    return [[sum(v[i] * v[j] for v in vectors.values()) for j in size] for i in size]
