"""The command that works out impact ratios."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import INPUT_FILE, choice_options, command
from comparity.impact.options import ImpactForm

if TYPE_CHECKING:
    from comparity.results.result import Result


@command(
    partial(choice_options, options=ImpactForm),
    doing="counting selections",
    plot="Draw the impact ratios of the finest groups.",
    example="impact applicants.csv --selected hired --sensitive sex,race --html impact.html",
    short_help="Selection rates of groups over the largest of them.",
)
@click.argument("file", type=INPUT_FILE)
def impact(file: Path, **choices: Any) -> Result:
    """Work out impact ratios: the selection rate of each group over the largest of any group.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each person. Several sensitive columns
    are also taken in combination; people whose group is not known are counted. With --score rates
    are shares above the median score.

    Nothing is judged: the exit status is 0, or 2 for bad input.
    """
    from comparity.impact.audit import audit_file

    return audit_file(file, **choices)
