"""The penalised likelihood, passes over comparisons plus Gaussian priors, and its minimum.

It is convex and of many parameters: Newton's method with conjugate gradients needs products with
the Hessian alone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.counts.kernels.compilation import njit
from comparity.ranking.likelihood.passes import Evaluation, Pass

Floats = NDArray[np.float64]

Watch = Callable[[int, float], None]
"""Called with the step and the norm of the gradient."""

EFFECT_SD = 10.0
"""SD of the prior of seat effect and tie parameter: wide, and finite if all go one way."""
MOST_PRODUCTS = 500
# Rounding alone moves a sum of a million terms by this share of itself.
ROUNDED_VALUE = 1e-12
ROUNDED_CURVATURE = 1e-15
"""Curvature, as a part of what the diagonal says, that is rounding where nothing is told."""


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def inner(one: Floats, two: Floats) -> float:
    """Return the inner product of two vectors, by no library that would start threads for it."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * two[i]
    return total


def norm(vector: Floats) -> float:
    """Return the Euclidean norm."""
    return math.sqrt(inner(vector, vector))


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
        Orthonormal columns whose span the scores' prior leaves free: the levels of groups, where
        trusted evaluators fix them.
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
        inside: Floats = self.basis @ (self.basis.T @ scores)
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
        self.flat_basis = basis if flat else basis[:, :1]
        self._flat_columns = np.ascontiguousarray(self.flat_basis.T)
        self._coarse = self._flat_inverse()
        self._diagonal = np.ones(self.size)
        self.last: Evaluation
        self.point: Floats

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return scores, biases and extra parameters of a point."""
        end = self.n_items + self.n_evaluators * self.n_contrasts
        bias = point[self.n_items : end].reshape(self.n_evaluators, self.n_contrasts)
        return point[: self.n_items], bias, point[end:]

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient, and keep the curvature."""
        self.point = point
        scores, bias, extra = self.split(point)
        found = self.last = self.data.at(scores, bias, extra)
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
        bias_out = bias_out + self.penalty.bias_pull(bias)
        extra_out = extra_out + extra / EFFECT_SD**2
        return _join_parts(out + self.penalty.pull(scores), bias_out, extra_out)

    def effect_columns(self) -> Floats:
        """Return the columns of the Hessian of seat effect and tie parameter."""
        columns = np.zeros((self.size, self.data.rows.n_extra))
        for place in range(-columns.shape[1], 0):
            columns[:, place] = self.product(np.eye(1, self.size, self.size + place)[0])
        return columns

    def directions(self, basis: Floats) -> Floats:
        """Return directions in which scores follow a basis, and biases go against them.

        Its first column moves all scores alike, each further one the scores of a contrast.
        """
        n, c, count = self.n_items, self.n_contrasts, basis.shape[1]
        flat = np.zeros((self.size, count))
        flat[:n] = basis
        for contrast in range(count - 1):
            flat[n + contrast : n + self.n_evaluators * c : c, contrast + 1] = -1
        return flat

    def precondition(self, vector: Floats) -> Floats:
        """Divide by the diagonal, and solve exactly along the flat directions."""
        ready: Floats = vector / self._diagonal
        if self._coarse is None:
            return ready
        scores, bias, _ = self.split(vector)
        n = self.flat_basis.shape[1] - 1
        along = np.array([inner(column, scores) for column in self._flat_columns])
        along[1:] -= bias[:, :n].sum(axis=0)
        steps = self._coarse @ along
        for step, column in zip(steps.tolist(), self._flat_columns, strict=True):
            ready[: self.n_items] += step * column
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
        return np.asarray(np.linalg.pinv(bend), dtype=np.float64)


def _join_parts(scores: Floats, bias: Floats, extra: Floats) -> Floats:
    return np.concatenate([scores, bias.ravel(), extra])


