r"""Sums over clusters of products of cell totals, for every kind of cluster judged pairs have.

A cluster is whatever makes judgments dependent: an item, a pair of items, an evaluator. For each
cluster let the vector :math:`a` hold its number of judgments in every cell, then its number of
hits in every cell. The kernels return :math:`\sum a a^T` over clusters, from which the variance
of any contrast of cell rates follows at any hypothesised rates. Defined by the loops in
``tests/plain/clusters.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit

__all__ = ["hits_of", "moments_by_key", "moments_by_number", "pair_keys"]

# Totals of all clusters and cells are held at once up to this size; beyond it rows are sorted.
DENSE_BYTES = 2**30


def moments_by_number(
    columns: tuple[NDArray[np.int64], ...],
    n_clusters: int,
    cell: NDArray[np.int64],
    trials: NDArray[np.float64],
    hits: NDArray[np.float64],
    n_cells: int,
) -> NDArray[np.float64]:
    """Sum over clusters that are numbered without gaps, such as items or evaluators.

    Parameters
    ----------
    columns : tuple of ndarray
        Cluster of each row; several columns where a row belongs to several clusters.
    n_clusters : int
        Number of clusters.
    cell, trials, hits : ndarray
        Cell, number of judgments and number of hits of each row.
    n_cells : int
        Number of cells.

    Returns
    -------
    ndarray, (2 * n_cells, 2 * n_cells)
        Products of trials and hits by cell, trials first.
    """
    if n_clusters * n_cells * 16 > DENSE_BYTES:
        times = len(columns)
        rows = np.tile(cell, times), np.tile(trials, times), np.tile(hits, times)
        return moments_by_key(np.concatenate(columns), *rows, n_cells)
    totals = np.zeros((n_clusters, n_cells, 2))
    _add_rows(totals, columns, cell, trials, hits)
    moments = np.zeros((2 * n_cells, 2 * n_cells))
    _add_totals(totals, moments)
    return moments


def moments_by_key(
    keys: NDArray[np.int64],
    cell: NDArray[np.int64],
    trials: NDArray[np.float64],
    hits: NDArray[np.float64],
    n_cells: int,
) -> NDArray[np.float64]:
    """Sum over clusters named by any numbers that are not negative, such as pairs of items.

    Parameters and result are those of :func:`moments_by_number`.
    """
    if not len(keys):
        return np.zeros((2 * n_cells, 2 * n_cells))
    row_bits = np.uint64(int(len(keys) - 1).bit_length())
    packed = _sorted_with_rows(keys, row_bits)
    moments = np.zeros((2 * n_cells, 2 * n_cells))
    _add_runs(packed, row_bits, cell, trials, hits, moments)
    return moments


def _sorted_with_rows(keys: NDArray[np.int64], row_bits: np.uint64) -> NDArray[np.uint64]:
    """Return keys in order, the row of each in the low bits."""
    if int(keys.max()).bit_length() + int(row_bits) <= 64:
        # A key-only sort with the row in the low bits is several times faster than argsort.
        packed: NDArray[np.uint64] = _packed(keys, np.arange(len(keys)), row_bits)
        packed.sort()
        return packed
    rows = np.argsort(keys)
    ranks = np.cumsum(np.diff(keys[rows], prepend=keys[rows[0]]) != 0)
    numbered: NDArray[np.uint64] = _packed(ranks, rows, row_bits)
    return numbered


@njit(cache=True, nogil=True)
def pair_keys(better, worse, n_items):  # type: ignore[no-untyped-def]
    """Return one number for each unordered pair of items."""
    keys = np.empty(len(better), dtype=np.int64)
    for row in range(len(better)):
        keys[row] = min(better[row], worse[row]) * n_items + max(better[row], worse[row])
    return keys


@njit(cache=True, nogil=True)
def hits_of(trials, order, tie):  # type: ignore[no-untyped-def]
    """Return the hits of each row: all its trials, `tie` of them, or none."""
    hits = np.zeros(len(trials))
    for row in range(len(trials)):
        if order[row] > 0:
            hits[row] = trials[row]
        elif order[row] == 0:
            hits[row] = tie * trials[row]
    return hits


@njit(cache=True, nogil=True)
def _packed(keys, rows, row_bits):  # type: ignore[no-untyped-def]
    packed = np.empty(len(keys), dtype=np.uint64)
    for position in range(len(keys)):
        packed[position] = (np.uint64(keys[position]) << row_bits) | np.uint64(rows[position])
    return packed


@njit(cache=True, nogil=True)
def _add_rows(totals, columns, cell, trials, hits):  # type: ignore[no-untyped-def]
    for row in range(len(cell)):
        code, n, s = cell[row], trials[row], hits[row]
        for column in columns:
            # The totals of one cluster in four cells fill one cache line.
            cluster = column[row]
            totals[cluster, code, 0] += n
            totals[cluster, code, 1] += s


@njit(cache=True, nogil=True)
def _add_totals(totals, moments):  # type: ignore[no-untyped-def]
    n_cells = totals.shape[1]
    touched = np.empty(n_cells, dtype=np.int64)
    for cluster in range(len(totals)):
        n_touched = 0
        for code in range(n_cells):
            if totals[cluster, code, 0] > 0.0:
                touched[n_touched] = code
                n_touched += 1
        _add_outer(totals[cluster], touched[:n_touched], moments)


@njit(cache=True, nogil=True)
def _add_runs(packed, row_bits, cell, trials, hits, moments):  # type: ignore[no-untyped-def]
    last_row = (np.uint64(1) << row_bits) - np.uint64(1)
    n_cells = len(moments) // 2
    totals = np.zeros((n_cells, 2))
    touched = np.empty(n_cells, dtype=np.int64)
    alone = np.ones(len(cell), dtype=np.bool_)
    start = 0
    for end in range(1, len(packed) + 1):
        if end < len(packed) and packed[end] >> row_bits == packed[start] >> row_bits:
            continue
        if end - start > 1:
            n_touched = 0
            for position in range(start, end):
                member = np.int64(packed[position] & last_row)
                alone[member] = False
                code = cell[member]
                if totals[code, 0] == 0.0:
                    touched[n_touched] = code
                    n_touched += 1
                totals[code, 0] += trials[member]
                totals[code, 1] += hits[member]
            _add_outer(totals, touched[:n_touched], moments)
            for i in range(n_touched):
                totals[touched[i]] = 0.0
        start = end
    # Most pairs are judged once: these are summed in the order of the table, not of the keys.
    for row in range(len(cell)):
        if alone[row]:
            code = cell[row]
            totals[code, 0] = trials[row]
            totals[code, 1] = hits[row]
            touched[0] = code
            _add_outer(totals, touched[:1], moments)


@njit(cache=True, nogil=True)
def _add_outer(totals, touched, moments):  # type: ignore[no-untyped-def]
    n_cells = len(moments) // 2
    for first in touched:
        for second in touched:
            moments[first, second] += totals[first, 0] * totals[second, 0]
            moments[first, n_cells + second] += totals[first, 0] * totals[second, 1]
            moments[n_cells + first, second] += totals[first, 1] * totals[second, 0]
            moments[n_cells + first, n_cells + second] += totals[first, 1] * totals[second, 1]
