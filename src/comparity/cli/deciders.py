"""Commands about who decides: decision makers compared, and judges as their logs show them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.options import (
    INPUT_FILE,
    Command,
    choice_options,
    combine,
    command,
    option_of,
)
from comparity.cli.shared_options import TableFiles, show_progress
from comparity.judges.options import JudgesOptions
from comparity.relative.options import BridgeForm, RatersForm, RelativeForm
from comparity.results.options import declared_choices
from comparity.tables.spark import SparkTable

if TYPE_CHECKING:
    from comparity.results.result import Result

PAIR, BRIDGE = declared_choices(RelativeForm), declared_choices(BridgeForm)

OWN = tuple(name for name in BRIDGE if name not in PAIR)
"""Options that only a bridge has."""

EXCLUDED = {
    name: one.default for name, one in PAIR.items() if name not in BRIDGE and name != "labels"
}
"""Options of the command that a bridge has no use for, with what they are when not given."""

SIZES = ("folds", "held_out")


def relative_options(command: Command) -> Command:
    """Add the options of all three forms; which of them belong together is checked later."""
    several: dict[str, Any] = {"default": None, "kind": tuple[str, ...]}
    choices = {name: one for name, one in PAIR.items() if name not in ("first", "second")}
    raters = declared_choices(RatersForm)["raters"]
    makers = [replace(one, **several) for one in (PAIR["first"], PAIR["second"], raters)]
    # What is not given is told from a default, which has no use for whoever builds no bridge.
    bridge = [replace(BRIDGE[name], default=None) for name in OWN]
    return combine(command, *map(option_of, [*makers, *choices.values(), *bridge]))


def take_bridge(choices: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a bridge out of those of the command; nothing without ``--on``."""
    given = {name: choices.pop(name) for name in ("on", *OWN) if name in choices}
    if isinstance(given.get("on"), SparkTable):
        raise click.UsageError(
            "a bridge (--on) is built in memory; it cannot be used with --spark."
        )
    if given and "on" not in given:
        first = BRIDGE[next(iter(given))].option
        raise click.UsageError(f"--{first} belongs to a bridge: name the other file with --on.")
    return given


def across(file: Path, bridge: dict[str, Any], choices: dict[str, Any]) -> Result:
    """Test across a bridge between two files, or across several where there is more to compare."""
    for name, absent in EXCLUDED.items():
        if choices.pop(name, absent) != absent:
            raise click.UsageError(f"--{name} cannot be used with a bridge (--on).")
    if len(choices.get("sensitive", ())) != 1:
        raise click.UsageError("a bridge (--on) needs one column with --sensitive.")
    (choices["sensitive"],) = choices["sensitive"]
    makers = _makers(*(choices.pop(name, None) for name in ("first", "second", "raters")))
    labels = choices.pop("labels", False)
    if "features" not in bridge and "prediction" not in bridge:
        raise click.UsageError("a bridge (--on) needs --features, or a --prediction already made.")
    _check_used(bridge)
    from comparity.relative import bridge_families, bridges

    other, (first, second) = bridge.pop("on"), makers[0]
    named = {"first": first, "second": second, "sensitive": choices["sensitive"]}
    with show_progress("building the bridge"):
        several = labels or len(makers) > 1
        # A number has no groups.
        one = several or choices.get("continuous")
        if several or (not one and bridge_families.count_groups(file, other, **named) > 2):
            asked = {"makers": makers, "labels": labels, **bridge, **choices}
            return bridge_families.bridge_files(file, other, **asked)
        return bridges.audit_files(file, other, **{**choices, **named}, **bridge)


def _makers(
    first: tuple[str, ...] | None, second: tuple[str, ...] | None, raters: tuple[str, ...] | None
) -> list[tuple[str, str]]:
    """Return who is compared with whom across a bridge: a column of each file."""
    if raters is not None:
        if first or second or len(raters) < 2:
            raise click.UsageError("a bridge (--on) needs two --raters, or --first and --second.")
        return list(combinations(raters, 2))
    for name, given in (("first", first), ("second", second)):
        if given is None or len(given) != 1:
            raise click.UsageError(f"a bridge (--on) needs one column with --{name}.")
    assert first is not None
    assert second is not None
    return [(first[0], second[0])]


