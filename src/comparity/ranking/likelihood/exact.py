r"""Exact errors of a fit: its Hessian inverted, or what is left of it without the biases.

Where many evaluators judged few items, biases of two evaluators have to do with each other only by
way of the items, the effects of seat and ties, and their mean :math:`\mu`, which the prior leaves
free: as a parameter of its own, it takes the place of what the prior says about all evaluators at
once. Where a prior holds the mean with precision p, a multiplier stands for it, with a curvature of
-1 / p. With these in the block A, the biases of evaluator k in a block :math:`D_k` of their own and
:math:`C_k` between the two,

.. math:: S = A - \sum_k C_k D_k^{-1} C_k^T

is no larger than there are items, however many evaluators there are. Its inverse is the covariance
of scores and effects, and

.. math:: \operatorname{Cov}(b_k) = D_k^{-1} + D_k^{-1} C_k^T S^{-1} C_k D_k^{-1} .
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import coo_array

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.objective import Penalised

Floats = NDArray[np.float64]

DENSE = 1500
"""Parameters up to which the Hessian is inverted."""
MOST_NUMBERS = 20_000_000
"""Numbers between items and biases, all of which are kept: 160 MB."""
A_SECOND = 5e9
"""Products that take about a second."""

# Whoever is in a context may enter another.
_limiting = RLock()


def inverse(hessian: Floats) -> Floats:
    """Invert a symmetric matrix that is positive definite, or nearly."""
    # A symmetric matrix is its own transpose, which LAPACK reads without a copy in its order.
    factor, failed = lapack.dpotrf(hessian.T, lower=1, clean=1)
    if failed:
        return np.asarray(np.linalg.pinv(hessian, hermitian=True), dtype=np.float64)
    lower = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    full: Floats = np.add(lower, lower.T, order="C")
    full[np.diag_indices_from(full)] /= 2
    return full


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold a context in which linear algebra libraries start no threads.

    Threads wait for more sums by spinning: on a machine with as many cores as passes over
    comparisons have threads, a fit of ten million comparisons takes half as long again. Where cores
    are busy, threads wait for each other at every block of a factor, which then takes a hundred
    times as long.

    Their number of threads belongs to the process, so one thread at a time is in here: of two, the
    first to leave would give threads back to the other, whose sums would round differently.
    """
    with _limiting, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> Any:
    """Return the libraries whose threads can be limited; finding them takes a millisecond."""
    # It comes with scikit-learn.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Solving(ABC):
    """Exact errors where an objective was evaluated last.

    Parameters
    ----------
    objective : Penalised
        Not to be evaluated elsewhere before all errors have been asked for.
    """

    def __init__(self, objective: Penalised) -> None:
        n, c = objective.n_items, objective.n_contrasts
        self._objective = objective
        self._biases = slice(n, n + objective.n_evaluators * c)

    @property
    @abstractmethod
    def variances(self) -> Floats:
        """Variances of all parameters."""

    @property
    @abstractmethod
    def of_biases(self) -> Floats:
        """Covariance of each evaluator's biases, (evaluators, contrasts, contrasts)."""

    @abstractmethod
    def solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the Hessian."""

    @property
    def scores(self) -> Floats:
        """Variances of scores."""
        return self.variances[: self._objective.n_items]

    @cached_property
    def evaluators(self) -> Floats:
        """Covariance of each evaluator's biases minus the mean of all evaluators."""
        m, c = self._objective.n_evaluators, self._objective.n_contrasts
        means = np.zeros((self._objective.size, c))
        means[self._biases] = np.tile(np.eye(c), (m, 1)) / m
        drawn = self.solve(means)
        with_mean = drawn[self._biases].reshape(m, c, c)
        about: Floats = self.of_biases - with_mean - with_mean.transpose(0, 2, 1) + means.T @ drawn
        return about

    def trace_along(self, basis: Floats) -> float:
        """Return the trace of the scores' covariance within the span of a basis."""
        padded = np.zeros((self._objective.size, basis.shape[1]))
        padded[: len(basis)] = basis
        drawn = self.solve(padded)[: len(basis)]
        return float((basis @ np.linalg.pinv(basis.T @ basis) * drawn).sum())


