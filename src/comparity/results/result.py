"""The base class of all answers: text, page, plot, and conversion to JSON and back.

The three words for a finding are here, too; :mod:`comparity.results.judging` decides on them.
"""

from __future__ import annotations

import gc
import json
import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from inspect import isabstract
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from comparity.errors import ForeignResultError, MissingEngineError
from comparity.results.plain import (
    AS_THEY_ARE,
    Columns,
    as_json,
    as_plain,
    fields_from_plain,
)
from comparity.tables.outputs import write_csv, write_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from comparity.reports.sections import Section

VIOLATED = "violated"
WITHIN = "within the margin"
UNDECIDED = "undecided"

EXIT_STATUS = {WITHIN: 0, VIOLATED: 1, UNDECIDED: 3}
"""What a command returns to the shell; 2 is bad input."""

MOST_READ = 10_000
"""Rows of the longest list in a JSON that somebody may read."""
LISTED = (list, Columns, np.ndarray)
"""What is a list in JSON."""

Engine = Literal["pandas", "polars", "pyarrow"]
ENGINES: tuple[Engine, ...] = ("pandas", "polars", "pyarrow")

HOMES = (
    "comparity.results.audit",
    "comparity.reports.outlines",
    "comparity.reports.bundles",
    "comparity.reports.ranges",
    "comparity.separation.information_result",
    "comparity.impact.result",
    "comparity.pairwise.result",
    "comparity.relative.result",
    "comparity.relative.rehearsal",
    "comparity.relative.bridge_families",
    "comparity.metrics.result",
    "comparity.metrics.metric_clusters",
    "comparity.metrics.comparison",
    "comparity.metrics.distortion",
    "comparity.metrics.classes",
    "comparity.metrics.metric_study",
    "comparity.metrics.regression_result",
    "comparity.ranking.result",
    "comparity.ranking.panel",
    "comparity.ranking.rank",
    "comparity.ranking.places",
    "comparity.ranking.reliability",
    "comparity.ranking.exposure",
    "comparity.ranking.fair_topk",
    "comparity.training.result",
    "comparity.training.trained_scorers",
    "comparity.planning.result",
    "comparity.pairs.result",
    "comparity.judges.result",
    "comparity.gate.check",
    "comparity.tasks.result",
    "comparity.tasks.plan_tasks",
    "comparity.collect.result",
    "comparity.demo.story",
    "comparity.cli.installation",
    "comparity.cli.published",
)
"""Modules that define classes of answers; they are imported only to read an answer back."""


