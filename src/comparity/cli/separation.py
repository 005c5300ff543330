"""``comparity separation``: from a table of decisions to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    Column,
    audit_options,
    output_options,
    sensitive_options,
)
from comparity.cli.output import deliver, working

EXAMPLE = """\b
Example:
  comparity separation decisions.csv --label hired --prediction model --sensitive sex
"""


@click.command(epilog=EXAMPLE, short_help="Equal error rates in all groups, from labels.")
@click.argument("file", type=INPUT_FILE)
@click.option("--label", cls=Column, required=True, help="Column with the decision taken as right.")
@click.option(
    "--prediction", cls=Column, required=True, help="Column with the model's decision or score."
)
@click.option("--positive", help="The value that means yes, where the columns are not 0 and 1.")
@click.option("--threshold", type=float, help="Score from which on the model says yes.")
@sensitive_options
@audit_options
@output_options
def separation(file: Path, as_json: bool, html: Path | None, **options: Any) -> None:
    """Test whether a model errs equally often in every group, given the label.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each decision.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.separation.audit import audit_file

    with working("counting decisions"):
        audit = audit_file(file, **options)
    deliver(audit, as_json=as_json, html=html)
    raise SystemExit(audit.exit_status)
