"""The public questions, what each promises, and how its worlds are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.validity.judged import draw_judged, draw_judged_at_margin
from tests.validity.labelled import (
    draw_decisions,
    draw_decisions_at_margin,
    draw_metrics,
    draw_raters,
    draw_raters_at_margin,
    draw_scores,
    draw_shifted,
)
from tests.validity.worlds import Rng, World, generator


@dataclass(frozen=True)
class Question:
    """One promise: in no world does an audit err more often than it says.

    Attributes
    ----------
    page : str
        Which page of the documentation makes the promise.
    home : str
        The module of the audit.
    error : str
        What an error is.
    promised : float
        How often it may happen.
    draw : callable
        Draws a world.
    share : int
        How many of 200 worlds are its own: the fewer, the longer its audits take.
    """

    page: str
    home: str
    error: str
    draw: Callable[[Rng], World]
    share: int
    promised: float = 0.05

    def limit(self, runs: int, errors: float) -> float:
        """Return the promised rate and so many binomial standard errors.

        Two of them at 200 runs and a promise of 0.05 are 0.081, three at 2,000 runs 0.065.
        """
        return self.promised + errors * (self.promised * (1 - self.promised) / runs) ** 0.5


ALARM, OVERLOOKED = "false alarm", "falsely within the margin"
PAIRS_OF_GROUPS = ({"quality": "binary"}, {"hypotheses": "across"}, {"hypotheses": "within"})

# The quickest audits first.
QUESTIONS = {
    "separation": Question("separation.md", "separation.audit", ALARM, draw_decisions, 22),
    "separation, at the margin": Question(
        "verdicts.md", "separation.audit", OVERLOOKED, draw_decisions_at_margin, 22
    ),
    "comparative": Question("comparative.md", "comparative.audit", ALARM, draw_judged, 26),
    "comparative, at the margin": Question(
        "verdicts.md", "comparative.audit", OVERLOOKED, draw_judged_at_margin, 26
    ),
    "comparative, 3 to 5 groups": Question(
        "comparative.md",
        "comparative.audit",
        ALARM,
        partial(draw_judged, n_groups=(3, 5), families=PAIRS_OF_GROUPS),
        12,
    ),
    "comparative, evaluators": Question(
        "designs.md",
        "comparative.audit",
        ALARM,
        partial(draw_judged, n_groups=(2, 2), evaluators=True),
        8,
    ),
    "comparative, clusters": Question(
        "designs.md",
        "comparative.audit",
        ALARM,
        partial(draw_judged, n_groups=(2, 2), clusters=True),
        5,
    ),
    "relative": Question("relative.md", "relative.audit", ALARM, draw_raters, 14),
    "relative, at the margin": Question(
        "relative.md", "relative.audit", OVERLOOKED, draw_raters_at_margin, 12
    ),
    "pairwise": Question(
        "pairwise.md", "pairwise.audit", ALARM, partial(draw_scores, standardised=False), 20
    ),
    "pairwise, at the margin": Question(
        "verdicts.md", "pairwise.audit", OVERLOOKED, draw_shifted, 22
    ),
    "pairwise, standardised": Question(
        "standardisation.md", "pairwise.audit", ALARM, partial(draw_scores, standardised=True), 5
    ),
    "metrics": Question(
        "metrics.md", "metrics.audit", "interval misses", draw_metrics, 4, promised=0.07
    ),
    "comparative, all cells of 3 to 5 groups": Question(
        "comparative.md", "comparative.audit", ALARM, partial(draw_judged, n_groups=(3, 5)), 2
    ),
}


def world_of(question: str, number: int) -> World:
    """Return one world of a question, always the same."""
    return QUESTIONS[question].draw(generator(question, number))
