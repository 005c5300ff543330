"""Sensitive features as people pass them, made into named columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counting._values import check_groups, values_of
from comparity.errors import DuplicateColumnError, OptionError
from comparity.tables import of_engine, placed_columns

__all__ = [
    "as_array",
    "check_groups",
    "check_two_names",
    "named_attributes",
    "one_attribute",
    "placed_features",
    "qualified",
]

UNNAMED = "group"


def as_array(values: Any, name: str = "a column") -> NDArray[Any]:
    """Return a column of any engine, a sequence or an array as a numpy array.

    What is missing in a list of words, or masked, stays missing.
    """
    native = of_engine(values)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        columns = _columns_of(native)
        if len(columns) != 1:
            raise OptionError("a column", list(columns), ["a frame with one column, or a series"])
        return next(iter(columns.values()))
    return _of_series(native) if isinstance(native, nw.Series) else values_of(values, name)


def check_two_names(names: Any) -> None:
    """Refuse anything but two different names of decision makers."""
    good = isinstance(names, tuple | list) and len(names) == 2
    if not good or not all(isinstance(name, str) and name for name in names):
        raise OptionError("names", names, ["two names, such as ('panel', 'model')"])
    if names[0] == names[1]:
        raise OptionError("names", names, ["two names"], "both are called alike")


def named_attributes(sensitive_features: Any) -> dict[str, NDArray[Any]]:
    """Return sensitive features by name.

    Parameters
    ----------
    sensitive_features : array-like, series, mapping or frame
        One attribute as a sequence or series, several as a mapping of names to sequences, as the
        columns of a frame or of a two-dimensional array.

    Examples
    --------
    >>> list(named_attributes(["f", "m"]))
    ['group']
    >>> list(named_attributes({"sex": ["f", "m"], "race": ["b", "w"]}))
    ['sex', 'race']
    """
    if isinstance(sensitive_features, Mapping):
        return _by_text({name: as_array(one) for name, one in sensitive_features.items()})
    native = of_engine(sensitive_features)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return _columns_of(native)
    if isinstance(native, nw.Series):
        return {UNNAMED if native.name in (None, "") else str(native.name): _of_series(native)}
    if _rows_alike(sensitive_features):
        columns = map(list, zip(*sensitive_features, strict=True))
        return {str(k): values_of(column, str(k)) for k, column in enumerate(columns)}
    values = values_of(sensitive_features, UNNAMED)
    if values.ndim == 2:
        return {str(column): values[:, column] for column in range(values.shape[1])}
    return {UNNAMED: values}


def _of_series(series: nw.Series[Any]) -> NDArray[Any]:
    """Return the values of a column; numpy has no integers of 128 bits."""
    wide = isinstance(series.dtype, nw.Int128 | nw.UInt128)
    return values_of(series.to_list(), "a column") if wide else series.to_numpy()


def _columns_of(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame, which may be named by numbers."""
    return _by_text(placed_columns(frame))


def _by_text(columns: Mapping[Any, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Name columns by text; 1 and "1" would be one."""
    found = {str(name): values for name, values in columns.items()}
    if len(found) < len(columns):
        names = list(map(str, columns))
        raise DuplicateColumnError("array", repr(max(names, key=names.count)))
    return found


def _rows_alike(values: Any) -> bool:
    """Say whether these are rows of one length, as lists within a list."""
    if not isinstance(values, list | tuple) or not values:
        return False
    return all(isinstance(row, list | tuple) and len(row) == len(values[0]) for row in values)


def placed_features(X: Any) -> Any:
    """Return features for rows known by their place: what is masked is missing, a query steady."""
    if isinstance(X, np.ma.MaskedArray):
        return values_of(X, "X")
    native = of_engine(X, "features")
    if not isinstance(native, nw.LazyFrame):
        return X
    return np.column_stack(list(placed_columns(native).values()))


def qualified(attribute: str, text: str, *, several: bool) -> str:
    """Put the attribute before a text where more than one attribute is audited."""
    return f"{attribute}: {text}" if several else text


def one_attribute(sensitive_features: Any) -> NDArray[Any]:
    """Return the only sensitive attribute there is."""
    attributes = named_attributes(sensitive_features)
    if len(attributes) != 1:
        why = "a matrix has one kind of groups"
        raise OptionError("sensitive_features", list(attributes), ["one column"], why)
    return next(iter(attributes.values()))
