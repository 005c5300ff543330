r"""Exact errors of fits with many parameters whose comparisons run in a band.

The Hessian is split into a band K, which has each comparison and each prior, a border of
evaluators who judged items everywhere and of seat effect and ties, and a few columns Q along which
priors act on all at once (they leave the mean bias free, and with trusted evaluators the levels of
groups):

.. math:: H = K + Q C Q^T, \qquad
          H^{-1} = K^{-1} - Y C (I + Q^T Y C)^{-1} Y^T, \quad Y = K^{-1} Q .

K is factored by Cholesky's method. Of its inverse the entries within the band follow from the
factor L row by row, last first (Takahashi, Fagan and Chin, 1973):

.. math:: \Sigma_{ij} = \frac{[i = j]}{L_{jj}^2}
                        - \sum_{k > j} \Sigma_{ik} \frac{L_{kj}}{L_{jj}}, \qquad i \ge j .
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import lapack

from comparity.ranking._bands import Band
from comparity.ranking._objective import Penalised

__all__ = ["Banded", "is_banded", "variances_given_biases"]

Floats = NDArray[np.float64]


def is_banded(objective: Penalised) -> bool:
    """Say whether a narrow band and finite priors allow exact errors."""
    proper = objective.penalty.scores > 0 and bool(np.diagonal(objective.penalty.bias).all())
    band = objective.data.rows.band if proper else None
    return band is not None and band.has_biases


def variances_given_biases(objective: Penalised) -> Floats | None:
    """Return the variances that scores would have if all biases were known, where a band allows."""
    band = objective.data.rows.band if objective.penalty.scores > 0 else None
    if band is None:
        return None
    factor = _factored(objective, band, biases_known=True)
    found: Floats = _inverse_near(factor, 1)[band.place[: objective.n_items], 0]
    return found


class Banded:
    """Errors at the point where an objective was evaluated last, each kept once it was asked for.

    Parameters
    ----------
    objective : Penalised
        Evaluated last at its minimum, and nowhere else as long as this is asked.
    """

    def __init__(self, objective: Penalised) -> None:
        band = objective.data.rows.band
        assert band is not None
        self._objective, self._band = objective, band
        n, c = objective.n_items, objective.n_contrasts
        self._biases = slice(n, n + objective.n_evaluators * c)
        inside = np.flatnonzero(band.place[n:] >= 0)
        # Of each place in the band, the parameter that stands there.
        self._within = np.empty(band.length, np.int64)
        self._within[band.place[:n]] = np.arange(n)
        for contrast in range(c):
            self._within[band.place[n + inside] + contrast] = n + inside * c + contrast
        self._border = np.setdiff1d(np.arange(objective.size), self._within)
        self._columns, self._weights = _all_at_once(objective)
        self._factor = _factored(objective, band, biases_known=False)

    @property
    def variances(self) -> Floats:
        """Variances of all parameters."""
        return self._nearby[:, 0]

    @property
    def scores(self) -> Floats:
        """Variances of scores."""
        return self.variances[: self._objective.n_items]

    @cached_property
    def evaluators(self) -> Floats:
        """Covariance of each evaluator's biases less the mean of all evaluators."""
        m, c = self._objective.n_evaluators, self._objective.n_contrasts
        bias, found = self._nearby[self._biases].reshape(m, c, -1), np.empty((m, c, c))
        for one in range(c):
            for two in range(one, c):
                found[:, one, two] = found[:, two, one] = bias[:, one, two - one]
        means = np.zeros((self._objective.size, c))
        means[self._biases] = np.tile(np.eye(c), (m, 1)) / m
        drawn = self.solve(means)
        with_mean = drawn[self._biases].reshape(m, c, c)
        about: Floats = found - with_mean - with_mean.transpose(0, 2, 1) + means.T @ drawn
        return about

    def solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the Hessian."""
        drawn = self._drawn(right)
        solved: Floats = drawn - self._pulled @ (self._taken @ (self._columns.T @ drawn))
        return solved

    def trace_along(self, basis: Floats) -> float:
        """Return the trace of the scores' covariance within the span of a basis."""
        padded = np.zeros((self._objective.size, basis.shape[1]))
        padded[: len(basis)] = basis
        drawn = self.solve(padded)[: len(basis)]
        return float((basis @ np.linalg.pinv(basis.T @ basis) * drawn).sum())

    @cached_property
    def _nearby(self) -> Floats:
        """Covariances of each parameter with itself and those right after it, as many as biases."""
        depth = max(1, self._objective.n_contrasts)
        inside = _inverse_near(self._factor, depth)
        fence, rest = self._fence
        found = np.zeros((self._objective.size, depth))
        for after in range(depth):
            spread = (fence @ rest * np.roll(fence, -after, axis=0)).sum(axis=1)
            found[self._within, after] = inside[:, after] + spread
            found[self._border[: len(rest) - after], after] = np.diagonal(rest, after)
            pulled = np.roll(self._pulled, -after, axis=0)
            found[:, after] -= (self._pulled @ self._taken * pulled).sum(axis=1)
        return found

    @cached_property
    def _pulled(self) -> Floats:
        """Columns along which priors act on all at once, times the inverse of the rest."""
        return self._drawn(self._columns)

    @cached_property
    def _taken(self) -> Floats:
        """What acting on all at once takes from that inverse."""
        inner = np.eye(len(self._weights)) + self._columns.T @ self._pulled @ self._weights
        taken: Floats = self._weights @ np.linalg.inv(inner)
        return taken

    @cached_property
    def _fence(self) -> tuple[Floats, Floats]:
        """The border's columns over the band, and the covariance of the parameters in it."""
        objective = self._objective
        columns = np.empty((objective.size, len(self._border)))
        for column, parameter in zip(columns.T, self._border, strict=True):
            unit = np.zeros(objective.size)
            unit[parameter] = 1.0
            at_once = self._columns @ (self._weights @ self._columns[parameter])
            column[:] = objective.product(unit) - at_once
        over = columns[self._within]
        fence = self._through_band(over)
        return fence, np.linalg.inv(columns[self._border] - over.T @ fence)

    def _drawn(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of band and border."""
        fence, rest = self._fence
        inside, found = self._through_band(right[self._within]), np.empty_like(right)
        # What the band leaves of the border's rows: its columns over the band are symmetric.
        outside = rest @ (right[self._border] - fence.T @ right[self._within])
        found[self._within], found[self._border] = inside - fence @ outside, outside
        return found

    def _through_band(self, right: Floats) -> Floats:
        if not right.shape[1]:
            return right
        return np.asarray(lapack.dpbtrs(self._factor.T, right, lower=1)[0], dtype=np.float64)


def _all_at_once(objective: Penalised) -> tuple[Floats, Floats]:
    """Return Q and C: along which columns priors act on many parameters at once, and how."""
    penalty, n = objective.penalty, objective.n_items
    m, c = objective.n_evaluators, objective.n_contrasts
    free = np.empty((n, 0)) if penalty.basis is None else penalty.basis
    columns = np.zeros((objective.size, c + free.shape[1]))
    columns[n : n + m * c, :c] = np.tile(np.eye(c), (m, 1))
    columns[:n, c:] = free
    weights = np.zeros((columns.shape[1], columns.shape[1]))
    weights[:c, :c] = penalty.mean / m**2 * np.eye(c) - penalty.bias / m
    weights[c:, c:] = (penalty.level - penalty.scores) * np.linalg.pinv(free.T @ free)
    return columns, weights


def _factored(objective: Penalised, band: Band, *, biases_known: bool) -> Floats:
    """Return Cholesky's factor of the band: of each column the diagonal and what is below it."""
    rows, n = objective.data.rows, objective.n_items
    c = 0 if biases_known else objective.n_contrasts
    bars = np.zeros((band.length, band.width + 1))
    columns = (rows.better, rows.worse, rows.evaluator, rows.contrast[:, :c])
    _add_bars(*(*columns, objective.data.weights(), band.place, n, bars))
    bars[:, 0] += 1.0 if biases_known else 0.0
    bars[band.place[:n], 0] += objective.penalty.scores - (1.0 if biases_known else 0.0)
    firsts = band.place[n:][band.place[n:] >= 0]
    for one in range(c):
        for two in range(one, c):
            bars[firsts + one, two - one] += objective.penalty.bias[one, two]
    factor, failed = lapack.dpbtrf(bars.T, lower=1, overwrite_ab=1)
    assert failed == 0, "with proper priors the Hessian is positive definite"
    return np.asarray(factor.T, dtype=np.float64)


@njit(cache=True, nogil=True)
def _add_bars(better, worse, evaluator, contrast, weight, place, n_items, bars):  # type: ignore[no-untyped-def]
    """Add the curvature of comparisons to the band; evaluators in the border are left out."""
    n_contrasts = contrast.shape[1]
    for p in range(len(better)):
        one, two, w = place[better[p]], place[worse[p]], weight[p]
        bars[one, 0] += w
        bars[two, 0] += w
        bars[min(one, two), abs(one - two)] -= w
        first = place[n_items + evaluator[p]]
        for c in range(n_contrasts):
            x = contrast[p, c]
            if first < 0 or x == 0:
                continue
            own = first + c
            bars[min(one, own), abs(one - own)] += w * x
            bars[min(two, own), abs(two - own)] -= w * x
            for d in range(c, n_contrasts):
                bars[own, d - c] += w * x * contrast[p, d]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _inverse_near(factor, depth):  # type: ignore[no-untyped-def]
    """Return the inverse's diagonal, and as many entries beside it.

    Of the inverse a square window is kept, that of the rows and columns right after the one at
    hand; each has its slot in turn.
    """
    length, width = factor.shape[0], max(1, factor.shape[1] - 1)
    out = np.zeros((length, depth))
    window, share, row = np.zeros((width, width)), np.zeros(width), np.zeros(width)
    for j in range(length - 1, -1, -1):
        diagonal = 1 / factor[j, 0] ** 2
        share[:] = 0.0
        last = min(factor.shape[1], length - j)
        for d in range(1, last):
            share[(j + d) % width] = -factor[j, d] / factor[j, 0]
        for a in range(width):
            total = 0.0
            for b in range(width):
                total += window[a, b] * share[b]
            row[a] = total
            diagonal += share[a] * total
        for d in range(1, min(depth, last)):
            out[j, d] = row[(j + d) % width]
        slot = j % width
        window[slot] = row
        window[:, slot] = row
        out[j, 0] = window[slot, slot] = diagonal
    return out
