r"""Second moments of very many items from a table of counts by bin of score, bin of label, group.

All items of one group and one box of the table are given the same *placement* (their pairs and
hits with each group): that of an item in the middle of the box. Counts of boxes below and above
follow by adding up, so the time of the products depends on the table and no longer on the items.

What is neglected is how placements differ within a box. This falls with the square of the number
of bins, so the same table with bins of twice the width tells how much it matters: where both do
not give nearly the same variances (:data:`TOLERANCE`), there is no answer, and items must be
placed one by one. That happens where nearly all pairs agree, because what little variance there is
then comes from items that differ by less than a bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.dominance import Line
from comparity.counts.kernels.placements import HELD, Placements, add_held, add_rest

__all__ = ["TOLERANCE", "MomentGrid", "binned", "binned_placements"]

TOLERANCE = 0.01
"""By how much of itself a variance may differ between a table and one with half the bins.

The error of the finer one is about a third of that, that of a standard error half of this again.
"""

MOST_BOXES = 2**17
"""Boxes of the table, by group: what the products cost in time."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class MomentGrid(NamedTuple):
    """Items by bin of score, bin of label and group.

    Equal values always lie in one bin.

    Attributes
    ----------
    counts : ndarray, (score bins, label bins, K)
        Number of items.
    score_squares, label_squares : ndarray
        For each bin the sum of squared numbers of items with equal values: how many pairs of its
        items, each with itself included, tie.
    """

    counts: Floats
    score_squares: Floats
    label_squares: Floats

    def coarser(self) -> MomentGrid:
        """Return the table with bins of twice the width."""
        return MomentGrid(
            _in_twos(_in_twos(self.counts).transpose(1, 0, 2)).transpose(1, 0, 2),
            _in_twos(self.score_squares),
            _in_twos(self.label_squares),
        )


def binned(line: Line) -> MomentGrid:
    """Return the items of a line by bin of score, bin of label and group. O(N) time."""
    n, k = len(line.records), line.n_groups
    n_bins = max(int(np.sqrt(min(MOST_BOXES, n / 2) / k)), 2)
    new_label = line.first == np.arange(n, dtype=line.first.dtype)
    label_bin, label_squares = _bins(new_label, n_bins)
    score_bin, score_squares = _bins(~line.same_score, n_bins)
    counts = _fill(line.records, line.bits, score_bin, label_bin, n_bins, k)
    # Numbers begin with the highest label.
    return MomentGrid(counts[:, ::-1], score_squares, label_squares[::-1])


def binned_placements(
    grid: MomentGrid,
    trials: NDArray[np.int64],
    hits: NDArray[np.int64],
    ties: NDArray[np.int64],
    tie: float,
) -> Placements | None:
    """Return sums and products of placements; None where a grid is too coarse for this.

    Parameters
    ----------
    grid : MomentGrid
    trials, hits, ties : ndarray, (K, K)
        The exact counts by group of the better and of the worse item; a tie is no hit.
    tie : float
        What a score tie counts.
    """
    scored = hits + tie * ties
    products = _products(grid, tie)
    rates = np.divide(scored, trials, out=np.zeros(trials.shape), where=trials > 0)
    fine, coarse = (_spread(part, rates) for part in (products, _products(grid.coarser(), tie)))
    if (np.abs(fine - coarse) > TOLERANCE * fine).any():
        return None
    sums = np.concatenate([trials, trials.T, scored, scored.T], axis=1)
    return Placements(sums=sums, products=products, ties=ties.astype(np.float64))


def _in_twos(values: Floats) -> Floats:
    """Add up every two entries of the first axis."""
    merged: Floats = np.add.reduceat(values, np.arange(0, len(values), 2), axis=0)
    return merged


def _spread(products: Floats, rates: Floats) -> Floats:
    r"""Return :math:`\sum_i (h_i - r t_i)^2` by role and cell: what variances are made of."""
    k = len(rates)
    entries = np.arange(4 * k).reshape(4, k)
    answer = np.empty((2, k, k))
    for role, r in enumerate((rates, rates.T)):
        t, h = entries[role], entries[2 + role]
        tt, th, hh = products[:, t, t], products[:, t, h], products[:, h, h]
        answer[role] = hh - 2 * r * th + r**2 * tt
    return answer


