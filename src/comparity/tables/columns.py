"""Column contracts: which columns a table must have, what they may hold, and who breaks that.

A table is any frame that narwhals knows, eager or lazy. It is opened once, keeps only the columns
it needs under the names this package uses, and stays on its own engine. Nothing is computed here:
expressions say what counts as missing, as a number, as true; checks run them and raise errors
that name rows. Missing means null or NaN, on every engine alike (pandas cannot tell them apart).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import narwhals as nw
from numpy.typing import NDArray

from comparity.errors import (
    BlankNameError,
    EmptyTableError,
    MissingColumnError,
    MissingValueError,
    NonFiniteScoreError,
    NotNumericError,
    Offenders,
    OptionError,
    UnsupportedColumnError,
)
from comparity.errors.spelling import BLANKS as NO_INK
from comparity.tables.frames import (
    WHOLE,
    WHOLE_PART,
    collect_columns,
    is_missing,
    open_frame,
    text_of,
)

Schema = Mapping[str, nw.dtypes.DType]


SHOWN = 5

BLANKS = " \t\r\n"

# Plain decimal numbers no engine can overflow on; exponents stay within the range of a double.
DIGITS = r"(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})"

BARE_NUMBER = rf"[+-]?{DIGITS}(?:[eE](?:\+?0?[0-9]{{1,2}}|-[0-2]?[0-9]{{1,2}}))?"
NUMBER, PADDED_NUMBER = rf"^{BARE_NUMBER}$", rf"^[{BLANKS}]*{BARE_NUMBER}[{BLANKS}]*$"

TRUE_WORDS = ("1", "1.0", "true", "yes")

FALSE_WORDS = ("0", "0.0", "false", "no")

INK = f"[^{NO_INK}]"
"""Something to be seen. DuckDB strips text of so many characters in forty times the time."""

FIRST_INK, LAST_INK = "!", "~"
"""What begins with a character from one to the other can be seen."""

# Integers that 64 signed bits hold.
SMALL_INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with the columns it needs, under the names this package uses.

    Attributes
    ----------
    name : str
        What errors call it: ``"comparisons"``, ``"items"``, ``"decisions"``.
    frame : narwhals.LazyFrame
        The needed columns only.
    columns : mapping of str to str
        Our name of each column to the user's.
    schema : mapping of str to DType
        Types of the columns, under our names.
    """

    name: str
    frame: nw.LazyFrame[Any]
    columns: Mapping[str, str]
    schema: Schema

    def missing(self, column: str) -> nw.Expr:
        """Say where a value is null or NaN."""
        value = nw.col(column)
        if self.schema[column].is_float():
            return value.is_null() | value.is_nan()
        return value.is_null()

    def text(self, column: str) -> nw.Expr:
        """Return ids as text: whole floats without their ``.0``."""
        value, dtype = nw.col(column), self.schema[column]
        if isinstance(dtype, nw.Boolean):
            return nw.when(value).then(nw.lit("True")).when(~value).then(nw.lit("False"))
        if not dtype.is_float():
            return value.cast(nw.String)
        whole = (value.abs() < WHOLE) & (value == value.floor())
        as_integer = nw.when(whole).then(value).otherwise(nw.lit(0.0)).cast(nw.Int64)
        return nw.when(whole).then(as_integer.cast(nw.String)).otherwise(value.cast(nw.String))

    def number(self, column: str) -> nw.Expr:
        """Return values as floats; what is not a number becomes null."""
        value, dtype = nw.col(column), self.schema[column]
        if isinstance(dtype, nw.Boolean):
            return value.cast(nw.Int64).cast(nw.Float64)
        if isinstance(dtype, nw.Float64):
            return value
        engine = self.frame.implementation
        arrow = engine.is_pyarrow() or engine.is_pandas()
        if isinstance(dtype, nw.Int64 | nw.UInt64) and arrow:
            # PyArrow refuses to round whole numbers beyond 2**53; in two parts each is exact.
            high = value // WHOLE_PART
            low = value - high * WHOLE_PART
            return high.cast(nw.Float64) * WHOLE_PART + low.cast(nw.Float64)
        if dtype.is_numeric():
            return value.cast(nw.Float64)
        # Stripping takes DuckDB three times as long as the rest, and few numbers need it.
        padded = nw.when(value.str.contains(PADDED_NUMBER)).then(value.str.strip_chars(BLANKS))
        return nw.when(value.str.contains(NUMBER)).then(value).otherwise(padded).cast(nw.Float64)

    def not_numeric(self, column: str) -> nw.Expr:
        """Say where text is there but is no number."""
        value = nw.col(column)
        return ~value.is_null() & ~value.str.contains(PADDED_NUMBER)

    def blank(self, column: str) -> nw.Expr:
        """Say where nothing of a name can be seen."""
        value = nw.col(column)
        if not isinstance(self.schema[column], nw.String):
            return value.is_null() & ~value.is_null()
        # A look at how it begins takes an eighth of the time of the search for ink.
        known = value.fill_null("")
        begins = (known >= FIRST_INK) & (known <= LAST_INK)
        return (
            nw.when(value.is_null() | begins)
            .then(nw.lit(False))
            .otherwise(~known.str.contains(INK))
        )

    def truth(self, column: str) -> nw.Expr:
        """Return 1 where a value says true, 0 where it says false, -1 where it says neither."""
        value = nw.col(column)
        if isinstance(self.schema[column], nw.Boolean):
            yes, no = value, ~value
        elif isinstance(self.schema[column], nw.String):
            words = value.str.strip_chars(BLANKS).str.to_lowercase()
            yes, no = words.is_in(TRUE_WORDS), words.is_in(FALSE_WORDS)
        else:
            yes, no = value == 1, value == 0
        return nw.when(yes).then(nw.lit(1)).when(no).then(nw.lit(0)).otherwise(nw.lit(-1))

    def with_frame(self, frame: nw.LazyFrame[Any]) -> Table:
        """Return the same table with other rows."""
        return replace(self, frame=frame)


