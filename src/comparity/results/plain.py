"""Answers as plain data and back, by one function over their fields.

An answer is a dataclass. Its fields are written by name, in their order; what else a reader of the
JSON wants to see (an interval, a table of rows) is in the class variable ``DERIVED``, by its name
in the JSON the property or method that gives it; it is worked out again when the answer is read
back. A class whose unwritten fields follow from what is written says how in ``completed_from``.
Marks in the metadata of a field say more:

==================  ==========================================================================
``UNWRITTEN``       the field is not written, and has its default when read back
``INLINE``          the fields of this part are written among those of the whole; with
                    ``"kind"``, the kind of the part is written by that name
``{"name": ...}``   what the field is called there, if not by its own name
==================  ==========================================================================

A number that does not exist is ``null``, an infinite one ``"inf"`` or ``"-inf"``.

:func:`as_json` writes the same as JSON without making a list or a dictionary of every row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

UNWRITTEN = {"written": False}
INLINE = {"inline": True}
INFINITE = {math.inf: "inf", -math.inf: "-inf"}
PLAIN = frozenset({bool, int, str, type(None)})
"""Types whose values JSON holds as they are."""
WRITTEN_AT_ONCE = 10_000
"""Rows of a table whose texts are held at the same time."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Rows of an answer, column by column: a million of them are looked at once, and made once.

    Attributes
    ----------
    n_rows : int
    values : mapping of str to ndarray, list or Columns
        Of each column; columns within a column make a dictionary of each row.

    Examples
    --------
    >>> score = Columns(2, {"item": ["x", "y"], "score": np.array([0.5, np.nan])})
    >>> score.rows()
    [{'item': 'x', 'score': 0.5}, {'item': 'y', 'score': nan}]
    >>> as_plain(Columns(2, {"rank": [1, 2], "of": score}))[1]
    {'rank': 2, 'of': {'item': 'y', 'score': None}}
    """

    n_rows: int
    values: Mapping[str, Any]

    def __len__(self) -> int:
        return self.n_rows

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row."""
        if not self.values:
            return [{} for _ in range(self.n_rows)]
        lists = map(_list_of, self.values.values())
        return [dict(zip(self.values, row, strict=True)) for row in zip(*lists, strict=True)]


def _list_of(column: Any) -> list[Any]:
    if isinstance(column, Columns):
        return column.rows()
    found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return found


class Form(NamedTuple):
    """What finite arrays and tables of plain columns become."""

    array: Callable[[NDArray[Any]], Any]
    table: Callable[[Columns], Any]


LISTS = Form(np.ndarray.tolist, Columns.rows)
AS_THEY_ARE = Form(lambda values: values, lambda columns: columns)


