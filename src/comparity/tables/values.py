"""Values as codes: arrays of anything become integers and the names they stand for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comparity.errors import (
    BlankNameError,
    LengthMismatchError,
    MissingValueError,
    NonBinaryError,
    NonFiniteScoreError,
    NotNumericError,
    Offenders,
    OneGroupError,
    OptionError,
    OutOfRangeError,
    ReferenceGroupError,
    TooManyGroupsError,
    UnknownPositiveError,
    UnsupportedColumnError,
)
from comparity.errors.spelling import BLANKS
from comparity.tables.coded_columns import Brought, CodedText
from comparity.tables.columns import FALSE_WORDS, SHOWN, TRUE_WORDS
from comparity.tables.frames import is_missing, text_of
from comparity.tables.typing import Column

Codes = NDArray[np.int64]

LARGEST = 1e30
"""Largest number of which powers are taken."""

SMALL_CODES = 2**10
"""Whole numbers that span less than this, or than their number, are counted without sorting."""

FEW_WORDS, SOME_ROWS = 8, 1000
"""Text is compared with the words of the first rows, if it has few: a tenth of the time that it
takes to look up each as text of Python."""

MOST_GROUPS = 50
"""More groups give more than 2,400 tests, which share one false-alarm rate."""


def as_array(values: Column, name: str, table: str = "array") -> NDArray[Any]:
    """Return a one-dimensional array that keeps the values as they were given."""
    array = values_of(values, name, table)
    if array.ndim != 1:
        found = f"{array.ndim} dimensions, shape {array.shape}"
        raise UnsupportedColumnError(name, table, found)
    return array


def values_of(values: Column, name: str, table: str = "array") -> NDArray[Any]:
    """Return an array of the values as they were given: what is missing or masked stays so."""
    if not hasattr(values, "__array__"):
        return _of_list(values, name, table)
    # np.asarray would forget the mask.
    array = np.asanyarray(values)
    if not isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    kept = array.data.astype(object)
    kept[np.ma.getmaskarray(array)] = None
    return kept


def _of_list(values: Any, name: str, table: str) -> NDArray[Any]:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise UnsupportedColumnError(name, table, f"{type(values).__name__}, no array")
    kinds = set(map(type, values))
    if kinds & {list, tuple, np.ndarray}:
        raise UnsupportedColumnError(name, table, "lists within a list")
    # numpy would write numbers and gaps among text as text, and true among numbers as 1.
    if kinds <= {int, float} or kinds == {bool}:
        try:
            return np.array(values)
        except OverflowError:
            return np.array(values, dtype=object)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def factorise(values: Brought) -> tuple[Codes, list[Any]]:
    """Return a code for each value and the distinct values; a missing value has the code -1.

    Values that are written alike (1, 1.0 and "1") are one value.
    """
    if isinstance(values, CodedText):
        return values.codes, values.names  # type: ignore[return-value]
    if values.dtype.kind in "iu":
        # Different whole numbers are written differently.
        known, codes = _distinct(values)
        return codes, list(map(str, known))
    few = _few_words(values)
    if few is not None:
        return few
    if values.dtype.kind in "bf":
        known, codes = _distinct(values)
    else:
        listed = values.tolist()
        if not set(map(type, listed)) <= {str, type(None)}:
            listed = list(map(_hashable, listed))
        first = {value: code for code, value in enumerate(dict.fromkeys(listed))}
        known = list(first)
        codes = np.fromiter(map(first.__getitem__, listed), np.int64, len(listed))
    names: dict[str, int] = {}
    merged = [-1 if is_missing(v) else names.setdefault(text_of(v), len(names)) for v in known]
    codes = np.array(merged, dtype=np.int64)[codes] if known else codes
    return codes, list(names)


def _few_words(values: NDArray[Any]) -> tuple[Codes, list[str]] | None:
    """Return codes and words of an array of text that has only the few words of its first rows."""
    words = list(dict.fromkeys(values[:SOME_ROWS].tolist())) if values.dtype.kind == "U" else []
    if not 0 < len(words) <= FEW_WORDS:
        return None
    codes, found = np.zeros(len(values), dtype=np.int64), 0
    for code, word in enumerate(words):
        same = values == word
        codes[same] = code
        found += int(same.sum())
    return (codes, words) if found == len(values) else None


def _distinct(values: NDArray[Any]) -> tuple[list[Any], Codes]:
    """Return the distinct numbers in order, and the place of each number among them."""
    whole = values.dtype.kind in "biu" and len(values) > 0
    low, high = (int(values.min()), int(values.max())) if whole else (0, 0)
    if whole and high - low < max(SMALL_CODES, len(values)) and high < 2**63:
        # Codes of groups are counted, which takes a fraction of the time of a sort.
        place = values.astype(np.int64, copy=False)
        place = place - low if low else place
        used = np.bincount(place) > 0
        known = (np.flatnonzero(used) + low).astype(values.dtype)
        return known.tolist(), place if used.all() else (np.cumsum(used) - 1)[place]
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct.tolist(), inverse.reshape(-1).astype(np.int64)


def _hashable(value: Any) -> Any:
    # A float hashes like the integer it equals; True would then be read as 1.
    if isinstance(value, list | dict | set | np.ndarray | bool | np.bool_):
        return str(value)
    return None if is_missing(value) else value


def rows_of(broken: NDArray[np.bool_], values: Brought | None = None) -> Offenders:
    """Describe the rows of an array that break a contract."""
    rows = np.flatnonzero(broken)
    shown = [] if values is None else values[rows[:SHOWN]].tolist()
    texts = dict.fromkeys(text_of(value) for value in shown if not is_missing(value))
    return Offenders(len(rows), tuple(int(row) + 1 for row in rows[:SHOWN]), tuple(texts))


def group_codes(
    values: NDArray[Any], name: str, table: str, *, several: bool = True
) -> tuple[Codes, list[str]]:
    """Return the group of each row as a code into sorted names.

    Raises
    ------
    MissingValueError
        A row has no group.
    BlankNameError
        Of the name of a group nothing can be seen.
    OneGroupError
        All rows have one group (unless `several` is false).
    """
    codes, names = factorise(values)
    if (codes < 0).any():
        raise MissingValueError(name, table, rows_of(codes < 0))
    blank = [code for code, group in enumerate(names) if not group.strip(BLANKS)]
    if blank:
        raise BlankNameError(name, table, rows_of(np.isin(codes, blank)))
    if several and len(names) < 2:
        raise OneGroupError(name, names)
    ranked = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[ranked] = np.arange(len(names))
    return rank[codes], [names[code] for code in ranked]


def check_groups(groups: Mapping[str, Collection[str]]) -> None:
    """Refuse attributes with too many groups, such as ids."""
    for attribute, names in groups.items():
        if len(names) > MOST_GROUPS:
            raise TooManyGroupsError(attribute, names, MOST_GROUPS)


def prefix_attribute(attribute: str, text: str, *, several: bool) -> str:
    """Put the attribute before a text where more than one attribute is audited."""
    return f"{attribute}: {text}" if several else text


def cross_attributes(
    attributes: Mapping[str, tuple[Codes, list[str]]], *, intersection: bool
) -> dict[str, tuple[Codes, list[str]]]:
    """Add the intersection of all attributes, named ``"sex & race"``, where it is asked for."""
    groups = dict(attributes)
    if not intersection or len(attributes) < 2:
        return groups
    code = np.zeros(len(next(iter(attributes.values()))[0]), dtype=np.int64)
    names = [""]
    for column, known in attributes.values():
        used, code = np.unique(code * len(known) + column, return_inverse=True)
        code = code.reshape(-1).astype(np.int64)
        names = [f"{names[k // len(known)]} & {known[k % len(known)]}" for k in used.tolist()]
    joined = np.array([name.removeprefix(" & ") for name in names], dtype=object)
    crossing = " & ".join(attributes)
    if crossing in attributes or len(set(names)) < len(names):
        why = f"two columns or groups would both be called {max(names, key=names.count)!r}"
        raise OptionError("intersection", True, ["other names for groups with ' & '"], why)
    groups[crossing] = group_codes(joined[code], crossing, "array", several=False)
    return groups


def put_first(
    groups: Mapping[str, tuple[Codes, list[str]]], reference: object
) -> dict[str, tuple[Codes, list[str]]]:
    """Put the reference group first, in every attribute that has it; nothing without one."""
    if reference is None:
        return dict(groups)
    first = text_of(reference)
    known = [name for _, names in groups.values() for name in names]
    if first not in known:
        raise ReferenceGroupError(first, known)
    moved = {}
    for attribute, (codes, names) in groups.items():
        ordered = sorted(names, key=lambda name: name != first)
        place = np.array([ordered.index(name) for name in names], dtype=np.int64)
        moved[attribute] = (place[codes], ordered)
    return moved


def numbers(values: NDArray[Any], name: str, table: str) -> NDArray[np.float64]:
    """Return finite floats; text that looks like a number is one."""
    if values.dtype.kind in "biuf":
        found = values.astype(np.float64)
        missing = np.isnan(found)
    else:
        listed = values.tolist()
        missing = np.array([is_missing(value) for value in listed], dtype=bool)
        parsed = [_parse_number(value) for value in listed]
        words = np.array([number is None for number in parsed], dtype=bool) & ~missing
        if words.any():
            raise NotNumericError(name, table, rows_of(words, values))
        found = np.array([np.nan if p is None else p for p in parsed], dtype=np.float64)
    if missing.any():
        raise MissingValueError(name, table, rows_of(missing))
    if not np.isfinite(found).all():
        raise NonFiniteScoreError(name, table, rows_of(~np.isfinite(found), values))
    return found


def bounded_numbers(values: NDArray[Any], name: str, table: str) -> NDArray[np.float64]:
    """Return finite floats whose fourth powers, and the sums of these, are finite too."""
    found = numbers(values, name, table)
    broken = np.abs(found) > LARGEST
    if broken.any():
        raise OutOfRangeError(name, rows_of(broken, values), LARGEST)
    return found


def _parse_number(value: Any) -> float | None:
    try:
        return None if is_missing(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def binary(
    values: list[str], name: str, *, role: str, positive: str | None, classes: bool = False
) -> NDArray[np.bool_]:
    """Return which of the distinct values of a label or prediction are positive.

    0, 1, true, false, yes and no are understood (in any case); with `positive`, that value is
    positive and every other one negative. Where `classes` can be judged, too, an error says so.
    """
    if positive is not None and positive in values:
        return np.array([value == positive for value in values], dtype=bool)
    words = [value.strip().lower() for value in values]
    if all(word in TRUE_WORDS or word in FALSE_WORDS for word in words):
        return np.array([word in TRUE_WORDS for word in words], dtype=bool)
    raise NonBinaryError(name, values, role=role, classes=classes)


def is_true(values: NDArray[Any], name: str, table: str) -> NDArray[np.bool_]:
    """Return which rows of a column say true; others must say false."""
    codes, words = factorise(values)
    if (codes < 0).any():
        raise MissingValueError(name, table, rows_of(codes < 0))
    return binary(words, name, role=name, positive=None)[codes]


def positives(
    labels: list[str],
    predictions: list[str],
    *,
    names: tuple[str, str],
    positive: object,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which distinct labels and which distinct predictions are positive."""
    words = _positive_words(positive, (labels, predictions), names)
    truths = []
    for wanted, values, other, name, role in (
        (words[0], labels, predictions, names[0], "label"),
        (words[1], predictions, labels, names[1], "prediction"),
    ):
        # A column that never says the positive value is all negative if it uses the other's words.
        if wanted is not None and wanted not in values and set(values) <= set(other):
            truths.append(np.zeros(len(values), dtype=bool))
        else:
            truths.append(binary(values, name, role=role, positive=wanted, classes=True))
    return truths[0], truths[1]


