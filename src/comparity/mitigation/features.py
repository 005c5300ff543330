"""Features and groups checked at the door, alike for every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.counting._values import LARGEST, as_array, rows_of, values_of
from comparity.errors import OptionError, OutOfRangeError
from comparity.errors.mitigation import NonFiniteFeatureError
from comparity.tables import of_engine, text_of

__all__ = ["check_features", "sensitive_column", "unmasked"]

NAMED = 5
"""So many columns are named in an error."""


def check_features(X: NDArray[np.float64], names: NDArray[Any] | None = None) -> None:
    """Refuse features that are not finite, or so large that their variances are not.

    Parameters
    ----------
    X : ndarray, (n, p)
        One row for each item.
    names : ndarray, (p,), optional
        What errors call the columns; their positions by default.

    Raises
    ------
    NonFiniteFeatureError
        A feature is missing or infinite.
    OutOfRangeError
        A feature is larger than 1e30 in size.

    Examples
    --------
    >>> check_features(np.array([[1.0, 2.0], [3.0, 1e31]]), np.array(["age", "income"]))
    Traceback (most recent call last):
    comparity.errors.bridging.OutOfRangeError: column 'income' must hold numbers of at most 1e+30...
      found: 1 row (data row 2), such as '1e+31'
      hint:  check for placeholders such as 1e308, or choose a larger unit.
    """
    # NaN is never within.
    within = np.abs(X) <= LARGEST
    if within.all():
        return
    called = [f"X[:, {place}]" for place in range(X.shape[1])] if names is None else names
    lost = ~np.isfinite(X)
    if lost.any():
        columns = [text_of(called[place]) for place in np.flatnonzero(lost.any(axis=0))[:NAMED]]
        raise NonFiniteFeatureError(columns, rows_of(np.asarray(lost.any(axis=1))))
    first = int(np.flatnonzero(~within.all(axis=0))[0])
    raise OutOfRangeError(text_of(called[first]), rows_of(~within[:, first], X[:, first]), LARGEST)


def sensitive_column(values: Any) -> NDArray[Any]:
    """Return the sensitive attribute as one column, also of a frame or a table with a single one.

    Raises
    ------
    OptionError
        There are several columns.

    Examples
    --------
    >>> sensitive_column(np.array([["f"], ["m"]])).tolist()
    ['f', 'm']
    """
    shape: tuple[int, ...] = getattr(values, "shape", ())
    if len(shape) != 2:
        return as_array(values, "sensitive_features")
    if shape[1] != 1:
        wanted = "one column: join several as text, such as 'f & old'"
        raise OptionError("sensitive_features", f"{shape[1]} columns", [wanted])
    return values_of(values, "sensitive_features")[:, 0]


def unmasked(values: Any) -> Any:
    """Return values as they are, but missing where numpy masks them: scikit-learn forgets masks.

    Examples
    --------
    >>> unmasked(np.ma.masked_equal([1, 2, -999], -999)).tolist()
    [1.0, 2.0, nan]
    """
    if not isinstance(values, np.ma.MaskedArray):
        # Refuses two columns of one name; scikit-learn would show an error of another package.
        of_engine(values)
        return values
    if not np.ma.getmaskarray(values).any():
        return values.data
    if values.dtype.kind in "biuf":
        return np.ma.filled(values.astype(np.float64), np.nan)
    return values_of(values, "array")