def as_plain(value: Any, form: Form = LISTS) -> Any:
    """Return a value as numbers, text, lists and dictionaries that JSON can hold.

    Examples
    --------
    >>> as_plain({"gap": np.float64(0.5), "errors": np.array([1.0, np.nan]), "n": (3, math.inf)})
    {'gap': 0.5, 'errors': [1.0, None], 'n': [3, 'inf']}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else INFINITE.get(value, value)
    if isinstance(value, np.ndarray):
        return _plain_array(value, form)
    if isinstance(value, Columns):
        plain = {name: as_plain(column, form) for name, column in value.values.items()}
        return form.table(Columns(value.n_rows, plain))
    if is_dataclass(value) and not isinstance(value, type):
        return _plain_kind(value) | _plain_fields(value, form)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return as_plain(value._asdict(), form)
    if isinstance(value, Mapping):
        return {
            # Most of a million rows are such numbers and names: calls would take most of the time.
            str(name): one
            if type(one) in PLAIN or (type(one) is float and -math.inf < one < math.inf)
            else as_plain(one, form)
            for name, one in value.items()
        }
    if isinstance(value, Set):
        return [as_plain(one, form) for one in sorted(value)]
    if isinstance(value, tuple | list):
        # Names of a million items: looked at once, not one by one.
        is_plain = PLAIN.issuperset(map(type, value))
        return [*value] if is_plain else [as_plain(one, form) for one in value]
    raise TypeError(f"{type(value).__name__} cannot be written as plain data")


def _plain_array(values: NDArray[Any], form: Form) -> Any:
    if values.dtype.kind in "iub" or (values.dtype.kind == "f" and np.isfinite(values).all()):
        return form.array(values)
    return as_plain(values.tolist(), form)


def _plain_kind(whole: Any) -> dict[str, Any]:
    """Return what an answer says of its form; parts of answers say nothing."""
    return {"kind": whole.KIND, "version": whole.VERSION} if hasattr(whole, "KIND") else {}


def _plain_fields(whole: Any, form: Form, besides: Set[str] = frozenset()) -> dict[str, Any]:
    """Return the fields of an answer by name, and what is derived from it but for `besides`."""
    derived = {
        name: source
        for name, source in getattr(whole, "DERIVED", {}).items()
        if name not in besides
    }
    found: dict[str, Any] = {}
    for one in fields(whole):
        if one.metadata.get("inline"):
            # What the whole says by the same name comes after it, and stands.
            part = getattr(whole, one.name)
            found = _plain_fields(part, form, besides | derived.keys()) | found
            if "kind" in one.metadata:
                found[one.metadata["kind"]] = part.KIND
        elif one.metadata.get("written", True):
            found[one.metadata.get("name", one.name)] = as_plain(getattr(whole, one.name), form)
    for name, source in derived.items():
        value = attrgetter(source)(whole)
        found[name] = as_plain(value() if callable(value) else value, form)
    return found


def as_json(plain: Any) -> bytes:
    """Return as JSON, in one line, what :func:`as_plain` left `AS_THEY_ARE`.

    Raises
    ------
    orjson.JSONEncodeError
        A whole number needs more than 64 bits, or a text has half of a pair of surrogates.

    Examples
    --------
    >>> score = Columns(2, {"item": ["x", "y"], "score": np.array([0.5, 1e-7])})
    >>> as_json(as_plain({"best": score, "n": np.array([2])}, AS_THEY_ARE))
    b'{"best":[{"item":"x","score":0.5},{"item":"y","score":1e-7}],"n":[2]}'
    """
    # Imported here because only an answer of very many rows is written by it.
    import orjson

    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS

    def write(value: Any) -> Any:
        if isinstance(value, Columns):
            return orjson.Fragment("".join(["[", *_write_rows(value, to_text), "]"]))
        # Orjson takes arrays that are contiguous.
        return np.asarray(value).tolist()

    def to_text(value: Any) -> str:
        return orjson.dumps(value, write, options).decode()

    return orjson.dumps(plain, write, options)


def _write_rows(columns: Columns, to_text: Callable[[Any], str]) -> Iterable[str]:
    """Yield the JSON of some rows at a time."""
    names, values, end = _frame_of_row(columns)
    if not values:
        yield ",".join([end] * columns.n_rows)
        return
    for start in range(0, columns.n_rows, WRITTEN_AT_ONCE):
        part = slice(start, min(start + WRITTEN_AT_ONCE, columns.n_rows))
        pieces = [""] * (2 * len(values) * (part.stop - start))
        # Names and texts stand in turns, and are joined at once: in half the time that it takes to
        # format one row after the other.
        for place, (name, column) in enumerate(zip(names, values, strict=True)):
            before = end + "," + name if place == 0 else name
            pieces[2 * place :: 2 * len(values)] = [before] * (part.stop - start)
            pieces[2 * place + 1 :: 2 * len(values)] = _texts_of(column[part], to_text)
        pieces[0] = "," + names[0] if start else names[0]
        yield "".join([*pieces, end])


def _frame_of_row(columns: Columns) -> tuple[list[str], list[Any], str]:
    """Return what stands before each value of a row, the columns of the values, and the end."""
    names: list[str] = []
    values: list[Any] = []
    before = "{"
    for name, column in columns.values.items():
        before += json.dumps(name) + ":"
        if isinstance(column, Columns):
            inner, further, end = _frame_of_row(column)
            names += [before + inner[0], *inner[1:]] if inner else []
            values += further
            before = (end if inner else before + end) + ","
        else:
            names.append(before)
            values.append(column)
            before = ","
    return names, values, (before[:-1] if columns.values else before) + "}"


def _texts_of(column: Any, to_text: Callable[[Any], str]) -> list[str]:
    """Return the JSON of each value of a part of a column."""
    whole = np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column
    texts = to_text(whole)[1:-1].split(",")
    # Numbers and most names have no commas, so that these stand between values alone.
    return texts if len(texts) == len(column) else [*map(to_text, column)]


def from_plain(kind: Any, content: Any) -> Any:
    """Return the value of a type that plain data hold.

    Parameters
    ----------
    kind : type
        A class of answers, or any type that fields of answers have.
    content : plain data
        What :func:`as_plain` returned. What is not of that form raises ``KeyError``, ``TypeError``
        or ``ValueError``; keys that are no fields are passed over.

    Examples
    --------
    >>> from_plain(tuple[float, ...], [0.5, None])
    (0.5, nan)
    """
    if kind is Any:
        return content
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _from_union(inner, content)
    if origin is tuple:
        return _from_list(inner, content)
    if origin is not None and issubclass(origin, Mapping):
        return {name: from_plain(inner[1], one) for name, one in _object(content).items()}
    if origin is np.ndarray:
        return _from_array(get_args(inner[1])[0], content)
    if hasattr(kind, "from_dict"):
        # An answer within an answer, which says its kind.
        return kind.from_dict(content)
    if is_dataclass(kind):
        return fields_from_plain(kind, _object(content))
    if isinstance(kind, type) and issubclass(kind, tuple):
        hints = get_type_hints(kind)
        return kind(**{name: from_plain(hints[name], content[name]) for name in hints})
    return _from_scalar(kind, content)


def fields_from_plain(kind: Any, content: Mapping[str, Any]) -> Any:
    """Return a dataclass from the plain data of its fields, whatever kind these say they are."""
    hints, values = _hints(kind), {}
    for one in fields(kind):
        if one.metadata.get("inline"):
            part = hints[one.name]
            if "kind" in one.metadata:
                part = part.kind_named(content[one.metadata["kind"]])
            values[one.name] = fields_from_plain(part, content)
        elif one.metadata.get("written", True):
            name = one.metadata.get("name", one.name)
            optional = one.default is not MISSING or one.default_factory is not MISSING
            if name in content or not optional:
                values[one.name] = from_plain(hints[one.name], content[name])
    if hasattr(kind, "completed_from"):
        values |= kind.completed_from(content)
    return kind(**values)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a class; those of class variables are of no use here."""
    return {
        name: hint
        for name, hint in get_type_hints(kind).items()
        if get_origin(hint) is not ClassVar
    }


