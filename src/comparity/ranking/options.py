"""The choices of a ranking of a panel's comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from comparity.ranking.models import COMMANDS, MODULES
from comparity.results.options import ComparisonColumns, choice, column

__all__ = ["RankForm"]


@dataclass(frozen=True, kw_only=True)
class RankForm(ComparisonColumns):
    """Which model ranks which columns, what fixes its level, and how a score is audited."""

    sensitive: tuple[str, ...] = column("Column with the group; several by commas.", ())
    model: str = choice(
        "barp",
        "How to rank; 'bt' takes every evaluator at their word.",
        words=tuple(MODULES),
        aliases=COMMANDS,
    )
    anchor: Literal["equal group means", "zero mean bias"] | None = choice(
        None,
        "What fixes the common level of the biases: an assumption.  [default: equal group means]",
    )
    reference: tuple[str, ...] | None = choice(
        None,
        "Group that biases are measured against, one for each --sensitive column.  "
        "[default: the first in sorted order]",
    )
    trusted: tuple[str, ...] | None = choice(
        None, "Who are taken not to lean, as the anchor: names, or human-*."
    )
    score_prior: float | str | None = choice(
        None,
        "SD of the scores in logits, 'marginal likelihood', 'cross-validation' or 'none'.  "
        "[default: marginal likelihood; 5 for crowdbt and factorbt]",
    )
    bias_prior: float | str | None = choice(None, "The same for the biases.  [default: 10]")
    score: str | None = column(
        "Column of the items with a model's score, to audit against the panel.", None
    )
    alpha: float = choice(0.05, "Of that audit.", above=0, below=1)
    margin: float = choice(0.05, "Of that audit.", above=0, below=1)
    seats: bool = choice(False, "Estimate what standing on the left is worth.")
    own_seats: bool = choice(False, "Estimate that for each evaluator.")
    suggest: bool = choice(False, "Look which intersections deserve a bias.")
    score_dependent: bool = choice(False, "Test whether biases grow with the score of the item.")
    uncorrected: bool = choice(
        False,
        "Leave biases as the joint maximum has them, drawn to zero by the errors of the scores.",
    )
    item: str = column("Column of the items with the id.", "item")
    seed: int = choice(0, "Of what is random.", least=0)
