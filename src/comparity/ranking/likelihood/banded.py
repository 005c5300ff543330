r"""Exact errors of fits with many parameters whose comparisons run in a band.

The Hessian is split into a band, which has each comparison and each prior, a border of evaluators
who judged items everywhere and of seat effect and ties, both in K, and a few columns Q along which
priors act on all at once (they leave the mean bias free, and with trusted evaluators the levels of
groups):

.. math:: H = K + Q C Q^T, \qquad
          H^{-1} = K^{-1} - Y C (I + Q^T Y C)^{-1} Y^T, \quad Y = K^{-1} Q .

The band is factored by Cholesky's method. Of its inverse the entries within the band follow from
the factor L row by row, last first (Takahashi, Fagan and Chin, 1973):

.. math:: \Sigma_{ij} = \frac{[i = j]}{L_{jj}^2}
                        - \sum_{k > j} \Sigma_{ik} \frac{L_{kj}}{L_{jj}}, \qquad i \ge j .

Without a prior of scores the Hessian is flat along a few directions, which anchors take out. Any
few items that are held tell errors across them.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.comparison_rows import Band
from comparity.ranking.likelihood.exact import Solving
from comparity.ranking.likelihood.objective import Penalised
from comparity.ranking.likelihood.passes import Pass

Floats = NDArray[np.float64]

LOST_PRECISION = 1e-14
"""Precision of scores, as a part of their curvature, up to which a prior is lost in rounding."""
LEAST_PIVOT = 1e-14
"""Part of a diagonal entry that is left at least: of less, rounding decides."""
FIXED_PRECISION = 1e30
"""What holds a parameter that nothing is told about, so that it has no error, as in the inverse."""


def solve_banded(objective: Penalised) -> Banded | None:
    """Return errors by a factor, where there is a narrow band of scores and biases."""
    band = objective.data.rows.band
    if band is None or not band.has_biases:
        return None
    factor = _factor_band(objective, band, biases_known=False)
    return None if factor is None else Banded(objective, band, factor)


def variances_given_biases(objective: Penalised, most_work: float = math.inf) -> Floats | None:
    """Return the variances that scores about their mean would have if all biases were known.

    None where no narrow band allows it, or a factor takes more products than `most_work`.
    """
    band = objective.data.rows.band
    if band is None or band.work > most_work:
        return None
    factor = _factor_band(objective, band, biases_known=True)
    if factor is None:
        return None
    places = band.place[: objective.n_items]
    mean = np.zeros((band.length, 1))
    mean[places] = 1 / len(places)
    with_mean = _solve_band(factor, mean)[places, 0]
    found: Floats = _inverse_near(factor, 1)[places, 0] - 2 * with_mean + with_mean.mean()
    return found


class Banded(Solving):
    """Exact errors where an objective was evaluated last.

    Parameters
    ----------
    objective : Penalised
        Not to be evaluated elsewhere before all errors have been asked for.
    band : Band
    factor : ndarray
        Of that band, by Cholesky's method.
    """

    def __init__(self, objective: Penalised, band: Band, factor: Floats) -> None:
        super().__init__(objective)
        self._band, self._factor = band, factor
        n, c = objective.n_items, objective.n_contrasts
        inside = np.flatnonzero(band.place[n:] >= 0)
        # Of each place in the band, the parameter that stands there.
        self._within = np.empty(band.length, np.int64)
        self._within[band.place[:n]] = np.arange(n)
        for contrast in range(c):
            self._within[band.place[n + inside] + contrast] = n + inside * c + contrast
        self._border = np.setdiff1d(np.arange(objective.size), self._within)
        self._columns, self._added, self._left_out = _shared_priors(objective)

    @property
    def variances(self) -> Floats:
        """Variances of all parameters."""
        return self._nearby[:, 0]

    @property
    def of_biases(self) -> Floats:
        """Covariance of each evaluator's biases, (evaluators, contrasts, contrasts)."""
        m, c = self._objective.n_evaluators, self._objective.n_contrasts
        bias, found = self._nearby[self._biases].reshape(m, c, -1), np.empty((m, c, c))
        for one in range(c):
            for two in range(one, c):
                found[:, one, two] = found[:, two, one] = bias[:, one, two - one]
        return found

    def solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the Hessian."""
        drawn = self._solve(right)
        solved: Floats = drawn - self._pull @ (self._reduction @ (self._columns.T @ drawn))
        return solved

    @cached_property
    def _nearby(self) -> Floats:
        """Covariances of each parameter with itself and those right after it, as many as biases."""
        depth = max(1, self._objective.n_contrasts)
        inside = _inverse_near(self._factor, depth)
        fence, rest = self._fence
        found = np.zeros((self._objective.size, depth))
        over, through = fence @ rest, self._pull @ self._reduction
        for after in range(depth):
            inside[:, after] += _inner_of_rows(over, fence, after)
            found[self._within, after] = inside[:, after]
            beside = np.diagonal(rest, after)
            found[self._border[: len(beside)], after] = beside
            found[:, after] -= _inner_of_rows(through, self._pull, after)
        return found

    @cached_property
    def _pull(self) -> Floats:
        """Columns along which priors act on all at once, times the inverse of the rest."""
        return self._solve(self._columns)

    @cached_property
    def _reduction(self) -> Floats:
        r"""What acting on all at once takes from that inverse.

        With P the precisions of the priors that are left out along Q, C is less than zero by
        :math:`P N`, :math:`N = (Q^T Q)^{-1}`, and where they hold nearly everything,
        :math:`I + Q^T Y C` is a small difference. But K Q is Q P plus what comparisons tell of Q,
        so that :math:`Q^T Y P N` is :math:`Q^T Q N` minus the inverse times that.
        """
        columns, inverse = self._columns, np.linalg.pinv(self._columns.T @ self._columns)
        told = columns.T @ self._solve(_multiply_likelihood(self._objective, columns))
        free = np.eye(len(inverse)) - columns.T @ columns @ inverse
        inner = free + told @ inverse + columns.T @ self._pull @ self._added
        taken: Floats = (self._added - self._left_out @ inverse) @ np.linalg.pinv(inner)
        return taken

    @cached_property
    def _fence(self) -> tuple[Floats, Floats]:
        """The border's columns through the band, and the covariance of the parameters in it."""
        over, corner = self._beside()
        fence = _solve_band(self._factor, over)
        sizes = np.diagonal(corner) ** -0.5
        scale = np.outer(sizes, sizes)
        left = np.linalg.pinv((corner - over.T @ fence) * scale, hermitian=True)
        return fence, np.asarray(left * scale, dtype=np.float64)

    def _beside(self) -> tuple[Floats, Floats]:
        """Return the border's part of the Hessian beside the band, and what is left of it."""
        objective, place, n = self._objective, self._band.place, self._objective.n_items
        size, c = len(self._border), objective.n_contrasts
        over, corner = np.zeros((self._band.length, size)), np.zeros((size, size))
        outside = np.flatnonzero(place[n:] < 0)
        first = np.full(objective.n_evaluators, -1, np.int64)
        first[outside] = c * np.arange(len(outside))
        columns = (*_columns_of(objective, c), objective.data.weights())
        _add_fence(*(*columns, place, first, over, corner))
        for own in first[outside]:
            corner[own : own + c, own : own + c] += objective.penalty.bias
        effects, own = objective.effect_columns(), slice(c * len(outside), None)
        over[:, own] = effects[self._within]
        corner[:, own], corner[own] = effects[self._border], effects[self._border].T
        corner[np.diag_indices(size)] += FIXED_PRECISION * (np.diagonal(corner) == 0.0)
        return over, corner

    def _solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of band and border."""
        fence, rest = self._fence
        inside, found = _solve_band(self._factor, right[self._within]), np.empty_like(right)
        # What the band leaves of the border's rows: its columns over the band are symmetric.
        outside = rest @ (right[self._border] - fence.T @ right[self._within])
        found[self._within], found[self._border] = inside - fence @ outside, outside
        return found


def _solve_band(factor: Floats, right: Floats) -> Floats:
    """Multiply columns with the inverse of a band."""
    if not right.shape[1]:
        return right
    return np.asarray(lapack.dpbtrs(factor.T, right, lower=1)[0], dtype=np.float64)


def _inner_of_rows(one: Floats, two: Floats, after: int) -> Floats:
    """Return the inner product of each row of one with that of two so many rows after it."""
    found, last = np.zeros(len(one)), max(0, len(one) - after)
    found[:last] = np.einsum("ij,ij->i", one[:last], two[after:])
    return found


def _shared_priors(objective: Penalised) -> tuple[Floats, Floats, Floats]:
    """Return along which columns priors act on all at once: how, and what they leave out there."""
    penalty, n = objective.penalty, objective.n_items
    m = objective.n_evaluators
    c = objective.n_contrasts if penalty.bias.any() else 0
    free = np.empty((n, 0))
    if penalty.basis is not None and penalty.scores > 0:
        free = penalty.basis
    columns = np.zeros((objective.size, c + free.shape[1]))
    columns[n : n + m * c, :c] = np.tile(np.eye(c), (m, 1))
    columns[:n, c:] = free
    added, left_out = np.zeros((2, columns.shape[1], columns.shape[1]))
    added[:c, :c] = penalty.mean / m**2 * np.eye(c)
    added[c:, c:] = penalty.level * np.linalg.pinv(free.T @ free)
    left_out[:c, :c] = penalty.bias[:c, :c]
    left_out[c:, c:] = penalty.scores * np.eye(free.shape[1])
    return columns, added, left_out


def _multiply_likelihood(objective: Penalised, columns: Floats) -> Floats:
    """Multiply columns with the Hessian of the likelihood, up to multiples of K beside them.

    Where all biases together are flat against scores, comparisons tell of both the same. The
    inverse makes these scores of it, which no bias has a part in, minus what it makes of what holds
    them: a small number that would be lost in rounding otherwise.
    """
    found, flat = np.zeros_like(columns), objective.flat_basis
    n, directions = objective.n_items, flat.shape[1] - 1
    biases = columns.shape[1] and columns[n:].any(axis=0).sum()
    for column in range(columns.shape[1]):
        if column < min(directions, biases):
            held = _precision_of_scores(objective, biases_known=False)
            found[:n, column] = -held * flat[:, column + 1]
        else:
            found[:, column] = _multiply_comparisons(objective, columns[:, column].copy())
    return found


def _multiply_comparisons(objective: Penalised, vector: Floats) -> Floats:
    """Multiply the Hessian of the likelihood, in double precision however many items there are."""
    parts = Pass.product(objective.data, *objective.split(vector))
    return np.concatenate([part.ravel() for part in parts])


def _columns_of(objective: Penalised, n_contrasts: int) -> tuple[Any, ...]:
    rows = objective.data.rows
    return rows.better, rows.worse, rows.evaluator, rows.contrast[:, :n_contrasts]


def _factor_band(objective: Penalised, band: Band, *, biases_known: bool) -> Floats | None:
    """Return Cholesky's factor of the band: of each column the diagonal and what is below it.

    None where rounding decides about it: parts of the items are not held against each other.
    """
    n, c = objective.n_items, 0 if biases_known else objective.n_contrasts
    bars = np.zeros((band.length, band.width + 1))
    columns = (*_columns_of(objective, c), objective.data.weights())
    _add_bars(*(*columns, band.place, n, bars))
    bars[band.place[:n], 0] += _precision_of_scores(objective, biases_known=biases_known)
    firsts = band.place[n:][band.place[n:] >= 0]
    for one in range(c):
        for two in range(one, c):
            bars[firsts + one, two - one] += objective.penalty.bias[one, two]
    bars[bars[:, 0] == 0.0, 0] = FIXED_PRECISION
    diagonal = bars[:, 0].copy()
    factor, failed = lapack.dpbtrf(bars.T, lower=1, overwrite_ab=1)
    if failed or (factor[0] ** 2 < LEAST_PIVOT * diagonal).any():
        return None
    return np.asarray(factor.T, dtype=np.float64)


def _precision_of_scores(objective: Penalised, *, biases_known: bool) -> Floats:
    """Return the precision of each score's prior; without a prior some items are held fixed.

    Of these there are as many as directions in which the likelihood is flat, far apart along them.
    """
    penalty, whole = objective.penalty, float(objective.last.scores[:, 1].mean())
    held = np.full(objective.n_items, penalty.scores)
    if penalty.scores <= LOST_PRECISION * whole:
        alone = biases_known or penalty.mean > 0
        basis = objective.flat_basis[:, :1] if alone else objective.flat_basis
        left, order = qr(basis.T, mode="r", pivoting=True)
        sizes = np.abs(np.diagonal(left))
        held[order[: (sizes > 1e-9 * sizes.max()).sum()]] += whole
    return held


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


@njit(cache=True, nogil=True)
def _add_fence(better, worse, evaluator, contrast, weight, place, first, over, corner):  # type: ignore[no-untyped-def]
    """Add the curvature of comparisons by evaluators in the border, whose `first` column is there.

    To `over` what they have in common with items in the band, to `corner` what is their own.
    """
    for p in range(len(better)):
        start = first[evaluator[p]]
        if start < 0:
            continue
        for c in range(contrast.shape[1]):
            amount = weight[p] * contrast[p, c]
            over[place[better[p]], start + c] += amount
            over[place[worse[p]], start + c] -= amount
            for d in range(contrast.shape[1]):
                corner[start + c, start + d] += amount * contrast[p, d]


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
        for a in range(width):
            share[a] = 0.0
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
        for a in range(width):
            window[slot, a] = window[a, slot] = row[a]
        out[j, 0] = window[slot, slot] = diagonal
    return out
