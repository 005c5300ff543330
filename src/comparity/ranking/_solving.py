"""What errors are asked for, of whatever solves with the whole Hessian exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from comparity.ranking._objective import Penalised

__all__ = ["Solving"]

Floats = NDArray[np.float64]


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
        """Covariance of each evaluator's biases less the mean of all evaluators."""
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