def _products(grid: MomentGrid, tie: float) -> Floats:
    """Return the sums of products of placements by group, (K, 4 K, 4 K)."""
    counts = grid.counts
    k = counts.shape[2]
    in_label = _within(counts.sum(axis=(0, 2)), grid.label_squares, 0.0)[:, None]
    in_score = _within(counts.sum(axis=(1, 2)), grid.score_squares, tie)[:, None, None]
    upto = np.cumsum(counts, axis=1)
    lower, higher = upto - counts + in_label * counts, upto[:, -1:] - upto + in_label * counts
    trials = np.concatenate([lower.sum(axis=0), higher.sum(axis=0)], axis=1)
    agreeing = np.cumsum(lower, axis=0) - lower + in_score * lower
    upto = np.cumsum(higher, axis=0)
    hits = np.concatenate([agreeing, upto[-1] - upto + in_score * higher], axis=2)
    products = np.zeros((k, 4 * k, 4 * k))
    # Trials depend on the label only, so that hits can be added up over scores before.
    products[:, : 2 * k, : 2 * k] = trials.T @ (counts.sum(axis=0).T[:, :, None] * trials)
    by_label = counts.transpose(1, 2, 0) @ hits.transpose(1, 0, 2)
    products[:, : 2 * k, 2 * k :] = trials.T @ by_label.transpose(1, 0, 2)
    products[:, 2 * k :, : 2 * k] = products[:, : 2 * k, 2 * k :].transpose(0, 2, 1)
    products[:, 2 * k :, 2 * k :] = _weighted_products(
        np.ascontiguousarray(counts).reshape(-1, k), hits.reshape(-1, 2 * k)
    )
    return products


def _within(sizes: Floats, squares: Floats, tie: float) -> Floats:
    """Return which share of its own bin an item is above on average, a tie counted as given."""
    ties = np.divide(squares, sizes**2, out=np.zeros_like(sizes), where=sizes > 0)
    return (1 - ties) / 2 + tie * ties


@njit(cache=True, nogil=True)
def _bins(new, n_bins):  # type: ignore[no-untyped-def]
    """Return the bin of each item, that of the middle of its run of equal values, and squares.

    `new` says where runs begin; squared lengths of runs are added up by bin.
    """
    n = len(new)
    found, squares = np.empty(n, dtype=np.uint16), np.zeros(n_bins)
    end = 0
    while end < n:
        start, end = end, end + 1
        while end < n and not new[end]:
            end += 1
        middle = (start + end - 1) // 2 * n_bins // n
        found[start:end] = middle
        squares[middle] += (end - start) ** 2
    return found, squares


@njit(cache=True, nogil=True)
def _fill(records, bits, score_bin, label_bin, n_bins, n_groups):  # type: ignore[no-untyped-def]
    """Count the items of a line by bin of score, bin of label and group."""
    counts = np.zeros((n_bins, n_bins, n_groups))
    mask = (1 << bits) - 1
    for place in range(len(records)):
        record = np.int64(records[place])
        counts[score_bin[place], label_bin[record >> bits], record & mask] += 1.0
    return counts


@njit(cache=True, nogil=True)
def _weighted_products(weights, rows):  # type: ignore[no-untyped-def]
    """Return the sums of products of rows, once for each column of weights."""
    n_parts, width = weights.shape[1], rows.shape[1]
    products = np.zeros((n_parts, width, width))
    held, n_held = np.zeros((n_parts, HELD, width)), np.zeros(n_parts, dtype=np.int64)
    for box in range(len(rows)):
        for part in range(n_parts):
            if weights[box, part] == 0.0:
                continue
            root = np.sqrt(weights[box, part])
            for entry in range(width):
                held[part, n_held[part], entry] = root * rows[box, entry]
            n_held[part] += 1
            if n_held[part] == HELD:
                add_held(held[part], products[part])
                n_held[part] = 0
    add_rest(held, n_held, products)
    return products
