"""``comparity separation``, ``comparative``, ``pairwise`` and ``metrics``: of one model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.exits import BadInput
from comparity.cli.options import INPUT_FILE
from comparity.cli.output import command
from comparity.comparative.options import ComparativeForm
from comparity.errors import MissingColumnError
from comparity.metrics.options import KINDS, MetricsForm
from comparity.pairwise.options import PairwiseForm
from comparity.separation.options import SeparationForm

if TYPE_CHECKING:
    from comparity.results.result import Result

SEPARATION_EXAMPLE = """\b
Example:
  comparity separation decisions.csv --label hired --prediction model --sensitive sex
"""
COMPARATIVE_EXAMPLE = """\b
Example:
  comparity comparative judgments.csv --items items.csv --score model --sensitive sex \\
      --evaluator judge
"""
PAIRWISE_EXAMPLE = """\b
Example:
  comparity pairwise items.csv --label relevance --score model --sensitive sex --query query
"""
METRICS_EXAMPLE = """\b
Example:
  comparity metrics decisions.csv --label hired --prediction model --sensitive sex \\
      --privileged male --select
"""


@command(
    SeparationForm,
    doing="counting decisions",
    epilog=SEPARATION_EXAMPLE,
    short_help="Equal error rates in all groups, from labels.",
)
@click.argument("file", type=INPUT_FILE)
def separation(file: Path, **choices: Any) -> Result:
    """Test whether a model errs equally often in every group, given the label.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each decision.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    # Imported here, and in every command, so that --help loads neither numpy nor an engine.
    from comparity.separation.audit import audit_file

    return audit_file(file, **choices)


@command(
    ComparativeForm,
    doing="counting judgments",
    epilog=COMPARATIVE_EXAMPLE,
    short_help="Equal agreement with judges, from judged pairs.",
)
@click.argument("comparisons", type=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, score, groups.")
def comparative(comparisons: Path, items: Path | None = None, **choices: Any) -> Result:
    """Test whether a model agrees with judges equally often in every kind of pair.

    COMPARISONS (CSV, TSV, Parquet or JSON lines) has one row for each judgment.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    from comparity.comparative.audit import audit_files

    try:
        return audit_files(comparisons, items, **choices)
    except MissingColumnError as error:
        if items is not None:
            raise
        told = "Without --items every row must hold scores and groups of both items."
        raise BadInput(f"{error}\n  {told}") from error


@command(
    PairwiseForm,
    doing="counting pairs",
    epilog=PAIRWISE_EXAMPLE,
    short_help="Equal pairwise accuracy, over all pairs of labels.",
)
@click.argument("file", type=INPUT_FILE)
def pairwise(file: Path, **choices: Any) -> Result:
    """Test whether a model orders pairs equally well in every kind of pair.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. Every two items with different
    labels make a pair, without any of them being listed.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    from comparity.pairwise.audit import audit_file

    return audit_file(file, **choices)


@command(
    MetricsForm,
    doing="working out metrics",
    plot="Draw all metrics with their published ranges.",
    epilog=METRICS_EXAMPLE,
    short_help="Thirty published metrics, and the few to report.",
)
@click.argument("file", type=INPUT_FILE)
@click.option("--select", is_flag=True, help="Choose the few metrics to report.")
def metrics(file: Path, select: bool, **choices: Any) -> Result:
    """Work out thirty published metrics of predictions and data, each with its interval.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each decision. Nothing is judged: the
    exit status is 0, or 2 for bad input.
    """
    from comparity.metrics.audit import metrics_file

    if select:
        choices.setdefault("kinds", KINDS[:2])
    return metrics_file(file, **choices)
