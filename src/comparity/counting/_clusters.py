r"""Sums over clusters of products of cell totals, for every kind of cluster judged pairs have.

A cluster is whatever makes judgments dependent: an item, a pair of items, an evaluator. For each
cluster let the vector :math:`a` hold its number of judgments in every cell, then its number of
hits in every cell. The kernel returns :math:`\sum a a^T` over clusters, from which the variance
of any contrast of cell rates follows at any hypothesised rates. Defined by the loops in
``tests/plain/clusters.py``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["cluster_moments"]


def cluster_moments(
    keys: NDArray[np.int64],
    cell: NDArray[np.int64],
    trials: NDArray[np.float64],
    hits: NDArray[np.float64],
    n_cells: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum the outer products of cell totals over clusters.

    Parameters
    ----------
    keys : ndarray of int
        Cluster of each row, not negative. Longer than the other columns by a whole factor where a
        row belongs to several clusters: key ``r`` then belongs to row ``r % len(cell)``.
    cell, trials, hits : ndarray
        Cell, number of judgments and number of hits of each row.
    n_cells : int
        Number of cells.

    Returns
    -------
    moments : ndarray, (2 * n_cells, 2 * n_cells)
        Products of trials and hits by cell, trials first.
    clusters : ndarray, (n_cells,)
        How many clusters touch each cell.
    """
    moments = np.zeros((2 * n_cells, 2 * n_cells))
    clusters = np.zeros(n_cells, dtype=np.int64)
    if len(keys):
        sequence = _sorted_sequence(keys)
        _accumulate(keys, sequence, cell, trials, hits, moments, clusters)
    return moments, clusters


def _sorted_sequence(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows in the order of their keys."""
    row_bits = int(len(keys) - 1).bit_length()
    if int(keys.max()).bit_length() + row_bits <= 63:
        # A key-only sort with the row in the low bits is several times faster than argsort.
        packed = (keys << row_bits) | np.arange(len(keys), dtype=np.int64)
        packed.sort()
        packed &= (1 << row_bits) - 1
        return packed
    return np.argsort(keys, kind="stable")


@njit(cache=True, nogil=True)
def _accumulate(keys, sequence, cell, trials, hits, moments, clusters):  # type: ignore[no-untyped-def]
    n_cells = len(clusters)
    n_rows = len(cell)
    cluster_trials = np.zeros(n_cells)
    cluster_hits = np.zeros(n_cells)
    touched = np.empty(n_cells, dtype=np.int64)
    n_touched = 0
    for position in range(len(sequence)):
        member = sequence[position]
        row = member % n_rows
        code = cell[row]
        if cluster_trials[code] == 0.0:
            touched[n_touched] = code
            n_touched += 1
        cluster_trials[code] += trials[row]
        cluster_hits[code] += hits[row]
        last = position + 1 == len(sequence)
        if last or keys[sequence[position + 1]] != keys[member]:
            for i in range(n_touched):
                first = touched[i]
                clusters[first] += 1
                for j in range(n_touched):
                    second = touched[j]
                    moments[first, second] += cluster_trials[first] * cluster_trials[second]
                    moments[first, n_cells + second] += cluster_trials[first] * cluster_hits[second]
                    moments[n_cells + first, second] += cluster_hits[first] * cluster_trials[second]
                    moments[n_cells + first, n_cells + second] += (
                        cluster_hits[first] * cluster_hits[second]
                    )
            for i in range(n_touched):
                cluster_trials[touched[i]] = 0.0
                cluster_hits[touched[i]] = 0.0
            n_touched = 0
