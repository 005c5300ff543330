"""Results as data frames of whichever engine is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from comparity.errors import MissingEngineError
from comparity.results.plain import as_plain

if TYPE_CHECKING:
    from comparity.results.audit import Audit

__all__ = ["frame_of_rows", "frame_of_tests"]

Engine = Literal["pandas", "polars", "pyarrow"]
ENGINES: tuple[Engine, ...] = ("pandas", "polars", "pyarrow")


def frame_of_tests(audit: Audit, backend: str | None = None) -> Any:
    """Return one row for each test of an audit.

    Parameters
    ----------
    audit : Audit
        The audit.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The engine; by default the first of these that is installed.

    Returns
    -------
    DataFrame or Table
        Columns as in ``audit.to_dict()["tests"]``, with ``interval`` as ``low`` and ``high`` and
        ``n`` as ``n_first`` and ``n_second``. Numbers that do not exist are missing.

    Raises
    ------
    MissingEngineError
        If the engine is unknown or not installed.
    """
    return frame_of_rows([_flat(row) for row in as_plain(audit.tests)], backend)


def frame_of_rows(rows: Sequence[Mapping[str, Any]], backend: str | None = None) -> Any:
    """Return rows with the same keys as a frame.

    Parameters
    ----------
    rows : sequence of mapping
        One mapping of column to value for each row. No rows give a frame without columns.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The engine; by default the first of these that is installed.

    Returns
    -------
    DataFrame or Table
        A frame of the engine itself.
    """
    import narwhals as nw

    engine = _engine(backend)
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    # A column of missing numbers only would otherwise have no type.
    unknown = {name for name, values in columns.items() if all(value is None for value in values)}
    series = [
        nw.new_series(name, values, nw.Float64() if name in unknown else None, backend=engine)
        for name, values in columns.items()
    ]
    if not series:
        return nw.from_dict({}, backend=engine).to_native()
    return nw.from_dict({one.name: one for one in series}).to_native()


INTERVALS = {"test_interval": "test", "equivalence_interval": "equivalence"}


def _flat(test: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in test.items() if name not in (*INTERVALS, "n", "needed")}
    for name, called in INTERVALS.items():
        row[f"{called}_low"], row[f"{called}_high"] = test[name]["low"], test[name]["high"]
    row["n_first"], row["n_second"] = test["n"]
    return row


def _engine(asked: str | None) -> Engine:
    installed = [engine for engine in ENGINES if find_spec(engine) is not None]
    if asked is None and installed:
        return installed[0]
    for engine in installed:
        if engine == asked:
            return engine
    raise MissingEngineError(asked, ENGINES, installed)
