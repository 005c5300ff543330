r"""Does the model fit? Whether residuals of comparisons that have more in common go together.

An evaluator may like an item for reasons of their own, or two items may compare otherwise than
their scores say. Then the comparisons of one evaluator with one item in them (or, without
evaluators, those of one pair) have residuals :math:`r_p` of one sign. Over all pairs p, q of
comparisons within such a cell, with signs :math:`\sigma` that say on which side the item stands,

.. math:: S = \sum_{p < q} \sigma_p \sigma_q r_p r_q, \qquad V = \sum_{p < q} w_p w_q

S has mean zero and variance V if the model holds, w being the variances of the residuals. Fitting
takes :math:`w_p w_q \operatorname{Cov}(\hat m_p, \hat m_q)` from the mean of each product,
:math:`\hat m` being the leads of the better items, which the test corrects. Where few items are
compared with each other (the answers to one prompt) it is worked out, from the inverse of their own
curvature. In larger parts any two comparisons of item i have, on average,

.. math:: \frac{h_i^2 / (h_i + \pi) - \sum_p w_p^2 v_p}{h_i^2 - \sum_p w_p^2}, \qquad
          v_p = \frac{1}{h_i + \pi} + \frac{1}{h_j + \pi}

with :math:`h_i` the sum of the weights of its comparisons, :math:`\pi` the precision of the prior
and :math:`v_p` about the variance of the lead over j: all products of comparisons of one item, each
with itself included, sum up to what the curvature is worth.

A score takes on the mean of evaluators' tastes for its item, as their cells weigh. With
:math:`c_{ki}` the weights of a cell, a taste of variance :math:`\tau^2` leaves

.. math:: \tau^2 f_{ki}, \qquad f_{ki} = 1 - \frac{2 c_{ki}}{h_i + \pi}
          + \frac{\sum_l c_{li}^2}{(h_i + \pi)^2}

to the residuals: two thirds with three evaluators alike. So the mean of S is the sum of
:math:`\tau^2 f_{ki} w_p w_q`, which estimates :math:`\tau^2`; slopes of the likelihood then have
the covariance

.. math:: H + \tau^2 \sum_{cells} c c^T, \qquad c = \sum_{p \in cell} \sigma_p w_p x_p .
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.sorting import sort_by_code
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.components import joined_parts
from comparity.ranking.likelihood.exact import Solving
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.sandwich import Gains

Floats = NDArray[np.float64]

FIT_LEVEL = 0.05
MOST_ITEMS = 64
"""Items of a part up to which what fitting takes is worked out, and not taken on average."""
MOST_SHARE = 0.6
"""Part of the curvature of a score from which on a cell is left out: residuals of nearly all that
is known of an item sum to zero, whatever the model."""


class Dispersion(NamedTuple):
    """How residuals of one cell go together.

    `variance` is that of tastes, in the unit of the scores; `factor` what it makes of the variances
    of estimates, about.
    """

    z: float
    p_value: float
    variance: float
    factor: float

    @property
    def rejects(self) -> bool:
        """Whether the model does not fit."""
        return self.p_value < FIT_LEVEL


def dispersion_of(objective: Penalised) -> Dispersion:
    """Test whether residuals of one evaluator and one item, or of one pair, go together.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at its minimum.
    """
    rows = objective.data.rows
    slope, _ = objective.data.contributions(*objective.split(objective.point))
    weights = objective.data.weights().astype(np.float64, copy=False)
    parts, most = Parts.of(objective, weights), MOST_SHARE * objective.last.scores[:, 1]
    columns = (rows.better, rows.worse, rows.evaluator, slope, weights)
    if rows.n_evaluators > 1:
        totals, sums = np.zeros(6), np.zeros((rows.n_items, 4))
        left = TasteShares.of(objective, weights)
        _add_products(*columns, parts.between, most, left.linear, left.whole, sums, totals)
        if len(parts.inverses):
            order = np.lexsort((parts.part[rows.better], rows.evaluator))
            sides = (rows.better[order], rows.worse[order], rows.evaluator[order], weights[order])
            totals[1] += _taken_in_parts(*sides, *parts.columns, most)
    else:
        totals = _products_of_pairs(rows, slope, weights, parts, most)
    found, taken, weight, squares, whole, by_tastes = totals.tolist()
    if weight <= 0:
        return Dispersion(math.nan, math.nan, 0.0, 1.0)
    z, variance = (found + taken) / math.sqrt(weight), max(0.0, (found + taken) / by_tastes)
    return Dispersion(z, float(ndtr(-z)), variance, 1 + variance * squares / whole)


class TasteShares(NamedTuple):
    """What a score leaves of a taste for its item, 1 - linear c + whole, with c of the cell."""

    linear: Floats
    whole: Floats

    @classmethod
    def of(cls, objective: Penalised, weights: Floats) -> TasteShares:
        """Add up the squares of the weights of the cells of each item."""
        rows, curvature = objective.data.rows, objective.last.scores[:, 1]
        held = 1 / np.maximum(curvature + objective.penalty.scores, np.finfo(float).tiny)
        squares, sums = np.zeros_like(held), np.zeros_like(held)
        _add_cells(rows.better, rows.worse, rows.evaluator, weights, sums, squares)
        return cls(2 * held, squares * held**2)


@njit(cache=True, nogil=True)
def _add_cells(better, worse, evaluator, weight, sums, squares):  # type: ignore[no-untyped-def]
    """Add up squares of the weights of cells by item; evaluators come in runs, `sums` is zero."""
    count, start = len(better), 0
    while start < count:
        end = start
        while end < count and evaluator[end] == evaluator[start]:
            sums[better[end]] += weight[end]
            sums[worse[end]] += weight[end]
            end += 1
        for p in range(start, end):
            for item in (better[p], worse[p]):
                squares[item] += sums[item] * sums[item]
                sums[item] = 0.0
        start = end


class Parts(NamedTuple):
    """How leads over one item vary together: exactly within small parts of the items, else about.

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
    def of(cls, objective: Penalised, weights: Floats) -> Parts:
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


