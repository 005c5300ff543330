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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from comparity.counts.kernels.compilation import njit
from comparity.counts.kernels.sorting import positions_of, sort_by_code
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.exact import Solving
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.part_covariances import PartCovariances, taken_in_parts
from comparity.ranking.likelihood.sandwich import Gains

Floats = NDArray[np.float64]

FIT_LEVEL = 0.05
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
    parts, most = PartCovariances.of(objective, weights), MOST_SHARE * objective.last.scores[:, 1]
    columns = (rows.better, rows.worse, rows.evaluator, slope, weights)
    if rows.n_evaluators > 1:
        totals, sums = np.zeros(6), np.zeros((rows.n_items, 4))
        left = TasteShares.of(objective, weights)
        _add_products(*columns, parts.between, most, left, sums, totals)
        if len(parts.inverses):
            order = np.lexsort((parts.part[rows.better], rows.evaluator))
            sides = (rows.better[order], rows.worse[order], rows.evaluator[order], weights[order])
            totals[1] += taken_in_parts(*sides, *parts.columns, most)
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


def _products_of_pairs(
    rows: ComparisonRows, slope: Floats, weight: Floats, parts: PartCovariances, most: Floats
) -> Floats:
    """Add up the same where cells are pairs of items."""
    low = np.minimum(rows.better, rows.worse)
    order = sort_by_code(positions_of(len(low)), low, rows.n_items)
    totals, sums = np.zeros(6), np.zeros((rows.n_items, 4))
    again, products = np.empty((len(low) // 2, 2), np.int64), np.empty(len(low) // 2)
    columns = (rows.better, rows.worse, order, slope, weight)
    n = _add_pairs(*columns, most, sums, totals, again, products)
    totals[1] = products[:n] @ parts.lead_variances(*again[:n].T)
    return totals


@njit(cache=True, nogil=True)
def _add_pairs(better, worse, order, slope, weight, most, sums, totals, again, products):  # type: ignore[no-untyped-def]
    """Add up what :func:`_add_products` does, but for what fitting took; here a cell is a pair.

    Comparisons of one first item come in one run of `order`. Fills in the pairs that were compared
    more than once, with the products of their variances, and returns how many there are.
    """
    count, start, found = len(order), 0, 0
    while start < count:
        low, end = min(better[order[start]], worse[order[start]]), start
        while end < count and min(better[order[end]], worse[order[end]]) == low:
            p = order[end]
            high = max(better[p], worse[p])
            sums[high, 0] += slope[p] if better[p] == low else -slope[p]
            sums[high, 1] += slope[p] * slope[p]
            sums[high, 2] += weight[p]
            sums[high, 3] += weight[p] * weight[p]
            end += 1
        for place in range(start, end):
            high = max(better[order[place]], worse[order[place]])
            if sums[high, 2] <= min(most[low], most[high]):
                both = (sums[high, 2] * sums[high, 2] - sums[high, 3]) / 2
                totals[0] += (sums[high, 0] * sums[high, 0] - sums[high, 1]) / 2
                totals[2] += both
                totals[3] += sums[high, 2] * sums[high, 2]
                totals[4] += sums[high, 2]
                totals[5] += both
                if both > 0.0:
                    again[found, 0], again[found, 1], products[found] = low, high, both
                    found += 1
            # A pair that comes again adds nothing.
            for column in range(4):
                sums[high, column] = 0.0
        start = end
    return found


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
    better, worse, evaluator, slope, weight, between, most, left, sums, totals
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
                    totals[3] += sums[item, 2] * sums[item, 2]
                    totals[4] += sums[item, 2]
                    # Most items come once in a million comparisons of all, and have no products.
                    if both != 0.0:
                        own = 1 - left.linear[item] * sums[item, 2] + left.whole[item]
                        totals[1] += both * between[item]
                        totals[2] += both
                        totals[5] += both * own
                # An item that comes again adds nothing.
                for column in range(4):
                    sums[item, column] = 0.0
        start = end


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
