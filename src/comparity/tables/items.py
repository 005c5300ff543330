"""Items with a label and a score, checked at the door: what all pairs are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparity.errors import (
    ConstantLabelError,
    EmptyTableError,
    OneGroupError,
    OptionError,
    WeightError,
)
from comparity.tables.columns import open_table
from comparity.tables.frames import collected, text_of
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_groups,
    check_lengths,
    group_codes,
    numbers,
    rows_of,
)

__all__ = ["LabelledItems", "labelled_columns", "labelled_items"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

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
        weight = np.ones(len(self)) if self.weight is None else self.weight
        size = len(self.groups) + 1
        sums, squares = (np.bincount(self.group, w, size)[:-1] for w in (weight, weight**2))
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
        names[role]: as_array(one, names[role], "item")
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
        return *_grouped(column, name, no_group), None
    if no_group is not None:
        # It would be compared like any other number.
        why = "the attribute is a number, which has no groups"
        raise OptionError("no_group", no_group, ["none, and rows that all have a number"], why)
    value = numbers(column, name, "item")
    if value.min() == value.max():
        raise OneGroupError(name, [text_of(value[0])])
    return np.zeros(0, dtype=np.int64), ("larger", "smaller"), value


def _grouped(column: NDArray[Any], name: str, no_group: object) -> tuple[Codes, tuple[str, ...]]:
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


def labelled_columns(
    frame: Any, columns: Sequence[str], *, table: str = "items"
) -> dict[str, NDArray[Any]]:
    """Bring the named columns of a frame of any engine to memory.

    Parameters
    ----------
    frame : frame of any engine
    columns : sequence of str
        Columns that must be there.
    table : str
        What errors call the table.
    """
    roles = {name: name for name in dict.fromkeys(columns)}
    return collected(open_table(frame, table, roles).frame)
