"""Items of a ranking: their names, and what they are as contrasts, which biases act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    BlankNameError,
    DependentGroupsError,
    DuplicateItemError,
    MissingValueError,
    OptionError,
    UnknownReferenceError,
)
from comparity.errors.spelling import is_blank
from comparity.ranking.fits import GroupContrast
from comparity.tables.frames import collect_columns, of_engine, text_of
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_groups,
    check_lengths,
    factorise,
    group_codes,
    rows_of,
)

NAMED = 5
"""So many names are said where there may be thousands."""


def list_first(names: Iterable[Any]) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> list_first("abcde"), list_first("abcdefg")
    ('a, b, c, d, e', 'a, b, c, d, e and 2 more')
    """
    every = list(map(str, names))
    more = f" and {len(every) - NAMED:,} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def code_names(pairs: Any) -> tuple[Any, NDArray[Any] | None]:
    """Return positions and the names they stand for, in sorted order; positions as they are.

    Examples
    --------
    >>> positions, names = code_names([["b", "a"], ["a", "c"]])
    >>> positions.tolist(), names.tolist()
    ([[1, 0], [0, 2]], ['a', 'b', 'c'])
    """
    try:
        array = np.asarray(pairs)
    except ValueError:
        # Rows of different lengths: no positions either, which is said there.
        return pairs, None
    texts = array.dtype.kind == "U" or all(isinstance(one, str) for one in array.flat)
    if array.ndim != 2 or not array.size or not texts:
        return pairs, None
    blank = np.array([any(map(is_blank, row)) for row in array.tolist()])
    if blank.any():
        raise MissingValueError("comparisons", "comparisons", rows_of(blank))
    names, codes = np.unique(array.astype(str), return_inverse=True)
    return codes.reshape(array.shape).astype(np.int32), names.astype(object)


def item_names(ids: NDArray[Any], item: str) -> list[str]:
    """Return the names of items in the order of their rows, or say which are missing or repeated.

    Parameters
    ----------
    ids : ndarray
        One for each item.
    item : str
        What the column is called, for the error.

    Examples
    --------
    >>> item_names(np.array([7, 3]), "item")
    ['7', '3']
    """
    codes, names = factorise(ids)
    check_seen(codes, names, item, "items")
    if len(names) < len(codes):
        repeated = np.ones(len(codes), dtype=bool)
        repeated[np.unique(codes, return_index=True)[1]] = False
        raise DuplicateItemError(item, rows_of(repeated, ids))
    # Numbers are written in their order, and items stay in that of their rows.
    return [names[code] for code in codes.tolist()]


def check_seen(codes: NDArray[np.int64], names: Sequence[str], column: str, table: str) -> None:
    """Refuse items without a name, and names of which nothing can be seen."""
    if (codes < 0).any():
        raise MissingValueError(column, table, rows_of(codes < 0))
    blank = np.array([is_blank(name) for name in names], dtype=bool)
    if blank.any() and (unseen := blank[codes]).any():
        shown = np.array(names, dtype=object)[codes]
        raise BlankNameError(column, table, rows_of(unseen, shown))


Floats = NDArray[np.float64]

UNNAMED = "group"
ONE_MORE = "one unit more"
PARTS = "the sum of its parts"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemAttribute:
    """A sensitive attribute: group of each item as a code, the reference group first.

    Attributes
    ----------
    name : str
    codes : ndarray of int
        Group of each item.
    groups : tuple of str
        Names of the groups; the first is the one biases are measured against.
    """

    name: str
    codes: NDArray[np.int64]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrasts:
    """Columns with an entry for each item, one bias of each evaluator for each column.

    Attributes
    ----------
    columns : ndarray of int8 or float, (items, contrasts)
        1 where the item is of the contrast's group, else 0; or a number of the item.
    names : tuple of GroupContrast
    precision : ndarray, (contrasts, contrasts)
        Inverse covariance of one evaluator's biases where the prior has SD 1. Within an attribute
        every difference of two groups has the same SD, whichever group is the reference.
    attributes : tuple of ItemAttribute
        The groups they come from.
    """

    columns: NDArray[Any]
    names: tuple[GroupContrast, ...]
    precision: Floats
    attributes: tuple[ItemAttribute, ...]


def attributes_of(sensitive_features: Any, reference: Any = None) -> tuple[ItemAttribute, ...]:
    """Return sensitive features by name, each with its reference group first.

    Parameters
    ----------
    sensitive_features : array_like, series, mapping or frame
        Group of each item: one attribute, or several as a mapping or the columns of a frame.
    reference : object or mapping, optional
        The group a bias is measured against, for one attribute or by name; the first in sorted
        order by default.

    Examples
    --------
    >>> attributes_of(["f", "m", "m"])[0].groups
    ('f', 'm')
    >>> attributes_of(["f", "m", "m"], reference="m")[0].groups
    ('m', 'f')
    """
    columns = _columns_by_name(sensitive_features)
    if not columns:
        raise OptionError("sensitive_features", sensitive_features, ["one or more columns"])
    check_lengths(columns)
    wanted = reference if isinstance(reference, Mapping) else dict.fromkeys(columns, reference)
    for name in wanted:
        if name not in columns:
            raise OptionError("reference", name, [repr(column) for column in columns])
    return tuple(_attribute(name, array, wanted.get(name)) for name, array in columns.items())


