"""``comparity plan``: how much data a study needs, or what it could show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from comparity.cli.lazy import SuggestingGroup
from comparity.cli.output import command
from comparity.planning.options import (
    ComparativePlanOptions,
    RankPlanOptions,
    SeparationPlanOptions,
)

if TYPE_CHECKING:
    from comparity.planning.result import Plan

PLOT = "Draw power against size (PNG, SVG or PDF)."
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


@click.group(cls=SuggestingGroup)
def plan() -> None:
    """Find the size of a study, or its power.

    Every option that speaks of groups takes one number for each, separated by commas.
    """


@command(SeparationPlanOptions, doing="planning", plot=PLOT, epilog=SEPARATION_EXAMPLE)
def separation(**choices: Any) -> Plan:
    """Plan a test of separation on labelled decisions."""
    # Imported here so that --help loads no numpy.
    from comparity.planning.plan import plan_separation

    return plan_separation(**choices)


@command(ComparativePlanOptions, doing="planning", plot=PLOT, epilog=COMPARATIVE_EXAMPLE)
def comparative(**choices: Any) -> Plan:
    """Plan a test of comparative separation on judged pairs."""
    # Imported here so that --help loads no numpy.
    from comparity.planning.plan import plan_comparative

    return plan_comparative(**choices)


@command(RankPlanOptions, doing="planning", plot=PLOT, epilog=RANK_EXAMPLE)
def rank(**choices: Any) -> Plan:
    """Plan to find which evaluators lean, from their comparisons."""
    # Imported here so that --help loads no numpy.
    from comparity.planning.plan_ranking import plan_ranking

    return plan_ranking(**choices)


for one in (separation, comparative, rank):
    plan.add_command(one)
