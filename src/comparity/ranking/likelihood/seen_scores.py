r"""Scores as each evaluator sees them, where evaluators have tastes of their own.

Evaluator k sees item i at :math:`u_{ki} = s_i + t_{ki}`, with tastes :math:`t_{ki} \sim
N(0, \tau_k^2)`, and puts i above j with log odds
:math:`g_k (u_{ki} - u_{kj} + b_k \cdot (x_i - x_j))`. To a pass over comparisons the u are items:
first the scores s, which nobody compares, then those of one evaluator after the other. Their prior
is that of the scores and

.. math:: \sum_k |u_k - s|^2 / (2 \tau_k^2) .

What an evaluator sees has to do with others by the scores alone. With :math:`L_k` the weighted
Laplacian of the comparisons of k, :math:`M_k = (I + \tau_k^2 L_k)^{-1}`, and P the precision of the
prior of scores, all of it follows from matrices no larger than the number of items:

.. math:: \operatorname{Cov}(s) = C = \Big(P + \sum_k L_k M_k\Big)^{-1}, \quad
          \operatorname{Cov}(u_k, s) = M_k C, \quad
          \operatorname{Cov}(u_k) = \tau_k^2 M_k + M_k C M_k ,

biases known; with :math:`\tau_k = 0` these are those of one score for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.ranking.anchors import Move
from comparity.ranking.likelihood.comparison_rows import ComparisonRows
from comparity.ranking.likelihood.exact import Solving, inverse, one_thread
from comparity.ranking.likelihood.objective import Penalised, Penalty

Floats = NDArray[np.float64]


def see_apart(rows: ComparisonRows) -> ComparisonRows:
    """Return comparisons whose items are what their evaluator sees, after the scores."""
    first = (rows.evaluator + 1) * rows.n_items
    return replace(
        rows,
        better=(rows.better + first).astype(np.int32),
        worse=(rows.worse + first).astype(np.int32),
        n_items=rows.n_items * (rows.n_evaluators + 1),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenMove(Move):
    """A move of scores, with which all that evaluators see moves along."""

    n_scores: int

    @classmethod
    def of(cls, move: Move, n_evaluators: int) -> SeenMove:
        """Return the move of all that `n_evaluators` see."""
        n = len(move.basis)
        weights = np.zeros((n * (n_evaluators + 1), move.basis.shape[1]))
        weights[:n] = move.score_weights
        return cls(
            basis=np.tile(move.basis, (n_evaluators + 1, 1)),
            score_weights=weights,
            bias_weights=move.bias_weights,
            shifts=move.shifts,
            n_scores=n,
        )

    @property
    def level_weights(self) -> Floats:
        """Weights of scores in the levels of groups: what evaluators see has none."""
        own = self.basis[: self.n_scores]
        weights = np.zeros_like(self.basis)
        weights[: self.n_scores] = own @ np.linalg.pinv(own.T @ own)
        return weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TastePenalty(Penalty):
    """Precisions of the priors of scores, tastes and biases.

    Attributes
    ----------
    tastes : ndarray, (evaluators,)
        Variance of the tastes of each evaluator.
    own : ndarray or None, (evaluators, contrasts)
        Precisions of single biases about zero, beside those of all.
    """

    tastes: Floats
    own: Floats | None = None

    def pull(self, scores: Floats) -> Floats:
        """Return the gradient of the penalty of scores and tastes."""
        seen = scores.reshape(len(self.tastes) + 1, -1, *scores.shape[1:])
        worth, shape = seen[0], (-1,) + (1,) * scores.ndim
        apart = (seen[1:] - worth) / self.tastes.reshape(shape)
        # By name: a class with slots is not the one that super() would look for.
        pulled = np.concatenate([(Penalty.pull(self, worth) - apart.sum(axis=0))[None], apart])
        return np.asarray(pulled.reshape(scores.shape), dtype=np.float64)

    def pull_within(self, scores: Floats) -> Floats:
        """Return the part of that gradient that is about single scores."""
        pulled, n = np.zeros_like(scores), len(scores) // (len(self.tastes) + 1)
        pulled[:n] = Penalty.pull_within(self, scores[:n])
        return pulled

    def bias_pull(self, bias: Floats) -> Floats:
        """Return the gradient of the biases' penalty."""
        pulled = Penalty.bias_pull(self, bias)
        return pulled if self.own is None else pulled + self.own * bias

    def bias_hessian(self, n_evaluators: int) -> Floats:
        """Return the Hessian of the biases' penalty, evaluator by evaluator."""
        hessian = Penalty.bias_hessian(self, n_evaluators)
        return hessian if self.own is None else hessian + np.diag(self.own.ravel())


