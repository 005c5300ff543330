"""Features of two sets of subjects, made into what a regressor takes, the same on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counting._values import as_array, bounded_numbers, rows_of, values_of
from comparity.errors import (
    FeatureMismatchError,
    LengthMismatchError,
    MissingValueError,
    NotNumericError,
    UnsupportedColumnError,
)
from comparity.tables import is_missing, of_engine, placed_columns, text_of

__all__ = ["matched_columns", "matched_features"]

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]


def matched_features(first: Any, second: Any, *, sizes: tuple[int, int]) -> tuple[Any, Any]:
    """Return the features of both sides in a form that a regressor can fit and predict from.

    Parameters
    ----------
    first, second : frame, array_like or sparse matrix
        Rows are subjects. Text columns become one column for each value seen in `first`; a value
        seen only in `second` has none of them. A list of texts stays one, for a regressor that
        starts by making vectors of texts.
    sizes : tuple of int
        Subjects of both sides.

    Raises
    ------
    ComparityError
        Other columns, or numbers on one side and text on the other; gaps; infinite numbers; other
        than one row for each subject.
    """
    named = [_named(side) for side in (first, second)]
    if named[0] is not None and named[1] is not None:
        pair: tuple[Any, Any] = matched_columns(named[0], named[1])
    elif named[0] is None and named[1] is None:
        pair = _matched_arrays(first, second)
    else:
        kinds = ["a frame with named columns" if one is not None else "an array" for one in named]
        raise FeatureMismatchError(kinds[0], kinds[1])
    for rows, size, side in zip(pair, sizes, ("first", "second"), strict=True):
        if rows.shape[0] != size:
            raise LengthMismatchError({f"{side} decisions": size, "features": rows.shape[0]})
    return pair


def matched_columns(first: Columns, second: Columns) -> tuple[Floats, Floats]:
    """Return one matrix for each side from named columns of numbers and text.

    Examples
    --------
    >>> one = {"age": np.array([30, 40]), "town": np.array(["x", "y"], dtype=object)}
    >>> two = {"town": np.array(["y"], dtype=object), "age": np.array([35])}
    >>> [side.tolist() for side in matched_columns(one, two)]
    [[[30.0, 1.0, 0.0], [40.0, 0.0, 1.0]], [[35.0, 0.0, 1.0]]]
    """
    if first.keys() != second.keys() or not first:
        apart = sorted(map(str, first.keys() ^ second.keys()))
        where = f" ({', '.join(apart)} on one side only)" if apart else ""
        raise FeatureMismatchError(f"{len(first)} columns{where}", f"{len(second)} columns")
    blocks = [_encoded(str(name), first[name], second[name]) for name in first]
    return np.hstack([one for one, _ in blocks]), np.hstack([two for _, two in blocks])


def _named(features: Any) -> Columns | None:
    native = of_engine(features, "features")
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return placed_columns(native)
    return None


def _matched_arrays(first: Any, second: Any) -> tuple[Any, Any]:
    if hasattr(first, "tocsr") and hasattr(second, "tocsr"):
        one, two = first.tocsr(), second.tocsr()
        for matrix in (one, two):
            bounded_numbers(matrix.data, "features", "features")
    else:
        one, two = (_as_given(side) for side in (first, second))
        if {one.ndim, two.ndim} - {1, 2}:
            found = f"{one.ndim} and {two.ndim} dimensions"
            raise UnsupportedColumnError("features", "features", found)
    if one.ndim == 1 and two.ndim == 1:
        return _single(one, two)
    widths = [side.shape[1] if side.ndim == 2 else 1 for side in (one, two)]
    if widths[0] != widths[1]:
        raise FeatureMismatchError(f"{widths[0]} columns", f"{widths[1]} columns")
    if hasattr(one, "tocsr"):
        return one, two
    columns = ({str(k): side[:, k] for k in range(widths[0])} for side in (one, two))
    return matched_columns(*columns)


def _as_given(features: Any) -> NDArray[Any]:
    """Return features as an array in which what is masked, or missing among words, stays so."""
    if hasattr(features, "__array__"):
        return values_of(features, "features", "features")
    # numpy would write numbers and gaps among words as words.
    rows = np.array(features, dtype=object)
    if rows.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in rows):
        raise UnsupportedColumnError("features", "features", "rows of different lengths")
    return rows


def _single(first: NDArray[Any], second: NDArray[Any]) -> tuple[Any, Any]:
    """Return one column of numbers, or texts as they are."""
    one, two = _as_numbers("features", first), _as_numbers("features", second)
    if one is not None and two is not None:
        return one[:, None], two[:, None]
    if one is None and two is None:
        return np.array([*map(str, first)], dtype=object), np.array([*map(str, second)], object)
    kinds = ["text" if side is None else "numbers" for side in (one, two)]
    raise FeatureMismatchError(kinds[0], kinds[1])


def _encoded(name: str, first: NDArray[Any], second: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return a column of numbers as it is, and one column for each value of a column of text."""
    one, two = _as_numbers(name, first), _as_numbers(name, second)
    if one is not None and two is not None:
        return one[:, None], two[:, None]
    if one is not None or two is not None:
        kinds = ["text" if side is None else "numbers" for side in (one, two)]
        raise FeatureMismatchError(f"{kinds[0]} in column {name!r}", kinds[1])
    texts = [np.array([text_of(value) for value in side.tolist()]) for side in (first, second)]
    known = np.unique(texts[0])
    return (
        (texts[0][:, None] == known).astype(np.float64),
        (texts[1][:, None] == known).astype(np.float64),
    )


def _as_numbers(name: str, column: NDArray[Any]) -> Floats | None:
    """Return a column as numbers, or ``None`` where it is text."""
    column = as_array(column, name, "features")
    try:
        return bounded_numbers(column, name, "features")
    except NotNumericError:
        gaps = np.array([is_missing(value) for value in column.tolist()], dtype=bool)
        if gaps.any():
            raise MissingValueError(name, "features", rows_of(gaps)) from None
        return None