def _from_union(kinds: tuple[Any, ...], content: Any) -> Any:
    """Read one of several types: nothing, or the first that fits."""
    if content is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    for kind in others[:-1]:
        try:
            return from_plain(kind, content)
        except (KeyError, TypeError, ValueError):
            continue
    return from_plain(others[-1], content)


def _from_list(kinds: tuple[Any, ...], content: Any) -> tuple[Any, ...]:
    if not isinstance(content, list):
        raise TypeError(f"{type(content).__name__} in place of a list")
    if kinds[-1:] == (Ellipsis,):
        return tuple(from_plain(kinds[0], one) for one in content)
    return tuple(from_plain(kind, one) for kind, one in zip(kinds, content, strict=True))


def _from_array(scalar: Any, content: Any) -> NDArray[Any]:
    if not isinstance(content, list):
        raise TypeError(f"{type(content).__name__} in place of a list of numbers")
    if scalar is Any:
        names = np.empty(len(content), dtype=object)
        names[:] = [_name(one) for one in content]
        return names
    return np.array(_parse_nested(content, bool if scalar is np.bool_ else float), dtype=scalar)


def _parse_nested(content: Any, kind: type) -> Any:
    if isinstance(content, list):
        return [_parse_nested(one, kind) for one in content]
    # Whole numbers stay whole: not all of them are numbers with a fraction.
    return _number(content) if kind is float else _from_scalar(kind, content)


def _name(content: Any) -> Any:
    if not isinstance(content, str | int | float):
        raise TypeError(f"{type(content).__name__} in place of a name")
    return content


def _object(content: Any) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise TypeError(f"{type(content).__name__} in place of an object")
    return content


def _number(content: Any) -> float:
    if content is None:
        return math.nan
    if content in ("inf", "-inf"):
        return float(content)
    if isinstance(content, bool) or not isinstance(content, int | float):
        raise TypeError(f"{content!r} in place of a number")
    return content


def _from_scalar(kind: Any, content: Any) -> Any:
    if kind is float:
        return float(_number(content))
    # To Python a truth value is a whole number.
    if not isinstance(content, kind) or (kind is int and isinstance(content, bool)):
        raise TypeError(f"{content!r} in place of {'a text' if kind is str else kind.__name__}")
    return content
