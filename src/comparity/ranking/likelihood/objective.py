"""The penalised likelihood: passes over comparisons plus Gaussian priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from comparity.ranking.judgments import Judgments
from comparity.ranking.likelihood.margins import order_by
from comparity.ranking.likelihood.newton import add_combination, inner, inner_with_columns
from comparity.ranking.likelihood.passes import (
    ComparisonRows,
    Evaluation,
    FusedPass,
    GeneralPass,
    Pass,
)

Floats = NDArray[np.float64]


EFFECT_SD = 10.0
"""SD of the prior of seat effect and tie parameter: wide, and finite if all go one way."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Penalty:
    """Precisions of the Gaussian priors.

    Attributes
    ----------
    scores : float
        Of every score about zero, or about its group's mean where `basis` is given.
    bias : ndarray, (contrasts, contrasts)
        Of every evaluator's biases about the mean of all evaluators, which is left free: a common
        bias is not shrunk, so that the anchor alone decides about it.
    basis : ndarray or None
        Columns whose span the scores' prior leaves free: the levels of groups, where trusted
        evaluators fix them.
    level : float
        Of these levels about zero. Trusted evaluators may have chosen one group always.
    mean : float
        Of the mean bias about zero. Zero, but for a panel that always chose one group, which has
        no finite fit without it.
    """

    scores: float
    bias: Floats
    basis: Floats | None = None
    level: float = 0.0
    mean: float = 0.0

    def pull(self, scores: Floats) -> Floats:
        """Return the gradient of the scores' penalty."""
        if self.scores == 0 or self.basis is None:
            return self.scores * scores
        levels = self._levels(scores)
        pulled: Floats = self.scores * (scores - levels) + self.level * levels
        return pulled

    def pull_within(self, scores: Floats) -> Floats:
        """Return the part of that gradient that is about single scores, not levels of groups."""
        if self.scores == 0 or self.basis is None:
            return self.scores * scores
        within: Floats = self.scores * (scores - self._levels(scores))
        return within

    def _levels(self, scores: Floats) -> Floats:
        assert self.basis is not None
        inside: Floats = self.basis @ np.linalg.lstsq(self.basis, scores, rcond=None)[0]
        return inside

    def bias_pull(self, bias: Floats) -> Floats:
        """Return the gradient of the biases' penalty."""
        if not bias.shape[1]:
            return bias
        mean = bias.mean(axis=0)
        pulled: Floats = (bias - mean) @ self.bias + self.mean * mean / len(bias)
        return pulled

    def bias_hessian(self, n_evaluators: int) -> Floats:
        """Return the Hessian of the biases' penalty, evaluator by evaluator."""
        alike = np.full((n_evaluators, n_evaluators), 1 / n_evaluators)
        own = np.kron(np.eye(n_evaluators) - alike, self.bias)
        hessian: Floats = own + np.kron(alike, np.eye(len(self.bias))) * self.mean / n_evaluators
        return hessian


def rows_of(
    judgments: Judgments, columns: NDArray[np.int8], *, seat_by_evaluator: bool
) -> ComparisonRows:
    """Return comparisons sorted by evaluator, with the contrasts of each pair.

    Parameters
    ----------
    judgments : Judgments
    columns : ndarray of int8, (items, contrasts)
    seat_by_evaluator : bool
        Whether the seat is a contrast of each evaluator, instead of one effect for all.
    """
    n = len(judgments)
    evaluator = judgments.evaluator
    if evaluator is None:
        evaluator = np.zeros(n, np.int32)
    better, worse, seat, tied = judgments.better, judgments.worse, judgments.seat, judgments.tied
    if (np.diff(evaluator) < 0).any():
        order = order_by(evaluator, max(1, judgments.n_evaluators))
        better, worse, evaluator = better[order], worse[order], evaluator[order]
        seat = None if seat is None else seat[order]
        tied = None if tied is None else tied[order]
    contrast = columns[better] - columns[worse]
    if seat_by_evaluator and seat is not None:
        contrast, seat = np.column_stack([contrast, seat]), None
    return ComparisonRows(
        better=better,
        worse=worse,
        evaluator=evaluator,
        contrast=contrast,
        n_items=judgments.n_items,
        n_evaluators=max(1, judgments.n_evaluators),
        seat=seat,
        tied=tied,
    )


def pass_over(rows: ComparisonRows) -> Pass:
    """Return the quickest pass that these comparisons allow."""
    plain = rows.n_extra == 0 and rows.contrast.shape[1] <= 1
    return FusedPass(rows) if plain else GeneralPass(rows)


