"""``comparity relative``: from the decisions of two or more decision makers to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    PROPORTION,
    SEED,
    Column,
    Command,
    combine,
    error_options,
    looks,
    names,
    output_options,
    sensitive_options,
)
from comparity.cli.output import deliver, working, write_plot

if TYPE_CHECKING:
    from comparity.relative.bridges.result import BridgedParity

__all__ = [
    "across",
    "bridge_options",
    "taken_options",
]


DEFAULTS = {"bridge": "biased", "regressor": "ridge", "errors": "cross-fitted"}


OWN = ("on", "features", "prediction", "subject", "bridge", "regressor", "errors")


SIZES = ("folds", "held_out")


# Options of the command that a bridge has no use for, with what they are when not given.
EXCLUDED: dict[str, Any] = {
    "raters": None,
    "order": None,
    "labels": False,
    "separator": None,
    "continuous": False,
    "intersection": False,
    "permutations": 999,
}


def bridge_options(command: Command) -> Command:
    """Add the options of a bridge to another file."""
    return combine(
        command,
        click.option(
            "--on",
            type=INPUT_FILE,
            help="Another file, with the subjects of the second; bridged by --features.",
        ),
        click.option(
            "--features",
            cls=Column,
            type=names,
            help="Columns of both files the first is predicted from.",
        ),
        click.option(
            "--prediction", cls=Column, help="Column of both files with predictions already made."
        ),
        click.option(
            "--subject", cls=Column, help="Column of both files with ids, if some are in both."
        ),
        click.option(
            "--bridge",
            type=click.Choice(["biased", "unbiased"]),
            help="Which bridge; 'unbiased' is kept for comparison.  [default: biased]",
        ),
        click.option(
            "--regressor",
            type=click.Choice(["ridge", "forest"]),
            help="What predicts the first's decisions.  [default: ridge]",
        ),
        click.option(
            "--errors",
            type=click.Choice(["cross-fitted", "held-out", "training"]),
            help="What its errors are taken on.  [default: cross-fitted]",
        ),
        click.option("--folds", type=click.IntRange(min=2), help="Parts of cross-fitting (5)."),
        click.option("--held-out", type=PROPORTION, help="Share that is held out (a third)."),
    )


def taken_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a bridge out of those of the command; nothing without ``--on``."""
    taken = {name: options.pop(name) for name in (*OWN, *SIZES)}
    given = {name: value for name, value in taken.items() if value is not None}
    if given and "on" not in given:
        first = _dashed(next(iter(given)))
        raise click.UsageError(f"--{first} belongs to a bridge: name the other file with --on.")
    return given


def across(file: Path, bridge: dict[str, Any], options: dict[str, Any]) -> BridgedParity:
    """Test across a bridge between two files."""
    for name, absent in EXCLUDED.items():
        if options.pop(name) != absent:
            raise click.UsageError(f"--{name} cannot be had across a bridge (--on).")
    columns = {name: options.pop(name) for name in ("first", "second", "sensitive")}
    for name, column in columns.items():
        if column is None or len(column) != 1:
            raise click.UsageError(f"a bridge (--on) needs one column with --{name}.")
    if "features" not in bridge and "prediction" not in bridge:
        raise click.UsageError("a bridge (--on) needs --features, or a --prediction already made.")
    _check_used(bridge)
    from comparity.relative.bridges.audit import audit_files

    chosen = {**DEFAULTS, **bridge}
    one = {name: column[0] for name, column in columns.items()}
    with working("building the bridge"):
        return audit_files(file, chosen.pop("on"), **one, **chosen, **options)


def _check_used(bridge: dict[str, Any]) -> None:
    """Refuse options that the others leave without effect."""
    errors, ready = bridge.get("errors", DEFAULTS["errors"]), "prediction" in bridge
    if ready and "features" in bridge:
        raise click.UsageError("a bridge (--on) takes --features or a --prediction, not both.")
    if bridge.get("bridge") == "unbiased" and {"errors", *SIZES} & bridge.keys():
        raise click.UsageError("the unbiased bridge takes no errors on the first's side.")
    for name in ("regressor", "errors", *SIZES):
        if ready and name in bridge:
            raise click.UsageError(f"--{_dashed(name)} fits a model; --prediction is one already.")
    for name, needed in (("folds", "cross-fitted"), ("held_out", "held-out")):
        # Errors in sample are compared with cross-fitted ones, to see what was learnt by heart.
        if name in bridge and errors != needed and not (name == "folds" and errors == "training"):
            raise click.UsageError(f"--{_dashed(name)} belongs to --errors {needed}.")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