def open_table(native: Any, name: str, columns: Mapping[str, str]) -> Table:
    """Open a frame of any engine, keeping the columns named.

    Parameters
    ----------
    native : frame of any engine narwhals knows
    name : str
        What errors call the table.
    columns : mapping of str to str
        Our name of each needed column to the user's.
    """
    frame, known = open_frame(native, name)
    for column in columns.values():
        if column not in known:
            raise MissingColumnError(column, name, known)
    chosen = frame.select(nw.col(column).alias(ours) for ours, column in columns.items())
    schema = {
        ours: _check_supported(dtype, columns[ours], name, chosen)
        for ours, dtype in chosen.collect_schema().items()
    }
    plain = _plain(chosen, schema)
    return Table(name=name, frame=plain, columns=dict(columns), schema=dict(plain.collect_schema()))


def _check_supported(dtype: Any, column: str, table: str, frame: Any) -> Any:
    # A column of nothing but nulls has no type of its own.
    text = isinstance(dtype, nw.String | nw.Categorical | nw.Enum | nw.Unknown)
    python = isinstance(dtype, nw.Object) and isinstance(frame, nw.DataFrame)
    if text or python or dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        return dtype
    raise UnsupportedColumnError(column, table, f"a column of type {dtype}")


def _plain(frame: Any, schema: Schema) -> nw.LazyFrame[Any]:
    """Turn categories, Python objects, decimals and the widest integers into text and floats."""
    changed: list[Any] = []
    for name, dtype in schema.items():
        if isinstance(dtype, nw.Categorical | nw.Enum | nw.Unknown):
            changed.append(nw.col(name).cast(nw.String))
        elif isinstance(dtype, nw.Decimal | nw.Int128 | nw.UInt128):
            changed.append(_narrow_column(frame, name))
        elif isinstance(dtype, nw.Object):
            texts = [None if is_missing(v) else text_of(v) for v in frame[name].to_list()]
            changed.append(nw.new_series(name, texts, nw.String, backend=frame.implementation))
    lazy: nw.LazyFrame[Any] = (frame.with_columns(*changed) if changed else frame).lazy()
    return lazy


def _narrow_column(frame: Any, name: str) -> nw.Expr:
    """Return wide numbers as floats, as text where floats would take two ids for one."""
    value = nw.col(name)
    floats = value.cast(nw.Float64)
    found = collect_columns(frame.lazy().select(floats.abs().max().alias("largest")))
    largest = found["largest"][0]
    if is_missing(largest) or largest < WHOLE:
        return floats
    return value.cast(nw.String).str.replace_all(r"\.0+$", "")


class Spans(NamedTuple):
    """Rows of a table, and the smallest and the largest number of columns."""

    rows: int
    ends: Mapping[str, tuple[float, float]]


def check_columns(
    table: Table,
    *,
    complete: Iterable[str] = (),
    numeric: Iterable[str] = (),
    names: Iterable[str] = (),
) -> Spans:
    """Raise an error unless columns have no gaps, names are seen and scores are finite numbers.

    Parameters
    ----------
    table : Table
    complete : iterable of str
        Columns (our names) that may not have missing values.
    numeric : iterable of str
        Columns that must in addition hold finite numbers.
    names : iterable of str
        Columns that must in addition hold names of which something can be seen.

    Returns
    -------
    Spans
        What was seen on the way.
    """
    complete, numeric, names = list(complete), list(numeric), list(names)
    bad = {("missing", name): table.missing(name) for name in [*complete, *numeric, *names]}
    bad |= {("blank", name): table.blank(name) for name in names}
    texts = [name for name in numeric if isinstance(table.schema[name], nw.String)]
    bad |= {("words", name): table.not_numeric(name) for name in texts}
    counted = [
        found.cast(nw.Int64).sum().alias(f"{kind} {name}") for (kind, name), found in bad.items()
    ]
    for name in numeric:
        value = table.number(name)
        counted += [value.min().alias(f"low {name}"), value.max().alias(f"high {name}")]
    totals = collect_columns(table.frame.select(nw.len().alias("rows"), *counted))
    if not totals["rows"][0]:
        raise EmptyTableError(table.name)
    for (kind, name), found in bad.items():
        if totals[f"{kind} {name}"][0]:
            raise _BROKEN[kind](table.columns[name], table.name, offenders(table, found, name))
    ends = {name: (totals[f"low {name}"][0], totals[f"high {name}"][0]) for name in numeric}
    numbers = {name: (float(low), float(high)) for name, (low, high) in ends.items()}
    for name, span in numbers.items():
        # Nothing is missing any more, so that the ends tell of all numbers.
        if not all(map(math.isfinite, span)):
            infinite = offenders(table, ~table.number(name).is_finite(), name)
            raise NonFiniteScoreError(table.columns[name], table.name, infinite)
    return Spans(int(totals["rows"][0]), numbers)


