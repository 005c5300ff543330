"""``comparity metrics``: the catalogue of metrics for a table of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    PROPORTION,
    SEED,
    Column,
    names,
    output_options,
)
from comparity.cli.output import deliver, working, write_plot

EXAMPLE = """\b
Example:
  comparity metrics decisions.csv --label hired --prediction model --sensitive sex \\
      --privileged male --select
"""

KINDS = ("group", "individual", "false negatives", "false positives")


@click.command(epilog=EXAMPLE, short_help="Thirty published metrics, and the few to report.")
@click.argument("file", type=INPUT_FILE)
@click.option("--label", cls=Column, required=True, help="Column with the decision taken as right.")
@click.option(
    "--prediction", cls=Column, required=True, help="Column with the model's decision or score."
)
@click.option(
    "--sensitive",
    cls=Column,
    type=names,
    required=True,
    help="Column with the group; several are combined.",
)
@click.option(
    "--privileged",
    type=names,
    required=True,
    help="The group that has the advantage; several separated by commas.",
)
@click.option("--features", cls=Column, type=names, help="Columns for nearest neighbours (D0).")
@click.option("--select", is_flag=True, help="Choose the few metrics to report.")
@click.option(
    "--kinds",
    type=names,
    help=f"Fairness that matters, with --select: {', '.join(KINDS)}.  [default: group, individual]",
)
@click.option("--compare", cls=Column, help="Column with other decisions for the same rows.")
@click.option("--positive", help="The value that means yes, where the columns are not 0 and 1.")
@click.option("--threshold", type=float, help="Score from which on the model says yes.")
@click.option(
    "--variation",
    type=click.Choice(["standard", "doubled root"]),
    default="standard",
    show_default=True,
    help="Definition of the coefficient of variation.",
)
@click.option(
    "--level", type=PROPORTION, default=0.95, show_default=True, help="Level of the intervals."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the resamples.")
@click.option("--plot", type=OUTPUT_FILE, help="Draw all metrics with their published ranges.")
@output_options
def metrics(
    file: Path,
    features: tuple[str, ...] | None,
    select: bool,
    kinds: tuple[str, ...] | None,
    as_json: bool,
    html: Path | None,
    plot: Path | None,
    **options: Any,
) -> None:
    """Work out thirty published metrics of predictions and data, each with its interval.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each decision. Nothing is judged: the
    exit status is 0, or 2 for bad input.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.metrics.audit import metrics_file

    wanted = (kinds or KINDS[:2]) if select or kinds else ()
    with working("working out metrics"):
        card = metrics_file(file, features=features or (), kinds=wanted, **options)
    if plot is not None:
        write_plot(plot, card)
    deliver(card, as_json=as_json, html=html)