def _products_of_pairs(
    rows: ComparisonRows, slope: Floats, weight: Floats, parts: Parts, most: Floats
) -> Floats:
    """Add up the same where cells are pairs of items."""
    low, high = np.minimum(rows.better, rows.worse), np.maximum(rows.better, rows.worse)
    order = sort_by_code(np.arange(len(high)), high, rows.n_items)
    order = sort_by_code(order, low, rows.n_items)
    turned = np.where(rows.better == low, slope, -slope)[order]
    low, high, weight = low[order], high[order], weight[order]
    first = np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))
    one, two, pair = low[first], high[first], np.cumsum(first) - 1
    sums = (turned, turned**2, weight, weight**2)
    kept = np.bincount(pair, weight) <= np.minimum(most[one], most[two])
    of_lead = parts.lead_variances(one, two)[kept]
    residual, squares, whole, whole_squares = (np.bincount(pair, one)[kept] for one in sums)
    both = (whole**2 - whole_squares) / 2
    found = (residual**2 - squares).sum() / 2
    taken = both @ of_lead
    return np.array([found, taken, both.sum(), whole @ whole, whole.sum(), both.sum()])


class TasteGains(Gains):
    """What tastes of evaluators for single items add to variances.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at its minimum.
    solved : Solving
    variance : float
        Of the tastes.
    """

    def __init__(self, objective: Penalised, solved: Solving, variance: float) -> None:
        super().__init__(solved)
        self._objective, self._variance = objective, variance
        self._weights = objective.data.weights().astype(np.float64, copy=False)

    def gain_along(self, solved: Floats) -> float:
        """Return the gain of one weighted sum, of which the solution is given."""
        scores, bias, _ = self._objective.split(solved)
        columns = (*self._objective.data.rows.columns(), self._weights)
        found = _sum_squares(*columns, scores, bias, np.zeros(len(scores)))
        return self._variance * float(found)


@njit(cache=True, nogil=True)
def _add_products(  # type: ignore[no-untyped-def]
    better, worse, evaluator, slope, weight, between, most, linear, whole, sums, totals
):
    """Add up products of residuals, what fitting took from them, and products of variances.

    Then squares of sums of variances by cell, these sums, and the products of variances times what
    is left of a taste.

    Comparisons of an evaluator come in one run. `sums` has zeros for each item, for sums of
    residuals, of their squares, of weights and of their squares; `most` is the most weight of a
    cell that counts.
    """
    count, start = len(better), 0
    while start < count:
        end = start
        while end < count and evaluator[end] == evaluator[start]:
            for item, sign in ((better[end], 1.0), (worse[end], -1.0)):
                sums[item, 0] += sign * slope[end]
                sums[item, 1] += slope[end] * slope[end]
                sums[item, 2] += weight[end]
                sums[item, 3] += weight[end] * weight[end]
            end += 1
        for p in range(start, end):
            for item in (better[p], worse[p]):
                if sums[item, 2] <= most[item]:
                    both = (sums[item, 2] * sums[item, 2] - sums[item, 3]) / 2
                    totals[0] += (sums[item, 0] * sums[item, 0] - sums[item, 1]) / 2
                    totals[1] += both * between[item]
                    totals[2] += both
                    totals[3] += sums[item, 2] * sums[item, 2]
                    totals[4] += sums[item, 2]
                    totals[5] += both * (1 - linear[item] * sums[item, 2] + whole[item])
                # An item that comes again adds nothing.
                for column in range(4):
                    sums[item, column] = 0.0
        start = end


@njit(cache=True, nogil=True)
def _taken_in_parts(  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _sum_squares(better, worse, evaluator, contrast, weight, scores, bias, items):  # type: ignore[no-untyped-def]
    """Return the sum over cells of the squared sum of weights times changes of leads."""
    count, start, total = len(better), 0, 0.0
    while start < count:
        end = start
        while end < count and evaluator[end] == evaluator[start]:
            along = scores[better[end]] - scores[worse[end]]
            for c in range(contrast.shape[1]):
                along += contrast[end, c] * bias[evaluator[end], c]
            items[better[end]] += weight[end] * along
            items[worse[end]] -= weight[end] * along
            end += 1
        for p in range(start, end):
            for item in (better[p], worse[p]):
                total += items[item] * items[item]
                items[item] = 0.0
        start = end
    return total
