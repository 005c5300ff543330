"""Columns brought to memory batch by batch, text as codes and the names they stand for.

A million names of items take 60 MB as text of Python and 4 MB as codes. DuckDB hands its rows over
in Arrow record batches, each coded before the next is fetched; on Spark each batch is coded where
it is, and comes as bytes, one partition after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from comparity.tables.frames import collect_columns, error_of_duckdb, translate_duckdb
from comparity.tables.spark import translate_spark

BATCH_ROWS = 100_000
"""Rows that are coded at once."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedText:
    """A column of text in the place of an array: a code for each row, and the names.

    Attributes
    ----------
    codes : ndarray of int32
        Places in `names`; -1 where a value is missing.
    names : list of str
        Distinct, in the order in which they were met.

    Examples
    --------
    >>> column = CodedText(np.array([0, 1, -1], dtype=np.int32), ["x", "y"])
    >>> column[np.array([2, 0])].tolist(), len(column)
    ([None, 'x'], 3)
    """

    codes: NDArray[np.int32]
    names: list[str]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that an array of the values has."""
        return np.dtype(object)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> CodedText:
        return CodedText(self.codes[index], self.names)

    def astype(self, _: type) -> NDArray[Any]:
        """Return the values themselves."""
        return np.array([*self.names, None], dtype=object)[self.codes]

    def tolist(self) -> list[Any]:
        """Return the values themselves, as a list."""
        return list(self.astype(object))

    def join(self, other: CodedText) -> CodedText:
        """Return both columns, one after the other."""
        place = {name: code for code, name in enumerate(self.names)}
        moved = [place.setdefault(name, len(place)) for name in other.names]
        known = np.array([*moved, -1], dtype=np.int32)
        return CodedText(np.concatenate([self.codes, known[other.codes]]), list(place))


Brought = NDArray[Any] | CodedText


def bring_columns(frame: nw.LazyFrame[Any]) -> dict[str, Brought]:
    """Bring a frame to memory, columns of text of DuckDB and Spark as codes.

    Other engines, and DuckDB without PyArrow, give arrays of Python's text.

    Examples
    --------
    >>> from comparity.tables.frames import connection
    >>> rows = connection().sql("select 'i' || (i % 2) as item, i from range(3) t(i)")
    >>> found = bring_columns(nw.from_native(rows))
    >>> found["item"].names, found["item"].codes.tolist(), found["i"].tolist()
    (['i0', 'i1'], [0, 1, 0], [0, 1, 2])
    """
    names = frame.collect_schema().names()
    if frame.implementation.is_duckdb() and has_arrow():
        with translate_duckdb():
            return _put_together(names, _code_batches_of_duckdb(frame.to_native(), names))
    if frame.implementation.is_spark_like():
        with translate_spark():
            return _put_together(names, _batches_of_spark(frame.to_native(), names))
    return dict(collect_columns(frame))


Batch = list[tuple[list[str], NDArray[Any]]]
"""Of each column the names and codes of its text; no names where it holds numbers."""


def _put_together(names: Sequence[str], batches: Iterator[Batch]) -> dict[str, Brought]:
    """Join the batches of every column; codes are those of all names met so far."""
    places: list[dict[str, int]] = [{} for _ in names]
    parts: list[list[NDArray[Any]]] = [[] for _ in names]
    for batch in batches:
        for (words, values), place, part in zip(batch, places, parts, strict=True):
            if values.dtype == np.int32:
                codes = [place.setdefault(word, len(place)) for word in words]
                part.append(np.array([*codes, -1], dtype=np.int32)[values])
            else:
                part.append(values)
    found: dict[str, Brought] = {}
    for name, place, part in zip(names, places, parts, strict=True):
        whole = np.concatenate(part) if part else np.zeros(0, dtype=np.int32)
        part.clear()
        found[name] = CodedText(whole, list(place)) if whole.dtype == np.int32 else whole
    return found


def has_arrow() -> bool:
    """Return whether PyArrow is installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _code_batches_of_duckdb(rows: Any, names: Sequence[str]) -> Iterator[Batch]:
    for batch in batches_of_duckdb(rows):
        yield [code_array(batch.column(name)) for name in names]


def batches_of_duckdb(rows: Any) -> Iterator[Any]:
    """Yield the rows of a relation in Arrow record batches; PyArrow must be there."""
    import pyarrow

    read: Callable[[int], Any] = getattr(rows, "to_arrow_reader", None) or rows.fetch_record_batch
    try:
        yield from read(BATCH_ROWS)
    except (OSError, pyarrow.ArrowException) as error:
        # What DuckDB says while rows are fetched comes as an error of Arrow.
        raise error_of_duckdb(str(error)) from error


def _batches_of_spark(rows: Any, names: Sequence[str]) -> Iterator[Batch]:
    """Code batches on the workers, which need Python and PyArrow, and nothing of ours."""
    schema = ", ".join(f"w{k} array<string>, t{k} string, d{k} binary" for k in range(len(names)))
    code = code_array

    def encode(batches: Any) -> Any:
        import pyarrow

        for batch in batches:
            row: dict[str, list[Any]] = {}
            for k, column in enumerate(batch.columns):
                words, values = code(column)
                row |= {f"w{k}": [words], f"t{k}": [str(values.dtype)], f"d{k}": [values.tobytes()]}
            yield pyarrow.RecordBatch.from_pydict(row)

    for row in rows.select(*names).mapInArrow(encode, schema).toLocalIterator():
        yield [
            (list(row[3 * k]), np.frombuffer(row[3 * k + 2], dtype=row[3 * k + 1]))
            for k in range(len(names))
        ]


def _make_coder() -> Callable[[Any], tuple[list[str], NDArray[Any]]]:
    """Return what codes an array; made here, so that it travels to workers as it is."""

    def code(array: Any) -> tuple[list[str], Any]:
        import numpy
        import pyarrow

        kind = array.type
        if pyarrow.types.is_boolean(kind) and not array.null_count:
            return [], array.to_numpy(zero_copy_only=False)
        if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
            # Where a number is missing all are floats; codes alone have 32 bits.
            found = array.to_numpy(zero_copy_only=False)
            return [], found.astype("int64") if found.dtype == numpy.int32 else found
        if not pyarrow.types.is_dictionary(kind):
            array = array.cast(pyarrow.string()).dictionary_encode()
        words = array.dictionary.to_pylist()
        return words, array.indices.fill_null(-1).to_numpy().astype(numpy.int32)

    return code


code_array = _make_coder()
