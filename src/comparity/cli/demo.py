"""``comparity demo``: a year of hiring, audited from plan to retraining, beside what is true."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import choice_options, example, output_options
from comparity.cli.output import as_json_text, working
from comparity.errors import FileAccessError, FolderTakenError
from comparity.results.options import Options, choice
from comparity.tables.outputs import check_apart, write_text

if TYPE_CHECKING:
    from comparity.demo.steps import Demo
    from comparity.demo.story import Step, Story


ORDER = (
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
TABLES = ("items", "judgments", "fresh_items", "fresh_judgments")
FILES = (
    "README.txt",
    *(f"{name}.csv" for name in TABLES),
    *(f"{name}.json" for name in (*ORDER, "fresh-panel")),
)
"""What is written beside the report."""
README = """\
All files here were written by `comparity demo`: a simulated year of hiring. The next run replaces
them. report.html shows everything; docs/how_to/demo.md says what is in the tables.
"""

QUICK = 600

NOTES = (
    "True gaps are exact: integrals over the normal laws that the simulation draws from.",
    "An interval at 95% misses the truth in one panel of twenty, one at 97.5% in one of forty, and "
    "so may one of these; --seed draws another year. The default seed, 1, is the first that was "
    "tried.",
    "Audits against a panel compare with its estimate of quality, whose error is part of the "
    "interval; true gaps are against quality itself. Biases of judges are corrected for the "
    "errors of applicants' scores, which would draw them toward zero.",
    "That women and men are equally good on average is an assumption of the panel freed of bias. "
    "It is so in this simulation; with data of your own it is yours to defend.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions(Options):
    """What year is simulated, and how it is judged."""

    seed: int = choice(1, "Seed of the year.", least=0)
    n_items: int = choice(
        9000,
        "Applicants of each round; each is compared 30 times.",
        option="applicants",
        least=100,
    )
    quick: bool = choice(False, f"At most {QUICK} applicants: too few to find much, in seconds.")
    alpha: float = choice(0.05, "Overall false-alarm rate of each audit.", above=0, below=1)
    margin: float = choice(0.05, "Largest gap that is harmless.", above=0, below=1)


@click.command(
    epilog=example("demo --directory demo"),
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
def demo(
    directory: Path, as_json: bool, html: Path | None, quick: bool, n_items: int, **choices: Any
) -> None:
    """Tell the whole story on simulated data, with what is true beside what is found.

    Judges who lean toward men compare applicants, and a model learns from them. It is audited
    against the judges, the leaning ones are found, it is audited against the panel freed of their
    bias, trained anew under a constraint, and audited again on fresh applicants.
    """
    if html is not None:
        check_apart(html, [directory / name for name in FILES])
    _claim_folder(directory)
    choices["n_items"] = min(n_items, QUICK) if quick else n_items
    run, story = _told(directory, quiet=as_json, **choices)
    results = {"story": story, **run.results}
    for name, result in results.items():
        write_text(directory / f"{name}.json", as_json_text(result))
    from comparity.reports.page import page

    report = html or directory / "report.html"
    named = {"" if name == "story" else name.replace("-", ", "): results[name] for name in ORDER}
    write_text(report, page(named, title="A year of hiring, audited"))
    if as_json:
        everything = {name: result.to_dict() for name, result in results.items()}
        click.echo(json.dumps(everything, indent=2, allow_nan=False))
        return
    _end(directory, report)


def _claim_folder(directory: Path) -> None:
    """Make the folder, or refuse one that holds files of the same names from elsewhere."""
    readme = directory / "README.txt"
    taken = [name for name in ("report.html", *FILES) if (directory / name).exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if taken and (readme.name not in taken or readme.read_bytes() != README.encode()):
            raise FolderTakenError(str(directory), taken)
    except OSError as error:
        raise FileAccessError(str(directory), str(error.strerror), doing="make") from error
    write_text(readme, README)


def _told(directory: Path, *, quiet: bool, **choices: Any) -> tuple[Demo, Story]:
    """Go through all steps, telling each as it ends."""
    # Imported here so that --help loads no numpy.
    from comparity import __version__
    from comparity.demo.steps import Demo
    from comparity.demo.story import Story

    run = Demo(directory, **choices)
    steps = []
    for doing, work in run.acts():
        with working(doing):
            steps.append(work())
        if not quiet:
            _tell(steps[-1])
    # The mixed pairs of the first model and of the revised one, on the same fresh applicants.
    first, last = steps[-1].gaps[0], steps[-1].gaps[-2]
    story = Story(
        headline=f"Gap in mixed pairs {first.found:+.3f} by the first model, {last.found:+.3f} by "
        f"the revised one (in truth {first.true:+.3f} and {last.true:+.3f})",
        steps=tuple(steps),
        notes=NOTES,
        provenance={"version": __version__, "options": {**choices, **run.sizes}},
        **run.choices,
    )
    return run, story


def _tell(step: Step) -> None:
    from comparity.demo.story import step_grids
    from comparity.reports.terminal import show

    click.secho(f"\n{step.title}", bold=True)
    for sentence in step.sentences:
        show(sentence)
    for grid in step_grids(step):
        click.echo()
        show(replace(grid, title=""))


def _end(directory: Path, report: Path) -> None:
    from comparity.reports.terminal import show

    at = directory
    show(
        f"\n{NOTES[1]}",
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
