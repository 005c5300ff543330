"""``comparity train``: a score under a goal, with audits before and after."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    PROPORTION,
    Column,
    audit_options,
    names,
    output_options,
)
from comparity.cli.output import deliver

EXAMPLE = """\b
Example:
  comparity train items.csv --features bm25,clicks --label rel --sensitive sex --output m.json
"""


def units(value: str) -> tuple[int, ...]:
    """Split whole numbers at commas.

    Examples
    --------
    >>> units("32,32")
    (32, 32)
    """
    parts = value.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 32,32.")
    return tuple(int(part) for part in parts)


@click.command(epilog=EXAMPLE, short_help="Train a score that orders pairs equally well.")
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--features", cls=Column, type=names, required=True, help="Columns of numbers to score by."
)
@click.option(
    "--label", cls=Column, required=True, help="Column with the label, a number; larger is better."
)
@click.option("--sensitive", cls=Column, required=True, help="Column with the group.")
@click.option(
    "--query", cls=Column, help="Column with the query; only items of the same one are compared."
)
@click.option("--weight", cls=Column, help="Column with positive weights of items.")
@click.option("--output", type=OUTPUT_FILE, required=True, help="Model file to write, JSON.")
@click.option(
    "--scorer",
    type=click.Choice(["linear", "neural", "boosted"]),
    default="linear",
    show_default=True,
    help="What is trained; a network needs the extra torch, boosted trees the extra boosting.",
)
@click.option("--hidden", type=units, help="Units of a network's hidden layers, such as 32,32.")
@click.option("--leaves", type=click.IntRange(min=2), help="Most leaves of a boosted tree.")
@click.option(
    "--task",
    type=click.Choice(["ranking", "regression"]),
    default="ranking",
    show_default=True,
    help="Whether labels are to be ordered, or predicted.",
)
@click.option(
    "--goal",
    default="cross-group",
    show_default=True,
    type=names,
    help="What shall be alike: cross-group, within-group, marginal, symmetric, all cells, "
    "statistical parity; several separated by commas.",
)
@click.option(
    "--slack",
    type=click.FloatRange(min=0),
    default=0.01,
    show_default=True,
    help="Largest difference allowed in training.",
)
@click.option(
    "--form",
    type=click.Choice(["constrained", "robust"]),
    default="constrained",
    show_default=True,
    help="Limit differences, or raise the least rate.",
)
@click.option("--continuous", is_flag=True, help="The sensitive column is a number, not a group.")
@click.option("--no-group", help="The value that marks items in no group.")
@click.option(
    "--steps", type=click.IntRange(min=1), default=500, show_default=True, help="Steps of training."
)
@click.option(
    "--held-out",
    type=PROPORTION,
    default=0.25,
    show_default=True,
    help="Share of rows, or of queries, to audit and not to train on.",
)
@click.option("--audit-on", type=INPUT_FILE, help="Audit the rows of this file instead.")
@audit_options
@output_options
def train(file: Path, output: Path, as_json: bool, html: Path | None, **options: Any) -> None:
    """Train a score under a pairwise goal, and audit it on rows it did not see.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. The model file is JSON: names
    of features, coefficients (or layers, or trees), and the mixture of models that
    training found. The audit is shown beside that of a model trained without a goal.

    Exit status, of the audit after: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.training.train import train_file

    # Told beside the result, which may go elsewhere.
    result = train_file(file, output, tell=partial(click.echo, err=True), **options)
    deliver(result, as_json=as_json, html=html)
    raise SystemExit(result.exit_status)
