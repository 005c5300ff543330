"""Newton's method with conjugate gradients, for convex objectives of many parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from comparity.ranking._vectors import inner, norm

__all__ = ["Objective", "Solution", "conjugate_gradients", "minimise"]

Floats = NDArray[np.float64]

MOST_PRODUCTS = 500
# Rounding alone moves a sum of a million terms by this share of itself.
SLACK = 1e-12
FLAT = 1e-15
"""Curvature, as a part of what the diagonal says, that is rounding where nothing is told."""


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
        if bend <= FLAT * size or size <= 0:
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
    most_steps: int = 100,
    watch: Callable[[int, float], None] | None = None,
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
    most_steps : int
        Newton steps allowed.
    watch : callable, optional
        Called with the step and the gradient norm.
    """
    point = start.copy()
    value, gradient = objective.evaluate(point)
    first = slope = norm(gradient)
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
            enough = value + 1e-4 * length * fall + SLACK * abs(value)
            if new_value <= enough or length < 1e-8:
                break
            length /= 2
        steps += 1
        stuck = length < 1e-8 or (new_slope >= slope and new_value >= value - SLACK * abs(value))
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
