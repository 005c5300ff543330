"""``comparity reproduce``: tables and figures of the papers, published beside ours."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from comparity.cli.options import example, names, output_options
from comparity.cli.output import deliver
from comparity.cli.running import BadInput
from comparity.tables.outputs import check_apart, write_text

if TYPE_CHECKING:
    from comparity.cli.published import Published, Reproduction, Request

FOLDER = click.Path(file_okay=False, path_type=Path)
# Asked for and computed: the paper's folder and the part.
Wanted = tuple[Path, str]


@click.command(
    epilog=example(
        "reproduce 002 --table 3\n"
        "reproduce 003 --figure 2,9 --runs 5 --data ~/data --output pictures"
    ),
    short_help="Tables and figures of the papers, computed again.",
)
@click.argument("paper", required=False)
@click.option("--table", type=names, help="Number of a table; several by commas.")
@click.option("--figure", type=names, help="Number of a figure; several by commas.")
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

    Nothing is judged: the exit status is 0, or 2 where something could not be run.
    """
    # Imported here so that --help loads no numpy.
    from comparity.cli.published import Request
    from comparity.cli.reproductions import find_papers, folder_of, read_published

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
    wanted = _wanted(folders, parts)
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


def _wanted(folders: list[Path], parts: list[str]) -> list[Wanted]:
    """Return the parts asked for, or all; one that does not exist is refused before any runs."""
    from comparity.cli.reproductions import check_part, read_published

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
    from comparity.errors import ComparityError

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
    from comparity.cli.reproductions import run_part

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
        click.echo(json.dumps([_described(one) for one in papers], indent=2))
        return
    from comparity.cli.reproductions import listing
    from comparity.reports.terminal import show

    ending = "Run one with comparity reproduce PAPER --table N, --figure N or --part NAME."
    show(*map(listing, papers), ending)


def _described(published: Published) -> dict[str, object]:
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
