"""The choices of a list of pairs to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from comparity.errors import Option, OptionError
from comparity.results.options import REQUIRED, ComparisonColumns, Options, choice, column

GROUP_GOALS = ("gap", "lean")
"""Goals that cannot be reached without knowing the items' groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawOptions(Options):
    """What pairs are drawn for, and how: choices of a list of pairs and of a study alike."""

    goal: Literal["gap", "rank", "lean"] = choice(
        "gap",
        "What the judgments are for: gaps between kinds of pairs, a ranking, or judges' leans.",
    )
    hypotheses: Literal["all", "across", "within"] = choice(
        "all", "Which kinds of pairs a test of gaps is about."
    )
    # At least a fifth, because only pairs drawn at random say how reliable a ranking is.
    random_share: float = choice(
        0.2,
        "Least share of pairs drawn at random, whatever earlier answers say.",
        least=0.2,
        most=1,
    )
    swapped_share: float = choice(
        0.05,
        "Share of judgments asked of the same judge again, pairs with sides swapped.",
        least=0,
        most=0.3,
    )
    seed: int | None = choice(None, "Random seed.", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsOptions(DrawOptions):
    """How pairs are chosen."""

    budget: int = choice(REQUIRED, "Judgments to ask for in all.", least=1)
    judges: int | None = choice(
        None,
        "How many judges share them.",
        least=1,
        shown="those of earlier answers, or one",
    )

    def _check_together(self) -> None:
        """Refuse choices that would change nothing."""
        if self.hypotheses != "all" and self.goal != "gap":
            why = "only a test of gaps has hypotheses"
            raise OptionError("hypotheses", self.hypotheses, ["'all'", Option("goal", "gap")], why)


@dataclass(frozen=True, kw_only=True)
class PairsForm(ComparisonColumns, PairsOptions):
    """The same of files: which columns are what; those of comparisons are of earlier answers."""

    item: str = column("Column of the items with their id.", "item")
    sensitive: tuple[str, ...] = column(
        "Column of the items with the group; several are taken in combination.", ()
    )
    score: str | None = column(
        "Column of the items with the score to be tested, to allocate by earlier answers.", None
    )
