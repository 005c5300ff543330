"""``comparity weights``: a file again, with a column of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, Column, names, output_options
from comparity.cli.output import deliver, working

EXAMPLE = """\b
Example:
  comparity weights train.csv --label hired --sensitive sex,race --output weighted.csv
"""


@click.command(epilog=EXAMPLE, short_help="Weights of rows that balance groups and labels.")
@click.argument("file", type=INPUT_FILE)
@click.option("--label", cls=Column, required=True, help="Column with the label.")
@click.option(
    "--sensitive",
    cls=Column,
    type=names,
    required=True,
    help="Column with the group; of several, separated by commas, the combinations are groups.",
)
@click.option("--output", type=OUTPUT_FILE, required=True, help="File to write.")
@click.option(
    "--method",
    type=click.Choice(
        ["reweighing", "fair-balance", "fair-balance-equal-groups", "fair-reweighing"]
    ),
    default="reweighing",
    show_default=True,
    help="Which weights; fair-reweighing is for labels that are numbers.",
)
@click.option("--name", "column", default="weight", show_default=True, help="Name of the column.")
@click.option(
    "--numeric",
    cls=Column,
    type=names,
    help="Columns among the sensitive ones that hold numbers, for fair-reweighing.",
)
@click.option(
    "--density",
    type=click.Choice(["neighbours", "kernel"]),
    show_default="neighbours",
    help="How fair-reweighing estimates densities.",
)
@click.option(
    "--radius",
    type=click.FloatRange(min=0, min_open=True),
    show_default="0.5",
    help="Neighbours are nearer than this, in standard deviations; for fair-reweighing.",
)
@click.option(
    "--bandwidth",
    type=click.FloatRange(min=0, min_open=True),
    show_default="0.2",
    help="Width of the kernel, in standard deviations; for fair-reweighing.",
)
@output_options
def weights(file: Path, output: Path, as_json: bool, html: Path | None, **options: Any) -> None:
    """Write FILE again with a column of weights, ready for any learner that takes them.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. All its columns are kept.

    Exit status: 0 written, 2 bad input.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.training.weigh import weigh_file

    with working("weighing"):
        result = weigh_file(file, output, **options)
    deliver(result, as_json=as_json, html=html)