class Inverse(Solving):
    r"""Exact errors by inverting the Hessian at the point evaluated last, scores first.

    With the blocks A of the scores, D of all else and B between them,
    :math:`W = A^{-1} B` and the Schur complement :math:`S = D - B^T W`, the inverse has the blocks
    :math:`A^{-1} + W S^{-1} W^T`, :math:`-W S^{-1}` and :math:`S^{-1}`: with many items and few
    evaluators hardly more work than inverting A.

    Attributes
    ----------
    joint : ndarray
        Covariance of all parameters.
    given : ndarray
        Covariance of the scores, all other parameters known.
    """

    def __init__(self, objective: Penalised) -> None:
        super().__init__(objective)
        hessian, n = dense_hessian(objective), objective.n_items
        # Matrices of this size gain little by threads.
        with one_thread():
            self.given, between = inverse(hessian[:n, :n]), hessian[:n, n:]
            if n == objective.size:
                self.joint = self.given
                return
            drawn = self.given @ between
            rest = inverse(hessian[n:, n:] - between.T @ drawn)
            self.joint, cross = hessian, drawn @ rest
            self.joint[:n, :n] = self.given + cross @ drawn.T
            self.joint[:n, n:], self.joint[n:, :n], self.joint[n:, n:] = -cross, -cross.T, rest

    @property
    def variances(self) -> Floats:
        """Variances of all parameters."""
        return np.diagonal(self.joint)

    @property
    def of_biases(self) -> Floats:
        """Covariance of each evaluator's biases, (evaluators, contrasts, contrasts)."""
        m, c = self._objective.n_evaluators, self._objective.n_contrasts
        blocks = self.joint[self._biases, self._biases].reshape(m, c, m, c)
        found: Floats = np.einsum("kckd->kcd", blocks)
        return found

    def solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the Hessian."""
        return np.asarray(self.joint @ right, dtype=np.float64)


def dense_hessian(objective: Penalised) -> Floats:
    """Return the Hessian; where it is flat, along directions a move takes out, it is filled up."""
    rows, prior, n = objective.data.rows, objective.penalty, objective.n_items
    end = objective.size - rows.n_extra
    hessian = np.zeros((objective.size, objective.size))
    _add_hessian(*rows.columns(), objective.data.weights(), n, hessian)
    if prior.basis is None:
        hessian[np.arange(n), np.arange(n)] += prior.scores
    else:
        hessian[:n, :n] += prior.pull(np.eye(n))
    if objective.n_contrasts:
        hessian[n:end, n:end] += prior.bias_hessian(objective.n_evaluators)
    hessian[:, end:] = objective.effect_columns()
    hessian[end:, :end] = hessian[:end, end:].T
    if prior.scores == 0 or prior.basis is not None:
        # Positive along the flat directions and zero across them.
        basis = np.linalg.qr(objective.directions(objective.flat_basis))[0]
        hessian += basis @ basis.T
    return hessian


@njit(cache=True, nogil=True)
def _add_hessian(  # type: ignore[no-untyped-def]
    better, worse, evaluator, contrast, weight, n_items, out
):
    """Add the Hessian in scores and biases, row by row of the design, both halves."""
    n_contrasts = contrast.shape[1]
    for p in range(len(better)):
        one, two, w = better[p], worse[p], weight[p]
        out[one, one] += w
        out[two, two] += w
        out[one, two] -= w
        out[two, one] -= w
        place = n_items + evaluator[p] * n_contrasts
        for c in range(n_contrasts):
            if contrast[p, c] == 0:
                continue
            step = w * contrast[p, c]
            out[one, place + c] += step
            out[place + c, one] += step
            out[two, place + c] -= step
            out[place + c, two] -= step
            for d in range(n_contrasts):
                out[place + c, place + d] += step * contrast[p, d]


def few_items(objective: Penalised, most_work: float = A_SECOND) -> FewItems | None:
    """Return exact errors where few parameters are left without the biases.

    None also where that takes more products than `most_work`.
    """
    penalty, n, c = objective.penalty, objective.n_items, objective.n_contrasts
    size = n + objective.data.rows.n_extra + 2 * c
    # Without a prior of scores, what is flat has biases of all evaluators in it.
    flat = penalty.scores == 0 and objective.flat_basis.shape[1] > 1
    numbers = size * objective.n_evaluators * c
    if not c or flat or size > DENSE or numbers > MOST_NUMBERS:
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
        bias = np.einsum("kcc->kc", self.of_biases).ravel()
        return self._in_order(np.diagonal(self._outer), bias)

    @cached_property
    def of_biases(self) -> Floats:
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
    effects = objective.effect_columns()
    outer[:n, n : n + x], outer[n : n + x, :n] = effects[:n], effects[:n].T
    outer[n : n + x, n : n + x] = effects[objective.size - x :]
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
    between[n : n + x] = objective.effect_columns()[n : n + m * c].T.reshape(x, m, c)
    between[n + x : n + x + c] = -objective.penalty.bias[:, None, :]
    if objective.penalty.mean:
        between[n + x + c :] = np.eye(c)[:, None, :] / m
    return between


def invert_schur(blocks: Floats, lost: Floats, least: float) -> Floats:
    """Invert symmetric blocks minus what is lost, of which this part is left at least."""
    if blocks.shape[1] == 1:
        return invert_blocks(blocks - np.minimum(lost, (1 - least) * blocks))
    values, vectors = np.linalg.eigh(blocks)
    known = values > 1e-12 * values.max(axis=1, keepdims=True)
    roots = np.where(known, np.abs(values), np.inf) ** -0.5
    root = vectors * roots[:, None, :]
    shares, along = np.linalg.eigh(root.transpose(0, 2, 1) @ lost @ root)
    root = root @ along
    kept = 1 - np.minimum(shares, 1 - least)
    return np.asarray(root / kept[:, None, :] @ root.transpose(0, 2, 1), dtype=np.float64)


def invert_blocks(blocks: Floats) -> Floats:
    """Invert symmetric blocks; where they say nothing the inverse is zero."""
    if blocks.shape[-1] == 1:
        return np.divide(1.0, blocks, out=np.zeros_like(blocks), where=blocks > 0)
    return np.asarray(np.linalg.pinv(blocks, hermitian=True), dtype=np.float64)
