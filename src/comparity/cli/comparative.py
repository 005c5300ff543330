"""``comparity comparative``: from a table of comparisons to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.exits import BadInput
from comparity.cli.options import (
    INPUT_FILE,
    Column,
    audit_options,
    comparison_options,
    output_options,
    sensitive_options,
)
from comparity.cli.output import deliver, working
from comparity.errors import MissingColumnError

EXAMPLE = """\b
Example:
  comparity comparative judgments.csv --items items.csv --score model --sensitive sex \\
      --evaluator judge
"""


@click.command(epilog=EXAMPLE, short_help="Equal agreement with judges, from judged pairs.")
@click.argument("comparisons", type=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, score, groups.")
@click.option(
    "--score", cls=Column, required=True, help="Column of the items with the model's score."
)
@click.option(
    "--item",
    cls=Column,
    default="item",
    show_default=True,
    help="Column of the items with their id.",
)
@comparison_options
@sensitive_options
@click.option(
    "--reference",
    cls=Column,
    help="Column of the items with a label or score to standardise agreement by.",
)
@click.option("--continuous", is_flag=True, help="The sensitive column is a number, not a group.")
@click.option(
    "--design",
    type=click.Choice(["auto", "fresh", "shared"]),
    default="auto",
    show_default=True,
    help="Whether items repeat; 'auto' looks.",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "disjoint", "dyadic"]),
    default="auto",
    show_default=True,
    help="'disjoint' tests exactly on pairs that share nothing; 'dyadic' keeps to the printed "
    "formula where counts are small.",
)
@click.option(
    "--score-ties",
    type=click.Choice(["disagree", "half"]),
    default="disagree",
    show_default=True,
    help="What equal scores of the model count as.",
)
@audit_options
@output_options
def comparative(
    comparisons: Path,
    items: Path | None,
    as_json: bool,
    html: Path | None,
    **options: Any,
) -> None:
    """Test whether a model agrees with judges equally often in every kind of pair.

    COMPARISONS (CSV, TSV, Parquet or JSON lines) has one row for each judgment.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.comparative.audit import audit_files

    try:
        with working("counting judgments"):
            audit = audit_files(comparisons, items, **options)
    except MissingColumnError as error:
        if items is not None:
            raise
        told = "Without --items every row must hold scores and groups of both items."
        raise BadInput(f"{error}\n  {told}") from error
    deliver(audit, as_json=as_json, html=html)
    raise SystemExit(audit.exit_status)
