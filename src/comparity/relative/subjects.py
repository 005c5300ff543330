"""Two sets of decisions about different subjects, and their features, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.counts.differences import NARROWEST
from comparity.errors import (
    ConstantDecisionError,
    DuplicateItemError,
    EmptyTableError,
    FeatureMismatchError,
    GroupMismatchError,
    InconsistentSubjectError,
    LengthMismatchError,
    MissingValueError,
    NotNumericError,
    OneGroupError,
    ReferenceGroupError,
    TooFewSubjectsError,
    TooNarrowError,
    TwoGroupsError,
    UnsupportedColumnError,
)
from comparity.tables.frames import is_missing, of_engine, placed_columns, text_of
from comparity.tables.values import (
    as_array,
    bounded_numbers,
    check_lengths,
    factorise,
    group_codes,
    rows_of,
    values_of,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

SIDES = ("first", "second")
"""What errors call the two decision makers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecidedSubjects:
    """Subjects of two decision makers.

    Attributes
    ----------
    decisions : tuple of ndarray
        Decisions of the first about its subjects, and of the second about others.
    group : tuple of ndarray
        Position in `groups` of each subject, on both sides.
    groups : tuple of str
        The reference group, and the group whose gap over it is asked for.
    twin : ndarray of int
        For each subject of the second, its row among those of the first; -1 where it has none.
    with_ids : bool
        Whether ids say who that is.
    """

    decisions: tuple[Floats, Floats]
    group: tuple[Codes, Codes]
    groups: tuple[str, str]
    twin: Codes
    with_ids: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Subjects of both sides."""
        return len(self.decisions[0]), len(self.decisions[1])

    @property
    def n_shared(self) -> int:
        """Subjects whom both decided about."""
        return int((self.twin >= 0).sum())

    @property
    def is_shared(self) -> NDArray[np.bool_]:
        """Which subjects of the first the second decided about, too."""
        found = np.zeros(self.sizes[0], dtype=bool)
        found[self.twin[self.twin >= 0]] = True
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reweighed:
    """Weights of the first's subjects of one group, and what their estimation does.

    Attributes
    ----------
    weights : ndarray
        By subject of the first; their mean is 1.
    first, second : ndarray
        How far each subject of either side moves the weighted mean error by moving the weights;
        zero on average.
    """

    weights: Floats
    first: Floats
    second: Floats


def decided_subjects(
    decisions: tuple[Any, Any],
    sensitive: tuple[Any, Any],
    subjects: tuple[Any, Any] | None = None,
    *,
    names: tuple[str, str] = SIDES,
    attribute: str = "sensitive_features",
    reference: object = None,
) -> DecidedSubjects:
    """Check decisions and groups of two sets of subjects.

    Parameters
    ----------
    decisions, sensitive : pair of array_like
        Decisions as numbers and groups, on both sides.
    subjects : pair of array_like, optional
        Ids of subjects, by which those decided about twice are found.
    names : pair of str
        What errors call the decisions.
    attribute : str
        What errors call the groups.
    reference : optional
        The group that the other is compared with; the first in sorted order by default.

    Raises
    ------
    ComparityError
        Different lengths, no rows, gaps, infinite numbers, text where numbers are needed, decisions
        all equal, other than two groups or not the same two on both sides, fewer than two subjects
        of a group on a side, an id that occurs twice on a side.
    """
    given: list[Mapping[str, NDArray[Any]]] = []
    for side in (0, 1):
        columns = {
            names[side]: as_array(decisions[side], names[side], names[side]),
            attribute: as_array(sensitive[side], attribute, names[side]),
        }
        if subjects is not None:
            columns["subjects"] = as_array(subjects[side], "subjects", names[side])
        check_lengths(columns)
        if not len(columns[names[side]]):
            raise EmptyTableError(names[side])
        given.append(columns)
    first, second = (
        _decisions(columns[name], name) for columns, name in zip(given, names, strict=True)
    )
    group, groups = _groups((given[0][attribute], given[1][attribute]), names, attribute)
    if reference is not None:
        group, groups = _put_first(group, groups, text_of(reference))
    twin = np.full(len(second), -1, dtype=np.int64)
    if subjects is not None:
        twin = twins(given[0]["subjects"], given[1]["subjects"])
        broken = (twin >= 0) & (group[0][twin] != group[1])
        if broken.any():
            ids = given[1]["subjects"]
            raise InconsistentSubjectError(attribute, rows_of(broken, ids))
    return DecidedSubjects(
        decisions=(first, second),
        group=group,
        groups=groups,
        twin=twin,
        with_ids=subjects is not None,
    )


def _decisions(column: NDArray[Any], name: str) -> Floats:
    found = bounded_numbers(column, name, name)
    if found.min() == found.max():
        raise ConstantDecisionError(name, text_of(found[0]))
    if np.ptp(found) < NARROWEST:
        raise TooNarrowError([name], float(np.ptp(found)), NARROWEST)
    return found


def _groups(
    columns: tuple[NDArray[Any], NDArray[Any]], names: tuple[str, str], attribute: str
) -> tuple[tuple[Codes, Codes], tuple[str, str]]:
    (one, known), (two, others) = (
        group_codes(column, attribute, name, several=False)
        for column, name in zip(columns, names, strict=True)
    )
    if len({*known, *others}) < 2:
        raise OneGroupError(attribute, known)
    if known != others:
        raise GroupMismatchError(attribute, known, others)
    if len(known) > 2:
        raise TwoGroupsError(attribute, known)
    for codes, name in zip((one, two), names, strict=True):
        sizes = np.bincount(codes, minlength=2)
        if sizes.min() < 2:
            place = int(sizes.argmin())
            why = "to have a variance"
            raise TooFewSubjectsError(known[place], name, int(sizes[place]), 2, why)
    return (one, two), (known[0], known[1])


def _put_first(
    group: tuple[Codes, Codes], groups: tuple[str, str], reference: str
) -> tuple[tuple[Codes, Codes], tuple[str, str]]:
    """Put the reference group first."""
    if reference not in groups:
        raise ReferenceGroupError(reference, groups)
    if reference == groups[0]:
        return group, groups
    return (1 - group[0], 1 - group[1]), (groups[1], groups[0])


def twins(first: NDArray[Any], second: NDArray[Any]) -> Codes:
    """Return for each id of the second side its row on the first, or -1.

    Examples
    --------
    >>> twins(np.array(["a", "b", "c"]), np.array(["x", "c", "a"])).tolist()
    [-1, 2, 0]
    """
    codes, _ = factorise(np.concatenate([first.astype(object), second.astype(object)]))
    one, two = codes[: len(first)], codes[len(first) :]
    for ids, side in zip((one, two), SIDES, strict=True):
        if (ids < 0).any():
            raise MissingValueError("subjects", side, rows_of(ids < 0))
        _, place, times = np.unique(ids, return_inverse=True, return_counts=True)
        repeated = times[place.reshape(-1)] > 1
        if repeated.any():
            values = first if side == SIDES[0] else second
            raise DuplicateItemError("subjects", rows_of(repeated, values))
    row = np.full(max(int(codes.max()), 0) + 1, -1, dtype=np.int64)
    row[one] = np.arange(len(one))
    return row[two]


Columns = Mapping[str, NDArray[Any]]


def match_features(first: Any, second: Any, *, sizes: tuple[int, int]) -> tuple[Any, Any]:
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
    native = [of_engine(side, "features") for side in (first, second)]
    named = [isinstance(side, nw.DataFrame | nw.LazyFrame) for side in native]
    if all(named):
        pair: tuple[Any, Any] = match_columns(*map(placed_columns, native))
    elif not any(named):
        pair = _match_arrays(first, second)
    else:
        kinds = ["a frame with named columns" if one else "an array" for one in named]
        raise FeatureMismatchError(kinds[0], kinds[1])
    for rows, size, side in zip(pair, sizes, SIDES, strict=True):
        if rows.shape[0] != size:
            raise LengthMismatchError({f"{side} decisions": size, "features": rows.shape[0]})
    return pair


def match_columns(first: Columns, second: Columns) -> tuple[Floats, Floats]:
    """Return one matrix for each side from named columns of numbers and text.

    Examples
    --------
    >>> one = {"age": np.array([30, 40]), "town": np.array(["x", "y"], dtype=object)}
    >>> two = {"town": np.array(["y"], dtype=object), "age": np.array([35])}
    >>> [side.tolist() for side in match_columns(one, two)]
    [[[30.0, 1.0, 0.0], [40.0, 0.0, 1.0]], [[35.0, 0.0, 1.0]]]
    """
    if first.keys() != second.keys() or not first:
        apart = sorted(map(str, first.keys() ^ second.keys()))
        where = f" ({', '.join(apart)} on one side only)" if apart else ""
        raise FeatureMismatchError(f"{len(first)} columns{where}", f"{len(second)} columns")
    blocks = [_encode_column(str(name), first[name], second[name]) for name in first]
    return np.hstack([one for one, _ in blocks]), np.hstack([two for _, two in blocks])


def feature_names(features: Any) -> tuple[str, ...]:
    """Return what the columns that :func:`match_features` makes of features are called.

    Empty for texts and sparse matrices.

    Examples
    --------
    >>> feature_names(np.array([[30, "x"], [40, "y"]], dtype=object))
    ('column 0', 'column 1 = x', 'column 1 = y')
    """
    native = of_engine(features, "features")
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return names_of_columns(placed_columns(native))
    rows = None if hasattr(features, "tocsr") else _as_given(features)
    if rows is None or rows.ndim != 2:
        return ()
    return names_of_columns({f"column {k}": rows[:, k] for k in range(rows.shape[1])})


def names_of_columns(columns: Columns) -> tuple[str, ...]:
    """Return names of columns, that of text once for each of its values."""
    found: list[str] = []
    for name, column in columns.items():
        if _as_numbers(str(name), column) is not None:
            found.append(str(name))
        else:
            values = {text_of(value) for value in column.tolist()}
            found += [f"{name} = {value}" for value in sorted(values)]
    return tuple(found)


def _match_arrays(first: Any, second: Any) -> tuple[Any, Any]:
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
    return match_columns(*columns)


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
    numbers = _number_columns("features", first, second)
    if numbers is not None:
        return numbers
    return np.array([*map(str, first)], dtype=object), np.array([*map(str, second)], object)


def _encode_column(name: str, first: NDArray[Any], second: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return a column of numbers as it is, and one column for each value of a column of text."""
    numbers = _number_columns(name, first, second, f" in column {name!r}")
    if numbers is not None:
        return numbers
    texts = [np.array([text_of(value) for value in side.tolist()]) for side in (first, second)]
    known = np.unique(texts[0])
    one, two = ((side[:, None] == known).astype(np.float64) for side in texts)
    return one, two


def _number_columns(
    name: str, first: NDArray[Any], second: NDArray[Any], where: str = ""
) -> tuple[Floats, Floats] | None:
    """Return both sides as columns of numbers, or ``None`` where both are text."""
    one, two = _as_numbers(name, first), _as_numbers(name, second)
    if one is not None and two is not None:
        return one[:, None], two[:, None]
    if one is None and two is None:
        return None
    kinds = ["text" if side is None else "numbers" for side in (one, two)]
    raise FeatureMismatchError(f"{kinds[0]}{where}", kinds[1])


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
