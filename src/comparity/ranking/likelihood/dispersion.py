r"""Does the model fit? Whether residuals of comparisons that have more in common go together.

An evaluator may like an item for reasons of their own, or two items may compare otherwise than
their scores say. Then the comparisons of one evaluator with one item in them (or, without
evaluators, those of one pair) have residuals :math:`r_p` of one sign. Over all pairs p, q of
comparisons within such a cell, with signs :math:`\sigma` that say on which side the item stands,

.. math:: S = \sum_{p < q} \sigma_p \sigma_q r_p r_q, \qquad V = \sum_{p < q} w_p w_q

S has mean zero and variance V if the model holds, w being the variances of the residuals. Fitting
takes :math:`w_p w_q \operatorname{Var}(\hat s_i)` from the mean of each product, which is given
back. If tastes have variance :math:`\tau^2`, the mean is :math:`\tau^2 V`: the quotient estimates
it, and slopes of the likelihood then have the covariance

.. math:: H + \tau^2 \sum_{cells} c c^T, \qquad c = \sum_{p \in cell} \sigma_p w_p x_p .
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.clusters import Gains
from comparity.ranking.likelihood.exact import Solving
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.rows import ComparisonRows

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


def dispersion_of(objective: Penalised, errors: Floats) -> Dispersion:
    """Test whether residuals of one evaluator and one item, or of one pair, go together.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at its minimum.
    errors : ndarray
        Standard errors of the scores.
    """
    rows, totals = objective.data.rows, np.zeros(5)
    slope, _ = objective.data.contributions(*objective.split(objective.point))
    variances = np.nan_to_num(errors, posinf=0.0) ** 2
    weights = objective.data.weights().astype(np.float64, copy=False)
    if rows.n_evaluators > 1:
        items = np.zeros((rows.n_items, 6))
        items[:, 4], items[:, 5] = variances, MOST_SHARE * objective.last.scores[:, 1]
        columns = (rows.better, rows.worse, rows.evaluator)
        _add_products(*columns, slope, weights, items, totals)
    else:
        most = MOST_SHARE * objective.last.scores[:, 1]
        _add_products_of_pairs(rows, slope, weights, (variances, most), totals)
    found, taken, weight, squares, whole = totals.tolist()
    if weight <= 0:
        return Dispersion(math.nan, math.nan, 0.0, 1.0)
    z, variance = (found + taken) / math.sqrt(weight), max(0.0, (found + taken) / weight)
    return Dispersion(z, float(ndtr(-z)), variance, 1 + variance * squares / whole)


def _add_products_of_pairs(
    rows: ComparisonRows,
    slope: Floats,
    weight: Floats,
    items: tuple[Floats, Floats],
    totals: Floats,
) -> None:
    """Do the same where cells are pairs of items."""
    low, high = np.minimum(rows.better, rows.worse), np.maximum(rows.better, rows.worse)
    keys, pair = np.unique(low.astype(np.int64) * rows.n_items + high, return_inverse=True)
    turned = np.where(rows.better == low, slope, -slope)
    ends = keys // rows.n_items, keys % rows.n_items
    (variance, most), sums = items, (turned, slope**2, weight, weight**2)
    kept = np.bincount(pair, weight) <= np.minimum(most[ends[0]], most[ends[1]])
    of_lead = (variance[ends[0]] + variance[ends[1]])[kept]
    residual, squares, whole, whole_squares = (np.bincount(pair, one)[kept] for one in sums)
    both = (whole**2 - whole_squares) / 2
    totals += [
        float((residual**2 - squares).sum()) / 2,
        float(both @ of_lead),
        float(both.sum()),
        float(whole @ whole),
        float(whole.sum()),
    ]


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
def _add_products(better, worse, evaluator, slope, weight, items, totals):  # type: ignore[no-untyped-def]
    """Add up products of residuals, what fitting took from them, and products of variances.

    Then squares of sums of variances by cell, and these sums.

    Comparisons of an evaluator come in one run. `items` has zeros for sums of residuals, of their
    squares, of weights and of their squares, then variances of scores and the most weight of a cell
    that counts.
    """
    count, start = len(better), 0
    while start < count:
        end = start
        while end < count and evaluator[end] == evaluator[start]:
            for item, sign in ((better[end], 1.0), (worse[end], -1.0)):
                items[item, 0] += sign * slope[end]
                items[item, 1] += slope[end] * slope[end]
                items[item, 2] += weight[end]
                items[item, 3] += weight[end] * weight[end]
            end += 1
        for p in range(start, end):
            for item in (better[p], worse[p]):
                if items[item, 2] <= items[item, 5]:
                    both = (items[item, 2] * items[item, 2] - items[item, 3]) / 2
                    totals[0] += (items[item, 0] * items[item, 0] - items[item, 1]) / 2
                    totals[1] += both * items[item, 4]
                    totals[2] += both
                    totals[3] += items[item, 2] * items[item, 2]
                    totals[4] += items[item, 2]
                # An item that comes again adds nothing.
                for column in range(4):
                    items[item, column] = 0.0
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
