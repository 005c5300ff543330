"""Where the papers' reproductions are, how one is run, and a published table beside ours."""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeVar

from comparity.cli.published import Numbers, Published, Reproduced, Reproduction, Request
from comparity.errors import (
    DataFileMissingError,
    PublishedFileError,
    ReproductionsMissingError,
    UnknownPaperError,
    UnknownPartError,
)
from comparity.errors.spelling import visible
from comparity.reports.sections import Grid, Section

__all__ = [
    "Parts",
    "check_part",
    "find_papers",
    "folder_of",
    "listing",
    "load_parts",
    "read_published",
    "run_part",
    "section",
    "tracked",
]


Parts = Mapping[str, Callable[[Request], Reproduction]]


Task = TypeVar("Task")


NUMBERS = "published.toml"


SCRIPT = "reproduce.py"


def find_papers(directory: Path | None = None) -> dict[str, Path]:
    """Return the folder of each paper, by its number.

    Parameters
    ----------
    directory : Path, optional
        The folder of reproductions; by default that of the source this package runs from.

    Raises
    ------
    ReproductionsMissingError
        There is no paper there, as where the package was installed from an index.
    """
    # This module lies three folders below the root of the source.
    home = Path(__file__).parents[3] / "reproductions" if directory is None else directory
    # Asked first, because a search in a folder whose name is too long is no empty one but an error.
    files = sorted(home.glob(f"*/{NUMBERS}")) if os.path.isdir(home) else []
    found = {path.parent.name: path.parent for path in files}
    if not found:
        raise ReproductionsMissingError(str(home))
    return found


