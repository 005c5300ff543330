"""Newton's method with conjugate gradients, for convex objectives of many parameters.

Linear algebra libraries hand such sums to threads of their own, which then wait for more by
spinning: on a machine with as many cores as passes over comparisons have threads, a fit of ten
million comparisons takes half as long again. Where cores are busy, threads wait for each other at
every block of a factor, which then takes a hundred times as long.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import RLock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from comparity.counts.kernels.compilation import njit

Floats = NDArray[np.float64]


AnyOrder = {"reassoc", "contract"}


# Whoever is in a context may enter another.
_limiting = RLock()


@njit(cache=True, nogil=True, fastmath=AnyOrder)
def inner(one: Floats, two: Floats) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * two[i]
    return total


def norm(vector: Floats) -> float:
    """Return the Euclidean norm."""
    return math.sqrt(inner(vector, vector))


@njit(cache=True, nogil=True, fastmath=AnyOrder)
def inner_with_columns(columns: Floats, vector: Floats) -> Floats:
    """Return the inner product of each column with a vector."""
    out = np.zeros(columns.shape[1])
    for c in range(columns.shape[1]):
        total = 0.0
        for i in range(len(vector)):
            total += columns[i, c] * vector[i]
        out[c] = total
    return out


@njit(cache=True, nogil=True)
def add_combination(columns: Floats, steps: Floats, out: Floats) -> None:
    """Add to a vector the columns times their steps."""
    for c in range(columns.shape[1]):
        for i in range(len(out)):
            out[i] += columns[i, c] * steps[c]


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


Watch = Callable[[int, float], None]
"""Called with the step and the norm of the gradient."""


@contextlib.contextmanager
def watching(n: int, least: int) -> Iterator[Watch | None]:
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
