"""``comparity plan``: how much data a study needs, or what it could show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from comparity.cli.lazy import SuggestingGroup
from comparity.cli.options import (
    OUTPUT_FILE,
    PROPORTION,
    Command,
    combine,
    error_options,
    names,
    numbers,
    output_options,
)
from comparity.cli.output import deliver, working, write_plot

if TYPE_CHECKING:
    from comparity.planning.result import Plan

SEPARATION_EXAMPLE = """\b
Example:
  comparity plan separation --tpr 0.8,0.84 --fpr 0.4,0.44 --shares 0.5,0.5 \\
      --base-rates 0.5,0.5 --power 0.8
"""
COMPARATIVE_EXAMPLE = """\b
Example:
  comparity plan comparative --tpr 0.8,0.84 --tnr 0.6,0.56 --shares 0.5,0.5 \\
      --base-rates 0.5,0.5 --power 0.8 --n-items 2000
"""
RANK_EXAMPLE = """\b
Example:
  comparity plan rank --lean 0.8 --n-items 100 --n-evaluators 20 --share 0.3 --power 0.8
"""

TIE_SHARE = click.option(
    "--tie-share",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of judgments that put neither item first.",
)


def plan_options(command: Command) -> Command:
    """Add what plans of tests between groups ask: the groups, the power, and a margin."""
    return combine(
        command,
        click.option(
            "--shares", type=numbers, required=True, help="Share of each group among the items."
        ),
        click.option(
            "--base-rates", type=numbers, required=True, help="Share of good items in each group."
        ),
        click.option("--groups", type=names, help="Names of the groups, as the rates are ordered."),
        click.option(
            "--margin", type=PROPORTION, help="Plan to show that every gap is smaller than this."
        ),
        error_options,
        asked_options,
    )


def asked_options(command: Command) -> Command:
    """Add what every plan asks: the power, and where the plan goes."""
    return combine(
        command,
        click.option("--power", type=PROPORTION, help="Power wanted: find the size."),
        output_options,
        click.option("--plot", type=OUTPUT_FILE, help="Draw power against size (PNG, SVG or PDF)."),
        click.option(
            "--seed", type=int, help="Kept in the result; a plan draws nothing at random."
        ),
    )


@click.group(cls=SuggestingGroup)
def plan() -> None:
    """Find the size of a study, or its power.

    Every option that speaks of groups takes one number for each, separated by commas.
    """


@plan.command(epilog=SEPARATION_EXAMPLE)
@click.option("--tpr", type=numbers, required=True, help="True positive rate of each group.")
@click.option("--fpr", type=numbers, required=True, help="False positive rate of each group.")
@click.option("--n", type=click.IntRange(min=1), help="Number of decisions: find the power.")
@plan_options
def separation(**options: Any) -> None:
    """Plan a test of separation on labelled decisions."""
    # Imported here so that --help loads no numpy.
    from comparity.planning.plan import plan_separation

    _finish(plan_separation, options)


@plan.command(epilog=COMPARATIVE_EXAMPLE)
@click.option("--tpr", type=numbers, required=True, help="True positive rate of each group.")
@click.option("--tnr", type=numbers, required=True, help="True negative rate of each group.")
@click.option("--n-pairs", type=click.IntRange(min=1), help="Judged pairs: find the power.")
@click.option(
    "--n-items", type=click.IntRange(min=2), help="Items the pairs are drawn from; fresh if unsaid."
)
@click.option("--n-evaluators", type=click.IntRange(min=1), help="Evaluators who share the pairs.")
@click.option(
    "--evaluator-lean",
    type=click.FloatRange(min=0),
    default=0.1,
    show_default=True,
    help="How strongly evaluators differ.",
)
@TIE_SHARE
@plan_options
def comparative(**options: Any) -> None:
    """Plan a test of comparative separation on judged pairs."""
    # Imported here so that --help loads no numpy.
    from comparity.planning.plan import plan_comparative

    _finish(plan_comparative, options)


@plan.command(epilog=RANK_EXAMPLE)
@click.option(
    "--lean",
    type=float,
    required=True,
    help="Lean to be found, in log odds; 0.4 is 60% to 40%.",
)
@click.option("--n-items", type=click.IntRange(min=2), required=True, help="Items to compare.")
@click.option("--n-evaluators", type=click.IntRange(min=1), required=True, help="Who compare them.")
@click.option(
    "--n-per-evaluator", type=click.IntRange(min=1), help="Comparisons by each: find the power."
)
@click.option(
    "--share", type=PROPORTION, default=0.5, show_default=True, help="Share of the group."
)
@click.option(
    "--score-spread",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Standard deviation of the items' scores, in log odds.",
)
@click.option(
    "--others-leaning",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the other evaluators who lean as much.",
)
@TIE_SHARE
@click.option(
    "--alpha",
    type=PROPORTION,
    default=0.05,
    show_default=True,
    help="False discovery rate; the level of the test for --rule single.",
)
@click.option(
    "--rule",
    type=click.Choice(["fdr", "single"]),
    default="fdr",
    show_default=True,
    help="Whether all evaluators are looked at, or one named in advance.",
)
@click.option("--cautious", is_flag=True, help="Allow for groups that differ by chance.")
@asked_options
def rank(**options: Any) -> None:
    """Plan to find which evaluators lean, from their comparisons."""
    # Imported here so that --help loads no numpy.
    from comparity.planning.plan_ranking import plan_ranking

    _finish(plan_ranking, options)


def _finish(planner: Any, options: dict[str, Any]) -> None:
    """Make the plan and hand it out."""
    as_json, html, plot, seed = (options.pop(name) for name in ("as_json", "html", "plot", "seed"))
    with working("planning"):
        made: Plan = planner(**options)
    made = replace(made, provenance={**made.provenance, "seed": seed})
    if plot is not None:
        write_plot(plot, made)
    deliver(made, as_json=as_json, html=html)