_Broken = MissingValueError | BlankNameError | NotNumericError
_BROKEN: dict[str, type[_Broken]] = {
    "missing": MissingValueError,
    "blank": BlankNameError,
    "words": NotNumericError,
}


def offenders(
    table: Table,
    broken: nw.Expr | nw.LazyFrame[Any],
    column: str | None = None,
    *,
    how: Literal["anti", "semi"] = "anti",
) -> Offenders:
    """Count the rows that break a contract and show the first of them.

    Parameters
    ----------
    table : Table
    broken : narwhals.Expr or narwhals.LazyFrame
        A condition, or a frame of ids that `column` should have (``"anti"``) or not (``"semi"``).
    column : str, optional
        The column (our name) whose values are shown.
    how : {"anti", "semi"}
    """
    rows = number_rows(table.frame)
    if isinstance(broken, nw.Expr):
        rows = rows.filter(broken)
    else:
        rows = rows.join(broken, on=column, how=how)
    count = int(collect_columns(rows.select(nw.len().alias("n")))["n"][0])
    first = collect_columns((rows.sort("row") if _has_rows(rows) else rows).head(SHOWN))
    values = [] if column is None else [v for v in first[column].tolist() if not is_missing(v)]
    return Offenders(
        count,
        tuple(int(row) + 1 for row in first.get("row", ())),
        tuple(dict.fromkeys(text_of(value) for value in values)),
    )


def _has_rows(frame: nw.LazyFrame[Any]) -> bool:
    return "row" in frame.collect_schema().names()


def number_rows(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Add the position of each row as ``row``, where the engine keeps an order."""
    native: Any = frame.to_native()
    engine = frame.implementation
    if engine.is_spark_like():
        return frame
    rows: nw.LazyFrame[Any]
    if engine.is_duckdb():
        rows = nw.from_native(native.project("row_number() over () - 1 as row, *"))
    elif engine.is_polars():
        rows = nw.from_native(native.lazy().with_row_index("row"))
    else:
        rows = nw.from_native(native, eager_only=True).with_row_index("row").lazy()
    return rows


def with_keys(comparisons: Table, items: Table) -> tuple[Table, Table]:
    """Add ids that can be joined: as integers or text if all three columns are, else as text."""
    tables = ((comparisons, "better"), (comparisons, "worse"), (items, "item"))
    kinds = [table.schema[column] for table, column in tables]
    small = all(isinstance(kind, SMALL_INTEGERS) for kind in kinds)
    # PyArrow has two types of text, which it does not join; as text they are of one.
    arrow = items.frame.implementation.is_pyarrow()
    alike = all(isinstance(kind, nw.String) for kind in kinds) and not arrow

    def key(table: Table, column: str) -> nw.Expr:
        if small:
            return nw.col(column).cast(nw.Int64)
        return nw.col(column) if alike else table.text(column)

    sides = [key(comparisons, side).alias(f"{side}_key") for side in ("better", "worse")]
    return (
        comparisons.with_frame(comparisons.frame.with_columns(*sides)),
        items.with_frame(items.frame.with_columns(key(items, "item").alias("key"))),
    )


def with_places(
    table: Table, frame: nw.LazyFrame[Any], shared: str
) -> tuple[nw.LazyFrame[Any], tuple[str, ...]]:
    """Give evaluators, or clusters, positions on the engine: text for every pair is dear."""
    known = table.frame.filter(~table.missing(shared)).select(shared)
    indexed = known.unique().with_row_index(f"{shared}_place", order_by=shared)
    found = collect_columns(indexed)
    names = [""] * len(found[shared])
    for place, name in zip(found[f"{shared}_place"], found[shared].tolist(), strict=True):
        names[int(place)] = text_of(name)
    return frame.join(indexed, on=shared, how="left"), tuple(names)


def check_option(option: str, found: object, choices: Sequence[object]) -> None:
    """Raise an error unless an option is one of its choices."""
    if found not in choices:
        raise OptionError(option, found, [repr(choice) for choice in choices])


def check_sensitive(names: Sequence[str]) -> None:
    """Raise an error unless at least one sensitive attribute is named, and none twice."""
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        raise OptionError("sensitive", names, ["a list of one or more different columns"])


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
    return collect_columns(open_table(frame, table, roles).frame)
