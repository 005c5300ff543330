"""Options of a bridge between two files, and what they exclude."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.columns import Column
from comparity.cli.options import INPUT_FILE, PROPORTION, Command, combine, names
from comparity.cli.output import working

if TYPE_CHECKING:
    from comparity.bridges import BridgedParity

__all__ = ["across", "bridge_options", "taken_options"]

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
    from comparity.auditing.bridges import audit_files

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