class Result(ABC):
    """An answer: a frozen dataclass that can be shown in every medium.

    A subclass defines what is shown (:meth:`section`) and may have a ``plot``. Everything else
    follows from its fields: JSON and back, a page, a view in notebooks. `DERIVED` lists what the
    JSON holds besides the fields: for each name, the property or the method without arguments that
    computes it.

    Attributes
    ----------
    KIND : str
        What the JSON calls this kind of answer; by default the words of the class name. Empty in a
        class that others are derived from.
    VERSION : int
        Of the form of the JSON; raised when a field is renamed or means something else.
    """

    __slots__ = ()

    KIND: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    DERIVED: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        if "KIND" not in vars(cls):
            cls.KIND = " ".join(re.findall(r"[A-Z][a-z0-9]*", cls.__name__)).lower()
        # A dataclass would list all fields of an answer, thousands of numbers.
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    @abstractmethod
    def section(self) -> Section:
        """Return the answer as a section of a report: words, tables and charts."""

    def parts(self) -> Mapping[str, Result]:
        """Return further answers that are told after this one, by name."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, ready for JSON; :meth:`from_dict` reads it back."""
        with _without_collection():
            plain: dict[str, Any] = as_plain(self)
        return plain

    def to_json(self) -> str:
        """Return the answer as JSON, indented where it is short enough to be read.

        A ranking of a million items is not: on one line it is written thirty times as fast.
        """
        content = as_plain(self, AS_THEY_ARE)
        lists = (one for one in content.values() if isinstance(one, LISTED))
        longest = max(map(len, lists), default=0)
        if longest <= MOST_READ:
            return json.dumps(self.to_dict(), indent=2, allow_nan=False)
        try:
            return as_json(content).decode()
        except TypeError:
            # Whole numbers of any size and texts that are not quite Unicode.
            return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def kind_named(cls, kind: object) -> type[Self]:
        """Return the class of answers of this kind, this one or one that is derived from it."""
        for known in _classes():
            if kind == known.KIND and issubclass(known, cls):
                return known
        raise ValueError(f"kind {kind!r}")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return an answer from its plain data, every number as it stands there.

        Raises
        ------
        ForeignResultError
            The data are of another kind, of another version, or not of this form.
        """
        answer: Self = read_result(content, expected=cls)
        return answer

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the answer as one HTML page, and write it where a path is given."""
        from comparity.reports.page import page

        text = page(self)
        if path is not None:
            write_text(path, text)
        return text

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows of the first table as it is shown, as a frame of the named engine.

        Answers that hold numbers have a frame of these instead.
        """
        for grid in self.section().grids:
            return frame_of_rows(
                [dict(zip(grid.header, row, strict=True)) for row in grid.rows], backend
            )
        return frame_of_rows([], backend)

    def save_csv(self, path: str | PathLike[str]) -> None:
        """Write the rows of :meth:`to_frame` as CSV; a cell without a value is empty."""
        import narwhals as nw

        columns = nw.from_native(self.to_frame(), eager_only=True).to_dict(as_series=False)
        # What is not known is None in some engines and not a number in others.
        cells = [["" if one is None or one != one else one for one in c] for c in columns.values()]
        write_csv(path, columns, cells)

    def __repr__(self) -> str:
        """Return what was found in one line; ``print`` shows all of it."""
        return f"<{type(self).__name__}: {self.section().headline}>"

    def __rich__(self) -> RenderableType:
        from comparity.reports.terminal import view

        return view(self)

    def __str__(self) -> str:
        from comparity.reports.terminal import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from comparity.reports.page import fragment

        return fragment(self)


def read_result(content: Any, *, expected: type[Result] | None = None, source: str = "this") -> Any:
    """Return an answer from its plain data, whatever its kind.

    Parameters
    ----------
    content : mapping
        What ``to_dict()`` returned and ``--json`` printed.
    expected : type, optional
        The class of answers it must be; any by default.
    source : str
        Where it comes from, for the error.

    Raises
    ------
    ForeignResultError
        The data are of no kind that is expected, of another version, or not of this form.
    """
    known = {kind.KIND: kind for kind in _classes() if issubclass(kind, expected or Result)}
    if not isinstance(content, Mapping) or "kind" not in content:
        raise ForeignResultError(source, "no object that says its kind")
    kind, version = content["kind"], content.get("version")
    if not isinstance(kind, str) or kind not in known:
        raise ForeignResultError(source, f"kind {kind!r}")
    if version != known[kind].VERSION:
        found = f"version {version!r} of {kind!r}; this comparity reads {known[kind].VERSION}"
        raise ForeignResultError(source, found)
    try:
        answer = fields_from_plain(known[kind], content)
        # What is derived is written too: a number changed by hand contradicts it, or is missing.
        if as_plain(answer) != content:
            raise ValueError("numbers that do not follow from each other")
        # What fits its fields may still not fit together, as a list with a name too few.
        tuple(answer.section().charts)
    except KeyError as error:
        raise ForeignResultError(source, f"{kind!r} without {error}") from error
    except (TypeError, ValueError, IndexError, ArithmeticError, StopIteration) as error:
        raise ForeignResultError(source, f"{kind!r} with {error}") from error
    return answer


def _classes() -> Iterator[type[Result]]:
    """Yield every class of answers."""
    for home in HOMES:
        import_module(home)
    waiting = [Result]
    while waiting:
        found = waiting.pop()
        waiting += found.__subclasses__()
        # A dataclass with slots leaves the class it was made from behind, under the same name.
        is_last = getattr(sys.modules[found.__module__], found.__name__) is found
        if is_last and found.KIND and not isabstract(found):
            yield found


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no cycles: rows hold none, and a million are made in a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def missing_as_none(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with None for numbers that do not exist; infinite ones stay numbers."""
    return [
        {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in row.items()
        }
        for row in rows
    ]


def frame_of_rows(rows: Sequence[Mapping[str, Any]], backend: str | None = None) -> Any:
    """Return rows with the same keys as a frame.

    Parameters
    ----------
    rows : sequence of mapping
        One mapping of column to value for each row. No rows give a frame without columns; numbers
        that do not exist are missing.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The engine; by default the first of these that is installed.

    Returns
    -------
    DataFrame or Table
        A frame of the engine itself.
    """
    import narwhals as nw

    engine = _engine(backend)
    cells = missing_as_none(rows)
    names = cells[0] if cells else ()
    columns = {name: [_encodable(row[name]) for row in cells] for name in names}
    # A column of missing numbers only would otherwise have no type.
    unknown = {name for name, values in columns.items() if all(value is None for value in values)}
    series = [
        nw.new_series(name, values, nw.Float64() if name in unknown else None, backend=engine)
        for name, values in columns.items()
    ]
    if not series:
        return nw.from_dict({}, backend=engine).to_native()
    return nw.from_dict({one.name: one for one in series}).to_native()


def _encodable(cell: Any) -> Any:
    """Return a cell with halves of letters, which JSON may hold and no engine, spelled out."""
    if not isinstance(cell, str) or cell.isascii():
        return cell
    return cell.encode("utf-8", "backslashreplace").decode()


def _engine(asked: str | None) -> Engine:
    installed = [engine for engine in ENGINES if find_spec(engine) is not None]
    if asked is None and installed:
        return installed[0]
    for engine in installed:
        if engine == asked:
            return engine
    raise MissingEngineError(asked, ENGINES, installed)


def check_finding(finding: object) -> None:
    """Raise ``ValueError`` for what is none of the three words."""
    if finding not in EXIT_STATUS:
        raise ValueError(f"finding {finding!r}")
