"""Nearest neighbours of every item, how their labels agree, and how far rows were moved.

Exact up to :data:`EXACT_ROWS` items. Above, items are put into as many heaps as twice the root of
their number, by their nearest centre, and an item looks for its neighbours in the heaps whose
centres are nearest. That misses some neighbours and takes others nearly as near. By how much this
changes the result is measured on a sample of items whose neighbours are found exactly, and stated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counts.decisions import NeighbourCounts
from comparity.errors import FeatureError, OptionError

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

EXACT_ROWS = 20_000
"""Up to so many items all distances are worked out."""

# Items whose neighbours are found exactly where the others' are not, and items over whose pairs the
# variance is summed at most.
CHECKED, VARIANCE_ROWS = 2_000, 50_000
# Heaps in which an item looks for its neighbours: more of them the more features there are.
FEWEST_HEAPS, MOST_HEAPS = 12, 40
# So many more neighbours than wanted are found in single precision.
SPARE = 8
# Squared distances that differ by no larger a share are equal.
TIED = 1e-9
# Distances worked out at a time, and how many there must be for the compiled kernel to pay.
BLOCK, NUMBERS_TO_COMPILE = 2**21, 10**7


def count_neighbours(
    features: Floats,
    labels: NDArray[np.bool_],
    *,
    n_neighbors: int = 5,
    rng: np.random.Generator,
    exact_rows: int = EXACT_ROWS,
) -> NeighbourCounts:
    """Count items by label and number of positive labels among their nearest neighbours.

    Parameters
    ----------
    features : ndarray of float, shape (n, d)
        Finite features; distances are Euclidean, on the scale the features come in.
    labels : ndarray of bool
        Label of each item.
    n_neighbors : int
        Neighbours of each item, itself included.
    rng : numpy.random.Generator
        Draws centres and the items that are checked; not used where the search is exact.
    exact_rows : int
        Up to so many items the search is exact.

    Returns
    -------
    NeighbourCounts
        With the error of the approximation, where there is one.

    Examples
    --------
    >>> features = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> labels = np.array([True, True, False, False, False])
    >>> rng = np.random.default_rng(1)
    >>> count_neighbours(features, labels, n_neighbors=2, rng=rng).table.tolist()
    [[2, 1, 0], [0, 0, 2]]
    """
    n = len(features)
    if not 1 <= n_neighbors < n:
        raise OptionError("n_neighbors", n_neighbors, [f"a whole number from 1 to {n - 1}"])
    centred = _centre(features)
    if n <= exact_rows:
        nearest, tied = _exact(centred, np.arange(n), n_neighbors)
        return _count_labels(nearest, labels, rng, tied=int(tied.sum()))
    nearest, tied = _approximate(centred, n_neighbors, rng)
    rows = rng.choice(n, min(CHECKED, n), replace=False)
    exact, _ = _exact(centred, rows, n_neighbors)
    extra = _away(exact, labels, rows) - _away(nearest[rows], labels, rows)
    error = float(extra.mean()), float(extra.std(ddof=1) / math.sqrt(len(rows)))
    return _count_labels(nearest, labels, rng, tied=int(tied.sum()), checked=len(rows), error=error)


def feature_matrix(X: Any, n: int) -> Floats:
    """Return features as a matrix of finite floats with one row for each item.

    Parameters
    ----------
    X : array-like or frame, shape (n, d)
        Numeric features.
    n : int
        Rows there must be.

    Raises
    ------
    FeatureError
        Another number of rows or dimensions, text, gaps or infinite values.
    """
    import narwhals as nw

    from comparity.tables.frames import of_engine

    native = of_engine(X, "features")
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    try:
        values = native.to_numpy() if isinstance(native, nw.DataFrame) else np.asarray(X)
        matrix: Floats = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise FeatureError("numbers only", str(error)) from error
    if matrix.ndim != 2 or len(matrix) != n:
        raise FeatureError(f"{n:,} rows and one column for each feature", f"shape {matrix.shape}")
    broken = ~np.isfinite(matrix)
    if broken.any():
        rows = (np.flatnonzero(broken.any(axis=1))[:5] + 1).tolist()
        found = f"{int(broken.sum()):,} missing or infinite values, first in data rows {rows}"
        raise FeatureError("finite numbers", found)
    return matrix


def _centre(features: Floats) -> Floats:
    """Return features around 0 and at most 1 in size, so that single precision can hold them."""
    centred = features - features.mean(axis=0)
    # Dividing by a power of two rounds nothing, so that equal distances stay equal.
    _, exponent = np.frexp(np.abs(centred).max(initial=0.0))
    halved: Floats = np.ldexp(centred, -int(exponent))
    return halved


def _count_labels(
    nearest: Codes, labels: NDArray[np.bool_], rng: np.random.Generator, **facts: Any
) -> NeighbourCounts:
    k = nearest.shape[1]
    positive = labels[nearest].sum(axis=1)
    table = np.bincount(labels * (k + 1) + positive, minlength=2 * (k + 1)).reshape(2, k + 1)
    away = np.abs(labels - positive / k)
    square = _dependent_square(nearest, away - away.mean(), rng)
    return NeighbourCounts(table=table, dependent_square=square, **facts)


def _away(nearest: Codes, labels: NDArray[np.bool_], rows: Codes) -> Floats:
    """Return how much agreement each item has with its neighbours, up to a constant."""
    agreement: Floats = -np.abs(labels[rows] - labels[nearest].mean(axis=1))
    return agreement


def _dependent_square(nearest: Codes, deviation: Floats, rng: np.random.Generator) -> float:
    """Add up products of deviations over every two items that share a neighbour."""
    from scipy.sparse import csr_array

    n, k = nearest.shape
    rows = np.repeat(np.arange(n), k)
    ones = np.ones(n * k, dtype=np.float32)
    has = csr_array((ones, (rows, nearest.ravel())), shape=(n, n))
    some = np.arange(n)
    if n > VARIANCE_ROWS:
        some = rng.choice(n, VARIANCE_ROWS, replace=False)
    shared = has[some] @ has.T
    shared.data[:] = 1.0
    total = float(deviation[some] @ (shared @ deviation)) * n / len(some)
    # A pair of items cannot know less than each of them alone.
    return float(np.maximum(total, deviation @ deviation))


def _exact(features: Floats, rows: Codes, k: int) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the k nearest items of some items among all, and whether the last place was tied."""
    compiled = len(rows) * len(features) > NUMBERS_TO_COMPILE
    height = max(1, BLOCK // len(features))
    single, double = _columns(features.astype(np.float32)), _columns(features)
    places: Codes = np.empty((len(rows), k + 1), dtype=np.int64)
    squares = np.empty((len(rows), k + 1))
    for start in range(0, len(rows), height):
        part = slice(start, start + height)
        if compiled and len(features) > k + SPARE:
            places[part], squares[part], open_ = _refine_nearest(features, single, rows[part], k)
        else:
            open_ = np.ones(len(rows[part]), dtype=bool)
        if open_.any():
            doubtful = start + np.flatnonzero(open_)
            block = _rows(features[rows[doubtful]]) @ double
            places[doubtful], _ = _smallest(block, k, compiled=compiled)
            squares[doubtful] = _squares(features, rows[doubtful], places[doubtful])
            furthest = squares[doubtful].max(axis=1)
            near = doubtful[_is_blurred(features[rows[doubtful]], furthest)]
            places[near] = _by_differences(features, rows[near], k)
            squares[near] = _squares(features, rows[near], places[near])
    return places[:, :k], squares[:, k] - squares[:, k - 1] <= TIED * squares[:, k]


def _refine_nearest(
    features: Floats, single: NDArray[np.float32], rows: Codes, k: int
) -> tuple[Codes, Floats, NDArray[np.bool_]]:
    """Find neighbours in single precision with some to spare, and put them in order in double.

    Returns the k + 1 nearest items, their squared distances, and whether an item that was left
    out may be nearer than one of them, for all that single precision says.
    """
    own = features[rows].astype(np.float32)
    chosen, values = _smallest(_rows(own) @ single, k + SPARE, compiled=True)
    exact = _squares(features, rows, chosen)
    order = np.argsort(exact, axis=1, kind="stable")[:, : k + 1]
    squares = np.take_along_axis(exact, order, axis=1)
    size = (features[rows] ** 2).sum(axis=1)
    # An item c nearer to x than the last neighbour has |c|^2 <= 2 (|x|^2 + distance^2), and the
    # sum |c|^2 - 2 x c of d + 1 products is off by at most d + 4 roundings of |c|^2 + 2 |x| |c|.
    rounding = np.finfo(np.float32).eps * (features.shape[1] + 4)
    beyond = values[:, -1] + size - rounding * (5 * size + 4 * squares[:, k])
    return np.take_along_axis(chosen, order, axis=1), squares, beyond <= squares[:, k]


def _is_blurred(own: Floats, squares: Floats) -> NDArray[np.bool_]:
    """Return which items are too close together for distances from double-precision products."""
    size = (own**2).sum(axis=1)
    rounding = np.finfo(np.float64).eps * (own.shape[1] + 4)
    blurred: NDArray[np.bool_] = rounding * (5 * size + 4 * squares) > TIED * squares
    # Nothing is nearer than an equal row.
    return blurred & (squares > 0)


def _by_differences(features: Floats, rows: Codes, k: int) -> Codes:
    """Return the k + 1 nearest items by sums of squared differences, from which nothing cancels.

    Items that one feature puts far from the middle of all may be near each other: amounts in the
    millions, most of them 0, beside features around 1.
    """
    block = np.zeros((len(rows), len(features)))
    for column in features.T:
        block += (column[rows, None] - column) ** 2
    return _smallest(block, k, compiled=False)[0]


def _squares(features: Floats, rows: Codes, places: Codes) -> Floats:
    """Return squared distances of items to some items each."""
    away = features[places] - features[rows][:, None, :]
    squares: Floats = np.einsum("ijk,ijk->ij", away, away)
    return squares


def _smallest(block: NDArray[Any], k: int, *, compiled: bool) -> tuple[Codes, NDArray[Any]]:
    """Return positions and values of the k + 1 smallest entries of each row."""
    if compiled:
        # Imported here: small tables are done before the kernel is loaded.
        from comparity.counts.kernels.sorting import smallest

        places, values = smallest(block, k)
        return places, values
    chosen = np.argpartition(block, k, axis=1)[:, : k + 1]
    values = np.take_along_axis(block, chosen, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1), np.take_along_axis(values, order, axis=1)


def _approximate(
    features: Floats, k: int, rng: np.random.Generator
) -> tuple[Codes, NDArray[np.bool_]]:
    """Look for neighbours in the heaps whose centres are nearest."""
    from comparity.counts.kernels.sorting import nearest_in_heaps

    data = features.astype(np.float32)
    centres = _centres(data, rng)
    probes = min(FEWEST_HEAPS + data.shape[1] // 2, MOST_HEAPS, len(centres) - 1)
    heaps = _nearest_centres(data, centres, probes)
    # Items of one heap lie side by side, so that a heap is read from the cache.
    order = np.argsort(heaps[:, 0], kind="stable")
    sizes = np.bincount(heaps[:, 0], minlength=int(heaps.max()) + 1)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places, squares = nearest_in_heaps(np.ascontiguousarray(data[order]), starts, heaps[order], k)
    nearest, tied = np.empty((len(data), k), dtype=np.int64), np.empty(len(data), dtype=bool)
    nearest[order] = order[places[:, :k]]
    tied[order] = squares[:, k] - squares[:, k - 1] <= 1e-6 * squares[:, k]
    return nearest, tied


def _centres(data: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Return centres of heaps, after a few steps of k-means on a sample."""
    n_heaps = 2 * math.isqrt(len(data))
    sample = data[rng.choice(len(data), min(len(data), 32 * n_heaps), replace=False)]
    centres = sample[:n_heaps].copy()
    for _ in range(4):
        own = _nearest_centres(sample, centres, 1)[:, 0]
        sizes = np.bincount(own, minlength=n_heaps)
        for column in range(data.shape[1]):
            total = np.bincount(own, sample[:, column], n_heaps)
            moved = total / np.maximum(sizes, 1)
            centres[:, column] = np.where(sizes > 0, moved, centres[:, column])
    return centres


def _nearest_centres(data: NDArray[np.float32], centres: NDArray[np.float32], wanted: int) -> Codes:
    """Return the nearest centres of each item, the nearest first."""
    height = max(1, BLOCK // len(centres))
    columns = _columns(centres)
    parts = []
    for start in range(0, len(data), height):
        block = _rows(data[start : start + height]) @ columns
        if wanted == 1:
            parts.append(np.argmin(block, axis=1)[:, None])
        else:
            parts.append(_smallest(block, wanted - 1, compiled=True)[0])
    return np.concatenate(parts)


# A row (-2x, 1) times a column (c, |c|^2) is the squared distance minus |x|^2, the same for
# all of a row: one matrix product, and no further pass over the block.
def _rows(data: NDArray[Any]) -> NDArray[Any]:
    return np.hstack([-2 * data, np.ones((len(data), 1), dtype=data.dtype)])


def _columns(data: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(np.hstack([data, (data**2).sum(axis=1, keepdims=True)]).T)


def row_distances(before: Floats, after: Floats) -> dict[str, Floats]:
    """Return the distance each row was moved, by three kinds of distance.

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
