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
    error : str
        What an error is.
    promised : float
        How often it may happen.
    draw : callable
        Draws a world.
    """

    page: str
    error: str
    draw: Callable[[Rng], World]
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
    "separation": Question("separation.md", ALARM, draw_decisions),
    "separation, at the margin": Question("verdicts.md", OVERLOOKED, draw_decisions_at_margin),
    "comparative": Question("comparative.md", ALARM, draw_judged),
    "comparative, at the margin": Question("verdicts.md", OVERLOOKED, draw_judged_at_margin),
    "comparative, 3 to 5 groups": Question(
        "comparative.md", ALARM, partial(draw_judged, n_groups=(3, 5), families=PAIRS_OF_GROUPS)
    ),
    "comparative, evaluators": Question(
        "designs.md", ALARM, partial(draw_judged, n_groups=(2, 2), evaluators=True)
    ),
    "comparative, clusters": Question(
        "designs.md", ALARM, partial(draw_judged, n_groups=(2, 2), clusters=True)
    ),
    "relative": Question("relative.md", ALARM, draw_raters),
    "relative, at the margin": Question("relative.md", OVERLOOKED, draw_raters_at_margin),
    "pairwise": Question("pairwise.md", ALARM, partial(draw_scores, standardised=False)),
    "pairwise, at the margin": Question("verdicts.md", OVERLOOKED, draw_shifted),
    "pairwise, standardised": Question(
        "standardisation.md", ALARM, partial(draw_scores, standardised=True)
    ),
    "metrics": Question("metrics.md", "interval misses", draw_metrics, promised=0.07),
    "comparative, all cells of 3 to 5 groups": Question(
        "comparative.md", ALARM, partial(draw_judged, n_groups=(3, 5))
    ),
}


def world_of(question: str, number: int) -> World:
    """Return one world of a question, always the same."""
    return QUESTIONS[question].draw(generator(question, number))