class SeenObjective(Penalised):
    """The penalised likelihood of scores, of what evaluators see, and of biases.

    `solver`, exact somewhere near, makes a few products of the Hessian enough.
    """

    penalty: TastePenalty
    solver: SeenInverse | None = None

    def precondition(self, vector: Floats) -> Floats:
        """Multiply the inverse of a Hessian nearby."""
        if self.solver is None:
            return super().precondition(vector)
        return self.solver.solve(vector[:, None])[:, 0]


class SeenInverse(Solving):
    """Exact errors of scores, of what evaluators see, and of all else.

    Attributes
    ----------
    given, joint : ndarray, (1 + evaluators, items, items)
        Covariances of the scores and of what each evaluator sees, biases known or not.
    cross : ndarray, (1 + evaluators, items, biases and effects)
        Covariance between these and biases and effects.
    rest : ndarray
        Covariance of biases and effects.
    """

    def __init__(self, objective: SeenObjective) -> None:
        super().__init__(objective)
        self._n = objective.n_items // (objective.n_evaluators + 1)
        self._tastes = objective.penalty.tastes[:, None, None]
        with one_thread():
            self._invert_scores(objective)
            self._invert_rest(objective)

    def _invert_scores(self, objective: SeenObjective) -> None:
        rows, n = objective.data.rows, self._n
        told = np.zeros((objective.n_evaluators, n, n))
        _add_laplacians(rows.better, rows.worse, objective.data.weights(), told)
        self._shrinking = np.linalg.inv(np.eye(n) + self._tastes * told)
        prior = Penalty.pull(objective.penalty, np.eye(n))
        if objective.penalty.basis is not None or objective.penalty.scores == 0:
            # Where all scores are together makes no difference.
            prior += 1 / n
        self._worth = inverse(prior + (told @ self._shrinking).sum(axis=0))
        # With scores known, then what scores leave open.
        followed = self._shrinking @ self._worth
        self.given = np.concatenate([self._worth[None], followed @ self._shrinking])
        self.given[1:] += self._tastes * self._shrinking

    def _invert_rest(self, objective: SeenObjective) -> None:
        rows, n, m, c = objective.data.rows, self._n, objective.n_evaluators, objective.n_contrasts
        size = objective.n_items
        effects = objective.effect_columns()
        self._between = np.zeros((size, objective.size - size))
        _add_between(*rows.columns(), objective.data.weights(), self._between)
        self._between[:, m * c :] = effects[:size]
        curved = np.zeros((objective.size - size,) * 2)
        curved[:, m * c :], curved[m * c :] = effects[size:], effects[size:].T
        curved[: m * c, : m * c] = objective.penalty.bias_hessian(m)
        for k, block in enumerate(objective.last.bias_blocks):
            curved[k * c : (k + 1) * c, k * c : (k + 1) * c] += block
        self._drawn = self._solve_scores(self._between)
        self.rest = inverse(curved - self._between.T @ self._drawn)
        cross = self._drawn @ self.rest
        self.cross = -cross.reshape(m + 1, n, -1)
        drawn = self._drawn.reshape(m + 1, n, -1)
        self.joint = self.given - self.cross @ drawn.transpose(0, 2, 1)

    def _solve_scores(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the part of scores and of what evaluators see."""
        seen = right.reshape(len(self._tastes) + 1, self._n, -1)
        followed = self._shrinking @ seen[1:]
        worth = self._worth @ (seen[0] + followed.sum(axis=0))
        both = [worth[None], self._shrinking @ worth + self._tastes * followed]
        return np.concatenate(both).reshape(right.shape)

    def solve(self, right: Floats) -> Floats:
        """Multiply columns with the inverse of the Hessian."""
        size = len(self._between)
        alone = self._solve_scores(right[:size])
        rest = self.rest @ (right[size:] - self._between.T @ alone)
        return np.concatenate([alone - self._drawn @ rest, rest])

    @cached_property
    def variances(self) -> Floats:
        """Variances of all parameters."""
        of_seen = np.diagonal(self.joint, axis1=1, axis2=2).ravel()
        return np.concatenate([of_seen, np.diagonal(self.rest)])

    @property
    def scores(self) -> Floats:
        """Variances of the scores alone."""
        return self.variances[: self._n]

    @property
    def of_biases(self) -> Floats:
        """Covariance of each evaluator's biases, (evaluators, contrasts, contrasts)."""
        m, c = self._objective.n_evaluators, self._objective.n_contrasts
        found: Floats = np.einsum("kckd->kcd", self.rest[: m * c, : m * c].reshape(m, c, m, c))
        return found

    @cached_property
    def of_tastes(self) -> Floats:
        """Sum of the variances of each evaluator's tastes."""
        kept = self._shrinking - np.eye(self._n)
        found = self._tastes[:, 0, 0] * np.trace(self._shrinking, axis1=1, axis2=2)
        found += ((kept @ self._worth) * kept).sum(axis=(1, 2))
        drawn = self._drawn.reshape(len(self.given), self._n, -1)
        apart = drawn[1:] - drawn[0]
        found += ((apart @ self.rest) * apart).sum(axis=(1, 2))
        return np.asarray(found, dtype=np.float64)


@njit(cache=True, nogil=True)
def _add_laplacians(better, worse, weight, out):  # type: ignore[no-untyped-def]
    """Add the weights of each evaluator's comparisons between items, both halves."""
    n = out.shape[1]
    for p in range(len(better)):
        k, w = better[p] // n - 1, weight[p]
        i, j = better[p] % n, worse[p] % n
        out[k, i, i] += w
        out[k, j, j] += w
        out[k, i, j] -= w
        out[k, j, i] -= w


@njit(cache=True, nogil=True)
def _add_between(better, worse, evaluator, contrast, weight, out):  # type: ignore[no-untyped-def]
    """Add the Hessian between what evaluators see and their biases."""
    n_contrasts = contrast.shape[1]
    for p in range(len(better)):
        for c in range(n_contrasts):
            step = weight[p] * contrast[p, c]
            out[better[p], evaluator[p] * n_contrasts + c] += step
            out[worse[p], evaluator[p] * n_contrasts + c] -= step


@njit(cache=True, nogil=True)
def seen_leads(better, worse, given):  # type: ignore[no-untyped-def]
    """Return the variance of each lead as its evaluator sees it, biases known."""
    n, out = given.shape[1], np.empty(len(better))
    for p in range(len(better)):
        k, i, j = better[p] // n, better[p] % n, worse[p] % n
        out[p] = given[k, i, i] + given[k, j, j] - 2 * given[k, i, j]
    return out


@njit(cache=True, nogil=True)
def seen_spreads(better, worse, evaluator, contrast, joint, given, cross, rest):  # type: ignore[no-untyped-def]
    """Return twice that variance minus the whole one."""
    n, n_contrasts = given.shape[1], contrast.shape[1]
    out = 2 * seen_leads(better, worse, given) - seen_leads(better, worse, joint)
    for p in range(len(better)):
        k, i, j = better[p] // n, better[p] % n, worse[p] % n
        place = evaluator[p] * n_contrasts
        for c in range(n_contrasts):
            x = contrast[p, c]
            out[p] -= 2 * x * (cross[k, i, place + c] - cross[k, j, place + c])
            for d in range(n_contrasts):
                out[p] -= x * contrast[p, d] * rest[place + c, place + d]
    return out