EXAMPLE = """\b
Example:
  comparity relative decisions.csv --first hr_0 --second hr_1 --sensitive sex
  comparity relative ratings.csv --raters 'P*' --sensitive sex --plot raters.png
  comparity relative 2024.csv --on 2025.csv --features gpa,test --first old --second new \\
    --sensitive sex
"""


@click.command(epilog=EXAMPLE, short_help="Two decision makers compared, without a truth.")
@click.argument("file", type=INPUT_FILE)
@click.option("--first", cls=Column, type=names, help="Column with one decision maker's decisions.")
@click.option("--second", cls=Column, type=names, help="Column with the other's.")
@click.option(
    "--raters",
    cls=Column,
    type=names,
    help="Columns of several decision makers: P* is all that begin with P.",
)
@sensitive_options
@click.option("--reference", help="Group that others are compared with; the first by default.")
@click.option("--order", type=names, help="Values of ordinal decisions, from the lowest up.")
@click.option("--labels", is_flag=True, help="Decisions are labels without an order.")
@click.option("--separator", help="What stands between labels, where there may be several.")
@click.option("--continuous", is_flag=True, help="The sensitive column is a number, not a group.")
@bridge_options
@error_options
@click.option(
    "--margin",
    type=PROPORTION,
    default=0.2,
    show_default=True,
    help="Largest harmless gap, in standard deviations of the difference.",
)
@click.option(
    "--looks",
    type=looks,
    help="Which of how many planned looks at growing data this is, such as 2/4.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=0, max=10**6),
    default=999,
    show_default=True,
    help="Permutations of the tests of whole distributions.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of what is drawn.")
@click.option("--plot", type=OUTPUT_FILE, help="Draw the gaps, or the raters' heat map.")
@output_options
def relative(
    file: Path, as_json: bool, html: Path | None, plot: Path | None, **options: Any
) -> None:
    """Test whether two decision makers differ by group, though nobody knows the truth.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each subject, with a column for each
    decision maker. With more than two columns every two decision makers are compared. With --on
    the second decided about other subjects, in another file, joined by a model of the first.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    bridge = taken_options(options)
    result: Any = across(file, bridge, options) if bridge else _on_the_same_subjects(file, options)
    if plot is not None:
        write_plot(plot, result)
    deliver(result, as_json=as_json, html=html)
    raise SystemExit(result.exit_status)


def _on_the_same_subjects(file: Path, options: dict[str, Any]) -> Any:
    columns = _columns(**{name: options.pop(name) for name in ("first", "second", "raters")})
    # Imported here so that --help loads neither numpy nor an engine.
    if len(columns) == 2 and not any("*" in name for name in columns):
        from comparity.relative.audit import audit_file

        first, second = columns
        with working("comparing decisions"):
            return audit_file(file, first=first, second=second, **options)
    from comparity.relative.raters import audit_rater_file

    if options.pop("labels") or options.pop("separator") is not None:
        raise click.UsageError("labels are compared for two decision makers at a time.")
    return audit_rater_file(file, raters=columns, **options)


def _columns(
    *,
    first: tuple[str, ...] | None,
    second: tuple[str, ...] | None,
    raters: tuple[str, ...] | None,
) -> tuple[str, ...]:
    """Return the columns of all decision makers named, each once."""
    if first is None and second is None and raters is None:
        raise click.UsageError("name the decision makers: --first and --second, or --raters.")
    if raters is None and (first is None or second is None):
        raise click.UsageError("--first and --second belong together; --raters names several.")
    if first is not None and first == second:
        raise click.UsageError("--first and --second name the same column.")
    return tuple(dict.fromkeys([*(first or ()), *(second or ()), *(raters or ())]))
