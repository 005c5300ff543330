"""Weights of rows for any learner that takes ``sample_weight``, from columns, frames and files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Number
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.errors import EmptyTableError, OneGroupError, OptionError
from comparity.errors.fits import MissingCombinationWarning
from comparity.tables.columns import check_option
from comparity.tables.features import UNNAMED, as_array, named_attributes
from comparity.tables.files import read_table, write_table
from comparity.tables.frames import is_missing, of_engine, text_of
from comparity.tables.items import labelled_columns
from comparity.tables.outputs import check_apart
from comparity.tables.values import as_array as checked_array
from comparity.tables.values import bounded_numbers, check_lengths, crossed, factorised, group_codes
from comparity.training.balance import (
    balancing_weights,
    density_weights,
    effective_rows,
    independence_weights,
    table_of,
)
from comparity.training.options import WeightsForm
from comparity.training.result import WeighedCell, Weighing

__all__ = ["METHODS", "fair_balance", "fair_reweighing", "reweighing", "weigh_file"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def reweighing(y: Any, *, sensitive_features: Any) -> Floats:
    r"""Return weights that make the label independent of the group.

    .. math:: w(a, y) = \frac{|A = a| \cdot |Y = y|}{n \, |A = a, Y = y|}

    Weighted so, every group has the same distribution of labels [1]_. A row weighs more than 1
    where its combination is rarer than independence would have it.

    Parameters
    ----------
    y : array-like
        Labels, of any kind; every distinct value is a class.
    sensitive_features : array-like, mapping or frame
        The group of each row. Of several attributes the combinations are the groups, as in the
        authors' code of [2]_.

    Returns
    -------
    ndarray
        One positive weight for each row, summing to the number of rows; ready for
        ``sample_weight``.

    Warns
    -----
    MissingCombinationWarning
        A group lacks a label, so that no weights can make them independent.

    References
    ----------
    .. [1] Kamiran and Calders, "Data preprocessing techniques for classification without
       discrimination", 2012.
    .. [2] Xi, Capak, Stockwell and Yu, "Comparative Separation", section 4.2.

    Examples
    --------
    >>> reweighing([1, 1, 0, 1, 0, 0], sensitive_features=list("aaabbb")).tolist()
    [0.75, 0.75, 1.5, 1.5, 0.75, 0.75]
    """
    group, label, missing = _codes(y, sensitive_features)
    if missing is not None:
        warnings.warn(missing, stacklevel=2)
    return independence_weights(group, label)


def fair_balance(y: Any, *, sensitive_features: Any, equal_groups: bool = False) -> Floats:
    r"""Return weights that make all labels equally frequent within every group.

    .. math:: w(a, y) = \frac{|A = a|}{k \, |A = a, Y = y|}

    with :math:`k` classes [1]_. Groups keep their size; with `equal_groups`, the variant of the
    authors, they all weigh the same: :math:`w(a, y) \propto 1 / |A = a, Y = y|`.

    Parameters
    ----------
    y, sensitive_features
        As in :func:`reweighing`.
    equal_groups : bool
        Whether groups shall weigh the same, too.

    Returns
    -------
    ndarray
        One positive weight for each row, summing to the number of rows.

    References
    ----------
    .. [1] Yu, Chakraborty and Menzies, "FairBalance: how to achieve equalized odds with data
       pre-processing", IEEE Transactions on Software Engineering, 2024.

    Examples
    --------
    >>> fair_balance([1, 1, 1, 0, 1, 0], sensitive_features=list("aaaabb")).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0, 1.0, 1.0]
    """
    group, label, missing = _codes(y, sensitive_features)
    if missing is not None:
        warnings.warn(missing, stacklevel=2)
    return balancing_weights(group, label, equal_groups=equal_groups)


def fair_reweighing(
    y: Any,
    *,
    sensitive_features: Any,
    density: str = "neighbours",
    radius: float = 0.5,
    bandwidth: float = 0.2,
) -> Floats:
    r"""Return weights that make a continuous label independent of groups or numbers.

    .. math:: w(a, y) = \frac{p(a) \, p(y)}{p(a, y)}

    with estimated densities [1]_. Columns that hold numbers are standardised. The density at a row
    is the number of rows nearer than `radius` (the authors' code), or a sum of Gaussian kernels of
    width `bandwidth`, both in standard deviations.

    Parameters
    ----------
    y : array-like
        Labels as numbers.
    sensitive_features : array-like, mapping or frame
        One or several attributes. Text, true/false and categories of a frame are groups, which
        match or do not; numbers are near or far. Groups coded 0 and 1 come to the same: they lie
        at least two standard deviations apart.
    density : {"neighbours", "kernel"}
    radius, bandwidth : float
        Only one of them is used.

    Returns
    -------
    ndarray
        One positive weight for each row, summing to the number of rows. A row alone in its
        surroundings weighs most; look at the effective number of rows before trusting a fit.

    References
    ----------
    .. [1] Xi and Yu, "FairReweighing: density estimation-based reweighing framework for improving
       separation in fair regression"; the weights of "Comparative Separation", section 4.2.2.

    Examples
    --------
    >>> w = fair_reweighing([1.0, 2.0, 3.0, 1.0], sensitive_features=["a", "a", "b", "b"])
    >>> w.round(3).tolist()
    [1.333, 0.667, 0.667, 1.333]
    """
    check_option("density", density, ("neighbours", "kernel"))
    for name, value in (("radius", radius), ("bandwidth", bandwidth)):
        if not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise OptionError(name, value, ["a positive number of standard deviations"])
    label, attributes = _columns(y, sensitive_features)
    for name in _categories(sensitive_features):
        attributes[name] = _words(attributes[name])
    values, groups = [], {}
    for name, column in attributes.items():
        if _holds_numbers(column):
            values.append(bounded_numbers(column, name, "array"))
            if values[-1].min() == values[-1].max():
                raise OneGroupError(name, [text_of(values[-1][0])])
        else:
            groups[name] = group_codes(column, name, "array")
    n = len(label)
    return density_weights(
        bounded_numbers(label, "y", "array"),
        np.column_stack(values) if values else np.zeros((n, 0)),
        _joint(groups, n),
        radius=radius,
        bandwidth=bandwidth if density == "kernel" else None,
    )


def _columns(y: Any, sensitive_features: Any) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    label = checked_array(as_array(y), "y")
    attributes = {
        name: checked_array(column, name)
        for name, column in named_attributes(sensitive_features).items()
    }
    check_lengths({"y": label, **attributes})
    if not attributes:
        raise OptionError("sensitive_features", [], ["at least one column"])
    if not len(label):
        raise EmptyTableError("array")
    return label, attributes


def _holds_numbers(column: NDArray[Any]) -> bool:
    """Say whether all there is in a column are numbers, however they are kept."""
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    known = [value for value in column.tolist() if not is_missing(value)]
    return bool(known) and all(
        isinstance(value, Number) and not isinstance(value, bool | np.bool_) for value in known
    )


def _categories(sensitive_features: Any) -> list[str]:
    """Return the attributes that a frame or a series declares to be categories."""
    given = sensitive_features
    if not isinstance(given, Mapping):
        given = {None: sensitive_features}
    types: dict[str, Any] = {}
    for name, one in given.items():
        native = of_engine(one)
        if isinstance(native, nw.DataFrame | nw.LazyFrame):
            schema = native.collect_schema().items()
            types |= {str(column if name is None else name): dtype for column, dtype in schema}
        else:
            own = name or getattr(native, "name", None) or UNNAMED
            types[str(own)] = getattr(native, "dtype", None)
    return [name for name, dtype in types.items() if _is_category(dtype)]


def _is_category(dtype: Any) -> bool:
    # Categories of pandas that are in no series have a type of their own.
    return isinstance(dtype, nw.Categorical | nw.Enum) or str(dtype) == "category"


def _words(column: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that name groups as words; gaps stay gaps."""
    words = [None if is_missing(value) else text_of(value) for value in column.tolist()]
    found = np.empty(len(words), dtype=object)
    found[:] = words
    return found


def _codes(
    y: Any, sensitive_features: Any
) -> tuple[Codes, Codes, MissingCombinationWarning | None]:
    """Return group and label of each row as codes, and what to say of missing combinations."""
    column, attributes = _columns(y, sensitive_features)
    coded = {name: group_codes(one, name, "array") for name, one in attributes.items()}
    group, groups = list(crossed(coded, intersection=True).values())[-1]
    label, labels = group_codes(column, "y", "array", several=False)
    missing = np.argwhere(table_of(group, label) == 0).tolist()
    pairs = [f"{groups[a]}, {labels[b]}" for a, b in missing]
    return group, label, MissingCombinationWarning(pairs) if pairs else None


def _joint(groups: Mapping[str, tuple[Codes, list[str]]], n: int) -> Codes:
    """Return one code for all groups of a row."""
    if not groups:
        return np.zeros(n, dtype=np.int64)
    return list(crossed(dict(groups), intersection=True).values())[-1][0]


METHODS: dict[str, Callable[[Codes, Codes], Floats]] = {
    "reweighing": independence_weights,
    "fair-balance": partial(balancing_weights, equal_groups=False),
    "fair-balance-equal-groups": partial(balancing_weights, equal_groups=True),
}
"""Weights from groups and labels, by the name that the command line gives them."""


def weigh_file(path: str | Path, output: str | Path, **choices: Any) -> Weighing:
    """Write a file again with a column of weights.

    Parameters
    ----------
    path, output : path
        Files; the format of either follows from its name. They must be two. `output` is written
        whole or not at all.
    **choices
        Those of :class:`WeightsForm`; `density`, `radius` and `bandwidth` are None for those of
        :func:`fair_reweighing`.
    """
    check_apart(output, [path])
    form = WeightsForm(**choices)
    method, label, sensitive, column = form.method, form.label, form.sensitive, form.column
    own = {name: getattr(form, name) for name in ("density", "radius", "bandwidth")}
    given = {name: value for name, value in own.items() if value is not None}
    table = read_table(path)
    columns = labelled_columns(table, [label, *sensitive])
    # To DuckDB, which would call the new column another, capital letters make no difference.
    if column.lower() in map(str.lower, table.collect_schema().names()):
        raise OptionError("name", column, ["a name no column has"], "the column exists")
    continuous = method == "fair-reweighing"
    y = bounded_numbers(columns[label], label, "items") if continuous else columns[label]
    # Errors name the columns of the file.
    group_codes(y, label, "items", several=False)
    attributes = {name: _words(columns[name]) for name in sensitive}
    # Groups written as numbers are groups, unless they are said to be numbers.
    for name in form.numeric or ():
        attributes[name] = bounded_numbers(columns[name], name, "items")
    missing = None
    if continuous:
        weights = fair_reweighing(y, sensitive_features=attributes, **given)
    else:
        group, classes, missing = _codes(y, attributes)
        weights = METHODS[method](group, classes)
    write_table(read_table(path, typed=True), output, {column: weights})
    return Weighing(
        method=method,
        column=column,
        output=str(output),
        n_rows=len(weights),
        effective_rows=effective_rows(weights),
        largest=float(weights.max()),
        cells=() if continuous else _cells(attributes, y, weights),
        notes=(*([str(missing)] if missing else []), *_nothing_to_balance(y, label)),
    )


def _nothing_to_balance(y: NDArray[Any], name: str) -> tuple[str, ...]:
    """Say so where all labels are equal: weights of 1 are right then, and of no use."""
    labels = factorised(y)[1]
    if len(labels) > 1:
        return ()
    return (f"Every value of {name!r} is {str(labels[0])!r}: there is nothing to balance.",)


def _cells(
    attributes: Mapping[str, NDArray[Any]], y: NDArray[Any], weights: Floats
) -> tuple[WeighedCell, ...]:
    """Return rows and weight of a row by group and label."""
    groups = {name: group_codes(column, name, "array") for name, column in attributes.items()}
    code, names = list(crossed(groups, intersection=True).values())[-1]
    label, labels = group_codes(y, "label", "items", several=False)
    cells, first, rows = np.unique(
        code * len(labels) + label, return_index=True, return_counts=True
    )
    return tuple(
        WeighedCell(names[cell // len(labels)], labels[cell % len(labels)], many, weight)
        for cell, many, weight in zip(
            cells.tolist(), rows.tolist(), weights[first].tolist(), strict=True
        )
    )