def contrasts_of(
    attributes: tuple[ItemAttribute, ...],
    intersections: tuple[tuple[tuple[str, str], ...], ...] = (),
    numbers: Mapping[str, Floats] | None = None,
) -> Contrasts:
    """Return a column for every group but the reference, every intersection and every number.

    Parameters
    ----------
    attributes : tuple of ItemAttribute
    intersections : tuple
        Each a tuple of (attribute, group); its column is 1 where an item is of all these groups.
    numbers : mapping of str to ndarray, optional
        Numbers of the items by what they are. The prior of their biases is for a step of one SD.
    """
    columns: list[NDArray[Any]] = []
    names, blocks = [], []
    for one in attributes:
        columns += [one.codes == code for code in range(1, len(one.groups))]
        names += [
            GroupContrast(attribute=one.name, group=group, reference=one.groups[0])
            for group in one.groups[1:]
        ]
        n = len(one.groups)
        blocks.append(2 * (np.eye(n - 1) - 1 / n))
    for parts in intersections:
        columns.append(members_of(attributes, parts))
        names.append(
            GroupContrast(
                attribute=" x ".join(attribute for attribute, _ in parts),
                group=" & ".join(group for _, group in parts),
                reference=PARTS,
            )
        )
        blocks.append(np.eye(1))
    for name, values in (numbers or {}).items():
        columns.append(values)
        names.append(GroupContrast(attribute=name, group=ONE_MORE, reference=""))
        blocks.append(np.full((1, 1), np.var(values)))
    size = len(columns)
    precision = np.zeros((size, size))
    place = 0
    for block in blocks:
        part = slice(place, place + len(block))
        precision[part, part] = block
        place += len(block)
    table = np.column_stack(columns).astype(np.float64 if numbers else np.int8)
    kinds = table if numbers else table[_one_of_each_kind(attributes)]
    if np.linalg.matrix_rank(np.column_stack([np.ones(len(kinds)), kinds])) <= size:
        raise DependentGroupsError(names)
    return Contrasts(columns=table, names=tuple(names), precision=precision, attributes=attributes)


def numbers_of(numbers: Any) -> dict[str, Floats]:
    """Return numbers of items by name, checked to be finite and not all the same.

    Examples
    --------
    >>> numbers_of({"length": [1, 2, 4]})
    {'length': array([1., 2., 4.])}
    """
    columns = {} if numbers is None else _columns_by_name(numbers)
    check_lengths(columns)
    found = {}
    for name, values in columns.items():
        found[name] = bounded_numbers(values, name, "items")
        if len(found[name]) and (found[name] == found[name][0]).all():
            raise OptionError("numbers", name, ["numbers in which items differ"])
    return found


def _one_of_each_kind(attributes: tuple[ItemAttribute, ...]) -> NDArray[np.intp]:
    """Return an item of every combination of groups there is; all contrasts follow from these."""
    kind = np.zeros(len(attributes[0].codes), dtype=np.int64)
    for one in attributes:
        # Numbered again each time, kinds stay as few as there are items.
        _, kind = np.unique(kind * len(one.groups) + one.codes, return_inverse=True)
    return np.unique(kind, return_index=True)[1]


def members_of(
    attributes: tuple[ItemAttribute, ...], parts: tuple[tuple[str, str], ...]
) -> NDArray[np.bool_]:
    """Return which items are of all the groups named, as (attribute, group)."""
    by_name = {one.name: one for one in attributes}
    found = [_member(by_name[name], group) for name, group in parts]
    return np.asarray(np.logical_and.reduce(found))


def _member(attribute: ItemAttribute, group: str) -> NDArray[np.bool_]:
    if group not in attribute.groups:
        raise UnknownReferenceError(attribute.name, group, attribute.groups, role="group")
    return np.asarray(attribute.codes == attribute.groups.index(group))


def _attribute(name: str, array: NDArray[Any], reference: object) -> ItemAttribute:
    codes, groups = group_codes(array, name, "items")
    check_groups({name: groups})
    if reference is None:
        return ItemAttribute(name=name, codes=codes, groups=tuple(groups))
    first = text_of(reference)
    if first not in groups:
        raise UnknownReferenceError(name, first, groups)
    order = [first, *(group for group in groups if group != first)]
    place = np.array([order.index(group) for group in groups], dtype=np.int64)
    return ItemAttribute(name=name, codes=place[codes], groups=tuple(order))


def _columns_by_name(sensitive_features: Any) -> dict[str, NDArray[Any]]:
    if isinstance(sensitive_features, Mapping):
        return {str(name): _to_array(values, name) for name, values in sensitive_features.items()}
    native = of_engine(sensitive_features)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return collect_columns(native.lazy())
    if isinstance(native, nw.Series):
        return {str(native.name or UNNAMED): native.to_numpy()}
    values = sensitive_features
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return {str(column): values[:, column] for column in range(values.shape[1])}
    return {UNNAMED: _to_array(values, UNNAMED)}


def _to_array(values: Any, name: object) -> NDArray[Any]:
    native = of_engine(values)
    plain = native.to_numpy() if isinstance(native, nw.Series) else values
    return as_array(plain, str(name), "items")
