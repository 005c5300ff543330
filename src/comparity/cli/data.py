"""Commands that judge nothing: published data sets, what is installed here, results again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, example
from comparity.cli.output import deliver, working
from comparity.tables.outputs import check_apart, write_csv, write_text

if TYPE_CHECKING:
    from comparity.datasets.preparations import PreparedData
    from comparity.datasets.registry import Dataset
    from comparity.reports.sections import Grid


@click.command(
    epilog=example("data german --fetch --output german.csv"),
    short_help="Published data sets: homes, licences, hashes.",
)
@click.argument("name", required=False)
@click.option("--data", type=click.Path(path_type=Path), help="The data folder.")
@click.option("--fetch", is_flag=True, help="Download what is missing, from its original home.")
@click.option("--preparation", help="How to prepare it, as a paper does; see the list.")
@click.option("--output", type=OUTPUT_FILE, help="Write the prepared table as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def data(
    name: str | None,
    data: Path | None,
    fetch: bool,
    preparation: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """List the data sets the papers use, or check, fetch and prepare one.

    No data are part of this package. Files are read from the folder of --data, or of
    COMPARITY_DATA, or from a cache; their SHA-256 is checked before they are used. Downloads go
    over https alone.
    """
    # Imported here so that --help loads no numpy.
    from comparity.datasets.registry import DATASETS, dataset

    if name is None:
        if fetch or preparation is not None or output is not None:
            raise click.UsageError("--fetch, --preparation and --output need the name of a set.")
        _list(list(DATASETS.values()), data, as_json=as_json)
        return
    entry = dataset(name)
    if output is not None:
        from comparity.datasets.registry import data_folder

        check_apart(output, [data_folder(data) / one.path for one in entry.files])
    if fetch or output is not None or preparation is not None:
        from comparity.datasets.preparations import load_dataset

        with working("fetching and preparing" if fetch else "preparing"):
            prepared = load_dataset(name, preparation=preparation, data=data, fetch=fetch)
        click.echo(f"{name}: {len(prepared.labels):,} rows, {prepared.preparation}", err=True)
        if output is not None:
            _write(output, prepared)
    _list([entry], data, as_json=as_json)


def _list(entries: list[Dataset], folder: Path | None, *, as_json: bool) -> None:
    from comparity.datasets.registry import is_here

    if as_json:
        rows = [{**_as_plain(entry), "here": is_here(entry, folder)} for entry in entries]
        click.echo(json.dumps(rows, indent=2))
        return
    from comparity.reports.terminal import show

    if len(entries) > 1:
        show(_grid(entries, folder))
    else:
        show(_grid(entries, folder), entries[0].about)
        # Hashes are not broken into lines, so that they can be copied.
        click.echo("\n".join(f"{one.path}  sha256 {one.sha256}" for one in entries[0].files))


def _as_plain(entry: Dataset) -> dict[str, Any]:
    """Return an entry as plain data, without what only a download needs."""
    known = asdict(entry)
    del known["any_file"]
    for one in known["files"]:
        del one["megabytes"]
        one["url"] = one["url"] or None
    return known


def _grid(entries: list[Dataset], folder: Path | None) -> Grid:
    from comparity.datasets.registry import is_here
    from comparity.reports.formats import count
    from comparity.reports.sections import Grid

    rows = tuple(
        (
            f"{entry.name}\n{entry.title}; licence: {entry.licence}\n"
            f"prepared as {', '.join(entry.preparations)}\n{entry.home}",
            " x ".join(map(count, entry.shape)),
            "here" if is_here(entry, folder) else "not here",
        )
        for entry in entries
    )
    return Grid(title="", header=("data set", "rows x columns", ""), rows=rows)


def _write(path: Path, prepared: PreparedData) -> None:
    """Write features, label and groups; a group is called ``sensitive sex``."""
    groups = {f"sensitive {name}": column for name, column in prepared.sensitive.items()}
    names = [*prepared.feature_names, "label", *groups]
    columns = [*prepared.features.T, prepared.labels, *groups.values()]
    write_csv(path, names, [column.tolist() for column in columns])


@click.command(
    epilog=example("doctor --data ~/data"),
    short_help="Versions, extras, Java and data found here.",
)
@click.option("--data", type=click.Path(path_type=Path), help="The data folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def doctor(data: Path | None, as_json: bool) -> None:
    """Say what is installed here, and what is missing for which command.

    Nothing is installed, downloaded or changed.

    Exit status: 0, or 2 if something is missing that every command needs.
    """
    # Imported here so that --help stays quick.
    from comparity.cli.installation import inspect_installation

    found = inspect_installation(data)
    deliver(found, as_json=as_json, html=None)
    raise SystemExit(0 if found.complete else 2)


@click.command(
    epilog=example("report separation.json comparative.json --html report.html --title 'Model 7'"),
    short_help="Several results on one page, from their JSON.",
)
@click.argument("results", type=INPUT_FILE, nargs=-1, required=True)
@click.option("--html", type=OUTPUT_FILE, help="Write the page; otherwise all is printed.")
@click.option("--title", default="Audits", show_default=True, help="Title of the page.")
def report(results: tuple[Path, ...], html: Path | None, title: str) -> None:
    """Show results again that commands printed with --json, on one page or in the terminal.

    Every number is the one of the JSON; nothing is computed again.

    Nothing is judged: the exit status is 0, or 2 for bad input.
    """
    # Imported here so that --help loads no numpy.
    from comparity.reports.page import read_results

    found = read_results(results)
    if html is None:
        from comparity.reports.formats import clipped
        from comparity.reports.terminal import show

        shown: list[Any] = []
        for name, result in found.items():
            shown += [f"[{clipped(name)}]", result] if len(found) > 1 else [result]
        show(*shown)
        return
    from comparity.reports.page import page

    write_text(html, page(found, title=title))
    click.echo(f"wrote {html}", err=True)
