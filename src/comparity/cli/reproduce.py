"""``comparity reproduce``: tables and figures of the papers, published beside ours."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from comparity.cli.options import deliver, example_text, names, output_options
from comparity.cli.running import BadInput
from comparity.errors import (
    ComparityError,
    DataFileMissingError,
    PublishedFileError,
    ReproductionsMissingError,
    UnknownPaperError,
    UnknownPartError,
)
from comparity.tables.outputs import check_apart, write_text

if TYPE_CHECKING:
    from comparity.cli.published import Numbers, Published, Reproduction, Request

NUMBERS, SCRIPT = "published.toml", "reproduce.py"
Parts = Mapping[str, "Callable[[Request], Reproduction]"]
Task = TypeVar("Task")
FOLDER = click.Path(file_okay=False, path_type=Path)
# Asked for and computed: the paper's folder and the part.
Wanted = tuple[Path, str]


@click.command(
    epilog=example_text(
        "reproduce 002 --table 3\n"
        "reproduce 003 --figure 2,9 --runs 5 --data ~/data --output pictures"
    ),
    short_help="Reproduce tables and figures of the papers.",
)
@click.argument("paper", required=False)
@click.option("--table", type=names, help="Number of a table; several separated by commas.")
@click.option("--figure", type=names, help="Number of a figure; several separated by commas.")
@click.option("--part", type=names, help="Any part by its name in the list.")
@click.option(
    "--all", "everything", is_flag=True, help="All parts, of all papers if none is given."
)
@click.option("--runs", type=click.IntRange(min=1), help="How often to repeat what is random.")
@click.option("--data", type=FOLDER, help="The data folder; COMPARITY_DATA by default.")
@click.option("--output", type=FOLDER, help="Where pictures go; without it none is drawn.")
@click.option("--directory", type=FOLDER, help="The folder of reproductions.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of what is random.",
)
@output_options
def reproduce(
    paper: str | None,
    table: tuple[str, ...] | None,
    figure: tuple[str, ...] | None,
    part: tuple[str, ...] | None,
    everything: bool,
    directory: Path | None,
    as_json: bool,
    html: Path | None,
    runs: int | None,
    data: Path | None,
    output: Path | None,
    seed: int,
) -> None:
    """Compute tables and figures of the papers again, and print published, ours and difference.

    Without a table, figure or part all of them are listed, with how long each takes and what
    cannot be run. The scripts are part of the source, in its folder reproductions.

    There is no verdict: the exit status is 0, or 2 if something could not be run.
    """
    # Imported here so that --help loads no numpy.
    from comparity.cli.published import Request

    papers = find_papers(directory)
    folders = list(papers.values()) if paper is None else [folder_of(paper, papers)]
    parts = [f"table {one}" for one in table or ()] + [f"figure {one}" for one in figure or ()]
    parts += part or ()
    if not parts and not everything:
        if html is not None or output is not None:
            raise click.UsageError("--html and --output need a --table, --figure, --part or --all.")
        _list([read_published(folder) for folder in folders], as_json=as_json)
        return
    if parts and paper is None:
        raise BadInput(f"say which paper: {', '.join(papers)}")
    home = os.environ.get("COMPARITY_DATA")
    request = Request(
        data=data or (Path(home) if home else None), output=output, runs=runs, seed=seed
    )
    wanted = _find_wanted(folders, parts)
    _check_page(html, [*folders, *([request.data] if request.data else [])])
    _run(wanted, request, as_json=as_json, html=html)


def _check_page(html: Path | None, folders: list[Path]) -> None:
    """Refuse a page over a file of the data, or of the scripts."""
    # What does not exist is no file that can be read.
    if html is not None and html.is_file():
        for folder in folders:
            check_apart(html, (path for path in folder.rglob("*") if path.is_file()))


def as_script(file: str) -> None:
    """Run ``reproduce.py`` of a paper with the options of this command."""
    from comparity.cli import main

    folder = Path(file).resolve().parent
    main(["reproduce", folder.name, "--directory", str(folder.parent), *sys.argv[1:]])


def _find_wanted(folders: list[Path], parts: list[str]) -> list[Wanted]:
    """Return the parts asked for, or all; one that does not exist is refused before any runs."""
    wanted = []
    for folder in folders:
        published = read_published(folder)
        known = {name.lower(): name for name in published.questions}
        for asked in parts or published.questions:
            part = known.get(asked.lower(), asked)
            check_part(published, part)
            wanted.append((folder, part))
    return wanted


def _run(wanted: list[Wanted], request: Request, *, as_json: bool, html: Path | None) -> None:
    """Run the parts one after the other; with several, one that fails does not stop the others."""
    if len(wanted) == 1:
        deliver(_reproduction(*wanted[0], request), as_json=as_json, html=html)
        return
    done: dict[str, Reproduction] = {}
    failed = []
    for folder, part in wanted:
        name = f"{folder.name} {part}"
        try:
            done[name] = _reproduction(folder, part, request)
        except ComparityError as error:
            failed.append(f"{name}: {error}")
            continue
        if not as_json:
            deliver(done[name], as_json=False, html=None)
            click.echo()
    if html is not None:
        from comparity.reports.page import page

        write_text(html, page(done, title="Reproductions"))
        click.echo(f"wrote {html}", err=True)
    if as_json:
        click.echo(json.dumps({name: one.to_dict() for name, one in done.items()}, indent=2))
    if failed:
        raise BadInput("\n".join(["some parts could not be run.", *failed]))


def _reproduction(folder: Path, part: str, request: Request) -> Reproduction:
    if request.output is not None:
        try:
            request.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{request.output} cannot be made: {error.strerror}") from error
    # What takes long shows a bar of its own; this says what it belongs to.
    if sys.stderr.isatty():
        click.echo(f"{folder.name}, {part} ...", err=True)
    found = run_part(folder, part, request)
    if part.startswith("figure") and not found.figures:
        click.echo(f"{folder.name}, {part}: --output DIR draws it", err=True)
    return found


def _list(papers: list[Published], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([_describe_paper(one) for one in papers], indent=2))
        return
    from comparity.cli.published_section import listing
    from comparity.reports.terminal import show

    ending = "Run one with comparity reproduce PAPER --table N, --figure N or --part NAME."
    show(*map(listing, papers), ending)


def _describe_paper(published: Published) -> dict[str, object]:
    return {
        "paper": published.paper,
        "title": published.title,
        "authors": published.authors,
        "parts": {
            name: {"question": question, "time": published.times[name]}
            for name, question in published.questions.items()
        },
        "absent": dict(published.absent),
    }


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
    from comparity.cli.published import Published

    path = folder / NUMBERS
    try:
        # Besides what is no TOML: whole numbers that are too long, and too many brackets.
        top = _PublishedTable(str(path), "", tomllib.loads(path.read_text(encoding="utf-8-sig")))
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
        references={name: part.table("reference", {}).numbers() for name, part in parts.items()},
    )


class _PublishedTable(dict[str, Any]):
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

    def table(self, name: str, default: Mapping[str, Any] | None = None) -> _PublishedTable:
        """Return a table within this one."""
        found = self[name] if default is None else self.get(name, default)
        if not isinstance(found, dict):
            raise PublishedFileError(self.path, f"{self.place_of(name)} is no table")
        return _PublishedTable(self.path, self.place_of(name), found)

    def numbers(self) -> Numbers:
        """Return rows of numbers and words."""
        for row in self:
            for column, found in self.table(row).items():
                if not _is_number_or_word(found):
                    where = self.table(row).place_of(column)
                    raise PublishedFileError(self.path, f"{where} is neither number nor word")
        return _PublishedTable(self.path, self.place, {row: self.table(row) for row in self})


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


def track_progress(tasks: Sequence[Task], doing: str) -> Iterable[Task]:
    """Show progress over tasks on a terminal; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(tasks, doing, console=console, disable=not console.is_terminal)


def _inside(module: Any, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve().parent == folder.resolve()
