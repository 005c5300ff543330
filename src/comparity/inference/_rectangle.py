"""Kernel: the probability that correlated normal variables all stay within bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["rectangle_probability"]

Vector = NDArray[np.float64]

# A prime number of lattice points: an error of about 1e-5 up to five groups, 1e-4 beyond.
_POINTS = 8191
_NEGLIGIBLE = 1e-10


def rectangle_probability(lower: Vector, upper: Vector, correlation: Vector) -> float:
    """Return the probability that ``lower <= z <= upper`` in every coordinate.

    `z` is normal with mean 0, variances 1 and the given correlation, which may be singular: the
    gaps between three groups, for example, add up to zero. Unrelated coordinates are separated, so
    that independent tests give an exact product. Within a block the method is Genz's separation of
    variables [1]_ on a fixed lattice; a coordinate that others determine narrows the bounds of the
    last of them. No random numbers: the same question always gets the same answer.

    Parameters
    ----------
    lower, upper : ndarray of shape (m,)
        Bounds; infinite ones are allowed.
    correlation : ndarray of shape (m, m)

    Returns
    -------
    float
        Between 0 and 1; 0 where any lower bound exceeds its upper bound, 1 without coordinates.

    References
    ----------
    .. [1] Genz, "Numerical computation of multivariate normal probabilities", J. Comput. Graph.
       Stat. 1 (1992).

    Examples
    --------
    >>> bounds = np.array([1.0, 1.0])
    >>> round(rectangle_probability(-bounds, bounds, np.eye(2)), 4)
    0.4661
    >>> round(rectangle_probability(-bounds, bounds, np.ones((2, 2))), 4)
    0.6827
    """
    if np.any(lower > upper):
        return 0.0
    probability = 1.0
    for block in _blocks(correlation):
        inner = correlation[np.ix_(block, block)]
        probability *= _block_probability(lower[block], upper[block], inner)
    return float(probability)


def _blocks(correlation: Vector) -> list[NDArray[np.int64]]:
    """Split the coordinates into sets that are unrelated to each other."""
    if not len(correlation):
        return []
    reach = np.abs(correlation) > _NEGLIGIBLE
    for _ in range(len(reach).bit_length()):
        reach = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
    first = np.argmax(reach, axis=1)
    return [np.flatnonzero(first == label) for label in np.unique(first)]


def _block_probability(lower: Vector, upper: Vector, correlation: Vector) -> float:
    alone = ndtr(upper) - ndtr(lower)
    if len(alone) == 1:
        return float(alone[0])
    # The tightest bounds first: what is left to integrate varies less.
    order = np.argsort(alone, kind="stable")
    lower, upper = lower[order], upper[order]
    root, rank = _echelon_root(correlation[np.ix_(order, order)])
    last = _last_column(root)
    uniform = _lattice(rank)
    normal = np.zeros((rank, _POINTS))
    weight = np.ones(_POINTS)
    for column in range(rank):
        rows = np.flatnonzero(last == column)
        low, high = _bounds(lower[rows], upper[rows], root[rows], normal, column)
        below, above = ndtr(low), ndtr(high)
        inside = np.maximum(above - below, 0.0)
        weight *= inside
        position = np.clip(below + uniform[column] * inside, 1e-300, 1 - 1e-16)
        normal[column] = ndtri(position)
    return float(weight.mean())


def _echelon_root(correlation: Vector) -> tuple[Vector, int]:
    """Return ``L`` with ``L @ L.T == correlation`` and as many columns as the rank."""
    size = len(correlation)
    root = np.zeros((size, size))
    pivots: list[int] = []
    for row in range(size):
        for column, pivot in enumerate(pivots):
            known = root[row, :column] @ root[pivot, :column]
            root[row, column] = (correlation[row, pivot] - known) / root[pivot, column]
        left = correlation[row, row] - root[row] @ root[row]
        if left > _NEGLIGIBLE:
            root[row, len(pivots)] = np.sqrt(left)
            pivots.append(row)
    return root[:, : len(pivots)], len(pivots)


def _last_column(root: Vector) -> NDArray[np.int64]:
    """Return, for each row, the last column that it depends on."""
    used = np.abs(root) > np.sqrt(_NEGLIGIBLE)
    last: NDArray[np.int64] = root.shape[1] - 1 - np.argmax(used[:, ::-1], axis=1)
    return last


def _bounds(
    lower: Vector, upper: Vector, root: Vector, normal: Vector, column: int
) -> tuple[Vector, Vector]:
    """Return the bounds that `rows` put on one variable, given those before it."""
    known = root[:, :column] @ normal[:column]
    scale = root[:, column, None]
    one, other = (lower[:, None] - known) / scale, (upper[:, None] - known) / scale
    return np.minimum(one, other).max(axis=0), np.maximum(one, other).min(axis=0)


def _lattice(dimensions: int) -> Vector:
    """Return Richtmyer's lattice: multiples of the square roots of primes, folded."""
    roots = np.sqrt(_primes(dimensions))[:, None]
    position = (np.arange(1, _POINTS + 1) * roots + 0.5) % 1
    # Folding makes the integrand periodic, which the lattice rewards.
    folded: Vector = np.abs(2 * position - 1)
    return folded


def _primes(count: int) -> Vector:
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return np.array(primes, dtype=np.float64)
