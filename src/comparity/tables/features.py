"""What people pass, made into checked columns: sensitive features, decisions, labelled items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import (
    ConstantLabelError,
    DuplicateColumnError,
    EmptyTableError,
    IndicatorError,
    LabelSpaceError,
    OneGroupError,
    OptionError,
    WeightError,
)
from comparity.tables.columns import FALSE_WORDS, TRUE_WORDS
from comparity.tables.frames import of_engine, placed_columns, text_of
from comparity.tables.values import as_array as one_dimensional
from comparity.tables.values import (
    bounded_numbers,
    check_groups,
    check_lengths,
    factorise,
    group_codes,
    numbers,
    rows_of,
    values_of,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

UNNAMED = "group"


def as_array(values: Any, name: str = "a column") -> NDArray[Any]:
    """Return a column of any engine, a sequence or an array as a numpy array.

    What is missing in a list of words, or masked, stays missing.
    """
    native = of_engine(values)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        columns = _by_text(placed_columns(native))
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
        return _by_text(placed_columns(native))
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


def _by_text(columns: Mapping[Any, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Name columns by text; 1 and "1" would be one."""
    found = {str(name): values for name, values in columns.items()}
    if len(found) < len(columns):
        names = list(map(str, columns))
        raise DuplicateColumnError("array", repr(max(names, key=names.count)))
    return found


def _rows_alike(values: Any) -> bool:
    """Return whether these are rows of one length, as lists within a list."""
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
    _, names = factorise(values)
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


NAMES = {
    "label": "y_true",
    "score": "y_score",
    "sensitive": "sensitive_features",
    "queries": "queries",
    "weights": "sample_weight",
}
"""What errors call the arrays of the public functions."""

FEW_LEVELS = 20
"""Nobody asks how many more labels there are than these."""

SOME_ROWS = 1000
"""Rows that are looked at first: most labels with many values show them there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledItems:
    """Checked columns, one entry for each item.

    Attributes
    ----------
    label, score : ndarray of float
        Finite numbers; the item with the larger label should have the larger score.
    group : ndarray of int
        Position in `groups`; ``len(groups)`` for items in no group. Empty for a number.
    groups : tuple of str
        The groups, sorted.
    value : ndarray of float or None
        The sensitive attribute, where it is a number to be compared.
    query : ndarray of int or None
        Items are compared only within a query.
    weight : ndarray of float or None
        Positive weights.
    """

    label: Floats
    score: Floats
    group: Codes
    groups: tuple[str, ...]
    value: Floats | None = None
    query: Codes | None = None
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.score)

    def keep(self, kept: NDArray[np.bool_]) -> LabelledItems:
        """Return some of the items."""
        if kept.all():
            return self
        names = ("label", "score", "group", "value", "query", "weight")
        given = {name: getattr(self, name) for name in names}
        # A number has no groups, and no labels are needed for parity.
        held = {name: one for name, one in given.items() if one is not None and len(one)}
        return replace(self, **{name: one[kept] for name, one in held.items()})

    @property
    def n_levels(self) -> int:
        """Number of distinct labels, exact up to :data:`FEW_LEVELS`, and larger where it is."""
        known = np.unique(self.label[:SOME_ROWS])
        if len(known) > FEW_LEVELS or np.isin(self.label, known).all():
            return len(known)
        return len(np.unique(self.label))

    @property
    def group_sizes(self) -> dict[str, int]:
        r"""Items of each group; of weighted items how many of equal weight would be as good.

        That is :math:`(\sum w)^2 / \sum w^2`. Where the attribute is a number, all are one group.
        """
        if self.value is not None:
            return {"": len(self)}
        size = len(self.groups) + 1
        weights = (None, None) if self.weight is None else (self.weight, self.weight**2)
        sums, squares = (np.bincount(self.group, w, size)[:-1] for w in weights)
        worth = np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)
        return dict(zip(self.groups, np.round(worth, 6).astype(int).tolist(), strict=True))


def labelled_items(
    label: ArrayLike | None,
    score: ArrayLike,
    sensitive: ArrayLike,
    *,
    queries: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    continuous: bool = False,
    no_group: object = None,
    names: Mapping[str, str] = NAMES,
) -> LabelledItems:
    """Check arrays, one entry for each item.

    Parameters
    ----------
    label : array_like or None
        Labels as numbers; ``None`` where none are needed.
    score : array_like
        Scores as numbers.
    sensitive : array_like
        Group of each item, or a number with `continuous`.
    queries : array_like, optional
        Query of each item.
    weights : array_like, optional
        Positive weights.
    continuous : bool
        Whether `sensitive` holds numbers to be compared.
    no_group : optional
        The value that marks items in no group.
    names : mapping of str to str
        What errors call the arrays.

    Raises
    ------
    ComparityError
        Different lengths, no rows, gaps, infinite numbers, text where numbers are needed, one group
        only or too many, labels that are all equal, weights that are not positive.
    """
    given = {"score": score, "sensitive": sensitive, "label": label}
    given |= {"queries": queries, "weights": weights}
    arrays = {
        names[role]: one_dimensional(one, names[role], "item")
        for role, one in given.items()
        if one is not None
    }
    check_lengths(arrays)
    if not len(arrays[names["score"]]):
        raise EmptyTableError("item")
    group, groups, value = _attribute(
        arrays[names["sensitive"]], names["sensitive"], continuous=continuous, no_group=no_group
    )
    return LabelledItems(
        label=_labels(arrays[names["label"]], names["label"]) if label is not None else np.zeros(0),
        score=numbers(arrays[names["score"]], names["score"], "item"),
        group=group,
        groups=groups,
        value=value,
        query=group_codes(arrays[names["queries"]], names["queries"], "item", several=False)[0]
        if queries is not None
        else None,
        weight=_weights(arrays[names["weights"]], names["weights"])
        if weights is not None
        else None,
    )


def _labels(column: NDArray[Any], name: str) -> Floats:
    labels = numbers(column, name, "item")
    if labels.min() == labels.max():
        raise ConstantLabelError(name, text_of(labels[0]))
    return labels


def _attribute(
    column: NDArray[Any], name: str, *, continuous: bool, no_group: object
) -> tuple[Codes, tuple[str, ...], Floats | None]:
    if not continuous:
        return *_code_groups(column, name, no_group), None
    if no_group is not None:
        # It would be compared like any other number.
        why = "the attribute is a number, which has no groups"
        raise OptionError("no_group", no_group, ["none, and rows that all have a number"], why)
    value = numbers(column, name, "item")
    if value.min() == value.max():
        raise OneGroupError(name, [text_of(value[0])])
    return np.zeros(0, dtype=np.int64), ("larger", "smaller"), value


def _code_groups(
    column: NDArray[Any], name: str, no_group: object
) -> tuple[Codes, tuple[str, ...]]:
    """Return codes into sorted names; the marked group comes last and has no name."""
    codes, names = group_codes(column, name, "item", several=no_group is None)
    # Kinds of pairs are compared with each other: their numbers grow with the groups to the fourth.
    check_groups({name: names})
    if no_group is None or text_of(no_group) not in names:
        return codes, tuple(names)
    marked = names.index(text_of(no_group))
    kept = [group for group in names if group != text_of(no_group)]
    if len(kept) < 2:
        raise OneGroupError(name, kept)
    moved = np.where(codes > marked, codes - 1, codes)
    moved[codes == marked] = len(kept)
    return moved, tuple(kept)


def _weights(column: NDArray[Any], name: str) -> Floats:
    found = bounded_numbers(column, name, "item")
    if (found <= 0).any():
        raise WeightError(name, rows_of(found <= 0, column))
    return found
