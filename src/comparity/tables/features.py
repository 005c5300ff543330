"""Sensitive features and decisions as people pass them, made into named columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.errors import DuplicateColumnError, IndicatorError, LabelSpaceError, OptionError
from comparity.tables.columns import FALSE_WORDS, TRUE_WORDS
from comparity.tables.frames import of_engine, placed_columns, text_of
from comparity.tables.values import factorised, values_of

__all__ = [
    "as_array",
    "check_apart",
    "check_reference",
    "check_two_names",
    "check_words",
    "label_matrices",
    "named_attributes",
    "names_of",
    "one_attribute",
    "placed_features",
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


def one_attribute(sensitive_features: Any) -> NDArray[Any]:
    """Return the only sensitive attribute there is."""
    attributes = named_attributes(sensitive_features)
    if len(attributes) != 1:
        why = "a matrix has one kind of groups"
        raise OptionError("sensitive_features", list(attributes), ["one column"], why)
    return next(iter(attributes.values()))


def names_of(first: Any, second: Any) -> tuple[str, str]:
    """Return the names of two columns, where they have different ones."""
    names = []
    for column in (first, second):
        native = of_engine(column)
        names.append(str(native.name or "") if isinstance(native, nw.Series) else "")
    return (names[0], names[1]) if all(names) and names[0] != names[1] else ("first", "second")


def label_matrices(first: Any, second: Any) -> dict[str, tuple[Any, Any]] | None:
    """Return both decisions by label, where they have a column for each."""
    columns = [_label_columns(one) for one in (first, second)]
    if columns[0] is None and columns[1] is None:
        return None
    if columns[0] is None or columns[1] is None or columns[0].keys() != columns[1].keys():
        raise LabelSpaceError(*(list(one or ("one column",)) for one in columns))
    pairs = {label: (columns[0][label], columns[1][label]) for label in columns[0]}
    for label, pair in pairs.items():
        for values in pair:
            _check_indicator(label, values)
    return pairs


def _check_indicator(label: str, values: NDArray[Any]) -> None:
    """Refuse a column of several that says more than whether a label was given."""
    _, names = factorised(values)
    if not {name.lower() for name in names} <= {*TRUE_WORDS, *FALSE_WORDS}:
        raise IndicatorError(label, names)


def _label_columns(decisions: Any) -> dict[str, Any] | None:
    native = of_engine(decisions, "decisions")
    frame = isinstance(native, nw.DataFrame | nw.LazyFrame)
    if frame and len(native.collect_schema().names()) > 1:
        return named_attributes(decisions)
    if isinstance(decisions, Mapping) or getattr(decisions, "ndim", 1) == 2:
        return named_attributes(decisions)
    return None


def check_words(*, labels: bool, order: Sequence[Any] | None, separator: str | None) -> None:
    """Refuse words that are labels and ordered at once, or ordered in two ways."""
    if separator == "":
        raise OptionError("separator", separator, ["what stands between labels, such as ';'"])
    if order is None:
        return
    if isinstance(order, str):
        raise OptionError("order", order, ["a list of values, from the lowest up"])
    if labels or separator is not None:
        why = "labels have no order"
        raise OptionError("order", [*order], ["no order", "no labels and no separator"], why)
    if len({text_of(value) for value in order}) < len(order):
        raise OptionError("order", [*order], ["every value once, from the lowest up"])


def check_apart(sensitive: Sequence[str], decisions: Sequence[str]) -> None:
    """Refuse groups that are decisions: they differ by decision for certain."""
    for column in sensitive:
        if column in decisions:
            why = "decisions are no groups"
            raise OptionError("sensitive", column, ["a column without decisions"], why)


def check_reference(reference: Any, *, continuous: bool) -> None:
    """Refuse a reference group of a number."""
    if continuous and reference is not None:
        why = "continuous attributes have no groups to refer to"
        raise OptionError("reference", reference, ["no reference"], why)