def read_published(folder: Path) -> Published:
    """Read the numbers a paper printed from ``published.toml`` in its folder.

    Raises
    ------
    PublishedFileError
        The file is no TOML, or lacks something; the message says where.
    """
    path = folder / NUMBERS
    try:
        # Besides what is no TOML: whole numbers that are too long, and too many brackets.
        top = _Table(str(path), "", tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise PublishedFileError(str(path), str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise PublishedFileError(str(path), str(error)) from error
    parts = {name: top.table("parts").table(name) for name in top.table("parts")}
    return Published(
        paper=top.text("paper"),
        title=top.text("title"),
        authors=top.text("authors"),
        questions={name: part.text("question") for name, part in parts.items()},
        times={name: part.text("time") for name, part in parts.items()},
        numbers={name: part.table("published", {}).numbers() for name, part in parts.items()},
        absent={name: top.table("absent").text(name) for name in top.table("absent", {})},
    )


class _Table(dict[str, Any]):
    """A table of a file of published numbers that can say where in the file it stands."""

    def __init__(self, path: str, place: str, content: Mapping[str, Any]) -> None:
        super().__init__(content)
        self.path = path
        self.place = place

    def __missing__(self, name: str) -> Any:
        raise PublishedFileError(self.path, f"no key {self.place_of(name)}")

    def place_of(self, name: str) -> str:
        """Return where a key stands, as TOML writes it."""
        return f"{self.place}.{name!r}" if self.place else repr(name)

    def text(self, name: str) -> str:
        """Return a text that says something."""
        found = self[name]
        if not isinstance(found, str) or not found.strip():
            raise PublishedFileError(self.path, f"{self.place_of(name)} is no text")
        return found

    def table(self, name: str, default: Mapping[str, Any] | None = None) -> _Table:
        """Return a table within this one."""
        found = self[name] if default is None else self.get(name, default)
        if not isinstance(found, dict):
            raise PublishedFileError(self.path, f"{self.place_of(name)} is no table")
        return _Table(self.path, self.place_of(name), found)

    def numbers(self) -> Numbers:
        """Return rows of numbers and words."""
        for row in self:
            for column, found in self.table(row).items():
                if not _is_number_or_word(found):
                    where = self.table(row).place_of(column)
                    raise PublishedFileError(self.path, f"{where} is neither number nor word")
        return _Table(self.path, self.place, {row: self.table(row) for row in self})


def _is_number_or_word(found: Any) -> bool:
    if isinstance(found, int | float) and not isinstance(found, bool):
        # Whole numbers of any length are numbers for TOML; NaN is not at most anything.
        return abs(found) <= sys.float_info.max
    return isinstance(found, str)


def load_parts(folder: Path) -> Parts:
    """Import ``reproduce.py`` of a paper and return its parts."""
    path = folder / SCRIPT
    if not path.is_file():
        raise ReproductionsMissingError(str(path))
    spec = spec_from_file_location(f"reproduce_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Its neighbours are imported by their bare names, as when it is run as a script. They are
    # forgotten afterwards, since another paper may have neighbours of the same name.
    before = set(sys.modules)
    sys.path.insert(0, str(folder.resolve()))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder.resolve()))
        for name in set(sys.modules) - before:
            if _inside(sys.modules[name], folder):
                del sys.modules[name]
    parts: Parts = module.PARTS
    return parts


def run_part(folder: Path, part: str, request: Request) -> Reproduction:
    """Compute one part of a paper again.

    Raises
    ------
    UnknownPartError
        The paper has no such part, or it cannot be run.
    PublishedFileError
        ``published.toml`` names a part that ``reproduce.py`` lacks.
    DataFileMissingError
        The data folder lacks a file.
    """
    published = read_published(folder)
    check_part(published, part)
    try:
        parts = load_parts(folder)
        if part not in parts:
            raise PublishedFileError(str(folder / NUMBERS), f"a part {part!r} that {SCRIPT} lacks")
        return parts[part](request)
    except FileNotFoundError as error:
        # Errors of ours name no file here: they say all there is to say already.
        path, data = error.filename, request.data
        if path is None or data is None or not Path(path).is_relative_to(data):
            raise
        raise DataFileMissingError(part, str(path)) from error


def check_part(published: Published, part: str) -> None:
    """Refuse a part that does not exist or cannot be run."""
    if part not in published.questions:
        raise UnknownPartError(published.paper, part, published.questions, published.absent)


def folder_of(paper: str, papers: Mapping[str, Path]) -> Path:
    """Return the folder of a paper."""
    if paper not in papers:
        raise UnknownPaperError(paper, papers)
    return papers[paper]


def tracked(tasks: Sequence[Task], doing: str) -> Iterable[Task]:
    """Show progress over tasks on a terminal; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(tasks, doing, console=console, disable=not console.is_terminal)


def _inside(module: Any, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve().parent == folder.resolve()


def section(result: Reproduction) -> Section:
    """Return what is shown of a reproduction: the numbers, then what follows from them."""
    return Section(
        headline=f"{visible(result.part)} of paper {visible(result.paper)}: {_answer(result)}",
        sentences=(visible(result.question), visible(result.title)),
        grids=(_numbers(result),) if result.rows else (),
        lists={
            "Conclusions": [
                f"{'holds' if one.holds else 'does not hold'}: {visible(one.text)}"
                for one in result.conclusions
            ],
            "What was done otherwise": [visible(note) for note in result.notes],
            "Pictures": [visible(name) for name in result.figures],
        },
    )


def _answer(result: Reproduction) -> str:
    held = sum(one.holds for one in result.conclusions)
    parts = []
    if result.n_compared:
        parts.append(f"{result.n_matching} of {result.n_compared} published numbers come out")
    if result.conclusions:
        parts.append(f"{held} of {len(result.conclusions)} conclusions hold")
    return ", ".join(parts) or "nothing was published to compare with"


def _numbers(result: Reproduction) -> Grid:
    why = any(row.why for row in result.rows if row.matches is False)
    header = ("row", "column", "published", "ours", "difference", "comes out")
    return Grid(
        title=result.part,
        header=(*header, "why it differs") if why else header,
        rows=tuple(_cells(row, why=why) for row in result.rows),
    )


def _cells(row: Reproduced, *, why: bool) -> tuple[str, ...]:
    ours = _number(row.ours)
    cells = (
        visible(row.row),
        visible(row.column),
        _number(row.published),
        ours if row.spread is None else f"{ours}\n± {_number(row.spread)}",
        "" if row.difference is None else f"{row.difference:+.3g}",
        {True: "yes", False: "no", None: ""}[row.matches],
    )
    reason = visible(row.why) if row.matches is False else ""
    return (*cells, reason) if why else cells


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return visible(value or "")
    if not math.isfinite(value):
        return "n/a"
    # Four significant digits, and whole numbers whole.
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def listing(published: Published) -> Grid:
    """Return the parts of a paper, with how long each takes and what cannot be run."""
    runnable = [
        (name, question, published.times[name]) for name, question in published.questions.items()
    ]
    absent = [(name, why, "cannot be run") for name, why in published.absent.items()]
    return Grid(
        title=visible(f"{published.paper}: {published.authors}, {published.title}"),
        header=("part", "what it shows", "time"),
        rows=tuple(tuple(map(visible, row)) for row in (*runnable, *absent)),
    )
