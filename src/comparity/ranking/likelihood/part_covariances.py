"""How leads over one item vary together: exactly within small parts of the items, else about.

A part is what comparisons join. In a small one, such as the answers to one prompt, the curvature of
its scores is inverted; in larger ones any two leads over an item share what they share on average
(:mod:`comparity.ranking.likelihood.dispersion`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.components import joined_parts
from comparity.ranking.likelihood.objective import Penalised

Floats = NDArray[np.float64]

MOST_ITEMS = 64
"""Items of a part up to which what fitting takes is worked out, and not taken on average."""


class PartCovariances(NamedTuple):
    """What is known of the covariances of leads, by item and by small part.

    `part` is that of each item among those that comparisons join, `place` its place there, `size`
    the number of items of its part, and `start` where their covariances begin in `inverses`; -1 in
    large parts. `between` is the covariance of two leads over an item of a large part, zero in
    small ones, and `own` the part that an item has in the variance of a lead.
    """

    part: NDArray[np.int64]
    place: NDArray[np.int64]
    size: NDArray[np.int64]
    start: NDArray[np.int64]
    inverses: Floats
    between: Floats
    own: Floats

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """What small parts are made of, as kernels take it."""
        return self.place, self.size, self.start, self.inverses

    @classmethod
    def of(cls, objective: Penalised, weights: Floats) -> PartCovariances:
        """Find the parts, and invert the curvature of the small ones."""
        rows, prior = objective.data.rows, float(objective.penalty.scores)
        n = rows.n_items
        part = joined_parts(rows.better, rows.worse, n)
        sizes = np.bincount(part)
        order = np.argsort(part, kind="stable")
        place = np.empty(n, np.int64)
        place[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        numbers = np.where((sizes > 1) & (sizes <= MOST_ITEMS), sizes**2, 0)
        starts = np.where(numbers > 0, np.cumsum(numbers) - numbers, -1)
        start, size = starts[part], sizes[part]
        inverses = np.zeros(int(numbers.sum()))
        if len(inverses):
            small = start[rows.better] >= 0
            one, two, weight = rows.better[small], rows.worse[small], weights[small]
            base, width, ends = start[one], size[one], (place[one], place[two])
            for row, column, sign in ((0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0), (1, 0, -1.0)):
                np.add.at(inverses, base + ends[row] * width + ends[column], sign * weight)
            _invert_parts(inverses, starts, sizes, prior)
        own, between = _leads_in_large_parts(rows, weights, prior)
        return cls(part, place, size, start, inverses, np.where(start < 0, between, 0.0), own)

    def lead_variances(self, one: NDArray[np.int64], two: NDArray[np.int64]) -> Floats:
        """Return the variances of leads of items over others of their part."""
        found = self.own[one] + self.own[two]
        small = self.start[one] >= 0
        i, j, base, width = (
            column[small]
            for column in (self.place[one], self.place[two], self.start[one], self.size[one])
        )
        ends = [self.inverses[base + a * width + b] for a, b in ((i, i), (j, j), (i, j))]
        found[small] = ends[0] + ends[1] - 2 * ends[2]
        return found


def _invert_parts(
    inverses: Floats, starts: NDArray[np.int64], sizes: NDArray[np.int64], prior: float
) -> None:
    """Replace the curvature of each small part by its inverse, all of one size at a time."""
    for size in np.unique(sizes[starts >= 0]).tolist():
        places = starts[(starts >= 0) & (sizes == size), None] + np.arange(size * size)
        blocks = inverses[places].reshape(-1, size, size)
        # Where all items of a part are together makes no difference to leads.
        level = np.trace(blocks, axis1=1, axis2=2)[:, None, None] / size**2
        inverses[places] = np.linalg.inv(blocks + prior * np.eye(size) + level).reshape(
            -1, size * size
        )


def _leads_in_large_parts(
    rows: ComparisonRows, weights: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return about how much an item has in the variance of a lead, and what two leads share."""
    sums = np.zeros((rows.n_items, 2))
    _add_weights(rows.better, rows.worse, weights, sums)
    whole, squares = sums.T
    own = 1 / np.maximum(whole + prior, np.finfo(float).tiny)
    alone = np.zeros(rows.n_items)
    _add_variances(rows.better, rows.worse, weights, own, alone)
    left, shared = whole**2 - squares, np.maximum(whole**2 * own - alone, 0.0)
    return own, np.divide(shared, left, out=np.zeros_like(own), where=left > 0)


@njit(cache=True, nogil=True)
def _add_weights(better, worse, weight, sums):  # type: ignore[no-untyped-def]
    """Add up weights of the comparisons of each item, and their squares."""
    for p in range(len(better)):
        square = weight[p] * weight[p]
        for item in (better[p], worse[p]):
            sums[item, 0] += weight[p]
            sums[item, 1] += square


@njit(cache=True, nogil=True)
def _add_variances(better, worse, weight, own, sums):  # type: ignore[no-untyped-def]
    """Add up squares of these weights times the variance of the lead, about."""
    for p in range(len(better)):
        alone = weight[p] * weight[p] * (own[better[p]] + own[worse[p]])
        sums[better[p]] += alone
        sums[worse[p]] += alone


@njit(cache=True, nogil=True)
def taken_in_parts(  # type: ignore[no-untyped-def]
    better, worse, evaluator, weight, place, size, start, inverses, most
):
    """Return what fitting took from the products of residuals, over all cells of small parts.

    Comparisons of an evaluator and a part come in one run. With W the weights between its items, a
    cell has the slopes of row i of W's Laplacian, L: all products, each comparison with itself
    included, sum up to the i-th entry of the diagonal of L V L.
    """
    weights, squares = np.zeros((MOST_ITEMS, MOST_ITEMS)), np.zeros((MOST_ITEMS, MOST_ITEMS))
    limits, along = np.zeros(MOST_ITEMS), np.zeros(MOST_ITEMS)
    count, first, total = len(better), 0, 0.0
    while first < count:
        base, n, last = start[better[first]], size[better[first]], first
        if base < 0:
            first += 1
            continue
        weights[:n, :n] = 0.0
        squares[:n, :n] = 0.0
        while last < count and evaluator[last] == evaluator[first] and start[better[last]] == base:
            i, j, w = place[better[last]], place[worse[last]], weight[last]
            weights[i, j] += w
            weights[j, i] += w
            squares[i, j] += w * w
            squares[j, i] += w * w
            limits[i], limits[j] = most[better[last]], most[worse[last]]
            last += 1
        inverse = inverses[base : base + n * n].reshape((n, n))
        for i in range(n):
            whole = weights[i, :n].sum()
            if whole == 0 or whole > limits[i]:
                continue
            for j in range(n):
                along[j] = whole if j == i else -weights[i, j]
            for j in range(n):
                lead = inverse[i, i] + inverse[j, j] - 2 * inverse[i, j]
                total -= squares[i, j] * lead / 2
                if along[j] != 0:
                    total += along[j] * np.dot(inverse[j], along[:n]) / 2
        first = last
    return total
