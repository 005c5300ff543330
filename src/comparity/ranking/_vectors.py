"""Sums over vectors of parameters, and all linear algebra, on the thread that asks for them.

Linear algebra libraries hand such sums to threads of their own, which then wait for more by
spinning: on a machine with as many cores as passes over comparisons have threads, a fit of ten
million comparisons takes half as long again. Where cores are busy, threads wait for each other at
every block of a factor, which then takes a hundred times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from comparity.counting.compilation import njit

__all__ = ["add_combination", "inner", "inner_with_columns", "inverse", "norm", "one_thread"]

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
