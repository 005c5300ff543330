r"""Exact errors where many evaluators judged few items.

Biases of two evaluators have to do with each other only by way of the items, the effects of seat
and ties, and their mean :math:`\mu`, which the prior leaves free: as a parameter of its own, it
takes the place of what the prior says about all evaluators at once. Where a prior holds the mean
with precision p, a multiplier stands for it, with a curvature of -1 / p. With these in the block A,
the biases of evaluator k in a block :math:`D_k` of their own and :math:`C_k` between the two,

.. math:: S = A - \sum_k C_k D_k^{-1} C_k^T

is no larger than there are items, however many evaluators there are. Its inverse is the covariance
of scores and effects, and

.. math:: \operatorname{Cov}(b_k) = D_k^{-1} + D_k^{-1} C_k^T S^{-1} C_k D_k^{-1} .
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from comparity.ranking.likelihood.newton import inverse
from comparity.ranking.likelihood.objective import Penalised, Solving

Floats = NDArray[np.float64]

MOST_NUMBERS = 20_000_000
"""Numbers between items and biases, all of which are kept: 160 MB."""
A_SECOND = 5e9
"""Products that take about a second."""


def few_items(objective: Penalised, most: int, most_work: float = A_SECOND) -> FewItems | None:
    """Return exact errors where at most so many parameters are left without the biases.

    None also where that takes more products than `most_work`.
    """
    penalty, n, c = objective.penalty, objective.n_items, objective.n_contrasts
    size = n + objective.data.rows.n_extra + 2 * c
    # Without a prior of scores, what is flat has biases of all evaluators in it.
    flat = penalty.scores == 0 and objective.flat_basis.shape[1] > 1
    numbers = size * objective.n_evaluators * c
    if not c or flat or size > most or numbers > MOST_NUMBERS:
        return None
    if size**3 + (size + c) * numbers > most_work:
        return None
    held = objective.last.bias_blocks + penalty.bias
    known = np.asarray(np.linalg.pinv(held, hermitian=True), dtype=np.float64)
    return FewItems(objective, _outer(objective), _between(objective), known)


class FewItems(Solving):
    """Exact errors where an objective was evaluated last.

    Parameters
    ----------
    objective : Penalised
    outer : ndarray
        Hessian of scores, effects, mean biases and multipliers.
    between : ndarray, (outer parameters, evaluators, contrasts)
        Hessian between these and the biases.
    known : ndarray, (evaluators, contrasts, contrasts)
        Covariance of each evaluator's biases if all else were known.
    """

    def __init__(self, objective: Penalised, outer: Floats, between: Floats, known: Floats) -> None:
        super().__init__(objective)
        self._known, self._between = known, between
        self._n, self._n_extra = objective.n_items, objective.data.rows.n_extra
        # What biases follow of the outer parameters.
        self._following = np.einsum("okc,kcd->okd", between, known, optimize=True)
        flat = self._following.reshape(len(outer), -1)
        self._outer = inverse(outer - flat @ between.reshape(len(outer), -1).T)

    @property
    def variances(self) -> Floats:
        """Variances of all parameters: scores, biases, effects."""
        bias = np.einsum("kcc->kc", self._of_biases).ravel()
        return self._in_order(np.diagonal(self._outer), bias)

    @cached_property
    def _of_biases(self) -> Floats:
        """Covariance of each evaluator's biases, (evaluators, contrasts, contrasts)."""
        moved = np.tensordot(self._outer, self._following, 1)
        found: Floats = self._known + np.einsum(
            "okc,okd->kcd", self._following, moved, optimize=True
        )
        return found

    def solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the Hessian."""
        n, end = self._n, len(right) - self._n_extra
        size, m, c = self._between.shape
        own = np.zeros((size, right.shape[1]))
        own[:n], own[n : n + self._n_extra] = right[:n], right[end:]
        alone = self._known @ right[n:end].reshape(m, c, -1)
        left = own - self._between.reshape(size, -1) @ alone.reshape(m * c, -1)
        solved = self._outer @ left
        bias = alone.reshape(m * c, -1) - self._following.reshape(size, -1).T @ solved
        return self._in_order(solved, bias)

    def _in_order(self, outer: Floats, bias: Floats) -> Floats:
        n = self._n
        return np.concatenate([outer[:n], bias, outer[n : n + self._n_extra]])


def _outer(objective: Penalised) -> Floats:
    """Return the Hessian of scores, effects, means and multipliers; flat directions filled up."""
    rows, weights, penalty = objective.data.rows, objective.data.weights(), objective.penalty
    n, x, c = objective.n_items, rows.n_extra, objective.n_contrasts
    means, held = slice(n + x, n + x + c), slice(n + x + c, n + x + 2 * c)
    outer = np.zeros((n + x + 2 * c, n + x + 2 * c))
    met = coo_array((weights, (rows.better, rows.worse)), shape=(n, n)).toarray()
    outer[:n, :n] = np.diag(objective.last.scores[:, 1]) - met - met.T
    outer[:n, :n] += penalty.pull(np.eye(n))
    if penalty.scores == 0 or penalty.basis is not None:
        outer[:n, :n] += 1 / n
    for place in range(x):
        unit = np.zeros(objective.size)
        unit[objective.size - x + place] = 1.0
        scores, _, extra = objective.split(objective.product(unit))
        outer[:n, n + place] = outer[n + place, :n] = scores
        outer[n : n + x, n + place] = extra
    # What does not occur is held by a one of its own.
    outer[means, means] = objective.n_evaluators * penalty.bias if penalty.bias.any() else np.eye(c)
    outer[held, held] = -np.eye(c) / penalty.mean if penalty.mean else np.eye(c)
    return outer


def _between(objective: Penalised) -> Floats:
    """Return the Hessian between these and the biases."""
    rows, weights = objective.data.rows, objective.data.weights()
    n, x, m, c = objective.n_items, rows.n_extra, objective.n_evaluators, objective.n_contrasts
    between = np.zeros((n + x + 2 * c, m, c))
    for contrast in range(c):
        told = weights * rows.contrast[:, contrast]
        for items, sign in ((rows.better, 1.0), (rows.worse, -1.0)):
            places = (items, rows.evaluator)
            between[:n, :, contrast] += sign * coo_array((told, places), shape=(n, m)).toarray()
    for place in range(x):
        unit = np.zeros(objective.size)
        unit[objective.size - x + place] = 1.0
        between[n + place] = objective.split(objective.product(unit))[1]
    between[n + x : n + x + c] = -objective.penalty.bias[:, None, :]
    if objective.penalty.mean:
        between[n + x + c :] = np.eye(c)[:, None, :] / m
    return between
