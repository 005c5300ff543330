"""``comparity pairwise``: from labels and scores to a verdict over all pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.options import INPUT_FILE, Column, audit_options, names, output_options
from comparity.cli.output import deliver, working

EXAMPLE = """\b
Example:
  comparity pairwise items.csv --label relevance --score model --sensitive sex --query query
"""


@click.command(epilog=EXAMPLE, short_help="Equal pairwise accuracy, over all pairs of labels.")
@click.argument("file", type=INPUT_FILE)
@click.option("--label", cls=Column, required=True, help="Column with the label, a number.")
@click.option("--score", cls=Column, required=True, help="Column with the model's score.")
@click.option("--sensitive", cls=Column, required=True, help="Column with the group.")
@click.option(
    "--query", cls=Column, help="Column with the query; only items of the same one are compared."
)
@click.option("--weight", cls=Column, help="Column with positive weights of items.")
@click.option(
    "--average",
    type=click.Choice(["pairs", "queries"]),
    default="pairs",
    show_default=True,
    help="Whether every pair counts alike, or every query.",
)
@click.option(
    "--pair-weight",
    type=click.Choice(["equal", "difference"]),
    default="equal",
    show_default=True,
    help="Whether pairs count alike, or by the difference of their labels.",
)
@click.option("--continuous", is_flag=True, help="The sensitive column is a number, not a group.")
@click.option("--no-group", help="The value that marks items in no group.")
@click.option(
    "--notions",
    default="cross-group,within-group",
    show_default=True,
    type=names,
    help="Equalities to test: cross-group, within-group, marginal, symmetric.",
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
def pairwise(file: Path, as_json: bool, html: Path | None, **options: Any) -> None:
    """Test whether a model orders pairs equally well in every kind of pair.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. Every two items with different
    labels make a pair, without any of them being listed.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.pairwise.audit import audit_file

    with working("counting pairs"):
        result = audit_file(file, **options)
    deliver(result, as_json=as_json, html=html)
    raise SystemExit(result.exit_status)
