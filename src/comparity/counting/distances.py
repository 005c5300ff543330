"""How far rows were moved: distances between features before and after a change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["DISTANCES", "row_distances"]

Floats = NDArray[np.float64]

DISTANCES = ("euclidean", "manhattan", "mahalanobis")


def row_distances(before: Floats, after: Floats) -> dict[str, Floats]:
    """Return the distance each row was moved, by each of :data:`DISTANCES`.

    Mahalanobis' distance uses the covariance of all rows before and after together, as AIF360 does;
    where it is singular, its pseudo-inverse.

    Examples
    --------
    >>> moved = row_distances(np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 0.0]]))
    >>> moved["euclidean"].tolist(), moved["manhattan"].tolist()
    ([5.0, 0.0], [7.0, 0.0])
    """
    shift = after - before
    covariance = np.atleast_2d(np.cov(np.vstack([before, after]), rowvar=False))
    inverse = np.linalg.pinv(covariance, hermitian=True)
    square = np.einsum("ij,jk,ik->i", shift, inverse, shift)
    return {
        "euclidean": np.sqrt((shift**2).sum(axis=1)),
        "manhattan": np.abs(shift).sum(axis=1),
        "mahalanobis": np.sqrt(np.maximum(square, 0.0)),
    }