class Objective(Protocol):
    """A convex function with products of its Hessian."""

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient, and make this point the one of `product`."""

    def product(self, vector: Floats) -> Floats:
        """Multiply the Hessian at the point evaluated last with a vector."""

    def precondition(self, vector: Floats) -> Floats:
        """Multiply an approximate inverse of that Hessian with a vector."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """Where the minimisation ended; the objective was evaluated there last.

    Attributes
    ----------
    point : ndarray
    value, gradient_norm : float
    converged : bool
        Whether the norm of the gradient is below the tolerance.
    steps, evaluations, products : int
        Newton steps, evaluations of the objective, and products with the Hessian.
    """

    point: Floats
    value: float
    gradient_norm: float
    converged: bool
    steps: int
    evaluations: int
    products: int


def conjugate_gradients(
    objective: Objective, right: Floats, *, relative: float, most: int = MOST_PRODUCTS
) -> tuple[Floats, int]:
    """Solve Hessian x = right up to a relative residual; return x and the products spent."""
    solution, residual = np.zeros_like(right), right.copy()
    goal = relative * norm(right)
    ready = objective.precondition(residual)
    direction, size = ready, inner(residual, ready)
    for spent in range(1, most + 1):
        image = objective.product(direction)
        bend = inner(direction, image)
        if bend <= ROUNDED_CURVATURE * size or size <= 0:
            return solution, spent
        step = size / bend
        solution += step * direction
        residual -= step * image
        if norm(residual) <= goal:
            return solution, spent
        ready = objective.precondition(residual)
        previous, size = size, inner(residual, ready)
        direction = ready + (size / previous) * direction
    return solution, most


def minimise(
    objective: Objective,
    start: Floats,
    *,
    tolerance: float,
    part: float = 0.0,
    most_steps: int = 100,
    watch: Watch | None = None,
) -> Solution:
    """Minimise a convex function to a gradient norm.

    Each step solves for Newton's direction to a precision that grows as the gradient falls, and
    goes along it as far as the function falls enough (Armijo), with slack for rounding.

    Parameters
    ----------
    objective : Objective
    start : ndarray
    tolerance : float
        Euclidean norm of the gradient to reach.
    part : float
        Part of the norm at the start that is enough.
    most_steps : int
        Newton steps allowed.
    watch : callable, optional
        Called with the step and the gradient norm.
    """
    point = start.copy()
    value, gradient = objective.evaluate(point)
    first = slope = norm(gradient)
    tolerance = max(tolerance, part * first)
    evaluations, products, steps = 1, 0, 0
    while slope > tolerance and steps < most_steps:
        if watch is not None:
            watch(steps, slope)
        relative = max(min(0.1, slope / first), 0.3 * tolerance / slope, 1e-5)
        direction, spent = conjugate_gradients(objective, -gradient, relative=relative)
        products += spent
        length, fall = 1.0, inner(gradient, direction)
        while True:
            new_value, new_gradient = objective.evaluate(point + length * direction)
            new_slope = norm(new_gradient)
            evaluations += 1
            enough = value + 1e-4 * length * fall + ROUNDED_VALUE * abs(value)
            if new_value <= enough or length < 1e-8:
                break
            length /= 2
        steps += 1
        stuck = length < 1e-8 or (
            new_slope >= slope and new_value >= value - ROUNDED_VALUE * abs(value)
        )
        if length >= 1e-8:
            point += length * direction
            value, gradient, slope = new_value, new_gradient, new_slope
        else:
            objective.evaluate(point)
        if stuck:
            break
    return Solution(
        point=point,
        value=value,
        gradient_norm=slope,
        converged=slope <= tolerance,
        steps=steps,
        evaluations=evaluations,
        products=products,
    )


@contextmanager
def watch_fit(n: int, least: int) -> Iterator[Watch | None]:
    """Show the step and the gradient of a fit of n comparisons, from `least` of them on."""
    if n < least or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(f"fitting {n:,} comparisons") as status:
        yield lambda step, norm: status.update(
            f"fitting {n:,} comparisons: step {step}, gradient {norm:.1e}"
        )
