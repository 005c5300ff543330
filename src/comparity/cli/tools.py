"""Commands that judge no data of yours: data sets, the demo, what is installed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import (
    OUTPUT_FILE,
    choice_options,
    deliver,
    example_text,
    output_options,
)
from comparity.cli.shared_options import cover_options, show_progress, take_cover
from comparity.errors import FileAccessError, FolderTakenError
from comparity.results.options import Options, choice
from comparity.tables.outputs import check_apart, write_csv, write_text

if TYPE_CHECKING:
    from comparity.datasets.preparations import PreparedData
    from comparity.datasets.registry import Dataset
    from comparity.demo.steps import Demo
    from comparity.demo.story import Step, Story
    from comparity.reports.sections import Grid


@click.command(
    epilog=example_text("data german --fetch --output german.csv"),
    short_help="Published data sets: sources, licences, hashes.",
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
        _list_datasets(list(DATASETS.values()), data, as_json=as_json)
        return
    entry = dataset(name)
    if output is not None:
        from comparity.datasets.registry import data_folder

        check_apart(output, [data_folder(data) / one.path for one in entry.files])
    if fetch or output is not None or preparation is not None:
        from comparity.datasets.preparations import load_dataset

        with show_progress("fetching and preparing" if fetch else "preparing"):
            prepared = load_dataset(name, preparation=preparation, data=data, fetch=fetch)
        click.echo(f"{name}: {len(prepared.labels):,} rows, {prepared.preparation}", err=True)
        if output is not None:
            _write_prepared(output, prepared)
    _list_datasets([entry], data, as_json=as_json)


def _list_datasets(entries: list[Dataset], folder: Path | None, *, as_json: bool) -> None:
    from comparity.datasets.registry import is_here

    if as_json:
        rows = [{**_plain_entry(entry), "here": is_here(entry, folder)} for entry in entries]
        click.echo(json.dumps(rows, indent=2))
        return
    from comparity.reports.terminal import show

    if len(entries) > 1:
        show(_dataset_grid(entries, folder))
    else:
        show(_dataset_grid(entries, folder), entries[0].about)
        # Hashes are not broken into lines, so that they can be copied.
        click.echo("\n".join(f"{one.path}  sha256 {one.sha256}" for one in entries[0].files))


def _plain_entry(entry: Dataset) -> dict[str, Any]:
    """Return an entry as plain data, without what only a download needs."""
    known = asdict(entry)
    del known["any_file"]
    for one in known["files"]:
        del one["megabytes"]
        one["url"] = one["url"] or None
    return known


def _dataset_grid(entries: list[Dataset], folder: Path | None) -> Grid:
    from comparity.datasets.registry import is_here
    from comparity.reports.sections import Grid, count

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


def _write_prepared(path: Path, prepared: PreparedData) -> None:
    """Write features, label and groups; a group is called ``sensitive sex``."""
    groups = {f"sensitive {name}": column for name, column in prepared.sensitive.items()}
    names = [*prepared.feature_names, "label", *groups]
    columns = [*prepared.features.T, prepared.labels, *groups.values()]
    write_csv(path, names, [column.tolist() for column in columns])


@click.command(
    epilog=example_text("doctor --data ~/data"),
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


REPORT_ORDER = (
    "story",
    "model-judges",
    "panel",
    "model-panel",
    "training",
    "model-fresh",
    "relabelled-fresh",
    "revised-fresh",
    "plan",
)
"""What the report shows, in its order; the ranking of fresh applicants is written as JSON only."""
DEMO_TABLES = ("items", "judgments", "fresh_items", "fresh_judgments")
DEMO_FILES = (
    "README.txt",
    *(f"{name}.csv" for name in DEMO_TABLES),
    *(f"{name}.json" for name in (*REPORT_ORDER, "fresh-panel")),
)
"""What is written beside the report."""
DEMO_README = """\
All files here were written by `comparity demo`: a simulated year of hiring. The next run replaces
them. report.html shows everything; docs/how_to/demo.md says what is in the tables.
"""

QUICK = 600

DEMO_NOTES = (
    "True gaps are exact: integrals over the normal distributions that the simulation draws from.",
    "An interval at 95% misses the truth in one panel of twenty, one at 97.5% in one of forty, and "
    "so may one of these; --seed draws another year. The default seed, 1, is the first that was "
    "tried.",
    "Audits against a panel compare with its estimate of quality, whose error is part of the "
    "interval; true gaps are against quality itself. Biases of judges are corrected for the "
    "errors of applicants' scores, which would draw them toward zero.",
    "That women and men are equally good on average is an assumption behind the bias-adjusted "
    "panel. It is so in this simulation; with data of your own it is yours to defend.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions(Options):
    """What year is simulated, and how it is judged."""

    seed: int = choice(1, "Random seed.", least=0)
    n_items: int = choice(
        9000,
        "Applicants of each round; each is compared 30 times.",
        option="applicants",
        least=100,
    )
    quick: bool = choice(False, f"At most {QUICK} applicants: takes seconds, but finds little.")
    alpha: float = choice(0.05, "Overall false-alarm rate of each audit.", above=0, below=1)
    margin: float = choice(0.05, "Largest gap that is harmless.", above=0, below=1)


@click.command(
    epilog=example_text("demo --directory demo"),
    short_help="Simulate a hiring panel, plan, audit, retrain, report.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Where the files go.",
)
@partial(choice_options, options=DemoOptions)
@output_options
@cover_options
def demo(
    directory: Path, as_json: bool, html: Path | None, quick: bool, n_items: int, **choices: Any
) -> None:
    """Simulate a year of hiring, and compare what audits find with what is true.

    Judges who lean toward men compare applicants, and a model learns from them. It is audited
    against the judges as they are. Then the leaning judges are found, the model is audited against
    the bias-adjusted panel, trained again under a constraint, and audited on new applicants.
    """
    report = html or directory / "report.html"
    if html is not None:
        check_apart(html, [directory / name for name in DEMO_FILES])
    cover = take_cover(choices, report)
    _claim_folder(directory)
    choices["n_items"] = min(n_items, QUICK) if quick else n_items
    run, story = _run_steps(directory, quiet=as_json, **choices)
    results = {"story": story, **run.results}
    for name, result in results.items():
        write_text(directory / f"{name}.json", result.to_json())
    from comparity.reports.page import page

    named = {
        "" if name == "story" else name.replace("-", ", "): results[name] for name in REPORT_ORDER
    }
    write_text(report, page(named, title="A year of hiring, audited", cover=cover))
    if as_json:
        everything = {name: result.to_dict() for name, result in results.items()}
        click.echo(json.dumps(everything, indent=2, allow_nan=False))
        return
    _show_files(directory, report)


def _claim_folder(directory: Path) -> None:
    """Make the folder, or refuse one that holds files of the same names from elsewhere."""
    readme = directory / "README.txt"
    taken = [name for name in ("report.html", *DEMO_FILES) if (directory / name).exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if taken and (readme.name not in taken or readme.read_bytes() != DEMO_README.encode()):
            raise FolderTakenError(str(directory), taken)
    except OSError as error:
        raise FileAccessError(str(directory), str(error.strerror), doing="make") from error
    write_text(readme, DEMO_README)


def _run_steps(directory: Path, *, quiet: bool, **choices: Any) -> tuple[Demo, Story]:
    """Go through all steps, telling each as it ends."""
    # Imported here so that --help loads no numpy.
    from comparity import __version__
    from comparity.demo.steps import Demo
    from comparity.demo.story import Story

    run = Demo(directory, **choices)
    steps = []
    for doing, work in run.acts():
        with show_progress(doing):
            steps.append(work())
        if not quiet:
            _show_step(steps[-1])
    # The mixed pairs of the first model and of the revised one, on the same fresh applicants.
    first, last = steps[-1].gaps[0], steps[-1].gaps[-2]
    story = Story(
        headline=f"First model: better women come first {_points(first.found)} than better men. "
        f"Revised model: {_points(last.found)}",
        steps=tuple(steps),
        notes=DEMO_NOTES,
        provenance={"version": __version__, "options": {**choices, **run.sizes}},
        **run.choices,
    )
    return run, story


def _points(gap: float) -> str:
    """Say how much more or less often something happens, in points of a hundred."""
    size = f"{abs(100 * gap):.0f}"
    return f"{size} point{'' if size == '1' else 's'} {'less' if gap < 0 else 'more'} often"


def _show_step(step: Step) -> None:
    from comparity.demo.story import step_grids
    from comparity.reports.terminal import show

    click.secho(f"\n{step.title}", bold=True)
    for sentence in step.sentences:
        show(sentence)
    for grid in step_grids(step):
        click.echo()
        show(replace(grid, title=""))


def _show_files(directory: Path, report: Path) -> None:
    from comparity.reports.terminal import show

    at = directory
    show(
        f"\n{DEMO_NOTES[1]}",
        f"Wrote {report}, the tables (items.csv, judgments.csv and, of the last step, "
        f"fresh_items.csv, fresh_judgments.csv) and every result as JSON, all under {at}.",
        "The same with commands of your own:",
    )
    files, fresh = (
        f"{quote(f'{at}/{kind}judgments.csv')} --items {quote(f'{at}/{kind}items.csv')}"
        for kind in ("", "fresh_")
    )
    # Not wrapped: they are there to be copied.
    click.echo(f"\n  comparity comparative {files} --score model \\")
    click.echo("      --sensitive sex --evaluator judge")
    click.echo(f"  comparity rank {files} --score model \\")
    click.echo("      --sensitive sex --evaluator judge")
    click.echo(f"  comparity rank {fresh} \\")
    click.echo("      --score revised --sensitive sex --evaluator judge")
