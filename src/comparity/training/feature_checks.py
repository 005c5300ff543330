"""Features, scores, groups and weights of rows, checked at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import (
    EmptyTableError,
    NonFiniteFeatureError,
    OptionError,
    OutOfRangeError,
    TwoGroupsOnlyError,
    UnknownGroupError,
    WeightError,
)
from comparity.tables.features import NAMES, LabelledItems, labelled_items
from comparity.tables.frames import of_engine, text_of
from comparity.tables.values import (
    LARGEST,
    as_array,
    check_lengths,
    group_codes,
    numbers,
    rows_of,
    values_of,
)

Floats = NDArray[np.float64]

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
    comparity.errors.values.OutOfRangeError: column 'income' must hold numbers of at most 1e+30...
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


def flatten_arrays(X: Any, scorer: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return features with one row of numbers for each item, and the shape that they had.

    Only what takes arrays is given them; all others refuse more than two dimensions, as
    scikit-learn does.

    Examples
    --------
    >>> class Takes:
    ...     takes_arrays = True
    >>> flat, shape = flatten_arrays(np.zeros((5, 2, 3)), Takes())
    >>> flat.shape, shape
    ((5, 6), (2, 3))
    """
    if not getattr(scorer, "takes_arrays", False) or np.ndim(X) < 3:
        return X, None
    arrays = np.asarray(unmask(X))
    return arrays.reshape(len(arrays), -1), arrays.shape[1:]


def features_to_fit(
    estimator: Any, X: Any, y: Any, **how: Any
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return features and labels as scikit-learn checks them for ``fit``; features are finite."""
    # Imported here, as below: a linear score is trained by the command without scikit-learn.
    from sklearn.utils.validation import validate_data

    how |= {"dtype": np.float64, "ensure_min_samples": 2, "ensure_all_finite": False}
    X, y = validate_data(estimator, unmask(X), unmask(y), **how)
    check_features(X, getattr(estimator, "feature_names_in_", None))
    return X, y


def features_to_score(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return finite features with the columns that an estimator was fitted to."""
    from sklearn.utils.validation import check_is_fitted, validate_data

    check_is_fitted(estimator)
    how = {"reset": False, "dtype": np.float64, "ensure_all_finite": False}
    features: Floats = validate_data(estimator, unmask(X), **how)
    check_features(features, getattr(estimator, "feature_names_in_", None))
    return features


def weigh_rows(
    X: Floats, y: NDArray[Any], columns: dict[str, Any], weights: Any
) -> tuple[Floats, dict[str, NDArray[Any]]]:
    """Return features and columns of the rows that weigh anything."""
    from sklearn.utils.validation import _check_sample_weight

    given = {name: as_array(one, name) for name, one in columns.items() if one is not None}
    given["y"] = y
    check_lengths(given)
    if weights is None:
        return X, given
    given["sample_weight"] = _check_sample_weight(unmask(weights), X, ensure_non_negative=True)
    kept = given["sample_weight"] > 0
    if not kept.any():
        raise WeightError("sample_weight", rows_of(~kept))
    return X[kept], {name: one[kept] for name, one in given.items()}


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


def unmask(values: Any) -> Any:
    """Return values as they are, but missing where numpy masks them: scikit-learn forgets masks.

    Examples
    --------
    >>> unmask(np.ma.masked_equal([1, 2, -999], -999)).tolist()
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


def check_columns(scores: ArrayLike, sensitive: ArrayLike) -> tuple[Floats, NDArray[Any]]:
    """Return scores and groups of as many rows, of which there is one."""
    values = numbers(as_array(scores, "scores"), "scores", "array")
    column = as_array(sensitive, "sensitive_features")
    check_lengths({"scores": values, "sensitive_features": column})
    if not len(values):
        raise EmptyTableError("array")
    return values, column


def group_positions(
    scores: ArrayLike, sensitive: ArrayLike, groups: tuple[str, ...]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return scores and positions in `groups`."""
    values, column = check_columns(scores, sensitive)
    codes, names = group_codes(column, "sensitive_features", "array", several=False)
    unknown = [name for name in names if name not in groups]
    if unknown:
        raise UnknownGroupError(unknown[0], "sensitive_features", groups)
    return values, np.array([groups.index(name) for name in names], dtype=np.int64)[codes]


def items_of_two_groups(
    y: ArrayLike,
    scores: ArrayLike,
    sensitive_features: ArrayLike,
    *,
    queries: ArrayLike | None = None,
    what: str,
) -> LabelledItems:
    """Return labelled and scored rows of exactly two groups, as `what` needs them."""
    names = {**NAMES, "label": "y", "score": "scores"}
    items = labelled_items(y, scores, sensitive_features, queries=queries, names=names)
    if len(items.groups) != 2:
        raise TwoGroupsOnlyError(what, items.groups)
    return items