class Penalised:
    """Negative penalised log-likelihood of scores, biases, seat effect and tie parameter.

    Parameters
    ----------
    data : Pass
    penalty : Penalty
    basis : ndarray, (items, 1 + contrasts)
        Score part of the directions in which the likelihood is flat; see
        :class:`comparity.ranking.anchors.Move`.
    flat : bool
        Whether it is: with trusted evaluators only the first direction is.
    tilt : ndarray, optional
        Coefficients of a linear term; see :mod:`comparity.ranking.likelihood.evidence`.
    """

    def __init__(
        self, data: Pass, penalty: Penalty, basis: Floats, *, flat: bool, tilt: Floats | None = None
    ) -> None:
        self.data, self.penalty, self.tilt = data, penalty, tilt
        rows = data.rows
        self.n_items, self.n_evaluators = rows.n_items, rows.n_evaluators
        self.n_contrasts = rows.contrast.shape[1]
        self.size = self.n_items + self.n_evaluators * self.n_contrasts + rows.n_extra
        # Small fits without biases and effects would spend most of their time on empty arrays.
        self._scores_alone = self.size == self.n_items
        self.flat_basis = basis if flat else basis[:, :1]
        self._coarse = self._flat_inverse()
        self._diagonal = np.ones(self.size)
        self.last: Evaluation

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return scores, biases and extra parameters of a point."""
        end = self.n_items + self.n_evaluators * self.n_contrasts
        bias = point[self.n_items : end].reshape(self.n_evaluators, self.n_contrasts)
        return point[: self.n_items], bias, point[end:]

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient, and keep the curvature."""
        scores, bias, extra = self.split(point)
        found = self.last = self.data.evaluate(scores, bias, extra)
        pull, bias_pull = self.penalty.pull(scores), self.penalty.bias_pull(bias)
        held = extra / EFFECT_SD**2
        value = (
            found.loss + (inner(scores, pull) + (bias * bias_pull).sum() + inner(extra, held)) / 2
        )
        gradient = _join_parts(
            found.scores[:, 0] + pull, found.bias + bias_pull, found.extra + held
        )
        if self.tilt is not None:
            value += inner(self.tilt, point)
            gradient += self.tilt
        if self._scores_alone:
            self._diagonal = found.scores[:, 1] + self.penalty.scores
        else:
            self._diagonal = self._curvatures(found)
        # An item or evaluator without any information and prior does not move.
        self._diagonal[self._diagonal <= 0] = np.inf
        return float(value), gradient

    def _curvatures(self, found: Evaluation) -> Floats:
        """Return the diagonal of the Hessian."""
        m = self.n_evaluators
        kept = np.diagonal(self.penalty.bias) * (1 - 1 / m) + self.penalty.mean / m**2
        curvature = np.diagonal(found.bias_blocks, axis1=1, axis2=2) + kept
        return _join_parts(
            found.scores[:, 1] + self.penalty.scores,
            curvature,
            found.extra_diagonal + EFFECT_SD**-2,
        )

    def product(self, vector: Floats) -> Floats:
        """Multiply the Hessian at the point evaluated last."""
        scores, bias, extra = self.split(vector)
        out, bias_out, extra_out = self.data.product(scores, bias, extra)
        out = out + self.penalty.pull(scores)
        if self._scores_alone:
            return out
        bias_out = bias_out + self.penalty.bias_pull(bias)
        return _join_parts(out, bias_out, extra_out + extra / EFFECT_SD**2)

    def precondition(self, vector: Floats) -> Floats:
        """Divide by the diagonal, and solve exactly along the flat directions."""
        ready: Floats = vector / self._diagonal
        if self._coarse is None:
            return ready
        if self._scores_alone:
            steps = self._coarse @ inner_with_columns(self.flat_basis, vector)
            add_combination(self.flat_basis, steps, ready)
            return ready
        scores, bias, _ = self.split(vector)
        n = self.flat_basis.shape[1] - 1
        along = inner_with_columns(self.flat_basis, scores)
        along[1:] -= bias[:, :n].sum(axis=0)
        steps = self._coarse @ along
        add_combination(self.flat_basis, steps, ready[: self.n_items])
        self.split(ready)[1][:, :n] -= steps[1:]
        return ready

    def _flat_inverse(self) -> Floats | None:
        """Along flat directions only the priors of scores and of the mean bias have curvature."""
        if self.penalty.scores == 0:
            return None
        pulled = np.column_stack([self.penalty.pull(column) for column in self.flat_basis.T])
        bend = self.flat_basis.T @ pulled
        bend[1:, 1:] += self.penalty.mean * np.eye(len(bend) - 1)
        # Where the prior leaves a direction free, what is left of its curvature is rounding.
        full = self.penalty.scores * (self.flat_basis**2).sum(axis=0)
        bend[:, np.diagonal(bend) <= 1e-9 * full] = 0.0
        bend[np.diagonal(bend) == 0.0] = 0.0
        if len(bend) == 1:
            return np.divide(1.0, bend, out=np.zeros_like(bend), where=bend != 0.0)
        return np.asarray(np.linalg.pinv(bend), dtype=np.float64)


def _join_parts(scores: Floats, bias: Floats, extra: Floats) -> Floats:
    return np.concatenate([scores, bias.ravel(), extra])


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
    def _of_biases(self) -> Floats:
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
        about: Floats = self._of_biases - with_mean - with_mean.transpose(0, 2, 1) + means.T @ drawn
        return about

    def trace_along(self, basis: Floats) -> float:
        """Return the trace of the scores' covariance within the span of a basis."""
        padded = np.zeros((self._objective.size, basis.shape[1]))
        padded[: len(basis)] = basis
        drawn = self.solve(padded)[: len(basis)]
        return float((basis @ np.linalg.pinv(basis.T @ basis) * drawn).sum())
