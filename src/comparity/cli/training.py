"""``comparity weights`` and ``comparity train``: what is done about a finding."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE
from comparity.cli.output import command
from comparity.training.options import TrainForm, WeightsForm

if TYPE_CHECKING:
    from comparity.results.result import Result

WEIGHTS_EXAMPLE = """\b
Example:
  comparity weights train.csv --label hired --sensitive sex,race --output weighted.csv
"""
TRAIN_EXAMPLE = """\b
Example:
  comparity train items.csv --features bm25,clicks --label rel --sensitive sex --output m.json
"""


@command(
    WeightsForm,
    doing="weighing",
    epilog=WEIGHTS_EXAMPLE,
    short_help="Weights of rows that balance groups and labels.",
)
@click.argument("file", type=INPUT_FILE)
@click.option("--output", type=OUTPUT_FILE, required=True, help="File to write.")
def weights(file: Path, output: Path, **choices: Any) -> Result:
    """Write FILE again with a column of weights, ready for any learner that takes them.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. All its columns are kept.

    Exit status: 0 written, 2 bad input.
    """
    # Imported here, and in every command, so that --help loads neither numpy nor an engine.
    from comparity.training.weigh import weigh_file

    return weigh_file(file, output, **choices)


@command(
    TrainForm, epilog=TRAIN_EXAMPLE, short_help="Train a score that orders pairs equally well."
)
@click.argument("file", type=INPUT_FILE)
@click.option("--output", type=OUTPUT_FILE, required=True, help="Model file to write, JSON.")
def train(file: Path, output: Path, **choices: Any) -> Result:
    """Train a score under a pairwise goal, and audit it on rows it did not see.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each item. The model file is JSON: names
    of features, coefficients (or layers, or trees), and the mixture of models that
    training found. The audit is shown beside that of a model trained without a goal.

    Exit status, of the audit after: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    from comparity.training.train import train_file

    # Told beside the result, which may go elsewhere.
    return train_file(file, output, tell=partial(click.echo, err=True), **choices)