def _check_used(bridge: dict[str, Any]) -> None:
    """Refuse options that the others leave without effect."""
    errors, ready = bridge.get("errors", BRIDGE["errors"].default), "prediction" in bridge
    if ready and "features" in bridge:
        raise click.UsageError("a bridge (--on) takes --features or a --prediction, not both.")
    if bridge.get("bridge") == "unbiased" and {"errors", *SIZES} & bridge.keys():
        raise click.UsageError(
            "--errors, --folds and --held-out cannot be used with the unbiased bridge."
        )
    for name in ("regressor", "errors", *SIZES):
        if ready and name in bridge:
            option = BRIDGE[name].option
            raise click.UsageError(
                f"--{option} is about fitting a model; with --prediction none is fitted."
            )
    for name, needed in (("folds", "cross-fitted"), ("held_out", "held-out")):
        # Errors in sample are compared with cross-fitted ones, to see what was memorised.
        if name in bridge and errors != needed and not (name == "folds" and errors == "training"):
            raise click.UsageError(f"--{BRIDGE[name].option} belongs to --errors {needed}.")


EXAMPLE = """\b
Example:
  comparity relative decisions.csv --first hr_0 --second hr_1 --sensitive sex
  comparity relative ratings.csv --raters 'P*' --sensitive sex --plot raters.png
  comparity relative 2024.csv --on 2025.csv --features gpa,test --first old --second new \\
    --sensitive sex
"""


@command(
    relative_options,
    plot="Draw the gaps, or the raters' heat map.",
    epilog=EXAMPLE,
    large=True,
    spark=True,
    short_help="Compare two decision makers by group, without labels.",
)
@click.argument("file", cls=TableFiles, file=INPUT_FILE)
@click.option(
    "--on",
    type=INPUT_FILE,
    help="Another file, with the subjects of the second; bridged by --features.",
)
def relative(file: Path, **choices: Any) -> Result:
    """Test whether a decision maker favours a group, compared with another; without labels.

    FILE (CSV, TSV, Parquet or JSON lines) has one row for each subject, with a column for each
    decision maker. With more than two columns every two decision makers are compared. If the second
    decided about other subjects, name their file with --on: a model of the first is the bridge.

    Exit status: 0 within the margin, 1 violated, 2 bad input, 3 undecided.
    """
    bridge = take_bridge(choices)
    return across(file, bridge, choices) if bridge else _on_the_same_subjects(file, choices)


def _on_the_same_subjects(file: Path, choices: dict[str, Any]) -> Result:
    columns = _columns(*(choices.pop(name, None) for name in ("first", "second", "raters")))
    # Imported here so that --help loads neither numpy nor an engine.
    if len(columns) == 2 and not any("*" in name for name in columns):
        from comparity.relative.audit import audit_file

        first, second = columns
        with show_progress("comparing decisions"):
            return audit_file(file, first=first, second=second, **choices)
    from comparity.relative.raters import audit_rater_file

    if choices.pop("labels") or choices.pop("separator", None) is not None:
        raise click.UsageError("labels are compared for two decision makers at a time.")
    return audit_rater_file(file, raters=columns, **choices)


def _columns(
    first: tuple[str, ...] | None,
    second: tuple[str, ...] | None,
    raters: tuple[str, ...] | None,
) -> tuple[str, ...]:
    """Return the columns of all decision makers named, each once."""
    if first is None and second is None and raters is None:
        raise click.UsageError("name the decision makers: --first and --second, or --raters.")
    if raters is None and (first is None or second is None):
        raise click.UsageError("--first and --second belong together; --raters names several.")
    if first is not None and first == second:
        raise click.UsageError("--first and --second name the same column.")
    return tuple(dict.fromkeys([*(first or ()), *(second or ()), *(raters or ())]))


def _judge_options(command: Command) -> Command:
    """Add the declared choices, and the table of the judges."""
    attributes = click.option(
        "--judges", type=INPUT_FILE, help="One row for each judge: a column judge, and attributes."
    )
    return combine(command, partial(choice_options, options=JudgesOptions), attributes)


@command(
    _judge_options,
    drops=False,
    doing="reading logs",
    plot="Draw how often each judge picks the first answer.",
    example=(
        "judges model_judgment/gpt-4/*.jsonl\n"
        "judges gpt-4_pair.jsonl human.jsonl --html judges.html"
    ),
    short_help="Audit LLM and human judges, from logs of evaluation tools.",
)
@click.argument("logs", type=INPUT_FILE, nargs=-1, required=True)
def judges(logs: tuple[Path, ...], **choices: Any) -> Result:
    """Audit judges from logs: first-answer bias, length, consistency, agreement, failures.

    LOGS are files as arena-hard, MT-bench, AlpacaEval, Inspect, promptfoo, DeepEval, lm-eval,
    RewardBench, JudgeBench, Chatbot Arena, Label Studio and others write them. Each is recognised
    by its content. Several logs form one panel.

    There is no verdict: the exit status is 0, or 2 for bad input.
    """
    from comparity.judges.audit import audit_judges

    return audit_judges(logs, **choices)