def _positive_words(
    positive: object, columns: tuple[list[str], list[str]], names: tuple[str, str]
) -> tuple[str | None, str | None]:
    """Return the positive word of labels and that of predictions: one for both, or one of each."""
    if positive is None:
        return None, None
    either = {*columns[0], *columns[1]}
    words = positive_words(positive)
    if len(words) == 2 and not (isinstance(positive, str) and positive in either):
        for word, values, name in zip(words, columns, names, strict=True):
            if word not in values:
                raise UnknownPositiveError(word, (name,), values)
        return words[0], words[1]
    word = text_of(positive)
    if word not in either:
        raise UnknownPositiveError(positive, names, [*columns[0], *columns[1]])
    return word, word


def positive_words(positive: object) -> list[str]:
    """Return the words that mean yes: one, or that of labels and that of decisions.

    Examples
    --------
    >>> positive_words("good"), positive_words("yes, hired"), positive_words(["yes", "hired"])
    (['good'], ['yes', 'hired'], ['yes', 'hired'])
    """
    if isinstance(positive, list | tuple):
        return [text_of(word) for word in positive]
    text = text_of(positive)
    words = [word.strip() for word in text.split(",")]
    return words if len(words) == 2 and all(words) else [text]


def yes_values(positive: object, threshold: float | None) -> dict[str, Any]:
    """Return what counted as yes, where somebody said it, for the record.

    Examples
    --------
    >>> yes_values(None, None), yes_values(("yes", "hired"), None), yes_values(None, 0.5)
    ({}, {'positive': ['yes', 'hired']}, {'threshold': 0.5})
    """
    told: dict[str, Any] = {} if positive is None else {"positive": positive_words(positive)}
    return told if threshold is None else {**told, "threshold": float(threshold)}


def check_lengths(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise an error unless all arrays have one length."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise LengthMismatchError(lengths)
