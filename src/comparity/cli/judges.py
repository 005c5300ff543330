"""The command that audits judges from their logs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    Command,
    choice_options,
    combine,
    command,
)
from comparity.judges.options import JudgesOptions

if TYPE_CHECKING:
    from comparity.results.result import Result


def _judge_options(command: Command) -> Command:
    """Add the declared choices, and where a table of the judges goes."""
    table = click.option("--csv", type=OUTPUT_FILE, help="Write one row for each judge.")
    attributes = click.option(
        "--judges", type=INPUT_FILE, help="One row for each judge: its name in judge, attributes."
    )
    return combine(command, partial(choice_options, options=JudgesOptions), attributes, table)


@command(
    _judge_options,
    doing="reading logs",
    plot="Draw how often each judge picks the first answer.",
    example=(
        "judges model_judgment/gpt-4/*.jsonl\n"
        "judges gpt-4_pair.jsonl human.jsonl --html judges.html"
    ),
    short_help="What judges do, from the logs of evaluation tools.",
)
@click.argument("logs", type=INPUT_FILE, nargs=-1, required=True)
def judges(logs: tuple[Path, ...], csv: Path | None = None, **choices: Any) -> Result:
    """Say what judges do: seats, lengths, consistency, agreement, and what they fail on.

    LOGS are files as arena-hard, MT-bench, AlpacaEval, Inspect, promptfoo, DeepEval, lm-eval,
    RewardBench, JudgeBench, Chatbot Arena, Label Studio and others write them. Each is recognised
    by its content, and all of them are one panel.

    Nothing is judged: the exit status is 0, or 2 for bad input.
    """
    from comparity.judges.audit import audit_judges

    audit = audit_judges(logs, **choices)
    if csv is not None:
        audit.save_csv(csv)
        click.echo(f"wrote {csv}", err=True)
    return audit
