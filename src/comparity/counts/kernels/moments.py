r"""Second moments of all pairs: sums over items of products of what each item's pairs are.

The *placement* of an item of group a has 4 K entries: what its pairs with each group weigh as
better item, as worse item, and its hits as better item, as worse item. These belong to the cells
(a, .) and (., a) and are all that second moments of cells need.

For very many items the products are taken from a table by bin of score, bin of label and group. All
items of one box get the placement of an item in its middle, times their weight. Sums over boxes
below and above follow by adding up, so the time depends on the table and no longer on the items.
What is neglected is how placements differ within a box. This falls with the square of the number of
bins, so the same table with bins of twice the width tells how much it matters: where both do not
give nearly the same variances (:data:`TOLERANCE`), items must be placed one by one. That happens
where nearly all pairs agree, because what little variance there is then comes from items that
differ by less than a bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.dominance import Line, hits_by_item

HELD = 8
"""Rows held back until their products are added at once: sums are read and written less often."""

BAND = 4
"""Rows of the products that are cut at the same column left of the diagonal."""

TOLERANCE = 0.01
"""By how much of itself a variance may differ between a table and one with half the bins.

The error of the finer one is about a third of that, that of a standard error half of this again.
"""

MOST_BOXES = 2**17
"""Boxes of the table, by group: what the products cost in time."""

MOST_BINS = 2**12
"""Bins of scores: more change no digit that matters."""

Floats = NDArray[np.float64]


def moments_by_cell(products: Floats) -> Floats:
    """Add up the products of all groups by the cells that their entries belong to."""
    k = len(products)
    # Trials or hits, group of the better item, group of the worse; and the same again.
    moments = np.zeros((2, k, k, 2, k, k))
    # Trials or hits, role of the item, group of the other; and the same again.
    for g, own in enumerate(products.reshape(k, 2, 2, k, 2, 2, k)):
        # Role by role, because cell (g, g) is touched in both.
        moments[:, g, :, :, g, :] += own[:, 0, :, :, 0, :]
        moments[:, g, :, :, :, g] += own[:, 0, :, :, 1, :]
        moments[:, :, g, :, g, :] += own[:, 1, :, :, 0, :]
        moments[:, :, g, :, :, g] += own[:, 1, :, :, 1, :]
    return moments.reshape(2 * k * k, 2 * k * k)


def pair_moments(trials: Floats, hits: Floats, ties: Floats, tie: float) -> Floats:
    """Return the moments of single pairs from their squared weights by cell.

    A pair is in one cell, and agrees, ties or does neither; a tie is no hit, but counts `tie`.
    """
    n, strict, tied = (part.ravel() for part in (trials, hits, ties))
    cross, both = np.diag(strict + tie * tied), np.diag(strict + tie**2 * tied)
    return np.block([[np.diag(n), cross], [cross, both]])


def placement_products(line: Line, tie: float) -> Floats:
    """Return the sums of products of the placements of all items by group, (K, 4 K, 4 K).

    O(N log L + N K^2) time and O(N K) memory for L different labels.
    """
    k = line.n_groups
    better, (level, group, weight, row) = hits_by_item(line, tie)
    worse, _ = hits_by_item(line.backwards(), tie)
    products = np.zeros((k, 4 * k, 4 * k))
    _place(level, group, weight, row, better, worse[::-1], products)
    return products


@njit(cache=True, nogil=True)
def _place(level, group, weight, row, better, worse, products):  # type: ignore[no-untyped-def]
    """Add products of placements of items in the order of levels; hits are in that of rows."""
    k = len(products)
    held, n_held = np.zeros((k, HELD, 4 * k)), np.zeros(k, dtype=np.int64)
    below, upto, total = np.zeros(k), np.zeros(k), np.zeros(k)
    for place in range(len(level)):
        total[group[place]] += weight[place] if len(weight) else 1.0
    end = 0
    for place in range(len(level)):
        if place == end:
            for g in range(k):
                below[g] = upto[g]
            while end < len(level) and level[end] == level[place]:
                upto[group[end]] += weight[end] if len(weight) else 1.0
                end += 1
        own, source = group[place], row[place]
        w = weight[place] if len(weight) else 1.0
        entries = held[own, n_held[own]]
        for g in range(k):
            entries[g] = w * below[g]
            # Exactly nothing above the last of a group: both were added up in the same order.
            entries[k + g] = w * (total[g] - upto[g])
            entries[2 * k + g] = better[source, g]
            entries[3 * k + g] = worse[source, g]
        n_held[own] += 1
        if n_held[own] == HELD:
            _add_held(held[own], products[own])
            n_held[own] = 0
    _add_rest(held, n_held, products)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_held(held, products):  # type: ignore[no-untyped-def]
    """Add the outer products of the eight rows held, at and right of the diagonal.

    Not a matrix product of the linear algebra library: for so narrow matrices that is no faster,
    and where it starts threads on a busy machine it can be a hundred times slower.
    """
    width = held.shape[1]
    for start in range(0, width, BAND):
        # Slices: an index that counts from `start` might be negative, and is not vectorised.
        p, q, r, s = held[0, start:], held[1, start:], held[2, start:], held[3, start:]
        t, u, v, w = held[4, start:], held[5, start:], held[6, start:], held[7, start:]
        for i in range(min(BAND, width - start)):
            a, b, c, d, e, f, g, h = p[i], q[i], r[i], s[i], t[i], u[i], v[i], w[i]
            sums = products[start + i, start:]
            for j in range(len(sums)):
                first = a * p[j] + b * q[j] + c * r[j] + d * s[j]
                sums[j] += first + (e * t[j] + f * u[j] + g * v[j] + h * w[j])


@njit(cache=True, nogil=True)
def _add_rest(held, n_held, products):  # type: ignore[no-untyped-def]
    """Add the products of the rows still held in each part, and mirror all at the diagonal."""
    for part in range(len(held)):
        held[part, n_held[part] :] = 0.0
        _add_held(held[part], products[part])
        for i in range(held.shape[2]):
            for j in range(i):
                products[part, i, j] = products[part, j, i]


class MomentGrid(NamedTuple):
    """Items by bin of score, bin of label and group; equal values always lie in one bin.

    Attributes
    ----------
    weights, squares : ndarray, (score bins, label bins, K)
        Sums of weights and of squared weights.
    score_ties, label_ties : ndarray
        For each bin the sum of squared weights of all items with one value: what pairs of its
        items that tie weigh, each item with itself included.
    by_level : bool
        Whether every label has a bin of its own.
    """

    weights: Floats
    squares: Floats
    score_ties: Floats
    label_ties: Floats
    by_level: bool

    def coarser(self) -> MomentGrid:
        """Return the table with bins of twice the width; labels in bins of their own stay."""
        weights, squares = _add_twos(self.weights, 0), _add_twos(self.squares, 0)
        ties = _add_twos(self.score_ties, 0)
        if self.by_level:
            return self._replace(weights=weights, squares=squares, score_ties=ties)
        label_ties = _add_twos(self.label_ties, 0)
        return MomentGrid(_add_twos(weights, 1), _add_twos(squares, 1), ties, label_ties, False)


def fill_grid(line: Line) -> MomentGrid:
    """Sum up weights by bin of score, bin of label and group. O(N) time."""
    n, k, n_levels = len(line.level), line.n_groups, len(line.starts) - 1
    n_boxes = max(min(MOST_BOXES, n // 2) // k, 4)
    n_labels = min(n_levels, int(np.sqrt(n_boxes)))
    # Labels in bins of their own leave room for more scores than are needed.
    n_scores = min(n_boxes // n_labels, MOST_BINS)
    bins = np.arange(n_levels, dtype=np.int32)
    if n_labels < n_levels:
        twice_the_middle = line.starts[:-1] + line.starts[1:] - 1
        bins = (twice_the_middle * (n_labels / (2 * n))).astype(np.int32)
    boxes, score_ties = np.zeros((2, n_scores, n_labels, k)), np.zeros(n_scores)
    _fill(*line[:4], bins, boxes, score_ties)
    sizes = np.bincount(line.level, line.weight) if len(line.weight) else np.diff(line.starts)
    label_ties = np.bincount(bins, sizes**2, n_labels).astype(np.float64, copy=False)
    return MomentGrid(boxes[0], boxes[1], score_ties, label_ties, n_labels == n_levels)


@njit(cache=True, nogil=True)
def _fill(level, group, weight, same_score, label_bin, boxes, score_ties):  # type: ignore[no-untyped-def]
    """Add up weights by box; equal scores are in the bin of their middle."""
    n, n_scores = len(level), len(score_ties)
    end = 0
    while end < n:
        start, end = end, end + 1
        while end < n and same_score[end]:
            end += 1
        score_bin, tied = (start + end - 1) // 2 * n_scores // n, 0.0
        for place in range(start, end):
            w = weight[place] if len(weight) else 1.0
            own, there = group[place], label_bin[level[place]]
            boxes[0, score_bin, there, own] += w
            boxes[1, score_bin, there, own] += w * w
            tied += w
        score_ties[score_bin] += tied * tied


def _add_twos(values: Floats, axis: int) -> Floats:
    """Add up every two entries of an axis."""
    merged: Floats = np.add.reduceat(values, np.arange(0, values.shape[axis], 2), axis=axis)
    return merged


def binned_products(grid: MomentGrid, trials: Floats, hits: Floats, tie: float) -> Floats | None:
    """Return products of placements as :func:`placement_products` does; None if too coarse.

    Parameters
    ----------
    grid : MomentGrid
    trials, hits : ndarray, (K, K)
        The exact sums by group of the better and of the worse item, in which a tie counts `tie`.
    tie : float
        What a score tie counts.
    """
    rates = np.divide(hits, trials, out=np.zeros(trials.shape), where=trials > 0)
    products = _grid_products(grid, tie)
    fine = _spread(products, rates)
    coarse = _spread(_grid_products(grid.coarser(), tie), rates)
    return None if (np.abs(fine - coarse) > TOLERANCE * fine).any() else products


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


def _grid_products(grid: MomentGrid, tie: float) -> Floats:
    weights, squares = grid.weights, grid.squares
    k = weights.shape[2]
    in_label = _within(weights.sum(axis=(0, 2)), grid.label_ties, 0.0)[:, None]
    in_score = _within(weights.sum(axis=(1, 2)), grid.score_ties, tie)[:, None, None]
    upto = np.cumsum(weights, axis=1)
    lower, higher = upto - weights + in_label * weights, upto[:, -1:] - upto + in_label * weights
    trials = np.concatenate([lower.sum(axis=0), higher.sum(axis=0)], axis=1)
    agreeing = np.cumsum(lower, axis=0) - lower + in_score * lower
    upto = np.cumsum(higher, axis=0)
    hits = np.concatenate([agreeing, upto[-1] - upto + in_score * higher], axis=2)
    products = np.zeros((k, 4 * k, 4 * k))
    # Trials depend on the label only, so that hits can be added up over scores before.
    products[:, : 2 * k, : 2 * k] = trials.T @ (squares.sum(axis=0).T[:, :, None] * trials)
    by_label = squares.transpose(1, 2, 0) @ hits.transpose(1, 0, 2)
    products[:, : 2 * k, 2 * k :] = trials.T @ by_label.transpose(1, 0, 2)
    products[:, 2 * k :, : 2 * k] = products[:, : 2 * k, 2 * k :].transpose(0, 2, 1)
    rows = np.ascontiguousarray(squares).reshape(-1, k), hits.reshape(-1, 2 * k)
    _add_boxes(*rows, products[:, 2 * k :, 2 * k :])
    return products


def _within(sizes: Floats, squares: Floats, tie: float) -> Floats:
    """Return which share of its own bin an item is above on average, a tie counted as given."""
    ties = np.divide(squares, sizes**2, out=np.zeros_like(sizes), where=sizes > 0)
    return (1 - ties) / 2 + tie * ties


@njit(cache=True, nogil=True)
def _add_boxes(times, rows, products):  # type: ignore[no-untyped-def]
    """Add products of rows, once for each column of times."""
    n_parts, width = times.shape[1], rows.shape[1]
    held, n_held = np.zeros((n_parts, HELD, width)), np.zeros(n_parts, dtype=np.int64)
    for box in range(len(rows)):
        for part in range(n_parts):
            if times[box, part] == 0.0:
                continue
            root = np.sqrt(times[box, part])
            for entry in range(width):
                held[part, n_held[part], entry] = root * rows[box, entry]
            n_held[part] += 1
            if n_held[part] == HELD:
                _add_held(held[part], products[part])
                n_held[part] = 0
    _add_rest(held, n_held, products)
