"""Frozen plans of panels: how many comparisons show that an evaluator leans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from comparity.planning.result import Plan
from comparity.results.plain import as_plain

if TYPE_CHECKING:
    from comparity.reports.sections import Section

__all__ = ["PlannedLean", "RankingPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLean:
    """One lean as it would be looked for.

    Attributes
    ----------
    lean : float
        What the evaluator adds to the log odds of items of the group.
    n_per_evaluator : int or None
        Comparisons by each evaluator; ``None`` where no number gives the power wanted.
    standard_error : float
        Standard error the estimated lean would have.
    power : float
        Probability that the evaluator is found to lean; with comparisons without end where
        `n_per_evaluator` is ``None``.
    """

    lean: float
    n_per_evaluator: int | None
    standard_error: float
    power: float

    DERIVED: ClassVar[Mapping[str, str]] = {"preferred": "preferred"}

    @property
    def preferred(self) -> float:
        """How often the evaluator prefers an item of the group to an equal one of another."""
        return 1 / (1 + math.exp(-self.lean))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPlan(Plan):
    """A plan to find out which evaluators of a panel lean.

    Power is the probability that an evaluator with the planned lean is found; `alpha` is the false
    discovery rate among all evaluators, or the level of the one test by the rule ``"single"``.

    Attributes
    ----------
    n_per_evaluator : int or None
        Comparisons by each evaluator, ties included; ``None`` where no number gives the power
        wanted.
    n_items, n_evaluators : int
        Items that pairs are drawn from, and evaluators.
    leans : tuple of PlannedLean
        Smaller and larger leans, the planned one among them: the comparisons they take for the
        power wanted, or the power that they have with these comparisons.
    lean : float
        The planned one.
    ceiling : float
        Power as comparisons of these items grow without end.
    """

    n_per_evaluator: int | None
    n_items: int
    n_evaluators: int
    leans: tuple[PlannedLean, ...]
    lean: float
    ceiling: float

    DERIVED: ClassVar[Mapping[str, str]] = {**Plan.DERIVED, "n_comparisons": "n_comparisons"}

    @property
    def notion(self) -> str:
        """What is to be found."""
        return "leaning evaluators"

    @property
    def size(self) -> int | None:
        """Number of comparisons by each evaluator."""
        return self.n_per_evaluator

    @property
    def unit(self) -> str:
        """What the size is a number of."""
        return "comparisons by each evaluator"

    @property
    def n_comparisons(self) -> int | None:
        """Comparisons by all evaluators together."""
        return None if self.n_per_evaluator is None else self.n_per_evaluator * self.n_evaluators

    def section(self) -> Section:
        """Return what is told of this answer."""
        from comparity.planning.section import ranking_plan_section

        return ranking_plan_section(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each lean, as a frame of the named engine.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The engine; the first of these that is installed by default.
        """
        from comparity.reports.frames import frame_of_rows

        return frame_of_rows(as_plain(self.leans), backend)
