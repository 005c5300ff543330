"""``comparity rank``: from a table of comparisons to an order, and who of the evaluators leans."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import INPUT_FILE, OUTPUT_FILE, Command, choice_options, combine
from comparity.cli.output import command, write_plot
from comparity.ranking.options import RankForm, model_of

if TYPE_CHECKING:
    from comparity.results.result import Result

EXAMPLE = """\b
Example:
  comparity rank judgments.csv --items items.csv --sensitive sex --evaluator judge
  comparity rank judgments.csv --items items.csv --sensitive sex --score model
  comparity rank battles.jsonl --model bt --seats
"""


def _rank_options(command: Command) -> Command:
    """Add the declared choices, and where a picture of the scores goes."""
    scores = click.option(
        "--plot-scores", type=OUTPUT_FILE, help="Draw scores by group, before and after."
    )
    return combine(command, partial(choice_options, options=RankForm), scores)


@command(
    _rank_options,
    doing="ranking",
    plot="Draw the evaluators' biases (.png, .svg, .pdf).",
    epilog=EXAMPLE,
    short_help="Who leans, by how much, and the order without it.",
)
@click.argument("comparisons", type=INPUT_FILE)
@click.option("--items", type=INPUT_FILE, help="One row for each item: id, groups.")
def rank(
    comparisons: Path, items: Path | None = None, plot_scores: Path | None = None, **choices: Any
) -> Result:
    """Rank items from comparisons, and say which evaluators lean toward a group.

    COMPARISONS (CSV, TSV, Parquet or JSON lines) has one row for each judgment.

    With --score a model is audited against the panel freed of its evaluators' bias.

    Exit status: 2 for bad input; otherwise 0, or with --score that of the audit: 0 within the
    margin, 1 violated, 3 undecided.
    """
    # Imported here so that --help loads neither numpy nor an engine.
    from comparity.ranking.rank import rank_files

    sensitive, model = choices.get("sensitive"), choices["model"]
    if sensitive and items is None:
        raise click.UsageError("--sensitive names columns of the items: give --items as well.")
    if "groups" in model_of(model).needs and not (items and sensitive):
        raise click.UsageError(
            f"{model} needs the groups of the items: give --items FILE and --sensitive COLUMN, or "
            "rank without groups by --model bt."
        )
    panel = rank_files(comparisons, items, **choices)
    if plot_scores is not None:
        write_plot(plot_scores, panel, panel.plot_scores)
    return panel
